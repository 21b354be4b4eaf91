// Keeps what a driver enters on the phone, at each keystroke, and sends it when there is signal. Nothing is dropped: an
// entry stays on the phone until the office has it. It belongs to the person who made it. Where the browser cannot store
// anything, the forms work as they do without scripts.

const UNDO_MS = 10_000;
// How long an answer may take, and an upload stand still.
const ANSWER_MS = 20_000;
const RETRY_MS = 15_000;
const DAY_MS = 86_400_000;
// Sizes of photographs: the long edge in pixels, and the quality. The first one that is small enough is kept.
const SIZES = [[2600, 0.85], [2200, 0.8], [2000, 0.7], [2000, 0.5], [2000, 0.35]];
const PHOTOGRAPH_BYTES = 1_000_000;
const TOLERANCE_PERCENT = 2;

const owner = document.querySelector("[data-driver]").dataset.driver;
// Kept pages are shown to their owner only.
const KEPT_PAGES = "drover-driver-pages ";
const ownPages = KEPT_PAGES + owner;
const list = document.querySelector("#unsent");
const form = document.querySelector("#form");
const signal = document.querySelector("#signal");
const FULL = "This phone is full: delete something else, and do not close this page before everything is sent.";
const warnings = new Set();
// The files of photographs that the office has already, by the ids of the photographs: the phone may be full.
const uploaded = new Map();
let hasSignal = true;
let isLoggedIn = true;
let isBusy = false;
let isKept = true;

// The store: entries by their id, and what is remembered by name.

const database = new Promise((resolve, reject) => {
  const request = indexedDB.open("drover-driver", 1);
  request.onupgradeneeded = () => {
    request.result.createObjectStore("entries", { keyPath: "id" });
    request.result.createObjectStore("remembered");
  };
  request.onsuccess = () => resolve(request.result);
  request.onerror = () => reject(request.error);
});

async function run(store, mode, act) {
  const transaction = (await database).transaction(store, mode, { durability: "strict" });
  const request = act(transaction.objectStore(store));
  return new Promise((resolve, reject) => {
    transaction.oncomplete = () => resolve(request.result);
    transaction.onerror = transaction.onabort = () => reject(transaction.error);
  });
}

const remembered = (name) => run("remembered", "readonly", (store) => store.get(name));
const remember = (name, value) => run("remembered", "readwrite", (store) => store.put(value, name));
const find = (id) => run("entries", "readonly", (store) => store.get(id));
const remove = (id) => run("entries", "readwrite", (store) => store.delete(id));

async function entries() {
  const all = await run("entries", "readonly", (store) => store.getAll());
  return all.filter((entry) => entry.owner === owner).sort((a, b) => a.at - b.at);
}

// Stores an entry; returns whether that succeeded.
async function put(entry) {
  const stored = await run("entries", "readwrite", (store) => store.put(entry)).then(() => true, () => false);
  if (!stored) warnings.add(FULL);
  if (!stored) await show();
  return stored;
}

// Stores an entry that is being sent. Returns false if it was deleted or taken back meanwhile.
async function update(entry) {
  let isWaiting = true;
  const act = (store) => {
    const request = store.get(entry.id);
    request.onsuccess = () => {
      isWaiting = request.result?.state === "waiting";
      if (isWaiting) store.put(entry);
    };
    return request;
  };
  await run("entries", "readwrite", act).catch(() => warnings.add(FULL));
  return isWaiting;
}

function newId() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

// Sending.

const noAnswer = () => Object.assign(new Error("no answer"), { isNetwork: true });

// Only XMLHttpRequest reports the progress of an upload, without which the network counts as none.
async function ask(path, method = "GET", body = null) {
  const request = new XMLHttpRequest();
  let timer;
  const wait = () => (clearTimeout(timer), (timer = setTimeout(() => request.abort(), ANSWER_MS)));
  await new Promise((resolve) => {
    request.onloadend = resolve;
    request.upload.onprogress = request.upload.onload = wait;
    request.open(method, path);
    request.setRequestHeader("accept", "application/json");
    request.responseType = "json";
    wait();
    request.send(body);
  });
  const { status, response } = request;
  if (status < 300 && response) return response;
  // Nothing answers, or something between the phone and the office, such as the page of a hot spot.
  if (status < 300) throw noAnswer();
  throw Object.assign(new Error(response?.reason ?? `It was refused (${status}).`), { status });
}

// Whether to try again by itself: without network or log-in, after too many requests, and while a service is away. The
// driver has to decide about everything else.
const isTemporary = ({ status }) => !status || [401, 408, 429].includes(status) || status >= 500;

// Returns what sends a form, or nothing if somebody else is logged in.
async function contact() {
  const me = await ask("/driver/me");
  if (typeof me.owner !== "string") throw noAnswer();
  await remember("offset", me.now - Date.now()).catch(() => warnings.add(FULL));
  if (me.owner === owner) return me.token;
  // A page of somebody else, which this phone still kept.
  await forgetPages(() => true);
  location.replace("/driver");
}

// Returns false if the entry does not wait any more.
async function deliver(entry, token) {
  for (const photograph of entry.photographs) {
    photograph.id ??= newId();
    photograph.file ??= uploaded.get(photograph.id);
    if (photograph.file) continue;
    // It is as large as it was if the browser was killed while it was made smaller.
    await shrink(photograph);
    const body = new FormData();
    body.set("form-token", token);
    body.set("key", photograph.id);
    body.set("file", photograph.blob, photograph.name);
    const { file } = await ask("/driver/files", "POST", body);
    if (typeof file !== "string" || !file) throw noAnswer();
    photograph.file = file;
    uploaded.set(photograph.id, file);
    // Stored before the proof is sent: if it is sent again after days, it has the same files.
    if (!(await update(entry))) return false;
  }
  entry.captured ??= Math.round(entry.at + (entry.offset ?? (await remembered("offset")) ?? 0));
  if (!(await update(entry))) return false;
  const body = new URLSearchParams({ ...entry.fields, "form-token": token, key: entry.id, captured: entry.captured });
  for (const { file } of entry.photographs) body.append("files", file);
  const reply = await ask(`/driver/${encodeURIComponent(entry.load)}/${entry.action}`, "POST", body);
  if (reply.done !== true) throw noAnswer();
  return true;
}

// Returns whether an entry can be taken back no more. If the clock was put back, it is due too.
function isDue({ state, sendAt }) {
  const left = sendAt - Date.now();
  return state === "waiting" && (left <= 0 || left > UNDO_MS);
}

async function sendDue() {
  let sent = 0;
  try {
    // Asked even if nothing is due: only an answer shows that there is signal, and what is entered without signal later
    // needs the time of the office. `navigator.onLine` is true on a network that hangs.
    const token = await contact();
    if (!token) return;
    [hasSignal, isLoggedIn] = [true, true];
    for (const { id } of (await entries()).filter(isDue)) {
      const entry = await find(id);
      if (!entry || !isDue(entry)) continue;
      try {
        if (!(await deliver(entry, token))) continue;
        await remove(id);
        sent += 1;
      } catch (error) {
        if (isTemporary(error)) throw error;
        await update({ ...entry, state: "refused", reason: error.message });
      }
    }
    if (list) await keepPages().catch(() => {});
  } catch (error) {
    if (error.status === 401) isLoggedIn = false;
    else if (error.status) hasSignal = true;
    else if (error.isNetwork) hasSignal = false;
    else warnings.add(FULL);
  }
  if (sent && list) location.reload();
}

// Acts unless a tab is sending. Returns whether it did.
async function alone(act) {
  if (isBusy) return false;
  isBusy = true;
  const locked = async (lock) => {
    if (lock) await act();
    return Boolean(lock);
  };
  try {
    if (!navigator.locks) return await locked(true);
    return await navigator.locks.request("drover-driver-send", { ifAvailable: true }, locked);
  } finally {
    isBusy = false;
  }
}

async function trySending() {
  await alone(sendDue);
  await show();
}

async function forgetPages(isForgotten) {
  const names = (await globalThis.caches?.keys()) ?? [];
  for (const name of names) if (name.startsWith(KEPT_PAGES) && isForgotten(name)) await caches.delete(name);
}

// Keeps the pages of this list, and no others.
async function keepPages() {
  if (!globalThis.caches) return;
  const cache = await caches.open(ownPages);
  const links = [...document.querySelectorAll("a[data-keep]")].map((link) => link.href);
  const wanted = [new URL("/driver", location.href).href, ...links];
  for (const request of await cache.keys()) if (!wanted.includes(request.url)) await cache.delete(request);
  for (const url of wanted) {
    if (await cache.match(url)) continue;
    const response = await fetch(url, { redirect: "manual", signal: AbortSignal.timeout(ANSWER_MS) });
    if (!response.ok) continue;
    const page = new DOMParser().parseFromString(await response.clone().text(), "text/html");
    if (page.querySelector("[data-driver]")?.dataset.driver === owner) await cache.put(url, response);
  }
}

// What is not sent yet.

function element(name, properties, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

const NAMES = { collect: "collection", prove: "proof", reject: "rejection", note: "note", files: "photograph" };

function stateOf(entry) {
  if (entry.state === "refused") return `Not accepted: ${entry.reason}`;
  if (entry.state === "draft") return "Begun. The load is not in your list any more.";
  if (!isDue(entry)) return `Will be sent in ${Math.ceil((entry.sendAt - Date.now()) / 1000)} s.`;
  return hasSignal && isLoggedIn ? "Being sent." : "Waiting on this phone.";
}

const contentOf = ({ fields, photographs }) => JSON.stringify([fields, photographs.map(({ id }) => id)]);

// Opens an entry again, to be changed and sent.
async function open(id) {
  const entry = await find(id);
  if (!entry) return show();
  const act = async () => {
    const now = await find(id);
    // What was sent once may be recorded already. If the driver changes it, it becomes another entry.
    const tried = now?.captured === undefined ? now?.tried : contentOf(now);
    return Boolean(now) && put({ ...now, state: "draft", tried });
  };
  let isOpened = false;
  const reopen = async () => (isOpened = await act());
  // An entry that is due may be on its way.
  if (isDue(entry)) await alone(reopen);
  else await reopen();
  if (!isOpened) return show();
  location.assign(`/driver/${encodeURIComponent(entry.load)}/${entry.action}`);
}

// Sends an entry again as it is: if it is recorded already, it is not recorded twice.
async function sendAgain(id) {
  const entry = await find(id);
  if (entry?.state === "refused") await put({ ...entry, state: "waiting", sendAt: Date.now() });
  await trySending();
}

async function removeAsked(entry) {
  const question = `Delete this ${NAMES[entry.action]} of ${entry.reference}? The office does not get it.`;
  if (!confirm(question)) return;
  const now = await find(entry.id);
  if (now && now.state !== "waiting") await remove(entry.id);
  await show();
}

const mayTakeBack = (entry) => entry.state === "waiting" && (!isDue(entry) || !isBusy);

function row(entry) {
  const button = (textContent, onclick) => element("button", { type: "button", textContent, onclick });
  const buttons = [];
  if (entry.state === "refused") {
    buttons.push(button("Mend", () => open(entry.id)), button("Send again", () => sendAgain(entry.id)));
  }
  if (entry.state !== "waiting") buttons.push(button("Delete", () => removeAsked(entry)));
  if (mayTakeBack(entry)) buttons.push(button("Take back", () => open(entry.id)));
  const made = element("section", { className: "card" }, element("b", {}, entry.reference), ` ${NAMES[entry.action]}`);
  made.append(element("p", {}, stateOf(entry)), ...buttons);
  return made;
}

function showSignal(unsent) {
  const texts = [...warnings];
  if (!hasSignal) texts.push("No signal.");
  if (!isLoggedIn) texts.push("Log in again, so that the office gets what you enter.");
  const refused = unsent.filter(({ state }) => state === "refused").length;
  const waiting = unsent.length - refused;
  if (waiting === 1) texts.push("1 entry is not sent yet. It will be sent by itself.");
  if (waiting > 1) texts.push(`${waiting} entries are not sent yet. They will be sent by themselves.`);
  if (refused) texts.push(`${refused} ${refused === 1 ? "entry is" : "entries are"} not accepted: mend what is wrong.`);
  if (unsent.some((entry) => Date.now() - entry.at > DAY_MS)) {
    texts.push("Something has waited for more than a day: call the office.");
  }
  if (unsent.length && !isKept) texts.push("A full phone may delete what is not sent: put this page on the home screen.");
  signal.hidden = !texts.length;
  // A text that did not change is not read aloud again.
  if (signal.dataset.shown === texts.join()) return;
  signal.dataset.shown = texts.join();
  signal.replaceChildren(texts.join(" "));
  if (!isLoggedIn) signal.append(" ", element("a", { href: "/login?to=/driver" }, "Log in"));
}

function showUnsent(unsent) {
  list.hidden = !unsent.length;
  const shown = unsent.map((entry) => `${entry.id} ${entry.state} ${isDue(entry)} ${mayTakeBack(entry)}`).join();
  // While the seconds count down, only their text is replaced, so that a button keeps the focus.
  if (list.dataset.shown !== shown) list.replaceChildren(...unsent.map(row));
  else unsent.forEach((entry, index) => (list.children[index].querySelector("p").textContent = stateOf(entry)));
  list.dataset.shown = shown;
}

async function show() {
  const all = await entries().catch(() => []);
  const unsent = all.filter((entry) => entry.state !== "draft");
  try {
    const counts = JSON.parse(localStorage.getItem("drover-unsent"));
    localStorage.setItem("drover-unsent", JSON.stringify({ ...counts, [owner]: unsent.length }));
  } catch {
    // Without the number, log-out does not warn.
  }
  showSignal(unsent);
  if (!list) return;
  // Only a page with all loads shows which are gone.
  const loads = [...document.querySelectorAll("section[data-load]")].map((section) => section.dataset.load);
  const isGone = (entry) => "complete" in list.dataset && entry.state === "draft" && !loads.includes(entry.load);
  showUnsent(all.filter((entry) => entry.state !== "draft" || isGone(entry)));
  for (const mark of document.querySelectorAll("section[data-load] [data-mark]")) {
    const entry = all.find(({ load }) => load === mark.closest("section").dataset.load);
    mark.hidden = !entry;
    if (entry) mark.textContent = `${entry.state === "draft" ? "Begun" : "Not sent yet"}: ${NAMES[entry.action]}`;
  }
}

// A form: what was typed comes back, and "Send" keeps it for the office.

function kilograms(text) {
  const digits = text.replace(/\s|kg$/g, "");
  return /^(\d+|\d{1,3}([.,']\d{3})+)$/.test(digits) ? Number(digits.replace(/\D/g, "")) : null;
}

const WEIGHTS = ["weightGross", "weightTare", "weightNet"];
// A smaller number was probably typed in tonnes.
const LEAST_KILOGRAMS = 100;

function netOf(controls) {
  const [gross, tare, own] = WEIGHTS.map((name) => kilograms(controls(name).value));
  return own ?? (gross !== null && tare !== null ? gross - tare : null);
}

// Returns what is wrong with the weights, with the control to change.
function findWrong(controls, action) {
  const typed = WEIGHTS.map(controls).filter((control) => control?.value.trim());
  const unreadable = typed.find((control) => kilograms(control.value) === null);
  if (unreadable) return [unreadable, "Write weights in kilograms, as 43780."];
  const isSmall = ({ value }) => kilograms(value) > 0 && kilograms(value) < LEAST_KILOGRAMS;
  const small = typed.find(isSmall);
  if (small) return [small, "A weight seems to be in tonnes: write kilograms, as 43780."];
  if (!controls("weightNet")) return [];
  const net = netOf(controls);
  if (net === null && action === "prove") {
    return [controls("weightNet"), "Write gross and tare, or the net weight."];
  }
  return net !== null && net <= 0 ? [controls("weightGross"), "The net weight is not above 0."] : [];
}

function showNet(controls) {
  const net = form.querySelector("#net");
  if (!net) return;
  const weight = netOf(controls);
  net.replaceChildren();
  if (weight === null) return;
  net.append("Net ", element("b", { className: "big" }, `${(weight / 1000).toFixed(2)} t`));
  const compared = Number(form.dataset.compare);
  if (!compared) return;
  const difference = weight / 1000 - compared;
  const isInside = (Math.abs(difference) / compared) * 100 <= TOLERANCE_PERCENT;
  const tonnes = `${Math.abs(difference).toFixed(2)} t ${difference < 0 ? "under" : "over"}`;
  const text = ` ${tonnes} what was ${form.dataset.than}. ${isInside ? "Inside" : "Outside"} ${TOLERANCE_PERCENT} %.`;
  net.append(element("small", { className: isInside ? "" : "late" }, text));
}

// Makes a photograph upright and small. One that the browser cannot read stays as it is.
async function shrink(photograph) {
  if (photograph.isSmall) return;
  let image;
  try {
    image = await createImageBitmap(photograph.blob, { imageOrientation: "from-image" });
  } catch {
    return;
  }
  for (const [edge, quality] of SIZES) {
    const scale = Math.min(1, edge / Math.max(image.width, image.height));
    const [width, height] = [image.width, image.height].map((length) => Math.round(length * scale));
    const canvas = element("canvas", { width, height });
    canvas.getContext("2d").drawImage(image, 0, 0, width, height);
    const blob = await new Promise((resolve) => canvas.toBlob(resolve, "image/jpeg", quality));
    if (!blob) return;
    photograph.blob = blob;
    photograph.name = `${photograph.name.replace(/\.\w+$/, "")}.jpg`;
    photograph.isSmall = true;
    if (blob.size <= PHOTOGRAPH_BYTES) return;
  }
}

// Shows the photographs of an entry, and adds those that are chosen.
function watchPhotographs(entry, save) {
  const place = form.querySelector(".photographs");
  if (!place) return;
  const figure = (photograph, index) => {
    const image = element("img", { src: URL.createObjectURL(photograph.blob), alt: `Photograph ${index + 1}` });
    image.onload = () => URL.revokeObjectURL(image.src);
    const zoom = element("button", { type: "button", className: "zoom", title: "Enlarge" }, image);
    zoom.onclick = () => zoom.classList.toggle("large");
    const drop = element("button", { type: "button" }, `Remove photograph ${index + 1}`);
    drop.onclick = () => {
      entry.photographs = entry.photographs.filter((other) => other !== photograph);
      save();
      showAll();
    };
    return element("figure", {}, zoom, drop);
  };
  const showAll = () => place.replaceChildren(...entry.photographs.map(figure));
  showAll();
  form.querySelector("[type=file]").addEventListener("change", async ({ target }) => {
    const chosen = [...target.files].map((file) => ({ id: newId(), name: file.name, blob: file }));
    entry.photographs.push(...chosen);
    target.value = "";
    // First as it is, because making it smaller takes time.
    await save();
    for (const photograph of chosen) await shrink(photograph);
    await save();
    showAll();
  });
}

async function fill() {
  const { load, action, reference } = form.dataset;
  const steps = [...form.querySelectorAll("form[data-step]")];
  const controls = (name) => steps.map((step) => step.elements[name]).findLast(Boolean);
  const isTyped = ({ name, type }) => name && !["hidden", "file", "checkbox", "submit"].includes(type);
  const typed = steps.flatMap((step) => [...step.elements]).filter(isTyped);
  const isDraft = (entry) => entry.load === load && entry.action === action && entry.state === "draft";
  const empty = { id: newId(), owner, load, action, reference, fields: {}, photographs: [], state: "draft" };
  const entry = (await entries()).find(isDraft) ?? { ...empty, at: Date.now(), sendAt: 0 };
  let saved = Promise.resolve();
  const save = () => (saved = saved.then(() => put(entry)));
  const read = () => typed.forEach((control) => (entry.fields[control.name] = control.value));
  const complain = (textContent) => Object.assign(form.querySelector("#refused"), { textContent, hidden: !textContent });

  for (const [name, value] of Object.entries(entry.fields)) if (controls(name)) controls(name).value = value;
  const registration = controls("vehicleRegistration");
  if (registration && !registration.value) registration.value = (await remembered(`registration ${owner}`)) ?? "";
  complain(entry.reason ?? "");
  showNet(controls);
  form.addEventListener("input", ({ target }) => {
    if (!typed.includes(target)) return;
    read();
    save();
    showNet(controls);
  });
  watchPhotographs(entry, save);

  // The step is in the address, so that the phone's back button leads to the photographs.
  const step = () => (location.hash === "#weights" && steps.length > 1 ? 1 : 0);
  const showStep = () => {
    steps.forEach((own, index) => (own.hidden = index !== step()));
    if (step()) typed.find((control) => !control.value)?.focus();
  };
  addEventListener("hashchange", showStep);
  showStep();
  for (const own of steps) own.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (event.submitter?.name === "step") return (location.hash = "photographs");
    if (own !== steps.at(-1)) return (location.hash = "weights");
    const [wrong, complaint] = findWrong(controls, action);
    complain(complaint ?? "");
    if (wrong) return wrong.focus();
    const now = Date.now();
    const offset = await remembered("offset");
    Object.assign(entry, { state: "waiting", at: now, sendAt: now + UNDO_MS, offset, reason: undefined });
    read();
    const { id } = entry;
    const isAnother = entry.tried !== undefined && entry.tried !== contentOf(entry);
    if (isAnother) Object.assign(entry, { id: newId(), captured: undefined });
    if (!(await save())) return;
    if (isAnother) await remove(id);
    if (registration?.value) await remember(`registration ${owner}`, registration.value);
    location.assign("/driver");
  });
}

async function start() {
  try {
    await remember("owner", owner);
  } catch {
    warnings.add("This browser stores nothing, so what you enter without signal is lost.");
    return show();
  }
  await forgetPages((name) => name !== ownPages).catch(() => {});
  // Not awaited: the browser looks for a new worker first, which takes as long as the network hangs.
  navigator.serviceWorker?.register("/driver/worker.js", { scope: "/driver" }).catch(() => {});
  navigator.storage?.persist?.().then((kept) => (isKept = kept), () => {});
  if (form) await fill();
  document.documentElement.dataset.ready = "";
  await show();
  await trySending();
  addEventListener("online", trySending);
  // A page that the browser shows again on the way back is out of date.
  addEventListener("pageshow", (event) => event.persisted && location.reload());
  addEventListener("visibilitychange", () => document.hidden || trySending());
  setInterval(trySending, RETRY_MS);
  // Counts down the seconds until something is sent.
  setInterval(async () => {
    const waiting = (await entries()).filter((entry) => entry.state === "waiting");
    if (!waiting.length) return;
    await show();
    if (waiting.some((entry) => isDue(entry) && Date.now() - entry.sendAt < 2_000)) await trySending();
  }, 1000);
}

start();
