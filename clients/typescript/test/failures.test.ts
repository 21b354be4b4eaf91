import * as assert from "node:assert/strict";
import { test } from "node:test";
import { inspect } from "node:util";
import {
  ConnectionError,
  Drover,
  DroverError,
  DroverOptions,
  PreconditionFailedError,
  RateLimitedError,
  UnauthenticatedError,
  UnavailableError,
  ValidationError,
} from "drover";
import { failure, Received, Reply, TestServer } from "./server.js";

/** Runs a test with a server, and a client that uses it for all services. */
function withServer(
  name: string,
  reply: (request: Received, count: number) => Reply | Promise<Reply>,
  run: (client: Drover, server: TestServer) => Promise<void>,
  options: Partial<DroverOptions> = {},
): void {
  void test(name, async () => {
    const server = await new TestServer(reply).start();
    try {
      const { url } = server;
      await run(new Drover({ system: url, logistics: url, livestock: url, auth: "token", ...options }), server);
    } finally {
      await server.stop();
    }
  });
}

const keys = (server: TestServer): unknown[] => server.received.map(({ headers }) => headers["idempotency-key"]);

withServer(
  "a write whose response is lost is repeated with its key",
  (_, count) => (count === 1 ? "lost" : { json: { id: "n1", message: "", status: "success" } }),
  async (client, server) => {
    const { id } = await client.loads.note("load", "Gate code 4711");
    assert.equal(id, "n1");
    assert.equal(server.received.length, 2);
    assert.ok(keys(server)[0]);
    assert.equal(keys(server)[0], keys(server)[1]);
    assert.equal(server.received[1]?.body, '{"text":"Gate code 4711"}');
  },
);

withServer(
  "retries are bounded, and the error has the key for a later repeat",
  () => ({ status: 502, text: "<html>Bad gateway</html>" }),
  async (client, server) => {
    const failed = await client.loads.note("load", "x").catch((error: unknown) => error);
    assert.ok(failed instanceof UnavailableError);
    assert.ok(failed.outcomeUnknown);
    assert.equal(failed.code, "unexpected_response");
    assert.equal(server.received.length, 3);
    assert.equal(failed.idempotencyKey, keys(server)[0]);
    await client.loads.note("load", "x", { idempotencyKey: failed.idempotencyKey }).catch(() => undefined);
    assert.equal(keys(server)[5], keys(server)[0]);
  },
  { retries: 2 },
);

withServer(
  "Retry-After decides the pause",
  (_, count) => (count === 1 ? failure(429, "rate_limited", {}, { "Retry-After": "1" }) : { json: [] }),
  async (client) => {
    const begun = Date.now();
    await client.loads.search().all();
    assert.ok(Date.now() - begun >= 1000);
  },
);

withServer(
  "a long Retry-After is left to the caller",
  () => failure(429, "rate_limited", {}, { "Retry-After": "3600" }),
  async (client, server) => {
    await assert.rejects(
      client.loads.get("a"),
      (error) => error instanceof RateLimitedError && error.retryAfterMs === 3_600_000 && error.requestId === "r-1",
    );
    assert.equal(server.received.length, 1);
  },
);

withServer(
  "a PATCH is repeated only if nothing was changed",
  ({ method }, count) =>
    method === "GET"
      ? { json: { id: "a", revision: 3 } }
      : count === 2
        ? failure(503, "dependency_unavailable")
        : failure(503, "dependency_unavailable", { outcome: "unknown" }),
  async (client, server) => {
    await assert.rejects(
      client.loads.edit("a", { weight: 1 }),
      (error) => error instanceof UnavailableError && error.outcomeUnknown,
    );
    assert.equal(server.received.length, 3);
    assert.equal(server.received[1]?.headers["if-match"], '"3"');
  },
);

withServer(
  "a DELETE whose response is lost is not repeated",
  () => "lost",
  async (client, server) => {
    await assert.rejects(client.loads.webhooks.delete("w"), (error) => error instanceof ConnectionError);
    assert.equal(server.received.length, 1);
  },
);

withServer(
  "an error has all that the service reports",
  () => ({
    status: 400,
    json: {
      status: "error",
      message: "weight must be at most 1000",
      code: "validation_failed",
      body: { requestId: "r-2", failedRows: 1 },
      validation: [{ path: "rows[0].weight", message: "must be at most 1000", code: "range", data: { maximum: 1000 } }],
    },
  }),
  async (client, server) => {
    await assert.rejects(client.loads.batches.import(new Blob(["reference"])), (error) => {
      assert.ok(error instanceof ValidationError);
      assert.equal(error.name, "ValidationError");
      assert.deepEqual([error.status, error.requestId, error.body.failedRows], [400, "r-2", 1]);
      assert.equal(error.validation[0]?.data.maximum, 1000);
      return error.message === "weight must be at most 1000";
    });
    assert.equal(server.received.length, 1);
  },
);

/** Grants the tokens t1, t2, …; `isGood` decides which of them the services accept. */
function grants(isGood: (token: string) => boolean): (request: Received) => Reply {
  let granted = 0;
  return ({ url, headers }) => {
    if (url === "/v1/token") {
      granted += 1;
      return { json: { access_token: `t${granted}`, token_type: "Bearer", expires_in: 600 } };
    }
    const token = headers.authorization?.replace("Bearer ", "") ?? "";
    return isGood(token) ? { json: { id: "a" } } : failure(401, "unauthenticated");
  };
}

const account = { clientId: "c 1", clientSecret: "s&cret" };
const paths = (server: TestServer): string[] => server.received.map(({ url }) => url);

withServer(
  "concurrent requests share a token, which is got again once after a 401",
  grants((token) => token === "t2"),
  async (client, server) => {
    await Promise.all([client.loads.get("a"), client.loads.get("b"), client.files.get("c")]);
    await client.loads.get("d");
    assert.equal(paths(server).filter((path) => path === "/v1/token").length, 2);
    assert.equal(server.received[0]?.body, "grant_type=client_credentials&client_id=c%201&client_secret=s%26cret");
  },
  { auth: account },
);

withServer(
  "a second 401 is an error, and no secret is in it or in the client",
  grants(() => false),
  async (client, server) => {
    const failed = await client.loads.get("a").catch((error: unknown) => error);
    assert.ok(failed instanceof UnauthenticatedError);
    assert.equal(server.received.length, 4);
    assert.ok(!/s&cret|t[12]/.test(inspect([client, failed.body], { depth: null, showHidden: true }) + failed.message));
  },
  { auth: account },
);

let tokens = 0;
withServer(
  "after a refused renewal, the error has the key of the request that may have taken effect",
  async ({ url }) => {
    if (url !== "/v1/token") return "lost";
    tokens += 1;
    if (tokens === 1) return { json: { access_token: "t1", token_type: "Bearer", expires_in: 0.1 } };
    // Long enough for both requests to wait for the same renewal.
    await new Promise((done) => setTimeout(done, 500));
    return failure(401, "unauthenticated");
  },
  async (client, server) => {
    const notes = ["a", "b"].map((id) => client.loads.note(id, "x").catch((error: unknown) => error));
    for (const [i, error] of (await Promise.all(notes)).entries()) {
      assert.ok(error instanceof UnauthenticatedError);
      const sent = server.received.find(({ url }) => url === `/v1/loads/${"ab"[i]}/notes`);
      assert.equal(error.idempotencyKey, sent?.headers["idempotency-key"]);
    }
    assert.equal(tokens, 2);
  },
  { auth: account },
);

withServer(
  "a refused log-in is an error with the code of RFC 6749",
  () => ({ status: 401, json: { error: "invalid_client", error_description: "Unknown client" } }),
  async (client, server) => {
    await assert.rejects(client.loads.get("a"), (error) => {
      return error instanceof UnauthenticatedError && error.code === "invalid_client";
    });
    assert.equal(server.received.length, 1);
  },
  { auth: account },
);

const contexts: object[] = [];
withServer(
  "a function is told which token was refused",
  grants((token) => token === "fresh"),
  async (client) => {
    await client.loads.get("a");
    assert.deepEqual(contexts, [{}, { rejected: "stale" }]);
  },
  {
    auth: (context) => {
      contexts.push(context);
      return context.rejected === undefined ? "stale" : "fresh";
    },
  },
);

let revision = 1;
withServer(
  "an edit that meets another's edit is merged",
  ({ method, headers }) => {
    if (method === "GET") return { json: { id: "a", revision, tags: [`theirs ${revision}`] } };
    if (headers["if-match"] !== `"${revision}"`) return failure(412, "precondition_failed", { revision });
    // Somebody else edits the load before each of the first two attempts arrives.
    if (revision < 3) return failure(412, "precondition_failed", { revision: ++revision });
    return { json: { id: "a", revision: 4 } };
  },
  async (client, server) => {
    await client.loads.edit({ id: "a", revision: 1 }, { tags: ["mine"] }, {
      merge: (mine, theirs) => ({ tags: [...(mine.tags ?? []), ...theirs.tags] }),
    });
    assert.equal(server.received.at(-1)?.body, '{"tags":["mine","theirs 2","theirs 3"]}');
    await assert.rejects(client.loads.edit({ id: "a", revision: 2 }, { weight: 7 }), (error) => {
      assert.ok(error instanceof PreconditionFailedError);
      assert.deepEqual(error.mine, { weight: 7 });
      return error.revision === 3 && (error.theirs as { revision: number }).revision === 3;
    });
  },
);

withServer(
  "an edit whose response is lost is neither repeated nor merged with its own result",
  ({ headers }, count) => (count === 1 ? "lost" : headers["if-match"] ? failure(412, "precondition_failed") : {}),
  async (client, server) => {
    const edit = client.loads.edit({ id: "a", revision: 1 }, { tags: ["mine"] }, { merge: (mine) => mine });
    await assert.rejects(edit, (error) => error instanceof ConnectionError);
    assert.equal(server.received.length, 1);
  },
);

withServer(
  "the replayed response to a create has no secret, and the secret that may be in use is not rotated",
  ({ url }) => ({ json: { id: url.split("/").at(-1) } }),
  async (client, server) => {
    const options = { idempotencyKey: "k" };
    const form = { url: "https://example.com/", events: ["load.created" as const] };
    assert.equal((await client.loads.webhooks.create(form, options)).secret, undefined);
    const account = await client.serviceAccounts.create({ name: "Bridge", roles: ["weighbridge"] }, options);
    assert.equal(account.clientSecret, undefined);
    assert.deepEqual(paths(server), ["/v1/webhooks", "/v1/service-accounts"]);
  },
);

withServer(
  "a signal ends a pause, and a request that is under way",
  ({ url }) => {
    return url === "/v1/loads/slow" ? "silent" : failure(503, "dependency_unavailable", {}, { "Retry-After": "50" });
  },
  async (client, server) => {
    for (const id of ["busy", "slow"]) {
      const begun = Date.now();
      const controller = new AbortController();
      const reason = new Error("The page was left");
      setTimeout(() => controller.abort(reason), 100);
      await assert.rejects(client.loads.get(id, { signal: controller.signal }), (error) => error === reason);
      assert.ok(Date.now() - begun < 2000);
    }
    await assert.rejects(client.loads.get("a", { signal: AbortSignal.abort("before") }), (error) => error === "before");
    assert.equal(server.received.length, 2);
  },
);

withServer(
  "a service that does not answer in time is a ConnectionError",
  () => "silent",
  async (client, server) => {
    await assert.rejects(client.loads.get("a"), (error) => {
      return error instanceof ConnectionError && /no response within 50 ms/.test(error.message);
    });
    assert.equal(server.received.length, 2);
  },
  { timeoutMs: 50, retries: 1 },
);

withServer(
  "lists are read page by page, with filters under their names",
  ({ url }) => {
    const page = Number(/cursor=p%2B(\d)/.exec(url)?.[1] ?? 1);
    const link = '<https://elsewhere/v1/loads?limit=2&cursor=first>; rel="first"';
    const next = page < 3 ? `, <https://elsewhere/v1/loads?cursor=p%2B${page + 1}&limit=2>; rel="next"` : "";
    return { json: [{ id: `${page}a` }, { id: `${page}b` }], headers: { Link: link + next, "X-Total-Count": "6" } };
  },
  async (client, server) => {
    const filters = { status: ["upcoming", "collected"] as const, query: "wheat & oats" };
    const loads = client.loads.search({ ...filters, limit: 2, count: true });
    const ids: string[] = [];
    for await (const load of loads) {
      ids.push(load.id);
      if (ids.length === 3) break;
    }
    assert.deepEqual(ids, ["1a", "1b", "2a"]);
    assert.deepEqual(paths(server), [
      "/v1/loads?f:status=upcoming&f:status=collected&query=wheat%20%26%20oats&limit=2&count=true",
      "/v1/loads?f:status=upcoming&f:status=collected&query=wheat%20%26%20oats&limit=2&cursor=p%2B2",
    ]);
    const first = await loads.page();
    assert.deepEqual([first.total, first.items.length], [6, 2]);
    assert.equal((await loads.page(first.next)).items[0]?.id, "2a");
    assert.equal((await loads.all()).length, 6);
  },
);

withServer(
  "without a Link header, lists go on by offset",
  ({ url }) => {
    const offset = Number(/offset=(\d+)/.exec(url)?.[1] ?? 0);
    return { json: [offset, offset + 1].filter((n) => n < 5) };
  },
  async (client) => {
    assert.deepEqual(await client.loads.search({ limit: 2 }).all(), [0, 1, 2, 3, 4]);
  },
);

/** A feed of the events 1, 2, … `last`, in pages of at most three. */
function feed(last: () => number): (request: Received) => Reply {
  return ({ url }) => {
    const after = Number(/after=c(\d+)/.exec(url)?.[1] ?? 0);
    const end = Math.min(after + 3, last());
    const events = Array.from({ length: end - after }, (_, i) => ({ id: `e${after + i + 1}`, type: "load.updated" }));
    return { json: { events, cursor: `c${end}`, more: end < last() } };
  };
}

let last = 5;
withServer(
  "a feed outlasts a restart, and goes on from each event's cursor",
  feed(() => last),
  async (client, server) => {
    const seen: string[] = [];
    const cursors: string[] = [];
    const retried: DroverError[] = [];
    for await (const event of client.loads.events({ after: "c0", onRetry: (error) => retried.push(error) })) {
      seen.push(event.id);
      cursors.push(event.cursor);
      if (seen.length === 3) {
        await server.stop();
        setTimeout(() => void server.start(), 300);
      }
      if (seen.length === 5) break;
    }
    assert.deepEqual(seen, ["e1", "e2", "e3", "e4", "e5"]);
    assert.ok(retried.length > 0);
    last = 6;
    for (const [i, cursor] of cursors.entries()) {
      const first = await client.loads.events({ after: cursor }).next();
      assert.equal(first.value?.id, `e${i + 2}`, cursor);
    }
  },
  { retries: 0 },
);

withServer(
  "a feed waits for less than the time limit",
  feed(() => 1),
  async (client, server) => {
    await client.loads.events({ after: "c0" }).next();
    assert.deepEqual(paths(server), ["/v1/events?after=c0&wait=5"]);
  },
  { timeoutMs: 10_000 },
);

withServer(
  "a redirect is an error and is not followed",
  ({ url }) => (url === "/elsewhere" ? {} : { status: 307, headers: { Location: "/elsewhere" } }),
  async (client, server) => {
    await assert.rejects(client.loads.note("a", "x"), (error) => {
      return error instanceof DroverError && error.status === 307 && /redirect/.test(error.message);
    });
    assert.deepEqual(paths(server), ["/v1/loads/a/notes"]);
  },
);

/** An XMLHttpRequest of a browser that was redirected. */
class RedirectedRequest {
  static sent = 0;
  readonly status = 200;
  readonly statusText = "OK";
  readonly responseText = "{}";
  readonly responseURL = "https://elsewhere.example/v1/files";
  readonly upload = {};
  onload = (): void => undefined;
  open(): void {}
  setRequestHeader(): void {}
  getAllResponseHeaders = (): string => "";
  send(): void {
    RedirectedRequest.sent += 1;
    this.onload();
  }
}

withServer(
  "a redirect of an XMLHttpRequest is an error",
  () => ({}),
  async (client) => {
    Object.assign(globalThis, { XMLHttpRequest: RedirectedRequest });
    const onProgress = (): void => undefined;
    const fields = { bucket: "files" as const, name: "x", type: "misc" as const };
    const upload = client.files.upload(new File(["x"], "x"), fields, { onProgress });
    await assert.rejects(upload, (error) => error instanceof DroverError && /redirect/.test(error.message));
    assert.equal(RedirectedRequest.sent, 1);
    Object.assign(globalThis, { XMLHttpRequest: undefined });
  },
);

let fetches = 0;
withServer(
  "an upload reports progress, is repeated whole, and is sent with the given fetch",
  (_, count) => (count === 1 ? "lost" : { json: { id: "f", additional: [] } }),
  async (client, server) => {
    const file = new File(["x".repeat(200_000)], "Ticket.txt", { type: "text/plain" });
    const progress: number[] = [];
    await client.files.upload(file, { bucket: "files", name: "Ticket", type: "misc" }, {
      onProgress: ({ sent, total }) => progress.push(sent / total),
    });
    assert.equal(progress.at(-1), 1);
    assert.ok((progress[0] ?? 1) < 1);
    const [, second] = server.received;
    assert.ok(/name="file"; filename="Ticket.txt"/.test(second?.body ?? "") && (second?.body.length ?? 0) > 200_000);
    assert.equal(keys(server)[0], keys(server)[1]);
    assert.equal(fetches, 2);
  },
  {
    fetch: (...request) => {
      fetches += 1;
      return fetch(...request);
    },
  },
);

withServer(
  "an id cannot lead to another path",
  () => ({ json: {} }),
  async (client, server) => {
    assert.throws(() => client.loads.get(".."), TypeError);
    assert.throws(() => client.loads.get(""), TypeError);
    await client.loads.get("a/../b?c");
    assert.deepEqual(paths(server), ["/v1/loads/a%2F..%2Fb%3Fc"]);
  },
);
