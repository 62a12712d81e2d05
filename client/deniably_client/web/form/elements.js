// Finds the page's elements, as the server rendered them.

/** The page as it came, before anything is filled in: what is kept for use without a network. */
export const page = `<!doctype html>\n${document.documentElement.outerHTML}`;

export const survey = /** @type {HTMLElement} */ (document.getElementById("survey"));
/** The version of the survey that the page shows. */
export const version = survey.dataset["digest"] ?? "";
/** The survey's address in the HTTP API. */
export const api = `/api/surveys/${survey.dataset["name"]}`;
export const steps = all(".step", HTMLElement);
export const questions = all("form[data-question]", HTMLFormElement);
/** The number of the step after the last question. */
export const CHECK = questions.length + 1;

/**
 * Returns the elements of the survey that match and are of this class, in order.
 * @template {Element} E
 * @param {string} selector
 * @param {new () => E} kind
 * @returns {E[]}
 */
export function all(selector, kind) {
  const elements = [...survey.querySelectorAll(selector)].filter((element) => element instanceof kind);
  return /** @type {E[]} */ (elements);
}

/** @param {string} id of an element that every form has */
export function byId(id) {
  return /** @type {HTMLElement} */ (document.getElementById(id));
}

/** @type {WeakMap<Element, string | null>} the server's text of each element */
const original = new WeakMap();

/**
 * Shows a text; undefined restores the server's text.
 * @param {Element | null} element
 * @param {string | undefined} text
 */
export function fill(element, text) {
  if (!element) return;
  if (!original.has(element)) original.set(element, element.textContent);
  element.textContent = text ?? original.get(element) ?? "";
}
