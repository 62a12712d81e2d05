// What waits from other surveys of this server: any page of the form sends it, so that nobody has to
// come back to the very survey whose report did not get through.

import { Unreachable, send } from "./send.js";
import { read, recordSent, setAside, ticketOf, wasRefused } from "./storage.js";

/** At most so many from one page; the next page goes on. */
const MOST = 3;
/** Milliseconds before each, and up to so many more: one person's reports do not come back to back. */
const SHORTEST = 5000;
const VARYING = 15_000;

/**
 * Sends, one after the other, the kept bytes of reports that did not get through. `place` gives the
 * address that takes the reports of a version, or nothing where it is unknown or closed. What does
 * not get through now waits on; what is refused is left to its own page from then on. Nothing is
 * thrown, and nothing is shown.
 *
 * In the order of the versions, which are digests: it tells nothing of when they were made.
 * @type {(except: string, place: (version: string) => string | undefined) => Promise<void>}
 */
export async function sendOthers(except, place) {
  try {
    for (const [version, text] of (await waiting(except, place)).slice(0, MOST)) {
      await pause();
      // Meanwhile it may be forgotten, changed, or sent from another tab.
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
    // Its own page says why, when it is opened.
  }
}

/**
 * The versions and texts that may be sent from here.
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
