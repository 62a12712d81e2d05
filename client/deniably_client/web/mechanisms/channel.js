// A mechanism given by its whole channel matrix P(report | answer), in integer weights (SPEC
// section 2.6).

import { LARGEST } from "../core/coins.js";
import { must } from "../core/errors.js";
import { pure } from "../core/odds.js";
import { anything, integer, list, object } from "../core/validators.js";
import { checkPosition, checkPositions, knot } from "./positions.js";

/** @import { Fraction } from "../core/types.js" */
/** @import { Channel, Family } from "./types.js" */

const MOST = 4096;
const FORM = object({
  name: anything,
  k: integer,
  weights: list(list(integer, 2, MOST), 2, MOST),
});

/** @param {number[]} row in BigInt, because a double could round the sum */
const sum = (row) => row.reduce((total, weight) => total + BigInt(weight), 0n);

/** @type {(weights: number[][]) => Fraction} the largest ratio of two weights in one column */
function odds(weights) {
  /** @type {Fraction} */
  let worst = [1n, 1n];
  for (const y of (weights[0] ?? []).keys()) {
    const column = weights.map((row) => row[y] ?? 0);
    const [n, d] = [BigInt(Math.max(...column)), BigInt(Math.min(...column))];
    // n/d is compared with the worst ratio so far, cross-multiplied.
    if (n * worst[1] > worst[0] * d) worst = [n, d];
  }
  return worst;
}

/** @type {Family<Channel, number>} */
const channel = {
  check(mechanism, path) {
    FORM(mechanism, path);
    const { k, weights } = mechanism;
    checkPositions(k, path);
    const [first = []] = weights;
    must(weights.length <= k, path, "weights has from 2 to k rows", weights);
    must(weights.length * first.length <= MOST, path, `there are at most ${MOST} weights`, weights);
    const total = sum(first);
    must(total <= LARGEST, path, "the weights of a row sum to at most 2^53", first);
    for (const row of weights) {
      must(row.length === first.length, path, "the rows of weights have the same length", row);
      must(Math.min(...row) >= 1, path, "a weight is 1 or more: 0 would rule an answer out", row);
      must(sum(row) === total, path, "the rows of weights have the same sum", row);
    }
    const [n, d] = odds(weights);
    must(n > d, path, "the rows are all the same: reports would say nothing", first);
  },

  loss: ({ weights }) => pure(odds(weights)),

  randomise({ k, weights }, answer, coins) {
    checkPosition(answer, k);
    return [coins.choose(weights[knot(answer, k, weights.length, coins)] ?? [])];
  },
};

export default { channel };
