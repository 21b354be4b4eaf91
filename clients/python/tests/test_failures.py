"""What the client does when services and networks fail, against a server of our own."""

import asyncio
import io
import json
import os
import socket
import unittest
from collections.abc import Callable
from unittest import mock

import httpx

from drover import AsyncDrover, ClientCredentials, Created, Drover, Retry, errors
from drover.auth import TokenSource
from drover.models.logistics import Load, LoadPatch, OrganiserForm

from .server import Answer, Asked, FakeServer, in_turn, load, refusal

QUICK = Retry(attempts=3, first_pause=0.01, longest_pause=0.5)
FORM = OrganiserForm(
    organiser_id="border-grain",
    organiser_name="Border Grain",
    commodity_id=1,
    reference="SO-1",
    delivery_date_iso="2026-03-01",
    weight=29.4,
    weight_net=None,
    files=None,
    tags=[],
)


def client_of(server: FakeServer, auth: TokenSource | None = "token") -> Drover:
    return Drover(system=server.url, logistics=server.url, livestock=server.url, auth=auth, retry=QUICK)


class Retries(unittest.TestCase):
    def test_a_read_is_repeated_after_a_lost_answer(self) -> None:
        with FakeServer(in_turn(Answer(drop=0), Answer(body=load()))) as server, client_of(server) as client:
            self.assertEqual(client.loads.get("load-1").reference, "SO-1")
            self.assertEqual(len(server.asked), 2)

    def test_a_create_is_repeated_with_the_same_key_and_bytes(self) -> None:
        answers = in_turn(Answer(drop=0), refusal(502, ""), Answer(body=load()))
        with FakeServer(answers) as server, client_of(server) as client:
            client.loads.create(FORM)
            client.loads.create(FORM)
        first, second, third, other = server.asked
        key = first.headers["idempotency-key"]
        self.assertEqual([key, key], [ask.headers["idempotency-key"] for ask in (second, third)])
        self.assertNotEqual(key, other.headers["idempotency-key"])
        self.assertEqual([first.body, first.body], [second.body, third.body])

    def test_a_create_that_failed_can_be_repeated_later(self) -> None:
        answers = in_turn(*[Answer(drop=0)] * 3, Answer(body=load()))
        with FakeServer(answers) as server, client_of(server) as client:
            with self.assertRaises(errors.Unreachable) as lost:
                client.loads.create(FORM)
            client.loads.create(FORM, idempotency_key=lost.exception.idempotency_key)
        self.assertEqual(len(server.asked), 4)
        self.assertEqual(len({ask.headers["idempotency-key"] for ask in server.asked}), 1)

    def test_an_upload_is_repeated_whole(self) -> None:
        seen: list[tuple[int, int | None]] = []
        content = b"x" * 200_000
        busy = refusal(503, "dependency_unavailable")
        file = io.BytesIO(content)
        with FakeServer(in_turn(busy, refusal(500, "internal"))) as server, client_of(server) as client:
            with self.assertRaises(errors.ServerError):
                client.files.upload(file, "image", name="cow.jpg", progress=lambda *done: seen.append(done))
        self.assertEqual([True, True], [content in ask.body for ask in server.asked])
        self.assertEqual(seen[-1], (len(content), len(content)))
        self.assertIn((65_536, len(content)), seen)

    def test_an_edit_is_repeated_only_if_nothing_changed(self) -> None:
        for answer, times in [
            (refusal(503, "dependency_unavailable"), 3),
            (refusal(503, "dependency_unavailable", outcome="unknown"), 1),
            (refusal(502, ""), 1),
            (Answer(drop=0), 1),
        ]:
            with (
                self.subTest(answer=answer),
                FakeServer(in_turn(answer)) as server,
                client_of(server) as client,
            ):
                with self.assertRaises((errors.Unavailable, errors.Unreachable)):
                    client.loads.edit("load-1", LoadPatch(weight=28), revision=1)
                self.assertEqual(len(server.asked), times)

    def test_retry_after_is_kept_unless_it_is_too_long(self) -> None:
        for seconds, times in [("0", 3), ("60", 1)]:
            limited = refusal(429, "rate_limited", {"Retry-After": seconds})
            with FakeServer(in_turn(limited)) as server, client_of(server) as client:
                with self.assertRaises(errors.RateLimited) as caught:
                    client.loads.get("load-1")
                self.assertEqual(caught.exception.retry_after, float(seconds))
                self.assertEqual(len(server.asked), times)

    def test_nobody_listens(self) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            url = f"http://user:secret-password@127.0.0.1:{free.getsockname()[1]}"
            with Drover(system=url, logistics=url, livestock=url, auth="secret-token", retry=QUICK) as client:
                with self.assertRaises(errors.Unreachable) as caught:
                    client.loads.search(query="private words").page()
        self.assertNotIn("private", str(caught.exception))
        self.assertNotIn("secret", str(caught.exception))

    def test_a_download_that_breaks_off_is_an_error(self) -> None:
        with FakeServer(in_turn(Answer(body=b"x" * 1000, drop=400))) as server, client_of(server) as client:
            with self.assertRaises(errors.Unreachable):
                client.files.download("file-1", io.BytesIO())

    def test_a_lost_secret_is_not_rotated(self) -> None:
        hook = {
            **{"id": "hook-1", "events": ["load.created"], "url": "https://example.com/", "status": "active"},
            **{"scope": "own", "revision": 1, "createdAtUTC": "2026-02-01T00:00:00Z"},
            "updatedAtUTC": "2026-02-01T00:00:00Z",
        }
        account: dict[str, object] = {
            **{"id": "account-1", "name": "bridge", "organisationId": "a", "roles": [], "clientId": "c"},
            "createdAtUTC": "2026-02-01T00:00:00Z",
        }
        cases: list[tuple[Callable[[Drover], object], dict[str, object], str]] = [
            (
                lambda c: c.loads.webhooks.create("https://a.example/", ["load.created"]),
                hook,
                "hook-1 exists",
            ),
            (lambda c: c.loads.webhooks.rotate_secret("hook-1"), hook, "hook-1 was rotated"),
            (lambda c: c.service_accounts.create("bridge"), account, "account-1 exists"),
            (lambda c: c.service_accounts.rotate_secret("account-1"), account, "account-1 was rotated"),
        ]
        for call, body, message in cases:
            answers = in_turn(Answer(drop=0), Answer(body=body))
            with FakeServer(answers) as server, client_of(server) as client:
                with self.assertRaisesRegex(errors.SecretLost, message) as caught:
                    call(client)
            self.assertEqual(caught.exception.id, body["id"])
            self.assertEqual(len(server.asked), 2)

    def test_every_failure_of_a_write_has_its_key(self) -> None:
        def answer(ask: Asked) -> Answer:
            if ask.path != "/v1/token":
                return Answer(drop=0)
            if len(server.asked) > 1:
                return Answer(401, {"error": "invalid_client"})
            return Answer(body={"access_token": "t", "token_type": "Bearer", "expires_in": 20})

        with FakeServer(answer) as server, client_of(server, ClientCredentials("a", "b")) as client:
            with self.assertRaises(errors.AuthenticationFailed) as refused:
                client.loads.create(FORM)
        self.assertEqual(refused.exception.idempotency_key, server.asked[1].headers["idempotency-key"])
        calls: list[Callable[[Drover], object]] = [
            lambda c: c.loads.create(FORM),
            lambda c: c.files.upload(b"x", "image"),
            lambda c: c.files.links(["file-1"]),
        ]
        bodies: list[object] = [b"<html>", [{}]]
        for body in bodies:
            for call in calls:
                with FakeServer(in_turn(Answer(body=body))) as server, client_of(server) as client:
                    with self.assertRaises(errors.UnexpectedResponse) as caught:
                        call(client)
                self.assertEqual(caught.exception.idempotency_key, server.asked[0].headers["idempotency-key"])


class Errors(unittest.TestCase):
    def test_each_error_has_its_class(self) -> None:
        for status, code, kind in [
            (400, "validation_failed", errors.ValidationFailed),
            (400, "malformed_body", errors.ApiError),
            (403, "forbidden", errors.Forbidden),
            (404, "not_found", errors.NotFound),
            (410, "not_found", errors.Gone),
            (409, "conflict", errors.Conflict),
            (409, "idempotency_key_reused", errors.IdempotencyKeyReused),
            (412, "precondition_failed", errors.PreconditionFailed),
            (413, "payload_too_large", errors.PayloadTooLarge),
            (500, "internal", errors.ServerError),
        ]:
            with self.subTest(code=code, status=status):
                with FakeServer(in_turn(refusal(status, code, reason="why"))) as server:
                    with client_of(server) as client, self.assertRaises(errors.ApiError) as caught:
                        client.loads.get("load-1")
                error = caught.exception
                self.assertIs(type(error), kind)
                self.assertEqual((error.status, error.code, error.reason), (status, code, "why"))
                self.assertEqual(error.request_id, "request-1")

    def test_fields(self) -> None:
        entry = {
            "path": "files[0].id",
            "message": "is unknown",
            "code": "unknown_reference",
            "data": {"x": 1},
        }
        answer = refusal(400, "validation_failed")
        answer.body["validation"] = [entry]
        with FakeServer(in_turn(answer)) as server, client_of(server) as client:
            with self.assertRaises(errors.ValidationFailed) as caught:
                client.loads.create(FORM)
        self.assertEqual(caught.exception.validation[0].to_json(), entry)

    def test_fields_of_another_kind_are_ignored(self) -> None:
        for entries in ([{"field": "weight"}], 7):
            answer = refusal(400, "validation_failed")
            answer.body["validation"] = entries
            with FakeServer(in_turn(answer)) as server, client_of(server) as client:
                with self.assertRaises(errors.ValidationFailed) as caught:
                    client.loads.create(FORM)
            self.assertEqual(caught.exception.validation, [])

    def test_a_page_of_a_proxy_is_an_error(self) -> None:
        page = Answer(404, b"<html>", {"Content-Type": "text/html"})
        with FakeServer(in_turn(page, Answer(200, b"<html>"))) as server, client_of(server) as client:
            with self.assertRaises(errors.NotFound) as caught:
                client.loads.get("load-1")
            self.assertEqual(caught.exception.code, "")
            with self.assertRaises(errors.UnexpectedResponse):
                client.loads.get("load-1")

    def test_an_answer_without_a_promised_member(self) -> None:
        with FakeServer(in_turn(Answer(body={"id": "1"}))) as server, client_of(server) as client:
            with self.assertRaises(errors.UnexpectedResponse):
                client.loads.get("load-1")

    def test_ids_are_never_paths(self) -> None:
        with FakeServer(in_turn(refusal(404, "not_found"))) as server, client_of(server) as client:
            for id in ("", "..", "."):
                with self.assertRaises(ValueError):
                    client.loads.get(id)
            with self.assertRaises(errors.NotFound):
                client.loads.revoke_driver("load-1", "auth0|a/b?c")
        self.assertEqual(server.asked[0].path, "/v1/loads/load-1/drivers/auth0%7Ca%2Fb%3Fc")


class LogIn(unittest.TestCase):
    def tokens(self, ask: Asked) -> Answer:
        """Gives tokens `t1`, `t2` …, and accepts all but the first."""
        if ask.path == "/v1/token":
            self.given += 1
            body = {"access_token": f"t{self.given}", "token_type": "Bearer", "expires_in": 600}
            return Answer(body=body)
        if ask.headers["authorization"] == "Bearer t1":
            return refusal(401, "unauthenticated")
        return Answer(body=load())

    def setUp(self) -> None:
        self.given = 0

    def test_a_token_is_kept_and_replaced_once_after_a_401(self) -> None:
        with FakeServer(self.tokens) as server:
            credentials = ClientCredentials("weighbridge", "s3cret")
            with client_of(server, credentials) as client:
                for _ in range(3):
                    client.loads.get("load-1")
        self.assertEqual(self.given, 2)
        self.assertNotIn("s3cret", repr(credentials))
        asked = server.asked[0]
        self.assertEqual(asked.body, b"grant_type=client_credentials")
        self.assertTrue(asked.headers["authorization"].startswith("Basic "))

    def test_a_second_401_is_an_error(self) -> None:
        with FakeServer(in_turn(refusal(401, "unauthenticated"))) as server:
            cases: list[tuple[TokenSource, int]] = [("fixed", 1), (lambda: "called", 2)]
            for auth, times in cases:
                with client_of(server, auth) as client, self.assertRaises(errors.Unauthenticated):
                    before = len(server.asked)
                    client.loads.get("load-1")
                self.assertEqual(len(server.asked) - before, times)

    def test_refused_credentials(self) -> None:
        refused = Answer(401, {"error": "invalid_client"})
        with FakeServer(in_turn(refused)) as server:
            with client_of(server, ClientCredentials("a", "b")) as client:
                with self.assertRaises(errors.AuthenticationFailed) as caught:
                    client.loads.get("load-1")
        self.assertEqual(caught.exception.code, "invalid_client")

    def test_a_token_is_got_again_even_for_an_edit(self) -> None:
        token = Answer(body={"access_token": "t", "token_type": "Bearer", "expires_in": 600})
        for lost in (Answer(drop=0), refusal(503, "dependency_unavailable")):
            with FakeServer(in_turn(lost, token, Answer(body=load()))) as server:
                with client_of(server, ClientCredentials("a", "b")) as client:
                    client.loads.edit("load-1", LoadPatch(weight=28), revision=1)
            self.assertEqual([ask.method for ask in server.asked], ["POST", "POST", "PATCH"])

    def test_the_environment(self) -> None:
        env = {"DROVER_CLIENT_ID": "bridge", "DROVER_CLIENT_SECRET": "s3cret"}
        with FakeServer(self.tokens) as server:
            urls = {f"DROVER_{name}": server.url for name in ("SYSTEM", "LOGISTICS", "LIVESTOCK")}
            with mock.patch.dict(os.environ, {**urls, **env}):
                client = Drover.from_env(retry=QUICK)
            with client:
                client.loads.get("load-1")
        expected = httpx.BasicAuth("bridge", "s3cret")
        request = next(expected.auth_flow(httpx.Request("POST", server.url)))
        self.assertEqual(server.asked[0].headers["authorization"], request.headers["Authorization"])
        with mock.patch.dict(os.environ, clear=True), self.assertRaises(KeyError):
            Drover.from_env()

    def test_an_answer_that_is_no_token(self) -> None:
        bodies: list[object] = [{}, [], b"<html>"]
        for body in bodies:
            with FakeServer(in_turn(Answer(body=body))) as server:
                with client_of(server, ClientCredentials("a", "b")) as client:
                    with self.assertRaises(errors.UnexpectedResponse):
                        client.loads.get("load-1")

    def test_a_token_that_expires_soon_is_not_kept(self) -> None:
        def answer(ask: Asked) -> Answer:
            short = {"access_token": "t", "token_type": "Bearer", "expires_in": 20}
            return Answer(body=short if ask.path == "/v1/token" else load())

        with FakeServer(answer) as server, client_of(server, ClientCredentials("a", "b")) as client:
            client.loads.get("load-1")
            client.loads.get("load-1")
        self.assertEqual([ask.path for ask in server.asked].count("/v1/token"), 2)


class Edits(unittest.TestCase):
    """Somebody else edits the load while the caller does."""

    def setUp(self) -> None:
        self.revision = 3

    def answer(self, ask: Asked) -> Answer:
        if ask.method == "GET":
            return Answer(body=load(revision=self.revision, tags=["theirs"]))
        if ask.headers["if-match"] != f'"{self.revision}"':
            return refusal(412, "precondition_failed", revision=self.revision)
        return Answer(body=load(revision=self.revision + 1))

    def test_merge(self) -> None:
        known = Load.model_validate(load(revision=1))

        def merge(mine: LoadPatch, theirs: Load) -> LoadPatch:
            return mine.model_copy(update={"tags": [*theirs.tags, *(mine.tags or [])]})

        with FakeServer(self.answer) as server, client_of(server) as client:
            edited = client.loads.edit(known, LoadPatch(tags=["mine"], weight=None), merge=merge)
        self.assertEqual(edited.revision, 4)
        self.assertEqual([ask.headers.get("if-match") for ask in server.asked], ['"1"', None, '"3"'])
        self.assertEqual(json.loads(server.asked[-1].body), {"tags": ["theirs", "mine"], "weight": None})

    def test_without_merge(self) -> None:
        with FakeServer(self.answer) as server, client_of(server) as client:
            with self.assertRaises(errors.PreconditionFailed) as caught:
                client.loads.edit("load-1", LoadPatch(tags=[]), revision=1)
            self.assertEqual(caught.exception.revision, 3)
            with self.assertRaises(errors.PreconditionFailed):
                client.loads.edit("load-1", LoadPatch(tags=[]), revision=1, merge=lambda *_: None)

    def test_the_present_revision_is_read_for_an_id(self) -> None:
        with FakeServer(self.answer) as server, client_of(server) as client:
            client.loads.edit("load-1", LoadPatch(tags=[]))
        self.assertEqual([ask.method for ask in server.asked], ["GET", "PATCH"])


class Pages(unittest.TestCase):
    def test_rows_are_fetched_as_they_are_needed(self) -> None:
        def answer(ask: Asked) -> Answer:
            number = int(ask.query.get("cursor", ["0"])[0])
            # Another host in a link must not get the token.
            following = (
                f"<http://127.0.0.1:1/v1/loads?limit=2&cursor={number + 1}&f%3Astatus=upcoming>; rel=next"
            )
            links = '<http://127.0.0.1:1/v1/loads>; rel="first"' + (f", {following}" if number < 2 else "")
            rows = [load(f"load-{number}-{row}") for row in range(2)]
            return Answer(body=rows, headers={"Link": links, "X-Total-Count": "6"})

        with FakeServer(answer) as server, client_of(server) as client:
            found = client.loads.search(status="upcoming", overdue=True, commodity_id=[1, 2])
            rows = iter(found)
            next(rows)
            self.assertEqual(len(server.asked), 1)
            self.assertEqual(len(list(rows)), 5)
            page = found.page(limit=2, count=True)
            self.assertEqual((page.total, len(page.items)), (6, 2))
            last = found.page(found.page(page))
            self.assertEqual(last.items[0].id, "load-2-0")
            self.assertEqual(found.page(last).items, [])
        first = server.asked[0].query
        self.assertEqual(first["f:status"], ["upcoming"])
        self.assertEqual((first["overdue"], first["f:commodityId"]), (["true"], ["1", "2"]))
        self.assertEqual(server.asked[1].query["cursor"], ["1"])

    def test_the_offset_continues_where_links_are_too_long(self) -> None:
        def answer(ask: Asked) -> Answer:
            begin, size = int(ask.query.get("offset", ["0"])[0]), int(ask.query["limit"][0])
            return Answer(body=[load(str(row)) for row in range(begin, min(begin + size, 250))])

        with FakeServer(answer) as server, client_of(server) as client:
            self.assertEqual([int(row.id) for row in client.loads.search()], list(range(250)))


class Asynchronous(unittest.IsolatedAsyncioTestCase):
    async def test_a_token_is_awaited_and_replaced(self) -> None:
        tokens = ["t1", "t2", "t2"]

        async def token() -> str:
            await asyncio.sleep(0)
            return tokens.pop(0)

        note = Answer(body={"id": "n-1", "message": "", "status": "success"})
        with FakeServer(in_turn(refusal(401, "unauthenticated"), Answer(drop=0), note)) as server:
            async with AsyncDrover(
                system=server.url, logistics=server.url, livestock=server.url, auth=token, retry=QUICK
            ) as client:
                created = await client.loads.add_note("load-1", "muddy track")
        self.assertIsInstance(created, Created)
        self.assertEqual(created.id, "n-1")
        self.assertEqual([ask.headers["authorization"][-2:] for ask in server.asked], ["t1", "t2", "t2"])
        self.assertEqual(len({ask.headers["idempotency-key"] for ask in server.asked}), 1)

    async def test_rows(self) -> None:
        page = Answer(body=[load()], headers={"Link": '<http://x/>; rel="first"'})
        with FakeServer(in_turn(Answer(drop=0), page)) as server:
            async with AsyncDrover(
                system=server.url, logistics=server.url, livestock=server.url, auth="t", retry=QUICK
            ) as client:
                self.assertEqual([row.id async for row in client.loads.search()], ["load-1"])


if __name__ == "__main__":
    unittest.main()
