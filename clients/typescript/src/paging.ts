import type { Call, Http } from "./http.js";

/** Parameters of every paged list. */
export interface PagingParameters {
  /** Rows on a page, 1 to 100. Default: 20 for `page()`, 100 for iteration, which reads all pages anyway. */
  limit?: number | undefined;
  /** Rows to skip, up to 1,000,000. */
  offset?: number | undefined;
  /** `next` of the previous page. */
  cursor?: string | undefined;
  /** Whether to count all matches in `total`, which is slower. */
  count?: boolean | undefined;
}

/** A page of a list. */
export interface Page<T> {
  items: T[];
  /** Parameters of the next page: `list.page(page.next)`. Absent on the last page. */
  next?: PagingParameters;
  /** The number of all matches, if `count` was true. */
  total?: number;
}

type ListOptions = Pick<Call, "signal" | "anonymous">;

/** A list that is read when it is iterated, one page after another. */
export class List<T> implements AsyncIterable<T> {
  readonly #http: Http;
  readonly #path: string;
  readonly #parameters: Record<string, unknown>;
  readonly #options: ListOptions;

  constructor(http: Http, path: string, parameters: object = {}, options: ListOptions = {}) {
    this.#http = http;
    this.#path = path;
    this.#parameters = { ...parameters };
    this.#options = options;
  }

  /** Reads one page. `paging` overrides the parameters of the list. */
  page(paging: PagingParameters = {}): Promise<Page<T>> {
    const query: Record<string, unknown> = { ...this.#parameters, ...paging };
    // A cursor has its own place.
    if (paging.cursor !== undefined) delete query.offset;
    return this.#http.send({ ...this.#options, path: this.#path, query }, async (response) => {
      const items = JSON.parse(await response.text()) as T[];
      const next = nextPage(response.headers.get("link"), items.length, query);
      const total = response.headers.get("x-total-count");
      return { items, ...(next && { next }), ...(total !== null && { total: Number(total) }) };
    });
  }

  /** Reads all pages into an array. */
  async all(): Promise<T[]> {
    const items: T[] = [];
    for await (const item of this) items.push(item);
    return items;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    const limit = typeof this.#parameters.limit === "number" ? this.#parameters.limit : 100;
    let paging: PagingParameters | undefined = { limit };
    while (paging) {
      const page: Page<T> = await this.page(paging);
      yield* page.items;
      // Only the first page needs to count.
      paging = page.next && { ...page.next, count: undefined };
    }
  }
}

/** Finds the next page in the header `Link`. Only its cursor or offset is used, so it need not be reachable itself. */
function nextPage(link: string | null, rows: number, query: Record<string, unknown>): PagingParameters | undefined {
  const own = typeof query.limit === "number" ? { limit: query.limit } : {};
  const url = link?.split(/,\s*(?=<)/).find((part) => /;\s*rel="?next"?/.test(part)) ?? "";
  const parameter = (name: string): string | undefined => new RegExp(`[?&]${name}=([^&>]*)`).exec(url)?.[1];
  const [cursor, offset] = [parameter("cursor"), parameter("offset")];
  if (cursor !== undefined) return { ...own, cursor: decodeURIComponent(cursor) };
  if (offset !== undefined) return { ...own, offset: Number(offset) };
  // The service omits the header when it would be too long (docs/api/lists.md). A full page may have a successor.
  if (link !== null || rows < (own.limit ?? 20) || query.cursor !== undefined) return undefined;
  return { ...own, offset: (typeof query.offset === "number" ? query.offset : 0) + rows };
}
