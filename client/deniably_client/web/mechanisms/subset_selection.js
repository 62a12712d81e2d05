// Subset selection, for one choice out of several (SPEC section 2.1). With omega = 1 it is generalised
// randomised response (GRR, k-RR).

import { LARGEST } from "../core/coins.js";
import { BadAnswer, must } from "../core/errors.js";
import { twoWeights } from "../core/odds.js";
import { anything, integer, object } from "../core/validators.js";

/** @import { Family, SubsetSelection } from "./types.js" */

const FORM = object({ name: anything, k: integer, omega: integer, own: integer, other: integer });

/** @type {Family<SubsetSelection, number>} */
const subsetSelection = {
  check(mechanism, path) {
    FORM(mechanism, path);
    const { k, omega, own, other } = mechanism;
    must(k >= 2 && k <= 1024, path, "k is the number of choices, from 2 to 1024", k);
    must(omega >= 1 && omega < k, path, "omega is the size of a report, from 1 to k - 1", omega);
    must(other >= 1 && own > other, path, "the weights are 1 <= other < own", { own, other });
    // In doubles a sum that is just too large could be rounded to an allowed one.
    const total = BigInt(omega) * BigInt(own) + BigInt(k - omega) * BigInt(other);
    must(total <= LARGEST, path, "omega*own + (k-omega)*other is at most 2^53", total);
  },

  loss: twoWeights,

  // Whether the answer is kept or not, the draws and their bounds are the same. So their number
  // and their bytes reveal nothing about it.
  randomise({ k, omega, own, other }, answer, coins) {
    if (!Number.isInteger(answer) || answer < 0 || answer >= k) {
      throw new BadAnswer(`an answer is the index of a choice, from 0 to ${k - 1}`);
    }
    const kept = coins.choose([omega * own, (k - omega) * other]) === 0;
    const draws = Array.from({ length: omega }, (_, i) => coins.below(k - omega + i));
    // Floyd's algorithm (Bentley and Floyd 1987): the draws pick omega of the k - 1 other
    // choices, and without the first draw omega - 1 of them.
    /** @type {Set<number>} */
    const chosen = new Set();
    for (let i = kept ? 1 : 0; i < omega; i++) {
      const t = /** @type {number} */ (draws[i]);
      chosen.add(chosen.has(t) ? k - omega + i - 1 : t);
    }
    const report = [...chosen].map((i) => (i >= answer ? i + 1 : i));
    if (kept) report.push(answer);
    return report.sort((a, b) => a - b);
  },
};

export default { subset_selection: subsetSelection };
