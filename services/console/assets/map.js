// Draws a box on the map of the market, and searches in it. The wheel and one finger scroll the page: only after the
// button was pressed does the next drag draw.

const card = document.querySelector("[data-box]");
const drawing = card?.querySelector("svg");

if (drawing) {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = "Draw a box";
  button.setAttribute("aria-pressed", "false");
  card.querySelector(".actions").prepend(button);

  const set = (draws) => {
    button.setAttribute("aria-pressed", String(draws));
    button.textContent = draws ? "Drag over the map, or press again to stop" : "Draw a box";
    drawing.classList.toggle("draws", draws);
  };
  const draws = () => button.getAttribute("aria-pressed") === "true";
  button.addEventListener("click", () => set(!draws()));

  // A point of the screen in units of the drawing.
  const place = ({ clientX, clientY }) => new DOMPoint(clientX, clientY).matrixTransform(drawing.getScreenCTM().inverse());
  const [west, south, east, north] = card.dataset.box.split(",").map(Number);
  const stretched = (latitude) => Math.log(Math.tan(Math.PI / 4 + (latitude * Math.PI) / 360));
  const { x: left, y: top, width, height } = drawing.viewBox.baseVal;
  const longitude = (x) => west + ((x - left) / width) * (east - west);
  const latitude = (y) => {
    const up = stretched(north) + ((y - top) / height) * (stretched(south) - stretched(north));
    return (Math.atan(Math.exp(up)) * 360) / Math.PI - 90;
  };

  let start = null;
  const box = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  box.classList.add("box");

  drawing.addEventListener("pointerdown", (event) => {
    if (!draws() || !event.isPrimary) return;
    event.preventDefault();
    drawing.setPointerCapture(event.pointerId);
    start = place(event);
    drawing.append(box);
  });
  drawing.addEventListener("pointermove", (event) => {
    if (!start) return;
    const end = place(event);
    box.setAttribute("x", Math.min(start.x, end.x));
    box.setAttribute("y", Math.min(start.y, end.y));
    box.setAttribute("width", Math.abs(end.x - start.x));
    box.setAttribute("height", Math.abs(end.y - start.y));
  });
  const stop = () => {
    start = null;
    box.remove();
  };
  drawing.addEventListener("pointercancel", stop);
  drawing.addEventListener("pointerup", (event) => {
    if (!start) return;
    const [from, to] = [start, place(event)];
    stop();
    set(false);
    if (Math.abs(to.x - from.x) < width / 100 || Math.abs(to.y - from.y) < height / 100) return;
    const [xs, ys] = [[from.x, to.x].sort((a, b) => a - b), [from.y, to.y].sort((a, b) => a - b)];
    const address = new URL(location.href);
    address.searchParams.delete("cursor");
    const edges = [longitude(xs[0]), latitude(ys[1]), longitude(xs[1]), latitude(ys[0])];
    address.searchParams.set("box", edges.map((degrees) => degrees.toFixed(5)).join(","));
    location.assign(address);
  });
  // A drag that ends on a number leads nowhere.
  drawing.addEventListener("click", (event) => draws() && event.preventDefault(), true);
  addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    stop();
    set(false);
  });
}
