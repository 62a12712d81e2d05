// "Exit this page": wipes the answers and what is stored of this survey, and shows another page in its
// place. The form brings a copy of that page, so it appears at once and without a network. The browser's
// own history keeps the address; the page says so.

import { forget } from "../device/kept_pages.js";

const link = /** @type {HTMLAnchorElement} */ (document.getElementById("exit"));
const copy = /** @type {HTMLTemplateElement} */ (document.getElementById("away"));
const presses = /** @type {HTMLElement} */ (document.getElementById("presses"));
const NEEDED = 3;
/** Milliseconds between two presses of Escape that count together. */
const TOGETHER = 3000;
/** The most milliseconds that leaving waits for anything. */
const PATIENCE = 500;

let count = 0;
let last = 0;

link.addEventListener("click", (event) => {
  event.preventDefault();
  void leave();
});

addEventListener("keydown", ({ key, repeat, timeStamp }) => {
  if (repeat) return;
  if (key !== "Escape" || timeStamp - last > TOGETHER) count = 0;
  if (key === "Escape") count += 1;
  last = timeStamp;
  presses.textContent = (count && presses.dataset[`after${count}`]) || "";
  if (count === NEEDED) void leave();
});

// Another language replaces this page in the tab's history, so that leaving finds the first entry.
for (const other of document.querySelectorAll("nav.languages a")) {
  other.addEventListener("click", async (event) => {
    event.preventDefault();
    await toFirstStep();
    location.replace(/** @type {HTMLAnchorElement} */ (other).href);
  });
}

async function leave() {
  const away = link.href;
  const path = location.pathname;
  for (const form of document.forms) form.reset();
  document.querySelector("[rel=preload]")?.remove(); // it names the survey
  document.title = copy.title;
  document.documentElement.lang = copy.lang;
  document.body.replaceChildren(copy.content.cloneNode(true)); // from now on the screen shows this
  scrollTo(0, 0);
  await soon(Promise.all([forget(path).catch(() => {}), toFirstStep()]));
  // The first step's entry becomes the other page; one more entry cuts off the later ones.
  history.replaceState(null, "", away);
  history.pushState(null, "", away);
  if (await answers(away)) location.replace(away); // else the browser would show its error page
}

/**
 * Whether a page answers. Navigating to find out would be too late.
 * @param {string} address
 */
async function answers(address) {
  try {
    return (await fetch(address, { credentials: "omit", cache: "no-store" })).ok;
  } catch {
    return false;
  }
}

/**
 * Goes back to the entry of the tab's history at which this page was opened: what comes later then
 * can be cut off.
 */
async function toFirstStep() {
  const depth = Number(history.state?.depth ?? 0);
  if (depth === 0) return;
  const there = new Promise((resolve) => addEventListener("popstate", resolve, { once: true }));
  history.go(-depth);
  await there;
}

/** @param {Promise<unknown>} work waited for, but not longer than PATIENCE */
const soon = (work) => Promise.race([work, new Promise((resolve) => setTimeout(resolve, PATIENCE))]);
