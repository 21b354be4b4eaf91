// The few declarations of Node.js that the tests and the example use, so that they need no further package.
declare module "node:test" {
  export function test(name: string, run: () => void | Promise<void>): Promise<void>;
}

declare module "node:assert/strict" {
  export function ok(value: unknown, message?: string): asserts value;
  export function equal(actual: unknown, expected: unknown, message?: string): void;
  export function notEqual(actual: unknown, expected: unknown, message?: string): void;
  export function deepEqual(actual: unknown, expected: unknown, message?: string): void;
  export function rejects(promise: Promise<unknown>, expected: (error: any) => boolean): Promise<void>;
  export function throws(run: () => unknown, expected: new (...args: never[]) => Error): void;
}

declare module "node:util" {
  export function inspect(value: unknown, options: { depth: null; showHidden: boolean }): string;
}

declare module "node:crypto" {
  interface Hmac {
    update(data: string | Uint8Array): Hmac;
    digest(encoding: "base64"): string;
  }
  export function createHmac(algorithm: string, key: Uint8Array): Hmac;
}

declare module "node:fs/promises" {
  export function readFile(path: string): Promise<Uint8Array>;
}

declare module "node:child_process" {
  export function spawn(program: string, options: string[], settings: { stdio: "ignore" }): { kill(): boolean };
}

declare module "node:http" {
  interface IncomingMessage extends AsyncIterable<Uint8Array> {
    method: string;
    url: string;
    headers: Record<string, string | undefined>;
    socket: { destroy(): void };
  }
  interface ServerResponse {
    writeHead(status: number, headers?: Record<string, string>): ServerResponse;
    end(body?: string): void;
  }
  interface Server {
    listen(port: number, host: string, done: () => void): void;
    address(): { port: number };
    close(done: () => void): void;
    closeAllConnections(): void;
  }
  export function createServer(handle: (request: IncomingMessage, response: ServerResponse) => void): Server;
}

declare const process: { env: Record<string, string | undefined>; exitCode?: number };
