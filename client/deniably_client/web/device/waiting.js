// Sends unsent reports to other surveys of this server. Any page of the form does it, so that
// respondents need not return to the survey whose report was not sent.

import { Unreachable, send } from "./send.js";
import { read, recordSent, setAside, ticketOf, wasRefused } from "./storage.js";

/**
 * The most reports that one page sends; the next page sends more. Many at once from one address
 * would show the server that they are one person's.
 */
const MOST = 3;
/** Milliseconds before each report, plus up to VARYING more, so that one person's reports do not
 * arrive back to back. */
const SHORTEST = 5000;
const VARYING = 15_000;

/**
 * Sends the stored bytes of unsent reports, one after the other, to the surveys that the ledger names.
 * A report that fails waits on. One that is refused, or costs nothing and so is not in the ledger, is
 * left to its own page. Nothing is thrown, and nothing is shown.
 *
 * The order is that of the versions. They are digests, so it does not reveal when reports were made.
 * @type {(except: string) => Promise<void>}
 */
export async function sendOthers(except) {
  try {
    for (const [version, text, name] of (await waiting(except)).slice(0, MOST)) {
      await pauseLong();
      // It may have been forgotten, changed, or sent from another tab meanwhile.
      if (!(await waiting(except)).some((each) => each[1] === text)) continue;
      try {
        await send(`/api/surveys/${name}/reports`, text, await ticketOf(version));
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
 * Returns the versions and texts of the reports to send from this page, and the names of their
 * surveys: all unsent ones but that of the version `except`, which the page sends itself.
 * @param {string} except
 */
async function waiting(except) {
  /** @type {[version: string, text: string, name: string][]} */
  const unsent = [];
  const { ledger, reports } = await read();
  for (const [version, { text, sent }] of Object.entries(reports)) {
    const charge = ledger.find((each) => each.version === version);
    if (sent || version === except || !charge || !text) continue; // an envelope has no text
    if (!(await wasRefused(text))) unsent.push([version, text, charge.survey]);
  }
  return unsent;
}

function pauseLong() {
  const [chance = 0] = crypto.getRandomValues(new Uint32Array(1));
  return new Promise((done) => setTimeout(done, SHORTEST + (chance % VARYING)));
}
