// Starts the respondent's form. It asks nothing before the definition is verified. Asking, showing and
// sending have a module each (asked.js, steps.js, sending.js). This one also starts again where the
// survey was answered before.

import { parse } from "../core/canonical.js";
import { AuthorChanged, Localised } from "../core/errors.js";
import { keepListing, meet } from "../device/listing.js";
import { keepPage } from "../device/offline.js";
import { sendOthers } from "../device/waiting.js";
import { conditional, verify } from "../survey/survey.js";
import { words } from "../wording/words.js";
import { answered, wipe } from "./asked.js";
import { api, byId, page, questions, survey, version } from "./elements.js";
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

/** Verifies the survey and its author, and reads the memory, before the first question. */
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
  const { kept, known, drawn } = await remembered(about());
  state.kept = /** @type {typeof state.kept} */ (kept); // mixed.js gives a text, too
  // The limits leave room for a part only, so other questions are asked than were drawn before.
  if (drawn !== state.drawn) {
    const { follow } = await import("./path.js");
    state.path = follow(questions, definition, answered, drawn);
    state.drawn = drawn;
  }
  if (!kept && known.length > 0) await askOnly([]);
  if (!invited) return;
  const { invitations = "" } = state.verified;
  state.barred = await invited.enter(api, version, invitations, () => go(1), refuse);
}

/** Stores the page for use offline and sends waiting reports, in the background. */
async function settle() {
  const offline = await keepPage(version, page);
  if (offline) await keepListing();
  byId("kept").hidden = !offline;
  survey.dataset["kept"] = String(offline);
  await sendOthers(version);
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
 * Makes the form ask only the questions `names`, whose answers have changed, and those that this
 * device does not remember.
 * @param {string[]} names
 */
async function askOnly(names) {
  state.changed = names;
  const fresh = await changes(about(), names);
  const { follow } = await import("./path.js");
  state.path = follow(questions, state.definition, answered, fresh);
}

/**
 * Shows the author's fingerprint and the seal of the register.
 * @param {VerifiedSurvey} verified
 */
function showVerified({ fingerprint, seal }) {
  for (const place of survey.querySelectorAll("[data-author]")) place.textContent = fingerprint;
  for (const place of survey.querySelectorAll("[data-register]")) place.textContent = seal;
}

/** @param {string} text */
function code(text) {
  const element = document.createElement("code");
  element.textContent = text;
  return element;
}

/**
 * Returns the verified survey. An author who is new at this server needs the respondent's consent.
 */
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
