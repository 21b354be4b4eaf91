// Corrects the links to the other services where the service could not know its address: behind a proxy that adds a
// path prefix, such as /system/docs/, the other pages are beside this one; otherwise they are on the same host.
(() => {
  const bar = document.getElementById("services");
  const prefix = `/${bar.dataset.service}/docs/`;
  const begin = location.pathname.lastIndexOf(prefix);
  for (const link of bar.querySelectorAll('a[data-derived="true"]')) {
    if (begin >= 0) {
      link.href = `${location.pathname.slice(0, begin)}/${link.dataset.service}/docs/`;
    } else if (new URL(link.href).port !== "") {
      link.hostname = location.hostname;
    }
  }
})();

// Opens and closes the sample of an error.
document.addEventListener("click", (event) => {
  event.target.closest("tr.response > .response-col_status")?.parentElement.classList.toggle("open");
});
