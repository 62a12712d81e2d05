// The only source of randomness: exact uniform integers (SPEC section 1).

import { Refused } from "./errors.js";

/** @import { Source } from "./types.js" */

/** The largest bound of a draw. A double holds every integer up to here exactly. */
export const LARGEST = 2 ** 53;

const DRAW = 7; // bytes: the fewest that hold 53 bits
const POOL = 64 * DRAW; // getRandomValues gives at most 65536 bytes at once

/**
 * Draws uniform integers by rejection sampling from the operating system's random bytes. Make a
 * new object for each report, so that leftover bytes are never used again.
 */
export class Coins {
  #source;

  /** @param {Source} [source] for tests only */
  constructor(source = systemBytes()) {
    this.#source = source;
  }

  /**
   * Returns an integer in 0 .. n-1, each with probability exactly 1/n, for 1 <= n <= 2^53.
   * @type {(n: number) => number}
   */
  below(n) {
    if (!Number.isInteger(n) || n < 1 || n > LARGEST) {
      throw new RangeError("a draw needs a bound from 1 to 2^53");
    }
    // Bytes are taken for n = 1, too: how many are taken must not depend on anything secret.
    // Below this limit every residue modulo n occurs equally often; reject the rest.
    const limit = LARGEST - (LARGEST % n);
    for (;;) {
      const u = decoded(this.#source(DRAW));
      if (u < limit) return u % n;
    }
  }

  /**
   * Returns an index of `weights`, each with probability weight / sum of the weights.
   * @type {(weights: readonly number[]) => number}
   */
  choose(weights) {
    let total = 0;
    for (const weight of weights) {
      // Compare before adding: the sum itself could be rounded to an allowed one.
      if (!Number.isInteger(weight) || weight < 0 || weight > LARGEST - total) {
        throw new RangeError("weights are non-negative integers with a sum from 1 to 2^53");
      }
      total += weight;
    }
    const u = this.below(total);
    let sum = 0;
    return weights.findIndex((weight) => u < (sum += weight));
  }

  /**
   * Returns `size` distinct integers below `n` in random order: the first steps of a Fisher-Yates
   * shuffle.
   * @type {(n: number, size: number) => number[]}
   */
  pick(n, size) {
    if (![n, size].every(Number.isInteger) || size < 0 || size > n) {
      throw new RangeError("pick takes from none to all of n integers");
    }
    const items = [...Array(n).keys()];
    for (let i = 0; i < size; i++) {
      const j = i + this.below(n - i);
      [items[i], items[j]] = /** @type {[number, number]} */ ([items[j], items[i]]);
    }
    return items.slice(0, size);
  }

  /**
   * Returns the id of a report: 128 random bits in hexadecimal. It is a method of its own so that
   * an audit can tell the draws of an id from those of answers.
   */
  drawId() {
    // Four draws of 32 bits, as one draw has at most 53.
    const word = () => this.below(2 ** 32).toString(16).padStart(8, "0");
    return word() + word() + word() + word();
  }
}

/** @type {() => Source} bytes of the operating system's generator, fetched in blocks */
function systemBytes() {
  if (typeof globalThis.crypto?.getRandomValues !== "function") {
    throw new Refused("This browser has no secure random numbers. Please use a current one.");
  }
  let pool = new Uint8Array(0);
  let start = 0;
  return (count) => {
    if (start + count > pool.length) {
      pool = crypto.getRandomValues(new Uint8Array(Math.max(POOL, count)));
      start = 0;
    }
    start += count;
    return pool.subarray(start - count, start);
  };
}

/** @type {(bytes: Uint8Array) => number} big-endian, of 7 bytes without their top 3 bits */
function decoded(bytes) {
  // A missing byte would make every comparison false, and the draw would never end.
  if (bytes.length !== DRAW) throw new RangeError("the source gave too few random bytes");
  // Not shifted: bit operators keep 32 bits. 0x1f drops the top 3 of the 56 bits.
  return bytes.reduce((u, byte, place) => (place === 0 ? byte & 0x1f : u * 256 + byte), 0);
}
