// Reads response bodies within limits of size and time: an endless one cannot fill the memory, and one
// of a byte now and then cannot keep the page waiting.

import { Refused } from "./errors.js";

/**
 * The largest bodies that are read, in bytes after decompression. An author's text has at most 1
 * MiB, and a definition adds its mechanisms; SPEC 10 limits listings and registers.
 */
export const DEFINITION = 16 << 20;
export const LISTING = 1 << 20;
export const REGISTER = 64 << 20;
export const PROBLEM = 64 << 10;

/** Milliseconds that a response may take before its size earns it more. */
const PATIENCE = 60_000;
/** Bytes that earn one more second, as in the Python device: 32 KiB/s is the slowest rate. */
const RATE = 1 << 15;

/**
 * Reads the text of a response. Throws Refused once it exceeds `most` bytes, and TypeError, as
 * fetch does for faults of the network, where it comes too slowly. `patience` is in milliseconds.
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
    reader?.cancel().catch(() => {}); // closes the connection
    throw error;
  }
}

/**
 * Waits for `work` and returns its value. Throws TypeError after so many milliseconds.
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
