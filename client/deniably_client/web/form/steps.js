// Shows one step at a time and keeps the tab's history. Step 0 is the start, then come the questions,
// then the check page. Other steps have a kind instead of a number.

import { firstOpen, readForm, requireAnswer } from "./asked.js";
import { CHECK, all, byId, questions, steps, survey } from "./elements.js";
import { state } from "./state.js";

/** @param {HTMLElement} step */
function show(step) {
  for (const other of steps) other.hidden = other !== step;
  scrollTo(0, 0);
  step.querySelector("h1")?.focus(); // so that screen readers read the new step
}

/**
 * Shows a step by its number, and adds nothing to the history.
 * @param {number} number
 */
export function showNumber(number) {
  state.current = number;
  const step = steps[number];
  if (step === undefined) return;
  if (number === CHECK) fillCheckPage();
  show(step);
}

/**
 * Shows a step that has a kind instead of a number, such as the receipt.
 * @param {string} kind
 */
export function showKind(kind) {
  const step = steps.find((each) => each.dataset["step"] === kind);
  if (step) show(step);
}

function fillCheckPage() {
  const shown = state.path.shown();
  for (const form of questions) {
    const name = CSS.escape(form.dataset["question"] ?? "");
    for (const row of all(`[data-row="${name}"]`, HTMLElement)) row.hidden = !shown.includes(form);
    const place = survey.querySelector(`[data-answer="${name}"]`);
    if (place) place.textContent = readForm(form).text ?? "";
  }
}

/**
 * Goes to a step, or the next one that is shown, so that the phone's Back button returns.
 *
 * Browsers write a tab's history to the disk. So skipped steps get an entry too: the entries must not
 * depend on the answers.
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

/** Browsers keep 50 entries of a tab and drop the oldest; "Exit this page" must find the first. */
const DEEPEST = 40;

/**
 * Adds an entry to the tab's history: the step, and how many of this page's entries precede it.
 * @param {number} step
 */
function enter(step) {
  const depth = history.state?.depth ?? 0;
  try {
    if (depth < DEEPEST) history.pushState({ step, depth: depth + 1 }, "");
    else history.replaceState({ step, depth }, "");
  } catch {
    // Some browsers limit the rate. The form goes on without the entry.
  }
}

addEventListener("popstate", ({ state: entry }) => {
  if (!state.locked) showNumber(state.path.nearest(Number(entry?.step ?? 0), state.current));
});

// A page restored from the browser's back-forward cache starts again.
addEventListener("pageshow", ({ persisted }) => {
  if (persisted && !state.locked) location.reload();
});

for (const button of all("[data-go]", HTMLButtonElement)) {
  button.addEventListener("click", () => go(Number(button.dataset["go"])));
}

for (const form of questions) {
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (requireAnswer(form)) go(firstOpen());
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
