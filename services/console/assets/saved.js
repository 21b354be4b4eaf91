// A listing was saved: what the browser kept of its form is not needed any more.

const isSaved = ["saved", "draft", "published"].includes(new URLSearchParams(location.search).get("done"));
try {
  const name = sessionStorage.getItem("sent");
  // The form of this listing, or that of a new one.
  if (isSaved && (name?.endsWith(`:${location.pathname}/edit`) || name?.includes(":/market/new/"))) {
    localStorage.removeItem(name);
    sessionStorage.removeItem("sent");
  }
} catch {
  // A forbidden storage has kept nothing.
}
