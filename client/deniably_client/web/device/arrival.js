// Finds out whether what this device sealed has arrived (SPEC section 14). The whole list of received
// envelopes is fetched, so that nobody sees which of them are looked for.

import { Refused } from "../core/errors.js";
import { hexadecimal } from "../core/canonical.js";

/** Bytes of the SHA-256 of an envelope. */
const HASH = 32;
/** Milliseconds that a list may take: that of 10,000 people and 10 questions has 3 MB. */
const PATIENCE = 300_000;

/**
 * Returns how many of the envelopes with these SHA-256 the survey's server has received; undefined where
 * it has no list yet. Throws TypeError where the network fails, and Refused for any other answer.
 * @type {(api: string, inner: readonly string[]) => Promise<number | undefined>}
 */
export async function countArrived(api, inner) {
  const response = await fetch(`${api}/mixed/envelopes`, {
    credentials: "omit",
    referrerPolicy: "no-referrer",
    signal: AbortSignal.timeout(PATIENCE),
  });
  if (response.status === 404) return undefined;
  if (!response.ok || !response.body) throw new Refused("the server does not list what arrived");
  const wanted = new Set(inner);
  let arrived = 0;
  for await (const hash of hashes(response.body)) if (wanted.delete(hash)) arrived += 1;
  return arrived;
}

/**
 * Yields the hashes of a list, in hexadecimal. Throws Refused where the last one is cut off.
 * @param {ReadableStream<Uint8Array>} stream
 */
async function* hashes(stream) {
  const reader = stream.getReader();
  let rest = new Uint8Array();
  for (;;) {
    const { value, done } = await reader.read();
    if (done) break;
    const bytes = new Uint8Array(rest.length + value.length);
    bytes.set(rest);
    bytes.set(value, rest.length);
    const whole = bytes.length - (bytes.length % HASH);
    for (let at = 0; at < whole; at += HASH) yield hexadecimal(bytes.subarray(at, at + HASH));
    rest = bytes.slice(whole);
  }
  if (rest.length > 0) throw new Refused("the list of what arrived is cut off");
}
