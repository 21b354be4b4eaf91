"""What can go wrong. Every exception of the package is a `DroverError`."""

import email.utils
import time
from typing import Any

import httpx

from .models.system import FieldError


class DroverError(Exception):
    """The base class of all exceptions of the package."""

    idempotency_key: str | None = None
    """The key of a write that failed. Repeat the write with it, and its effect occurs only once."""


class Unreachable(DroverError):
    """No answer came, even after the retries, so a write may have happened. `__cause__` is the exception of httpx."""


class UnexpectedResponse(DroverError):
    """The service answered successfully, but not with what its document promises."""


class SecretLost(DroverError):
    """A webhook or service account has a new secret, but the answer that contained it was lost."""

    id: str
    """The id of the webhook or service account."""

    def __init__(self, id: str, *, rotated: bool) -> None:
        super().__init__(
            f"the secret of {id} was rotated, but the answer with the new one was lost. The previous one works for "
            "24 hours, or until you rotate again: do that when you can replace it at once"
            if rotated
            else f"{id} exists, but the answer with its secret was lost: unless you have the secret, call rotate_secret"
        )
        self.id = id


class InvalidSignature(DroverError):
    """A webhook was not signed with the secret, or too long ago: answer 400 and ignore its body."""


class AuthenticationFailed(DroverError):
    """The token endpoint refused the client credentials, for example with the code `invalid_client`."""

    def __init__(self, code: str) -> None:
        super().__init__(f"the token endpoint answered {code}")
        self.code = code


class ApiError(DroverError):
    """A service refused a request."""

    status: int
    """The HTTP status."""
    code: str
    """The code for a program, for example `validation_failed`. Empty if a proxy answered instead of the service."""
    message: str
    """One English sentence for a person."""
    reason: str | None
    """Why the state of a resource, or a right, forbids the request, for example `load_completed`."""
    validation: list[FieldError]
    """An entry for each invalid field; `path` is the member as it was sent."""
    request_id: str | None
    """The id by which the operator finds the request in the log."""
    body: dict[str, Any]
    """All further members that the code documents, for example `failedRows`."""
    retry_after: float | None
    """The seconds after which the service wants to be asked again."""

    def __init__(self, response: httpx.Response, answer: dict[str, Any]) -> None:
        body = answer.get("body")
        self.status = response.status_code
        self.code = str(answer.get("code", ""))
        self.message = str(answer.get("message", response.reason_phrase))
        self.body = body if isinstance(body, dict) else {}
        self.reason = self.body.get("reason")
        try:
            self.validation = [FieldError.model_validate(entry) for entry in answer.get("validation") or []]
        except (TypeError, ValueError):  # A proxy may answer with JSON of its own.
            self.validation = []
        self.request_id = self.body.get("requestId", response.headers.get("X-Request-Id"))
        self.retry_after = _seconds(response.headers.get("Retry-After"))
        super().__init__(f"{self.status} {self.code}: {self.message} (request {self.request_id})")

    @property
    def nothing_changed(self) -> bool:
        """Whether the request certainly had no effect, and may succeed when it is repeated."""
        refused = self.status == 503 and self.code != "" and self.body.get("outcome") != "unknown"
        return refused or self.status == 429 or self.code == "idempotency_in_progress"

    @property
    def outcome_unknown(self) -> bool:
        """Whether the request may or may not have had its effect."""
        return self.status in (502, 503, 504) and not self.nothing_changed


class ValidationFailed(ApiError):
    """Fields are invalid, or name something that does not exist: see `validation`."""


class Unauthenticated(ApiError):
    """The token is missing, invalid or expired, also after it was got again."""


class Forbidden(ApiError):
    """The caller may not do this. `reason` may be `blocked`, `quota_exceeded` or `suspended`."""


class NotFound(ApiError):
    """The resource does not exist."""


class Gone(ApiError):
    """The cursor of a feed is newer than the database, which was restored: start again with `after=None`."""


class Conflict(ApiError):
    """The state of the resource forbids the request: see `reason`."""


class IdempotencyKeyReused(Conflict):
    """The idempotency key belongs to another request."""


class PreconditionFailed(ApiError):
    """The resource was changed since the revision that was sent; `revision` is the present one."""

    @property
    def revision(self) -> int:
        return int(self.body["revision"])


class PayloadTooLarge(ApiError):
    """The body has more bytes than allowed."""


class RateLimited(ApiError):
    """Too many requests, also after the retries: see `retry_after`."""


class Unavailable(ApiError):
    """The service, or one that it needs, is unavailable, also after the retries."""


class ServerError(ApiError):
    """A defect of the service."""


_BY_STATUS: dict[int, type[ApiError]] = {
    401: Unauthenticated,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    410: Gone,
    412: PreconditionFailed,
    413: PayloadTooLarge,
    429: RateLimited,
    500: ServerError,
    502: Unavailable,
    503: Unavailable,
    504: Unavailable,
}
_BY_CODE: dict[str, type[ApiError]] = {
    "validation_failed": ValidationFailed,
    "idempotency_key_reused": IdempotencyKeyReused,
}


def error_of(response: httpx.Response) -> ApiError:
    """Returns the exception for a response whose body was read."""
    try:
        answer = response.json()
    except ValueError:
        answer = None
    answer = answer if isinstance(answer, dict) else {}
    by_status = _BY_STATUS.get(response.status_code, ApiError)
    return _BY_CODE.get(str(answer.get("code")), by_status)(response, answer)


def _seconds(value: str | None) -> float | None:
    """Returns the seconds of a `Retry-After` header, which may be a date."""
    if value is None:
        return None
    if value.isdigit():
        return float(value)
    try:
        return max(0.0, email.utils.parsedate_to_datetime(value).timestamp() - time.time())
    except ValueError:
        return None
