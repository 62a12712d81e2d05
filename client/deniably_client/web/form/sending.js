// Turns the answers into a report and sends it until the server has it or refuses it.

import { sha256 } from "../core/canonical.js";
import { Refused, Localised } from "../core/errors.js";
import { hasChanged } from "../device/listing.js";
import { whenBack } from "../device/offline.js";
import { Unreachable, send } from "../device/send.js";
import { keeps, recordSent, setAside, ticketOf } from "../device/storage.js";
import { words } from "../wording/words.js";
import { answered, firstOpen, wipe } from "./asked.js";
import { CHECK, api, byId, fill, survey, version } from "./elements.js";
import { record } from "./remembered.js";
import { about, state } from "./state.js";
import { go, showKind } from "./steps.js";

byId("send").addEventListener("click", async () => {
  if (state.locked) return;
  const open = firstOpen();
  if (open !== CHECK) return go(open);
  state.locked = true;
  const answers = answered(state.path.shown());
  showKind("sending");
  try {
    // Before anything is randomised and charged: the server would refuse a report to another
    // version.
    if (await hasChanged(api, version)) throw new Localised(words("script.changed"));
    const text = await record(about(), answers, state.changed);
    answers.clear();
    wipe();
    await sendKept(text, words("script.sending"));
  } catch (error) {
    refuse(error);
  }
});

/**
 * Shows `saying` and sends the stored report. This page can send nothing else afterwards.
 * @param {string} text
 * @param {string} saying
 */
export async function sendKept(text, saying) {
  state.locked = state.sent = true;
  byId("again").addEventListener("click", () => deliver(text, words("script.sending")));
  showKind("sending");
  await deliver(text, saying);
}

/**
 * Sends the report once more, and shows the receipt or how to go on.
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
    await send(`${api}/reports`, text, await ticketOf(version), () => {
      progress.textContent = words("script.waiting");
    });
    await recordSent(version, text);
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

/** Offers the lines of the receipt as a text file. */
function offerReceipt() {
  const lines = [...survey.querySelectorAll(".receipt > div")].map(
    (row) => {
      const [name, text] = [row.querySelector("dt"), row.querySelector("dd")];
      return words("script.pair", { name: name?.textContent ?? "", text: text?.textContent ?? "" });
    },
  );
  const file = new Blob([`${lines.join("\n")}\n`], { type: "text/plain" });
  /** @type {HTMLAnchorElement} */ (byId("download")).href = URL.createObjectURL(file);
}

/**
 * Ends the form: wipes the answers and shows why.
 * @param {unknown} error
 */
export function refuse(error) {
  state.locked = true;
  wipe();
  if (state.sent) byId("what").textContent = words("script.wiped");
  byId("why").textContent = refusalText(error);
  if (error instanceof Refused && !(error instanceof Localised)) byId("detail").textContent = error.message;
  showKind("refused");
}

/**
 * Says why the form stopped, in the language of the page.
 * @param {unknown} error
 */
function refusalText(error) {
  if (error instanceof Localised) return error.message;
  if (!(error instanceof Refused)) return words("script.broken");
  return words(state.sent ? "script.rejected" : "script.untrusted");
}
