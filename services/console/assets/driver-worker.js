// Opens the pages of a driver without signal. The line above names the files of this release; pages that were shown
// with signal are kept too, until driver.js removes those that are not needed any more.

const KEPT_FILES = "drover-driver-files";
const KEPT_PAGES = "drover-driver-pages";
// How long the network may take: less if there is something to show instead.
const WITH_PAGE_MS = 5_000;
const WITHOUT_PAGE_MS = 20_000;

addEventListener("install", (event) => {
  skipWaiting();
  event.waitUntil(caches.open(KEPT_FILES).then((cache) => cache.addAll(FILES)));
});

addEventListener("activate", (event) => event.waitUntil(replace()));

// A new release takes over at once. Pages of the old one get the new files.
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
  else if (request.mode === "navigate") event.respondWith(page(request, url));
});

async function file(request) {
  const cache = await caches.open(KEPT_FILES);
  const kept = (await cache.match(request)) ?? (await cache.match(request, { ignoreSearch: true }));
  return kept ?? fetch(request);
}

async function page(request, url) {
  const cache = await caches.open(KEPT_PAGES);
  const kept = (await cache.match(request)) ?? (await cache.match(request, { ignoreSearch: true }));
  try {
    const response = await fetch(request, { signal: AbortSignal.timeout(kept ? WITH_PAGE_MS : WITHOUT_PAGE_MS) });
    if (response.status >= 500 && kept) return kept;
    if (response.ok && (!url.search || url.searchParams.has("r"))) await cache.put(request.url, response.clone());
    return response;
  } catch {
    return kept ?? new Response(NOTHING, { status: 503, headers: { "content-type": "text/html; charset=utf-8" } });
  }
}

const NOTHING = `<!doctype html><html lang="en-GB"><meta name="viewport" content="width=device-width">
<title>No signal · Drover</title><h1>No signal</h1><p>This page is not kept on this phone.</p>
<p><a href="/driver">My loads</a></p></html>`;
