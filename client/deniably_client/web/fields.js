// Fields beyond a single choice: ticks, numbers, and several parts. Loaded where a survey has some.

import { encode } from "./questions.js";
import { decimal, words } from "./words.js";

/** @import { Answer, Definition, Question } from "./types.js" */

/** @type {Map<string, Question>} */
const known = new Map();

/**
 * To be called once the definition is verified.
 * @param {readonly HTMLFormElement[]} forms
 * @param {Definition} definition
 */
export function prepare(forms, definition) {
  for (const question of definition.questions) known.set(question.name, question);
  for (const form of forms) {
    form.addEventListener("change", ({ target }) => {
      if (target instanceof HTMLInputElement && target.type === "checkbox") exclude(form, target);
    });
  }
}

/**
 * What a form says; or what is missing in it, as a sentence.
 * @param {HTMLFormElement} form
 * @returns {Answer}
 */
export function read(form) {
  switch (form.dataset["kind"]) {
    case "select_multiple":
      return ticks(form);
    case "number":
      return number(form);
    case "product":
      return small(form);
    default:
      return numbers(form);
  }
}

// --- ticks ------------------------------------------------------------------------------------

/** @param {HTMLFormElement} form */
const boxes = (form) => [...form.querySelectorAll("input")];

/**
 * "None of these" and its like stand alone.
 * @param {HTMLFormElement} form
 * @param {HTMLInputElement} ticked
 */
function exclude(form, ticked) {
  if (!ticked.checked) return;
  for (const box of boxes(form)) {
    if (box !== ticked && ("alone" in ticked.dataset || "alone" in box.dataset)) box.checked = false;
  }
}

/**
 * @param {HTMLFormElement} form
 * @returns {Answer}
 */
function ticks(form) {
  const ticked = boxes(form).filter(({ checked }) => checked);
  const most = Number(form.dataset["most"]);
  if (ticked.length === 0) return { missing: words("script.ticks") };
  if (ticked.length > most) {
    return { missing: words("script.many", { ticked: ticked.length, most }) };
  }
  return {
    answer: ticked.map(({ value }) => value).filter((value) => value !== ""),
    text: ticked.map((box) => label(box)).join(words("script.comma")),
  };
}

// --- numbers ----------------------------------------------------------------------------------

/**
 * @param {HTMLFormElement} form
 * @returns {Answer}
 */
function number(form) {
  const input = form.querySelector("input");
  const given = plain(input?.value ?? "");
  if (given === undefined || !fits(form, given)) return { missing: words("script.number") };
  return { answer: given, text: counted(input, given) };
}

/**
 * @param {HTMLFormElement} form
 * @returns {Answer}
 */
function numbers(form) {
  /** @type {Record<string, string>} */
  const answer = {};
  const texts = [];
  for (const input of boxes(form)) {
    const given = plain(input.value);
    if (given === undefined) return { missing: words("script.number_for", { name: caption(form, input) }) };
    answer[input.dataset["part"] ?? ""] = given;
    texts.push(words("script.pair", { name: caption(form, input), text: counted(input, given) }));
  }
  const missing = words("script.numbers");
  return fits(form, answer) ? { answer, text: texts.join(words("script.semicolon")) } : { missing };
}

/**
 * A decimal with a point; a single comma is read as one. Undefined for what is no number, and
 * for 1,234, which could be two numbers.
 * @param {string} written
 */
function plain(written) {
  const text = written.trim().replace("\u2212", "-");
  if (/^-?[0-9]{1,3}(,[0-9]{3})+$/.test(text)) return undefined;
  const point = text.replace(",", ".");
  return /^-?([0-9]+\.?[0-9]*|\.[0-9]+)$/.test(point) ? point : undefined;
}

/**
 * The number as it counts: within its bounds.
 * @param {HTMLInputElement | null} input
 * @param {string} given
 */
function counted(input, given) {
  const { low = "", high = "" } = input?.dataset ?? {};
  const unit = input?.nextElementSibling?.textContent ?? "";
  const bound = Number(given) < Number(low) ? low : Number(given) > Number(high) ? high : "";
  const text = unit ? `${decimal(given)} ${unit}` : decimal(given);
  return bound ? words("script.counts", { text, number: decimal(bound) }) : text;
}

/**
 * @param {HTMLFormElement} form
 * @param {HTMLInputElement} input
 */
const caption = (form, input) =>
  form.querySelector(`label[for="${CSS.escape(input.id)}"]`)?.textContent ?? "";

// --- small questions --------------------------------------------------------------------------

/**
 * @param {HTMLFormElement} form
 * @returns {Answer}
 */
function small(form) {
  /** @type {Record<string, string>} */
  const answer = {};
  const texts = [];
  for (const part of form.querySelectorAll("fieldset[data-part]")) {
    const legend = part.querySelector("legend")?.textContent ?? "";
    const chosen = [...part.querySelectorAll("input")].find(({ checked }) => checked);
    if (!chosen) return { missing: words("script.part", { name: legend }) };
    answer[/** @type {HTMLElement} */ (part).dataset["part"] ?? ""] = chosen.value;
    texts.push(words("script.pair", { name: legend, text: label(chosen) }));
  }
  return { answer, text: texts.join(words("script.semicolon")) };
}

/** @param {HTMLInputElement} input */
const label = (input) => input.closest("label")?.textContent ?? "";

/**
 * Whether the question takes this answer.
 * @param {HTMLFormElement} form
 * @param {unknown} answer
 */
function fits(form, answer) {
  const question = known.get(form.dataset["question"] ?? "");
  try {
    return question !== undefined && encode(question, answer) !== undefined;
  } catch {
    return false;
  }
}
