// Types of bytes, numbers and losses. Respondents do not download this file.

/** Gives the next `count` random bytes. */
export type Source = (count: number) => Uint8Array;

/** Numerator and denominator, which is above 0; in lowest terms only where that is said. */
export type Fraction = [bigint, bigint];

/** Validates the value at a path of a definition. Throws Refused. */
export type Check = (value: any, path: string) => void;

/**
 * A privacy loss: a report shifts the odds between two answers by at most `odds * e^exponent`, except
 * with probability `delta`.
 */
export interface Loss {
  odds: Fraction;
  exponent: Fraction;
  delta: Fraction;
}
