// "Exit this page": wipes the answers and what is kept of this survey, and shows another page in
// its place. What it cannot do, the page says: the browser's own history keeps the address.

import { forget } from "./vault.js";

const link = /** @type {HTMLAnchorElement} */ (document.getElementById("exit"));
const presses = /** @type {HTMLElement} */ (document.getElementById("presses"));
const NEEDED = 3;
/** Milliseconds between two presses of Escape that count together. */
const TOGETHER = 3000;
/** Milliseconds; leaving does not wait longer for anything. */
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

// Another language takes this page's place in the tab: leaving would not reach the place before.
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
  document.title = "";
  document.body.replaceChildren(); // whoever looks sees nothing from now on
  await soon(Promise.all([forget(path).catch(() => {}), toFirstStep()]));
  // The entry of the first step becomes the other page; one more cuts off those that came after.
  history.replaceState(null, "", away);
  history.pushState(null, "", away);
  location.replace(away);
}

/** Goes back to the entry of the tab's history at which this page was opened. */
async function toFirstStep() {
  const depth = Number(history.state?.depth ?? 0);
  if (depth === 0) return;
  const there = new Promise((resolve) => addEventListener("popstate", resolve, { once: true }));
  history.go(-depth);
  await there;
}

/** @param {Promise<unknown>} work */
const soon = (work) => Promise.race([work, new Promise((resolve) => setTimeout(resolve, PATIENCE))]);
