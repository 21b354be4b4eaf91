"""Models of system, made by `generate` from its OpenAPI document."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import AwareDatetime
from typing_extensions import TypeAliasType

from drover._model import Model


class Address(Model):
    """A postal address."""

    city: str | None = None
    """City, town or village."""
    country_iso: str | None = None
    """ISO 3166-1 alpha-2 code of the country: `GB`"""
    country_name: str | None = None
    """English name of the country. Absent if the nearest place is more than 50 km away, for example at sea."""
    line1: str | None = None
    line2: str | None = None
    line3: str | None = None
    name: str | None = None
    """Name of a building, an organisation or a place."""
    postcode: str | None = None
    """Postcode in the spelling of its country."""
    region: str | None = None
    """Name of the region: `Herefordshire`"""
    region_iso: str | None = None
    """ISO 3166-2 code of the region: `GB-HEF`"""


AddressKind = TypeAliasType(
    "AddressKind", Literal["address", "postcode", "street", "place", "container"] | str
)
"""The type of a match."""


class AddressResult(Model):
    """A match of an address search."""

    description: str | None = None
    """Distinguishes matches with the same text: `Herefordshire, United Kingdom`"""
    id: str
    """Id to find the location by, together with `source`. The id of a container lists its contents."""
    source: str
    """Provider of the match: `gazetteer`"""
    text: str
    """Text of the match: `Hereford`"""
    type: AddressKind
    """What the match is."""


class AddressSearch(Model):
    """The response of an address search: the members of the best match, if there is one, and all matches."""

    description: str | None = None
    id: str | None = None
    results: list[AddressResult]
    """All matches, best first."""
    source: str | None = None
    text: str | None = None
    type: AddressKind | None = None


Bucket = TypeAliasType("Bucket", Literal["images", "files"] | str)
"""The bucket of a file. `images` takes images only."""


class ClearCache(Model):
    """The entries to clear. An absent member clears nothing."""

    flush: bool | None = None
    """Clears all entries of this deployment."""
    keys: list[str] | None = None
    """Clears the entries with exactly these keys."""
    prefixes: list[str] | None = None
    """Clears all entries whose keys start with one of these texts. No character is a wildcard."""
    secrets: bool | None = None
    """
    Reloads verification keys and provider credentials in every replica of this service, and makes a new key for
    signed links and tokens of service accounts. Links and tokens of the key before stay valid until they expire.
    """


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


class Coordinates(Model):
    """WGS84 coordinates in degrees."""

    lat: float
    """Latitude in degrees."""
    lon: float
    """Longitude in degrees."""


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


FileType = TypeAliasType(
    "FileType",
    Literal[
        "sample",
        "avatar",
        "weighbridge",
        "contract",
        "image",
        "logo",
        "misc",
        "vehicle",
        "terms-conditions",
        "trade-contract",
    ]
    | str,
)
"""What a file is used for."""


class Link(Model):
    """A link to a file."""

    expires_at_utc: AwareDatetime
    """When the link expires."""
    url: str
    """
    The absolute URL of a download that needs no token. If the request has no `width`, `&width=` with 160, 320, 640
    or 1280 may be added.
    """
    urls: dict[str, str] | None = None
    """By width in pixels: the URL of the smaller image. Only with `widths`."""


class LinkForm(Model):
    """How long a link is valid, and what it downloads."""

    expires_in_seconds: int | None = None
    """Seconds for which the link is valid, by default 3600: one hour."""
    width: Literal[160, 320, 640, 1280] | None = None
    widths: list[Literal[160, 320, 640, 1280]] | None = None


class LinksForm(LinkForm):
    """Files to link, how long the links are valid, and what they download."""

    ids: list[str]
    """Ids of files. Texts that are not UUIDs are ignored."""


class Location(Model):
    """A location on the globe."""

    address: Address
    """Postal address, or the address of the nearest place."""
    coordinates: Coordinates
    """Coordinates."""
    distance_km: float | None = None
    """Distance in kilometres from the place that the address names, of a location by coordinates."""
    three_words: str
    """Three-word address."""


class Logging(Model):
    """Log level and filter."""

    filter: str | None = None
    """Tracing directives such as `logistics=debug,actix_web=warn`. Empty or `*`: the level applies everywhere."""
    level: str
    """`off`, `error`, `warn`, `info`, `debug` or `trace`, in any case."""


PersonalData = TypeAliasType("PersonalData", dict[str, list[dict[str, Any]]])
"""Everything that the service holds about the user: an array for each kind of records"""


class Region(Model):
    """A subdivision of a country."""

    aliases: list[str]
    """Other names."""
    country: str
    """ISO 3166-1 alpha-2 code of the country."""
    group: str | None = None
    """The parent subdivision or nation."""
    iso: str
    """ISO 3166-2 code: `GB-HEF`"""
    name: str
    tb: int
    """
    Routine cattle TB testing interval in months; 0 if it is not known. Of a region with several intervals the
    shortest.
    """
    tb_area: str | None = None
    """
    The area with this interval: `high-risk`, `edge-6`, `edge-12` or `low-risk` in England, otherwise `wales`,
    `scotland`, `northern-ireland` or `ireland`. Absent if the interval is not known.
    """
    tb_as_of: str | None = None
    """The month for which they hold, `YYYY-MM`, or a date."""
    tb_source: str | None = None
    """Where the interval and the area come from."""


Role = TypeAliasType("Role", Literal["viewer", "weighbridge"] | str)
"""A role that restricts its callers to the operations that name it in `x-roles`."""


class ServiceAccount(Model):
    """A service account of an organisation."""

    client_id: str
    """The client id at the token endpoint."""
    client_secret: str | None = None
    """The client secret. Shown once: when the account is created and when its secret is rotated."""
    created_at_utc: AwareDatetime
    """When the account was created."""
    expires_at_utc: AwareDatetime | None = None
    """When the account stops getting tokens. Absent if it does not expire."""
    id: str
    """UUID."""
    last_used_at_utc: AwareDatetime | None = None
    """When the account got its last token, to the minute. Absent if it never got one."""
    name: str
    """A name for people, which is also the user's name in tokens."""
    organisation_id: str
    """The organisation that the account acts for."""
    roles: list[Role]
    """The roles that restrict the account."""


class ServiceAccountForm(Model):
    """A service account to create."""

    expires_at_utc: str | None = None
    """When the account stops getting tokens: at most two years ahead. Absent: never."""
    name: str
    """A name for people. Tokens have it as the user's name, so loads and files show it."""
    roles: list[Role] | None = None
    """The roles that restrict the account. Without any, it may do what a user of the organisation may."""


class ServiceAccountPatch(Model):
    """Members of a service account to change. Absent members stay as they are."""

    name: str | None = None
    """A name for people."""
    roles: list[Role] | None = None
    """The roles that restrict the account; `null` removes all. They apply to the tokens that it gets from then on."""


class Settings(Model):
    """The settings document."""

    logging: Logging
    """Log level and filter."""


ShareWith = TypeAliasType("ShareWith", list[str])
"""Up to 50 ids of organisations, in which `*` means everybody; or `*` alone."""


Status = TypeAliasType("Status", Literal["active", "archived"] | str)
"""Whether a file is in use."""


class StorageUsage(Model):
    """How much of the store an owner uses."""

    bytes: int
    """The sum of the sizes of all files. Equal contents count for each file, smaller copies of images do not."""
    files: int
    """The number of files."""
    maximum_bytes: int
    """The most bytes that the files may have."""


class Units(Model):
    """The units that a country uses."""

    capacity: str
    """`litre` or `gallon`"""
    distance: str
    """`mile` or `kilometre`"""
    temperature: str
    """`celsius` or `fahrenheit`"""
    weight: str
    """`tonne` or `ton`"""


UnshareWith = TypeAliasType("UnshareWith", list[str])
"""Up to 50 ids of organisations, in which `*` means everybody; or `*` alone."""


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


class Country(Model):
    """A country."""

    calling_code: str | None = None
    """International calling code: `+44`"""
    continent: str
    """Name of the continent."""
    currency: str | None = None
    """ISO 4217 code: `GBP`"""
    enabled: str
    """The text `true` or `false`."""
    iso: str
    """ISO 3166-1 alpha-2 code: `GB`"""
    iso3: str
    """ISO 3166-1 alpha-3 code: `GBR`"""
    locale: str | None = None
    """BCP 47 tag: `en-GB`"""
    name: str
    units: Units
    zone_descriptor: str
    """The local term for a region: `county`."""


class CountryRegions(Model):
    """The regions of a country."""

    id: str
    """ISO 3166-1 alpha-2 code of the country."""
    regions: list[Region]


class ErrorDetails(Model):
    """The `body` of an error. Some codes add members of their own."""

    reason: ErrorReason | None = None
    """Why the operation is refused, with 409 `conflict` and some 403 `forbidden`."""
    request_id: str
    """The id of the request, as in `X-Request-Id`."""


class FileInfo(Model):
    """Information on a file."""

    bucket: Bucket
    """`images` or `files`."""
    content_type: str
    """The media type. Detected from the content where possible."""
    created_at_utc: AwareDatetime
    """When the file was uploaded."""
    hash: str
    """`sha256:` and the SHA-256 of the content in hexadecimal."""
    id: str | None = None
    """The file's id. Only in responses of the list and resolve operations."""
    name: str
    """The file name."""
    organisation_id: str | None = None
    """The organisation that owns the file. Absent if the file belongs to the user alone."""
    organisations: list[str]
    """
    Organisations that may read the file too. `*` means everybody. The list is complete for the file's organisation,
    its uploader acting for that organisation, and `admin`. Others see their own organisation and `*` only.
    Responses of the list and resolve operations have at most 200 for each file.
    """
    status: Status | None = None
    """`active` or `archived`. Absent inside a `FileRecord`, which has its own `status`."""
    type: FileType
    """What the file is used for."""
    url: str
    """The absolute URL of the download."""
    user_id: str
    """The id of the user who uploaded the file."""
    user_name: str
    """The name of the user who uploaded the file."""


class FileLink(Link):
    """A link to one of several files."""

    id: str
    """The file's id."""


class FileRecord(Model):
    """An uploaded file."""

    id: str
    """The file's id."""
    info: FileInfo
    """The information on the file."""
    organisation_id: str | None = None
    """The organisation that owns the file. Absent if the file belongs to the user alone."""
    status: Status
    """`active`"""
    tags: list[str]
    """Always empty."""
    type: FileType
    """What the file is used for."""
    user_id: str
    """The id of the user who uploaded the file."""


class ResolveFiles(Model):
    """The files to resolve, and the change of their sharing."""

    all_or_nothing: bool | None = None
    """`true`: changes nothing unless all ids are found."""
    brief: bool | None = None
    """`true`: leaves `organisations` empty, which keeps the response small."""
    ids: list[str]
    """Ids of files. Texts that are not UUIDs are ignored."""
    leave: bool | None = None
    """
    `true`: ends the sharing of the files of others among these with the caller's own organisation, which gives up
    its access to them.
    """
    share_id: str | None = None
    """
    Identifies the sharing for retries: of calls with the same `shareId` only the first shares (for 24 hours). So a
    late retry does not share again with organisations that were unshared since.
    """
    share_with: ShareWith | None = None
    unshare_with: UnshareWith | None = None


class Uploaded(FileRecord):
    """The response to an upload."""

    additional: list[FileRecord]
    """The files of the other parts, in the order of the parts."""


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
