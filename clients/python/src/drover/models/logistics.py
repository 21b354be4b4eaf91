"""Models of logistics, made by `generate` from its OpenAPI document."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import AwareDatetime
from typing_extensions import TypeAliasType

from drover._model import Model


class BlockedOrganisation(Model):
    """An organisation that the caller's has blocked."""

    blocked_at_utc: AwareDatetime
    """When it was blocked."""
    id: str
    """The id of the blocked organisation."""


class CancelForm(Model):
    """Why a load is cancelled."""

    reason: str | None = None
    """Stands in the history of the load."""


class CatalogueEntry(Model):
    """A commodity of the catalogue."""

    category: str
    """Category, such as `cereals`."""
    id: int
    """Permanent id."""
    name: str
    """Name, such as `Feed Wheat`."""


class Change(Model):
    """The values of a member before and after a change. Absent: the member had, or has, no value."""

    from_: Any | None = None
    """The value before."""
    from_length: int | None = None
    """The number of characters of `from`, if it has only the first 1,000."""
    to: Any | None = None
    """The value after."""
    to_length: int | None = None
    """The number of characters of `to`, if it has only the first 1,000."""


Code = TypeAliasType(
    "Code",
    Literal[
        "required",
        "type",
        "format",
        "enum",
        "range",
        "length",
        "unknown_reference",
        "inconsistent",
        "infected",
        "forbidden",
    ]
    | str,
)
"""Why a field is invalid."""


class Commodity(Model):
    """The commodity of a load."""

    id: int
    """The commodity's id in the catalogue."""
    name: str
    """The commodity's name in the catalogue."""


class CreatedBy(Model):
    """The organisation that created a load."""

    organisation_id: str
    """The organisation's id."""


DeliveryStatus = TypeAliasType("DeliveryStatus", Literal["pending", "delivered", "failed"] | str)
"""The delivery status of a message."""


class DeliveryTry(Model):
    """A delivery attempt."""

    at_utc: AwareDatetime
    """When it began."""
    duration_ms: int
    """How long it took, in milliseconds."""
    error: str | None = None
    """Why it failed, as in `lastError`."""
    status: int | None = None
    """The status of the answer, if there was one."""


class DriverContact(Model):
    """A driver to whom the caller's organisation has sent loads."""

    driver_id: str
    """Claim `sub` of the driver's token."""
    last_used_utc: AwareDatetime
    """When it last sent one."""
    loads: int
    """The number of loads that the organisation has sent to the driver."""
    name: str | None = None
    """The name in the driver's tokens. Absent if the driver has not called this service."""


class ErasureResult(Model):
    """The response to an erasure."""

    count: int
    """The number of records that this request changed or deleted. 0 if the service holds nothing about the user."""
    message: str
    """One sentence for a person. It says so if records are left and the request has to be sent again."""
    status: str
    """Always `success`."""


ErrorCode = TypeAliasType(
    "ErrorCode",
    Literal[
        "validation_failed",
        "malformed_body",
        "unauthenticated",
        "forbidden",
        "not_found",
        "method_not_allowed",
        "not_acceptable",
        "conflict",
        "idempotency_key_reused",
        "idempotency_in_progress",
        "precondition_failed",
        "payload_too_large",
        "unsupported_media_type",
        "range_not_satisfiable",
        "rate_limited",
        "internal",
        "dependency_unavailable",
    ]
    | str,
)
"""The code of an error. Each has its own status, except the three codes of 409 and the two of 400."""


ErrorReason = TypeAliasType(
    "ErrorReason",
    Literal[
        "load_completed",
        "load_cancelled",
        "load_rejected",
        "load_collected",
        "load_upcoming",
        "proof_differs",
        "rejection_differs",
        "carrier_differs",
        "listing_closed",
        "listing_published",
        "listing_draft",
        "already_reported",
        "own_listing",
        "resolved_differently",
        "imported_before",
        "webhook_disabled",
        "limit_reached",
        "already_archived",
        "body_expired",
        "suspended",
        "blocked",
        "quota_exceeded",
    ]
    | str,
)
"""
`body.reason`: why the state of a resource forbids an operation (409 `conflict`), or what restricts the caller (403
`forbidden`).
"""


Event = TypeAliasType(
    "Event", Literal["load.sent_to_driver", "load.sent_to_carrier", "load.cancelled", "load.rejected"] | str
)
"""The event that a notification reports."""


class FieldError(Model):
    """An invalid field."""

    code: Code
    """For a program."""
    data: dict[str, Any]
    """Details, such as the limit that the value exceeds."""
    message: str
    """One sentence for a person."""
    path: str
    """The field as the client wrote it: `price.minPrice.amount`, `files[0].id`, the name of a parameter or header."""


class FileReference(Model):
    """
    A file that a load, proof of delivery or listing refers to. Only `id` is read from requests; the other members come
    from the system service.
    """

    created_at_utc: str | None = None
    """The time of the upload."""
    id: str
    """The id of the file."""
    name: str | None = None
    """The name of the file."""
    url: str | None = None
    """The absolute URL of the download."""
    user_name: str | None = None
    """The name of the user who uploaded the file."""


class FilesForm(Model):
    """Files to add to a load."""

    files: list[FileReference]


class ItemError(Model):
    """Why one of several things that a request asks for failed."""

    code: ErrorCode
    message: str
    """One sentence for a person."""
    reason: ErrorReason | None = None
    """As in `body.reason`."""


LoadAction = TypeAliasType("LoadAction", Literal["cancel", "accept", "sendToCarrier", "sendToDriver"])
"""What to do with each load."""


class LoadActions(Model):
    """An action on many loads."""

    action: LoadAction
    carrier_id: str | None = None
    """Required with `sendToCarrier`."""
    carrier_name: str | None = None
    """The name of the carrier, by default the id."""
    driver_id: str | None = None
    """Required with `sendToDriver`."""
    ids: list[str]
    """The ids of the loads, each once."""
    reason: str | None = None
    """Of `cancel`: stands in the history of the loads."""


class LoadBatch(Model):
    """A batch that stored something."""

    count: int
    """The number of loads that it created."""
    created_at_utc: AwareDatetime
    """When the batch was stored."""
    files: list[str]
    """The names of its files."""
    id: str
    """The id of the batch, which the loads that it created show as `batchId`."""
    updated: int
    """The number of loads that it changed."""
    user_id: str
    """Claim `sub` of the user."""
    user_name: str
    """The name of the user."""


class LoadDriver(Model):
    """A driver to whom a load was sent."""

    driver_id: str
    """Claim `sub` of the driver's token."""
    sent_at_utc: AwareDatetime
    """
    The last time that the load was sent to the driver. If an earlier release sent it and its notification was
    deleted since: when the load was created.
    """


LoadEventType = TypeAliasType(
    "LoadEventType",
    Literal[
        "created",
        "updated",
        "cancelled",
        "collected",
        "completed",
        "corrected",
        "rejected",
        "reopened",
        "accepted",
        "sent_to_driver",
        "sent_to_carrier",
        "driver_revoked",
        "noted",
    ]
    | str,
)
"""What happened to a load."""


LoadFeedEventType = TypeAliasType(
    "LoadFeedEventType",
    Literal[
        "load.created",
        "load.updated",
        "load.cancelled",
        "load.collected",
        "load.completed",
        "load.corrected",
        "load.rejected",
        "load.reopened",
        "load.accepted",
        "load.sent_to_driver",
        "load.sent_to_carrier",
        "load.driver_revoked",
        "load.noted",
        "load.released",
    ]
    | str,
)
"""What happened to a load."""


class LoadPatch(Model):
    """
    Members of a load to change. Absent members stay as they are, `null` removes an optional one, arrays are replaced
    whole.
    """

    carrier_id: str | None = None
    """The id of the organisation that becomes the carrier. The present one loses access to the load."""
    carrier_name: str | None = None
    """The name of the carrier, only together with `carrierId`. Defaults to the id for a new carrier."""
    commodity_id: float | None = None
    """The id of a commodity in the catalogue."""
    delivery_date_iso: str | None = None
    dropoff_postcode: str | None = None
    files: list[FileReference] | None = None
    pickup_postcode: str | None = None
    reference: str | None = None
    tags: list[str] | None = None
    ticket_number: str | None = None
    vehicle_registration: str | None = None
    weight: float | None = None
    """In tonnes."""
    weight_net: float | None = None
    """In tonnes."""


class LoadReleasedMessageDataLoad(Model):
    id: str
    reference: str


class LoadReleasedMessageData(Model):
    load: LoadReleasedMessageDataLoad
    test: bool | None = None
    """`true` in a test, else absent"""


class LoadReleasedMessage(Model):
    data: LoadReleasedMessageData
    id: str
    """The id of the event, also in `webhook-id`."""
    timestamp: AwareDatetime
    """When the event happened."""
    type: Literal["load.released"]
    """The name of the event."""


class LoadSums(Model):
    """Sums of loads."""

    count: int
    """The number of loads."""
    weight: float
    """The sum of the agreed weights in tonnes."""
    weight_net: float
    """The sum of the net weights in tonnes."""


class Logging(Model):
    """Log level and filter."""

    filter: str | None = None
    """Tracing directives such as `logistics=debug,actix_web=warn`. Empty or `*`: the level applies everywhere."""
    level: str
    """`off`, `error`, `warn`, `info`, `debug` or `trace`, in any case."""


class NewestNote(Model):
    """The newest note on a load, in a search that asks for it."""

    at_utc: AwareDatetime
    """When it was written."""
    id: str
    """UUID: that of the event in the history of the load."""
    organisation_id: str | None = None
    """The organisation that the user acted for."""
    text: str
    """The text."""
    user_id: str
    """Claim `sub` of the user."""
    user_name: str
    """The name of the user."""


class NoteForm(Model):
    """A note on a load."""

    text: str


class Notification(Model):
    """An entry of a load's delivery log ([API guide](../docs/guide/webhooks), "Delivery log")."""

    attempts: int
    """Delivery attempts so far, including a running one."""
    created_at_utc: AwareDatetime
    """Time of creation."""
    delivered_at_utc: AwareDatetime | None = None
    """Time at which the receiver acknowledged it."""
    event: Event
    """The reported event."""
    id: str
    """UUIDv7, also sent to receivers as `webhook-id`."""
    load_id: str
    """Id of the load."""
    recipient_id: str
    """
    Id of the driver or carrier. Empty for `load.cancelled` and `load.rejected`, which go to all
    drivers.
    """
    status: DeliveryStatus
    """Delivery status."""


class OrganisationContact(Model):
    """An organisation that loads of the caller's organisation name."""

    id: str
    is_known: bool
    """Whether somebody has called this service for the organisation."""
    last_used_utc: AwareDatetime
    """When the newest of these loads was created."""
    loads: int
    """The number of loads that both organisations are parties of."""
    name: str
    """The name in the organisation's own tokens, or else in the newest load."""


OrganisationRow = TypeAliasType("OrganisationRow", OrganisationContact | BlockedOrganisation)
"""An organisation of the address book, or one that is blocked."""


Outcome = TypeAliasType("Outcome", Literal["done", "unchanged", "failed"] | str)
"""What became of a load."""


class Party(Model):
    """An organisation that takes part in a load."""

    id: str | None = None
    """The organisation's id."""
    name: str
    """The organisation's name."""


PersonalData = TypeAliasType("PersonalData", dict[str, list[dict[str, Any]]])
"""Everything that the service holds about the user: an array for each kind of records"""


QualityMeasure = TypeAliasType(
    "QualityMeasure",
    Literal[
        "moisture",
        "specificWeight",
        "protein",
        "hagberg",
        "screenings",
        "admixture",
        "oil",
        "nitrogen",
        "temperature",
    ]
    | str,
)
"""What was measured, with its unit."""


class RecognisedHeading(Model):
    """A heading of a table."""

    column: str | None = None
    """The name of its column. Absent if it is not read."""
    heading: str
    """As it is written, at most 100 characters."""
    samples: list[str]
    """The first three different texts of the file below the heading, at most 100 characters of each."""


class RecognisedSheet(Model):
    """A worksheet."""

    hidden: bool
    name: str
    rows: int | None = None
    """The number of rows with data below the headings. Absent if the sheet is damaged or too large."""


class RedeliveryResult(Model):
    """The response to a redelivery of many events."""

    count: int
    """The number of events that are delivered again."""
    message: str
    """One sentence for a person."""
    more: bool | None = None
    """`true` if there are more than 10,000: the others are later."""
    status: str
    """Always `success`."""


RejectionReason = TypeAliasType(
    "RejectionReason",
    Literal["quality", "contamination", "pests", "documents", "weight", "late", "other"] | str,
)
"""Why a load is rejected."""


class ReopenForm(Model):
    """Why a load is reopened."""

    reason: str
    """Stands in the history of the load."""


class RowCells(Model):
    """The cells of a row."""

    cells: dict[str, str]
    """The texts of the cells that are not empty, after corrections."""
    file: str | None = None
    """The name of the file if there are several."""
    line: int
    """The line of the file, or the row of the sheet."""
    row: int
    """The number of the row, from 0 over all files."""


class RowChanges(Model):
    """The changes that a row makes."""

    changes: dict[str, Change]
    """The changed members by their names in requests."""
    load_id: str
    row: int
    """The number of the row, from 0."""


class SameReference(Model):
    """A row whose reference a load of another delivery date has."""

    delivery_date_iso: AwareDatetime
    load_id: str
    """The newest load with the reference."""
    row: int
    """The number of the row, from 0."""


class SendToCarrier(Model):
    """The carrier of a load ([API guide](../docs/guide/loads))."""

    carrier_id: str
    """Id of the organisation, which becomes the carrier of a load without one."""
    carrier_name: str | None = None
    """Name of the organisation, for a load without carrier. Defaults to the id."""
    load_id: str
    """Id of the load."""


class SendToDriver(Model):
    """The driver of a load ([API guide](../docs/guide/loads))."""

    driver_id: str
    """Claim `sub` of the driver, who may then read the load and prove its delivery."""
    load_id: str
    """Id of the load."""


class Settings(Model):
    """The settings document."""

    logging: Logging
    """Log level and filter."""


SettledStatus = TypeAliasType("SettledStatus", Literal["failed", "delivered"])
"""A status of deliveries that can be delivered again."""


class SharedFields(Model):
    """The fields that both bodies and the rows of batches have."""

    commodity_id: float
    """The id of a commodity in the catalogue."""
    delivery_date_iso: str
    dropoff_postcode: str | None = None
    pickup_postcode: str | None = None
    reference: str
    tags: list[str]
    ticket_number: str | None = None
    vehicle_registration: str | None = None
    weight: float | None
    """In tonnes."""


Status = TypeAliasType("Status", Literal["upcoming", "collected", "completed", "rejected", "cancelled"] | str)
"""The status of a load."""


class Warning(Model):
    """Something that looks wrong about an action that succeeded."""

    code: str
    """For a program."""
    data: dict[str, Any]
    """The values that were compared."""
    message: str
    """One sentence for a person."""
    path: str
    """The member of the request."""


class WebhookDelivery(Model):
    """A delivery of an event to a webhook."""

    attempts: int
    """Delivery attempts so far, including a running one."""
    created_at_utc: AwareDatetime
    """Time of the event."""
    delivered_at_utc: AwareDatetime | None = None
    """Time at which the receiver acknowledged it."""
    event: str
    """The name of the event."""
    id: str
    """The id of the event, which receivers get as `webhook-id`. Another webhook gets the same event with the same id."""
    last_error: str | None = None
    """Why the last attempt failed."""
    listing_id: str | None = None
    """The listing that the event is about."""
    load_id: str | None = None
    """The load that the event is about."""
    status: DeliveryStatus
    """Delivery status."""


class WebhookDeliveryDetails(WebhookDelivery):
    """A delivery with its body and its attempts."""

    body: dict[str, Any] | None = None
    """The body of the request. Absent once it is deleted."""
    tries: list[DeliveryTry]
    """The last 10 attempts, oldest first, also those before a redelivery. Earlier releases recorded none."""


WebhookEventName = TypeAliasType(
    "WebhookEventName",
    Literal[
        "load.created",
        "load.updated",
        "load.cancelled",
        "load.collected",
        "load.rejected",
        "load.reopened",
        "load.completed",
        "load.corrected",
        "load.accepted",
        "load.sent_to_driver",
        "load.sent_to_carrier",
        "load.driver_revoked",
        "load.noted",
        "load.released",
    ]
    | str,
)
"""The name of an event."""


WebhookScope = TypeAliasType("WebhookScope", Literal["own", "all"] | str)
"""Whose events a webhook gets."""


WebhookStatus = TypeAliasType("WebhookStatus", Literal["active", "disabled"] | str)
"""Whether a webhook gets events."""


class WebhookTest(Model):
    """What a test of a webhook sends."""

    event: WebhookEventName | None = None
    """The event of which a sample is sent."""


class WebhookTestMessageData(Model):
    webhook_id: str


class WebhookTestMessage(Model):
    data: WebhookTestMessageData
    id: str
    """The id of the event, also in `webhook-id`."""
    timestamp: AwareDatetime
    """When the event happened."""
    type: Literal["webhook.test"]
    """The name of the event."""


class WeightMeasure(Model):
    """A weight."""

    conversion: float
    """The number of kilograms in one unit."""
    name: str
    """The unit, such as `tonne`."""
    weight: float
    """The weight in this unit."""


class ActionResult(Model):
    """The response of operations that return no resource."""

    id: str | None = None
    """The id of the created resource, if the operation created one."""
    message: str
    """One sentence for a person."""
    status: str
    """Always `success`."""
    warnings: list[Warning] | None = None
    """What looks wrong about the request, if something does."""


class BatchCancellation(ActionResult):
    """What became of the loads of a batch."""

    count: int
    """The number of loads that were cancelled."""
    skipped: int
    """The number of the other loads that the batch created."""


class CarrierForm(SharedFields):
    """A load that is created by its carrier."""

    carrier_id: str
    """The id of the caller's organisation."""
    carrier_name: str | None = None
    """Required unless the token or the address book has a name of the organisation."""
    files: list[FileReference] | None = None
    organisation_id: str | None = None
    """The id of the organiser, who can then see the load."""
    organisation_name: str | None = None
    weight_net: float | None = None
    """In tonnes."""


class ErrorDetails(Model):
    """The `body` of an error. Some codes add members of their own."""

    reason: ErrorReason | None = None
    """Why the operation is refused, with 409 `conflict` and some 403 `forbidden`."""
    request_id: str
    """The id of the request, as in `X-Request-Id`."""


class LoadActionResult(Model):
    """What became of a load."""

    error: ItemError | None = None
    """Why the load failed, as the operation on one load says it."""
    id: str
    """The id of the load, as in the request."""
    status: Outcome


class LoadActionResults(Model):
    """What became of each load."""

    done: int
    """The number of loads that have changed, or were sent."""
    failed: int
    """The number of loads that failed."""
    results: list[LoadActionResult]
    """In the order of the request."""
    unchanged: int
    """The number of loads with nothing to do."""
    warnings: list[Warning] | None = None
    """What looks wrong about the recipient."""


class LoadEvent(Model):
    """An entry of the history of a load ([API guide](../docs/guide/loads), "History")."""

    at_utc: AwareDatetime
    """When it happened."""
    changes: dict[str, Change] | None = None
    """The changed members by their names in requests."""
    id: str
    """UUID."""
    organisation_id: str | None = None
    """The organisation that the user acted for."""
    reason: str | None = None
    """The reason that the user stated."""
    text: str | None = None
    """The text of a note."""
    type: LoadEventType
    """What happened."""
    user_id: str | None = None
    """Claim `sub` of the user. Absent if an earlier release made the change and did not record the user."""
    user_name: str | None = None
    """The name of the user. Absent like `userId`."""


class LoadGroup(LoadSums):
    """The sums of a group."""

    key: str
    """
    The id of the commodity or the organisation, `none` without one; the status; or the date: `2026-03-01`,
    `2026-W09`, `2026-03`.
    """
    name: str | None = None
    """The name of the commodity or the organisation."""


class LoadSummary(Model):
    """The sums of the matches of a search."""

    groups: list[LoadGroup] | None = None
    """At most 500: dates ascending, others by net weight, then by weight, descending. Absent without `groupBy`."""
    total: LoadSums
    """The sums of all matches."""
    truncated: bool | None = None
    """`true` if there are more groups. Absent otherwise."""


class NewQuality(Model):
    """A measured value. Documents of loads show its unit too."""

    measure: QualityMeasure
    """What was measured."""
    value: float
    """In the unit of the measure."""


class OrganiserForm(SharedFields):
    """A load that is created by its organiser."""

    files: list[FileReference] | None
    organiser_id: str
    """The id of the caller's organisation."""
    organiser_name: str | None = None
    """Required unless the token or the address book has a name of the organisation."""
    weight_net: float | None
    """In tonnes."""


class ProofCorrection(Model):
    """Values of a proof of delivery to replace, at least one. Absent ones stay as they are."""

    files: list[FileReference] | None = None
    """Replaces the files of the proof. Other files of the load stay."""
    quality: list[NewQuality] | None = None
    """Replaces all values of the proof."""
    reason: str
    """Stands in the history of the load."""
    ticket_number: str | None = None
    vehicle_registration: str | None = None
    weight_gross: float | None = None
    """The weight of the loaded vehicle in tonnes."""
    weight_net: float | None = None
    """In tonnes."""
    weight_tare: float | None = None
    """The weight of the empty vehicle in tonnes."""


class Quality(Model):
    """A measured value."""

    measure: QualityMeasure
    """What was measured."""
    unit: str
    """The unit of the measure."""
    value: float
    """In this unit."""


class RecognisedFile(Model):
    """What was recognised in a file of a batch."""

    date_order: str | None = None
    """How dates that are texts are read. Absent if `auto` decided nothing."""
    decimal: str | None = None
    """How numbers that are texts are read. Absent if `auto` decided nothing."""
    delimiter: str | None = None
    """The character that separates the cells of CSV."""
    encoding: str | None = None
    """The encoding of CSV."""
    file: str
    """The name of the file, or empty if the form has none."""
    header_line: int
    """The line of the file, or the row of the sheet, with the headings."""
    headings: list[RecognisedHeading]
    sheet: str | None = None
    """The worksheet that was read."""
    sheets: list[RecognisedSheet] | None = None
    """The first 100 worksheets of a workbook."""


class RedeliveryForm(Model):
    """The deliveries to deliver again."""

    since_utc: str
    """The first time of the events, which is `createdAtUTC` of their deliveries."""
    status: SettledStatus | None = None
    """The status of the deliveries."""
    until_utc: str | None = None
    """The last time of the events. A date covers the whole day."""


class Rejection(Model):
    """Why the recipient refused a load."""

    at_utc: AwareDatetime
    """When the load was rejected."""
    files: list[FileReference] | None = None
    """Photographs and documents of the rejection."""
    note: str | None = None
    """The reason in words."""
    quality: list[Quality] | None = None
    """The quality that was measured."""
    reason: RejectionReason
    """The kind of the reason."""


class RejectionForm(Model):
    """A rejection to record."""

    captured_at_utc: str | None = None
    """
    When the load was rejected, for a driver who was offline; by default the present time. At most 366 days before
    the creation or the delivery date of the load, whichever is earlier.
    """
    files: list[FileReference] | None = None
    note: str | None = None
    """Required with the reason `other`."""
    quality: list[NewQuality] | None = None
    reason: RejectionReason


class Webhook(Model):
    """A receiver of events that an organisation registered."""

    created_at_utc: AwareDatetime
    """When the webhook was created."""
    description: str | None = None
    """A text for people."""
    disabled_reason: str | None = None
    """Why the service disabled the webhook."""
    events: list[WebhookEventName]
    """The events that the webhook gets."""
    id: str
    """UUID."""
    revision: int
    """The number of the revision, as in `ETag`: 1, and one more with each change."""
    scope: WebhookScope
    """Whose events the webhook gets."""
    secret: str | None = None
    """The secret that signs deliveries. Shown once: when the webhook is created and when its secret is rotated."""
    status: WebhookStatus
    """Whether the webhook gets events."""
    updated_at_utc: AwareDatetime
    """When this revision was stored."""
    url: str
    """Where events are POSTed."""


class WebhookForm(Model):
    """A webhook to create."""

    description: str | None = None
    """A text for people."""
    events: list[WebhookEventName]
    """The events that the webhook gets. Duplicates are removed."""
    scope: WebhookScope | None = None
    """`all`: the events of every organisation. `admin` only."""
    url: str
    """Where events are POSTed: `https://`, at a public address, without user information and fragment."""


class WebhookPatch(Model):
    """
    Members of a webhook to change. Absent members stay as they are, `null` removes the description, arrays are replaced
    whole.
    """

    description: str | None = None
    """A text for people."""
    events: list[WebhookEventName] | None = None
    """The events that the webhook gets."""
    scope: WebhookScope | None = None
    """Whose events the webhook gets. `all` by `admin` only."""
    status: WebhookStatus | None = None
    """`disabled` makes pending deliveries fail. `active` removes `disabledReason`."""
    url: str | None = None
    """Where events are POSTed, by the rules for creating."""


class BatchResult(Model):
    """The response to a batch."""

    batch_id: str | None = None
    """The id of the batch, which the new loads show too. Absent for a dry run, and if nothing was stored."""
    changes: list[RowChanges] | None = None
    """Of a dry run with `ifExists=update`: what would change, the first 1,000 loads."""
    count: int
    """The number of loads that were created, or would be created by a dry run."""
    differing: list[int] | None = None
    """With `ifExists=skip`: the rows whose cells differ from their loads, the first 1,000."""
    ids: list[str]
    """The ids of the loads that were created, in the order of the rows. Empty for a dry run."""
    left_out: int | None = None
    """With `invalidRows=leaveOut`: the number of rows that were left out."""
    message: str
    """One sentence for people."""
    recognised: list[RecognisedFile]
    """What was recognised in each file."""
    rows: list[RowCells] | None = None
    """
    With `include=rows`: the cells of the rows with entries, the first 1,000. With `include=sameReference`: also
    those of the rows in `sameReference`.
    """
    same_reference: list[SameReference] | None = None
    """Of a dry run: the new rows whose reference a load of another delivery date has, the first 1,000."""
    skipped: int | None = None
    """With `ifExists=skip`: the number of rows that were left out, because their loads exist already."""
    status: str
    """Always `success`."""
    unchanged: int | None = None
    """With `ifExists=update`: the number of rows that equal their loads."""
    updated: int | None = None
    """With `ifExists=update`: the number of loads that were changed, or would be changed by a dry run."""
    validation: list[FieldError] | None = None
    """With `invalidRows=leaveOut`: the entries of these rows, the first 1,000."""
    warnings: list[Warning] | None = None
    """What looks wrong about the files, such as hidden rows or similar references. Absent if there is nothing."""


class Collection(Model):
    """What was loaded."""

    at_utc: AwareDatetime
    """When the load was collected."""
    files: list[FileReference] | None = None
    """Tickets and photographs of the collection."""
    quality: list[Quality] | None = None
    """The quality of what was loaded."""
    ticket_number: str | None = None
    """The number of the ticket."""
    vehicle_registration: str | None = None
    """The registration of the vehicle."""
    weight_gross: WeightMeasure | None = None
    """The weight of the loaded vehicle."""
    weight_net: WeightMeasure | None = None
    """The weight of what was loaded."""
    weight_tare: WeightMeasure | None = None
    """The weight of the empty vehicle."""


class CollectionForm(Model):
    """A collection to record."""

    captured_at_utc: str | None = None
    """
    When the load was collected, for a driver who was offline; by default the present time. At most 366 days before
    the creation or the delivery date of the load, whichever is earlier.
    """
    files: list[FileReference] | None = None
    quality: list[NewQuality] | None = None
    ticket_number: str | None = None
    vehicle_registration: str | None = None
    weight_gross: float | None = None
    """The weight of the loaded vehicle in tonnes."""
    weight_net: float | None = None
    """In tonnes. By default the gross weight minus the tare weight, where both are named."""
    weight_tare: float | None = None
    """The weight of the empty vehicle in tonnes."""


class Delivery(Model):
    """The fields of a proof of delivery."""

    captured_at_utc: str | None = None
    """
    When the ticket was signed, for a driver who was offline; by default the present time. At most 366 days before
    the creation or the delivery date of the load, whichever is earlier.
    """
    files: list[FileReference] | None
    quality: list[NewQuality] | None = None
    ticket_number: str
    vehicle_registration: str
    weight_gross: float | None = None
    """The weight of the loaded vehicle in tonnes."""
    weight_net: float
    """In tonnes."""
    weight_tare: float | None = None
    """The weight of the empty vehicle in tonnes."""


class ErrorBody(Model):
    """The body of every error."""

    body: ErrorDetails
    """`requestId`, and the members that the code documents."""
    code: ErrorCode
    """For a program: one of the codes in the API guide."""
    message: str
    """One sentence for a person."""
    stack: str
    """Always empty. The log has the stack under the request id."""
    status: str
    """Always `error`."""
    validation: list[FieldError]
    """One entry for each invalid or forbidden field."""


class Load(Model):
    """A consignment of one commodity, ordered by an organiser and moved by a carrier ([API guide](../docs/guide/loads))."""

    batch_id: str | None = None
    """The batch that created the load. Absent if another operation did."""
    carrier: Party | None = None
    """The organisation that moves the load."""
    collection: Collection | None = None
    """What was loaded, once the load is collected."""
    commodity: Commodity
    """The commodity that is moved."""
    completed_at_utc: AwareDatetime | None = None
    """When the load was delivered."""
    created_at_utc: AwareDatetime
    """When the load was created."""
    created_by: CreatedBy | None = None
    """The organisation that created the load. Absent if an `admin` without an organisation did."""
    delivery_date_iso: AwareDatetime
    """When the load is due."""
    driver_ids: list[str] | None = None
    """
    The ids of the drivers to whom the load was sent and whom the caller can list. Only in a search with
    `include=driverIds`, and never stored.
    """
    dropoff_postcode: str | None = None
    """The postcode of the destination. UK and Irish postcodes are normalized."""
    files: list[FileReference]
    """Files such as tickets, contracts and photographs."""
    id: str
    """The load's id, a UUIDv7."""
    newest_note: NewestNote | None = None
    """
    The newest note on the load that the caller can read. Only in a search with `include=newestNote`, and never
    stored.
    """
    organiser: Party | None = None
    """The organisation that ordered the load."""
    pickup_postcode: str | None = None
    """The postcode of the origin, normalized like `dropoffPostcode`."""
    quality: list[Quality] | None = None
    """The quality at the delivery, from its proof."""
    reference: str
    """The parties' own reference."""
    rejection: Rejection | None = None
    """Why the recipient refused the load."""
    revision: int
    """The number of the revision, as in `ETag`: 1, and one more with each change."""
    status: Status
    """`upcoming`, then perhaps `collected`, then `completed` or `rejected`; or `cancelled`."""
    tags: list[str]
    """Free-form labels."""
    ticket_number: str | None = None
    """The number of the weighbridge ticket."""
    updated_at_utc: AwareDatetime
    """When this revision was stored."""
    vehicle_registration: str | None = None
    """The registration of the vehicle."""
    warnings: list[Warning] | None = None
    """
    What looks wrong about a new load, an edit, a collection, a proof of delivery or its correction. Only in the
    response to these, and never stored.
    """
    weight: WeightMeasure | None = None
    """The agreed weight."""
    weight_gross: WeightMeasure | None = None
    """The weight of the loaded vehicle, from the weighbridge."""
    weight_net: WeightMeasure | None = None
    """The net weight from the weighbridge."""
    weight_tare: WeightMeasure | None = None
    """The weight of the empty vehicle, from the weighbridge."""


class LoadEventMessageData(Model):
    carrier_id: str | None = None
    changes: dict[str, Change] | None = None
    driver_id: str | None = None
    load: Load
    organisation_id: str | None = None
    test: bool | None = None
    """`true` in a test, else absent"""
    user_id: str | None = None


class LoadEventMessage(Model):
    data: LoadEventMessageData
    id: str
    """The id of the event, also in `webhook-id`."""
    timestamp: AwareDatetime
    """When the event happened."""
    type: Literal[
        "load.created",
        "load.updated",
        "load.cancelled",
        "load.collected",
        "load.rejected",
        "load.reopened",
        "load.completed",
        "load.corrected",
        "load.accepted",
        "load.sent_to_driver",
        "load.sent_to_carrier",
    ]
    """The name of the event."""


class LoadNotedMessageData(Model):
    load: Load
    organisation_id: str | None = None
    test: bool | None = None
    """`true` in a test, else absent"""
    text: str
    user_id: str | None = None


class LoadNotedMessage(Model):
    data: LoadNotedMessageData
    id: str
    """The id of the event, also in `webhook-id`."""
    timestamp: AwareDatetime
    """When the event happened."""
    type: Literal["load.noted"]
    """The name of the event."""


class NotificationMessageData(Model):
    load: Load
    load_id: str
    notification_id: str
    recipient_id: str


class NotificationMessage(Model):
    data: NotificationMessageData
    id: str
    """The id of the event, also in `webhook-id`."""
    timestamp: AwareDatetime
    """When the event happened."""
    type: Literal["load.sent_to_driver", "load.sent_to_carrier"]
    """The name of the event."""


class ProofOfDelivery(Delivery):
    """A proof of delivery of the load in the path."""

    load_id: str | None = None
    """The load in the path. Optional."""


class ProofOfDeliveryOfLoad(Delivery):
    """A proof of delivery that names its load."""

    load_id: str
    """The id of the load."""


class DriverRevokedMessageData(Model):
    changes: dict[str, Change] | None = None
    driver_id: str
    load: Load
    organisation_id: str | None = None
    test: bool | None = None
    """`true` in a test, else absent"""
    user_id: str | None = None


class DriverRevokedMessage(Model):
    data: DriverRevokedMessageData
    id: str
    """The id of the event, also in `webhook-id`."""
    timestamp: AwareDatetime
    """When the event happened."""
    type: Literal["load.driver_revoked"]
    """The name of the event."""


class DriversMessageData(Model):
    load: Load
    load_id: str
    notification_id: str
    recipient_ids: list[str]


class DriversMessage(Model):
    data: DriversMessageData
    id: str
    """The id of the event, also in `webhook-id`."""
    timestamp: AwareDatetime
    """When the event happened."""
    type: Literal["load.cancelled", "load.rejected"]
    """The name of the event."""


class FeedLoadEvent(Model):
    """An event of the feed ([API guide](../docs/guide/events))."""

    at_utc: AwareDatetime
    """When it happened."""
    carrier_id: str | None = None
    """The carrier to which the load was sent."""
    changes: dict[str, Change] | None = None
    """The changed members by their names in requests. Absent for drivers."""
    driver_id: str | None = None
    """The driver to whom the load was sent, or who was revoked. A driver reads only the own id."""
    id: str
    """UUID: that of the event in the history of the load."""
    load: Load | None = None
    """With `include=resource`: the load as it is now, if the caller may still read it."""
    load_id: str
    """The load."""
    organisation_id: str | None = None
    """The organisation that the user acted for."""
    reason: str | None = None
    """The reason that the user stated."""
    reference: str | None = None
    """The reference of the load after the event."""
    revision: int
    """The revision of the load after the event."""
    text: str | None = None
    """The text of a note."""
    type: LoadFeedEventType
    """What happened."""
    user_id: str | None = None
    """Claim `sub` of the user. Absent if an earlier release made the change and did not record the user."""
    user_name: str | None = None
    """The name of the user. Absent like `userId`."""


class LoadFeedPage(Model):
    """A page of the feed."""

    cursor: str
    """Where the next page begins: parameter `after`."""
    events: list[FeedLoadEvent]
    """Oldest first."""
    more: bool
    """Whether the next page may have events already."""
