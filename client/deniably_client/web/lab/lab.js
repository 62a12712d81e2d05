// Sliders beside the fields of an experiment, and its new pictures without a new page. Everything is
// computed by the server: this script knows no numbers. Without it, the form does the same.

import { PROBLEM, body } from "../core/body.js";

const PAGE = 4 << 20;
const PAUSE = 250; // milliseconds from the last change until the server is asked
const NETWORK = "The server does not answer. Please try again.";

const form = /** @type {HTMLFormElement} */ (document.getElementById("inputs"));
const why = /** @type {HTMLElement} */ (document.getElementById("why"));
const announced = /** @type {HTMLElement} */ (document.getElementById("said"));
/** @type {AbortController | undefined} */
let asking;
let timer = 0;

/** @param {string} sentence */
function tell(sentence) {
  why.textContent = sentence;
  why.hidden = sentence === "";
}

/** Returns the address of the experiment with the values of the fields. */
function address() {
  const fields = [...new FormData(form)].map(([name, value]) => [name, String(value)]);
  return `${form.getAttribute("action")}?${new URLSearchParams(fields)}`;
}

/**
 * Shows the results of another page, and sets this page's sliders as there. What has the focus
 * keeps it, and what is folded open stays open.
 * @param {Document} page
 */
function show(page) {
  const here = document.getElementById("found");
  const there = page.getElementById("found");
  if (here === null || there === null) return tell(NETWORK); // a proxy's page
  const open = [...here.querySelectorAll("details")].map((details) => details.open);
  there.querySelectorAll("details").forEach((details, index) => (details.open = open[index] ?? false));
  const again = document.activeElement?.matches("[data-seed]");
  here.replaceWith(document.adoptNode(there));
  if (again) /** @type {HTMLElement | null} */ (there.querySelector("[data-seed]"))?.focus();
  for (const slider of sliders()) {
    const field = page.getElementById(slider.dataset.of ?? "");
    if (slider !== document.activeElement && field) slider.value = field.dataset.at ?? "";
  }
  announced.textContent = there.querySelector(".finding")?.textContent ?? "";
}

async function ask() {
  asking?.abort();
  const now = (asking = new AbortController());
  const wanted = address();
  try {
    const response = await fetch(wanted, { credentials: "omit", signal: now.signal,
      headers: { Accept: "application/problem+json, text/html;q=0.9" } });
    const text = await body(response, response.ok ? PAGE : PROBLEM);
    // A newer question was asked meanwhile.
    if (now.signal.aborted) return;
    if (!response.ok) return tell(String(JSON.parse(text).detail));
    tell("");
    // It has this page's origin, and scripts in it never run.
    show(new DOMParser().parseFromString(text, "text/html"));
    history.replaceState(null, "", wanted);
  } catch {
    if (!now.signal.aborted) tell(NETWORK);
  }
}

function later() {
  clearTimeout(timer);
  timer = setTimeout(ask, PAUSE);
}

/** @returns {NodeListOf<HTMLInputElement>} */
function sliders() {
  return form.querySelectorAll("input[type=range]");
}

for (const field of /** @type {NodeListOf<HTMLInputElement>} */ (
  form.querySelectorAll("[data-stops]")
)) {
  const stops = (field.dataset.stops ?? "").split("|");
  const slider = document.createElement("input");
  Object.assign(slider, { type: "range", min: "0", max: String(stops.length - 1), step: "1" });
  slider.value = field.dataset.at ?? "";
  slider.dataset.of = field.id;
  slider.setAttribute("aria-label", field.labels?.[0]?.textContent ?? "");
  const name = () => slider.setAttribute("aria-valuetext", field.value);
  name();
  slider.addEventListener("input", () => {
    field.value = stops[Number(slider.value)] ?? "";
    name();
  });
  field.addEventListener("input", name);
  field.after(slider);
}

form.addEventListener("input", ({ target }) => {
  // Another question of a survey may leave other inputs: that is another page.
  if (target instanceof HTMLSelectElement && target.name === "case") return form.submit();
  later();
});
// "Draw again" is a link to the next seed; here the page stays where it is.
document.addEventListener("click", (event) => {
  const link = event.target instanceof Element && event.target.closest("a[data-seed]");
  const seed = form.elements.namedItem("seed");
  if (!(link instanceof HTMLElement && seed instanceof HTMLInputElement)) return;
  if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  event.preventDefault();
  seed.value = link.dataset.seed ?? "";
  void ask();
});
form.addEventListener("submit", (event) => {
  event.preventDefault();
  clearTimeout(timer);
  void ask();
});
