// Reads, checks and wipes the answers. True answers exist only in the fields of this page, and are
// wiped when the report is made.

import { CHECK, all, fill, questions, survey } from "./elements.js";
import { state } from "./state.js";

/** @import { Answer } from "./types.js" */

/**
 * Returns the answers in these forms, by question name. Questions without an answer are left out.
 * @param {readonly HTMLFormElement[]} forms
 */
export function answered(forms) {
  /** @type {Map<string, Answer["answer"]>} */
  const answers = new Map();
  for (const form of forms) {
    const { answer } = readForm(form);
    if (answer !== undefined) answers.set(form.dataset["question"] ?? "", answer);
  }
  return answers;
}

/** Returns the step of the first unanswered question, or the check page if all are answered. */
export function firstOpen() {
  const open = state.path.shown().find((form) => readForm(form).answer === undefined);
  return open ? questions.indexOf(open) + 1 : CHECK;
}

/** @type {(form: HTMLFormElement) => Answer} the answer in a form, or what is missing */
export const readForm = (form) =>
  state.readFields && form.dataset["kind"] ? state.readFields(form) : readChoice(form);

/**
 * @param {HTMLFormElement} form
 * @returns {Answer}
 */
function readChoice(form) {
  const input = [...form.querySelectorAll("input")].find(({ checked }) => checked);
  return input ? { answer: input.value, text: input.closest("label")?.textContent ?? "" } : {};
}

/**
 * Whether the question is answered. If not, shows what is missing, also to screen readers.
 * @param {HTMLFormElement} form
 */
export function requireAnswer(form) {
  const { answer, missing, heading } = readForm(form);
  tell(form, answer === undefined, missing, heading);
  if (answer === undefined) errorOf(form).focus();
  return answer !== undefined;
}

/**
 * Shows or hides the message about a missing answer.
 * @param {HTMLFormElement} form
 * @param {boolean} missing
 * @param {string} [why]
 * @param {string} [heading]
 */
function tell(form, missing, why, heading) {
  const error = errorOf(form);
  error.hidden = !missing;
  fill(error.querySelector("strong"), heading);
  fill(error.querySelector("a"), why);
  for (const input of form.querySelectorAll("input[type=text]")) {
    input.setAttribute("aria-invalid", String(missing));
  }
}

/** @param {HTMLFormElement} form */
const errorOf = (form) => /** @type {HTMLElement} */ (form.querySelector(".error"));

for (const form of questions) {
  // Not at "change": it fires on the click on the button and would move the button away.
  form.addEventListener("input", () => tell(form, false));
  form.querySelector(".error a")?.addEventListener("click", (event) => {
    event.preventDefault();
    form.querySelector("input")?.focus();
  });
}

/** Removes every answer from the page, and all that shows or depends on one. */
export function wipe() {
  for (const form of all("form", HTMLFormElement)) form.reset();
  for (const form of questions) tell(form, false);
  for (const place of survey.querySelectorAll("[data-answer]")) place.textContent = "";
  for (const row of all(".answers [data-row]", HTMLElement)) row.hidden = false;
}

// Also when the page goes into the browser's back-forward cache, which would keep the fields.
addEventListener("pagehide", wipe);
