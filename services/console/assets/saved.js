// A listing was saved: what the browser kept of its form is not needed any more.

try {
  const name = sessionStorage.getItem("sent");
  if (name) localStorage.removeItem(name);
  sessionStorage.removeItem("sent");
} catch {
  // A forbidden storage has kept nothing.
}
