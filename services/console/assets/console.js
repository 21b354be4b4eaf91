// Makes lists quicker to use. Every page works without it.

// What is selected stays selected on the other pages of the same list.
const CHOSEN = "drover-chosen";

function chosenOf(list) {
  try {
    const stored = JSON.parse(sessionStorage.getItem(CHOSEN));
    return new Map(stored?.list === list ? stored.ids : []);
  } catch {
    return new Map();
  }
}

function lists() {
  for (const form of document.querySelectorAll("form[data-list]")) {
    const boxes = [...form.querySelectorAll("input[name=ids]")];
    const count = form.querySelector("[data-count]");
    if (!boxes.length || !count) continue;
    const { list } = form.dataset;
    const chosen = chosenOf(list);
    const none = form.querySelector("[data-clear]");

    const all = document.createElement("input");
    all.type = "checkbox";
    all.setAttribute("aria-label", "Select all on this page");
    form.querySelector("th.pick").append(all);

    const show = () => {
      for (const box of boxes) {
        if (box.checked) chosen.set(box.value, parseFloat(box.dataset.tonnes.replaceAll(",", "")) || 0);
        else chosen.delete(box.value);
      }
      const tonnes = [...chosen.values()].reduce((sum, own) => sum + own, 0);
      const elsewhere = chosen.size - boxes.filter((box) => box.checked).length;
      const others = elsewhere ? `, ${elsewhere} of them on other pages` : "";
      count.textContent = chosen.size ? `${chosen.size} selected, ${tonnes.toFixed(2)} t${others}` : "With the selected loads:";
      if (form.querySelector("input[name=all]")?.checked) count.textContent = "All that were found:";
      all.checked = boxes.every((box) => box.checked);
      all.indeterminate = !all.checked && boxes.some((box) => box.checked);
      none.hidden = !chosen.size;
      sessionStorage.setItem(CHOSEN, JSON.stringify({ list, ids: [...chosen] }));
    };

    for (const box of boxes) box.checked ||= chosen.has(box.value);
    let last = null;
    form.addEventListener("click", (event) => {
      const index = boxes.indexOf(event.target);
      if (index < 0) return;
      if (event.shiftKey && last !== null) {
        const [from, to] = [Math.min(last, index), Math.max(last, index)];
        for (const box of boxes.slice(from, to + 1)) box.checked = event.target.checked;
      }
      last = index;
    });
    all.addEventListener("change", () => {
      for (const box of boxes) box.checked = all.checked;
    });
    none.addEventListener("click", () => {
      chosen.clear();
      for (const box of boxes) box.checked = false;
      show();
    });
    form.addEventListener("change", show);
    form.addEventListener("formdata", ({ formData }) => {
      const shown = new Set(boxes.map((box) => box.value));
      for (const id of chosen.keys()) if (!shown.has(id)) formData.append("ids", id);
    });
    show();
    // Browsers restore what was checked before a reload or on the way back.
    addEventListener("pageshow", show);
  }
}

// What was done to the selected loads ends the selection. Until then, what is taken out is not counted.
const confirmation = document.querySelector("form[action='/loads/actions/run']");
confirmation?.addEventListener("submit", () => sessionStorage.removeItem(CHOSEN));
function recount() {
  const boxes = [...confirmation.querySelectorAll("input[name=ids]:checked")];
  const tonnes = boxes.reduce((sum, box) => sum + (parseFloat(box.dataset.tonnes.replaceAll(",", "")) || 0), 0);
  const head = document.querySelector("[data-chosen]");
  head.querySelector("h1").textContent = `${head.dataset.chosen} ${boxes.length} load${boxes.length === 1 ? "" : "s"}`;
  head.querySelector("small").textContent = `${tonnes.toFixed(2)} t planned`;
}
confirmation?.addEventListener("change", recount);
if (confirmation) addEventListener("pageshow", recount);

// A picture of a ticket is enlarged and turned in its place.
for (const figure of document.querySelectorAll(".tickets figure")) {
  const [zoom, turn] = [figure.querySelector(".zoom"), figure.querySelector("button")];
  zoom.addEventListener("click", (event) => {
    event.preventDefault();
    zoom.classList.toggle("large");
    zoom.firstElementChild.src = zoom.href;
  });
  turn.hidden = false;
  turn.addEventListener("click", () => (figure.dataset.turn = (Number(figure.dataset.turn) + 1) % 4));
}

lists();
// The list is replaced by a search while somebody types.
document.addEventListener("drover-list", lists);

// Printing needs the browser.
for (const button of document.querySelectorAll("[data-print]")) {
  button.hidden = false;
  button.addEventListener("click", () => print());
}

// Whoever leaves a form with changes is asked first.
for (const form of document.querySelectorAll("form.fields[method=post]:not([data-keep])")) {
  const before = new URLSearchParams(new FormData(form)).toString();
  let isSent = false;
  form.addEventListener("submit", () => (isSent = true));
  addEventListener("pageshow", () => (isSent = false));
  addEventListener("beforeunload", (event) => {
    if (!isSent && new URLSearchParams(new FormData(form)).toString() !== before) event.preventDefault();
  });
}

// Escape closes a menu, or leaves a form as its Back does.
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || event.isComposing) return;
  const menus = [...document.querySelectorAll("details.menu[open]")];
  for (const menu of menus) {
    menu.open = false;
    menu.querySelector("summary").focus();
  }
  const links = event.target.closest?.("form.fields[method=post]")?.querySelectorAll(".actions a.btn") ?? [];
  if (!menus.length) [...links].find((link) => link.textContent === "Back")?.click();
});

// Removes the pages that the phone keeps for a driver.
async function forgetPages() {
  try {
    const names = (await globalThis.caches?.keys()) ?? [];
    for (const name of names) if (name.startsWith("drover-driver-pages")) await caches.delete(name);
  } catch {
    // A browser that stores nothing keeps no pages.
  }
}

// Log-out warns of what the driver has not sent yet, and never fails because of it.
for (const form of document.querySelectorAll("form[action='/logout']")) {
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    let isWanted = true;
    try {
      const owner = document.querySelector("[data-driver]")?.dataset.driver;
      const counts = JSON.parse(localStorage.getItem("drover-unsent")) ?? {};
      // A page of the office does not name the owner.
      const unsent = owner === undefined ? Object.values(counts).reduce((sum, own) => sum + own, 0) : counts[owner];
      const question = `${unsent} not sent yet. It stays on this phone and goes when you log in again. Log out?`;
      isWanted = !unsent || confirm(question);
      if (isWanted) await forgetPages();
    } catch {
      // Nothing is stored.
    } finally {
      if (isWanted) form.submit();
    }
  });
}

// Whoever logs in may be another person.
if (location.pathname === "/login") forgetPages();

// A secret or a command gets a button that copies it; it can be selected where that fails.
for (const field of document.querySelectorAll("[data-copy], .curl pre")) {
  const select = () => (field.select ? field.select() : getSelection().selectAllChildren(field));
  field.addEventListener("focus", select);
  if (!navigator.clipboard) continue;
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = "Copy";
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(field.value ?? field.textContent);
      button.textContent = "Copied";
    } catch {
      select();
      button.textContent = "Copy it with your keyboard";
    }
  });
  field.after(button);
}

// Files can be dropped on the form that takes them.
for (const form of document.querySelectorAll("form[data-drop]")) {
  for (const type of ["dragover", "drop"]) {
    form.addEventListener(type, (event) => {
      if (!event.dataTransfer.types.includes("Files")) return;
      event.preventDefault();
      if (type === "drop") form.querySelector("input[type=file]").files = event.dataTransfer.files;
    });
  }
}
