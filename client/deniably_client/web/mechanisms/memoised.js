// Memoisation for repeated surveys: a permanent randomised answer (the memo), randomised afresh in
// each wave (SPEC section 2.16). RAPPOR (Erlingsson, Pihur and Korolova 2014) uses this design.

import { LARGEST } from "../core/coins.js";
import { must } from "../core/errors.js";
import { anything, integer, object } from "../core/validators.js";
import channel from "./channel.js";
import subsetSelection from "./subset_selection.js";
import ticks from "./ticks.js";
import window from "./window.js";

/** @import { Family, Mechanism, Memoised, SubsetSelection } from "./types.js" */

const FORM = object({ name: anything, once: anything, own: integer, other: integer });

/** @type {Record<string, Family>} */
const ALLOWED = { ...subsetSelection, ...window, ...channel, set_response: ticks.set_response };
const FAMILIES = new Map(Object.entries(ALLOWED));

/** @type {(mechanism: Mechanism) => Family} */
const family = ({ name }) => /** @type {Family} */ (FAMILIES.get(name));

/** @type {(once: Mechanism) => number} the number of windows, or of rows of a channel, that
 * positions are rounded to */
const rows = ({ m, w, weights }) => (weights ? weights.length : m - w + 1);

/** @type {(mechanism: Memoised) => Mechanism} the mechanism that makes the memo */
function memo({ once: { name, k, most, ...once }, own, other }) {
  if (name === "subset_selection") return { name, k, omega: 1, own, other };
  if (name === "set_response") return { name, k, most, size: 1, own, other };
  return { name: "window", k, m: rows({ name, ...once }), w: 1, own, other };
}

/**
 * The sizes that the formulas of SPEC 2.16 need. `memos` (K there) counts the possible memos. `of`
 * (c there) counts the memos, other than a given one, that favour the same report. `favoured` of
 * `all` elements or outputs have the larger weight.
 * @type {(once: Mechanism) => Record<"memos" | "of" | "favoured" | "all", number>}
 */
function sizes(once) {
  const { name, k, omega, most, m, w } = once;
  if (name === "subset_selection") return { memos: k, of: omega, favoured: omega, all: k };
  if (name === "set_response") return { memos: k + most, of: 1, favoured: most, all: k + most };
  const memos = rows(once);
  return { memos, of: Math.min(w, memos - 1), favoured: w, all: m };
}

/** @type {(numbers: readonly number[]) => bigint} */
const sum = (numbers) => numbers.reduce((total, one) => total + BigInt(one), 0n);

/** @type {(once: Mechanism) => bigint} Z of SPEC 2.16: the sum of the weights of one answer */
function total(once) {
  if (once.name === "channel") return sum(once["weights"][0]);
  const { favoured, all } = sizes(once);
  return BigInt(favoured) * BigInt(once["own"]) + BigInt(all - favoured) * BigInt(once["other"]);
}

/**
 * Returns the weight of a report that `of` memos favour, but not the kept one, and how much more a
 * report weighs that the kept memo favours: rest(c) and M (x - y) of SPEC 2.16.
 * @type {(mechanism: Memoised, of: number) => [bigint, bigint]}
 */
function weights(mechanism, of) {
  const { once, own, other } = mechanism;
  const [high, low] = [BigInt(once["own"]), BigInt(once["other"])];
  const least = low * BigInt(own - other) - BigInt(of) * BigInt(other) * (high - low);
  return [least, (high - low) * total(memo(mechanism))];
}

/** @type {(mechanism: Memoised) => Mechanism & SubsetSelection} the mechanism that randomises a memo in each wave */
function fresh(mechanism) {
  const { once } = mechanism;
  const { memos: k, of: omega } = sizes(once);
  const [least, step] = weights(mechanism, omega);
  return { name: "subset_selection", k, omega, own: Number(least + step), other: Number(least) };
}

/**
 * Returns the weights of the outputs of a window or a channel, given the memo `kept`. Averaged
 * over the memos of an answer they are in proportion to those of `once`, so one report has its
 * law.
 * @type {(mechanism: Memoised, kept: number) => bigint[]}
 */
function row(mechanism, kept) {
  const { once, other } = mechanism;
  const { memos, favoured, all } = sizes(once);
  if (once.name === "channel") {
    const whole = total(memo(mechanism));
    return once["weights"][kept].map((/** @type {number} */ weight, /** @type {number} */ y) => {
      const column = once["weights"].map((/** @type {number[]} */ one) => one[y] ?? 0);
      return whole * BigInt(weight) - BigInt(other) * sum(column);
    });
  }
  return Array.from({ length: all }, (_, y) => {
    // In how many windows output y is. The windows start at 0 .. memos - 1.
    const of = Math.min(y, memos - 1) - Math.max(y - favoured, -1);
    const [least, step] = weights(mechanism, of);
    return y >= kept && y < kept + favoured ? least + step : least;
  });
}

/**
 * Whether every memo can make every report: no weight is 0 or negative.
 * @type {(mechanism: Memoised) => boolean}
 */
function fits(mechanism) {
  const { once } = mechanism;
  if (once.name !== "channel") return weights(mechanism, sizes(once).of)[0] >= 1n;
  return once["weights"].every((/** @type {number[]} */ _, /** @type {number} */ kept) =>
    row(mechanism, kept).every((weight) => weight >= 1n),
  );
}

/** @type {Family<Memoised>} */
const memoised = {
  check(mechanism, path) {
    FORM(mechanism, path);
    const { once, own, other } = mechanism;
    must(FAMILIES.has(once?.name), `${path}.once`, "has no mechanism that a memo stands before", once?.name);
    family(once).check(once, `${path}.once`);
    const { size = 1 } = /** @type {Mechanism} */ (once);
    must(size === 1, `${path}.once`, "has a size other than 1", size);
    family(memo(mechanism)).check(memo(mechanism), `${path}: the memo`);
    const whole = BigInt(own - other) * total(once);
    must(whole <= LARGEST, path, "(own - other) * Z is at most 2^53", whole);
    must(fits(mechanism), path, "the history is too small for these reports", { own, other });
    if (once.name === "set_response") subsetSelection.subset_selection.check(fresh(mechanism), path);
  },

  loss: ({ once }) => family(once).loss(once),

  history: (mechanism) => family(memo(mechanism)).loss(memo(mechanism)),

  drawMemo: (mechanism, answer, coins) =>
    family(memo(mechanism)).randomise(memo(mechanism), answer, coins),

  // Every memo takes the same draws.
  reportFromMemo(mechanism, kept, coins) {
    const { once } = mechanism;
    const [place = -1] = kept;
    const known = kept.length === 1 && Number.isInteger(place) && place >= 0 && place < sizes(once).memos;
    must(known, "memory", "what is kept for this question is no memo of it");
    // A report of one output is drawn by its row; a set is drawn by subset selection.
    const alone = once.name === "window" || once.name === "channel";
    if (alone) return [coins.choose(row(mechanism, place).map(Number))];
    return subsetSelection.subset_selection.randomise(fresh(mechanism), place, coins);
  },

  randomise(mechanism, answer, coins) {
    const kept = memoised.drawMemo?.(mechanism, answer, coins) ?? [];
    return memoised.reportFromMemo?.(mechanism, kept, coins) ?? [];
  },
};

export default { memoised };
