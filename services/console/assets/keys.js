// Keys of the queue of reports. They can be switched off, as single letters disturb people who dictate.

const queue = document.querySelector("[data-keys]");
const button = document.createElement("button");
button.type = "button";
button.className = "plain";
const isOn = () => localStorage.getItem("keys") !== "off";
const show = () => (button.textContent = isOn() ? "Switch these keys off" : "Switch the keys on");
button.addEventListener("click", () => {
  localStorage.setItem("keys", isOn() ? "off" : "on");
  show();
});
show();
queue.append(" ", button);

addEventListener("keydown", (event) => {
  const writes = event.target.closest?.("input:not([type=radio]):not([type=checkbox]), textarea, select");
  if (!isOn() || writes || event.ctrlKey || event.metaKey || event.altKey) return;
  const target = document.querySelector(`[data-key="${CSS.escape(event.key)}"]`);
  if (!target) return;
  event.preventDefault();
  if (target.type === "radio") target.checked = true;
  if (target.dataset.press) (target.querySelector("textarea") ?? target).focus();
  else target.click();
});
