// Sends a report, and retries with the same bytes (SPEC section 6).

import { PROBLEM, body } from "../core/body.js";
import { Refused, Localised } from "../core/errors.js";
import { words } from "../wording/words.js";

/**
 * No usable answer after the last try; the same text can be sent again later. The message is the
 * server's Retry-After if it asked to wait, else empty.
 */
export class Unreachable extends Error {}

export const TRIES = 4;
export const FIRST_WAIT = 500; // milliseconds
/** Milliseconds until the header of an answer is there, and then until its few words are. */
export const LONGEST_TRY = 60_000;
export const WORDS = 4000;

/**
 * Sends a report's text until the server says that it is stored.
 *
 * Network faults, 429 and 5xx are retried. The waits double and are jittered, so that many phones do
 * not return at once. Returns the server's answer. Throws Refused with the server's sentence after any
 * other refusal, and Unreachable after the last try.
 * @param {string} url
 * @param {string} text
 * @param {string} [ticket] of a report to a survey by invitation
 * @param {(tries: number) => void} [waiting] called before each wait
 */
export async function send(url, text, ticket, waiting = () => {}) {
  for (let tries = 1; ; tries++) {
    const response = await attempt(url, text, ticket);
    // The status suffices for a report. Reading to the end frees the connection.
    if (response?.ok) return body(response, PROBLEM, WORDS).catch(() => "");
    if (response && response.status !== 429 && response.status < 500) {
      throw await refusal(response);
    }
    if (tries === TRIES) {
      throw new Unreachable(response?.status === 429 ? response.headers.get("Retry-After") ?? "60" : "");
    }
    waiting(tries);
    await pause(FIRST_WAIT * 2 ** (tries - 1));
  }
}

/**
 * The response, or undefined where the network gave none.
 * @param {string} url
 * @param {string} body
 * @param {string} [ticket]
 */
async function attempt(url, body, ticket) {
  try {
    return await fetch(url, {
      method: "POST",
      body,
      headers: { "Content-Type": "application/json", ...(ticket && { "Deniably-Ticket": ticket }) },
      credentials: "omit",
      referrerPolicy: "no-referrer",
      redirect: "error",
      cache: "no-store",
      signal: AbortSignal.timeout(LONGEST_TRY),
    });
  } catch {
    return undefined;
  }
}

/** @param {Response} response */
export async function refusal(response) {
  try {
    const { type, detail } = JSON.parse(await body(response, PROBLEM, WORDS));
    if (type === "/problems/closed") return new Localised(words("script.closed"));
    return Object.assign(new Refused(String(detail)), { type });
  } catch {
    return new Refused(`the server refused with status ${response.status}`);
  }
}

/** @param {number} milliseconds the wait is one to two times this */
export function pause(milliseconds) {
  const chance = crypto.getRandomValues(new Uint8Array(1))[0] ?? 0;
  return new Promise((done) => setTimeout(done, milliseconds * (1 + chance / 256)));
}
