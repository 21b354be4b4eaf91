"""What both transports share: retries, queries, files and the parsing of streams."""

import io
import os
import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias, TypeVar
from urllib.parse import parse_qsl, quote, urlsplit

import httpx
from pydantic import ValidationError
from typing_extensions import get_type_hints

from ._model import Model
from .errors import ApiError, DroverError, UnexpectedResponse, Unreachable
from .models.system import ActionResult

ModelT = TypeVar("ModelT", bound=Model)
Query: TypeAlias = list[tuple[str, str]]
Progress: TypeAlias = Callable[[int, int | None], object]
"""Called with the bytes done and the bytes in all, `None` if these are not known. A retry begins at 0 again."""
Source: TypeAlias = bytes | str | os.PathLike[str] | BinaryIO
"""What to upload: content, a path, or an open binary file, which is read from its beginning."""


class Created(ActionResult):
    """What was created: its `id`, and `warnings` if something looks wrong."""

    id: str


@dataclass(frozen=True)
class Retry:
    """When and how often requests are repeated."""

    attempts: int = 4
    """How often a request is sent in all."""
    first_pause: float = 0.5
    """Upper bound of the first pause in seconds; doubles with each retry, with jitter."""
    longest_pause: float = 30.0
    """The longest pause in seconds. A service that asks for a longer one is not waited for."""

    def pause(self, attempt: int, error: Exception) -> float | None:
        """Returns the seconds to wait after an attempt (from 0) that failed, or `None` to give up."""
        longest = min(self.longest_pause, self.first_pause * 2.0 ** min(attempt, 16))
        retry_after = (error.retry_after if isinstance(error, ApiError) else None) or 0.0
        if retry_after > self.longest_pause:
            return None
        return retry_after + longest * random.uniform(0.5, 1)


def is_transient(error: Exception, repeatable: bool) -> bool:
    """Returns whether a request may be repeated after an error; `repeatable`: also if it may have had its effect."""
    if isinstance(error, ApiError):
        return error.nothing_changed or (error.outcome_unknown and repeatable)
    never_sent = isinstance(error, (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout))
    return never_sent or (isinstance(error, httpx.TransportError) and repeatable)


def unreachable(request: httpx.Request, error: httpx.RequestError) -> Unreachable:
    """Returns the exception of a request without an answer. It contains neither the query nor a password."""
    place = f"{request.method} {request.url.copy_with(query=None, userinfo=b'')}"
    return Unreachable(f"{place}: {type(error).__name__} {error}")


@contextmanager
def with_key(request: httpx.Request) -> Iterator[None]:
    """Adds the idempotency key of a request to an exception."""
    try:
        yield
    except DroverError as error:
        error.idempotency_key = request.headers.get("Idempotency-Key")
        raise


def segment(id: str) -> str:
    """Returns an id as a segment of a path."""
    if id in ("", ".", ".."):
        raise ValueError(f"{id!r} is no id")
    return quote(id, safe="")


def query_of(parameters: Mapping[str, Any]) -> Query:
    """Returns parameters as texts: `None` is left out, sequences are repeated."""
    query: Query = []
    for name, value in parameters.items():
        values = value if isinstance(value, Iterable) and not isinstance(value, str) else [value]
        query += [(name, _text(item)) for item in values if item is not None]
    return query


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return value.isoformat() if isinstance(value, (date, datetime)) else str(value)


def wire_names(filters: type) -> dict[str, str]:
    """Returns the parameters' names in a request by those in a class of filters, where they are annotations."""
    hints = get_type_hints(filters, include_extras=True)
    return {
        name: hint.__metadata__[0] if hasattr(hint, "__metadata__") else name for name, hint in hints.items()
    }


def filters_of(kind: type, filters: Mapping[str, Any]) -> dict[str, Any]:
    """Returns filters by their names in a request."""
    names = wire_names(kind)
    if unknown := set(filters) - set(names):
        raise TypeError(f"unknown filters: {', '.join(sorted(unknown))}")
    return {names[name]: value for name, value in filters.items()}


def parsed(model: type[ModelT], value: Any) -> ModelT:
    """Returns a part of a response as a model."""
    try:
        return model.model_validate(value)
    except ValidationError as error:
        raise UnexpectedResponse(str(error)) from error


def next_query(response: httpx.Response, query: Query, count: int) -> Query | None:
    """Returns the query of the next page, or `None` after the last one.

    Only the query of the link is used, so that a token is never sent elsewhere. A service omits the links if they
    are longer than 4 KiB; then the offset continues.
    """
    if "next" in response.links:
        return parse_qsl(urlsplit(response.links["next"]["url"]).query, keep_blank_values=True)
    parameters = dict(query)
    if response.links or count < int(parameters.get("limit", 20)):
        return None
    rest = [(name, value) for name, value in query if name not in ("offset", "cursor")]
    return [*rest, ("offset", str(int(parameters.get("offset", 0)) + count))]


class EventParser:
    """Parses server-sent events. Splits at line feeds only: JSON may contain other line separators."""

    def __init__(self) -> None:
        self._rest = b""
        self._fields: dict[str, str] = {}

    def feed(self, chunk: bytes) -> Iterator[dict[str, str]]:
        """Yields the fields of each event that is complete."""
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        for line in (line.decode().rstrip("\r") for line in lines):
            if line == "":
                fields, self._fields = self._fields, {}
                if "data" in fields:
                    yield fields
            elif not line.startswith(":"):
                name, _, value = line.partition(":")
                self._fields[name] = value.removeprefix(" ")


class Reader(io.RawIOBase):
    """A file that reports how much of it was read."""

    def __init__(self, file: BinaryIO, progress: Progress | None) -> None:
        self._file = file
        self._progress = progress
        self._total = file.seek(0, os.SEEK_END)
        file.seek(0)

    def read(self, size: int = -1) -> bytes:
        content = self._file.read(size)
        if self._progress and content:
            self._progress(self._file.tell(), self._total)
        return content

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()


@contextmanager
def opened(source: Source, progress: Progress | None) -> Iterator[tuple[str, Reader]]:
    """Opens what to upload, as its name and a file that can be read again for a retry."""
    if isinstance(source, bytes):
        yield "file", Reader(io.BytesIO(source), progress)
    elif isinstance(source, (str, os.PathLike)):
        with Path(source).open("rb") as file:
            yield Path(source).name, Reader(file, progress)
    else:
        name = os.path.basename(str(getattr(source, "name", "file")))
        yield name, Reader(source if source.seekable() else io.BytesIO(source.read()), progress)
