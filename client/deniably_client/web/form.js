// The respondent's form: one step at a time. True answers live in the radio buttons of this page
// and nowhere else; they are wiped when the report is made.

import { parse } from "./canonical.js";
import { Refused } from "./errors.js";
import { makeReport } from "./report.js";
import { Unreachable, send } from "./send.js";
import { verify } from "./survey.js";

const survey = /** @type {HTMLElement} */ (document.getElementById("survey"));
const { name = "", digest = "" } = survey.dataset;
const api = `/api/surveys/${name}`;
const steps = all(".step", HTMLElement);
const questions = all("form[data-question]", HTMLFormElement);
const CHECK = questions.length + 1;

/** @type {unknown} */
let definition;
/** Once the coins are thrown there is no way back: fresh coins would weaken the first ones. */
let locked = false;
let sent = false;
let current = 0;

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
 * Goes to a step and lets the phone's Back button return; history holds the number alone.
 * @param {number} number
 */
function go(number) {
  if (locked) return;
  history.pushState({ step: number }, "");
  showNumber(number);
}

addEventListener("popstate", ({ state }) => {
  if (!locked) showNumber(Number(state?.step ?? 0));
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
    const missing = chosen(form) === undefined;
    const error = /** @type {HTMLElement} */ (form.querySelector(".error"));
    error.hidden = !missing;
    if (missing) error.focus();
    else go(firstOpen());
  });
  form.addEventListener("change", () => {
    /** @type {HTMLElement} */ (form.querySelector(".error")).hidden = true;
  });
  form.querySelector(".error a")?.addEventListener("click", (event) => {
    event.preventDefault();
    form.querySelector("input")?.focus();
  });
}

/** @param {HTMLFormElement} form */
function chosen(form) {
  return [...form.querySelectorAll("input")].find((input) => input.checked);
}

/** The step of the first question without an answer; the check page where there is none. */
function firstOpen() {
  const open = questions.findIndex((form) => chosen(form) === undefined);
  return open < 0 ? CHECK : open + 1;
}

function fillCheckPage() {
  for (const form of questions) {
    const place = survey.querySelector(`[data-answer="${CSS.escape(form.dataset["question"] ?? "")}"]`);
    if (place) place.textContent = chosen(form)?.closest("label")?.textContent ?? "";
  }
}

// --- sending --------------------------------------------------------------------------------

byId("send").addEventListener("click", async () => {
  if (locked) return;
  const open = firstOpen();
  if (open !== CHECK) return go(open);
  locked = true;
  const answers = new Map(questions.map((form) => [form.dataset["question"] ?? "", chosen(form)?.value]));
  showKind("sending");
  try {
    const report = await makeReport(definition, digest, answers);
    answers.clear();
    wipe();
    byId("again").addEventListener("click", () => deliver(report.text, report.receipt));
    sent = true;
    await deliver(report.text, report.receipt);
  } catch (error) {
    refuse(error);
  }
});

/**
 * @param {string} text
 * @param {string} receipt
 */
async function deliver(text, receipt) {
  const progress = byId("progress");
  const again = byId("again");
  again.hidden = true;
  progress.textContent = "Your device has mixed your answers and is sending.";
  try {
    await send(`${api}/reports`, text, () => {
      progress.textContent = "The server does not answer. Trying again: what is sent stays the same.";
    });
    byId("digest").textContent = receipt;
    offerReceipt();
    showKind("receipt");
  } catch (error) {
    if (!(error instanceof Unreachable)) return refuse(error);
    progress.textContent =
      "The server cannot be reached. Keep this page open and try again later: what is sent stays" +
      " the same, and your answers are wiped already.";
    again.hidden = false;
    again.focus();
  }
}

function offerReceipt() {
  const lines = [...survey.querySelectorAll(".receipt > div")].map(
    (row) => `${row.querySelector("dt")?.textContent}: ${row.querySelector("dd")?.textContent}`,
  );
  const file = new Blob([`${lines.join("\n")}\n`], { type: "text/plain" });
  /** @type {HTMLAnchorElement} */ (byId("download")).href = URL.createObjectURL(file);
}

/** Takes every answer off the page. */
function wipe() {
  for (const form of questions) form.reset();
  for (const place of survey.querySelectorAll("[data-answer]")) place.textContent = "";
}

/** @param {unknown} error */
function refuse(error) {
  locked = true;
  wipe();
  if (sent) byId("what").textContent = "What was sent was not taken, and your answers are wiped.";
  const known = error instanceof Refused;
  byId("why").textContent = known ? error.message : "Something went wrong on this page. Load it again.";
  showKind("refused");
}

// --- the start: nobody is asked anything before the definition is verified ------------------

async function start() {
  wipe(); // some browsers fill a form in again
  history.replaceState({ step: 0 }, "");
  try {
    const response = await fetch(api, { credentials: "omit", referrerPolicy: "no-referrer" });
    if (!response.ok) throw new Refused("the survey cannot be loaded; try again later");
    if (response.headers.get("Deniably-State") === "closed") throw new Refused("the survey is closed");
    definition = parse(await response.text());
    await verify(definition, digest);
  } catch (error) {
    survey.hidden = false;
    return refuse(error instanceof TypeError ? new Refused("the network is down; try again later") : error);
  }
  survey.hidden = false;
  showNumber(current);
}

await start();
