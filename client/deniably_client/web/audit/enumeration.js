// Enumerates every branch of the running randomiser in exact fractions: proof instead of sampling.

import { Coins } from "../core/coins.js";
import { fraction, parts } from "../core/fraction.js";
import { randomise } from "../mechanisms/mechanism.js";

/** @import { Fraction } from "../core/types.js" */
/** @import { Input, Mechanism } from "../mechanisms/types.js" */

/**
 * Each possible report (its integers joined by commas) with its probability.
 * @typedef {Map<string, string>} Law
 */

/**
 * The summed shares of some paths, by their whole; most paths share one whole.
 * @typedef {Map<bigint, bigint>} Shares
 */

/**
 * Thrown where a branch is less probable than the cut. One object for all: making an Error is
 * slow, because it collects the stack.
 */
const CUT_OFF = new Error("less probable than the cut");

/** Coins that walk a tree: repeat a path, then take the first branch of every further draw. */
class Replay extends Coins {
  /** @type {number[]} the number of branches of each draw */
  widths = [];
  numerator = 1n;
  denominator = 1n;

  /** @type {string[]} the ids that were drawn */
  drawn = [];

  /**
   * @param {number[]} path
   * @param {Fraction} cut
   * @param {readonly string[]} [ids] equally likely values of an id; without them an id has one
   */
  constructor(path, cut, ids) {
    super(() => new Uint8Array(0));
    this.path = path;
    this.cut = cut;
    this.ids = ids;
  }

  /**
   * @override
   * @param {number} n
   */
  below(n) {
    const branch = this.#branch(n);
    this.#go(1n, BigInt(n));
    return branch;
  }

  /**
   * Branches once for each weight, which is far fewer than the draws that `choose` may see.
   * Another test walks the shipped `choose` draw by draw and shows that it has the same law.
   * @override
   * @param {readonly number[]} weights
   */
  choose(weights) {
    const total = weights.reduce((sum, weight) => sum + BigInt(weight), 0n);
    // A weight of 0 is no branch: nothing can come of it.
    const possible = [...weights.keys()].filter((index) => weights[index] !== 0);
    const index = possible[this.#branch(possible.length)] ?? 0;
    this.#go(BigInt(weights[index] ?? 0), total);
    return index;
  }

  /**
   * Nobody can walk 2^128 ids, so a few stand for all.
   * @override
   */
  drawId() {
    const { ids = ["0".repeat(32)] } = this;
    const id = ids[this.below(ids.length)] ?? "";
    this.drawn.push(id);
    return id;
  }

  /**
   * @param {bigint} numerator
   * @param {bigint} denominator
   */
  #go(numerator, denominator) {
    this.numerator *= numerator;
    this.denominator *= denominator;
    const [n, d] = this.cut;
    // The path's probability is numerator/denominator; BigInts are compared cross-multiplied.
    if (this.numerator * d < n * this.denominator) throw CUT_OFF;
  }

  /** @param {number} width */
  #branch(width) {
    const depth = this.widths.push(width) - 1;
    return (this.path[depth] ??= 0);
  }
}

/**
 * Returns the exact law of `run(coins)`. Calls `run` once for every path through its draws.
 * @param {(coins: Coins) => unknown} run
 * @returns {Law}
 */
export function distribution(run) {
  return distributionAbove(run, "0").law;
}

/**
 * Returns the law of a `run` that may never end, from the paths of probability `cut` and above.
 * `law` is a lower bound of each result's probability; `unexploredMass` is the probability of all
 * other paths.
 * @param {(coins: Coins) => unknown} run
 * @param {string} cut
 * @returns {{law: Law, unexploredMass: string}}
 */
export function distributionAbove(run, cut) {
  /** @type {Map<string, Shares>} */
  const law = new Map();
  /** @type {Shares} */
  const unexplored = new Map();
  /** @type {number[]} */
  const path = [];
  const least = parts(cut);
  do {
    const coins = new Replay(path, least);
    const { numerator, denominator, report } = follow(run, coins);
    if (report === undefined) add(unexplored, numerator, denominator);
    else if (numerator > 0n) {
      const shares = law.get(report) ?? new Map();
      law.set(report, add(shares, numerator, denominator));
    }
    advance(path, coins.widths);
  } while (path.length > 0);
  /** @type {Law} */
  const summed = new Map();
  for (const [report, shares] of law) summed.set(report, sum(shares));
  return { law: summed, unexploredMass: sum(unexplored) };
}

/**
 * The law of whole reports: of all that `send(coins)` sends together, with the `ids` that were
 * drawn for it. What is sent is in the order of the keys.
 * @param {(coins: Coins) => Promise<readonly string[]>} send
 * @param {readonly string[]} ids some that stand for all
 * @returns {Promise<{sent: readonly string[], drawn: string[], share: string}[]>}
 */
export async function wholeReports(send, ids) {
  /** @type {Map<string, {sent: readonly string[], drawn: string[], shares: Shares}>} */
  const law = new Map();
  /** @type {number[]} */
  const path = [];
  do {
    const coins = new Replay(path, [0n, 1n], ids);
    const sent = await send(coins);
    const { drawn, numerator, denominator } = coins;
    const key = JSON.stringify([sent, drawn]);
    const entry = law.get(key) ?? { sent, drawn, shares: new Map() };
    add(entry.shares, numerator, denominator);
    law.set(key, entry);
    advance(path, coins.widths);
  } while (path.length > 0);
  return Array.from(law.values(), ({ shares, ...entry }) => ({ ...entry, share: sum(shares) }));
}

/**
 * Returns the report at the end of a path, and the path's probability. A cut path has no report.
 * @param {(coins: Coins) => unknown} run
 * @param {Replay} coins
 */
function follow(run, coins) {
  let report;
  try {
    report = String(run(coins));
  } catch (error) {
    if (error !== CUT_OFF) throw error;
  }
  return { numerator: coins.numerator, denominator: coins.denominator, report };
}

/** @type {(shares: Shares, numerator: bigint, denominator: bigint) => Shares} */
function add(shares, numerator, denominator) {
  return shares.set(denominator, (shares.get(denominator) ?? 0n) + numerator);
}

/** @type {(shares: Shares) => string} */
function sum(shares) {
  return [...shares].reduce((sum, [d, n]) => {
    const [m, e] = parts(sum);
    return fraction(m * d + n * e, d * e);
  }, "0");
}

/**
 * Moves `path` to the next one in depth-first order; it is empty after the last one.
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
 * Returns the channel of a shipped randomiser that always ends: the law of each answer.
 * @param {Mechanism} mechanism
 * @param {Iterable<Input>} [answers] by default the indices below k
 * @returns {Law[]}
 */
export function channel(mechanism, answers = Array(mechanism["k"]).keys()) {
  return Array.from(answers, (answer) =>
    distribution((coins) => randomise(mechanism, answer, coins)),
  );
}

/**
 * Returns the largest ratio between two answers' probabilities of one report, and where it is:
 * `report` is `odds` times as probable under the answer `likelier` as under `unlikelier`.
 * `odds` is "infinite" where a report is possible under one answer and impossible under another.
 * @param {readonly Law[]} laws the law of every answer
 */
export function worstOdds(laws) {
  let worst = { odds: "1", report: "", likelier: 0, unlikelier: 0 };
  for (const report of new Set(laws.flatMap((law) => [...law.keys()]))) {
    const chances = laws.map((law) => parts(law.get(report) ?? "0"));
    const likelier = extreme(chances, larger);
    const unlikelier = extreme(chances, (one, two) => larger(two, one));
    const [[n, d], [m, e]] = [chances[likelier] ?? ZERO, chances[unlikelier] ?? ZERO];
    if (m === 0n) return { odds: "infinite", report, likelier, unlikelier };
    if (larger([n * e, d * m], parts(worst.odds))) {
      worst = { odds: fraction(n * e, d * m), report, likelier, unlikelier };
    }
  }
  return worst;
}

/** @type {Fraction} */
const ZERO = [0n, 1n];

/**
 * Returns the index of the first of the fractions that no other one exceeds.
 * @param {readonly Fraction[]} fractions
 * @param {(one: Fraction, two: Fraction) => boolean} exceeds
 */
function extreme(fractions, exceeds) {
  return fractions.reduce(
    (best, one, place) => (exceeds(one, fractions[best] ?? ZERO) ? place : best),
    0,
  );
}

/** @type {(one: Fraction, two: Fraction) => boolean} */
function larger([n, d], [m, e]) {
  return n * e > m * d;
}
