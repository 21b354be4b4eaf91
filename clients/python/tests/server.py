"""A server that answers as a test says, and keeps what it was asked."""

import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any
from urllib.parse import parse_qs, urlsplit


@dataclass
class Asked:
    """A request as it arrived."""

    method: str
    path: str
    query: dict[str, list[str]]
    headers: Mapping[str, str]
    body: bytes


@dataclass
class Answer:
    """A response. `drop` closes the connection after that many bytes of the body, or before the head."""

    status: int = 200
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    drop: int | None = None


Behaviour = Callable[[Asked], Answer]


class FakeServer:
    """Answers with `answer`, a function of the request. Use it as a context manager."""

    def __init__(self, answer: Behaviour, port: int = 0) -> None:
        self.asked: list[Asked] = []
        self._stopped = False
        fake = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_request(self) -> None:
                length = int(self.headers.get("Content-Length", 0))
                url = urlsplit(self.path)
                headers = {name.lower(): value for name, value in self.headers.items()}
                asked = Asked(self.command, url.path, parse_qs(url.query), headers, self.rfile.read(length))
                if not fake._stopped:
                    fake.asked.append(asked)
                # Connections of clients outlive the listening socket: a server that stopped must not serve them.
                given = Answer(drop=0) if fake._stopped else answer(asked)
                if given.drop == 0:
                    self.close_connection = True
                    return
                body = given.body if isinstance(given.body, bytes) else json.dumps(given.body).encode()
                self.send_response(given.status)
                for name, value in {"Content-Type": "application/json", **given.headers}.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body[: given.drop])
                self.close_connection = given.drop is not None

            do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = handle_request

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.port = self._server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    def __enter__(self) -> "FakeServer":
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stopped = True
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def refusal(status: int, code: str, headers: dict[str, str] | None = None, **body: Any) -> Answer:
    """Returns an answer with the body of an error."""
    details = {"requestId": "request-1", **body}
    error = {
        "status": "error",
        "message": "No.",
        "stack": "",
        "code": code,
        "body": details,
        "validation": [],
    }
    return Answer(status, error, headers or {})


def in_turn(*answers: Answer) -> Behaviour:
    """Returns a behaviour that gives one answer after the other, and the last one again."""
    left = list(answers)
    return lambda _: left.pop(0) if len(left) > 1 else left[0]


def load(id: str = "load-1", **members: Any) -> dict[str, Any]:
    """Returns a load as logistics sends it."""
    return {
        "id": id,
        "reference": "SO-1",
        "status": "upcoming",
        "deliveryDateISO": "2026-03-01T00:00:00.000Z",
        "createdAtUTC": "2026-02-01T00:00:00.000Z",
        "updatedAtUTC": "2026-02-01T00:00:00.000Z",
        "revision": 1,
        "commodity": {"id": 1, "name": "Feed Wheat"},
        "organiser": {"id": "border-grain", "name": "Border Grain"},
        "files": [],
        "tags": [],
        **members,
    }
