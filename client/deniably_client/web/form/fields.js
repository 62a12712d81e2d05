// Reads fields beyond a single choice: ticks, numbers and several parts. Loaded only where needed.

import { encode } from "../survey/questions.js";
import { nearest, parseNumber } from "../wording/number_input.js";
import { pointed, words } from "../wording/words.js";

/** @import { Definition, Question } from "../survey/types.js" */
/** @import { Answer } from "./types.js" */

/** @type {Map<string, Question>} */
const known = new Map();

/**
 * Prepares the forms. Call it once the definition is verified.
 * @param {readonly HTMLFormElement[]} forms
 * @param {Definition} definition
 */
export function prepare(forms, definition) {
  for (const question of definition.questions) known.set(question.name, question);
  for (const form of forms) {
    form.addEventListener("change", ({ target }) => {
      if (target instanceof HTMLInputElement && target.type === "checkbox") exclude(form, target);
    });
    const map = form.querySelector(".place svg");
    if (map) prepareMap(form, map);
  }
}

/**
 * Returns the answer in a form, or a sentence that says what is missing.
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
 * Unticks all others for "None of these" and the like, and the reverse.
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
  if (ticked.length === 0) return { missing: words("fields.ticks") };
  if (ticked.length > most) {
    const missing = words("fields.many", { ticked: ticked.length, most });
    return { missing, heading: words("fields.too_many") };
  }
  return {
    answer: ticked.map(({ value }) => value).filter((value) => value !== ""),
    text: ticked.map((box) => label(box)).join(words("fields.comma")),
  };
}

// --- numbers ----------------------------------------------------------------------------------

/**
 * @param {HTMLFormElement} form
 * @returns {Answer}
 */
function number(form) {
  const input = form.querySelector("input");
  const { number, ambiguous } = parseNumber(input?.value ?? "");
  const missing = words("fields.number");
  if (number === undefined) return wrong(input?.value, ambiguous, missing);
  if (!fits(form, number)) return { missing, heading: words("fields.no_number") };
  return { answer: number, text: counted(input, number) };
}

/**
 * @param {HTMLFormElement} form
 * @returns {Answer}
 */
function numbers(form) {
  /** @type {Map<string, string>} a part may have a name that every object has */
  const answer = new Map();
  const texts = [];
  for (const input of boxes(form)) {
    const { number, ambiguous } = parseNumber(input.value);
    const name = caption(form, input);
    if (number === undefined) {
      return wrong(input.value, ambiguous, words("fields.number_for", { name }));
    }
    answer.set(input.dataset["part"] ?? "", number);
    texts.push(words("script.pair", { name, text: counted(input, number) }));
  }
  const missing = words("fields.numbers");
  return fits(form, answer)
    ? { answer, text: texts.join(words("fields.semicolon")) }
    : { missing, heading: words("fields.no_number") };
}

/**
 * Says what is wrong with a written number: it is missing, ambiguous, or no number.
 * @param {string | undefined} written
 * @param {boolean | undefined} ambiguous
 * @param {string} missing
 * @returns {Answer}
 */
function wrong(written, ambiguous, missing) {
  if (!written?.trim()) return { missing };
  if (ambiguous) return { missing: words("fields.marks"), heading: words("fields.two_readings") };
  return { missing, heading: words("fields.no_number") };
}

/**
 * Returns the number as text, with the value that it counts as where that is another one: within
 * its bounds and on a step.
 * @param {HTMLInputElement | null} input
 * @param {string} number
 */
function counted(input, number) {
  const { low = "", high = "", step = "" } = input?.dataset ?? {};
  const unit = input?.nextElementSibling?.textContent ?? "";
  const counts = nearest(number, low, high, step);
  const text = unit ? `${pointed(number)} ${unit}` : pointed(number);
  return counts === undefined ? text : words("fields.counts", { text, number: pointed(counts) });
}

/**
 * @param {HTMLFormElement} form
 * @param {HTMLInputElement} input
 */
const caption = (form, input) =>
  form.querySelector(`label[for="${CSS.escape(input.id)}"]`)?.textContent ?? "";

// --- a place on a map -------------------------------------------------------------------------

/**
 * Lets people tap a place, which writes its numbers, and shows the place of the numbers written.
 * @param {HTMLFormElement} form
 * @param {Element} map
 */
function prepareMap(form, map) {
  const dot = map.querySelector("circle");
  const show = () => {
    dot?.removeAttribute("transform"); // and nothing is left of where it was
    if (!("answer" in numbers(form))) return;
    const [x = 0, y = 0] = boxes(form).map(placeOf);
    dot?.setAttribute("transform", `translate(${x} ${100 - y})`);
  };
  form.addEventListener("input", show);
  form.addEventListener("reset", () => dot?.removeAttribute("transform"));
  map.addEventListener("click", (event) => {
    const { clientX, clientY } = /** @type {MouseEvent} */ (event);
    const { left, bottom, width, height } = map.getBoundingClientRect();
    const parts = [(clientX - left) / width, (bottom - clientY) / height];
    boxes(form).forEach((input, index) => (input.value = numberAt(input, parts[index] ?? 0)));
    show();
  });
}

/**
 * Returns [first, last, step] of the numbers that a field takes.
 * @param {HTMLInputElement} input
 */
const range = ({ dataset: { low, high, step } }) => [Number(low), Number(high), Number(step)];

/**
 * Returns the number at a `part` (0 to 1) of a side of the map, along which every number has as
 * much room as the others.
 * @param {HTMLInputElement} input
 * @param {number} part
 */
function numberAt(input, part) {
  const [low = 0, high = 0, step = 1] = range(input);
  const value = low + Math.floor(part * Math.round((high - low) / step + 1)) * step;
  // Without the noise of floating point, such as 0.30000000000000004.
  return String(Number(value.toFixed(9)));
}

/**
 * Returns where the written number is along its side of the map, in per cent.
 * @param {HTMLInputElement} input
 */
function placeOf(input) {
  const [low = 0, high = 0, step = 1] = range(input);
  const value = Math.min(Math.max(Number(parseNumber(input.value).number), low), high);
  // In the middle of its room, so that a tap on the dot gives the same number.
  return (100 * (value - low + step / 2)) / (high - low + step);
}

// --- small questions --------------------------------------------------------------------------

/**
 * @param {HTMLFormElement} form
 * @returns {Answer}
 */
function small(form) {
  /** @type {Map<string, string>} a part may have a name that every object has */
  const answer = new Map();
  const texts = [];
  for (const part of form.querySelectorAll("fieldset[data-part]")) {
    const legend = part.querySelector("legend")?.textContent ?? "";
    const chosen = [...part.querySelectorAll("input")].find(({ checked }) => checked);
    if (!chosen) return { missing: words("fields.part", { name: legend }) };
    answer.set(/** @type {HTMLElement} */ (part).dataset["part"] ?? "", chosen.value);
    texts.push(words("script.pair", { name: legend, text: label(chosen) }));
  }
  return { answer, text: texts.join(words("fields.semicolon")) };
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
    // Tried with the code that makes the report, so that both take the same answers.
    return question !== undefined && encode(question, answer) !== undefined;
  } catch {
    return false;
  }
}
