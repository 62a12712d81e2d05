// Certifies that discrete Gaussian noise is (epsilon, delta)-private, in whole numbers.
// (SPEC section 2.15. Canonne, Kamath and Steinke 2020, NeurIPS, theorem 7; for several numbers
// Kairouz, Liu and Steinke 2021, ICML, theorem 5.)

import { decimal, parts } from "../core/fraction.js";

/** @import { Fraction } from "../core/types.js" */

// Fixed point: every number here is a whole number of the unit 2^-160.
const BITS = 160n;
const ONE = 1n << BITS;
const NEGLIGIBLE = 1n << 64n; // 2^-96

/** What was certified: that takes milliseconds, and is asked at every check of a definition.
 * @type {Map<string, boolean>} */
const known = new Map();

/**
 * Whether `d` whole numbers, each changed by up to `shift` and each with discrete Gaussian noise
 * of variance `sigma2`, are (epsilon, delta)-private together. `shift` and `d` are at least 1.
 * @param {string} sigma2
 * @param {number} shift
 * @param {number} d
 * @param {string} epsilon
 * @param {string} delta
 */
export function keeps(sigma2, shift, d, epsilon, delta) {
  const key = [sigma2, shift, d, epsilon, delta].join();
  const [n, e] = decimal(delta);
  const upper = () => upperDelta(parts(sigma2), BigInt(shift), BigInt(d), decimal(epsilon));
  const result = known.get(key) ?? upper() * e <= n << BITS;
  known.set(key, result);
  return result;
}

/**
 * Returns an upper bound of delta in units of 2^-160; ONE, which says nothing, where no better
 * bound is known. The parameters are as for `keeps`, as numbers.
 * @param {Fraction} sigma2
 * @param {bigint} shift
 * @param {bigint} d
 * @param {Fraction} epsilon
 */
export function upperDelta([p, q], shift, d, epsilon) {
  if (epsilon[0] === 0n) return ONE;
  if (d === 1n) return upperDeltaOfOne([p, q], shift, epsilon);
  // Only the sum of the noises matters. Its law is that of d times the variance, within a factor
  // e^(+-tau). For sigma2 >= 9, tau is below 10 d 2^-128, which adds less than 3 tau to delta
  // (Kairouz, Liu and Steinke 2021, theorem 5).
  if (p < 9n * q) return ONE;
  return upperDeltaOfOne([d * p, q], d * shift, epsilon) + ((40n * d) << (BITS - 128n));
}

/**
 * As `upperDelta`, for one number: P(Y >= first) - e^epsilon P(Y >= first + shift), divided by the
 * sum of all weights (Canonne, Kamath and Steinke 2020, theorem 7; the steps are those of SPEC
 * 2.15).
 * @param {Fraction} sigma2 p/q
 * @param {bigint} shift
 * @param {Fraction} epsilon n/e
 */
function upperDeltaOfOne([p, q], shift, [n, e]) {
  // floor(epsilon sigma2/shift - shift/2) + 1
  const first = floor(2n * n * p - shift * shift * e * q, 2n * shift * e * q) + 1n;
  if (first <= 0n) return ONE;

  // Neighbours are summed in blocks, an odd number, where the weights are convex: y >= sigma.
  const block = first * first * q >= p ? (squareRoot(p / q) >> 11n) | 1n : 1n;
  const half = (block - 1n) / 2n;
  // Both tails are counted in units of the weight at `first`, which takes e^epsilon in.
  // A convex function is below its chord: the block from y counts as a trapezium ...
  const above = block * tail(first, block, [p, q], true) - half * ONE;
  // ... and on average at least what it is at the block's middle.
  const middle = first + shift + half;
  const exponent = q * e * (middle * middle - first * first) - 2n * p * n;
  const [low] = expMinus([exponent, 2n * p * e]);
  const below = block * ((low * tail(middle, block, [p, q], false)) >> BITS);
  // By Poisson summation the sum over every block-th integer gives the whole sum to a relative
  // exp(-2 pi^2 (sigma/block)^2), which is less than the one unit taken off.
  const whole = block * (2n * tail(0n, block, [p, q], false) - ONE) - 1n;
  const [, high] = expMinus([first * first * q, 2n * p]);
  return ceiling((above - below) * high, whole);
}

/**
 * Returns the sum over i >= 0 of w(first + i step) / w(first), with w(y) = exp(-y^2 q/(2p)), in
 * units of 2^-160, rounded up or down. Each weight is the one before times a ratio, and each ratio
 * the one before times a constant.
 * @param {bigint} first
 * @param {bigint} step
 * @param {Fraction} sigma2
 * @param {boolean} up
 */
function tail(first, step, [p, q], up) {
  const unit = up ? 1n : 0n;
  const bound = (/** @type {Fraction} */ x) => expMinus(x)[up ? 1 : 0];
  let ratio = bound([(2n * first * step + step * step) * q, 2n * p]);
  const change = bound([step * step * q, p]);
  let total = 0n;
  let term = ONE;
  while (term >= NEGLIGIBLE) {
    total += term;
    term = ((term * ratio) >> BITS) + unit;
    ratio = ((ratio * change) >> BITS) + unit;
  }
  // The ratios fall, so a geometric series bounds the rest.
  return up ? total + (term * ONE) / (ONE - ratio) + 1n : total;
}

/**
 * Returns integers [low, high] with low <= 2^160 e^-(n/d) <= high, for n >= 0.
 * @param {Fraction} x
 * @returns {Fraction}
 */
function expMinus([n, d]) {
  if (n > 64n * d) {
    // e^-x = (e^-(x/2))^2 keeps the series short.
    const [low, high] = expMinus([n, 2n * d]);
    return [(low * low) >> BITS, ((high * high) >> BITS) + 1n];
  }
  const [low, high] = expBounds([n, d]);
  return [(ONE * ONE) / high, ceiling(ONE * ONE, low)];
}

/**
 * Returns integers [low, high] with low <= 2^160 e^(n/d) <= high, for 0 <= n/d <= 64: the Taylor
 * series, each term rounded down or up. Past the index 2n/d the terms at least halve, so that the
 * rest of the series is at most the last one.
 * @param {Fraction} x
 * @returns {Fraction}
 */
function expBounds([n, d]) {
  let [low, high, lowTerm, highTerm] = [ONE, ONE, ONE, ONE];
  for (let i = 1n; highTerm > 1n || (i - 1n) * d < 2n * n; i++) {
    lowTerm = (lowTerm * n) / (d * i);
    highTerm = ceiling(highTerm * n, d * i);
    low += lowTerm;
    high += highTerm;
  }
  return [low, high + highTerm];
}

/** @type {(n: bigint, d: bigint) => bigint} the floor of n/d, d > 0 */
const floor = (n, d) => (n < 0n ? -ceiling(-n, d) : n / d);

/** @type {(n: bigint, d: bigint) => bigint} the ceiling of n/d, n >= 0 and d > 0 */
const ceiling = (n, d) => (n + d - 1n) / d;

/** @param {bigint} n below 2^52, where a double's square root is rounded correctly */
const squareRoot = (n) => BigInt(Math.floor(Math.sqrt(Number(n))));
