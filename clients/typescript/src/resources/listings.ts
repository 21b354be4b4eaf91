import { edit, Editable, EditOptions } from "../edit.js";
import { eventsCursor, follow, Followed, FollowOptions } from "../feed.js";
import type * as api from "../generated/livestock.js";
import { Http, path, RequestOptions, WriteOptions } from "../http.js";
import { List, PagingParameters } from "../paging.js";
import { Webhooks } from "./webhooks.js";

/** The filters of a search for listings, with paging and sorting. */
export type ListingFilters = Omit<api.SearchListingsParameters, "format" | "bom" | "docs" | "clusterZoom">;
/** Which events of listings a feed has. */
export type ListingEventFilters = Omit<api.ListEventsParameters, "after" | "wait" | "limit">;

/** The forms of new listings by category. */
export interface ListingForms {
  sheep: api.SheepForm;
  cattle: api.CattleForm;
  "working-dog": api.WorkingDogForm;
  feed: api.FeedForm;
  bedding: api.BeddingForm;
}

/** Listings (docs/api/listings.md). */
export class Listings {
  readonly webhooks: Webhooks<api.WebhookEventName>;
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
    this.webhooks = new Webhooks(http);
  }

  /** Finds listings. Without `status`, the active ones. */
  search(filters: ListingFilters = {}, options?: RequestOptions): List<api.Listing> {
    return new List(this.#http, "/v1/listings", filters, options);
  }

  /** Finds active listings as visitors see them, without a token, if the deployment allows it. */
  searchPublic(
    filters: Omit<ListingFilters, "isWishlisted"> = {},
    options?: RequestOptions,
  ): List<api.PublicListing> {
    return new List(this.#http, "/v1/public/listings", filters, { ...options, anonymous: true });
  }

  /** Counts the values of each filter under all other filters. */
  facets(filters: ListingFilters = {}, options?: RequestOptions): Promise<api.Facets> {
    return this.#http.json({ ...options, path: "/v1/listings", query: { ...filters, docs: false } });
  }

  /** Returns the points of the listings that the filters find, or with `clusterZoom` of clusters, as GeoJSON. */
  map(
    filters: ListingFilters & { clusterZoom?: number } = {},
    options?: RequestOptions,
  ): Promise<api.FeatureCollection> {
    return this.#http.json({ ...options, path: "/v1/listings", query: { ...filters, format: "GEOJSON" } });
  }

  /**
   * Streams the listings that the filters find as a table. Read `body`, `blob()` or `text()` of the response, which
   * throws if the connection breaks off.
   */
  export(
    parameters: ListingFilters & { format: "CSV" | "XLSX"; bom?: boolean },
    options?: RequestOptions,
  ): Promise<Response> {
    return this.#http.download({ ...options, path: "/v1/listings", query: parameters });
  }

  /** Reads a listing. */
  get(id: string, options?: RequestOptions): Promise<api.Listing> {
    return this.#http.json({ ...options, path: path`/v1/listings/${id}` });
  }

  /** Reads a listing as visitors see it. */
  getPublic(id: string, options?: RequestOptions): Promise<api.PublicListing> {
    return this.#http.json({ ...options, path: path`/v1/public/listings/${id}`, anonymous: true });
  }

  /** Reads up to 100 listings in the order of their ids. Those that the caller may not read are left out. */
  byIds(ids: readonly string[], options?: RequestOptions): Promise<api.Listing[]> {
    return this.#http.json({ ...options, path: "/v1/listings/by-ids", query: { ids } });
  }

  /** Creates a listing, with `isDraft` a draft. The result has its `id`. */
  create<Category extends keyof ListingForms>(
    category: Category,
    listing: ListingForms[Category],
    options?: WriteOptions,
  ): Promise<api.ActionResult> {
    return this.#http.post(path`/v1/listings/${category}`, listing, options);
  }

  /**
   * Changes a listing by a merge patch: absent members stay, `null` removes one, arrays are replaced whole. The patch
   * is sent with the revision of `target`, or for an id with the present one.
   *
   * @throws PreconditionFailedError with `mine` and `theirs` if somebody else changed the listing, and `merge` is
   * absent or gives up.
   */
  edit(
    target: Editable,
    changes: api.ListingPatch,
    options: EditOptions<api.ListingPatch, api.Listing> = {},
  ): Promise<api.Listing> {
    return edit(this.#http, "/v1/listings", target, changes, options);
  }

  /** Makes a draft visible to everybody. Publishing again changes nothing. */
  publish(id: string, options?: WriteOptions): Promise<api.ActionResult> {
    return this.#http.post(path`/v1/listings/${id}/publish`, undefined, options);
  }

  /** Ends a listing: an active one as `sold`, `found` or `cancelled`, a draft as `cancelled`. */
  close(id: string, status: api.CloseListing["status"], options?: WriteOptions): Promise<api.ActionResult> {
    return this.#http.post(path`/v1/listings/${id}/close`, { status }, options);
  }

  /** The history of a listing, oldest first. */
  history(id: string, paging: PagingParameters = {}, options?: RequestOptions): List<api.ListingEvent> {
    return new List(this.#http, path`/v1/listings/${id}/events`, paging, options);
  }

  /**
   * Sends an enquiry to the organisation of a listing, with at least one of `phone` and `email`.
   *
   * @throws ConflictError with reason `limit_reached` for a second enquiry about it on one day.
   */
  enquire(id: string, enquiry: api.SendEnquiry, options?: WriteOptions): Promise<api.ActionResult> {
    return this.#http.post(path`/v1/listings/${id}/enquiries`, enquiry, options);
  }

  /** The enquiries that the caller's organisation received, or with `scope: "sent"` that the caller sent. */
  enquiries(filters: api.ListEnquiriesParameters = {}, options?: RequestOptions): List<api.Enquiry> {
    return new List(this.#http, "/v1/enquiries", filters, options);
  }

  /** Marks an enquiry as answered. */
  markEnquiryAnswered(id: string, options?: RequestOptions): Promise<api.ActionResult> {
    // The operation takes no key, and marking again changes nothing.
    return this.#http.json({
      ...options,
      method: "POST",
      path: path`/v1/enquiries/${id}/answered`,
      repeatable: true,
    });
  }

  /** Adds a listing to the wishlist, which `search({ isWishlisted: true })` finds. */
  addToWishlist(id: string, options?: RequestOptions): Promise<api.ActionResult> {
    return this.#http.json({ ...options, method: "PUT", path: path`/v1/listings/${id}/wishlist` });
  }

  /** Removes a listing from the wishlist. */
  removeFromWishlist(id: string, options?: RequestOptions): Promise<api.ActionResult> {
    // Removing a listing that is not on the wishlist succeeds, so the request may be repeated.
    return this.#http.json({
      ...options,
      method: "DELETE",
      path: path`/v1/listings/${id}/wishlist`,
      repeatable: true,
    });
  }

  /** Reports a listing to the administrators. */
  report(id: string, report: api.ReportListing, options?: WriteOptions): Promise<api.ActionResult> {
    return this.#http.post(path`/v1/listings/${id}/report`, report, options);
  }

  /** The categories of listings. */
  categories(options?: RequestOptions): Promise<api.Category[]> {
    return this.#http.json({ ...options, path: "/v1/categories" });
  }

  /** Follows the listings of the caller's organisation, or with `scope: "market"` all that are published. */
  events({ after, signal, onRetry, ...filters }: ListingEventFilters & FollowOptions = {}): AsyncGenerator<
    Followed<api.FeedListingEvent>,
    void,
    undefined
  > {
    return follow(this.#http, filters, { after, signal, ...(onRetry && { onRetry }) });
  }

  /** Returns the cursor after all present events, for `events({ after })`. */
  eventsCursor(options?: RequestOptions): Promise<string> {
    return eventsCursor(this.#http, options);
  }
}

/** Searches that the user saved (docs/api/saved-searches.md). */
export class SavedSearches {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /** The searches that the user saved. */
  list(paging: PagingParameters = {}, options?: RequestOptions): List<api.SavedSearch> {
    return new List(this.#http, "/v1/saved-searches", paging, options);
  }

  /** Reads a saved search. */
  get(id: string, options?: RequestOptions): Promise<api.SavedSearch> {
    return this.#http.json({ ...options, path: path`/v1/saved-searches/${id}` });
  }

  /** Saves a search. Unlike in `search`, `parameters` have the names of the query: `f:commodityBreed`. */
  create(search: api.SavedSearchForm, options?: WriteOptions): Promise<api.SavedSearch> {
    return this.#http.post("/v1/saved-searches", search, options);
  }

  /** Changes a saved search by a merge patch, also of single parameters. See `edit` of loads for conflicts. */
  edit(
    target: Editable,
    changes: api.SavedSearchPatch,
    options: EditOptions<api.SavedSearchPatch, api.SavedSearch> = {},
  ): Promise<api.SavedSearch> {
    return edit(this.#http, "/v1/saved-searches", target, changes, options);
  }

  /** Deletes a saved search. */
  delete(id: string, options?: WriteOptions): Promise<api.ActionResult> {
    return this.#http.json({ ...options, method: "DELETE", path: path`/v1/saved-searches/${id}` });
  }

  /** What a search finds now. Reading it resets `newMatches`. */
  listings(
    id: string,
    parameters: api.ListListingsOfSavedSearchParameters = {},
    options?: RequestOptions,
  ): List<api.Listing> {
    return new List(this.#http, path`/v1/saved-searches/${id}/listings`, parameters, options);
  }
}
