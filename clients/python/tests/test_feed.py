"""The feed: where it begins and continues, whatever the service does meanwhile."""

import itertools
import json
import logging
import threading
import unittest
from collections.abc import Sequence

from drover import AsyncDrover, errors
from drover._http import EventParser

from .server import Answer, Asked, FakeServer, in_turn, refusal
from .test_failures import QUICK, client_of

STREAM = {"Content-Type": "text/event-stream"}


def event(number: int) -> dict[str, object]:
    return {
        **{"id": f"event-{number}", "type": "load.created", "loadId": f"load-{number}", "revision": 1},
        **{"atUTC": "2026-02-01T00:00:00.000Z", "reference": "two\u2028lines"},
    }


def stream(numbers: Sequence[int], drop: int | None = None) -> Answer:
    texts = [
        f": still here\n\nid: 1.{number}\nevent: load.created\ndata: {data}\n\n"
        for number in numbers
        for data in [json.dumps(event(number), ensure_ascii=False)]
    ]
    return Answer(200, "".join(texts).encode(), STREAM, drop)


class Watcher(logging.Handler):
    """Sees in the log that the feed is opened again."""

    def __init__(self, seen: threading.Event) -> None:
        super().__init__()
        self.seen = seen

    def emit(self, record: logging.LogRecord) -> None:
        if "opened again" in record.msg:
            self.seen.set()


class Feed(unittest.TestCase):
    def asked_after(self, server: FakeServer) -> list[str]:
        return [ask.headers["last-event-id"] for ask in server.asked if ask.path == "/v1/events/stream"]

    def test_it_continues_after_the_last_event(self) -> None:
        broken = stream([3, 4])
        broken.drop = len(broken.body) - 20  # within the second event
        answers = in_turn(
            stream([1, 2]), broken, refusal(503, "dependency_unavailable"), stream([4, 5]), Answer()
        )
        with FakeServer(answers) as server, client_of(server) as client:
            events = list(itertools.islice(client.loads.events(after="1.0"), 5))
        self.assertEqual([event.id for event in events], [f"event-{number}" for number in range(1, 6)])
        self.assertEqual([event.cursor for event in events], [f"1.{number}" for number in range(1, 6)])
        self.assertEqual(events[0].reference, "two\u2028lines")
        self.assertEqual(self.asked_after(server), ["1.0", "1.2", "1.3", "1.3"])

    def test_it_begins_with_the_oldest_event_or_now(self) -> None:
        def answer(ask: Asked) -> Answer:
            if ask.path == "/v1/events/stream":
                return stream([2])
            oldest = "after" not in ask.query
            events = [event(1)] if oldest else []
            return Answer(body={"events": events, "cursor": "1.1", "more": oldest})

        for after, expected in [(None, ["event-1", "event-2"]), ("now", ["event-2"])]:
            with self.subTest(after=after), FakeServer(answer) as server, client_of(server) as client:
                events = list(itertools.islice(client.loads.events(after), len(expected)))
                self.assertEqual([event.id for event in events], expected)
                self.assertEqual(self.asked_after(server), ["1.1"])

    def test_it_survives_a_restart(self) -> None:
        with FakeServer(in_turn(stream([1]))) as before:
            port = before.port
            client = client_of(before)
            events = client.loads.events(after="1.0")
            self.assertEqual(next(events).cursor, "1.1")
        found: list[str] = []
        gave_up = threading.Event()  # the retries of one request did not outlast the restart
        watcher = Watcher(gave_up)
        log = logging.getLogger("drover")
        log.addHandler(watcher)
        log.setLevel(logging.INFO)
        self.addCleanup(log.removeHandler, watcher)
        self.addCleanup(log.setLevel, logging.NOTSET)
        thread = threading.Thread(target=lambda: found.append(next(events).cursor))
        thread.start()
        self.assertTrue(gave_up.wait(20))
        self.assertEqual(found, [])
        with FakeServer(in_turn(stream([2])), port) as after:
            thread.join(10)
        self.assertEqual(found, ["1.2"])
        self.assertEqual(self.asked_after(after), ["1.1"])
        client.close()

    def test_what_waiting_does_not_mend_is_an_error(self) -> None:
        for answer, kind in [
            (refusal(410, "not_found"), errors.Gone),
            (refusal(403, "forbidden"), errors.Forbidden),
            (refusal(429, "rate_limited"), errors.RateLimited),
            (Answer(200, b"id: 1\ndata: {\n\n", STREAM), errors.UnexpectedResponse),
        ]:
            with self.subTest(kind=kind), FakeServer(in_turn(answer)) as server, client_of(server) as client:
                with self.assertRaises(kind):
                    next(client.loads.events(after="1.0"))

    def test_bytes_arrive_in_any_pieces(self) -> None:
        text = stream([1, 2]).body + b"id: 1.3\r\nevent: x\r\ndata: {}\r\n\r\ndata: incomplete"
        for size in (1, 7, len(text)):
            parser = EventParser()
            pieces = (text[begin : begin + size] for begin in range(0, len(text), size))
            fields = [found for piece in pieces for found in parser.feed(piece)]
            self.assertEqual([found["id"] for found in fields], ["1.1", "1.2", "1.3"])

    def test_filters(self) -> None:
        with FakeServer(in_turn(stream([1]))) as server, client_of(server) as client:
            next(client.loads.events("1.0", types=["load.created", "load.noted"], include_load=True))
        asked = server.asked[0].query
        self.assertEqual(asked, {"f:type": ["load.created", "load.noted"], "include": ["resource"]})


class AsynchronousFeed(unittest.IsolatedAsyncioTestCase):
    async def test_it_continues_after_the_last_event(self) -> None:
        cursors = []
        with FakeServer(in_turn(stream([1]), Answer(drop=0), stream([2]))) as server:
            async with AsyncDrover(
                system=server.url, logistics=server.url, livestock=server.url, auth="t", retry=QUICK
            ) as client:
                async for found in client.loads.events(after="1.0"):
                    cursors.append(found.cursor)
                    if len(cursors) == 2:
                        break
        self.assertEqual(cursors, ["1.1", "1.2"])


if __name__ == "__main__":
    unittest.main()
