"""Events of the feeds, with their places."""

from .models.livestock import FeedListingEvent
from .models.logistics import FeedLoadEvent


class LoadFeedEvent(FeedLoadEvent):
    """What happened to a load. The `load` itself is there only if it was asked for."""

    cursor: str
    """Store it with what you did about the event, and continue with `loads.events(after=cursor)`."""


class ListingFeedEvent(FeedListingEvent):
    """What happened to a listing. The `listing` itself is there only if it was asked for."""

    cursor: str
    """Store it with what you did about the event, and continue with `listings.events(after=cursor)`."""
