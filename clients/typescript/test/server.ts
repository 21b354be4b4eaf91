import { createServer, Server } from "node:http";

/** A request that the server received. */
export interface Received {
  method: string;
  url: string;
  headers: Record<string, string | undefined>;
  body: string;
}

/** A response; `lost` breaks the connection off instead, `silent` sends nothing. */
export type Reply =
  | { status?: number; headers?: Record<string, string>; json?: unknown; text?: string }
  | "lost"
  | "silent";

/** A server whose responses a test decides, for failures that a real service does not have at will. */
export class TestServer {
  readonly received: Received[] = [];
  readonly #server: Server;
  #port = 0;

  constructor(reply: (request: Received, count: number) => Reply | Promise<Reply>) {
    this.#server = createServer(async (request, response) => {
      const chunks: string[] = [];
      const decoder = new TextDecoder();
      for await (const chunk of request) chunks.push(decoder.decode(chunk, { stream: true }));
      const received = { method: request.method, url: request.url, headers: request.headers, body: chunks.join("") };
      this.received.push(received);
      const answer = await reply(received, this.received.length);
      if (answer === "silent") return;
      if (answer === "lost") return request.socket.destroy();
      const headers = { "Content-Type": "application/json", ...answer.headers };
      response.writeHead(answer.status ?? 200, headers).end(answer.text ?? JSON.stringify(answer.json ?? {}));
    });
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  /** Starts, or starts again on the same port. */
  async start(): Promise<this> {
    await new Promise<void>((done) => this.#server.listen(this.#port, "127.0.0.1", done));
    this.#port = this.#server.address().port;
    return this;
  }

  async stop(): Promise<void> {
    const stopped = new Promise<void>((done) => this.#server.close(done));
    this.#server.closeAllConnections();
    await stopped;
  }
}

/** The body of an error as the services send it. */
export function failure(status: number, code: string, body: object = {}, headers: Record<string, string> = {}): Reply {
  const json = { status: "error", message: code, stack: "", code, body: { requestId: "r-1", ...body }, validation: [] };
  return { status, headers, json };
}
