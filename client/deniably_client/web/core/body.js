// Reads response bodies within limits of size and time: an endless one cannot fill the memory, and one
// of a byte now and then cannot keep the page waiting.

import { Refused } from "./errors.js";

/** Size limits in bytes, after decompression. */
export const DEFINITION = 16 << 20;
export const LISTING = 1 << 20;
export const REGISTER = 64 << 20;
export const PROBLEM = 64 << 10;

/** Milliseconds in which nothing need come. */
const PATIENCE = 60_000;
/** Bytes that gain a second more, as in the Python device. */
const RATE = 1 << 15;

/**
 * Reads the text of a response. Throws Refused once it exceeds `most` bytes, and TypeError, as other
 * faults of the network do, where it comes too slowly. `patience` is in milliseconds.
 * @type {(response: Response, most: number, patience?: number) => Promise<string>}
 */
export async function body(response, most, patience = PATIENCE) {
  const decoder = new TextDecoder();
  const reader = response.body?.getReader();
  const begun = performance.now();
  const texts = [];
  let size = 0;
  try {
    for (;;) {
      const left = begun + patience + (1000 * size) / RATE - performance.now();
      const value = (await within(left, reader?.read()))?.value;
      if (!value) return texts.join("") + decoder.decode();
      size += value.length;
      if (size > most) throw new Refused(`the server sends more than ${most >> 10} KiB`);
      texts.push(decoder.decode(value, { stream: true }));
    }
  } catch (error) {
    reader?.cancel().catch(() => {}); // which closes the connection
    throw error;
  }
}

/**
 * The value of `work`. Throws TypeError where it takes more milliseconds.
 * @template T
 * @param {number} milliseconds
 * @param {T} work
 * @returns {Promise<Awaited<T>>}
 */
async function within(milliseconds, work) {
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new TypeError("the server sends too slowly")), milliseconds);
  });
  try {
    return await /** @type {Promise<Awaited<T>>} */ (Promise.race([work, late]));
  } finally {
    clearTimeout(timer);
  }
}
