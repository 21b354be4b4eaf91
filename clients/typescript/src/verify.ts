import type * as livestock from "./generated/livestock.js";
import type * as logistics from "./generated/logistics.js";

/** The body of a webhook request. `type` decides which members `data` has. */
export type WebhookEvent =
  | logistics.LoadEventMessage
  | logistics.LoadNotedMessage
  | logistics.LoadReleasedMessage
  | logistics.DriverRevokedMessage
  | livestock.ListingEventMessage
  | livestock.ListingEnquiryMessage
  | livestock.ListingMatchedMessage
  | logistics.WebhookTestMessage;

/** A request that Drover did not sign, or not for this receiver, or that is too old. Answer it with 400. */
export class WebhookVerificationError extends Error {
  override name = "WebhookVerificationError";
}

/** Headers as `fetch` has them, or as Node.js has them, with names in lower case. */
export type WebhookHeaders = Headers | Readonly<Record<string, string | string[] | undefined>>;

const TOLERANCE_SECONDS = 300;

/**
 * Checks the signature and the age of a webhook request (docs/api/webhooks.md) and returns its event.
 *
 * `Event` is another type for the webhook of the deployment, for example `logistics.NotificationMessage`.
 *
 * @param body The body exactly as it was received, before it is parsed.
 * @param secret The secret of the webhook (`whsec_…`), or several while secrets are replaced.
 * @throws WebhookVerificationError if the request must not be trusted. Repeats of an event have the same `id`.
 */
export async function verifyWebhook<Event = WebhookEvent>(
  headers: WebhookHeaders,
  body: string | Uint8Array,
  secret: string | readonly string[],
): Promise<Event> {
  const id = header(headers, "webhook-id");
  const timestamp = header(headers, "webhook-timestamp");
  const signatures = header(headers, "webhook-signature").split(" ");
  const age = Math.abs(Date.now() / 1000 - Number(timestamp));
  if (!/^\d+$/.test(timestamp) || age > TOLERANCE_SECONDS) {
    throw new WebhookVerificationError("webhook-timestamp is more than five minutes away");
  }
  const encoder = new TextEncoder();
  const content = typeof body === "string" ? encoder.encode(body) : body;
  const prefix = encoder.encode(`${id}.${timestamp}.`);
  const signed = new Uint8Array(prefix.length + content.length);
  signed.set(prefix);
  signed.set(content, prefix.length);
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  for (const one of typeof secret === "string" ? [secret] : secret) {
    const bytes = decodeBase64(one.replace(/^whsec_/, ""));
    if (!bytes || bytes.length === 0) throw new TypeError("The secret of a webhook is whsec_ and base64");
    const key = await crypto.subtle.importKey("raw", bytes, algorithm, false, ["verify"]);
    for (const signature of signatures) {
      const given = signature.startsWith("v1,") ? decodeBase64(signature.slice(3)) : undefined;
      // `verify` compares in constant time.
      if (given && (await crypto.subtle.verify(algorithm, key, given, signed))) {
        return JSON.parse(new TextDecoder().decode(content)) as Event;
      }
    }
  }
  throw new WebhookVerificationError("No signature in webhook-signature matches");
}

function header(headers: WebhookHeaders, name: string): string {
  const value = headers instanceof Headers ? headers.get(name) : headers[name];
  if (typeof value === "string" && value !== "") return value;
  throw new WebhookVerificationError(`The header ${name} is missing`);
}

function decodeBase64(text: string) {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch {
    return undefined;
  }
}
