// Composition: the privacy loss of several reports of one person (SPEC sections 2.2 and 2.14).

import { atMostExp, pure } from "./odds.js";

/** @import { Fraction, Loss } from "./types.js" */

/**
 * Returns an upper bound of the composition of any `count` of the losses: that of the `count`
 * losses with the largest odds * e^exponent, with the sum of the `count` largest deltas, which may
 * belong to other losses.
 * @type {(losses: readonly Loss[], count: number) => Loss}
 */
export function largest(losses, count) {
  /**
   * Composes the first `count` in falling order.
   * @type {(above: (one: Loss, two: Loss) => boolean) => Loss}
   */
  const most = (above) => {
    const falling = [...losses].sort((a, b) => (above(a, b) ? -1 : above(b, a) ? 1 : 0));
    return falling.slice(0, count).reduce(sum, pure([1n, 1n]));
  };
  const { delta } = most(({ delta: [n, d] }, { delta: [m, e] }) => n * e > m * d);
  return { ...most(above), delta };
}

/**
 * Sequential composition: odds multiply, the rest adds up.
 * @type {(one: Loss, two: Loss) => Loss}
 */
export const sum = (one, two) => ({
  odds: [one.odds[0] * two.odds[0], one.odds[1] * two.odds[1]],
  exponent: plus(one.exponent, two.exponent),
  delta: plus(one.delta, two.delta),
});

/** @type {(one: Fraction, two: Fraction) => Fraction} */
const plus = ([n, d], [m, e]) => [n * e + m * d, d * e];

/** @type {(one: Loss, two: Loss) => Fraction} the odds of `one` over those of `two` */
const quotient = ({ odds: [n, d] }, { odds: [m, e] }) => [n * e, d * m];

/**
 * Whether odds * e^exponent is larger for `one` than for `two`. The losses are compared as
 * quotient > e^(difference of the exponents). All odds here are below e^40, because a part of a
 * vector has odds below 2^53 and a claim allows at most e^10. So a difference of 40 decides alone.
 * @type {(one: Loss, two: Loss) => boolean}
 */
function above(one, two) {
  const [n, d] = plus(one.exponent, [-two.exponent[0], two.exponent[1]]);
  if (n < 0n) return -n < 40n * d && !atMostExp(quotient(one, two), -n, d);
  if (n > 0n) return n > 40n * d || atMostExp(quotient(two, one), n, d);
  const [a, b] = quotient(one, two);
  return a > b;
}
