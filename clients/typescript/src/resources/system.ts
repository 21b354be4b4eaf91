import type * as api from "../generated/system.js";
import { Http, path, RequestOptions, WriteOptions } from "../http.js";
import { List, PagingParameters } from "../paging.js";
import { fetchWithProgress, FileContent, form, Progress } from "../upload.js";

/** What an upload is for. */
export type UploadFields = Omit<api.FileUploadForm, "file">;

/** Files (docs/api/files.md). */
export class Files {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /**
   * Uploads up to 10 files of up to 25 MiB. The result describes the first, and in `additional` the others.
   *
   * @throws ForbiddenError with reason `quota_exceeded` if the organisation has no space left.
   */
  upload(
    files: FileContent | readonly FileContent[],
    fields: UploadFields,
    options: WriteOptions & { onProgress?: (progress: Progress) => void } = {},
  ): Promise<api.Uploaded> {
    const { onProgress, ...rest } = options;
    const call = { ...rest, method: "POST" as const, path: "/v1/files", body: form(files, fields), unlimited: true };
    return this.#http.json(onProgress ? { ...call, fetch: fetchWithProgress(onProgress, this.#http.fetch) } : call);
  }

  /** Downloads a file. Read `body`, `blob()` or `text()` of the response. With `width`, a smaller image. */
  download(id: string, parameters: api.DownloadFileParameters = {}, options?: RequestOptions): Promise<Response> {
    return this.#http.download({ ...options, path: path`/v1/files/${id}`, query: parameters });
  }

  /** The information on a file. */
  get(id: string, options?: RequestOptions): Promise<api.FileInfo> {
    return this.#http.json({ ...options, path: path`/v1/files/${id}/info` });
  }

  /** The files that the caller owns, newest first. */
  list(filters: api.ListFilesParameters = {}, options?: RequestOptions): List<api.FileInfo> {
    return new List(this.#http, "/v1/files", filters, options);
  }

  /** How many bytes and files the organisation stores, and the most bytes that it may. */
  usage(options?: RequestOptions): Promise<api.StorageUsage> {
    return this.#http.json({ ...options, path: "/v1/files/usage" });
  }

  /** Makes a link that downloads a file without a token. Keep it as confidential as the file. */
  link(id: string, link: api.LinkForm = {}, options?: RequestOptions): Promise<api.Link> {
    return this.#post(path`/v1/files/${id}/link`, link, options);
  }

  /** Makes links to up to 50 files. Those that the caller may not download are left out. */
  links(links: api.LinksForm, options?: RequestOptions): Promise<api.FileLink[]> {
    return this.#post("/v1/files/links", links, options);
  }

  /** Reads the information on up to 50 files, and changes with whom they are shared. */
  resolve(request: api.ResolveFiles, options?: RequestOptions): Promise<api.FileInfo[]> {
    return this.#post("/v1/files/resolve", request, options);
  }

  /** Archives a file: its information stays, its content does not. Archiving again is a `ConflictError`. */
  archive(id: string, options?: RequestOptions): Promise<api.ActionResult> {
    return this.#http.json({ ...options, method: "DELETE", path: path`/v1/files/${id}` });
  }

  /** These operations store nothing, or are idempotent, and take no key. */
  #post<T>(path: string, json: unknown, options: RequestOptions = {}): Promise<T> {
    return this.#http.json({ ...options, method: "POST", path, json, repeatable: true });
  }
}

/** Places, which need no token (docs/api/places.md). The public operations are used, which every origin may call. */
export class Places {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /** Finds addresses, postcodes and places. */
  search(parameters: api.SearchAddressesParameters, options?: RequestOptions): Promise<api.AddressSearch> {
    return this.#get("addresses", parameters, options);
  }

  /** The location of a result of `search`. */
  byAddress(parameters: api.FindLocationByAddressParameters, options?: RequestOptions): Promise<api.Location> {
    return this.#get("locations/address", parameters, options);
  }

  /** The nearest address or place. */
  byCoordinates(
    parameters: api.FindLocationByCoordinatesParameters,
    options?: RequestOptions,
  ): Promise<api.Location> {
    return this.#get("locations/coordinates", parameters, options);
  }

  /** The location of a three-word address. */
  byThreeWords(words: string, options?: RequestOptions): Promise<api.Location> {
    return this.#get("locations/three-words", { query: words }, options);
  }

  /** All countries by ISO 3166-1 alpha-2 code. */
  countries(
    parameters: api.ListCountriesParameters = {},
    options?: RequestOptions,
  ): Promise<Record<string, api.Country>> {
    return this.#get("countries", parameters, options);
  }

  /** The regions of a country, by default GB. */
  regions(parameters: api.ListRegionsParameters = {}, options?: RequestOptions): Promise<api.CountryRegions> {
    return this.#get("regions", parameters, options);
  }

  #get<T>(name: string, query: object, options: RequestOptions = {}): Promise<T> {
    return this.#http.json({ ...options, path: `/v1/public/${name}`, query: { ...query }, anonymous: true });
  }
}

/** Service accounts of the caller's organisation (docs/api/authentication.md). */
export class ServiceAccounts {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /** The accounts of the caller's organisation. */
  list(paging: PagingParameters = {}, options?: RequestOptions): List<api.ServiceAccount> {
    return new List(this.#http, "/v1/service-accounts", paging, options);
  }

  /** Reads an account, without its secret. */
  get(id: string, options?: RequestOptions): Promise<api.ServiceAccount> {
    return this.#http.json({ ...options, path: path`/v1/service-accounts/${id}` });
  }

  /**
   * Creates an account. Store its `clientSecret`, which only this response and that of `rotateSecret` contain. If it is
   * absent, the first response was lost and the request repeated: call `rotateSecret`.
   *
   * @throws ConflictError with reason `limit_reached` if the organisation has 20 accounts.
   */
  create(account: api.ServiceAccountForm, options?: WriteOptions): Promise<api.ServiceAccount> {
    return this.#http.post("/v1/service-accounts", account, options);
  }

  /** Changes the name or the roles of an account. New roles apply to new tokens. */
  edit(id: string, changes: api.ServiceAccountPatch, options?: RequestOptions): Promise<api.ServiceAccount> {
    return this.#http.json({ ...options, method: "PATCH", path: path`/v1/service-accounts/${id}`, json: changes });
  }

  /**
   * Replaces the secret. The present one works for another 24 hours. If `clientSecret` is absent from the result, the
   * response was lost and repeated: rotate again, which ends the present secret.
   */
  rotateSecret(id: string, options?: WriteOptions): Promise<api.ServiceAccount> {
    return this.#http.post(path`/v1/service-accounts/${id}/rotate-secret`, undefined, options);
  }

  /** Deletes an account. It gets no more tokens; those that it has end within ten minutes. */
  delete(id: string, options?: RequestOptions): Promise<api.ActionResult> {
    return this.#http.json({ ...options, method: "DELETE", path: path`/v1/service-accounts/${id}` });
  }
}
