// Checks answers that are positions on a grid, and rounds them to fewer places without bias.

import { BadAnswer, must } from "../core/errors.js";

/** @import { Coins } from "../core/coins.js" */

const MOST = 2 ** 20 + 1; // a range has at most 2^20 steps, and a position at both ends

/** @type {(k: number, path: string) => void} */
export const checkPositions = (k, path) =>
  must(k >= 2 && k <= MOST, path, `k is the number of positions, from 2 to ${MOST}`, k);

/** @type {(answer: number, k: number) => void} */
export function checkPosition(answer, k) {
  if (!Number.isInteger(answer) || answer < 0 || answer >= k) {
    throw new BadAnswer(`an answer is a position from 0 to ${k - 1}`);
  }
}

/**
 * Maps a position among `k` to one of `knots` positions: rounds answer * (knots - 1) / (k - 1) up
 * or down at random so that its mean is exact. It draws even where there is nothing to round, so
 * that every answer takes the same draws. Every product is far below 2^53.
 * @param {number} answer
 * @param {number} k
 * @param {number} knots
 * @param {Coins} coins
 */
export function knot(answer, k, knots, coins) {
  const scaled = answer * (knots - 1);
  const rest = scaled % (k - 1);
  return (scaled - rest) / (k - 1) + 1 - coins.choose([rest, k - 1 - rest]);
}
