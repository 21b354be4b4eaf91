"""Models of livestock, made by `generate` from its OpenAPI document."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import AwareDatetime
from typing_extensions import TypeAliasType

from drover._model import Model

AdditionalInfo = TypeAliasType(
    "AdditionalInfo", Literal["crossbred", "in-lamb", "pedigree", "organic", "in-calf", "named-sire"] | str
)
"""A further attribute of animals."""


class Address(Model):
    """A postal address."""

    city: str | None = None
    country_iso: str | None = None
    country_name: str | None = None
    line1: str | None = None
    line2: str | None = None
    line3: str | None = None
    name: str | None = None
    postcode: str | None = None
    region: str | None = None
    region_iso: str | None = None


class AgeStats(Model):
    """The ages in months."""

    maximum: float
    """The highest age."""
    minimum: float
    """The lowest age."""


class AnimalProperties(Model):
    """Properties of animals of all categories."""

    breed: str | None = None
    """The breed, for example `Hereford`. Without a comma."""
    breed_society: str | None = None
    """The society that registers the breed. Without a comma."""
    breed_type: str | None = None
    """The breed type, for example `cross`. Without a comma."""
    title: str | None = None
    """A headline."""


class Category(Model):
    """A category of listings."""

    id: int
    """The id never changes."""
    name: str
    """The name, for example `store cattle`."""
    parent_id: int | None = None
    """The id of the category that this one is part of; absent for main categories."""


class CattleHealth(Model):
    """Health of a herd."""

    data: str | None = None
    tb_details: str | None = None
    tb_interval: str | None = None
    """The interval of tuberculosis tests, for example `12 months`."""
    tb_status: str | None = None
    """The tuberculosis status, for example `clear` or `restricted`."""


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


CollectionType = TypeAliasType("CollectionType", Literal["FeatureCollection"] | str)


class Coordinates(Model):
    """Coordinates in degrees, WGS 84."""

    lat: float
    """Degrees north."""
    lon: float
    """Degrees east."""


class CoordinatesPatch(Model):
    """Coordinates to change."""

    lat: float | None = None
    """Degrees north."""
    lon: float | None = None
    """Degrees east."""


CoordinatesSource = TypeAliasType("CoordinatesSource", Literal["postcode"] | str)
"""Where coordinates come from."""


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


class DogRegistration(Model):
    """The registration of a dog."""

    date_of_birth: str | None = None
    """The date of birth, at most 600 months ago."""
    is_registered: bool | None = None
    name: str | None = None
    """The registered name."""
    registration_number: str | None = None


DogSex = TypeAliasType("DogSex", Literal["male", "female"] | str)
"""The sex of a dog."""


EnquiryStatus = TypeAliasType("EnquiryStatus", Literal["open", "answered"] | str)
"""Whether the seller has answered an enquiry."""


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


class Facet(Model):
    """A value of a filter."""

    count: int
    """The number of listings that the value would leave."""
    value: str
    """The value that the filter takes."""


FeatureType = TypeAliasType("FeatureType", Literal["Feature"] | str)


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


GeometryType = TypeAliasType("GeometryType", Literal["Point"] | str)


class GivenWeight(Model):
    """A weight, stored in the unit of the request."""

    conversion: float | None = None
    """The number of kilograms in one unit."""
    name: str | None = None
    """The unit, for example `kilogram`."""
    weight: float | None = None
    """The weight in this unit."""


class HerdProperties(AnimalProperties):
    """Properties of a herd or flock."""

    additional_info: list[AdditionalInfo] | None = None
    max_age: float | None = None
    """The age of the oldest animal in months."""
    min_age: float | None = None
    """The age of the youngest animal in months."""
    quantity: int | None = None
    """The number of animals."""
    sexes: str | None = None
    """
    One or more of these, separated by commas: `ewes`, `rams`, `lambs`, `shearlings`, `heifers`, `steers`, `bulls`,
    `cows`.
    """


class ListingCluster(Model):
    """The listings of a cell of the map."""

    count: int
    """The number of listings."""


ListingEventType = TypeAliasType(
    "ListingEventType", Literal["created", "updated", "published", "closed"] | str
)
"""What happened to a listing."""


ListingFeedEventType = TypeAliasType(
    "ListingFeedEventType",
    Literal["listing.published", "listing.updated", "listing.closed", "listing.matched", "listing.enquiry"]
    | str,
)
"""What happened to a listing."""


class ListingMatchedMessageDataMatch(Model):
    name: str
    saved_search_id: str
    user_id: str


ListingOutcome = TypeAliasType("ListingOutcome", Literal["sold", "found", "cancelled"])
"""The status of a closed listing."""


ListingStatus = TypeAliasType("ListingStatus", Literal["draft", "active", "sold", "found", "cancelled"] | str)
"""The status of a listing."""


ListingType = TypeAliasType("ListingType", Literal["selling", "buying"] | str)
"""Whether something is offered or wanted."""


class Location(Model):
    """The location of animals or supplies."""

    address: Address | None = None
    """The postal address."""
    coordinates: Coordinates | None = None
    """The coordinates. A search by distance does not find a listing without them."""
    coordinates_source: CoordinatesSource | None = None
    """`postcode`: the coordinates are those of the postcode. Absent: the request had them."""
    three_words: str | None = None
    """The three-word address."""


class LocationPatch(Model):
    """Members of a location to change."""

    address: Address | None = None
    coordinates: CoordinatesPatch | None = None
    three_words: str | None = None
    """The three-word address."""


class Logging(Model):
    """Log level and filter."""

    filter: str | None = None
    """Tracing directives such as `logistics=debug,actix_web=warn`. Empty or `*`: the level applies everywhere."""
    level: str
    """`off`, `error`, `warn`, `info`, `debug` or `trace`, in any case."""


class Money(Model):
    """An amount of money."""

    amount: float
    """The amount; rounded half up to four decimals."""
    currency: str
    """The ISO 4217 code of the currency."""


class MoneyPatch(Model):
    """Members of an amount of money to change."""

    amount: float | None = None
    """The amount; rounded half up to four decimals."""
    currency: str | None = None
    """The ISO 4217 code of the currency."""


class NewLocation(Model):
    """The location in a request."""

    address: Address | None = None
    """The postal address."""
    coordinates: Coordinates | None = None
    """The coordinates. Without them, the listing gets those of the postcode."""
    three_words: str | None = None
    """The three-word address."""


class Performance(Model):
    """Weights of the animals."""

    average_weight: GivenWeight | None = None
    daily_live_weight_gain: GivenWeight | None = None


PersonalData = TypeAliasType("PersonalData", dict[str, list[dict[str, Any]]])
"""Everything that the service holds about the user: an array for each kind of records"""


class PriceStats(Model):
    """The prices in the currency that most of the listings have; of several such currencies, the first by its code."""

    currency: str
    """The ISO 4217 code."""
    maximum: float
    """The highest price. That of a range is its `maxPrice`."""
    minimum: float
    """The lowest price. That of a range is its `minPrice`."""


PriceType = TypeAliasType("PriceType", Literal["fixed", "range", "poa"] | str)
"""The type of a price."""


class PublicImage(Model):
    """An image of a public listing."""

    id: str
    """The id of the file."""
    name: str
    """The name of the file."""
    url: str
    """A link that needs no token, valid for at least an hour."""
    urls: dict[str, str] | None = None
    """Such links to smaller images, by their width in pixels."""


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


ReportOutcome = TypeAliasType("ReportOutcome", Literal["dismissed", "listing_removed"] | str)
"""What an administrator decided on a report."""


ReportReason = TypeAliasType("ReportReason", Literal["misleading", "suspicious", "other"] | str)
"""The reason of a report."""


ReportStatus = TypeAliasType("ReportStatus", Literal["open", "resolved"] | str)
"""Whether an administrator has decided on a report."""


class ResolveReport(Model):
    """How a report is resolved."""

    note: str | None = None
    """A note for administrators. It stays as it is if the report is resolved already."""
    outcome: ReportOutcome
    """`listing_removed` closes the listing and resolves all open reports of it."""


class SavedSearchForm(Model):
    """A search to save."""

    name: str
    """A name for people."""
    notify: bool
    """`true`: listings that match are counted and reported to webhooks."""
    parameters: dict[str, Any]
    """
    Query parameters of a listing search: texts, or arrays of texts for repeated ones. Without those for paging and
    sorting.
    """


class SavedSearchPatch(Model):
    """Members of a saved search to change."""

    name: str | None = None
    """A name for people."""
    notify: bool | None = None
    """`true`: listings that match are counted and reported to webhooks."""
    parameters: dict[str, Any] | None = None
    """Query parameters to change. Absent ones stay as they are, `null` removes one."""


class SendEnquiry(Model):
    """An enquiry about a listing. At least one of `phone` and `email` is required."""

    email: str | None = None
    """An email address without a name."""
    message: str
    """What the sender wants to know."""
    name: str
    """The sender's name."""
    phone: str | None = None
    """
    A telephone number: `+` and the digits of E.164, or national digits. Blanks, hyphens, dots and brackets may
    separate them.
    """


class Settings(Model):
    """The settings document."""

    logging: Logging
    """Log level and filter."""


SettledStatus = TypeAliasType("SettledStatus", Literal["failed", "delivered"])
"""A status of deliveries that can be delivered again."""


class SheepHealth(Model):
    """Health of a flock."""

    data: str | None = None


class SheepProperties(HerdProperties):
    """Properties of sheep."""

    health: SheepHealth | None = None
    type: list[str] | None = None
    """The types, for example `store`."""


class Stats(Model):
    """The prices and ages of the listings that a search finds."""

    age: AgeStats | None = None
    """Absent if no listing has an age."""
    price: PriceStats | None = None
    """Absent if no listing has an amount."""


class SuspendOrganisation(Model):
    """Why an organisation is suspended."""

    reason: str
    """For administrators; the organisation does not see it."""


class SuspendedOrganisation(Model):
    """A suspended organisation."""

    id: str
    """The organisation's id."""
    reason: str
    """Why it is suspended."""
    suspended_at_utc: AwareDatetime
    """When it was suspended."""


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
    Literal["listing.published", "listing.updated", "listing.closed", "listing.matched", "listing.enquiry"]
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


class WorkingDogProperties(AnimalProperties):
    """Properties of a working dog."""

    registration: DogRegistration | None = None
    sex: DogSex | None = None


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


class CattleProperties(HerdProperties):
    """Properties of cattle."""

    health: CattleHealth | None = None
    performance: Performance | None = None
    society_number: str | None = None
    """The number of the herd at the breed society."""
    type: str | None = None
    """The type, for example `store` or `calves`."""


class CloseListing(Model):
    """The request that closes a listing."""

    status: ListingOutcome
    """The new status."""


class Enquiry(Model):
    """
    An enquiry as its sender, the seller's organisation and administrators read it. It does not tell who sent it,
    besides the contact that the sender gave.
    """

    answered_at_utc: AwareDatetime | None = None
    """When the seller marked it as answered."""
    created_at_utc: AwareDatetime
    """When the enquiry was sent."""
    email: str | None = None
    """The sender's email address."""
    id: str
    """UUID, version 7."""
    listing_id: str
    """The listing."""
    message: str
    """What the sender wants to know; `erased` after the sender was erased."""
    name: str
    """The sender's name; empty after the sender was erased."""
    phone: str | None = None
    """The sender's telephone number."""
    status: EnquiryStatus
    """Whether the seller has answered."""


class ErrorDetails(Model):
    """The `body` of an error. Some codes add members of their own."""

    reason: ErrorReason | None = None
    """Why the operation is refused, with 409 `conflict` and some 403 `forbidden`."""
    request_id: str
    """The id of the request, as in `X-Request-Id`."""


class Facets(Model):
    """
    The values of the filters of a search, and the number of listings that each would leave. At most 300 kB: breeds and
    societies have up to 500 values of 60 characters each, the values of the other filters are fixed.
    """

    filters: dict[str, list[Facet]]
    """
    For each filter its 500 most frequent values, most frequent first. A count is the number of listings that the
    value would leave under all other filters of the request. Drafts and cancelled listings have no value of
    `f:status`; the other filters count them where the search finds them.
    """
    stats: Stats | None = None
    """Their prices and ages; absent if they have none."""
    total: int
    """The number of listings that the same search finds."""
    truncated: bool | None = None
    """`true` if a filter has more values than are listed; otherwise absent."""


class Geometry(Model):
    """Where a listing is, or the middle of the listings of a cluster."""

    coordinates: list[float]
    """Degrees east and north."""
    type: GeometryType


class ListingEvent(Model):
    """An entry of the history of a listing ([API guide](../docs/guide/listings), "History")."""

    at_utc: AwareDatetime
    """When the change was made."""
    changes: dict[str, Change] | None = None
    """The changed members by their names in requests; absent unless the listing was edited."""
    from_: ListingStatus | None = None
    """The previous status; absent if the listing was created."""
    id: str
    """UUID."""
    organisation_id: str | None = None
    """The organisation that the user acted for. Absent also if an earlier release made the change."""
    reason: str | None = None
    """
    The status that the closing request named, or `moderation` if `admin` removed the listing because of a report;
    absent unless the listing was closed.
    """
    to: ListingStatus
    """The status after the change, which is the previous one if the listing was edited."""
    type: ListingEventType
    """What happened."""
    user_id: str
    """Claim `sub` of the user who made the change."""
    user_name: str | None = None
    """The name of the user. Absent if an earlier release made the change."""


ListingProperties = TypeAliasType(
    "ListingProperties", CattleProperties | SheepProperties | WorkingDogProperties
)
"""The properties of the category."""


class Price(Model):
    """A price for one animal or one unit of supplies."""

    max_price: Money | None = None
    """The upper end; required for `range`."""
    min_price: Money | None = None
    """The lower end; required for `range`."""
    price_per_unit: Money | None = None
    """The price; required for `fixed`."""
    type: PriceType
    """The type of the price."""


class PricePatch(Model):
    """Members of a price to change."""

    max_price: MoneyPatch | None = None
    min_price: MoneyPatch | None = None
    price_per_unit: MoneyPatch | None = None
    type: PriceType | None = None
    """The type of the price."""


class PublicListing(Model):
    """An active listing as visitors without a token see it."""

    category_ids: list[int]
    """A main category or parts of one: see `GET /v1/categories`."""
    created_at_utc: AwareDatetime
    """When the listing was created."""
    description: str
    """Free text, may have line breaks."""
    distance_km: float | None = None
    """
    The distance from the point of the search to the shown coordinates in kilometres, rounded to metres; absent
    without a point.
    """
    files: list[PublicImage]
    """The images that every caller may download. Other files are left out."""
    id: str
    """UUID, version 7."""
    location: Location | None = None
    """
    Where the animals or supplies are: coordinates in hundredths of a degree, the outward
    code of a British postcode, no name, street or three words.
    """
    organisation_id: str
    """The organisation that the listing belongs to."""
    organisation_name: str
    """The organisation's name when the listing was created."""
    price: Price
    """The price for one animal or one unit of supplies."""
    properties: ListingProperties | None = None
    """The properties of the category."""
    published_at_utc: AwareDatetime | None = None
    """When the listing was published."""
    revision: int
    """The number of the revision: 1, and one more with each change."""
    status: ListingStatus
    """Always `active`."""
    tags: list[str]
    """Free-form labels."""
    type: ListingType
    """Whether the animals or supplies are offered or wanted."""
    updated_at_utc: AwareDatetime
    """When this revision was stored."""


PublicSearchAnswer = TypeAliasType("PublicSearchAnswer", list[PublicListing] | Facets)
"""The response of a search: listings, or facets with `docs=false`."""


class RedeliveryForm(Model):
    """The deliveries to deliver again."""

    since_utc: str
    """The first time of the events, which is `createdAtUTC` of their deliveries."""
    status: SettledStatus | None = None
    """The status of the deliveries."""
    until_utc: str | None = None
    """The last time of the events. A date covers the whole day."""


class Report(Model):
    """A report as administrators read it."""

    created_at_utc: AwareDatetime
    """When the report was sent."""
    id: str
    """UUID, version 7."""
    listing_id: str
    """The id of the reported listing."""
    message: str | None = None
    """The explanation of the user."""
    note: str | None = None
    """The note of the administrator."""
    outcome: ReportOutcome | None = None
    """The decision; absent while the report is open."""
    reason: ReportReason
    """Why the listing is reported."""
    status: ReportStatus
    """Whether an administrator has decided on the report."""
    user_id: str
    """The user who sent the report."""


class ReportListing(Model):
    """A report of a listing."""

    message: str | None
    """An explanation for moderators; may be `null`."""
    reason: ReportReason
    """Why the listing is reported."""


class SavedSearch(Model):
    """A search for listings that a user saved."""

    created_at_utc: AwareDatetime
    """When the search was saved."""
    id: str
    """UUID."""
    name: str
    """A name for people."""
    new_matches: int
    """The number of listings that matched since the listings of the search were read."""
    notify: bool
    """Whether listings that match are counted and reported to webhooks."""
    parameters: dict[str, Any]
    """The query parameters of the search: texts, or arrays of texts for repeated ones."""
    revision: int
    """The number of the revision, as in `ETag`: 1, and more with each change, match and reading of the listings."""
    updated_at_utc: AwareDatetime
    """When this revision was stored."""
    warnings: list[Warning] | None = None
    """
    Why `notify` has no effect: `never_matches` if the search finds no active listing, `no_webhook` if no webhook
    gets its matches, because the user acted for no organisation. Absent without a reason.
    """


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


class Listing(Model):
    """Animals or supplies that are offered or wanted."""

    category_ids: list[int]
    """A main category or parts of one: see `GET /v1/categories`."""
    created_at_utc: AwareDatetime
    """When the listing was created."""
    description: str
    """Free text, may have line breaks."""
    distance_km: float | None = None
    """The distance from the point of the search in kilometres, rounded to metres; absent without a point."""
    files: list[FileReference]
    """Files such as photographs and certificates."""
    id: str
    """UUID, version 7."""
    is_wishlisted: bool | None = None
    """
    Whether the listing is on the caller's wishlist. In listings that a caller reads or finds; `ETag` does not cover
    it.
    """
    location: Location | None = None
    """Where the animals or supplies are."""
    organisation_id: str
    """The organisation that the listing belongs to."""
    organisation_name: str
    """The organisation's name when the listing was created."""
    price: Price
    """The price for one animal or one unit of supplies."""
    properties: ListingProperties | None = None
    """The properties of the category."""
    published_at_utc: AwareDatetime | None = None
    """When the listing was published; absent if it never was."""
    revision: int
    """The number of the revision, as in `ETag`: 1, and one more with each change."""
    status: ListingStatus
    """The stage of its lifecycle."""
    suspended: bool | None = None
    """
    `true` if the organisation of an active listing is suspended: only its own callers and `admin` read it. Never
    stored.
    """
    tags: list[str]
    """Free-form labels."""
    type: ListingType
    """Whether the animals or supplies are offered or wanted."""
    updated_at_utc: AwareDatetime
    """When this revision was stored."""
    user_id: str
    """The user who created the listing."""
    warnings: list[Warning] | None = None
    """
    Only in the response of the request that they are about: `ignored` at amounts that the type of the price does
    not use, `no_coordinates` at a postcode that gives no coordinates.
    """


class ListingEnquiryMessageData(Model):
    enquiry: Enquiry
    listing: Listing
    test: bool | None = None
    """`true` in a test, else absent"""


class ListingEnquiryMessage(Model):
    data: ListingEnquiryMessageData
    id: str
    """The id of the event, also in `webhook-id`."""
    timestamp: AwareDatetime
    """When the event happened."""
    type: Literal["listing.enquiry"]
    """The name of the event."""


class ListingEventMessageData(Model):
    changes: dict[str, Change] | None = None
    listing: Listing
    organisation_id: str | None = None
    test: bool | None = None
    """`true` in a test, else absent"""
    user_id: str | None = None


class ListingEventMessage(Model):
    data: ListingEventMessageData
    id: str
    """The id of the event, also in `webhook-id`."""
    timestamp: AwareDatetime
    """When the event happened."""
    type: Literal["listing.published", "listing.updated", "listing.closed"]
    """The name of the event."""


class ListingForm(Model):
    """The members of a new listing that all categories share."""

    category_ids: list[float]
    """The category of the operation or parts of it; an empty array means that category."""
    description: str
    files: list[FileReference] | None
    is_draft: bool
    """`true`: only the caller's organisation sees the listing."""
    location: NewLocation | None
    price: Price
    tags: list[str]
    type: ListingType


class ListingMatchedMessageData(Model):
    listing: Listing
    matches: list[ListingMatchedMessageDataMatch]
    name: str
    saved_search_id: str
    test: bool | None = None
    """`true` in a test, else absent"""
    user_id: str


class ListingMatchedMessage(Model):
    data: ListingMatchedMessageData
    id: str
    """The id of the event, also in `webhook-id`."""
    timestamp: AwareDatetime
    """When the event happened."""
    type: Literal["listing.matched"]
    """The name of the event."""


class ListingOnMap(Model):
    """What a map shows of a listing."""

    category: str | None = None
    """The name of the main category."""
    organisation_name: str
    """The organisation's name when the listing was created."""
    price: Price
    """The price for one animal or one unit of supplies."""
    published_at_utc: AwareDatetime | None = None
    """When the listing was published; absent if it never was."""
    title: str | None = None
    """The title among its properties."""
    type: ListingType
    """Whether the animals or supplies are offered or wanted."""


class ListingPatch(Model):
    """
    Members of a listing to change. Absent members stay as they are, `null` removes an optional one, arrays are replaced
    whole. Members of `location`, `price` and `properties` can be changed one by one.
    """

    category_ids: list[float] | None = None
    """Categories of the listing's main category; an empty array means that category."""
    description: str | None = None
    files: list[FileReference] | None = None
    location: LocationPatch | None = None
    price: PricePatch | None = None
    properties: dict[str, Any] | None = None
    """Members of the properties of the listing's category, as its create operation takes them."""
    tags: list[str] | None = None
    type: ListingType | None = None
    """Only of a draft."""


SearchAnswer = TypeAliasType("SearchAnswer", list[Listing] | Facets)
"""The response of a search: listings, or facets with `docs=false`."""


class SheepForm(ListingForm):
    """A new listing of sheep."""

    properties: SheepProperties


class WorkingDogForm(ListingForm):
    """A new listing of a working dog."""

    properties: WorkingDogProperties


class BeddingForm(ListingForm):
    """A new listing of bedding."""


class CattleForm(ListingForm):
    """A new listing of cattle."""

    properties: CattleProperties


FeatureProperties = TypeAliasType("FeatureProperties", ListingOnMap | ListingCluster)


class FeedForm(ListingForm):
    """A new listing of feed."""


class FeedListingEvent(Model):
    """An event of the feed ([API guide](../docs/guide/events))."""

    at_utc: AwareDatetime
    """When it happened."""
    changes: dict[str, Change] | None = None
    """The changed members by their names in requests."""
    enquiry: Enquiry | None = None
    """The enquiry as it is now."""
    id: str
    """UUID: that of the event in the history of the listing, or of the enquiry. Matches have ids of their own."""
    listing: Listing | None = None
    """With `include=resource`: the listing as it is now, if the caller may still read it."""
    listing_id: str
    """The listing."""
    organisation_id: str | None = None
    """The organisation that the user acted for. Absent in the market."""
    reason: str | None = None
    """
    The status that the closing request named, or `moderation` if `admin` removed the listing because of a report,
    which is `cancelled` in the market.
    """
    revision: int
    """The revision of the listing after the event."""
    saved_search_id: str | None = None
    """The search that found the listing."""
    type: ListingFeedEventType
    """What happened."""
    user_id: str | None = None
    """
    Claim `sub` of the user who changed the listing, or saved the search. Absent in the market, and if the search
    was deleted.
    """
    user_name: str | None = None
    """The name of the user who changed the listing. Absent in the market."""


class ListingFeedPage(Model):
    """A page of the feed."""

    cursor: str
    """Where the next page begins: parameter `after`."""
    events: list[FeedListingEvent]
    """Oldest first."""
    more: bool
    """Whether the next page may have events already."""


class Feature(Model):
    """A listing or a cluster."""

    geometry: Geometry
    id: str | None = None
    """The id of a listing."""
    properties: FeatureProperties
    type: FeatureType


class FeatureCollection(Model):
    """The listings of a search on a map."""

    features: list[Feature]
    """Listings in the order of the search, or clusters, those of most listings first: at most 10,000."""
    truncated: bool | None = None
    """`true` if there are more features; otherwise absent."""
    type: CollectionType
    without_coordinates: int
    """The number of matches that have no coordinates and are left out."""
