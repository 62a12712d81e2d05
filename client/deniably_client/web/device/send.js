// Sending a report: patiently, and the same bytes each time (SPEC section 6).

import { PROBLEM, body } from "../core/body.js";
import { Refused, Localised } from "../core/errors.js";
import { words } from "../wording/words.js";

/**
 * No usable answer after every try; the same text can be sent again later. The message is empty, or
 * where the server asks to wait, what it says of how long.
 */
export class Unreachable extends Error {}

const TRIES = 4;
const FIRST_WAIT = 500;

/**
 * Sends a report's text until the server says that it is stored.
 *
 * Network faults, 429 and 5xx are tried again after waits that double, with some chance in them
 * so that many phones do not come back at once. Throws Refused with the server's sentence after
 * any other refusal, and Unreachable after the last try. Gives what the server answers.
 * @param {string} url
 * @param {string} text
 * @param {string} [ticket] of a report to a survey by invitation
 * @param {(tries: number) => void} [waiting] called before each wait
 */
export async function send(url, text, ticket, waiting = () => {}) {
  for (let tries = 1; ; tries++) {
    const response = await attempt(url, text, ticket);
    // Of a report the status says it all; reading to the end lets the connection go.
    if (response?.ok) return body(response, PROBLEM).catch(() => "");
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
    });
  } catch {
    return undefined;
  }
}

/** @param {Response} response */
async function refusal(response) {
  try {
    const { type, detail } = JSON.parse(await body(response, PROBLEM));
    if (type === "/problems/closed") return new Localised(words("script.closed"));
    return Object.assign(new Refused(String(detail)), { type });
  } catch {
    return new Refused(`the server refused with status ${response.status}`);
  }
}

/** @param {number} milliseconds between one and two times this */
function pause(milliseconds) {
  const chance = crypto.getRandomValues(new Uint8Array(1))[0] ?? 0;
  return new Promise((done) => setTimeout(done, milliseconds * (1 + chance / 256)));
}
