// The page of a class: a slider for the guess, which stays here, and the newest of what everybody may
// see, without a new page. Everything is computed by the server. Without this script the page does
// the same but for the slider and the comparison, and is renewed by hand.

import { body } from "../core/body.js";

const PAGE = 1 << 20;
const EVERY = 5000; // milliseconds
const DRAWN = "http://www.w3.org/2000/svg";

const field = /** @type {HTMLInputElement | null} */ (document.getElementById("guess"));
/** What the server sent of each part, before this script changed it. @type {Map<string, string>} */
const sent = new Map();

/** The parts of a page that change. @param {Document} page @returns {NodeListOf<HTMLElement>} */
const parts = (page) => page.querySelectorAll("[data-live]");

/** Returns the guess as a part of its range, from 0 to 1; undefined without a valid one. */
function guess() {
  if (!field || field.value === "" || !field.checkValidity()) return undefined;
  const [low, high] = [Number(field.min), Number(field.max)];
  return (Number(field.value) - low) / (high - low);
}

/** @param {Element} drawing @param {string} name @param {Record<string, string | number>} look */
function draw(drawing, name, look) {
  const mark = document.createElementNS(DRAWN, name);
  for (const [key, value] of Object.entries({ "data-guess": "", ...look })) {
    mark.setAttribute(key, String(value));
  }
  return drawing.appendChild(mark);
}

/** Draws the guess into each funnel, and says whether the estimate is compatible with it. */
function show() {
  const at = guess();
  for (const old of document.querySelectorAll("[data-guess]")) old.remove();
  for (const figure of /** @type {NodeListOf<HTMLElement>} */ (
    document.querySelectorAll("figure[data-low]")
  )) {
    const drawing = figure.querySelector("svg");
    if (at === undefined || drawing === null) continue;
    const [low, high] = [Number(figure.dataset.low), Number(figure.dataset.high)];
    const y = low + (high - low) * at;
    draw(drawing, "line", { class: "l t-second", "stroke-width": 2, "stroke-dasharray": "6 4",
      x1: "15%", x2: "96%", y1: y, y2: y });
    draw(drawing, "text", { class: "ink", x: "96%", y: y - 6, "text-anchor": "end" })
      .textContent = field?.value ?? "";
  }
  const hit = document.getElementById("hit");
  if (hit === null) return;
  hit.hidden = at === undefined;
  const within = at !== undefined && Number(hit.dataset.low) <= at && at <= Number(hit.dataset.high);
  const text = (within ? hit.dataset.inside : hit.dataset.outside) ?? "";
  hit.textContent = text.replace("{guess}", field?.value ?? "");
}

/** Takes over what is new on the page that the server has now. What is revealed stays so.
 * @param {Document} page */
function renew(page) {
  for (const there of parts(page)) {
    const here = document.getElementById(there.id);
    // Compared with what the server sent, because `show` and the reader change the page.
    if (here === null || sent.get(there.id) === there.outerHTML) continue;
    sent.set(there.id, there.outerHTML);
    const open = here.querySelector("details")?.open ?? false;
    here.dataset.state = there.dataset.state;
    here.replaceChildren(...there.childNodes);
    for (const details of here.querySelectorAll("details")) details.open = open;
  }
  show();
}

/** Whether the survey is closed: then nothing changes any more. */
const final = () => document.getElementById("join")?.dataset.state === "closed";

async function ask() {
  try {
    const response = await fetch(location.href, { credentials: "omit", cache: "no-store" });
    // It has this page's origin, and scripts in it never run.
    if (response.ok) renew(new DOMParser().parseFromString(await body(response, PAGE), "text/html"));
  } catch {
    // A network may be gone for a while: the page stays as it is, and asks again.
  }
}

document.getElementById("renew")?.remove();
for (const part of parts(document)) sent.set(part.id, part.outerHTML);
if (field) {
  const slider = document.createElement("input");
  Object.assign(slider, { type: "range", min: field.min, max: field.max });
  slider.step = String((Number(field.max) - Number(field.min)) / 100);
  slider.setAttribute("aria-label", field.labels?.[0]?.textContent ?? "");
  field.after(slider);
  slider.addEventListener("input", () => {
    field.value = String(Number(Number(slider.value).toPrecision(6)));
    show();
  });
  field.addEventListener("input", () => {
    slider.value = field.value;
    show();
  });
}
const asking = setInterval(() => {
  if (final()) clearInterval(asking);
  else if (!document.hidden) void ask();
}, EVERY);
