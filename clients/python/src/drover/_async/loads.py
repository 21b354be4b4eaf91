"""Loads."""

from collections.abc import AsyncGenerator, Sequence
from typing import BinaryIO, Literal

import httpx
from typing_extensions import Unpack

from .._events import LoadFeedEvent
from .._http import Created, Progress, filters_of, query_of, segment
from ..filters import Day, LoadFilters, LoadSearchFilters
from ..models.logistics import (
    ActionResult,
    CancelForm,
    CarrierForm,
    CatalogueEntry,
    CollectionForm,
    Load,
    LoadActionResults,
    LoadActions,
    LoadDriver,
    LoadEvent,
    LoadFeedPage,
    LoadPatch,
    LoadSummary,
    NoteForm,
    Notification,
    OrganiserForm,
    ProofCorrection,
    ProofOfDelivery,
    RejectionForm,
    ReopenForm,
    SendToCarrier,
    SendToDriver,
    Webhook,
    WebhookDelivery,
    WebhookDeliveryDetails,
)
from .batches import AsyncBatches
from .edit import Merge, edit
from .feed import STREAM_TIMEOUT_SECONDS, follow
from .pages import AsyncPages, AsyncSearch, Format
from .transport import AsyncService
from .webhooks import AsyncWebhooks


def load_path(id: str, *rest: str) -> str:
    return "/".join(["/v1/loads", segment(id), *rest])


class AsyncLoads:
    """Loads of the caller's organisation. `revision` is the one that the caller knows, sent as `If-Match`."""

    batches: AsyncBatches
    """Imports from spreadsheets."""
    webhooks: AsyncWebhooks[Webhook, WebhookDelivery, WebhookDeliveryDetails]
    """The webhooks of logistics."""

    def __init__(self, service: AsyncService) -> None:
        self._service = service
        self.batches = AsyncBatches(service)
        self.webhooks = AsyncWebhooks(service, Webhook, WebhookDelivery, WebhookDeliveryDetails)

    def search(self, **filters: Unpack[LoadSearchFilters]) -> AsyncSearch[Load]:
        """Finds loads: iterate over the answer, or use its `page` and `export`."""
        return AsyncSearch(self._service, "/v1/loads", Load, filters_of(LoadSearchFilters, filters))

    async def summary(
        self,
        group_by: Literal["commodity", "carrier", "organiser", "status", "day", "week", "month"]
        | None = None,
        *,
        date_by: Literal["delivery", "completion"] | None = None,
        time_zone: str | None = None,
        **filters: Unpack[LoadFilters],
    ) -> LoadSummary:
        """Adds up the loads that a search finds. Weights are in tonnes."""
        groups = {"groupBy": group_by, "dateBy": date_by, "timeZone": time_zone}
        query = query_of({**groups, **filters_of(LoadFilters, filters)})
        return await self._service.one(LoadSummary, "GET", "/v1/loads/summary", query=query)

    async def export_completed(
        self,
        into: BinaryIO,
        format: Format = "CSV",
        *,
        start_date: Day | None = None,
        end_date: Day | None = None,
        bom: bool = False,
        progress: Progress | None = None,
    ) -> int:
        """Writes the loads that were completed in a period to a binary file; returns the number of bytes."""
        period = {"startDateISO": start_date, "endDateISO": end_date}
        query = query_of({**period, "format": format, "bom": bom or None})
        return await self._service.save("GET", "/v1/loads/completed", into, progress, query=query)

    async def get(self, id: str) -> Load:
        """Returns a load."""
        return await self._service.one(Load, "GET", load_path(id))

    async def by_ids(self, ids: Sequence[str]) -> list[Load]:
        """Returns up to 100 loads in this order, without those that the caller cannot read."""
        return await self._service.many(
            Load, "GET", "/v1/loads/by-ids", query=query_of({"ids": ",".join(ids)})
        )

    async def create(self, form: OrganiserForm | CarrierForm, *, idempotency_key: str | None = None) -> Load:
        """Creates a load, as its organiser or as its carrier. `warnings` of the load say what looks wrong."""
        path = "/v1/loads/organiser" if isinstance(form, OrganiserForm) else "/v1/loads/carrier"
        return await self._service.one(Load, "POST", path, body=form, idempotency_key=idempotency_key)

    async def edit(
        self,
        load: Load | str,
        changes: LoadPatch,
        *,
        revision: int | None = None,
        merge: Merge[LoadPatch, Load] | None = None,
    ) -> Load:
        """Changes the members of a load that are set in `changes`; `None` removes an optional one.

        The changes are made from `revision`, by default that of the load that was passed, or the present one of an
        id. If somebody has edited the load since, `merge` gets these changes and the load as it is now, and returns
        the changes to send instead, or `None` to give up. Raises `PreconditionFailed` if it does, or without `merge`.
        """
        return await edit(self._service, Load, load_path, load, changes, revision, merge)

    async def cancel(self, id: str, reason: str | None = None, *, revision: int | None = None) -> Load:
        """Cancels an upcoming load."""
        path, body = load_path(id, "cancel"), CancelForm(reason=reason)
        return await self._service.one(Load, "POST", path, body=body, revision=revision)

    async def accept(self, id: str, *, revision: int | None = None) -> ActionResult:
        """Accepts a load that its carrier created."""
        return await self._service.one(ActionResult, "POST", load_path(id, "accept"), revision=revision)

    async def collect(self, id: str, form: CollectionForm, *, revision: int | None = None) -> Load:
        """Records what was loaded. Another collection replaces the first."""
        return await self._service.one(
            Load, "POST", load_path(id, "collection"), body=form, revision=revision
        )

    async def reject(self, id: str, form: RejectionForm, *, revision: int | None = None) -> Load:
        """Records that the recipient refused the load."""
        return await self._service.one(Load, "POST", load_path(id, "rejection"), body=form, revision=revision)

    async def reopen(self, id: str, reason: str, *, revision: int | None = None) -> Load:
        """Undoes the last cancellation, rejection or completion."""
        path, body = load_path(id, "reopen"), ReopenForm(reason=reason)
        return await self._service.one(Load, "POST", path, body=body, revision=revision)

    async def prove(self, id: str, proof: ProofOfDelivery, *, revision: int | None = None) -> Load:
        """Proves the delivery. The same proof again changes nothing; another is `Conflict` (`proof_differs`)."""
        path = load_path(id, "proof-of-delivery")
        return await self._service.one(Load, "POST", path, body=proof, revision=revision)

    async def correct(self, id: str, correction: ProofCorrection, *, revision: int | None = None) -> Load:
        """Replaces values of the proof of a completed load."""
        path = load_path(id, "proof-of-delivery", "corrections")
        return await self._service.one(Load, "POST", path, body=correction, revision=revision)

    async def add_note(self, id: str, text: str, *, idempotency_key: str | None = None) -> Created:
        """Adds a note of up to 2,000 characters."""
        options = {"body": NoteForm(text=text), "idempotency_key": idempotency_key}
        return await self._service.one(Created, "POST", load_path(id, "notes"), **options)

    def history(self, id: str, types: Sequence[str] = ()) -> AsyncPages[LoadEvent]:
        """Lists what happened to a load, oldest first, or only events of some types such as `noted`."""
        return AsyncPages(self._service, load_path(id, "events"), LoadEvent, {"f:type": types})

    def drivers(self, id: str) -> AsyncPages[LoadDriver]:
        """Lists the drivers to whom a load was sent."""
        return AsyncPages(self._service, load_path(id, "drivers"), LoadDriver, {})

    async def send_to_driver(self, id: str, driver_id: str, *, idempotency_key: str | None = None) -> Created:
        """Sends a load to a driver, by the user id in the driver's token."""
        body = SendToDriver(load_id=id, driver_id=driver_id)
        options = {"body": body, "idempotency_key": idempotency_key}
        return await self._service.one(Created, "POST", "/v1/loads/send-to-driver", **options)

    async def revoke_driver(self, id: str, driver_id: str, *, revision: int | None = None) -> ActionResult:
        """Ends the access of a driver to a load."""
        path = load_path(id, "drivers", segment(driver_id))
        return await self._service.one(ActionResult, "DELETE", path, revision=revision)

    async def send_to_carrier(
        self, id: str, carrier_id: str, carrier_name: str | None = None, *, idempotency_key: str | None = None
    ) -> Created:
        """Sends a load to its carrier; a load without one gets this carrier."""
        body = SendToCarrier(load_id=id, carrier_id=carrier_id, carrier_name=carrier_name)
        options = {"body": body, "idempotency_key": idempotency_key}
        return await self._service.one(Created, "POST", "/v1/loads/send-to-carrier", **options)

    async def change_many(
        self, actions: LoadActions, *, idempotency_key: str | None = None
    ) -> LoadActionResults:
        """Cancels, accepts or sends up to 200 loads. Each succeeds or fails alone, in the order of the ids."""
        options = {"body": actions, "idempotency_key": idempotency_key}
        return await self._service.one(LoadActionResults, "POST", "/v1/loads/actions", **options)

    def notifications(
        self, load_id: str | None = None, *, status: str | None = None
    ) -> AsyncPages[Notification]:
        """Lists the notifications to drivers and carriers, of all loads or of one, newest first."""
        filters = {"f:loadId": load_id, "f:status": status}
        return AsyncPages(self._service, "/v1/notifications", Notification, filters)

    async def commodities(self) -> list[CatalogueEntry]:
        """Returns the catalogue of commodities."""
        return await self._service.many(CatalogueEntry, "GET", "/v1/commodities")

    def events(
        self,
        after: str | None = "now",
        *,
        types: Sequence[str] = (),
        include_load: bool = False,
        driver_id: Literal["me"] | None = None,
        organisation_id: str | None = None,
    ) -> AsyncGenerator[LoadFeedEvent, None]:
        """Follows what happens to the loads, without end, also over restarts of the service.

        `after` is the `cursor` of an event or a page; `"now"` begins with the next event, `None` with the oldest.
        Raises `Gone` if the database was restored from an older backup: begin again with `None`.
        """
        filters = feed_filters(types, include_load, driver_id, organisation_id)
        return follow(self._service, LoadFeedEvent, after, filters)

    async def event_page(
        self,
        after: str | None = None,
        *,
        limit: int | None = None,
        wait: int | None = None,
        types: Sequence[str] = (),
        include_load: bool = False,
        driver_id: Literal["me"] | None = None,
        organisation_id: str | None = None,
    ) -> LoadFeedPage:
        """Returns a page of the feed, for programs that run now and then. `wait`: up to 30 s for a first event."""
        filters = feed_filters(types, include_load, driver_id, organisation_id)
        query = query_of({**filters, "after": after, "limit": limit, "wait": wait})
        timeout = httpx.Timeout(STREAM_TIMEOUT_SECONDS + (wait or 0), connect=10)
        return await self._service.one(LoadFeedPage, "GET", "/v1/events", query=query, timeout=timeout)


def feed_filters(
    types: Sequence[str], include_load: bool, driver_id: str | None, organisation_id: str | None
) -> dict[str, object]:
    include = "resource" if include_load else None
    parties = {"f:driverId": driver_id, "f:organisationId": organisation_id}
    return {"f:type": types, "include": include, **parties}
