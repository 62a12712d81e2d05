// Compares odds with powers of e, and makes losses without delta (SPEC section 2.2).

/** @import { Fraction, Loss } from "./types.js" */

/**
 * Whether odds <= e^(n/d), decided by a lower bound of e^(n/d), so that the answer is never
 * wrongly true. The bound is the Taylor series in units of 2^-128, with every term rounded down.
 * It is less than 2^-100 too small where n/d is at most 10. `n` is at least 0.
 * @type {(odds: Fraction, n: bigint, d?: bigint) => boolean}
 */
export function atMostExp([numerator, denominator], n, d = 1n) {
  let term = 1n << 128n;
  let sum = term;
  for (let i = 1n; term > 0n; i++) {
    term = (term * n) / (d * i);
    sum += term;
  }
  return numerator << 128n <= sum * denominator;
}

/** @type {(odds: Fraction) => Loss} pure differential privacy: delta is 0 */
export const pure = (odds) => ({ odds, exponent: [0n, 1n], delta: [0n, 1n] });

/**
 * The loss of a mechanism whose reports have one of two weights.
 * @type {(mechanism: {own: number, other: number}) => Loss}
 */
export const twoWeights = ({ own, other }) => pure([BigInt(own), BigInt(other)]);
