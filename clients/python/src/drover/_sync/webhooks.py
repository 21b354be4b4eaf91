"""Webhooks of an organisation, which logistics and livestock have each."""

# Made by `generate` from _async/webhooks.py.

from collections.abc import Mapping, Sequence
from typing import Generic, Literal, TypeVar

from .._http import query_of, segment
from .._model import Model
from ..errors import SecretLost
from ..filters import Day
from ..models.livestock import Webhook as ListingWebhook
from ..models.logistics import ActionResult, RedeliveryResult, Webhook, WebhookPatch
from .edit import Merge, edit
from .pages import Pages
from .transport import Service

WebhookT = TypeVar("WebhookT", bound=Webhook | ListingWebhook)
DeliveryT = TypeVar("DeliveryT", bound=Model)
DetailsT = TypeVar("DetailsT", bound=Model)


class Webhooks(Generic[WebhookT, DeliveryT, DetailsT]):
    """The webhooks of one service. `verify_webhook` checks what they send."""

    def __init__(
        self,
        service: Service,
        webhook: type[WebhookT],
        delivery: type[DeliveryT],
        details: type[DetailsT],
    ) -> None:
        self._service = service
        self._webhook = webhook
        self._delivery = delivery
        self._details = details

    def list(self) -> Pages[WebhookT]:
        """Lists the webhooks of the caller's organisation."""
        return Pages(self._service, "/v1/webhooks", self._webhook, {})

    def get(self, id: str) -> WebhookT:
        """Returns a webhook, without its secret."""
        return self._service.one(self._webhook, "GET", _path(id))

    def create(
        self,
        url: str,
        events: Sequence[str],
        *,
        description: str | None = None,
        scope: Literal["own", "all"] | None = None,
        idempotency_key: str | None = None,
    ) -> WebhookT:
        """Registers a URL for events. Store the `secret` of the answer: it is not shown again.

        Raises `SecretLost` if the webhook exists, but the answer with its secret was lost.
        """
        form = {"url": url, "events": list(events), "description": description, "scope": scope}
        options = {"json": given(form), "idempotency_key": idempotency_key}
        created = self._service.one(self._webhook, "POST", "/v1/webhooks", **options)
        if created.secret is None:
            raise SecretLost(created.id, rotated=False)
        return created

    def edit(
        self,
        webhook: WebhookT | str,
        changes: WebhookPatch,
        *,
        revision: int | None = None,
        merge: Merge[WebhookPatch, WebhookT] | None = None,
    ) -> WebhookT:
        """Changes a webhook, as `loads.edit` does a load."""
        return edit(self._service, self._webhook, _path, webhook, changes, revision, merge)

    def delete(self, id: str, *, revision: int | None = None) -> ActionResult:
        """Deletes a webhook and its deliveries."""
        return self._service.one(ActionResult, "DELETE", _path(id), revision=revision)

    def rotate_secret(self, id: str) -> WebhookT:
        """Returns the webhook with a new secret. For 24 hours, the old one signs too.

        Raises `SecretLost` if the secret was rotated, but the answer with the new one was lost.
        """
        rotated = self._service.one(self._webhook, "POST", _path(id, "rotate-secret"))
        if rotated.secret is None:
            raise SecretLost(id, rotated=True)
        return rotated

    def test(self, id: str, event: str | None = None) -> ActionResult:
        """Sends `webhook.test`, or a sample of an event."""
        return self._service.one(ActionResult, "POST", _path(id, "test"), json=given({"event": event}))

    def deliveries(self, id: str, *, status: str | None = None, event: str | None = None) -> Pages[DeliveryT]:
        """Lists what was sent to a webhook, newest first."""
        filters = {"f:status": status, "f:event": event}
        return Pages(self._service, _path(id, "deliveries"), self._delivery, filters)

    def delivery(self, id: str, delivery_id: str) -> DetailsT:
        """Returns a delivery with its body and its last attempts."""
        return self._service.one(self._details, "GET", _path(id, "deliveries", segment(delivery_id)))

    def redeliver(self, id: str, delivery_id: str) -> ActionResult:
        """Makes ten new attempts to deliver."""
        path = _path(id, "deliveries", segment(delivery_id), "redeliver")
        return self._service.one(ActionResult, "POST", path)

    def redeliver_since(
        self,
        id: str,
        since: Day,
        until: Day | None = None,
        *,
        status: Literal["failed", "delivered"] | None = None,
    ) -> RedeliveryResult:
        """Delivers the failed (or the delivered) deliveries of a period again, up to 10,000: see `more`."""
        period = {"sinceUTC": since, "untilUTC": until, "status": status}
        path = _path(id, "deliveries", "redeliver")
        return self._service.one(RedeliveryResult, "POST", path, json=dict(query_of(period)))


def _path(id: str, *rest: str) -> str:
    return "/".join(["/v1/webhooks", segment(id), *rest])


def given(members: Mapping[str, object]) -> dict[str, object]:
    """Returns the members that are not `None`."""
    return {name: value for name, value in members.items() if value is not None}
