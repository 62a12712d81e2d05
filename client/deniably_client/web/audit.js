// Proof instead of sampling: every branch of the running randomiser, in exact fractions.

import { Coins } from "./coins.js";
import { fraction, parts } from "./fraction.js";
import { randomise } from "./mechanism.js";

/** @import { Mechanism } from "./mechanism.js" */

/**
 * Each possible report (its choices joined by commas) with its probability.
 * @typedef {Map<string, string>} Law
 */

const ENUMERABLE = 1024;

/** Coins that walk a tree: repeat a path, then take the first branch of every further draw. */
class Replay extends Coins {
  /** @type {number[]} the number of branches at each draw */
  widths = [];
  numerator = 1n;
  denominator = 1n;

  /** @param {number[]} path */
  constructor(path) {
    super(() => new Uint8Array(0));
    this.path = path;
  }

  /**
   * @override
   * @param {number} n
   */
  below(n) {
    this.denominator *= BigInt(n);
    return this.#branch(n);
  }

  /**
   * Small weights go through the shipped `choose`, draw by draw, so that it is audited too;
   * 2^32 branches cannot be, and are taken by their weights.
   * @override
   * @param {readonly number[]} weights
   */
  choose(weights) {
    const total = weights.reduce((sum, weight) => sum + BigInt(weight), 0n);
    if (total <= ENUMERABLE) return super.choose(weights);
    const branch = this.#branch(weights.length);
    this.numerator *= BigInt(weights[branch] ?? 0);
    this.denominator *= total;
    return branch;
  }

  /** @param {number} width */
  #branch(width) {
    const depth = this.widths.push(width) - 1;
    return (this.path[depth] ??= 0);
  }
}

/**
 * The exact law of `run(coins)`, which is called once for every path through its draws.
 * @param {(coins: Coins) => unknown} run
 * @returns {Law}
 */
export function distribution(run) {
  /** @type {Law} */
  const law = new Map();
  /** @type {number[]} */
  const path = [];
  do {
    const coins = new Replay(path);
    const report = String(run(coins));
    if (coins.numerator > 0n) {
      const [n, d] = parts(law.get(report) ?? "0");
      const numerator = n * coins.denominator + coins.numerator * d;
      law.set(report, fraction(numerator, d * coins.denominator));
    }
    advance(path, coins.widths);
  } while (path.length > 0);
  return law;
}

/**
 * To the next path in the order of the tree; empty after the last one.
 * @param {number[]} path
 * @param {number[]} widths
 */
function advance(path, widths) {
  while (path.length > 0 && path[path.length - 1] === (widths[path.length - 1] ?? 0) - 1) {
    path.pop();
  }
  if (path.length > 0) path.push((path.pop() ?? 0) + 1);
}

/**
 * The whole channel of the shipped randomiser: a law for each answer.
 * @param {Mechanism} mechanism
 * @returns {Law[]}
 */
export function channel(mechanism) {
  return Array.from({ length: mechanism.k }, (_, answer) =>
    distribution((coins) => randomise(mechanism, answer, coins)),
  );
}

/**
 * The largest ratio between two answers' probabilities of one report, and where it is:
 * `report` is `odds` times as probable under the answer `likelier` as under `unlikelier`.
 * `odds` is "infinite" where one answer rules a report out that another allows.
 * @param {readonly Law[]} laws the law of every answer
 */
export function worstOdds(laws) {
  let worst = { odds: "1", report: "", likelier: 0, unlikelier: 0 };
  for (const report of new Set(laws.flatMap((law) => [...law.keys()]))) {
    for (const [likelier, above] of laws.entries()) {
      for (const [unlikelier, below] of laws.entries()) {
        const odds = quotient(above.get(report) ?? "0", below.get(report) ?? "0");
        if (odds === "infinite") return { odds, report, likelier, unlikelier };
        if (larger(odds, worst.odds)) worst = { odds, report, likelier, unlikelier };
      }
    }
  }
  return worst;
}

/**
 * @param {string} above
 * @param {string} below
 */
function quotient(above, below) {
  const [[n, d], [m, e]] = [parts(above), parts(below)];
  if (m === 0n) return n === 0n ? "1" : "infinite";
  return fraction(n * e, d * m);
}

/**
 * @param {string} one
 * @param {string} two
 */
function larger(one, two) {
  const [[n, d], [m, e]] = [parts(one), parts(two)];
  return n * e > m * d;
}
