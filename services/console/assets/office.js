// Makes the list of loads and the board quicker: keys, search while typing, saved views, drag and drop. Every page works
// without it.

const VIEWS = "drover-views";
const KEYS = "drover-keys";

const stored = (name, otherwise) => {
  try {
    return JSON.parse(localStorage.getItem(name)) ?? otherwise;
  } catch {
    return otherwise;
  }
};

function element(name, attributes, ...children) {
  const made = Object.assign(document.createElement(name), attributes);
  made.append(...children);
  return made;
}

// Views: the filters, the order and the columns of the list under a name.
function views() {
  const menu = document.querySelector("[data-views]");
  if (!menu) return;
  menu.hidden = false;
  const card = menu.querySelector(".card");
  const show = () => {
    const saved = stored(VIEWS, []);
    const save = (changed) => {
      localStorage.setItem(VIEWS, JSON.stringify(changed));
      show();
    };
    const list = saved.map(([name, query]) => {
      const remove = element("button", { type: "button", className: "plain", ariaLabel: `Remove the view ${name}` }, "Remove");
      remove.onclick = () => save(saved.filter(([other]) => other !== name));
      return element("li", {}, element("a", { href: `/loads?${query}` }, name), " ", remove);
    });
    const label = "Name of this view";
    const name = element("input", { required: true, maxLength: 60, autocomplete: "off", ariaLabel: label, placeholder: label });
    const form = element("form", {}, name, " ", element("button", {}, "Save this view"));
    form.onsubmit = (event) => {
      event.preventDefault();
      save([...saved.filter(([other]) => other !== name.value.trim()), [name.value.trim(), menu.dataset.views]]);
    };
    card.replaceChildren(element("ul", { className: "views" }, ...list), form,
      element("p", { className: "muted" }, "Views are kept in this browser."));
  };
  show();
}

// Search while typing. The list is that of the address, so that Back undoes a search.
const search = document.querySelector("form[role=search] input[name=q]");
let waiting = 0;
search?.addEventListener("input", () => {
  clearTimeout(waiting);
  waiting = setTimeout(async () => {
    const query = new URLSearchParams(new FormData(search.form)).toString();
    const reply = await fetch(`/loads?${query}`).catch(() => null);
    if (query !== new URLSearchParams(new FormData(search.form)).toString()) return;
    document.querySelector("#said")?.remove();
    const isEnded = reply?.url.includes("/login?");
    if (!reply?.ok || isEnded) {
      const link = element("a", { href: "/login?to=/logged-in", target: "_blank" }, "Log in again, in a new tab");
      const text = isEnded ? ["Your log-in has ended. ", link] : ["No answer. Try again in a minute."];
      return search.form.after(element("p", { id: "said", className: "notice bad", role: "alert" }, ...text));
    }
    const page = new DOMParser().parseFromString(await reply.text(), "text/html");
    const [now, next] = [document, page].map((source) => [...source.querySelectorAll("[data-results]")]);
    now.forEach((part, index) => part.replaceWith(document.adoptNode(next[index])));
    history.replaceState(null, "", `/loads?${query}`);
    document.dispatchEvent(new Event("drover-list"));
    begin();
  }, 300);
});

// Keys, which can be switched off: dictation and screen readers send letters too.
const rows = () => [...document.querySelectorAll("tr[data-id]")];
const isOn = () => stored(KEYS, true);

function explain() {
  const help = document.querySelector("[data-keys]");
  if (!help) return;
  const button = element("button", { type: "button", className: "plain" }, isOn() ? "Switch keys off" : "Switch keys on");
  button.onclick = () => {
    localStorage.setItem(KEYS, JSON.stringify(!isOn()));
    explain();
  };
  help.replaceChildren(isOn() ? "Keys: / search, j and k move, Enter open, x select, ? this line. " : "", button);
  help.hidden = false;
}

// Sums that take longer than the rows are put into the page when they come.
async function sums() {
  const link = document.querySelector("[data-sums]");
  const reply = link && (await fetch(link.href).catch(() => null));
  if (!reply?.ok || !link.isConnected) return;
  const page = new DOMParser().parseFromString(await reply.text(), "text/html");
  const put = (selector, place) => [...page.querySelectorAll(selector)].forEach((part) => place(document.adoptNode(part)));
  put(".head", (head) => document.querySelector(".head").replaceWith(head));
  put("tfoot", (foot) => document.querySelector("table.stack")?.append(foot));
  put("[data-all]", (all) => document.querySelector("[data-clear]")?.before(all));
}

function begin() {
  views();
  explain();
  sums();
}
begin();

function move(step) {
  const all = rows();
  const at = all.indexOf(document.activeElement.closest?.("tr[data-id]"));
  const row = all[Math.min(Math.max(at + step, 0), all.length - 1)];
  row?.querySelector("a.main").focus();
}

document.addEventListener("keydown", (event) => {
  const isTyping = event.target.closest("input:not([type=checkbox]), textarea, select, [contenteditable]");
  if (!search || !isOn() || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
  const box = document.activeElement.closest?.("tr[data-id]")?.querySelector("input[name=ids]");
  const acts = {
    "/": () => search.focus(),
    j: () => move(1),
    k: () => move(-1),
    x: () => box?.click(),
    "?": () => document.querySelector("[data-keys]")?.scrollIntoView(),
  };
  if (!acts[event.key]) return;
  event.preventDefault();
  acts[event.key]();
});

// The board: a card that is dropped on a column sends its form.
const board = document.querySelector("[data-board]");
let dragged = null;
board?.addEventListener("dragstart", ({ target }) => (dragged = target.closest("[data-load]")));
board?.addEventListener("dragover", (event) => {
  if (dragged && event.target.closest("[data-to]")) event.preventDefault();
});
board?.addEventListener("drop", (event) => {
  const column = event.target.closest("[data-to]");
  const form = dragged?.querySelector("form");
  dragged = null;
  if (!column || !form) return;
  event.preventDefault();
  form.elements.to.value = column.dataset.to;
  if (form.elements.from.value === column.dataset.to) return;
  form.requestSubmit(column.dataset.to ? undefined : form.elements.remove);
});
