// Mechanisms for several ticks: set response (PrivSet), sampled ticks, unary encoding (SUE, OUE); SPEC
// sections 2.7 to 2.9.

import { LARGEST } from "../core/coins.js";
import { BadAnswer, must } from "../core/errors.js";
import { pure, twoWeights } from "../core/odds.js";
import { anything, integer, object } from "../core/validators.js";

/** @import { Check } from "../core/types.js" */
/** @import { Family, SampledTicks, SetResponse, Unary } from "./types.js" */

const KEYS = { name: anything, k: integer, own: integer, other: integer };

/** @type {(keys: Record<string, Check>) => Check} checks the common keys of all three, and these */
const common = (keys) => {
  const form = object({ ...KEYS, ...keys });
  return (value, path) => {
    form(value, path);
    const { k, most = 1, own, other } = value;
    must(k >= 2 && k <= 1024, path, "k is the number of options, from 2 to 1024", k);
    must(most >= 1 && most <= k, path, "most is the number of ticks allowed, from 1 to k", most);
    must(other >= 1 && own > other, path, "the weights are 1 <= other < own", { own, other });
  };
};

/** @type {(answer: readonly number[], k: number, most: number) => void} */
function checkTicks(answer, k, most) {
  if (!Array.isArray(answer) || answer.length > most) {
    throw new BadAnswer(`an answer is a list of at most ${most} ticks`);
  }
  let least = 0;
  for (const tick of answer) {
    if (!Number.isInteger(tick) || tick < least || tick >= k) {
      throw new BadAnswer(`ticks are distinct indices from 0 to ${k - 1}, ascending`);
    }
    least = tick + 1;
  }
}

/** @type {(n: number) => number[]} */
const upTo = (n) => Array.from({ length: n }, (_, i) => i);

/** @type {(numbers: number[]) => number[]} */
const ascending = (numbers) => numbers.sort((a, b) => a - b);

// --- set response -----------------------------------------------------------------------------

const SET_RESPONSE = common({ most: integer, size: integer });

/** @type {Family<SetResponse, readonly number[]>} */
const setResponse = {
  check(mechanism, path) {
    SET_RESPONSE(mechanism, path);
    const { k, size } = mechanism;
    must(size >= 1 && size <= k, path, "size is the number of options in a report, from 1 to k", size);
    const total = weights(mechanism).reduce((sum, weight) => sum + weight);
    must(total <= LARGEST, path, "the weights of all reports sum to at most 2^53", total);
  },

  loss: twoWeights,

  // SPEC 2.7: set T is the ticks and blanks, U all other options and blanks.
  // Blanks pad an answer to `most` ticks. Otherwise the sum of the weights would reveal the number
  // of ticks. Every answer takes the same draws.
  randomise(mechanism, answer, coins) {
    const { k, most, size } = mechanism;
    checkTicks(answer, k, most);
    const padded = [...answer, ...upTo(most - answer.length).map((blank) => k + blank)];
    const rest = upTo(k + most).filter((option) => !padded.includes(option));
    const shared = coins.choose(weights(mechanism).map(Number));
    // Picked in full and then cut, so that the number of draws does not depend on `shared`.
    const inside = coins.pick(most, Math.min(most, size)).slice(0, shared);
    const outside = coins.pick(k, size).slice(0, size - shared);
    const report = [...inside.map((i) => padded[i]), ...outside.map((i) => rest[i])];
    return ascending(/** @type {number[]} */ (report));
  },
};

/**
 * The total weight of all reports with j of the `most` padded ticks, for j = 0, 1, ...:
 * C(most, j) C(k, size - j) times the weight of one.
 * @type {(mechanism: SetResponse) => bigint[]}
 */
function weights({ k, most, size, own, other }) {
  const [inside, outside] = [binomials(most), binomials(k)];
  return upTo(Math.min(most, size) + 1).map((shared) => {
    const sets = (inside[shared] ?? 0n) * (outside[size - shared] ?? 0n);
    return sets * BigInt(shared === 0 ? other : own);
  });
}

/** @type {(n: number) => bigint[]} n over 0, n over 1, ..., n over n */
function binomials(n) {
  let last = 1n;
  return [last, ...upTo(n).map((i) => (last = (last * BigInt(n - i)) / BigInt(i + 1)))];
}

// --- sampled ticks ----------------------------------------------------------------------------

const SAMPLED_TICKS = common({ s: integer });

/** @type {Family<SampledTicks, readonly number[]>} */
const sampledTicks = {
  check(mechanism, path) {
    SAMPLED_TICKS(mechanism, path);
    const { k, s, own, other } = mechanism;
    must(s >= 1 && s <= k, path, "s is the number of options in a report, from 1 to k", s);
    must(BigInt(own) + BigInt(other) <= LARGEST, path, "own + other is at most 2^53", [own, other]);
  },

  // Each of the s options is flipped by itself, and two answers can differ in all of them.
  loss: ({ s, own, other }) => pure([BigInt(own) ** BigInt(s), BigInt(other) ** BigInt(s)]),

  randomise({ k, s, own, other }, answer, coins) {
    checkTicks(answer, k, k);
    return ascending(coins.pick(k, s)).map((option) => {
      const flip = coins.choose([own, other]);
      // One integer for the option and its tick, which `flip` turns over.
      return 2 * option + (answer.includes(option) ? 1 - flip : flip);
    });
  },
};

// --- unary encoding ---------------------------------------------------------------------------

const UNARY = common({ most: integer, total: integer });

/** @type {Family<Unary, readonly number[]>} */
const unary = {
  check(mechanism, path) {
    UNARY(mechanism, path);
    const { own, total } = mechanism;
    must(own < total, path, "own is below total", { own, total });
  },

  // The worst pair: one answer ticks `most` options, the other as many of the rest as it can. a/b
  // is the ratio for a reported option that only one ticked, c/d that for one left out (SPEC 2.9).
  loss({ k, most, own, other, total }) {
    const [a, b] = [BigInt(own), BigInt(other)];
    const [c, d] = [BigInt(total) - b, BigInt(total) - a];
    const [i, j] = [BigInt(most), BigInt(Math.min(most, k - most))];
    const [x, y] = a * d > c * b ? [i, j] : [j, i];
    return pure([a ** x * c ** y, b ** x * d ** y]);
  },

  randomise({ k, most, own, other, total }, answer, coins) {
    checkTicks(answer, k, most);
    return upTo(k).filter((option) => {
      const weight = answer.includes(option) ? own : other;
      return coins.choose([weight, total - weight]) === 0;
    });
  },
};

export default { set_response: setResponse, sampled_ticks: sampledTicks, unary };
