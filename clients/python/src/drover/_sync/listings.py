"""Listings, enquiries and saved searches."""

# Made by `generate` from _async/listings.py.

from collections.abc import Generator, Sequence
from typing import Any, Literal, TypeAlias

import httpx
from typing_extensions import Unpack

from .._events import ListingFeedEvent
from .._http import Created, filters_of, query_of, segment
from ..filters import ListingFilters, ListingSearchFilters
from ..models.livestock import (
    ActionResult,
    BeddingForm,
    Category,
    CattleForm,
    CloseListing,
    Enquiry,
    Facets,
    FeatureCollection,
    FeedForm,
    Listing,
    ListingEvent,
    ListingFeedPage,
    ListingPatch,
    ReportListing,
    ReportReason,
    SavedSearch,
    SavedSearchForm,
    SavedSearchPatch,
    SendEnquiry,
    SheepForm,
    Webhook,
    WebhookDelivery,
    WebhookDeliveryDetails,
    WorkingDogForm,
)
from .edit import Merge, edit
from .feed import STREAM_TIMEOUT_SECONDS, follow
from .pages import Pages, Search
from .transport import Service
from .webhooks import Webhooks

NewListing: TypeAlias = SheepForm | CattleForm | WorkingDogForm | FeedForm | BeddingForm
_ROUTES: dict[type[NewListing], str] = {
    SheepForm: "sheep",
    CattleForm: "cattle",
    WorkingDogForm: "working-dog",
    FeedForm: "feed",
    BeddingForm: "bedding",
}


def listing_path(id: str, *rest: str) -> str:
    return "/".join(["/v1/listings", segment(id), *rest])


class Listings:
    """Listings of the market. `revision` is the one that the caller knows, sent as `If-Match`."""

    webhooks: Webhooks[Webhook, WebhookDelivery, WebhookDeliveryDetails]
    """The webhooks of livestock."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self.webhooks = Webhooks(service, Webhook, WebhookDelivery, WebhookDeliveryDetails)

    def search(self, **filters: Unpack[ListingSearchFilters]) -> Search[Listing]:
        """Finds listings: iterate over the answer, or use its `page` and `export`."""
        return Search(self._service, "/v1/listings", Listing, filters_of(ListingSearchFilters, filters))

    def facets(self, **filters: Unpack[ListingFilters]) -> Facets:
        """Counts the values of each filter among the matches, and returns the range of their prices and ages."""
        query = query_of({**filters_of(ListingFilters, filters), "docs": False})
        return self._service.one(Facets, "GET", "/v1/listings", query=query)

    def map(
        self, *, cluster_zoom: int | None = None, limit: int | None = None, **filters: Unpack[ListingFilters]
    ) -> FeatureCollection:
        """Returns the matches as points of GeoJSON, or as clusters for a zoom from 0 to 16; at most 10,000."""
        shape = {"format": "GEOJSON", "clusterZoom": cluster_zoom, "limit": limit}
        query = query_of({**filters_of(ListingFilters, filters), **shape})
        return self._service.one(FeatureCollection, "GET", "/v1/listings", query=query)

    def get(self, id: str) -> Listing:
        """Returns a listing."""
        return self._service.one(Listing, "GET", listing_path(id))

    def by_ids(self, ids: Sequence[str]) -> list[Listing]:
        """Returns up to 100 listings in this order, without those that the caller cannot read."""
        query = query_of({"ids": ",".join(ids)})
        return self._service.many(Listing, "GET", "/v1/listings/by-ids", query=query)

    def create(self, form: NewListing, *, idempotency_key: str | None = None) -> Created:
        """Creates a listing of the category of the form; with `is_draft`, only its organisation sees it."""
        path = f"/v1/listings/{_ROUTES[type(form)]}"
        return self._service.one(Created, "POST", path, body=form, idempotency_key=idempotency_key)

    def edit(
        self,
        listing: Listing | str,
        changes: ListingPatch,
        *,
        revision: int | None = None,
        merge: Merge[ListingPatch, Listing] | None = None,
    ) -> Listing:
        """Changes the members of a listing that are set in `changes`; `None` removes an optional one.

        The changes are made from `revision`, by default that of the listing that was passed, or the present one of an
        id. If somebody has edited the listing since, `merge` gets these changes and the listing as it is now, and
        returns the changes to send instead, or `None` to give up. Raises `PreconditionFailed` if it does, or without
        `merge`.
        """
        return edit(self._service, Listing, listing_path, listing, changes, revision, merge)

    def publish(self, id: str, *, revision: int | None = None) -> ActionResult:
        """Shows a draft to everybody."""
        return self._service.one(ActionResult, "POST", listing_path(id, "publish"), revision=revision)

    def close(
        self, id: str, status: Literal["sold", "found", "cancelled"], *, revision: int | None = None
    ) -> ActionResult:
        """Closes a listing."""
        path, body = listing_path(id, "close"), CloseListing(status=status)
        return self._service.one(ActionResult, "POST", path, body=body, revision=revision)

    def history(self, id: str) -> Pages[ListingEvent]:
        """Lists what happened to a listing of the caller's organisation, oldest first."""
        return Pages(self._service, listing_path(id, "events"), ListingEvent, {})

    def add_to_wishlist(self, id: str) -> ActionResult:
        """Adds a listing to the caller's wishlist, which `search(is_wishlisted=True)` finds."""
        return self._service.one(ActionResult, "PUT", listing_path(id, "wishlist"))

    def remove_from_wishlist(self, id: str) -> ActionResult:
        """Removes a listing from the caller's wishlist."""
        return self._service.one(ActionResult, "DELETE", listing_path(id, "wishlist"))

    def report(self, id: str, reason: ReportReason, message: str | None = None) -> ActionResult:
        """Reports a listing to the administrators, once."""
        body = ReportListing(reason=reason, message=message)
        return self._service.one(ActionResult, "POST", listing_path(id, "report"), body=body)

    def enquire(self, id: str, form: SendEnquiry, *, idempotency_key: str | None = None) -> Created:
        """Sends an enquiry to the organisation of a listing, with a phone number or an email address."""
        options = {"body": form, "idempotency_key": idempotency_key}
        return self._service.one(Created, "POST", listing_path(id, "enquiries"), **options)

    def enquiries(
        self,
        *,
        scope: Literal["received", "sent"] | None = None,
        listing_id: str | None = None,
        status: Literal["open", "answered"] | None = None,
    ) -> Pages[Enquiry]:
        """Lists the enquiries that the caller's organisation received, or that the caller sent; newest first."""
        filters = {"scope": scope, "f:listingId": listing_id, "f:status": status}
        return Pages(self._service, "/v1/enquiries", Enquiry, filters)

    def mark_answered(self, enquiry_id: str) -> ActionResult:
        """Marks an enquiry as answered."""
        path = f"/v1/enquiries/{segment(enquiry_id)}/answered"
        return self._service.one(ActionResult, "POST", path)

    def categories(self) -> list[Category]:
        """Returns the categories of listings."""
        return self._service.many(Category, "GET", "/v1/categories")

    def events(
        self,
        after: str | None = "now",
        *,
        scope: Literal["own", "market"] | None = None,
        types: Sequence[str] = (),
        include_listing: bool = False,
        organisation_id: str | None = None,
    ) -> Generator[ListingFeedEvent, None, None]:
        """Follows what happens to the caller's listings or in the market, without end, also over restarts.

        `after` is the `cursor` of an event or a page; `"now"` begins with the next event, `None` with the oldest.
        Raises `Gone` if the database was restored from an older backup: begin again with `None`.
        """
        filters = _feed_filters(scope, types, include_listing, organisation_id)
        return follow(self._service, ListingFeedEvent, after, filters)

    def event_page(
        self,
        after: str | None = None,
        *,
        limit: int | None = None,
        wait: int | None = None,
        scope: Literal["own", "market"] | None = None,
        types: Sequence[str] = (),
        include_listing: bool = False,
        organisation_id: str | None = None,
    ) -> ListingFeedPage:
        """Returns a page of the feed, for programs that run now and then. `wait`: up to 30 s for a first event."""
        filters = _feed_filters(scope, types, include_listing, organisation_id)
        query = query_of({**filters, "after": after, "limit": limit, "wait": wait})
        timeout = httpx.Timeout(STREAM_TIMEOUT_SECONDS + (wait or 0), connect=10)
        return self._service.one(ListingFeedPage, "GET", "/v1/events", query=query, timeout=timeout)


class SavedSearches:
    """Searches for listings that the caller saved."""

    def __init__(self, service: Service) -> None:
        self._service = service

    def list(self) -> Pages[SavedSearch]:
        """Lists the caller's searches."""
        return Pages(self._service, "/v1/saved-searches", SavedSearch, {})

    def get(self, id: str) -> SavedSearch:
        """Returns a search."""
        return self._service.one(SavedSearch, "GET", _search_path(id))

    def create(
        self,
        name: str,
        *,
        notify: bool = False,
        idempotency_key: str | None = None,
        **filters: Unpack[ListingFilters],
    ) -> SavedSearch:
        """Saves a search. With `notify`, new matches are counted and sent to webhooks and the feed."""
        form = SavedSearchForm(name=name, notify=notify, parameters=parameters_of(filters))
        options = {"body": form, "idempotency_key": idempotency_key}
        return self._service.one(SavedSearch, "POST", "/v1/saved-searches", **options)

    def edit(
        self,
        search: SavedSearch | str,
        changes: SavedSearchPatch,
        *,
        revision: int | None = None,
        merge: Merge[SavedSearchPatch, SavedSearch] | None = None,
    ) -> SavedSearch:
        """Changes a search, as `listings.edit` does a listing. Its revision also grows with new matches."""
        return edit(self._service, SavedSearch, _search_path, search, changes, revision, merge)

    def delete(self, id: str, *, revision: int | None = None) -> ActionResult:
        """Deletes a search."""
        return self._service.one(ActionResult, "DELETE", _search_path(id), revision=revision)

    def listings(self, id: str) -> Pages[Listing]:
        """Lists what a search finds now. Reading it resets the number of new matches."""
        return Pages(self._service, f"{_search_path(id)}/listings", Listing, {})


def parameters_of(filters: ListingFilters) -> dict[str, Any]:
    """Returns filters as the parameters of a saved search: a text each, or an array of texts."""
    texts: dict[str, list[str]] = {}
    for name, value in query_of(filters_of(ListingFilters, filters)):
        texts.setdefault(name, []).append(value)
    return {name: values if len(values) > 1 else values[0] for name, values in texts.items()}


def _search_path(id: str) -> str:
    return f"/v1/saved-searches/{segment(id)}"


def _feed_filters(
    scope: str | None, types: Sequence[str], include_listing: bool, organisation_id: str | None
) -> dict[str, object]:
    include = "resource" if include_listing else None
    return {"scope": scope, "f:type": types, "include": include, "f:organisationId": organisation_id}
