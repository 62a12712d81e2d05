// Discrete Laplace and Gaussian noise on a grid, sampled exactly (SPEC sections 2.10 to 2.13).
// Source of all samplers: Canonne, Kamath and Steinke 2020 (NeurIPS), algorithms 1 to 3.

import { LARGEST } from "../core/coins.js";
import { BadAnswer, must } from "../core/errors.js";
import { decimal, fraction, parts } from "../core/fraction.js";
import { DECIMAL, anything, integer, like, object } from "../core/validators.js";
import { keeps } from "./gaussian_delta.js";
import { checkPosition, checkPositions } from "./positions.js";

/** @import { Coins } from "../core/coins.js" */
/** @import { Check, Loss } from "../core/types.js" */
/** @import { BoundedLaplace, Family, Gaussian, Laplace } from "./types.js" */

// --- samplers ---------------------------------------------------------------------------------

/**
 * Returns true with probability e^-(n/d), for 0 <= n <= d. With x = n/d, round j succeeds with
 * probability x/j, so the first failure is in an odd round with probability 1 - x + x^2/2! - ...
 * Both draws of a round are always made.
 * @param {number} n
 * @param {number} d
 * @param {Coins} coins
 */
export function chance(n, d, coins) {
  for (let j = 1; ; j++) {
    const failures = [coins.choose([n, d - n]), coins.below(j)];
    if (failures.some((failure) => failure !== 0)) return j % 2 === 1;
  }
}

/**
 * Returns true with probability e^-(n/d), for any n >= 0.
 * @param {bigint} n
 * @param {bigint} d at most 2^53 in lowest terms
 * @param {Coins} coins
 */
export function fall(n, d, coins) {
  const [above, below] = parts(fraction(n, d));
  for (let whole = above / below; whole > 0n; whole--) {
    if (!chance(1, 1, coins)) return false;
  }
  return chance(Number(above % below), Number(below), coins);
}

/**
 * Draws a whole number y with probability proportional to e^-(|y| s/t).
 * @param {number} t
 * @param {number} s
 * @param {Coins} coins
 */
export function laplace(t, s, coins) {
  for (;;) {
    const u = coins.below(t);
    if (!chance(u, t, coins)) continue;
    let v = 0;
    while (chance(1, 1, coins)) v++;
    const sum = u + t * v;
    const magnitude = (sum - (sum % s)) / s;
    const negative = coins.below(2) === 1;
    // 0 has one sign only: else -0 and 0 together would come twice as often.
    if (magnitude !== 0) return negative ? -magnitude : magnitude;
    if (!negative) return 0;
  }
}

/**
 * Draws a whole number y with probability proportional to e^-(y^2 q / (2p)).
 * @param {number} p
 * @param {number} q
 * @param {Coins} coins
 */
export function gaussian(p, q, coins) {
  const t = root(p, q);
  const [P, Q, T] = [BigInt(p), BigInt(q), BigInt(t)];
  for (;;) {
    const y = laplace(t, 1, coins);
    // Laplace noise of scale t is accepted with e^-((|y| - sigma2/t)^2 / (2 sigma2)).
    if (fall((BigInt(Math.abs(y)) * Q * T - P) ** 2n, 2n * P * Q * T ** 2n, coins)) return y;
  }
}

/**
 * floor(sqrt(floor(p/q))) + 1. (The square root of so small a double is rounded correctly.)
 * @param {number} p
 * @param {number} q
 */
const root = (p, q) => Math.floor(Math.sqrt(Math.floor(p / q))) + 1;

// --- mechanisms -------------------------------------------------------------------------------

const RATIO = like(/^[1-9][0-9]{0,9}(\/[1-9][0-9]{0,9})?$/);

/** @type {Check} */
function checkRatio(value, path) {
  RATIO(value, path);
  const [n, d] = parts(value);
  const small = n <= 1n << 31n && d <= 1n << 31n;
  must(small && fraction(n, d) === value, path, "is in lowest terms, of integers up to 2^31", value);
}

/** @type {(text: string) => [number, number]} */
const ratio = (text) => /** @type {[number, number]} */ (parts(text).map(Number));

/** @type {(mechanism: Laplace) => Loss} two answers are at most k - 1 steps apart */
function laplaceLoss({ k, scale }) {
  const [t, s] = parts(scale);
  return { odds: [1n, 1n], exponent: [BigInt(k - 1) * s, t], delta: [0n, 1n] };
}

const LAPLACE = { name: anything, k: integer, scale: checkRatio };
const UNBOUNDED = object(LAPLACE);
const BOUNDED = object({ ...LAPLACE, beyond: like(/^(clamp|resample)$/) });

/**
 * Clamps a noisy number to the range of reports.
 * @type {(y: number, k: number, reach: number) => number}
 */
const within = (y, k, reach) => Math.min(Math.max(y, -reach), k - 1 + reach);

/** @type {(k: number, reach: number, path: string) => void} */
const checkReach = (k, reach, path) =>
  must(k + 2 * reach <= 2 ** 24, path, "the noise is too wide for so fine a grid", k);

/** @type {(scale: string) => number} how far a report may lie beyond the grid */
function wide(scale) {
  const [t, s] = ratio(scale);
  return 40 * Math.ceil(t / s); // beyond 40 scales: e^-40, less than once in 10^17 reports
}

/** @type {Family<Laplace, number>} */
const unboundedLaplace = {
  check(mechanism, path) {
    UNBOUNDED(mechanism, path);
    checkPositions(mechanism.k, path);
    checkReach(mechanism.k, wide(mechanism.scale), path);
  },

  loss: laplaceLoss,

  randomise({ k, scale }, answer, coins) {
    checkPosition(answer, k);
    return [within(answer + laplace(...ratio(scale), coins), k, wide(scale))];
  },
};

/** @type {Family<BoundedLaplace, number>} */
const boundedLaplace = {
  check(mechanism, path) {
    BOUNDED(mechanism, path);
    checkPositions(mechanism.k, path);
  },

  loss: laplaceLoss,

  // Where it resamples, the number of draws depends on the answer.
  randomise({ k, scale, beyond }, answer, coins) {
    checkPosition(answer, k);
    for (;;) {
      const y = answer + laplace(...ratio(scale), coins);
      if (beyond === "clamp") return [Math.min(Math.max(y, 0), k - 1)];
      if (y >= 0 && y < k) return [y];
    }
  },
};

const GAUSSIAN = object({
  name: anything,
  k: integer,
  d: integer,
  sigma2: checkRatio,
  epsilon: DECIMAL,
  delta: DECIMAL,
});

/** @type {Family<Gaussian, number | readonly number[]>} */
const gaussianNoise = {
  check(mechanism, path) {
    GAUSSIAN(mechanism, path);
    const { k, d, sigma2, epsilon, delta } = mechanism;
    checkPositions(k, path);
    must(d >= 1 && d <= 64, path, "d is the number of positions, from 1 to 64", d);
    const [p, q] = ratio(sigma2);
    // The bound of the largest draw in `gaussian`, which must not exceed 2^53.
    const largest = 2n * BigInt(p) * BigInt(q) * BigInt(root(p, q)) ** 2n;
    must(largest <= LARGEST, path, "sigma2 is too large or too finely divided", sigma2);
    checkReach(k, 12 * root(p, q), path);
    const [n, e] = decimal(delta);
    // 10,000 n <= e is delta = n/e <= 0.0001.
    must(n > 0n && 10000n * n <= e, path, "delta is above 0 and at most 0.0001", delta);
    const kept = keeps(sigma2, k - 1, d, epsilon, delta);
    must(kept, path, "sigma2 is too small for the epsilon and delta that are stated", sigma2);
  },

  loss: ({ epsilon, delta }) => ({
    odds: [1n, 1n],
    exponent: decimal(epsilon),
    delta: decimal(delta),
  }),

  randomise({ k, d, sigma2 }, answer, coins) {
    const positions = typeof answer === "number" ? [answer] : answer;
    if (!Array.isArray(positions) || positions.length !== d) {
      throw new BadAnswer(`an answer has ${d} positions`);
    }
    for (const position of positions) checkPosition(position, k);
    const [p, q] = ratio(sigma2);
    // Noise beyond 12 sigma comes less than once in 10^32 reports; more would let one false report
    // move a mean.
    const reach = 12 * root(p, q);
    return positions.map((position, c) => within(position + gaussian(p, q, coins), k, reach) * d + c);
  },
};

export default {
  laplace: unboundedLaplace,
  bounded_laplace: boundedLaplace,
  gaussian: gaussianNoise,
};
