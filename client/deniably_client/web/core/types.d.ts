// The types of bytes and numbers, apart from what respondents download.

/** Gives the next `count` random bytes. */
export type Source = (count: number) => Uint8Array;

/** Numerator and denominator, which is above 0; in lowest terms only where that is said. */
export type Fraction = [bigint, bigint];

/** Throws Refused unless the value at the path of a definition is as it must be. */
export type Check = (value: any, path: string) => void;

/**
 * A report shifts the odds between two answers at most `odds * e^exponent` times, except with
 * probability `delta`.
 */
export interface Loss {
  odds: Fraction;
  exponent: Fraction;
  delta: Fraction;
}
