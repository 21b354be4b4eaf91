"""Follows a feed of events.

# Made by `generate` from _async/feed.py.

The feed is read as a stream, because each event of a stream has a cursor of its own: a program that stores it after
each event continues exactly there. A page of the feed has only one cursor for all its events. The service ends a
stream after a while and when it restarts; the next one begins after the last event.
"""

import json
import logging
from collections.abc import Generator
from typing import Any

import httpx

from .._http import EventParser, ModelT, is_transient, parsed, query_of
from ..errors import ApiError, DroverError, RateLimited, UnexpectedResponse, Unreachable
from ._compat import sleep
from .transport import Service

STREAM_TIMEOUT_SECONDS = 45.0
"""The time without a byte after which a stream is opened again; the service sends a line every 15 s."""

log = logging.getLogger("drover")


def follow(
    service: Service, model: type[ModelT], after: str | None, filters: dict[str, Any]
) -> Generator[ModelT, None, None]:
    """Yields the events after a cursor, as models with a member `cursor`."""
    cursor = after
    while cursor is None or cursor == "now":
        # A stream without a cursor has no place to continue from until its first event.
        query = query_of({**filters, "after": cursor, "limit": 1})
        page = service.json("GET", "/v1/events", query=query)
        try:
            events, cursor = page["events"], str(page["cursor"])
        except (KeyError, TypeError) as error:
            raise UnexpectedResponse(f"a page of the feed is malformed: {error}") from error
        for event in events:
            yield parsed(model, {**event, "cursor": cursor})
    failures = 0
    while True:
        parser = EventParser()
        try:
            with service.stream(
                "GET",
                "/v1/events/stream",
                query=query_of(filters),
                headers={"Last-Event-ID": cursor, "Accept-Encoding": "identity"},
                timeout=httpx.Timeout(STREAM_TIMEOUT_SECONDS, connect=10),
            ) as response:
                for chunk in response.iter_raw():
                    failures = 0
                    for fields in parser.feed(chunk):
                        event = parsed_event(model, fields)
                        cursor = fields["id"]
                        yield event
        except DroverError as error:
            # Waits out a restart without limit, but gives up on 429: too many streams are open.
            waits = isinstance(error, Unreachable) or (
                isinstance(error, ApiError) and is_transient(error, True)
            )
            if not waits or (isinstance(error, RateLimited) and failures >= service.transport.retry.attempts):
                raise
            log.info("The feed is opened again: %s", error)
            pause = service.transport.retry.pause(failures, error)
        else:
            pause = service.transport.retry.pause(0, Unreachable())
        failures += 1
        sleep(service.transport.retry.longest_pause if pause is None else pause)


def parsed_event(model: type[ModelT], fields: dict[str, str]) -> ModelT:
    """Returns the event of a stream with its cursor."""
    try:
        event = json.loads(fields["data"])
        return parsed(model, {**event, "cursor": fields["id"]})
    except (KeyError, TypeError, ValueError) as error:
        raise UnexpectedResponse(f"an event of the stream is malformed: {error}") from error
