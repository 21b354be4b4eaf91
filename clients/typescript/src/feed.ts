import { ConnectionError, DroverError } from "./errors.js";
import type { Http, RequestOptions } from "./http.js";
import { backoff, sleep } from "./wait.js";

/** Options of a feed of events. */
export interface FollowOptions extends RequestOptions {
  /**
   * The `cursor` of an event, or `now`. Without it, the feed begins with the oldest event. Use a cursor with the same
   * filters and `include` as before: with others, up to 100 events can be repeated.
   */
  after?: string | undefined;
  /** Called before each retry with the error and the pause in milliseconds. */
  onRetry?: (error: DroverError, pauseMs: number) => void;
}

/** An event with the place after it. Store `cursor` together with what you did with the event. */
export type Followed<Event> = Event & { cursor: string };

/** The page that `GET /v1/events` returns. */
export interface FeedPage<Event> {
  events: Event[];
  cursor: string;
  more: boolean;
}

/** Returns the cursor after all present events. */
export async function eventsCursor(http: Http, options?: RequestOptions): Promise<string> {
  return (await http.json<FeedPage<unknown>>({ ...options, path: "/v1/events", query: { after: "now" } })).cursor;
}

/** Shorter than 30 seconds, after which many proxies close an idle connection. */
const WAIT_SECONDS = 25;
const LONGEST_PAUSE_MS = 30_000;

/**
 * Yields the events of a feed, and waits for further ones. While the service is away, it asks again until it is back.
 * It ends when the loop is left or the signal is aborted.
 *
 * It uses requests that wait, because they work in React Native, whose `fetch` cannot stream, and through proxies that
 * buffer responses. A page of the feed has only the cursor after its last event. The cursor of an earlier one is
 * therefore the cursor before the page, `~`, and the id of the event.
 *
 * @throws NotFoundError with status 410 if the database was restored and is older than the cursor.
 */
export async function* follow<Event extends { id: string }>(
  http: Http,
  parameters: object,
  options: FollowOptions,
): AsyncGenerator<Followed<Event>, void, undefined> {
  const { after, signal, onRetry } = options;
  const wait = Math.max(1, Math.min(WAIT_SECONDS, Math.floor(http.timeoutMs / 2000)));
  let [cursor, seen] = after === undefined ? [] : after.split("~");
  for (let failures = 0; ; ) {
    let page: FeedPage<Event>;
    try {
      const query = { ...parameters, after: cursor, wait };
      page = await http.json<FeedPage<Event>>({ path: "/v1/events", query, signal });
      failures = 0;
    } catch (error) {
      if (!(error instanceof DroverError) || !isTemporary(error)) throw error;
      failures += 1;
      const pause = Math.max(error.retryAfterMs ?? 0, backoff(failures, LONGEST_PAUSE_MS));
      onRetry?.(error, pause);
      await sleep(pause, signal);
      continue;
    }
    const fresh = page.events.slice(page.events.findIndex((event) => event.id === seen) + 1);
    for (const [i, event] of fresh.entries()) {
      // Without `after`, the place before the first page has no cursor: that of the oldest event is empty.
      const place = i === fresh.length - 1 ? page.cursor : `${cursor ?? ""}~${event.id}`;
      yield { ...event, cursor: place };
    }
    [cursor, seen] = [page.cursor, undefined];
  }
}

function isTemporary(error: DroverError): boolean {
  return error instanceof ConnectionError || error.status === 429 || error.status >= 500;
}
