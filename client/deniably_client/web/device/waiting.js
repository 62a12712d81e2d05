// Sends unsent reports to other surveys of this server. Any page of the form does it, so that
// respondents need not return to the survey whose report was not sent.

import { Unreachable, send } from "./send.js";
import { read, recordSent, setAside, ticketOf, wasRefused } from "./storage.js";

/** The most reports that one page sends; the next page sends more. */
const MOST = 3;
/** Milliseconds before each report, plus up to VARYING more, so that one person's reports do not
 * arrive back to back. */
const SHORTEST = 5000;
const VARYING = 15_000;

/**
 * Sends the stored bytes of unsent reports, one after the other. `place` maps a version to the address
 * for its reports, or to undefined where that is unknown or the survey is closed. A report that fails
 * waits on. A refused one is left to its own page. Nothing is thrown, and nothing is shown.
 *
 * The order is that of the versions. They are digests, so it does not reveal when reports were made.
 * @type {(except: string, place: (version: string) => string | undefined) => Promise<void>}
 */
export async function sendOthers(except, place) {
  try {
    for (const [version, text] of (await waiting(except, place)).slice(0, MOST)) {
      await pause();
      // It may have been forgotten, changed, or sent from another tab meanwhile.
      if (!(await waiting(except, place)).some((one) => one[1] === text)) continue;
      try {
        await send(place(version) ?? "", text, await ticketOf(version));
        await recordSent(version, text);
      } catch (error) {
        if (error instanceof Unreachable) return; // the others would not get through either
        await setAside(text);
      }
    }
  } catch {
    // The survey's own page says why.
  }
}

/**
 * The versions and texts of the reports to send from this page.
 * @param {string} except
 * @param {(version: string) => string | undefined} place
 */
async function waiting(except, place) {
  /** @type {[version: string, text: string][]} */
  const found = [];
  for (const [version, { text, sent }] of Object.entries((await read()).reports)) {
    if (sent || version === except || place(version) === undefined) continue;
    if (!(await wasRefused(text))) found.push([version, text]);
  }
  return found;
}

function pause() {
  const [chance = 0] = crypto.getRandomValues(new Uint32Array(1));
  return new Promise((done) => setTimeout(done, SHORTEST + (chance % VARYING)));
}
