// Keeps a listing that is being written in the browser, also its pictures: they are stored at once when they are chosen
// or dropped. It comes back to the same person of the same organisation only.

const form = document.querySelector("form[data-keep]");
const pictures = form.querySelector("[data-pictures]");
const name = `draft:${form.dataset.keep}:${location.pathname}`;
const technical = new Set(["form-token", "key", "revision", "was"]);
// What the server compares the fields with: a draft is of the listing as it was when one began to write.
const basis = ["revision", "was"];

const typed = () => JSON.stringify([...new FormData(form)].filter(([name, value]) => !technical.has(name) && typeof value === "string"));
// What the server shows again was typed already, and is kept when one leaves.
const isAgain = form.dataset.again !== undefined;
const first = isAgain ? null : typed();

// A full or forbidden storage keeps nothing: the form works all the same.
function store(action) {
  try {
    return action();
  } catch {
    return null;
  }
}

const forget = () => store(() => localStorage.removeItem(name));

function keep() {
  const pairs = typed();
  if (pairs === first) return forget();
  const draft = { pairs: JSON.parse(pairs), basis: basis.map((name) => form.elements[name].value) };
  store(() => localStorage.setItem(name, JSON.stringify(draft)));
}

const kept = isAgain ? null : store(() => JSON.parse(localStorage.getItem(name)));
if (Array.isArray(kept?.pairs) && JSON.stringify(kept.pairs) !== first) {
  const note = Object.assign(document.createElement("p"), { className: "notice", role: "status" });
  note.append("You began to write this and did not send it. ");
  for (const [text, action] of [["Go on writing", () => bring(kept)], ["Discard it", forget]]) {
    const button = { type: "button", textContent: text, onclick: () => (action(), note.remove()) };
    note.append(Object.assign(document.createElement("button"), button), " ");
  }
  form.before(note);
}

function bring({ pairs, basis: values }) {
  const all = (name) => pairs.filter(([own]) => own === name).map(([, value]) => value);
  for (const field of form.elements) {
    if (!field.name || technical.has(field.name) || field.type === "file" || field.type === "hidden" || field.name === "files") continue;
    if (field.type === "checkbox" || field.type === "radio") field.checked = all(field.name).includes(field.value);
    else if (field.localName !== "button") field.value = all(field.name)[0] ?? "";
  }
  const stored = form.querySelector(".stored");
  const boxes = [...form.querySelectorAll("input[name=files]")];
  for (const box of boxes) box.checked = all("files").includes(box.value);
  // In the order of the draft; what it does not have comes last.
  for (const file of all("files")) stored.append(boxes.find((box) => box.value === file)?.closest("li") ?? item(file));
  for (const box of boxes) if (!box.checked) stored.append(box.closest("li"));
  basis.forEach((name, index) => (form.elements[name].value = values?.[index] ?? form.elements[name].value));
  keep();
}

function item(file) {
  const item = document.createElement("li");
  const label = document.createElement("label");
  const box = Object.assign(document.createElement("input"), { type: "checkbox", name: "files", value: file, checked: true });
  const space = file.indexOf(" ");
  item.draggable = true;
  if (!file.toLowerCase().endsWith(".pdf")) {
    const picture = Object.assign(document.createElement("img"), {
      src: `/files/${encodeURIComponent(file.slice(0, space))}?width=160`, alt: `Stored: ${file.slice(space + 1)}`, width: 120, height: 80,
    });
    item.append(picture);
  }
  label.append(box, ` ${file.slice(space + 1)}`);
  item.append(label);
  return item;
}

form.addEventListener("input", keep);
form.addEventListener("change", keep);
let leaves = false;
form.addEventListener("submit", () => {
  leaves = true;
  keep();
  // The page of the listing forgets the draft (saved.js): the form may not arrive, or be refused.
  store(() => sessionStorage.setItem("sent", name));
});
addEventListener("pageshow", (event) => event.persisted && (leaves = false));
// Kept in the browser, it need not be asked about when one leaves.
addEventListener("beforeunload", (event) => leaves || (keep(), event.stopImmediatePropagation()), true);

const progress = pictures.querySelector("progress");
const input = pictures.querySelector("input[type=file]");

function send(files) {
  const body = new FormData();
  body.append("form-token", form.elements["form-token"].value);
  // The same files have the same key: those of an answer that was lost are not stored twice.
  const key = [form.elements.key.value, ...[...files].map(({ size, lastModified }) => `${size}-${lastModified}`)].join("-");
  body.append("key", key.slice(0, 200));
  for (const file of files) body.append("file", file);
  const request = new XMLHttpRequest();
  const say = (text) => {
    const error = pictures.querySelector(".error") ?? pictures.appendChild(document.createElement("p"));
    Object.assign(error, { className: "error", role: "alert", textContent: text });
  };
  request.upload.addEventListener("progress", ({ loaded, total }) => (progress.value = (loaded / total) * 100));
  request.addEventListener("loadend", () => {
    progress.hidden = true;
    if (request.status === 401) return say("Your log-in has ended. Log in in a new tab, then choose the pictures again.");
    if (request.status !== 200) return say("The pictures were not stored. They stay chosen: try again, or send the form.");
    const answer = new DOMParser().parseFromString(request.responseText, "text/html");
    pictures.querySelector(".error")?.remove();
    pictures.querySelector(".stored").append(...answer.querySelectorAll(".stored > li"));
    const refused = answer.querySelector(".error");
    if (refused) say(refused.textContent);
    input.value = "";
    keep();
  });
  progress.hidden = false;
  progress.value = 0;
  request.open("POST", pictures.dataset.pictures);
  request.send(body);
}

input.addEventListener("change", () => input.files.length && send(input.files));
for (const type of ["dragover", "drop"]) {
  pictures.addEventListener(type, (event) => {
    if (!event.dataTransfer.types.includes("Files")) return;
    event.preventDefault();
    if (type === "drop") send(event.dataTransfer.files);
  });
}

// Pictures are put in order by dragging; the buttons do the same.
let dragged = null;
pictures.addEventListener("dragstart", (event) => (dragged = event.target.closest("li")));
pictures.addEventListener("dragover", (event) => {
  const over = event.target.closest?.("li");
  if (!dragged || !over || over === dragged) return;
  event.preventDefault();
  const { left, width } = over.getBoundingClientRect();
  over[event.clientX < left + width / 2 ? "before" : "after"](dragged);
});
pictures.addEventListener("dragend", () => {
  dragged = null;
  keep();
});
