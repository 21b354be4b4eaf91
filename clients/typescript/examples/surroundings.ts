// What surrounds an app: photographs, a bad connection and a receiver of webhooks.
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { verifyWebhook, type WebhookEvent } from "drover";

/** Reads a sample photograph. */
export async function photograph(name: string): Promise<File> {
  return new File([await readFile(`../../deploy/examples/files/${name}`)], name);
}

/** Returns a `fetch` that loses its first response, and counts its requests. */
export function losingFetch(): typeof fetch & { requests: number } {
  const losing = Object.assign(
    async (...request: Parameters<typeof fetch>) => {
      const response = await fetch(...request);
      losing.requests += 1;
      if (losing.requests === 1) throw new TypeError("The connection broke off");
      return response;
    },
    { requests: 0 },
  );
  return losing;
}

/** Starts a receiver at `url`, which stops after the first request and verifies it with the secret. */
export async function receiver(): Promise<{ url: string; first: (secret: string) => Promise<WebhookEvent> }> {
  let receive: (verify: (secret: string) => Promise<WebhookEvent>) => void;
  const request = new Promise<(secret: string) => Promise<WebhookEvent>>((resolve) => (receive = resolve));
  const server = createServer(async (request, response) => {
    const parts: Uint8Array[] = [];
    for await (const part of request) parts.push(part);
    const body = await new Blob(parts).text();
    receive((secret) => verifyWebhook(request.headers, body, secret));
    response.writeHead(204).end();
    server.close(() => undefined);
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const url = `http://127.0.0.1:${server.address().port}/`;
  return { url, first: async (secret) => (await request)(secret) };
}

/** Prints what happened, or ends the program. */
export function expect(condition: unknown, what: string): asserts condition {
  if (!condition) throw new Error(`Not as expected: ${what}`);
  console.log(what);
}
