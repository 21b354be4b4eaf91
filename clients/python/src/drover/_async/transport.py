"""Sends requests: tokens, retries, errors, and answers as models."""

import logging
import time
import uuid
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, BinaryIO

import httpx

from .._http import ModelT, Progress, Query, Retry, is_transient, parsed, unreachable, with_key
from .._model import Model
from .._version import USER_AGENT
from ..auth import AsyncTokenSource, ClientCredentials
from ..errors import ApiError, AuthenticationFailed, UnexpectedResponse, error_of
from ._compat import Lock, resolve, sleep

RENEWAL_MARGIN_SECONDS = 30.0
"""How long before it expires a token is replaced."""
UPLOAD_TIMEOUT_SECONDS = 300.0
"""How long the service may take to answer an upload."""

log = logging.getLogger("drover")


class AsyncTransport:
    """Sends requests to all services with one pool of connections."""

    def __init__(
        self, http: httpx.AsyncClient, auth: AsyncTokenSource | None, token_url: str, retry: Retry
    ) -> None:
        self._http = http
        self._auth = auth
        self._token_url = token_url
        self.retry = retry
        self._token = ""
        self._renew_at = 0.0
        self._lock = Lock()

    async def send(self, request: httpx.Request, *, repeatable: bool, stream: bool = False) -> httpx.Response:
        """Sends a request, retries where that is safe, and returns the successful response.

        `repeatable`: sending the request twice has the effect of sending it once.
        """
        attempt, refused = 0, None
        while True:
            error: httpx.RequestError | ApiError
            sent = False
            try:
                token = await self._current_token(refused)
                sent = True
                if token is not None:
                    request.headers["Authorization"] = f"Bearer {token}"
                response = await self._http.send(request, stream=stream)
                if response.is_success:
                    return response
                await response.aread()
                error = error_of(response)
                if response.status_code == 401 and refused is None and renewable(self._auth):
                    refused = token
                    continue
            except (httpx.RequestError, ApiError) as failure:
                error = failure
            pause = self.retry.pause(attempt, error) if is_transient(error, repeatable or not sent) else None
            attempt += 1
            if pause is None or attempt >= self.retry.attempts:
                if isinstance(error, httpx.RequestError):
                    raise unreachable(request, error) from error
                raise error
            log.info("%s %s is repeated in %.1f s: %s", request.method, request.url.path, pause, error)
            await sleep(pause)

    async def _current_token(self, refused: str | None) -> str | None:
        """Returns a token that is not the refused one, or `None` without log-in."""
        if self._auth is None or isinstance(self._auth, str):
            return self._auth
        if not isinstance(self._auth, ClientCredentials):
            return await resolve(self._auth())
        async with self._lock:
            if self._token == refused or time.monotonic() >= self._renew_at:
                await self._get_token(self._auth)
            return self._token

    async def _get_token(self, credentials: ClientCredentials) -> None:
        began = time.monotonic()
        response = await self._http.post(
            self._token_url,
            data={"grant_type": "client_credentials"},
            auth=httpx.BasicAuth(credentials.client_id, credentials.client_secret),
        )
        try:
            answer = response.json()
            # RFC 6749 has errors of its own; a limited or busy service answers as for every operation.
            if not response.is_success and "error" in answer:
                raise AuthenticationFailed(str(answer["error"]))
            if not response.is_success:
                raise error_of(response)
            self._token = str(answer["access_token"])
            self._renew_at = began + float(answer["expires_in"]) - RENEWAL_MARGIN_SECONDS
        except (KeyError, TypeError, ValueError):
            raise UnexpectedResponse("the answer of the token endpoint is not that of RFC 6749") from None

    def build(self, method: str, url: str, **options: Any) -> httpx.Request:
        return self._http.build_request(method, url, **options)


def renewable(auth: AsyncTokenSource | None) -> bool:
    """Returns whether another token can be got after one was refused."""
    return auth is not None and not isinstance(auth, str)


class AsyncService:
    """The operations of one service, as requests and models."""

    def __init__(self, transport: AsyncTransport, base_url: str) -> None:
        self.transport = transport
        self.base_url = base_url.rstrip("/")

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Query | None = None,
        body: Model | None = None,
        revision: int | None = None,
        idempotency_key: str | None = None,
        stream: bool = False,
        headers: Mapping[str, str] | None = None,
        **options: Any,
    ) -> httpx.Response:
        """Sends a request. A POST gets an idempotency key, which its retries share; a PATCH is a merge patch."""
        send = {"User-Agent": USER_AGENT, **(headers or {})}
        if method == "POST":
            send["Idempotency-Key"] = idempotency_key or str(uuid.uuid4())
        if revision is not None:
            send["If-Match"] = f'"{revision}"'
        if body is not None:
            options["json"] = body.to_json()
        request = self.transport.build(
            method, self.base_url + path, params=query or None, headers=send, **options
        )
        repeatable = method in ("GET", "PUT", "POST")
        with with_key(request):
            return await self.transport.send(request, repeatable=repeatable, stream=stream)

    async def json(self, method: str, path: str, **options: Any) -> Any:
        return json_of(await self.request(method, path, **options))

    async def one(self, model: type[ModelT], method: str, path: str, **options: Any) -> ModelT:
        """Returns the answer as a model."""
        return model_of(model, await self.request(method, path, **options))

    async def many(self, model: type[ModelT], method: str, path: str, **options: Any) -> list[ModelT]:
        """Returns the answer, an array, as models."""
        response = await self.request(method, path, **options)
        with with_key(response.request):
            return [parsed(model, item) for item in json_of(response)]

    @asynccontextmanager
    async def stream(self, method: str, path: str, **options: Any) -> AsyncIterator[httpx.Response]:
        """Opens a response whose body is read in parts. A failure while it is read is `Unreachable`."""
        response = await self.request(method, path, stream=True, **options)
        try:
            yield response
        except httpx.RequestError as error:
            raise unreachable(response.request, error) from error
        finally:
            await response.aclose()

    async def save(
        self, method: str, path: str, into: BinaryIO, progress: Progress | None = None, **options: Any
    ) -> int:
        """Writes a body to a file as it arrives and returns the number of bytes."""
        written = 0
        async with self.stream(method, path, **options) as response:
            length = response.headers.get("Content-Length")
            total = int(length) if length and "Content-Encoding" not in response.headers else None
            async for chunk in response.aiter_bytes():
                into.write(chunk)
                written += len(chunk)
                if progress:
                    progress(written, total)
        return written


def json_of(response: httpx.Response) -> Any:
    """Returns the JSON of a response."""
    try:
        return response.json()
    except ValueError as error:
        raise UnexpectedResponse(f"{response.request.method} {response.url.path}: not JSON") from error


def model_of(model: type[ModelT], response: httpx.Response) -> ModelT:
    """Returns the JSON of a response as a model."""
    with with_key(response.request):
        return parsed(model, json_of(response))
