// Keeps a sheet and what was mended in this browser until it is imported. Without it, one chooses the file again.

const HEADINGS = "drover-headings";
const MAX_HEADINGS = 200;
let files = [];

function drafts(mode, work) {
  return new Promise((resolve, reject) => {
    const opening = indexedDB.open("drover-import", 1);
    opening.onupgradeneeded = () => opening.result.createObjectStore("drafts");
    opening.onerror = () => reject(opening.error);
    opening.onsuccess = () => {
      const transaction = opening.result.transaction("drafts", mode);
      const request = work(transaction.objectStore("drafts"));
      transaction.oncomplete = () => resolve(request.result);
      transaction.onabort = () => reject(transaction.error);
    };
  });
}

// Nobody but the same person of the same organisation finds the draft.
const owner = () => document.querySelector("[data-owner]").dataset.owner;

const texts = (form) =>
  [...new FormData(form)].filter(([name, value]) => typeof value === "string" && !["form-token", "key"].includes(name));

async function keep(form) {
  if (!files.length && !form.elements.pasted?.value) return;
  try {
    await drafts("readwrite", (store) => store.put({ files, fields: texts(form) }, owner()));
  } catch {
    say(form, "This browser does not keep the file: do not leave the page before the import.");
  }
}

const forget = () => drafts("readwrite", (store) => store.delete(owner())).catch(() => {});

function element(name, attributes, ...children) {
  const made = Object.assign(document.createElement(name), attributes);
  made.append(...children);
  return made;
}

function say(form, text, ...further) {
  form.querySelector("[data-said]")?.remove();
  const said = element("p", { className: "notice bad" }, text, " ", ...further);
  said.dataset.said = "";
  said.setAttribute("role", "alert");
  (form.querySelector(".head") ?? form.firstElementChild).after(said);
}

function put(input, chosen) {
  const transfer = new DataTransfer();
  for (const file of chosen) transfer.items.add(file);
  input.files = transfer.files;
}

// What headings meant the last time.
function remembered() {
  try {
    return JSON.parse(localStorage.getItem(HEADINGS)) ?? [];
  } catch {
    return [];
  }
}

function remember(form) {
  const known = new Map(remembered());
  for (const select of form.querySelectorAll("select[data-heading]")) {
    if (select.value) known.set(select.dataset.heading, select.value);
  }
  localStorage.setItem(HEADINGS, JSON.stringify([...known].slice(-MAX_HEADINGS)));
}

// Sends the form in the background: its progress is shown, and it stays if nobody is logged in any more.
function send(form, submitter, fields) {
  const body = new FormData(form, submitter);
  if (fields) {
    for (const [name] of fields) body.delete(name);
    for (const [name, value] of fields) body.append(name, value);
  } else if (!form.querySelector("[data-file]")) {
    for (const [, value] of remembered()) body.append("heading", value);
  }
  const progress = element("progress", { max: 1 });
  const shown = element("p", { className: "working" }, progress, element("span", {}, "Sending the file"));
  shown.setAttribute("role", "status");
  (form.querySelector(".head") ?? form.firstElementChild).after(shown);
  for (const button of form.querySelectorAll("button")) button.disabled = true;
  const again = (text, ...further) => {
    shown.remove();
    for (const button of form.querySelectorAll("button")) button.disabled = false;
    say(form, text, ...further);
  };
  const request = new XMLHttpRequest();
  request.upload.onprogress = ({ loaded, total }) => {
    progress.value = loaded / total;
    if (loaded === total) {
      progress.removeAttribute("value");
      shown.lastChild.textContent = "Checking the rows";
    }
  };
  request.onerror = () => again("There is no answer. Nothing is lost: try again in a minute.");
  request.onload = () => {
    if (request.status === 401) {
      const link = element("a", { href: "/login?to=/logged-in", target: "_blank" }, "Log in, in a new tab");
      return again("Your log-in has ended. Nothing is lost: log in, come back and go on.", link);
    }
    const page = new DOMParser().parseFromString(request.responseText, "text/html");
    const failed = request.status >= 500 || page.querySelector("[data-failed]");
    if (failed) return again("A service does not answer. Nothing is lost: try again in a minute.");
    const main = page.querySelector("main");
    if (!main) return again(`The file was not accepted (${request.status}). It may be too large.`);
    document.querySelector("main").replaceWith(document.adoptNode(main));
    document.title = page.title;
    scrollTo(0, 0);
    begin();
    const first = document.querySelector("main [autofocus], main [role=alert], main h1");
    if (first && !first.matches("select")) first.tabIndex = -1;
    first?.focus();
  };
  request.open("POST", submitter?.getAttribute("formaction") ?? form.getAttribute("action"));
  request.send(body);
}

async function offer(form) {
  const draft = await drafts("readonly", (store) => store.get(owner())).catch(() => null);
  if (!draft) return;
  const names = draft.files.map((file) => file.name).join(", ") || "What you pasted";
  const go = element("button", { type: "button", className: "primary" }, "Continue");
  const discard = element("button", { type: "button" }, "Discard it");
  const offered = element("p", { className: "notice" }, `${names} is not imported yet. `, go, " ", discard);
  form.before(offered);
  go.onclick = () => {
    offered.remove();
    files = draft.files;
    put(form.querySelector("[type=file]"), files);
    send(form, null, draft.fields);
  };
  discard.onclick = () => {
    forget();
    offered.remove();
  };
}

// Puts the kept file into the form of a page that asks for it again.
async function attach(form, input, again) {
  if (input && !files.length) {
    const draft = await drafts("readonly", (store) => store.get(owner())).catch(() => null);
    files = draft?.files ?? [];
  }
  if (input && files.length) {
    put(input, files);
    input.hidden = true;
    again.querySelector("label").hidden = true;
    again.append(element("span", { className: "muted" }, "The file and what you mend are kept in this browser until the import."));
  }
  keep(form);
}

function begin() {
  if (document.querySelector("[data-import-done]")) forget();
  setTimeout(() => document.querySelector("[data-again]")?.click(), 5000);
  const form = document.querySelector("form[data-import]");
  if (!form) return;
  const input = form.querySelector("[type=file]");
  const again = form.querySelector("[data-file]");
  if (again) attach(form, input, again);
  else offer(form);
  form.addEventListener("change", ({ target }) => {
    if (target === input) {
      files = [...input.files];
      if (files.length) form.requestSubmit();
    } else keep(form);
  });
  form.addEventListener("submit", (event) => {
    remember(form);
    if (event.submitter?.getAttribute("formaction")?.startsWith("/import/problems")) return;
    event.preventDefault();
    send(form, event.submitter);
  });
  const target = form.closest("main");
  target.ondragover = (event) => event.preventDefault();
  target.ondrop = (event) => {
    event.preventDefault();
    if (!input || again || !event.dataTransfer.files.length) return;
    files = [...event.dataTransfer.files];
    put(input, files);
    form.requestSubmit();
  };
}

begin();
// On the way back, the browser may show a page whose file it stopped sending: the form is offered again.
addEventListener("pageshow", ({ persisted }) => persisted && location.reload());
