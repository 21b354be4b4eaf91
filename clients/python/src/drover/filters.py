"""The filters of searches. The annotation of a member is the name of its parameter, where that is another."""

from collections.abc import Sequence
from datetime import date, datetime
from typing import Annotated, Literal, TypeAlias

from typing_extensions import TypedDict

Day: TypeAlias = str | date | datetime
"""A date, or a time with an offset."""
LoadStatus: TypeAlias = Literal["upcoming", "collected", "completed", "rejected", "cancelled"]
LoadSort: TypeAlias = Literal[
    "deliveryDateISO",
    "createdAt",
    "reference",
    "status",
    "organiser",
    "carrier",
    "commodity",
    "weight",
    "weightNet",
]
LoadInclude: TypeAlias = Literal["newestNote", "driverIds"]
ListingSort: TypeAlias = Literal[
    "publishedAt", "createdAt", "price", "distance", "age", "quantity", "organisationName"
]
Sex: TypeAlias = Literal["ewes", "rams", "lambs", "shearlings", "heifers", "steers", "bulls", "cows"]
Attribute: TypeAlias = Literal["crossbred", "in-lamb", "pedigree", "organic", "in-calf", "named-sire"]


class LoadFilters(TypedDict, total=False):
    """Which loads are found: those that match every filter. Without `status`, all but cancelled ones."""

    query: str
    """Words that must all occur in reference, ticket, registration, parties, commodity, postcodes or tags."""
    status: Annotated[LoadStatus | Sequence[LoadStatus], "f:status"]
    organiser_id: Annotated[str, "f:organiserId"]
    carrier_id: Annotated[str, "f:carrierId"]
    driver_id: Annotated[str, "f:driverId"]
    """The user id of a driver, or `me`."""
    commodity_id: Annotated[int | Sequence[int], "f:commodityId"]
    tag: Annotated[str, "f:tag"]
    created_by: Annotated[str, "f:createdBy"]
    """The id of the organisation that created the load, or `own`."""
    batch_id: Annotated[str, "f:batchId"]
    file_id: Annotated[str, "f:fileId"]
    """The id of a file of the load, its collection or its rejection."""
    ids: Annotated[str | Sequence[str], "f:id"]
    """Up to 200 ids of loads."""
    start_date: Annotated[Day, "startDateISO"]
    """The first delivery date."""
    end_date: Annotated[Day, "endDateISO"]
    """The last delivery date, included."""
    overdue: bool
    awaits_acceptance: Annotated[bool, "awaitsAcceptance"]
    weight_differs_by_percent: Annotated[int, "weightDiffersByPercent"]
    """Completed loads whose net weight differs by more than this from the collected or else the agreed weight."""


class LoadSearchFilters(LoadFilters, total=False):
    """Which loads are found, and in which order: by default the newest first."""

    sort_by: Annotated[LoadSort, "sortBy"]
    sort_desc: Annotated[bool, "sortDesc"]
    include: LoadInclude | Sequence[LoadInclude]
    """Each load has its newest note."""
    columns: Sequence[str]
    """The columns of CSV and XLSX, in this order."""


class ListingFilters(TypedDict, total=False):
    """Which listings are found: those that match every filter. Without `status`, all active ones."""

    query: str
    """Words that must all occur in title, description, breed, society, tags, organisation or place."""
    status: Annotated[
        Literal["active-selling", "active-buying", "sold", "found", "cancelled", "draft"], "f:status"
    ]
    type: Annotated[str, "f:commodityType"]
    """A category (`sheep`, `cattle`, `working dog`, `feed`, `bedding`) or a value of `properties.type`."""
    breed: Annotated[str | Sequence[str], "f:commodityBreed"]
    """Any of these is the breed or the breed type."""
    breed_type: Annotated[str | Sequence[str], "f:breedType"]
    society: Annotated[str | Sequence[str], "f:commodityBreedSociety"]
    sexes: Annotated[Sex, "f:commoditySexes"]
    additional_info: Annotated[Attribute, "f:commodityAdditionalInfo"]
    min_age: Annotated[float, "minAge"]
    """In months."""
    max_age: Annotated[float, "maxAge"]
    """In months."""
    organisation_id: Annotated[str, "f:organisationId"]
    latitude: float
    longitude: float
    near: str
    """A postcode, an outward code or a sector, in place of `latitude` and `longitude`."""
    distance_km: Annotated[float, "distanceKm"]
    bbox: tuple[float, float, float, float]
    """West, south, east and north in degrees."""
    is_wishlisted: Annotated[bool, "isWishlisted"]


class ListingSearchFilters(ListingFilters, total=False):
    """Which listings are found, and in which order: by default the newest, or with a point the nearest first."""

    sort_by: Annotated[ListingSort, "sortBy"]
    sort_desc: Annotated[bool, "sortDesc"]


class ImportOptions(TypedDict, total=False):
    """How a batch is read, and what happens to its rows."""

    organisation_id: Annotated[str, "organisationId"]
    """The organiser of rows that name none."""
    organisation_name: Annotated[str, "organisationName"]
    if_exists: Annotated[Literal["create", "skip", "refuse", "update"], "ifExists"]
    match_by: Annotated[Literal["referenceAndDate", "reference"], "matchBy"]
    invalid_rows: Annotated[Literal["refuse", "leaveOut"], "invalidRows"]
    repeat: bool
    """Accepts content that was imported before."""
    date_order: Annotated[Literal["iso", "dmy", "mdy", "auto"], "dateOrder"]
    decimal: Literal["point", "comma", "auto"]
    encoding: Literal["utf-8", "windows-1252", "auto"]
    sheet: str
    """The worksheet to read."""
    headings: dict[str, str | None]
    """The column of each heading that has another name; `None` leaves the heading out."""
    corrections: Sequence[dict[str, str | int]]
    """Texts that replace cells: `{"row": 0, "column": "weight", "value": "29.4"}`."""
    include: Literal["rows"]
    """The answer has the cells of the rows with entries."""
