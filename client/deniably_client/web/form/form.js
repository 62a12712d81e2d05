// The respondent's form: one step at a time. True answers live in the fields of this page and
// nowhere else; they are wiped when the report is made.

import { parse, sha256 } from "../core/canonical.js";
import { AuthorChanged, Refused, Told } from "../core/errors.js";
import { hasChanged, keepRegister, meet, reportsOf } from "../device/contact.js";
import { keepPage, whenBack } from "../device/offline.js";
import { Unreachable, send } from "../device/send.js";
import { keeps, recordSent, setAside, ticketOf } from "../device/storage.js";
import { sendOthers } from "../device/waiting.js";
import { conditional, verify } from "../survey/survey.js";
import { words } from "../wording/words.js";
import { changes, record, remembered, whatIsKnown } from "./remembered.js";

/** @import { Definition } from "../survey/types.js" */
/** @import { Contact } from "../trust/types.js" */
/** @import { Answer, Path } from "./types.js" */

const survey = /** @type {HTMLElement} */ (document.getElementById("survey"));
const { name = "", digest = "" } = survey.dataset;
const api = `/api/surveys/${name}`;
const steps = all(".step", HTMLElement);
const questions = all("form[data-question]", HTMLFormElement);
const CHECK = questions.length + 1;

/** @type {Definition} */
let definition;
/** @type {Contact} */
let contact;
/** What a form says, or what is missing in it. */
let read = readChoice;
/**
 * Which questions this person is asked: all, unless the survey says otherwise.
 * @type {Path}
 */
let path = { drawn: undefined, shown: () => questions, nearest: (number) => number };
/** The questions whose answers have changed since this device answered the survey. */
let changed = /** @type {string[]} */ ([]);
/**
 * Nobody is asked before the survey is trusted; and once the coins are thrown there is no way back:
 * fresh coins would weaken the first ones.
 */
let locked = true;
let sent = false;
let current = 0;
/** The questions that chance picked for this person, where it picks some. */
let drawnFirst = /** @type {Path["drawn"]} */ (undefined);
/** Whether this person cannot go on yet, for want of an invitation. */
let bar = () => false;
/** What this device made for the survey before. */
let kept = /** @type {Awaited<ReturnType<typeof remembered>>["kept"]} */ (undefined);

/**
 * @template {Element} E
 * @param {string} selector
 * @param {new () => E} kind
 * @returns {E[]}
 */
function all(selector, kind) {
  const found = [...survey.querySelectorAll(selector)].filter((one) => one instanceof kind);
  return /** @type {E[]} */ (found);
}

/** @param {string} id */
function byId(id) {
  return /** @type {HTMLElement} */ (document.getElementById(id));
}

// --- steps: 0 is the start, then the questions, then the check page -----------------------

/** @param {HTMLElement} step */
function show(step) {
  for (const other of steps) other.hidden = other !== step;
  scrollTo(0, 0);
  step.querySelector("h1")?.focus();
}

/** @param {number} number */
function showNumber(number) {
  current = number;
  const step = steps[number];
  if (step === undefined) return;
  if (number === CHECK) fillCheckPage();
  show(step);
}

/** @param {string} kind */
function showKind(kind) {
  const step = steps.find((found) => found.dataset["step"] === kind);
  if (step) show(step);
}

/**
 * Goes to a step, or the next one that is shown, and lets the phone's Back button return.
 *
 * Browsers write a tab's history to the disk. So a step that is skipped gets its entry, too: the
 * entries are the same whatever was answered.
 * @param {number} wanted
 */
function go(wanted) {
  if (locked) return;
  if (wanted > 0 && bar()) {
    showNumber(0);
    return /** @type {HTMLFormElement} */ (byId("invitation")).requestSubmit();
  }
  const number = path.nearest(wanted, current);
  const last = Math.max(wanted, number);
  for (let step = Math.min(wanted, current + 1); step <= last; step++) enter(step);
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

/** @param {readonly HTMLFormElement[]} forms */
function answered(forms) {
  /** @type {Map<string, Answer["answer"]>} */
  const answers = new Map();
  for (const form of forms) {
    const { answer } = read(form);
    if (answer !== undefined) answers.set(form.dataset["question"] ?? "", answer);
  }
  return answers;
}

addEventListener("popstate", ({ state }) => {
  if (!locked) showNumber(path.nearest(Number(state?.step ?? 0), current));
});

// A page that comes back from the browser's memory starts afresh.
addEventListener("pageshow", ({ persisted }) => {
  if (persisted && !locked) location.reload();
});
addEventListener("pagehide", wipe);

for (const button of all("[data-go]", HTMLButtonElement)) {
  button.addEventListener("click", () => go(Number(button.dataset["go"])));
}

for (const form of questions) {
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const { answer, missing, heading } = read(form);
    const error = /** @type {HTMLElement} */ (form.querySelector(".error"));
    tell(form, answer === undefined, missing, heading);
    if (error.hidden) go(firstOpen());
    else error.focus();
  });
  // Not at "change", which comes with the click on the button and would move it away.
  form.addEventListener("input", () => tell(form, false));
  form.querySelector(".error a")?.addEventListener("click", (event) => {
    event.preventDefault();
    form.querySelector("input")?.focus();
  });
}

/** @type {WeakMap<Element, string | null>} what the server wrote */
const written = new WeakMap();

/**
 * Shows a text, or again what the server wrote.
 * @param {Element | null} element
 * @param {string | undefined} text
 */
function fill(element, text) {
  if (!element) return;
  if (!written.has(element)) written.set(element, element.textContent);
  element.textContent = text ?? written.get(element) ?? "";
}

/**
 * Shows that an answer is missing, also to those who hear the page; or that it is not any more.
 * @param {HTMLFormElement} form
 * @param {boolean} missing
 * @param {string} [why]
 * @param {string} [heading]
 */
function tell(form, missing, why, heading) {
  const error = /** @type {HTMLElement} */ (form.querySelector(".error"));
  error.hidden = !missing;
  fill(error.querySelector("strong"), heading);
  fill(error.querySelector("a"), why);
  for (const input of form.querySelectorAll("input[type=text]")) {
    input.setAttribute("aria-invalid", String(missing));
  }
}

/**
 * @param {HTMLFormElement} form
 * @returns {Answer}
 */
function readChoice(form) {
  const input = [...form.querySelectorAll("input")].find(({ checked }) => checked);
  return input ? { answer: input.value, text: input.closest("label")?.textContent ?? "" } : {};
}

/** The step of the first question without an answer; the check page where there is none. */
function firstOpen() {
  const open = path.shown().find((form) => read(form).answer === undefined);
  return open ? questions.indexOf(open) + 1 : CHECK;
}

function fillCheckPage() {
  const shown = path.shown();
  for (const form of questions) {
    const name = CSS.escape(form.dataset["question"] ?? "");
    for (const row of all(`[data-row="${name}"]`, HTMLElement)) row.hidden = !shown.includes(form);
    const place = survey.querySelector(`[data-answer="${name}"]`);
    if (place) place.textContent = read(form).text ?? "";
  }
}

byId("practise").addEventListener("click", async () => {
  const form = steps.find((step) => step.dataset["step"] === "practice");
  if (!(form instanceof HTMLFormElement)) return;
  const { prepare } = await import("./practice.js");
  prepare(form);
  enter(0); // so Back leads to the start
  showKind("practice");
});

// --- sending --------------------------------------------------------------------------------

byId("send").addEventListener("click", async () => {
  if (locked) return;
  const open = firstOpen();
  if (open !== CHECK) return go(open);
  locked = true;
  const answers = answered(path.shown());
  showKind("sending");
  try {
    if (await hasChanged(api, digest)) throw new Told(words("script.changed"));
    const text = await record(about(), answers, changed, contact);
    answers.clear();
    wipe();
    await sendKept(text, words("script.sending"));
  } catch (error) {
    refuse(error);
  }
});

/** What this survey is, for the memory. */
const about = () => ({
  definition,
  version: digest,
  author: contact.author,
  drawn: drawnFirst,
});

/**
 * Sends what is kept; nothing else can be sent from this page any more.
 * @param {string} text
 * @param {string} saying
 */
async function sendKept(text, saying) {
  locked = sent = true;
  byId("again").addEventListener("click", () => deliver(text, words("script.sending")));
  showKind("sending");
  await deliver(text, saying);
}

/**
 * @param {string} text
 * @param {string} saying
 */
async function deliver(text, saying) {
  const progress = byId("progress");
  const again = byId("again");
  const heading = survey.querySelector("[data-step=sending] h1");
  again.hidden = true;
  fill(heading, undefined);
  progress.textContent = saying;
  try {
    await send(`${api}/reports`, text, await ticketOf(digest), () => {
      progress.textContent = words("script.waiting");
    });
    await recordSent(digest, text);
    const sentNames = Object.keys(JSON.parse(text).values);
    for (const row of all(".receipt [data-row]", HTMLElement)) {
      row.hidden = !sentNames.includes(row.dataset["row"] ?? "");
    }
    byId("digest").textContent = await sha256(text);
    offerReceipt();
    showKind("receipt");
  } catch (error) {
    if (error instanceof Refused) await setAside(text);
    if (!(error instanceof Unreachable)) return refuse(error);
    fill(heading, words("script.waits"));
    progress.textContent = (await keeps()) ? words("script.queued") : words("script.unreachable");
    again.hidden = false;
    again.focus();
  }
}

whenBack(() => {
  const again = byId("again");
  if (!again.hidden) again.click();
});

function offerReceipt() {
  const lines = [...survey.querySelectorAll(".receipt > div:not([hidden])")].map(
    (row) => {
      const [name, text] = [row.querySelector("dt"), row.querySelector("dd")];
      return words("script.pair", { name: name?.textContent ?? "", text: text?.textContent ?? "" });
    },
  );
  const file = new Blob([`${lines.join("\n")}\n`], { type: "text/plain" });
  /** @type {HTMLAnchorElement} */ (byId("download")).href = URL.createObjectURL(file);
}

/** Takes every answer off the page, also what was hidden or said because of one. */
function wipe() {
  for (const form of all("form", HTMLFormElement)) form.reset();
  for (const form of questions) tell(form, false);
  for (const place of survey.querySelectorAll("[data-answer]")) place.textContent = "";
  for (const row of all(".answers [data-row]", HTMLElement)) row.hidden = false;
}

/** @param {unknown} error */
function refuse(error) {
  locked = true;
  wipe();
  if (sent) byId("what").textContent = words("script.wiped");
  byId("why").textContent = told(error);
  if (error instanceof Refused && !(error instanceof Told)) byId("detail").textContent = error.message;
  showKind("refused");
}

/**
 * Why nothing goes on, in the language of the page.
 * @param {unknown} error
 */
function told(error) {
  if (error instanceof Told) return error.message;
  if (!(error instanceof Refused)) return words("script.broken");
  return words(sent ? "script.rejected" : "script.untrusted");
}

// --- the start: nobody is asked anything before the definition is verified ------------------

async function start() {
  wipe(); // some browsers fill a form in again
  history.replaceState({ step: 0, depth: history.state?.depth ?? 0 }, "");
  try {
    definition = /** @type {Definition} */ (parse(byId("definition").textContent ?? ""));
    const invited = definition.invited && (await import("./invited.js"));
    if (invited) await invited.bring();
    if (!globalThis.crypto?.subtle) throw new Told(words("script.insecure"));
    await verify(definition, digest);
    contact = await met();
    showContact(contact);
    if (survey.querySelector("[data-kind]")) {
      const fields = await import("./fields.js");
      fields.prepare(questions, definition);
      read = (form) => (form.dataset["kind"] ? fields.read(form) : readChoice(form));
    }
    if (conditional(definition)) {
      const { follow } = await import("./path.js");
      path = follow(questions, definition, answered);
      drawnFirst = path.drawn;
    }
    const found = await remembered(about());
    kept = found.kept;
    if (!kept && found.known.length > 0) await askOnly([]);
    if (invited) bar = await invited.enter(api, digest, contact.invitations ?? "", () => go(1), refuse);
  } catch (error) {
    survey.hidden = false;
    return refuse(error instanceof TypeError ? new Told(words("script.offline")) : error);
  }
  survey.hidden = false;
  locked = false;
  if (kept && !kept.sent) await sendKept(kept.text, words("script.unsent"));
  else showNumber(current);
  const offline = await keepPage(digest);
  if (offline) await keepRegister();
  byId("kept").hidden = !offline;
  survey.dataset["kept"] = String(offline);
  await sendOthers(digest, reportsOf); // last: nobody waits for it
  survey.dataset["settled"] = "";
}

// --- again: the same, or what has changed -----------------------------------------------------

byId("same").addEventListener("click", () => kept && sendKept(kept.text, words("script.sending")));

byId("changed").addEventListener("submit", async (event) => {
  event.preventDefault();
  const boxes = [...byId("changed").querySelectorAll("input")].filter(({ checked }) => checked);
  if (boxes.length === 0) return;
  try {
    await askOnly(boxes.map(({ value }) => value));
    go(1);
  } catch (error) {
    refuse(error);
  }
});

/**
 * From now on asks only what has changed, and what this device does not know yet.
 * @param {string[]} names
 */
async function askOnly(names) {
  changed = names;
  const fresh = await changes(about(), changed);
  const { follow } = await import("./path.js");
  path = follow(questions, definition, answered, fresh);
}

/**
 * Shows who asks and which register it was.
 * @param {Contact} contact
 */
function showContact({ fingerprint, head }) {
  for (const place of survey.querySelectorAll("[data-author]")) place.textContent = fingerprint;
  for (const place of survey.querySelectorAll("[data-register]")) place.textContent = head;
}

/** @param {string} text */
function code(text) {
  const element = document.createElement("code");
  element.textContent = text;
  return element;
}

/** The contact with the server, once the respondent has accepted an author who is new there. */
async function met() {
  /** @type {string | undefined} */
  let accepted;
  for (;;) {
    try {
      return await meet(await whatIsKnown(), definition, digest, accepted);
    } catch (error) {
      if (!(error instanceof AuthorChanged)) throw error;
      byId("before").replaceChildren(...error.known.map(code));
      byId("asks").textContent = error.fingerprint;
      survey.hidden = false;
      showKind("author");
      await new Promise((resolve) => byId("accept").addEventListener("click", resolve));
      accepted = error.fingerprint;
    }
  }
}

await start();
