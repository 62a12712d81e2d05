// A device to try a draft with: in the bundle page-trial.js, this module stands in for all that stores,
// fetches and sends (static_files.py). Its memory is a variable, and ends with the page. What would be
// sent is shown. No published form has this module, or a way to it.

import { Refused } from "../core/errors.js";
import { EMPTY, markSent } from "../device/memory.js";
import { inner } from "../mechanisms/mechanism.js";
import { byId } from "./elements.js";
import { state } from "./state.js";

/** @import { Question } from "../survey/types.js" */

// --- no focus before somebody touched the page --------------------------------------------------

// The form puts the focus on the heading of each step. Within the editor that would take the caret out
// of the author's field, at every change of a word.
const { focus } = HTMLElement.prototype;
let touched = false;
for (const kind of ["pointerdown", "keydown", "click"]) {
  addEventListener(kind, () => (touched = true), { capture: true });
}
HTMLElement.prototype.focus = function (options) {
  if (touched) focus.call(this, options);
};

/** The step that the page begins with: 0 is the start. */
state.current = Number(byId("trial").dataset["at"]);

// --- instead of the store -----------------------------------------------------------------------

let memory = EMPTY;

/** Never thrown here: a variable is not damaged. Other modules import the class. */
export class Damaged extends Refused {}

export const keeps = async () => true;

/** @type {typeof import("../device/storage.js").read} */
export const read = async () => memory;

/** @type {typeof import("../device/storage.js").update} */
export const update = async (change) => (memory = await change(memory));

/** @type {typeof import("../device/storage.js").ticketOf} */
export const ticketOf = async () => undefined;

/** @type {typeof import("../device/storage.js").recordSent} */
export async function recordSent(version, text) {
  memory = markSent(memory, version, text);
}

export const setAside = async () => {};

export async function forget() {
  memory = EMPTY;
}

// --- instead of the network and of a copy for use without one -------------------------------------

/** What stands in the place of the author and the register, which a draft does not have yet. */
const NOT_YET = "–";

/** @type {typeof import("../device/listing.js").meet} */
export const meet = async () => ({
  origin: location.origin,
  author: "",
  fingerprint: NOT_YET,
  seal: NOT_YET,
  seen: { count: 0, head: "" },
});

export const hasChanged = async () => false;
export const keepListing = async () => {};
export const keepPage = async () => false;
export const whenBack = () => {};
export const sendOthers = async () => {};

/** Never thrown here: nothing is sent. */
export class Unreachable extends Error {}

/**
 * Shows what would be sent, and sends nothing.
 * @type {typeof import("../device/send.js").send}
 */
export async function send(_, text) {
  const { values } = JSON.parse(text);
  const sent = state.definition.questions.filter(({ name }) => Object.hasOwn(values, name));
  byId("would").replaceChildren(
    ...sent.map((question) => row(question.label, inWords(question, values[question.name]))),
  );
  byId("numbers").hidden = sent.every(named);
  byId("report").textContent = text;
  return "";
}

/** Whether a report to the question names choices, not numbers of an encoding.
 * @type {(question: Question) => boolean} */
const named = ({ choices, mechanism }) => !!choices && inner(mechanism).name === "subset_selection";

/** @type {(question: Question, value: readonly number[]) => string} a part of the report, in words */
const inWords = (question, value) =>
  named(question) ? value.map((each) => question.choices?.[each]?.label).join(" / ") : value.join(", ");

/**
 * Returns a term and its description for the list of what would be sent.
 * @param {string} label
 * @param {string} value
 */
function row(label, value) {
  const place = document.createElement("div");
  for (const [kind, text] of [["dt", label], ["dd", value]]) {
    place.append(Object.assign(document.createElement(kind ?? ""), { textContent: text }));
  }
  return place;
}

byId("anew").addEventListener("click", () => location.reload());
