// The editor of a draft: each change of a field is one small edit, saved a moment later. What it costs
// and shows is worked out by the server; nothing about privacy is computed here.

import { Declined, explain, find, fragment, name, tell } from "./exchange.js";
import { renew } from "./preview.js";
import { Unsaved } from "./unsaved.js";

/** @import { Edited, Operation } from "./unsaved.js" */

const REST = 800; // milliseconds after the last key
const LOOK = 250;
const LATER = 1000;

const desk = find("#desk");
const { draft = "", question = "" } = desk.dataset;
let newest = JSON.parse(desk.dataset.document ?? "{}");
/** What takes the last edits of this tab back; a page of another question goes on with it. */
const UNDOS = `deniably-undo-${draft}`;
const MOST = 50;
/** @type {Operation[]} */
const undos = JSON.parse(sessionStorage.getItem(UNDOS) ?? "[]");
/** @type {{ operation: Operation, revision: number } | null} */
let clash = null;
let undoing = false;
/** Where to go once all is saved. */
let next = "";
/** Whether the author was signed out: what waits is kept in the tab while they sign in. */
let leaving = false;

const unsaved = new Unsaved(draft, Number(desk.dataset.revision), {
  state(words) {
    find("#state").textContent = words;
    if (words === "Saved" && next) location.assign(next);
  },
  edited,
  clashed(theirs, operation, revision) {
    clash = { operation, revision };
    find("#theirs").textContent = shown(theirs);
    find("#mine").textContent = shown(operation.value ?? operation.keys);
    find("#clash").hidden = false;
    find("#take-mine").hidden = theirs === null; // the question is gone
    find("#take-theirs").focus();
  },
  refused(answer) {
    explain(new Declined(answer));
    leaving ||= answer.status === 401;
  },
});

/** @param {unknown} value */
const shown = (value) =>
  value === null || value === undefined ? "removed" : Array.isArray(value) ? value.map(label).join(", ") : String(label(value));

/** @param {any} choice */
const label = (choice) => (choice && typeof choice === "object" ? (choice.label ?? JSON.stringify(choice)) : choice);

/** The keys that the fields show. */
const keys = () => (question ? newest.questions.find((/** @type {any} */ each) => each.id === question) : newest);

/**
 * @param {Edited} answer
 * @param {Operation} operation
 */
function edited(answer, operation) {
  tell("");
  newest = answer.document;
  if (answer.undo && !undoing) undos.push(answer.undo);
  undoing = false;
  keepUndos();
  const gone = question && !keys();
  if (gone) next ||= `/studio/d/${draft}`;
  else if (operation.do !== "put" || operation.key === "type") next ||= location.href;
  if (!next) {
    refresh();
    look(LOOK);
    renew();
  }
}

function keepUndos() {
  sessionStorage.setItem(UNDOS, JSON.stringify(undos.slice(-MOST)));
  /** @type {HTMLButtonElement} */ (find("#undo")).disabled = undos.length === 0;
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
  unsaved.add({ do: "put", question: question || null, key, value });
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
  slider.setAttribute("aria-valuetext", `right ${right} of 100 times`);
}

/** Shows in the fields what others wrote meanwhile; never in the one that has the focus. */
function refresh() {
  for (const field of find("#fields").querySelectorAll("[data-key]")) {
    const input = /** @type {HTMLInputElement} */ (field);
    if (input.contains(document.activeElement) || resting.has(input) || unsaved.waiting.length) continue;
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
  find("#heading").textContent = String(newest.title ?? "") || "Without a title";
  for (const link of find("#list").querySelectorAll("a")) {
    const id = new URL(link.href).searchParams.get("question");
    const its = newest.questions.find((/** @type {any} */ each) => each.id === id);
    const title = its && (its.short || its.label);
    const place = link.querySelector("b");
    if (title && place) place.textContent = String(title);
  }
}

// --- questions --------------------------------------------------------------------------------------

/** @param {Operation} operation */
function change(operation, address = "") {
  for (const field of [...resting.keys()]) save(field);
  next = address;
  unsaved.add(operation);
}

find("#add").addEventListener("click", () => {
  const id = name();
  const last = newest.questions.at(-1)?.id ?? null;
  const keys = { type: "yes_no", ...("budget" in newest ? {} : { odds: 3 }) };
  change({ do: "add", question: id, after: question || last, keys }, `/studio/d/${draft}?question=${id}`);
});

/** @param {number} by */
function move(by) {
  const ids = newest.questions.map((/** @type {any} */ each) => each.id);
  const at = ids.indexOf(question);
  const others = ids.filter((/** @type {string} */ id) => id !== question);
  change({ do: "move", question, after: others[at + by - 1] ?? null }, location.href);
}

for (const [button, act] of /** @type {[string, () => void][]} */ ([
  ["#up", () => move(-1)],
  ["#down", () => move(1)],
  ["#remove", () => change({ do: "remove", question }, `/studio/d/${draft}`)],
  [
    "#copy",
    () => {
      const id = name();
      const { id: _, name: __, ...rest } = keys();
      change({ do: "add", question: id, after: question, keys: rest }, `/studio/d/${draft}?question=${id}`);
    },
  ],
])) {
  document.querySelector(button)?.addEventListener("click", act);
}

function undo() {
  const operation = undos.pop();
  if (!operation) return;
  undoing = true;
  keepUndos();
  change(operation, location.href);
}
find("#undo").addEventListener("click", undo);
addEventListener("keydown", (event) => {
  const typing = /** @type {HTMLElement} */ (event.target).closest?.("input, textarea, select");
  if (event.key === "z" && (event.ctrlKey || event.metaKey) && !typing) undo();
  if (!event.altKey || !question) return;
  if (event.key === "ArrowUp") document.querySelector(/** @type {any} */ ("#up"))?.click();
  if (event.key === "ArrowDown") document.querySelector(/** @type {any} */ ("#down"))?.click();
});

find("#take-mine").addEventListener("click", () => settle(true));
find("#take-theirs").addEventListener("click", () => settle(false));

/** @param {boolean} mine */
function settle(mine) {
  find("#clash").hidden = true;
  if (!clash || !mine) return location.reload();
  next = location.href;
  unsaved.add(clash.operation, clash.revision); // its author has seen theirs now
}

// --- what it costs ----------------------------------------------------------------------------------

/** @type {ReturnType<typeof setTimeout> | undefined} */
let looking;
let looks = 0;

/** @param {number} milliseconds */
function look(milliseconds) {
  clearTimeout(looking);
  looking = setTimeout(() => void balance(), milliseconds);
}

async function balance() {
  const place = find("#balance");
  const mine = ++looks;
  place.setAttribute("aria-busy", "true");
  try {
    const piece = await fragment(place.dataset.address ?? "");
    if (mine !== looks) return;
    place.replaceChildren(...piece.childNodes);
    if (place.querySelector("[data-again]")) look(LATER);
  } catch {
    look(LATER * 5); // the figures before stay there
  } finally {
    if (mine === looks) place.removeAttribute("aria-busy");
  }
}

find("#balance").addEventListener("click", (event) => {
  const { mend } = /** @type {HTMLElement} */ (event.target).dataset;
  if (!mend) return;
  const operations = /** @type {Operation[]} */ (JSON.parse(mend));
  for (const operation of operations) change(operation, location.href);
});
find("#expect").addEventListener("change", (event) => {
  const text = /** @type {HTMLInputElement} */ (event.target).value.replace(/\D/g, "");
  unsaved.add({ do: "put", question: null, key: "expect", value: text ? Number(text) : null });
});

const slider = /** @type {HTMLElement | null} */ (document.querySelector("[data-widget=stop]"));
if (slider) tellRight(slider);
addEventListener("beforeunload", (event) => {
  for (const field of [...resting.keys()]) save(field);
  if (unsaved.waiting.length && !next && !leaving) event.preventDefault();
});
keepUndos();
look(0);
