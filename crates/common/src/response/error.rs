//! The error type of all handlers: one variant for each reason of a code in docs/api/errors.md, and the error body.

use actix_web::http::StatusCode;
use actix_web::http::header::{self, HeaderValue};
use actix_web::{HttpResponse, ResponseError};
use serde::Serialize;
use serde_json::{Map, Value, json};
use utoipa::{IntoResponses, ToSchema};

use crate::response::validation::{FieldError, ValidationErrors};

/// An error response (docs/api/errors.md).
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// 400 `validation_failed`
    #[error("{}", summary(.0))]
    Validation(ValidationErrors),
    /// 400 `malformed_body`; the cause, and members of `body`.
    #[error("The body cannot be read: {0}.")]
    MalformedBody(String, Map<String, Value>),
    /// 401 `unauthenticated`; the reason why the token was refused, or `None` if there is no token.
    #[error("{}", unauthenticated(*.0))]
    Unauthenticated(Option<&'static str>),
    /// 403 `forbidden`
    #[error("{0}")]
    Forbidden(&'static str),
    /// 403 `forbidden` with `body.reason`, and the message.
    #[error("{1}")]
    Restricted(Reason, &'static str),
    /// 403 `forbidden` with an entry for each forbidden field, the members of their `body`, and the message.
    #[error("{1}")]
    ForbiddenFields(ValidationErrors, &'static str),
    /// 404 `not_found`
    #[error("The resource was not found.")]
    NotFound,
    /// 410 `not_found`: the cursor is of a feed that had more events, before the database was restored.
    #[error(
        "The cursor is not one of this feed any more, because an older database was restored: start without it."
    )]
    CursorGone,
    /// 405 `method_not_allowed`; the allowed methods, separated by commas.
    #[error("This route allows only {0}.")]
    MethodNotAllowed(String),
    /// 406 `not_acceptable`; the available media types.
    #[error("The response is available only as {0}, which the request does not accept.")]
    NotAcceptable(String),
    /// 409 `conflict`; the message, and members of `body`, among them `reason`.
    #[error("{0}")]
    Conflict(String, Map<String, Value>),
    /// 409 `idempotency_key_reused`
    #[error("This Idempotency-Key was used for another request: choose a new one.")]
    IdempotencyKeyReused,
    /// 409 `idempotency_in_progress`
    #[error("The first request with this Idempotency-Key is still running: send it again later.")]
    IdempotencyInProgress,
    /// 412 `precondition_failed`; the current revision, which `body.revision` names.
    #[error("The resource has changed: it is at revision {0}, which If-Match does not name.")]
    PreconditionFailed(i64),
    /// 413 `payload_too_large`; the limit in bytes.
    #[error("The request exceeds the limit of {0} bytes.")]
    PayloadTooLarge(usize),
    /// 415 `unsupported_media_type`; the supported media type.
    #[error("The body must be {0}.")]
    UnsupportedMediaType(&'static str),
    /// 416 `range_not_satisfiable`; the size of the content in bytes.
    #[error("The requested range lies outside the content of {0} bytes.")]
    RangeNotSatisfiable(u64),
    /// 429 `rate_limited`; seconds until the next request is admitted.
    #[error("Too many requests: try again in {0} s.")]
    RateLimited(u64),
    /// 500 `internal`: a defect of the service. The cause is logged and not sent.
    #[error("An internal error occurred: the log has details under the request id.")]
    Internal(#[source] anyhow::Error),
    /// 503 `dependency_unavailable`: nothing was changed. The cause, which is logged and not sent, and the dependency.
    #[error("{1} cannot be reached at the moment and nothing was changed: try again.")]
    Unavailable(#[source] anyhow::Error, &'static str),
    /// 503 `dependency_unavailable`: too many operations of one kind are running. Nothing was changed.
    #[error("{0}")]
    Busy(&'static str),
    /// 429 `rate_limited`: too many operations of one kind are running for the caller's tenant. Nothing was changed.
    #[error("{0}")]
    TenantBusy(&'static str),
    /// 429 `rate_limited`: the caller did something as often as is allowed; seconds until it is possible again.
    #[error("{0}")]
    TooOften(&'static str, u64),
    /// 503 `dependency_unavailable` if the connection to the database was lost during the commit: `body.outcome` is
    /// `unknown`.
    #[error(
        "The connection to the database was lost during the commit, and the outcome is unknown: check the result, or send \
         the request again with the same Idempotency-Key."
    )]
    CommitUnknown(#[source] anyhow::Error),
}

fn unauthenticated(reason: Option<&str>) -> String {
    match reason {
        Some(reason) => format!("The bearer token was refused: {reason}."),
        None => "A bearer token is required: send it as Authorization: Bearer <token>.".to_owned(),
    }
}

fn summary(errors: &ValidationErrors) -> String {
    match errors.iter().collect::<Vec<_>>()[..] {
        [one] if one.path.is_empty() => format!("The request {}.", one.message),
        [one] => format!("{} {}.", one.path, one.message),
        ref many => format!("{} fields were refused: see validation.", many.len()),
    }
}

impl Error {
    /// Returns a 400 `malformed_body` with this cause.
    pub fn malformed_body(cause: impl Into<String>) -> Self {
        Self::MalformedBody(cause.into(), Map::new())
    }

    /// Returns a 409 `conflict` with this `body.reason` and message.
    pub fn conflict(reason: Reason, message: impl Into<String>) -> Self {
        Self::Conflict(message.into(), Map::from_iter([("reason".to_owned(), json!(reason))]))
    }

    /// Returns the error for a row that the caller cannot see: 403 with this message if the row exists, else 404.
    pub fn forbidden_or_not_found(exists: bool, message: &'static str) -> Self {
        if exists { Self::Forbidden(message) } else { Self::NotFound }
    }

    /// Adds a member to the `body` of a 400, a 409 `conflict` or a 403 with entries. Other errors are returned
    /// unchanged.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        if let Self::Conflict(_, body)
        | Self::MalformedBody(_, body)
        | Self::Validation(ValidationErrors { body, .. })
        | Self::ForbiddenFields(ValidationErrors { body, .. }, _) = &mut self
        {
            body.insert(name.to_owned(), value.into());
        }
        self
    }

    /// Returns the error of one of several things that a request asks for.
    ///
    /// # Errors
    /// Returns the error itself if the whole request fails with it, because the service does.
    pub fn into_item_error(self) -> Result<ItemError, Self> {
        if self.code().0 >= 500 { Err(self) } else { Ok(self.item_error()) }
    }

    /// Returns the error of one of several things, also if the service fails, for a request that has changed others.
    pub fn item_error(&self) -> ItemError {
        let reason = match self {
            Self::Conflict(_, members) => members.get("reason").cloned(),
            Self::Restricted(reason, _) => Some(json!(reason)),
            _ => None,
        };
        ItemError { code: self.code().1, reason, message: self.to_string() }
    }

    fn code(&self) -> (u16, ErrorCode) {
        match self {
            Self::Validation(_) => (400, ErrorCode::ValidationFailed),
            Self::MalformedBody(..) => (400, ErrorCode::MalformedBody),
            Self::Unauthenticated(_) => (401, ErrorCode::Unauthenticated),
            Self::Forbidden(_) | Self::Restricted(..) | Self::ForbiddenFields(..) => {
                (403, ErrorCode::Forbidden)
            }
            Self::NotFound => (404, ErrorCode::NotFound),
            Self::CursorGone => (410, ErrorCode::NotFound),
            Self::MethodNotAllowed(_) => (405, ErrorCode::MethodNotAllowed),
            Self::NotAcceptable(_) => (406, ErrorCode::NotAcceptable),
            Self::Conflict(..) => (409, ErrorCode::Conflict),
            Self::IdempotencyKeyReused => (409, ErrorCode::IdempotencyKeyReused),
            Self::IdempotencyInProgress => (409, ErrorCode::IdempotencyInProgress),
            Self::PreconditionFailed(_) => (412, ErrorCode::PreconditionFailed),
            Self::PayloadTooLarge(_) => (413, ErrorCode::PayloadTooLarge),
            Self::UnsupportedMediaType(_) => (415, ErrorCode::UnsupportedMediaType),
            Self::RangeNotSatisfiable(_) => (416, ErrorCode::RangeNotSatisfiable),
            Self::RateLimited(_) | Self::TenantBusy(_) | Self::TooOften(..) => (429, ErrorCode::RateLimited),
            Self::Internal(_) => (500, ErrorCode::Internal),
            Self::Unavailable(..) | Self::Busy(_) | Self::CommitUnknown(_) => {
                (503, ErrorCode::DependencyUnavailable)
            }
        }
    }

    /// Returns the complete response, with the request id in its body.
    pub fn respond(&self, request_id: &str) -> HttpResponse {
        let mut body = match self {
            Self::Conflict(_, members) | Self::MalformedBody(_, members) => members.clone(),
            Self::Restricted(reason, _) => Map::from_iter([("reason".to_owned(), json!(reason))]),
            Self::Validation(errors) | Self::ForbiddenFields(errors, _) => errors.body.clone(),
            Self::CommitUnknown(_) => Map::from_iter([("outcome".to_owned(), json!("unknown"))]),
            Self::PreconditionFailed(revision) => Map::from_iter([("revision".to_owned(), json!(revision))]),
            _ => Map::new(),
        };
        body.insert("requestId".into(), json!(request_id));
        let validation = match self {
            Self::Validation(errors) | Self::ForbiddenFields(errors, _) => errors.iter().cloned().collect(),
            _ => vec![],
        };
        let mut response = HttpResponse::build(self.status_code());
        for (name, value) in self.headers() {
            response.insert_header((name, value));
        }
        response.json(ErrorBody {
            status: "error",
            message: self.to_string(),
            stack: "",
            code: self.code().1,
            body,
            validation,
        })
    }

    fn headers(&self) -> Vec<(header::HeaderName, HeaderValue)> {
        let text = |value: &str| HeaderValue::from_str(value).unwrap_or(HeaderValue::from_static(""));
        match self {
            Self::Unauthenticated(None) => vec![(header::WWW_AUTHENTICATE, text("Bearer realm=\"drover\""))],
            Self::Unauthenticated(Some(reason)) => vec![(
                header::WWW_AUTHENTICATE,
                text(&format!("Bearer error=\"invalid_token\", error_description=\"{reason}\"")),
            )],
            Self::MethodNotAllowed(allowed) => vec![(header::ALLOW, text(allowed))],
            Self::RangeNotSatisfiable(size) => {
                vec![(header::CONTENT_RANGE, text(&format!("bytes */{size}")))]
            }
            Self::Unavailable(..) | Self::Busy(_) | Self::CommitUnknown(_) => {
                vec![(header::RETRY_AFTER, text("2"))]
            }
            Self::RateLimited(seconds) | Self::TooOften(_, seconds) => {
                vec![(header::RETRY_AFTER, HeaderValue::from(*seconds))]
            }
            Self::TenantBusy(_) => vec![(header::RETRY_AFTER, HeaderValue::from(1))],
            // The unread rest of the body must not be parsed as the next request.
            Self::PayloadTooLarge(_) => vec![(header::CONNECTION, text("close"))],
            _ => vec![],
        }
    }
}

impl ResponseError for Error {
    fn status_code(&self) -> StatusCode {
        StatusCode::from_u16(self.code().0).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }

    /// Returns a response without a body. The middleware, which knows the request id, writes the body.
    fn error_response(&self) -> HttpResponse {
        HttpResponse::new(self.status_code())
    }
}

impl From<ValidationErrors> for Error {
    fn from(errors: ValidationErrors) -> Self {
        Self::Validation(errors)
    }
}

impl From<database::Error> for Error {
    fn from(error: database::Error) -> Self {
        match error {
            database::Error::Unavailable(..) => Self::Unavailable(error.into(), "The database"),
            database::Error::CommitUnknown(_) => Self::CommitUnknown(error.into()),
            _ => Self::Internal(error.into()),
        }
    }
}

impl From<diesel::result::Error> for Error {
    fn from(error: diesel::result::Error) -> Self {
        database::Error::from(error).into()
    }
}

impl From<serde_json::Error> for Error {
    fn from(error: serde_json::Error) -> Self {
        Self::Internal(redacted_json_error(&error))
    }
}

/// Describes a JSON error by its kind and position. The message of serde_json is not used, since it repeats the value,
/// which may be personal data.
pub fn redacted_json_error(error: &serde_json::Error) -> anyhow::Error {
    let (kind, line, column) = (error.classify(), error.line(), error.column());
    anyhow::anyhow!("unexpected JSON: {kind:?} at line {line}, column {column}")
}

impl database::DatabaseFailure for Error {
    fn database(&self) -> Option<&database::Error> {
        match self {
            Self::Internal(e) | Self::Unavailable(e, _) | Self::CommitUnknown(e) => e.downcast_ref(),
            _ => None,
        }
    }
}

/// The code of an error. Each has its own status, except the three codes of 409 and the two of 400.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ErrorCode {
    ValidationFailed,
    MalformedBody,
    Unauthenticated,
    Forbidden,
    NotFound,
    MethodNotAllowed,
    NotAcceptable,
    Conflict,
    IdempotencyKeyReused,
    IdempotencyInProgress,
    PreconditionFailed,
    PayloadTooLarge,
    UnsupportedMediaType,
    RangeNotSatisfiable,
    RateLimited,
    Internal,
    DependencyUnavailable,
}

/// Why one of several things that a request asks for failed.
#[derive(Debug, Serialize, ToSchema)]
pub struct ItemError {
    code: ErrorCode,
    /// As in `body.reason`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Reason>, nullable = false)]
    reason: Option<Value>,
    /// One sentence for a person.
    message: String,
}

/// `body.reason`: why the state of a resource forbids an operation (409 `conflict`), or what restricts the caller (403
/// `forbidden`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = ErrorReason)]
pub enum Reason {
    /// The load is completed.
    LoadCompleted,
    /// The load is cancelled.
    LoadCancelled,
    /// The load is rejected.
    LoadRejected,
    /// The load is collected.
    LoadCollected,
    /// The load is upcoming.
    LoadUpcoming,
    /// The load has a proof of delivery with other values.
    ProofDiffers,
    /// The load was rejected with other values.
    RejectionDiffers,
    /// The load has another carrier.
    CarrierDiffers,
    /// The listing is closed.
    ListingClosed,
    /// The listing is published.
    ListingPublished,
    /// The listing is a draft.
    ListingDraft,
    /// The caller has reported the listing already.
    AlreadyReported,
    /// The listing belongs to the caller's organisation.
    OwnListing,
    /// The report was resolved with another outcome.
    ResolvedDifferently,
    /// The same content was imported before.
    ImportedBefore,
    /// The webhook is disabled.
    WebhookDisabled,
    /// The caller, the organisation or the resource has as many as it may have.
    LimitReached,
    /// The file is archived already.
    AlreadyArchived,
    /// The body of the delivery is no longer stored.
    BodyExpired,
    /// The caller's organisation is suspended.
    Suspended,
    /// The organisation that the request names has blocked the caller's.
    Blocked,
    /// The upload would exceed the storage of the organisation or user.
    QuotaExceeded,
}

/// The `body` of an error. Some codes add members of their own.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[expect(dead_code, reason = "describes the body, which is built as a map")]
struct ErrorDetails {
    /// The id of the request, as in `X-Request-Id`.
    request_id: String,
    /// Why the operation is refused, with 409 `conflict` and some 403 `forbidden`.
    #[schema(required = false)]
    reason: Reason,
}

/// The body of every error.
#[derive(Serialize, ToSchema)]
pub struct ErrorBody {
    /// Always `error`.
    #[schema(value_type = String)]
    status: &'static str,
    /// One sentence for a person.
    message: String,
    /// Always empty. The log has the stack under the request id.
    #[schema(value_type = String)]
    stack: &'static str,
    /// For a program: one of the codes in the API guide.
    code: ErrorCode,
    /// `requestId`, and the members that the code documents.
    #[schema(value_type = ErrorDetails)]
    body: Map<String, Value>,
    /// One entry for each invalid or forbidden field.
    validation: Vec<FieldError>,
}

/// The error responses that every operation documents.
#[derive(IntoResponses)]
pub enum ErrorResponses {
    /// A field is missing or invalid (`validation_failed`), or the body cannot be read (`malformed_body`).
    #[response(status = 400)]
    BadRequest(#[to_schema] ErrorBody),
    /// No valid bearer token.
    #[response(status = 401)]
    Unauthenticated(#[to_schema] ErrorBody),
    /// The caller may not do this.
    #[response(status = 403)]
    Forbidden(#[to_schema] ErrorBody),
    /// The state of the resource does not permit the operation.
    #[response(status = 409)]
    Conflict(#[to_schema] ErrorBody),
    /// A defect of the service.
    #[response(status = 500)]
    Internal(#[to_schema] ErrorBody),
}
