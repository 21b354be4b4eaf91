"""Edits that meet those of others."""

# Made by `generate` from _async/edit.py.

from collections.abc import Callable
from typing import TypeAlias, TypeVar

from .._model import Model
from ..errors import PreconditionFailed
from ..models.livestock import Listing, SavedSearch
from ..models.livestock import Webhook as ListingWebhook
from ..models.logistics import Load, Webhook
from .transport import Service

PatchT = TypeVar("PatchT", bound=Model)
EditedT = TypeVar("EditedT", bound=Load | Listing | SavedSearch | Webhook | ListingWebhook)
Merge: TypeAlias = Callable[[PatchT, EditedT], PatchT | None]
"""Gets the changes that were sent and the resource as others left it. Returns what to send, or `None` to give up."""
MERGES = 5
"""How often changes are merged before the edit fails."""


def edit(
    service: Service,
    model: type[EditedT],
    path_of: Callable[[str], str],
    resource: EditedT | str,
    changes: PatchT,
    revision: int | None,
    merge: Merge[PatchT, EditedT] | None,
) -> EditedT:
    """Sends changes with `revision`, by default that of the resource, or the present one of an id."""
    path = path_of(resource if isinstance(resource, str) else resource.id)
    if revision is None:
        known = service.one(model, "GET", path) if isinstance(resource, str) else resource
        revision = known.revision
    for _ in range(MERGES):
        try:
            return service.one(model, "PATCH", path, body=changes, revision=revision)
        except PreconditionFailed:
            if merge is None:
                raise
            theirs = service.one(model, "GET", path)
            merged = merge(changes, theirs)
            if merged is None:
                raise
            changes, revision = merged, theirs.revision
    return service.one(model, "PATCH", path, body=changes, revision=revision)
