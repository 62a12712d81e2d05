// What several reports of one person give away together (SPEC sections 2.2 and 2.14).

import { atMostExp, pure } from "./claim.js";
import { loss } from "./mechanism.js";

/** @import { Definition, Fraction, Loss } from "./types.js" */

/** @type {(definition: Definition) => Loss} of one person in a verified survey */
export const total = ({ questions, ask = questions.length }) =>
  largest(
    questions.map(({ mechanism }) => loss(mechanism)),
    ask,
  );

/** @type {(losses: readonly Loss[], count: number) => Loss} the sum of the largest losses */
export function largest(losses, count) {
  const falling = [...losses].sort((a, b) => (above(a, b) ? -1 : above(b, a) ? 1 : 0));
  return falling.slice(0, count).reduce(sum, pure([1n, 1n]));
}

/** @type {(one: Loss, two: Loss) => Loss} */
const sum = (one, two) => ({
  odds: [one.odds[0] * two.odds[0], one.odds[1] * two.odds[1]],
  exponent: plus(one.exponent, two.exponent),
  delta: plus(one.delta, two.delta),
});

/** @type {(one: Fraction, two: Fraction) => Fraction} */
const plus = ([n, d], [m, e]) => [n * e + m * d, d * e];

/** @type {(one: Loss, two: Loss) => Fraction} */
const quotient = ({ odds: [n, d] }, { odds: [m, e] }) => [n * e, d * m];

/**
 * Whether odds * e^exponent is larger. The odds compared are below 2^53, and that below e^40.
 * @type {(one: Loss, two: Loss) => boolean}
 */
function above(one, two) {
  const [n, d] = plus(one.exponent, [-two.exponent[0], two.exponent[1]]);
  if (n < 0n) return -n < 40n * d && !atMostExp(quotient(one, two), -n, d);
  if (n > 0n) return n > 40n * d || atMostExp(quotient(two, one), n, d);
  const [a, b] = quotient(one, two);
  return a > b;
}
