// Tells that loads on the page have changed since it was made. Rows never move by themselves.

const TYPES = [
  "created", "updated", "cancelled", "collected", "completed", "corrected", "rejected", "reopened", "accepted",
  "sent_to_driver", "driver_revoked", "sent_to_carrier", "noted", "released",
].map((type) => `load.${type}`);

const notice = document.querySelector("[data-live]");
const channel = new BroadcastChannel("drover-events");
const changed = new Set();

// What happens meanwhile is shown when it goes on.
const pause = notice?.querySelector("button");
const held = [];
const isPaused = () => pause.textContent !== "Pause";
pause?.addEventListener("click", () => {
  pause.textContent = isPaused() ? "Pause" : "Go on";
  if (!isPaused()) held.splice(0).forEach(show);
});

function show(event) {
  if (isPaused()) return held.push(event);
  // An event from before the page was made is on it.
  if (event.atUTC <= notice.dataset.at) return;
  const row = document.querySelector(`tr[data-id="${CSS.escape(event.loadId)}"]`);
  const own = notice.dataset.live;
  const isAny = own === "*";
  if (!isAny && (own ? event.loadId !== own : !row && event.type !== "load.created")) return;
  row?.classList.add("marked");
  changed.add(event.loadId);
  notice.hidden = false;
  notice.querySelector("span").textContent = own && !isAny ? "This load has changed." : `${changed.size} changed.`;
}

function end() {
  const link = Object.assign(document.createElement("a"), { href: "/login?to=/logged-in", target: "_blank" });
  link.textContent = "Log in again, in a new tab";
  notice.hidden = false;
  notice.querySelector("span").replaceChildren("Further changes are not shown as they happen. ", link);
}

channel.onmessage = ({ data }) => (data ? show(data) : end());

// One stream for all tabs of the browser: the others wait for the lock, and get the events from the tab that has it.
if (notice) navigator.locks?.request("drover-events", () => new Promise(() => {
  const source = new EventSource(`/events?after=${encodeURIComponent(notice.dataset.after)}`);
  for (const type of TYPES) {
    source.addEventListener(type, ({ data }) => {
      const event = JSON.parse(data);
      channel.postMessage(event);
      show(event);
    });
  }
  // The browser connects again by itself, unless the answer was no stream.
  source.onerror = () => {
    if (source.readyState !== EventSource.CLOSED) return;
    channel.postMessage(null);
    end();
  };
}));
