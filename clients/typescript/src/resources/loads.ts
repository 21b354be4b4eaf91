import { edit, Editable, EditOptions } from "../edit.js";
import { eventsCursor, follow, Followed, FollowOptions } from "../feed.js";
import type * as api from "../generated/logistics.js";
import { Http, path, RequestOptions, WriteOptions } from "../http.js";
import { List, PagingParameters } from "../paging.js";
import { FileContent, form } from "../upload.js";
import { Webhooks } from "./webhooks.js";

/** The filters of a search for loads. */
export type LoadFilters = Omit<api.SearchLoadsParameters, "format" | "bom">;
/** Options of an import. */
export type ImportOptions = Omit<api.LoadBatchForm, "file" | "format">;
/** Which events of loads a feed has. */
export type LoadEventFilters = Omit<api.ListEventsParameters, "after" | "wait" | "limit">;

/** Loads (docs/api/loads.md). */
export class Loads {
  readonly batches: Batches;
  readonly webhooks: Webhooks<api.WebhookEventName>;
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
    this.batches = new Batches(http);
    this.webhooks = new Webhooks(http);
  }

  /** Finds loads. Without `status`, all but cancelled ones. */
  search(filters: LoadFilters = {}, options?: RequestOptions): List<api.Load> {
    return new List(this.#http, "/v1/loads", filters, options);
  }

  /** Reads a load. */
  get(id: string, options?: RequestOptions): Promise<api.Load> {
    return this.#http.json({ ...options, path: path`/v1/loads/${id}` });
  }

  /** Reads up to 100 loads in the order of their ids. Those that the caller may not read are left out. */
  byIds(ids: readonly string[], options?: RequestOptions): Promise<api.Load[]> {
    return this.#http.json({ ...options, path: "/v1/loads/by-ids", query: { ids } });
  }

  /** Creates a load that the caller's organisation ordered. Weights are in tonnes. */
  createAsOrganiser(load: api.OrganiserForm, options?: WriteOptions): Promise<api.Load> {
    return this.#http.post("/v1/loads/organiser", load, options);
  }

  /** Creates a load that the caller's organisation moves. Weights are in tonnes. */
  createAsCarrier(load: api.CarrierForm, options?: WriteOptions): Promise<api.Load> {
    return this.#http.post("/v1/loads/carrier", load, options);
  }

  /**
   * Changes a load by a merge patch: absent members stay, `null` removes one, arrays are replaced whole. The patch is
   * sent with the revision of `target`, or for an id with the present one.
   *
   * @throws PreconditionFailedError with `mine` and `theirs` if somebody else changed the load, and `merge` is absent
   * or gives up.
   */
  edit(
    target: Editable,
    changes: api.LoadPatch,
    options: EditOptions<api.LoadPatch, api.Load> = {},
  ): Promise<api.Load> {
    return edit(this.#http, "/v1/loads", target, changes, options);
  }

  /** Cancels an upcoming load. Cancelling again changes nothing. */
  cancel(id: string, reason?: string, options?: WriteOptions): Promise<api.Load> {
    return this.#http.post(path`/v1/loads/${id}/cancel`, reason === undefined ? {} : { reason }, options);
  }

  /** Accepts a load that its carrier entered. */
  accept(id: string, options?: WriteOptions): Promise<api.ActionResult> {
    return this.#http.post(path`/v1/loads/${id}/accept`, undefined, options);
  }

  /** Records what was loaded. Weights are in tonnes. */
  collect(id: string, collection: api.CollectionForm, options?: WriteOptions): Promise<api.Load> {
    return this.#http.post(path`/v1/loads/${id}/collection`, collection, options);
  }

  /** Proves the delivery, which completes the load. Weights are in tonnes. Proving it again changes nothing. */
  prove(id: string, proof: api.ProofOfDelivery, options?: WriteOptions): Promise<api.Load> {
    return this.#http.post(path`/v1/loads/${id}/proof-of-delivery`, proof, options);
  }

  /** Replaces values of the proof of a completed load. */
  correct(id: string, correction: api.ProofCorrection, options?: WriteOptions): Promise<api.Load> {
    return this.#http.post(path`/v1/loads/${id}/proof-of-delivery/corrections`, correction, options);
  }

  /** Records that the recipient refused the load. */
  reject(id: string, rejection: api.RejectionForm, options?: WriteOptions): Promise<api.Load> {
    return this.#http.post(path`/v1/loads/${id}/rejection`, rejection, options);
  }

  /** Undoes the last cancellation, rejection or completion. */
  reopen(id: string, reason: string, options?: WriteOptions): Promise<api.Load> {
    return this.#http.post(path`/v1/loads/${id}/reopen`, { reason }, options);
  }

  /** Adds a note of up to 2,000 characters. */
  note(id: string, text: string, options?: WriteOptions): Promise<api.ActionResult> {
    return this.#http.post(path`/v1/loads/${id}/notes`, { text }, options);
  }

  /** Notifies a driver, who can then read the load and prove its delivery. */
  sendToDriver(message: api.SendToDriver, options?: WriteOptions): Promise<api.ActionResult> {
    return this.#http.post("/v1/loads/send-to-driver", message, options);
  }

  /** Notifies a carrier. If the load has none, that organisation becomes its carrier. */
  sendToCarrier(message: api.SendToCarrier, options?: WriteOptions): Promise<api.ActionResult> {
    return this.#http.post("/v1/loads/send-to-carrier", message, options);
  }

  /** Cancels, accepts or sends up to 200 loads. Each can fail on its own: see `results`. */
  changeMany(actions: api.LoadActions, options?: WriteOptions): Promise<api.LoadActionResults> {
    return this.#http.post("/v1/loads/actions", actions, options);
  }

  /** The history of a load, oldest first. */
  history(id: string, filters: api.ListLoadEventsParameters = {}, options?: RequestOptions): List<api.LoadEvent> {
    return new List(this.#http, path`/v1/loads/${id}/events`, filters, options);
  }

  /** The drivers to whom a load was sent. */
  drivers(id: string, paging: PagingParameters = {}, options?: RequestOptions): List<api.LoadDriver> {
    return new List(this.#http, path`/v1/loads/${id}/drivers`, paging, options);
  }

  /** Ends a driver's access to a load. */
  revokeDriver(id: string, driverId: string, options?: WriteOptions): Promise<api.ActionResult> {
    return this.#http.json({ ...options, method: "DELETE", path: path`/v1/loads/${id}/drivers/${driverId}` });
  }

  /** The notifications to drivers and carriers, newest first. */
  notifications(filters: api.ListNotificationsParameters = {}, options?: RequestOptions): List<api.Notification> {
    return new List(this.#http, "/v1/notifications", filters, options);
  }

  /** Adds up the loads that the filters find. */
  summary(
    parameters: Omit<api.SummarizeLoadsParameters, "format" | "bom">,
    options?: RequestOptions,
  ): Promise<api.LoadSummary> {
    return this.#http.json({ ...options, path: "/v1/loads/summary", query: parameters });
  }

  /** The catalogue of commodities. */
  commodities(options?: RequestOptions): Promise<api.CatalogueEntry[]> {
    return this.#http.json({ ...options, path: "/v1/commodities" });
  }

  /**
   * Streams the loads that the filters find as a table. Read `body`, `blob()` or `text()` of the response, which throws
   * if the connection breaks off.
   */
  export(
    parameters: LoadFilters & { format: "CSV" | "XLSX"; bom?: boolean },
    options?: RequestOptions,
  ): Promise<Response> {
    return this.#http.download({ ...options, path: "/v1/loads", query: parameters });
  }

  /** Streams all completed loads, oldest first. By default as CSV. */
  exportCompleted(
    parameters: Omit<api.ExportCompletedLoadsParameters, "format"> & { format?: "CSV" | "XLSX" | "JSON" } = {},
    options?: RequestOptions,
  ): Promise<Response> {
    return this.#http.download({ ...options, path: "/v1/loads/completed", query: parameters });
  }

  /** Follows what happens to the loads of the caller's organisation, or with `driverId: "me"` of a driver. */
  events({ after, signal, onRetry, ...filters }: LoadEventFilters & FollowOptions = {}): AsyncGenerator<
    Followed<api.FeedLoadEvent>,
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

/** Imports of spreadsheets (docs/api/batches.md). */
export class Batches {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /**
   * Imports CSV or XLSX files: all rows or none, unless `invalidRows` is `leaveOut`. With `dryRun`, only checks them.
   *
   * @throws ValidationError with an entry for each invalid cell in `validation`; `body` has `failedRows`, `recognised`
   * and, with `include: "rows"`, `rows`.
   */
  import(
    files: FileContent | readonly FileContent[],
    fields: ImportOptions = {},
    options?: WriteOptions,
  ): Promise<api.BatchResult> {
    return this.#http.json(this.#call(files, fields, options));
  }

  /** Checks one file, and returns it as a table with a column `Problems`. Stores nothing. */
  problems(
    file: FileContent,
    fields: ImportOptions & { format: "CSV" | "XLSX" },
    options?: RequestOptions,
  ): Promise<Response> {
    return this.#http.download(this.#call(file, { ...fields, dryRun: true }, options));
  }

  /** The imports of the caller's organisation, newest first. */
  list(paging: PagingParameters = {}, options?: RequestOptions): List<api.LoadBatch> {
    return new List(this.#http, "/v1/loads/batches", paging, options);
  }

  /** Cancels the loads that an import created and that are still upcoming. */
  undo(id: string, reason?: string, options?: WriteOptions): Promise<api.BatchCancellation> {
    const json = reason === undefined ? {} : { reason };
    return this.#http.post(path`/v1/loads/batches/${id}/cancel`, json, options);
  }

  /** Downloads a table to fill in. */
  template(parameters: { format?: "CSV" | "XLSX" } = {}, options?: RequestOptions): Promise<Response> {
    return this.#http.download({ ...options, path: "/v1/loads/batch/template", query: parameters });
  }

  #call(files: FileContent | readonly FileContent[], fields: object, options: WriteOptions = {}) {
    const body = form(files, fields);
    return { ...options, method: "POST" as const, path: "/v1/loads/batch", body, unlimited: true };
  }
}

/** The address book: organisations with which the caller's organisation has loads (docs/api/loads.md). */
export class Organisations {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /** The organisations in the order of their names, or with `blocked: "true"` the blocks, newest first. */
  list(filters: api.ListOrganisationsParameters = {}, options?: RequestOptions): List<api.OrganisationRow> {
    return new List(this.#http, "/v1/organisations", filters, options);
  }

  /** Forbids an organisation to name the caller's organisation as a party of loads. */
  block(id: string, options?: RequestOptions): Promise<api.ActionResult> {
    return this.#http.json({ ...options, method: "PUT", path: path`/v1/organisations/${id}/block` });
  }

  /** Ends a block. */
  unblock(id: string, options?: RequestOptions): Promise<api.ActionResult> {
    // Unblocking is idempotent.
    return this.#http.json({
      ...options,
      method: "DELETE",
      path: path`/v1/organisations/${id}/block`,
      repeatable: true,
    });
  }
}

/** The drivers to whom the caller's organisation has sent loads. */
export class Drivers {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /** The drivers whose name or id contains every word of `query`. */
  list(filters: api.ListDriversParameters = {}, options?: RequestOptions): List<api.DriverContact> {
    return new List(this.#http, "/v1/drivers", filters, options);
  }
}
