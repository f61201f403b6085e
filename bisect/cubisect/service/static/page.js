// What the page does beyond links and forms: live progress, and changes of the map without a reload.
// Without it everything still works: zooming is a link, progress comes with a reload.

"use strict";

const REFRESH_MS = 2000;
const PARTS = ["map", "trials", "standing"];

async function swap(url, parts, isFree = () => true) {
  const response = await fetch(url, { headers: { Accept: "text/html" } });
  if (!response.ok) return false;
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  const focused = document.activeElement?.dataset?.key;
  const onMap = document.activeElement?.closest?.("#map svg");
  for (const id of parts) {
    const [old, fresh] = [document.getElementById(id), page.getElementById(id)];
    if (old && fresh && isFree(old)) old.replaceWith(document.adoptNode(fresh));
  }
  const next = focused ? `[data-key="${focused}"]` : onMap && !onMap.isConnected ? "#map svg" : null;
  if (next) document.querySelector(next)?.focus({ preventScroll: true });
  return true;
}

// A refresh replaces nothing under the reader's hands: what is dragged, typed into, or has a focus that would be lost.

function isUntouched(part) {
  const focused = part.contains(document.activeElement) && !document.activeElement.matches("a[data-key]");
  const typed = [...part.querySelectorAll("input")].some((input) => input.value !== input.defaultValue);
  return !focused && !typed && !part.contains(drag?.svg ?? null);
}

async function show(url, remember) {
  if (!(await swap(url, ["map", "trials"]))) return location.assign(url);
  if (remember) history.pushState(null, "", url);
}

// Links marked data-view, and the form that chooses the sides, change the map in place.

document.addEventListener("click", (event) => {
  if (dragged) {
    event.preventDefault();
    return;
  }
  const link = event.target.closest("a[data-view]");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return;
  event.preventDefault();
  show(link.getAttribute("href"), true);
});

document.addEventListener("change", (event) => {
  const form = event.target.closest("form[data-view]");
  if (form) show(`${form.getAttribute("action")}?${new URLSearchParams(new FormData(form))}`, true);
});

window.addEventListener("popstate", () => show(location.href, false));

// Dragging over the map zooms in on the rectangle.

let drag = null;
let dragged = false; // a click that ends a drag is no click

function svgPoint(svg, event) {
  const point = new DOMPoint(event.clientX, event.clientY);
  return point.matrixTransform(svg.getScreenCTM().inverse());
}

document.addEventListener("pointerdown", (event) => {
  const svg = event.target.closest("svg[data-view-low-x]");
  if (!svg || event.button !== 0 || event.pointerType === "touch") return;
  drag = { svg, from: svgPoint(svg, event), box: svg.querySelector(".selection") };
});

document.addEventListener("dragstart", (event) => {
  if (event.target.closest("svg[data-view-low-x]")) event.preventDefault();
});

document.addEventListener("pointermove", (event) => {
  if (!drag) return;
  const to = svgPoint(drag.svg, event);
  for (const [name, value] of Object.entries(rectangle(drag.from, to))) drag.box.setAttribute(name, value);
});

document.addEventListener("pointerup", (event) => {
  if (!drag) return;
  const { svg, from, box } = drag;
  const area = rectangle(from, svgPoint(svg, event));
  drag = null;
  box.setAttribute("width", 0);
  if (area.width < 8 || area.height < 8) return;
  dragged = true;
  setTimeout(() => { dragged = false; }, 0);
  show(zoomed(svg, area), true);
});

function rectangle(a, b) {
  return { x: Math.min(a.x, b.x), y: Math.min(a.y, b.y), width: Math.abs(a.x - b.x), height: Math.abs(a.y - b.y) };
}

function zoomed(svg, area) {
  const number = (name) => Number(svg.dataset[name]);
  const x = (px) => number("viewLowX") + ((px - number("left")) / number("width")) * (number("viewHighX") - number("viewLowX"));
  const y = (px) => number("viewHighY") - ((px - number("top")) / number("height")) * (number("viewHighY") - number("viewLowY"));
  const query = new URLSearchParams(location.search);
  query.set("x_low", x(area.x));
  query.set("x_high", x(area.x + area.width));
  query.set("y_low", y(area.y + area.height));
  query.set("y_high", y(area.y));
  return `${location.pathname}?${query}`;
}

// Live progress.

function follow(main) {
  const source = new EventSource(main.dataset.events);
  let last = 0;
  let waiting = null;
  let refreshed = Promise.resolve(); // one after the other: an older answer must not come last
  const refresh = () => { refreshed = refreshed.then(refreshNow); };
  const refreshNow = async () => {
    waiting = null;
    last = Date.now();
    const here = location.href;
    await swap(here, PARTS, (part) => location.href === here && isUntouched(part));
  };
  source.addEventListener("progress", () => {
    if (waiting === null) waiting = setTimeout(refresh, Math.max(0, last + REFRESH_MS - Date.now()));
  });
  source.addEventListener("end", () => {
    source.close();
    clearTimeout(waiting);
    refresh();
  });
}

const main = document.querySelector("main[data-events]");
if (main) follow(main);
