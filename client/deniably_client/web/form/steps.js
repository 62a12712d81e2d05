// What is shown: one step at a time, and what the tab's history keeps of that. Step 0 is the start,
// then come the questions, then the check page; the others have a kind and no number.

import { check, firstOpen, read } from "./asked.js";
import { CHECK, all, byId, questions, steps, survey } from "./elements.js";
import { state } from "./state.js";

/** @param {HTMLElement} step */
function show(step) {
  for (const other of steps) other.hidden = other !== step;
  scrollTo(0, 0);
  step.querySelector("h1")?.focus();
}

/** @param {number} number */
export function showNumber(number) {
  state.current = number;
  const step = steps[number];
  if (step === undefined) return;
  if (number === CHECK) fillCheckPage();
  show(step);
}

/** @param {string} kind */
export function showKind(kind) {
  const step = steps.find((found) => found.dataset["step"] === kind);
  if (step) show(step);
}

function fillCheckPage() {
  const shown = state.path.shown();
  for (const form of questions) {
    const name = CSS.escape(form.dataset["question"] ?? "");
    for (const row of all(`[data-row="${name}"]`, HTMLElement)) row.hidden = !shown.includes(form);
    const place = survey.querySelector(`[data-answer="${name}"]`);
    if (place) place.textContent = read(form).text ?? "";
  }
}

/**
 * Goes to a step, or the next one that is shown, and lets the phone's Back button return.
 *
 * Browsers write a tab's history to the disk. So a step that is skipped gets its entry, too: the
 * entries are the same whatever was answered.
 * @param {number} wanted
 */
export function go(wanted) {
  if (state.locked) return;
  if (wanted > 0 && state.barred()) {
    showNumber(0);
    return /** @type {HTMLFormElement} */ (byId("invitation")).requestSubmit();
  }
  const number = state.path.nearest(wanted, state.current);
  const last = Math.max(wanted, number);
  for (let step = Math.min(wanted, state.current + 1); step <= last; step++) enter(step);
  showNumber(number);
}

/** Browsers keep 50 entries of a tab and drop the oldest, and "Exit this page" has to find the first. */
const DEEPEST = 40;

/**
 * An entry of the tab's history: the number alone, and how many of this page's are before.
 * @param {number} step
 */
function enter(step) {
  const depth = history.state?.depth ?? 0;
  try {
    if (depth < DEEPEST) history.pushState({ step, depth: depth + 1 }, "");
    else history.replaceState({ step, depth }, "");
  } catch {
    // Some browsers allow so many in so much time. The form goes on without the entry.
  }
}

addEventListener("popstate", ({ state: entry }) => {
  if (!state.locked) showNumber(state.path.nearest(Number(entry?.step ?? 0), state.current));
});

// A page that comes back from the browser's memory starts afresh.
addEventListener("pageshow", ({ persisted }) => {
  if (persisted && !state.locked) location.reload();
});

for (const button of all("[data-go]", HTMLButtonElement)) {
  button.addEventListener("click", () => go(Number(button.dataset["go"])));
}

for (const form of questions) {
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (check(form)) go(firstOpen());
  });
}

byId("practise").addEventListener("click", async () => {
  const form = steps.find((step) => step.dataset["step"] === "practice");
  if (!(form instanceof HTMLFormElement)) return;
  const { prepare } = await import("./practice.js");
  prepare(form);
  enter(0); // so Back leads to the start
  showKind("practice");
});
