// Reads response bodies up to a size limit, so that an endless one cannot fill the memory.

import { Refused } from "./errors.js";

/** Size limits in bytes, after decompression. */
export const DEFINITION = 16 << 20;
export const REGISTER = 64 << 20;
export const PROBLEM = 64 << 10;

/**
 * Reads the text of a response. Throws Refused once it exceeds `most` bytes.
 * @type {(response: Response, most: number) => Promise<string>}
 */
export async function body(response, most) {
  const decoder = new TextDecoder();
  const reader = response.body?.getReader();
  const texts = [];
  let size = 0;
  for (;;) {
    const value = (await reader?.read())?.value;
    if (!value) return texts.join("") + decoder.decode();
    size += value.length;
    if (size > most) {
      await reader?.cancel();
      throw new Refused(`the server sends more than ${most >> 10} KiB`);
    }
    texts.push(decoder.decode(value, { stream: true }));
  }
}
