// Exact fractions and their text form: "3" or "13/7", in lowest terms.

/** @import { Fraction } from "./types.js" */

/**
 * Writes a fraction as text in lowest terms. Both numbers are at least 0, and the denominator is
 * above 0.
 * @type {(numerator: bigint, denominator: bigint) => string}
 */
export function fraction(numerator, denominator) {
  const divisor = greatestCommonDivisor(numerator, denominator);
  const [n, d] = [numerator / divisor, denominator / divisor];
  return d === 1n ? `${n}` : `${n}/${d}`;
}

/** @type {(a: bigint, b: bigint) => bigint} by Euclid's algorithm */
function greatestCommonDivisor(a, b) {
  let [divisor, rest] = [a, b];
  while (rest) [divisor, rest] = [rest, divisor % rest];
  return divisor;
}

/** @type {(text: string) => Fraction} reads the text of a fraction, as `fraction` writes it */
export function parts(text) {
  const [numerator, denominator = "1"] = text.split("/");
  return [BigInt(numerator ?? ""), BigInt(denominator)];
}

/** @type {(text: string) => Fraction} the value of a plain decimal, such as "-1.5"; not reduced */
export function decimal(text) {
  const [whole, digits = ""] = text.split(".");
  // The digits are joined as text, so the sign also counts for "-0.5": BigInt("-05") is -5.
  return [BigInt(whole + digits), 10n ** BigInt(digits.length)];
}
