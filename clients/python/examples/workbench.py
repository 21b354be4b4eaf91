"""What the day needs around the client: people, a receiver of webhooks, and a network that loses an answer."""

import os
import queue
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import httpx

from drover import Drover


def client(user: str, *, loses: str | None = None) -> Drover:
    """Returns a client for a person of the examples. With `loses`, the first answer at a path is lost."""
    lost: list[str] = []

    def lose(response: httpx.Response) -> None:
        if response.request.url.path == loses and not lost:
            lost.append(loses)
            raise httpx.ReadError("the answer was lost")

    system, logistics, livestock = (os.environ[name] for name in ("SYSTEM", "LOGISTICS", "LIVESTOCK"))
    http = httpx.Client(event_hooks={"response": [lose]})
    return Drover(system=system, logistics=logistics, livestock=livestock, auth=os.environ[user], http=http)


def check(what: str, holds: bool) -> None:
    """Prints what happened, and ends the program if it is not as expected."""
    print("ok    " if holds else "FAILED", what)
    if not holds:
        sys.exit(1)


class Receiver:
    """Receives webhooks on this machine."""

    def __init__(self) -> None:
        requests: queue.Queue[tuple[dict[str, str], bytes]] = queue.Queue()

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                requests.put((dict(self.headers), body))
                self.send_response(204)
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None:
                pass

        server = HTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{server.server_port}/"
        self._requests = requests

    def next(self) -> tuple[dict[str, str], bytes]:
        """Returns the headers and the body of the next request, or raises `queue.Empty` after 30 seconds."""
        return self._requests.get(timeout=30)
