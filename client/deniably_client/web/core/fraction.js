// Exact fractions and their text form: "3" or "13/7", in lowest terms.

/** @import { Fraction } from "./types.js" */

/** @type {(numerator: bigint, denominator: bigint) => string} */
export function fraction(numerator, denominator) {
  const divisor = greatestCommonDivisor(numerator, denominator);
  const [n, d] = [numerator / divisor, denominator / divisor];
  return d === 1n ? `${n}` : `${n}/${d}`;
}

/** @type {(a: bigint, b: bigint) => bigint} */
function greatestCommonDivisor(a, b) {
  let [divisor, rest] = [a, b];
  while (rest) [divisor, rest] = [rest, divisor % rest];
  return divisor;
}

/** @type {(text: string) => Fraction} */
export function parts(text) {
  const [numerator, denominator = "1"] = text.split("/");
  return [BigInt(numerator ?? ""), BigInt(denominator)];
}

/** @type {(text: string) => Fraction} the value of a plain decimal, such as "-1.5" */
export function decimal(text) {
  const [whole, digits = ""] = text.split(".");
  return [BigInt(whole + digits), 10n ** BigInt(digits.length)];
}
