// Opens the pages of a driver without signal. The line above, which the server adds, names the files of this release.
// Pages that were opened with signal are kept too, until driver.js removes those that are not needed any more.

const KEPT_FILES = "drover-driver-files";
// Followed by the owner, as /driver/me names it. Only one owner has kept pages: a log-in and a page of another remove
// them.
const KEPT_PAGES = "drover-driver-pages ";
// How long the network may take: less if there is something to show instead.
const WITH_PAGE_MS = 5_000;
const WITHOUT_PAGE_MS = 20_000;
const OWNER_MS = 2_000;

addEventListener("install", (event) => {
  skipWaiting();
  event.waitUntil(caches.open(KEPT_FILES).then((cache) => cache.addAll(FILES)));
});

addEventListener("activate", (event) => event.waitUntil(replace()));

// A new release takes over at once, also for pages that the old one opened.
async function replace() {
  const cache = await caches.open(KEPT_FILES);
  const own = FILES.map((file) => new URL(file, location.href).href);
  for (const request of await cache.keys()) if (!own.includes(request.url)) await cache.delete(request);
  await clients.claim();
}

addEventListener("fetch", (event) => {
  const { request } = event;
  const url = new URL(request.url);
  if (request.method !== "GET" || url.origin !== location.origin) return;
  if (url.pathname.startsWith("/assets/")) event.respondWith(file(request));
  else if (request.mode === "navigate") event.respondWith(page(event, url));
});

async function file(request) {
  const cache = await caches.open(KEPT_FILES);
  const kept = (await cache.match(request)) ?? (await cache.match(request, { ignoreSearch: true }));
  return kept ?? fetch(request);
}

async function page(event, url) {
  const { request } = event;
  const kept = await find(request).catch(() => undefined);
  try {
    const response = await fetch(request, { signal: AbortSignal.timeout(kept ? WITH_PAGE_MS : WITHOUT_PAGE_MS) });
    if (response.status >= 500 && kept && (await isOwner(kept.owner))) return kept.page;
    // A page that cannot be kept is shown all the same.
    if (response.ok && (!url.search || url.searchParams.has("r"))) {
      event.waitUntil(keep(request.url, response.clone()).catch(() => {}));
    }
    return response;
  } catch {
    if (kept && (await isOwner(kept.owner))) return kept.page;
    return new Response(NOTHING, { status: 503, headers: { "content-type": "text/html; charset=utf-8" } });
  }
}

const keptNames = async () => (await caches.keys()).filter((name) => name.startsWith(KEPT_PAGES));

// Returns the kept page with its owner.
async function find(request) {
  for (const name of await keptNames()) {
    const cache = await caches.open(name);
    const page = (await cache.match(request)) ?? (await cache.match(request, { ignoreSearch: true }));
    if (page) return { page, owner: name.slice(KEPT_PAGES.length) };
  }
}

// Returns false if somebody else is logged in, or nobody. Without an answer, nobody has logged in since either.
async function isOwner(owner) {
  try {
    const options = { headers: { accept: "application/json" }, signal: AbortSignal.timeout(OWNER_MS) };
    const response = await fetch("/driver/me", options);
    if (response.status >= 500) return true;
    return response.ok && (await response.json()).owner === owner;
  } catch {
    return true;
  }
}

const CHARACTERS = { "&quot;": '"', "&lt;": "<", "&gt;": ">", "&amp;": "&" };

async function keep(url, response) {
  const [, written] = (await response.clone().text()).match(/ data-driver="([^"]*)"/) ?? [];
  if (written === undefined) return;
  const own = KEPT_PAGES + written.replace(/&(quot|lt|gt|amp);/g, (character) => CHARACTERS[character]);
  for (const name of await keptNames()) if (name !== own) await caches.delete(name);
  await (await caches.open(own)).put(url, response);
}

const NOTHING = `<!doctype html><html lang="en-GB"><meta name="viewport" content="width=device-width">
<title>No signal · Drover</title><h1>No signal</h1><p>This page is not kept on this phone.</p>
<p><a href="/driver">My loads</a></p></html>`;
