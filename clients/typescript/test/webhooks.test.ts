import * as assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { test } from "node:test";
import { verifyWebhook, WebhookVerificationError } from "drover";

const secret = `whsec_${btoa("a secret of twenty-four bytes")}`;
const other = `whsec_${btoa("another secret")}`;
const body = JSON.stringify({ id: "e1", type: "webhook.test", timestamp: "", data: { webhookId: "Wye £" } });

/** Signs as docs/api/webhooks.md says, with the cryptography of Node.js. */
function sign(secret: string, timestamp: number, id = "e1"): Record<string, string> {
  const key = Uint8Array.from(atob(secret.replace("whsec_", "")), (character) => character.charCodeAt(0));
  const signature = createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest("base64");
  return { "webhook-id": id, "webhook-timestamp": String(timestamp), "webhook-signature": `v1,${signature}` };
}

const now = (): number => Math.floor(Date.now() / 1000);

async function isRefused(headers: Record<string, string>, content = body, secrets: string | string[] = secret) {
  await assert.rejects(verifyWebhook(headers, content, secrets), (error) => error instanceof WebhookVerificationError);
}

void test("a signed request is an event", async () => {
  const event = await verifyWebhook(sign(secret, now()), body, secret);
  assert.ok(event.type === "webhook.test" && event.data.webhookId === "Wye £");
  const headers = new Headers(sign(secret, now() - 290));
  assert.equal((await verifyWebhook(headers, new TextEncoder().encode(body), secret)).id, "e1");
});

void test("one of several signatures and secrets is enough", async () => {
  const [old, fresh] = [sign(other, now()), sign(secret, now())];
  const signatures = `v2,xx ${old["webhook-signature"]} v1,?? ${fresh["webhook-signature"]}`;
  await verifyWebhook({ ...fresh, "webhook-signature": signatures }, body, secret);
  await verifyWebhook(old, body, [secret, other]);
});

void test("other requests are refused", async () => {
  await isRefused(sign(other, now()));
  await isRefused(sign(secret, now()), body.replace("e1", "e2"));
  await isRefused({ ...sign(secret, now()), "webhook-id": "e2" });
  await isRefused({ ...sign(secret, now()), "webhook-timestamp": String(now() + 1) });
  await isRefused(sign(secret, now() - 310));
  await isRefused(sign(secret, now() + 310));
  await isRefused(sign(secret, NaN));
  await isRefused({ ...sign(secret, now()), "webhook-signature": "" });
  await isRefused({ "webhook-id": "e1" });
});

void test("an unusable secret is a mistake of the receiver", async () => {
  await assert.rejects(verifyWebhook(sign(secret, now()), body, "whsec_"), (error) => error instanceof TypeError);
});
