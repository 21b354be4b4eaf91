export { Drover, type DroverOptions, type ServiceName } from "./client.js";
export type { Auth } from "./auth.js";
export type { Call, HttpSettings, RequestOptions, WriteOptions } from "./http.js";
export { List, type Page, type PagingParameters } from "./paging.js";
export type { Editable, EditOptions } from "./edit.js";
export type { Followed, FollowOptions } from "./feed.js";
export type { FileContent, Progress } from "./upload.js";
export { verifyWebhook, WebhookVerificationError, type WebhookEvent, type WebhookHeaders } from "./verify.js";
export {
  ConflictError,
  ConnectionError,
  DroverError,
  ForbiddenError,
  NotFoundError,
  PreconditionFailedError,
  RateLimitedError,
  UnauthenticatedError,
  UnavailableError,
  ValidationError,
  type Failure,
  type FieldError,
} from "./errors.js";
export type {
  Batches,
  Drivers,
  ImportOptions,
  LoadEventFilters,
  LoadFilters,
  Loads,
  Organisations,
} from "./resources/loads.js";
export type {
  ListingEventFilters,
  ListingFilters,
  ListingForms,
  Listings,
  SavedSearches,
} from "./resources/listings.js";
export type { Files, Places, ServiceAccounts, UploadFields } from "./resources/system.js";
export type { DeliveryFilters, Webhook, WebhookForm, WebhookPatch, Webhooks } from "./resources/webhooks.js";
/** The types of each service, as its OpenAPI document names them: `logistics.Load`. */
export * as livestock from "./generated/livestock.js";
export * as logistics from "./generated/logistics.js";
export * as system from "./generated/system.js";
