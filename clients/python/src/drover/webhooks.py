"""Receiving webhooks: the signature, and the body as a model."""

import base64
import binascii
import hashlib
import hmac
import time
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from ._model import Model
from .errors import InvalidSignature

TOLERANCE = 300
"""How many seconds the clocks of sender and receiver may differ."""


class WebhookEvent(Model):
    """An event. `data` has the members that the API guide documents for `type`."""

    id: str
    """The same in every attempt: recognise repeats by it."""
    type: str
    """The name of the event, for example `load.created`."""
    timestamp: datetime
    """When the event happened."""
    data: dict[str, Any]
    """For example `load` or `listing`: `Load.model_validate(event.data["load"])`."""


def verify_webhook(
    headers: Mapping[str, str],
    body: bytes,
    secret: str | Iterable[str],
    *,
    tolerance: float = TOLERANCE,
    now: float | None = None,
) -> WebhookEvent:
    """Returns the event of a request, if one of the secrets signed it in the last five minutes.

    `headers` may have their names in any case. `body` is what was received, before it is parsed. While a secret is
    rotated, pass both: the service signs with the old and the new one, and one match is enough. `now` is in seconds
    since 1970, by default the present time.

    Raises `InvalidSignature` if a header is missing, the time is more than `tolerance` seconds away, or no signature
    matches, and `ValueError` if a secret is not one, or a genuine body is not an event.
    """
    given = {name.lower(): value for name, value in headers.items()}
    try:
        message_id, timestamp = given["webhook-id"], given["webhook-timestamp"]
        signatures = given["webhook-signature"].split()
        age = (time.time() if now is None else now) - int(timestamp)
    except (KeyError, ValueError):
        raise InvalidSignature("a header of the signature is missing or malformed") from None
    if abs(age) > tolerance:
        raise InvalidSignature("the request was signed too long ago, or the clocks differ")
    signed = f"{message_id}.{timestamp}.".encode() + body
    expected = [_signature(key, signed) for key in ([secret] if isinstance(secret, str) else secret)]
    # Every pair is compared, so that the time does not tell which one matched.
    matches = [hmac.compare_digest(ours, theirs.encode()) for ours in expected for theirs in signatures]
    if not any(matches):
        raise InvalidSignature("no signature matches")
    return WebhookEvent.model_validate_json(body)


def _signature(secret: str, signed: bytes) -> bytes:
    try:
        key = base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    except binascii.Error:
        key = b""
    if not key:  # Anybody can sign with an empty key.
        raise ValueError("the secret of a webhook is whsec_ and base64")
    return b"v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest())
