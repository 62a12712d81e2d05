// The editor of a draft: each change of a field is one small edit, saved a moment later. What it costs
// and shows is worked out by the server; nothing about privacy is computed here.

import { Draft, label } from "./draft.js";
import { find, name } from "./exchange.js";
import { figures, replace } from "./figures.js";
import { preview } from "./preview.js";

/** @import { Operation } from "./unsaved.js" */

const REST = 800; // milliseconds after the last key

const desk = find("#desk");
const { question = "" } = desk.dataset;
const draft = new Draft(desk, { edited, settle, anew: true });
const own = `/studio/d/${draft.id}`;
const renew = preview(find("#preview"));

/** The keys that the fields show. */
const keys = () =>
  question ? draft.newest.questions.find((/** @type {any} */ each) => each.id === question) : draft.newest;

/** @param {Operation} operation */
function edited(operation) {
  const gone = question && !keys();
  if (gone) draft.next ||= own;
  else if (operation.do !== "put" || operation.key === "type") draft.next ||= location.href;
  if (!draft.next) {
    refresh();
    look();
    renew();
  }
}

// --- fields -----------------------------------------------------------------------------------------

/**
 * What a field says, as the value of its key; null takes the key away.
 * @param {HTMLElement} field
 */
function valueOf(field) {
  const text = /** @type {HTMLInputElement} */ (field).value?.trim();
  switch (field.dataset.widget) {
    case "lines":
      return choicesOf(text);
    case "also": {
      const boxes = [...field.querySelectorAll("input")].filter((box) => box.checked);
      return boxes.length ? boxes.map((box) => box.value) : null;
    }
    case "stop":
      return Number(field.dataset.stops?.split(" ")[Number(text)]);
    case "number":
      return /^-?\d{1,15}(\.\d{1,6})?$/.test(text) ? Number(text) : text || null;
    default:
      return text || null;
  }
}

/**
 * Choices as lines say them; those that stood there keep their names.
 * @param {string} lines
 */
function choicesOf(lines) {
  /** @type {unknown[]} */
  const before = Array.isArray(keys().choices) ? keys().choices : [];
  const known = new Map(before.map((choice) => [String(label(choice)), choice]));
  const texts = lines.split("\n").map((line) => line.trim());
  return texts.filter(Boolean).map((text) => known.get(text) ?? text);
}

/** @type {Map<HTMLElement, ReturnType<typeof setTimeout>>} */
const resting = new Map();

/** @param {HTMLElement} field */
function save(field) {
  clearTimeout(resting.get(field));
  resting.delete(field);
  const { key = "" } = field.dataset;
  const value = valueOf(field);
  if (JSON.stringify(value) === JSON.stringify(keys()[key] ?? null)) return;
  draft.unsaved.add({ do: "put", question: question || null, key, value });
}

/** @param {Event} event */
const fieldOf = (event) => /** @type {HTMLElement} */ (event.target).closest("[data-key]");

find("#fields").addEventListener("input", (event) => {
  const field = /** @type {HTMLElement | null} */ (fieldOf(event));
  if (!field) return;
  if (field.dataset.widget === "stop") tellRight(field);
  find("#state").textContent = "Saving …";
  clearTimeout(resting.get(field));
  resting.set(field, setTimeout(() => save(field), REST));
});
find("#fields").addEventListener("change", (event) => {
  const field = /** @type {HTMLElement | null} */ (fieldOf(event));
  if (field) save(field);
});
find("#fields").addEventListener("submit", (event) => event.preventDefault());

/** @param {HTMLElement} slider */
function tellRight(slider) {
  const right = slider.dataset.right?.split(" ")[Number(/** @type {HTMLInputElement} */ (slider).value)];
  find("#right").textContent = `${right} of 100 times`;
  slider.setAttribute("aria-valuetext", `right at most ${right} of 100 times`);
}

/** Shows in the fields what others wrote meanwhile; never in the one that has the focus. */
function refresh() {
  for (const field of find("#fields").querySelectorAll("[data-key]")) {
    const input = /** @type {HTMLInputElement} */ (field);
    if (input.contains(document.activeElement) || resting.has(input) || draft.unsaved.waiting.length) continue;
    const value = keys()[input.dataset.key ?? ""];
    if (input.dataset.widget === "lines") input.value = (value ?? []).map(label).join("\n");
    else if (input.dataset.widget === "also") {
      for (const box of input.querySelectorAll("input")) box.checked = (value ?? []).includes(box.value);
    } else if (input.dataset.widget === "stop") {
      const at = input.dataset.stops?.split(" ").indexOf(String(value)) ?? -1;
      if (at >= 0) input.value = String(at);
      tellRight(input);
    } else if (typeof value !== "object") input.value = String(value ?? "");
  }
  find("#heading").textContent = String(draft.newest.title ?? "") || "Without a title";
  for (const link of find("#list").querySelectorAll("a")) {
    const id = new URL(link.href).searchParams.get("question");
    const its = draft.newest.questions.find((/** @type {any} */ each) => each.id === id);
    const title = its && (its.short || its.label);
    const place = link.querySelector("b");
    if (title && place) place.textContent = String(title);
  }
}

// --- questions --------------------------------------------------------------------------------------

function settle() {
  for (const field of [...resting.keys()]) save(field);
}

find("#add").addEventListener("click", () => {
  const id = name();
  const last = draft.newest.questions.at(-1)?.id ?? null;
  const shared = "budget" in draft.newest || "mixer" in draft.newest;
  const keys = { type: "yes_no", ...(shared ? {} : { odds: 3 }) };
  draft.change({ do: "add", question: id, after: question || last, keys }, `${own}?question=${id}`);
});

/** @param {number} by */
function move(by) {
  const ids = draft.newest.questions.map((/** @type {any} */ each) => each.id);
  const at = ids.indexOf(question);
  const others = ids.filter((/** @type {string} */ id) => id !== question);
  draft.change({ do: "move", question, after: others[at + by - 1] ?? null }, location.href);
}

for (const [button, act] of /** @type {[string, () => void][]} */ ([
  ["#up", () => move(-1)],
  ["#down", () => move(1)],
  ["#remove", () => draft.change({ do: "remove", question }, own)],
  [
    "#copy",
    () => {
      const id = name();
      const { id: _, name: __, ...rest } = keys();
      draft.change({ do: "add", question: id, after: question, keys: rest }, `${own}?question=${id}`);
    },
  ],
])) {
  document.querySelector(button)?.addEventListener("click", act);
}

addEventListener("keydown", (event) => {
  if (!event.altKey || !question) return;
  if (event.key === "ArrowUp") document.querySelector(/** @type {any} */ ("#up"))?.click();
  if (event.key === "ArrowDown") document.querySelector(/** @type {any} */ ("#down"))?.click();
});

// --- what it costs ----------------------------------------------------------------------------------

const place = find("#balance");
const look = figures(place, (piece) => {
  const foot = piece.querySelector("[data-foot]");
  if (foot) find("#foot").replaceChildren(...foot.childNodes);
  foot?.remove();
  replace(place, piece);
});

place.addEventListener("click", (event) => {
  const { operation } = /** @type {HTMLElement} */ (event.target).dataset;
  if (operation) draft.change(JSON.parse(operation), location.href);
});
find("#expect").addEventListener("change", (event) => {
  const text = /** @type {HTMLInputElement} */ (event.target).value.replace(/\D/g, "");
  draft.change({ do: "put", question: null, key: "expect", value: text ? Number(text) : null });
});

const slider = /** @type {HTMLElement | null} */ (document.querySelector("[data-widget=stop]"));
if (slider) tellRight(slider);
find("#list").scrollLeft = find("#list [aria-current]").offsetLeft - find("#list").offsetLeft;
look(0);
