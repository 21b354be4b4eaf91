import { ConnectionError, DroverError, redirectError, responseError } from "./errors.js";
import type { TokenSource } from "./auth.js";
import { abortReason, backoff, checkAborted, sleep } from "./wait.js";

/** Options of every request. */
export interface RequestOptions {
  /** Aborts the request, its retries and the pauses between them. */
  signal?: AbortSignal | undefined;
}

/** Options of requests that change something. */
export interface WriteOptions extends RequestOptions {
  /** By default a new key for each call. Set the key of a call that failed in order to repeat that call. */
  idempotencyKey?: string | undefined;
  /** The revision that you know: if it is no longer current, the request fails with `PreconditionFailedError`. */
  revision?: number | undefined;
}

/** Settings of all requests. */
export interface HttpSettings {
  /** Repetitions of a request that failed and may be repeated. Default: 4. */
  retries?: number | undefined;
  /** The longest wait for one response in milliseconds, except for uploads and downloads. Default: 60,000. */
  timeoutMs?: number | undefined;
  /** Replaces the `fetch` of the platform, except in browsers and React Native for uploads with `onProgress`. */
  fetch?: typeof fetch | undefined;
}

/** A request to a service. */
export interface Call extends WriteOptions {
  method?: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** The path from the base URL, for example `/v1/loads`. */
  path: string;
  /** Parameters; arrays become repeated parameters, and filters get their prefix `f:`. */
  query?: object | undefined;
  /** A value that is sent as JSON. */
  json?: unknown;
  /** Another body, for example a form. */
  body?: FormData | string;
  headers?: Record<string, string>;
  /** Whether the request may be repeated without an idempotency key. Default: GET and PUT may. */
  repeatable?: boolean;
  /** Whether the request is sent without a token. */
  anonymous?: boolean;
  /** Whether the request is an upload or a download, whose time has no limit. */
  unlimited?: boolean;
  fetch?: typeof fetch;
}

const LONGEST_BACKOFF_MS = 8_000;
/** A service that asks for a longer wait is not asked again; the caller gets the error with `retryAfterMs`. */
const LONGEST_RETRY_AFTER_MS = 60_000;

/** Builds a path from texts that may contain any character. */
export function path(parts: TemplateStringsArray, ...values: string[]): string {
  return parts.reduce((text, part, i) => {
    const value = values[i - 1] ?? "";
    if (["", ".", ".."].includes(value)) throw new TypeError(`"${value}" is not an id`);
    return text + encodeURIComponent(value) + part;
  });
}

/** Returns a key of 32 random hexadecimal digits. It identifies a request, and need not be secret. */
export function newIdempotencyKey(): string {
  // React Native, and pages that were not loaded over HTTPS, have no crypto.randomUUID.
  const digit = (): string => Math.floor(Math.random() * 16).toString(16);
  return globalThis.crypto?.randomUUID?.() ?? Array.from({ length: 32 }, digit).join("");
}

/** Sends requests to one service, and repeats those that may be repeated. */
export class Http {
  readonly #baseUrl: string;
  readonly #filters: ReadonlySet<string>;
  readonly #tokens: TokenSource;
  readonly #retries: number;
  readonly timeoutMs: number;
  readonly fetch: typeof fetch;

  constructor(baseUrl: string, filters: ReadonlySet<string>, tokens: TokenSource, settings: HttpSettings) {
    this.#baseUrl = baseUrl.replace(/\/+$/, "");
    this.#filters = filters;
    this.#tokens = tokens;
    this.#retries = settings.retries ?? 4;
    this.timeoutMs = settings.timeoutMs ?? 60_000;
    this.fetch = settings.fetch ?? ((...request) => fetch(...request));
  }

  /** Sends a request and returns the JSON of its response. */
  json<T>(call: Call): Promise<T> {
    return this.send(call, async (response) => JSON.parse(await response.text()) as T);
  }

  /** Sends a value by POST, with an idempotency key, and returns the JSON of the response. */
  post<T>(path: string, json: unknown, options: WriteOptions = {}): Promise<T> {
    return this.json({ ...options, method: "POST", path, json });
  }

  /** Sends a request and returns its response, whose body is not read yet. */
  download(call: Call): Promise<Response> {
    return this.send({ ...call, unlimited: true }, (response) => Promise.resolve(response));
  }

  /** Sends a request, and repeats it if it fails in a way that permits this. `read` reads a successful response. */
  async send<T>(call: Call, read: (response: Response) => Promise<T>): Promise<T> {
    const method = call.method ?? "GET";
    const isKeyed = method === "POST" && call.repeatable === undefined;
    const key = isKeyed ? call.idempotencyKey ?? newIdempotencyKey() : undefined;
    const repeatable = call.repeatable ?? (isKeyed || method === "GET" || method === "PUT");
    let rejected: string | undefined;
    let renewed = false;
    for (let attempt = 1; ; attempt += 1) {
      checkAborted(call.signal);
      const token = call.anonymous ? undefined : await this.#token(rejected, call.signal, key);
      rejected = undefined;
      try {
        return await this.#attempt(call, this.#request(call, method, token, key), read);
      } catch (error) {
        if (!(error instanceof DroverError)) throw error;
        error.idempotencyKey = key;
        if (error.status === 401 && token !== undefined && !renewed && this.#tokens.canRenew) {
          rejected = token;
          renewed = true;
          attempt -= 1;
          continue;
        }
        const pause = pauseBeforeRetry(error, repeatable, attempt);
        if (pause === undefined || attempt > this.#retries) throw error;
        await sleep(pause, call.signal);
      }
    }
  }

  async #token(
    rejected: string | undefined,
    signal: AbortSignal | undefined,
    key: string | undefined,
  ): Promise<string | undefined> {
    try {
      return await this.#tokens.token(rejected, signal);
    } catch (error) {
      if (!(error instanceof DroverError)) throw error;
      // Requests that share a log-in share its error, and each has a key of its own.
      const copy = new (error.constructor as typeof DroverError)(error);
      copy.idempotencyKey = key;
      throw copy;
    }
  }

  #request(call: Call, method: string, token: string | undefined, key: string | undefined): RequestInit {
    const headers: Record<string, string> = { ...call.headers };
    if (token !== undefined) headers.Authorization = `Bearer ${token}`;
    if (key !== undefined) headers["Idempotency-Key"] = key;
    if (call.revision !== undefined) headers["If-Match"] = `"${call.revision}"`;
    if (call.json !== undefined) headers["Content-Type"] = "application/json";
    const body = call.json === undefined ? call.body : JSON.stringify(call.json);
    return body === undefined ? { method, headers } : { method, headers, body };
  }

  /** Sends a request once. An abort of the caller's signal throws its reason. */
  async #attempt<T>(call: Call, init: RequestInit, read: (response: Response) => Promise<T>): Promise<T> {
    const send = call.fetch ?? this.fetch;
    const url = this.#baseUrl + call.path + this.#queryString(call.query);
    const limit = call.unlimited ? undefined : new TimeLimit(this.timeoutMs, call.signal);
    const signal = limit?.signal ?? call.signal;
    try {
      // Following a redirect could send the body, and on some platforms the token, to another server.
      const response = await send(url, { ...init, redirect: "manual", ...(signal && { signal }) });
      if (isRedirect(response)) throw redirectError(response.status);
      if (!response.ok) throw responseError(response, await response.text());
      return await read(response);
    } catch (error) {
      if (error instanceof DroverError) throw error;
      if (call.signal?.aborted) throw abortReason(call.signal);
      const problem = limit?.isOver ? `no response within ${limit.ms} ms` : "no complete response arrived";
      const message = `${init.method} ${call.path}: ${problem}`;
      throw new ConnectionError({ status: 0, code: "connection_failed", message, cause: error });
    } finally {
      limit?.end();
    }
  }

  #queryString(query: object = {}): string {
    const pairs = Object.entries(query).flatMap(([name, value]: [string, unknown]) => {
      const wireName = this.#filters.has(name) ? `f:${name}` : name;
      const values = (Array.isArray(value) ? value : [value]) as unknown[];
      return values.filter((one) => one !== undefined).map((one) => `${wireName}=${encodeURIComponent(String(one))}`);
    });
    return pairs.length === 0 ? "" : `?${pairs.join("&")}`;
  }
}

/** Browsers return a redirect that is not followed with the type `opaqueredirect` and the status 0. */
function isRedirect({ type, status }: Response): boolean {
  return type === "opaqueredirect" || [301, 302, 303, 307, 308].includes(status);
}

/** Aborts a signal when the time is over, or when another signal is aborted. */
class TimeLimit {
  readonly #controller = new AbortController();
  readonly #timer: ReturnType<typeof setTimeout>;
  readonly #stop = (): void => this.#controller.abort();
  isOver = false;

  constructor(readonly ms: number, private readonly outer: AbortSignal | undefined) {
    this.#timer = setTimeout(() => {
      this.isOver = true;
      this.#controller.abort();
    }, ms);
    outer?.addEventListener("abort", this.#stop);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  end(): void {
    clearTimeout(this.#timer);
    this.outer?.removeEventListener("abort", this.#stop);
  }
}

/** Returns how long to wait before a request is repeated, or `undefined` if it must not be (docs/api/errors.md). */
function pauseBeforeRetry(error: DroverError, repeatable: boolean, attempt: number): number | undefined {
  const nothingChanged =
    error.status === 429 ||
    (error.status === 503 && error.code === "dependency_unavailable" && error.body.outcome !== "unknown");
  const mayHaveChanged =
    error instanceof ConnectionError ||
    [502, 503, 504].includes(error.status) ||
    error.code === "idempotency_in_progress";
  if (!nothingChanged && !(mayHaveChanged && repeatable)) return undefined;
  const pause = backoff(attempt, LONGEST_BACKOFF_MS);
  if (error.retryAfterMs === undefined) return pause;
  return error.retryAfterMs > LONGEST_RETRY_AFTER_MS ? undefined : error.retryAfterMs + pause / 4;
}
