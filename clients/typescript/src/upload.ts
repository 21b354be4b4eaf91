import { redirectError } from "./errors.js";

/**
 * A file to send. In React Native, where a photograph is a file on the device, `{uri, name, type}`; in all other places
 * a `Blob`, whose name is `name` if it is a `File`.
 */
export type FileContent = Blob | { uri: string; name: string; type: string };

/** How far an upload is, in bytes. `total` is approximate in Node.js, and 0 if the platform does not know it. */
export interface Progress {
  sent: number;
  total: number;
}

/** Builds a form of files and fields. Fields that are absent are left out; objects are sent as JSON. */
export function form(files: FileContent | readonly FileContent[], fields: object): FormData {
  const data = new FormData();
  for (const [name, value] of Object.entries(fields) as [string, unknown][]) {
    if (value === undefined || value === null) continue;
    data.append(name, typeof value === "object" ? JSON.stringify(value) : String(value));
  }
  for (const file of Array.isArray(files) ? (files as readonly FileContent[]) : [files as FileContent]) {
    // The FormData of React Native takes its own objects in place of a Blob.
    data.append("file", file as Blob);
  }
  return data;
}

/**
 * Returns a `fetch` that reports how much of a form was sent: by XMLHttpRequest, or where that is missing, as in
 * Node.js, by a stream that `send` sends.
 */
export function fetchWithProgress(onProgress: (progress: Progress) => void, send: typeof fetch): typeof fetch {
  return typeof XMLHttpRequest === "undefined"
    ? (url, init = {}) => sendStream(String(url), init, onProgress, send)
    : (url, init = {}) => sendByXmlHttpRequest(String(url), init, onProgress);
}

async function sendStream(
  url: string,
  init: RequestInit,
  onProgress: (progress: Progress) => void,
  send: typeof fetch,
): Promise<Response> {
  const data = init.body as FormData;
  const encoded = new Response(data);
  let total = 0;
  data.forEach((value) => (total += typeof value === "string" ? value.length : value.size));
  let sent = 0;
  const counter = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      sent += chunk.length;
      onProgress({ sent: Math.min(sent, total), total });
      controller.enqueue(chunk);
    },
  });
  const contentType = encoded.headers.get("content-type") ?? "";
  const headers = { ...(init.headers as Record<string, string>), "Content-Type": contentType };
  const body = encoded.body?.pipeThrough(counter) ?? null;
  // `duplex` is required for streams, and missing in the types of older versions.
  return send(url, { ...init, headers, body, duplex: "half" } as RequestInit);
}

function sendByXmlHttpRequest(
  url: string,
  init: RequestInit,
  onProgress: (progress: Progress) => void,
): Promise<Response> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    const abort = (): void => request.abort();
    const fail = (): void => reject(new TypeError("The upload broke off"));
    request.open(init.method ?? "POST", url);
    for (const [name, value] of Object.entries(init.headers as Record<string, string>)) {
      request.setRequestHeader(name, value);
    }
    request.upload.onprogress = ({ loaded, total }) => onProgress({ sent: loaded, total });
    request.onload = () => {
      const { status, statusText, responseText, responseURL } = request;
      // XMLHttpRequest follows redirects, and cannot be told not to.
      const normalize = (text: string): string => new URL(text, globalThis.location?.href).href;
      if (responseURL && normalize(responseURL) !== normalize(url)) return reject(redirectError(0));
      const headers = parseHeaders(request.getAllResponseHeaders());
      resolve(new Response(responseText, { status, statusText, headers }));
    };
    request.onerror = fail;
    request.onabort = fail;
    request.onloadend = () => init.signal?.removeEventListener("abort", abort);
    init.signal?.addEventListener("abort", abort);
    request.send(init.body as FormData);
  });
}

function parseHeaders(lines: string): Record<string, string> {
  const pairs = lines.split("\r\n").flatMap((line) => {
    const colon = line.indexOf(":");
    return colon > 0 ? [[line.slice(0, colon), line.slice(colon + 1).trim()]] : [];
  });
  return Object.fromEntries(pairs) as Record<string, string>;
}
