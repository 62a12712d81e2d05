// The respondent's form: nobody is asked anything before the definition is verified. What is asked,
// shown and sent have a module each (asked.js, steps.js, sending.js); this one begins, and begins
// again where something was answered before.

import { parse } from "../core/canonical.js";
import { AuthorChanged, Localised } from "../core/errors.js";
import { keepRegister, meet, reportsOf } from "../device/listing.js";
import { keepPage } from "../device/offline.js";
import { sendOthers } from "../device/waiting.js";
import { conditional, verify } from "../survey/survey.js";
import { words } from "../wording/words.js";
import { answered, wipe } from "./asked.js";
import { api, byId, questions, survey, version } from "./elements.js";
import { changes, remembered, whatIsKnown } from "./remembered.js";
import { refuse, sendKept } from "./sending.js";
import { about, state } from "./state.js";
import { go, showKind, showNumber } from "./steps.js";

/** @import { Definition } from "../survey/types.js" */
/** @import { VerifiedSurvey } from "../trust/types.js" */

async function start() {
  wipe(); // some browsers fill a form in again
  history.replaceState({ step: 0, depth: history.state?.depth ?? 0 }, "");
  try {
    await prepare();
  } catch (error) {
    survey.hidden = false;
    return refuse(error instanceof TypeError ? new Localised(words("script.offline")) : error);
  }
  survey.hidden = false;
  state.locked = false;
  const { kept } = state;
  if (kept && !kept.sent) await sendKept(kept.text, words("script.unsent"));
  else showNumber(state.current);
  await settle();
}

/** All that has to be known before anybody is asked: the survey, its author, and what was before. */
async function prepare() {
  const definition = /** @type {Definition} */ (parse(byId("definition").textContent ?? ""));
  const invited = definition.invited && (await import("./invited.js"));
  if (invited) await invited.bring();
  if (!globalThis.crypto?.subtle) throw new Localised(words("script.insecure"));
  state.definition = await verify(definition, version);
  state.verified = await met();
  showVerified(state.verified);
  if (survey.querySelector("[data-kind]")) {
    const fields = await import("./fields.js");
    fields.prepare(questions, definition);
    state.readFields = fields.read;
  }
  if (conditional(definition)) {
    const { follow } = await import("./path.js");
    state.path = follow(questions, definition, answered);
    state.drawn = state.path.drawn;
  }
  const { kept, known } = await remembered(about());
  state.kept = kept;
  if (!kept && known.length > 0) await askOnly([]);
  if (!invited) return;
  const { invitations = "" } = state.verified;
  state.barred = await invited.enter(api, version, invitations, () => go(1), refuse);
}

/** Keeps the page for when there is no network, and sends what waits: nobody waits for either. */
async function settle() {
  const offline = await keepPage(version);
  if (offline) await keepRegister();
  byId("kept").hidden = !offline;
  survey.dataset["kept"] = String(offline);
  await sendOthers(version, reportsOf);
  survey.dataset["settled"] = "";
}

// --- again: the same, or what has changed -----------------------------------------------------

byId("same").addEventListener("click", () => {
  if (state.kept) void sendKept(state.kept.text, words("script.sending"));
});

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
  state.changed = names;
  const fresh = await changes(about(), names);
  const { follow } = await import("./path.js");
  state.path = follow(questions, state.definition, answered, fresh);
}

/**
 * Shows who asks and which register it was.
 * @param {VerifiedSurvey} verified
 */
function showVerified({ fingerprint, head }) {
  for (const place of survey.querySelectorAll("[data-author]")) place.textContent = fingerprint;
  for (const place of survey.querySelectorAll("[data-register]")) place.textContent = head;
}

/** @param {string} text */
function code(text) {
  const element = document.createElement("code");
  element.textContent = text;
  return element;
}

/** The verified survey, once the respondent has accepted an author who is new there. */
async function met() {
  /** @type {string | undefined} */
  let accepted;
  for (;;) {
    try {
      return await meet(await whatIsKnown(), state.definition, version, accepted);
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
