// Talks to a survey's mixer: fetches its statement, seals reports, and sends the envelope until the mixer
// has it (SPEC section 14). Nothing here depends on an answer.

import { PROBLEM, body } from "../core/body.js";
import { hexadecimal } from "../core/canonical.js";
import { sealInner, sealOuter } from "../trust/envelope.js";
import { bytes } from "../trust/signing.js";
import { FIRST_WAIT, LONGEST_TRY, TRIES, Unreachable, WORDS, pause, refusal } from "./send.js";

/** @import { Envelopes, OfMixer } from "./types.js" */
/** @import { Bytes } from "../trust/envelope.js" */

/** Milliseconds to wait for a mixer's statement. */
const SILENCE = 8000;

/** @type {(definition: OfMixer, version: string) => string} */
const address = ({ mixer }, version) => `${mixer.address}/mix/${version}`;

/**
 * Asks the mixer. No cookie, no address of this page and no cached answer is used.
 * @type {(definition: OfMixer, version: string, patience: number, more?: RequestInit) =>
 *   Promise<Response | undefined>} undefined where the network gave no answer
 */
const ask = (definition, version, patience, more) =>
  fetch(address(definition, version), {
    ...more,
    credentials: "omit",
    referrerPolicy: "no-referrer",
    redirect: "error",
    cache: "no-store",
    signal: AbortSignal.timeout(patience),
  }).catch(() => undefined);

/**
 * Returns the text of the mixer's statement, which is not verified yet. Throws Unreachable where no
 * mixer answers, and Refused where it takes no answers to this survey.
 * @type {(definition: OfMixer, version: string) => Promise<string>}
 */
export async function fetchStatement(definition, version) {
  const response = await ask(definition, version, SILENCE);
  if (!response || isBusy(response)) throw new Unreachable();
  if (!response.ok) throw await refusal(response);
  return body(response, PROBLEM, SILENCE).catch(() => {
    throw new Unreachable();
  });
}

/**
 * Seals each report for the survey's server.
 * @type {(definition: OfMixer, version: string, texts: readonly string[]) => Promise<Bytes[]>}
 */
export const sealReports = ({ mixer: { length, open } }, version, texts) =>
  Promise.all(texts.map((text) => sealInner(open, version, text, length)));

/**
 * Seals these envelopes for the mixer. `code` is that of an invitation, or empty.
 * @type {(definition: OfMixer, version: string, inner: readonly Bytes[], code: string) =>
 *   Promise<Envelopes>}
 */
export async function sealForMixer({ mixer }, version, inner, code) {
  const outer = await sealOuter(mixer.key, version, inner, code);
  const hashes = await Promise.all(inner.map((each) => crypto.subtle.digest("SHA-256", each)));
  return {
    outer: hexadecimal(outer),
    inner: hashes.map((hash) => hexadecimal(new Uint8Array(hash))),
  };
}

/**
 * Sends an envelope until the mixer says that it has it. Network faults, 429 and 5xx are retried, as
 * `send` does. Throws Refused with the mixer's sentence, and Unreachable after the last try.
 * @type {(definition: OfMixer, version: string, sealed: string, waiting?: (tries: number) => void) =>
 *   Promise<void>}
 */
export async function sendSealed(definition, version, sealed, waiting = () => {}) {
  const headers = { "Content-Type": "application/octet-stream" };
  const more = { method: "POST", body: bytes(sealed), headers };
  for (let tries = 1; ; tries++) {
    const response = await ask(definition, version, LONGEST_TRY, more);
    // Reading to the end frees the connection.
    if (response?.ok) return void (await body(response, PROBLEM, WORDS).catch(() => ""));
    if (response && !isBusy(response)) throw await refusal(response);
    if (tries === TRIES) throw new Unreachable();
    waiting(tries);
    await pause(FIRST_WAIT * 2 ** (tries - 1));
  }
}

/** @type {(response: Response) => boolean} */
const isBusy = ({ status }) => status === 429 || status >= 500;
