"""Edits that meet those of others."""

from collections.abc import Callable
from typing import TypeAlias, TypeVar

from .._http import ModelT
from .._model import Model
from ..errors import PreconditionFailed
from .transport import AsyncService

PatchT = TypeVar("PatchT", bound=Model)
Merge: TypeAlias = Callable[[PatchT, ModelT], PatchT | None]
"""Gets the changes that were sent and the resource as others left it. Returns what to send, or `None` to give up."""
MERGES = 5
"""How often changes are merged before the edit fails."""


async def edit(
    service: AsyncService,
    model: type[ModelT],
    path: str,
    changes: PatchT,
    revision: int | None,
    merge: Merge[PatchT, ModelT] | None,
) -> ModelT:
    """Sends changes with the revision that they were made from, by default the present one."""
    if revision is None:
        revision = revision_of(await service.one(model, "GET", path))
    for _ in range(MERGES):
        try:
            return await service.one(model, "PATCH", path, body=changes, revision=revision)
        except PreconditionFailed:
            if merge is None:
                raise
            theirs = await service.one(model, "GET", path)
            merged = merge(changes, theirs)
            if merged is None:
                raise
            changes, revision = merged, revision_of(theirs)
    return await service.one(model, "PATCH", path, body=changes, revision=revision)


def revision_of(resource: Model) -> int:
    """Returns the revision of a load, listing, webhook or saved search."""
    return int(getattr(resource, "revision"))  # noqa: B009
