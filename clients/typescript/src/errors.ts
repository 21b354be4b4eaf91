import type { Code, ErrorCode, ErrorReason } from "./generated/logistics.js";

/** What is wrong with a field of a request (docs/api/errors.md, "Validation entries"). */
export interface FieldError {
  /** The field as it was sent, for example `files[0].id` or `rows[12].reference`. Empty: the whole body. */
  path: string;
  /** An English phrase such as "must be at least 0". */
  message: string;
  code: Code;
  /** Further members for some codes, for example `minimum`, `allowed` or `suggestions`. */
  data: Record<string, unknown>;
}

/** What is known about a failed request. */
export interface Failure {
  status: number;
  code: string;
  message: string;
  body?: Record<string, unknown>;
  validation?: FieldError[];
  requestId?: string | undefined;
  /** The wait that the service asked for, in milliseconds. */
  retryAfterMs?: number | undefined;
  cause?: unknown;
}

/** A request that failed. Programs decide by `code` and `reason`; `message` is an English sentence for people. */
export class DroverError extends Error {
  /** The HTTP status. 0: no complete response arrived, or a redirect, whose status browsers hide. */
  readonly status: number;
  /** See docs/api/errors.md. Also `connection_failed`, `unexpected_response`, or a code of RFC 6749 for a log-in. */
  readonly code: ErrorCode;
  /** Further members of the error, for example `failedRows` and `recognised` of a batch. */
  readonly body: Record<string, unknown>;
  /** The invalid fields. Empty unless `code` is `validation_failed`, or `forbidden` for a batch. */
  readonly validation: FieldError[];
  /** Name this id when you report a problem. */
  readonly requestId: string | undefined;
  /** The wait that the service asked for, in milliseconds. */
  readonly retryAfterMs: number | undefined;
  /** The key of the request. Repeat the request with this key, and its effect occurs only once. */
  idempotencyKey: string | undefined;

  constructor(failure: Failure) {
    super(failure.message, failure.cause === undefined ? undefined : { cause: failure.cause });
    this.name = new.target.name;
    this.status = failure.status;
    this.code = failure.code;
    this.body = failure.body ?? {};
    this.validation = failure.validation ?? [];
    this.requestId = failure.requestId;
    this.retryAfterMs = failure.retryAfterMs;
  }

  /** Why a 409 `conflict` or 403 `forbidden` was refused, for example `load_completed`. */
  get reason(): ErrorReason | undefined {
    return typeof this.body.reason === "string" ? this.body.reason : undefined;
  }
}

/** No complete response arrived, so the request may or may not have taken effect. `cause` is what `fetch` reported. */
export class ConnectionError extends DroverError {}
/** 400: fields are invalid (`validation`), or the body is malformed. */
export class ValidationError extends DroverError {}
/** 401: the token is missing, invalid or expired, or a service account cannot log in. */
export class UnauthenticatedError extends DroverError {}
/** 403: the caller is not allowed. */
export class ForbiddenError extends DroverError {}
/** 404, or 410: the cursor of a feed is newer than the database. */
export class NotFoundError extends DroverError {}
/** 409: the state of the resource forbids the operation. */
export class ConflictError extends DroverError {}
/** 429: too many requests. */
export class RateLimitedError extends DroverError {}
/** 502, 503 or 504. If `outcomeUnknown`, the request may have taken effect. */
export class UnavailableError extends DroverError {
  get outcomeUnknown(): boolean {
    return this.code !== "dependency_unavailable" || this.body.outcome === "unknown";
  }
}

/** 412: somebody else changed the resource first. */
export class PreconditionFailedError extends DroverError {
  /** The changes of an `edit` that were not made. */
  mine: unknown;
  /** The resource as the other change left it, if an `edit` has read it. */
  theirs: unknown;

  /** The present revision of the resource. */
  get revision(): number | undefined {
    return typeof this.body.revision === "number" ? this.body.revision : undefined;
  }
}

/** Returns the error that a response with a status of 400 or above reports. */
export function responseError(response: Response, text: string): DroverError {
  const body = parseObject(text);
  const details = Object(body.body) as Record<string, unknown>;
  // The token endpoint answers as RFC 6749 says: {error, error_description}.
  const code = body.code ?? body.error ?? "unexpected_response";
  const fallback = `The response was ${response.status} ${response.statusText}`.trim();
  const message = body.message ?? body.error_description ?? fallback;
  const Class = classOf(response.status);
  return new Class({
    status: response.status,
    code: String(code),
    message: String(message),
    body: details,
    validation: Array.isArray(body.validation) ? body.validation : [],
    requestId: details.requestId ? String(details.requestId) : response.headers.get("x-request-id") ?? undefined,
    retryAfterMs: retryAfter(response.headers.get("retry-after")),
  });
}

/** Returns the error for a redirect. */
export function redirectError(status: number): DroverError {
  const message = "The response is a redirect, which the client does not follow: check the base URL of the service";
  return new DroverError({ status, code: "unexpected_response", message });
}

function classOf(status: number): typeof DroverError {
  switch (status) {
    case 400:
      return ValidationError;
    case 401:
      return UnauthenticatedError;
    case 403:
      return ForbiddenError;
    case 404:
    case 410:
      return NotFoundError;
    case 409:
      return ConflictError;
    case 412:
      return PreconditionFailedError;
    case 429:
      return RateLimitedError;
    case 502:
    case 503:
    case 504:
      return UnavailableError;
    default:
      return DroverError;
  }
}

function parseObject(text: string): Record<string, unknown> {
  try {
    return Object(JSON.parse(text)) as Record<string, unknown>;
  } catch {
    return {};
  }
}

/** Reads `Retry-After`, which is a number of seconds or a date. */
function retryAfter(header: string | null): number | undefined {
  if (header === null) return undefined;
  const ms = /^\d+$/.test(header) ? Number(header) * 1000 : Date.parse(header) - Date.now();
  return Number.isNaN(ms) ? undefined : Math.max(0, ms);
}
