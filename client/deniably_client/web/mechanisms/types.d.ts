// Types of mechanisms. Respondents do not download this file.

import type { Coins } from "../core/coins.js";
import type { Loss } from "../core/types.js";

/** A mechanism's name and its parameters, as they are published. */
export type Mechanism = { name: string } & Record<string, any>;

/** What a mechanism randomises: the index of a choice, the position of a number on its grid, the
 * ascending indices of several ticked options, or several positions. */
export type Input = number | readonly number[];

/**
 * The functions of all mechanisms of one name. `check` throws Refused for invalid parameters; `loss`
 * and `randomise` take checked ones. `randomise` makes the report of an answer, a list of integers, and
 * throws BadAnswer before any draw.
 *
 * Memoised mechanisms randomise an answer once and keep the result, the memo. They also have
 * `history`, the loss of all reports from one memo; `drawMemo`, which makes the memo; and
 * `reportFromMemo`, which makes a report from the memo alone.
 */
export interface Family<M = any, A = any> {
  check(mechanism: M, path: string): void;
  loss(mechanism: M): Loss;
  randomise(mechanism: M, answer: A, coins: Coins): number[];
  history?(mechanism: M): Loss;
  drawMemo?(mechanism: M, answer: A, coins: Coins): number[];
  reportFromMemo?(mechanism: M, memo: readonly number[], coins: Coins): number[];
}

/** Modules imported on first use, by the name that needs each. Their default exports map names of
 * mechanisms or of types of questions to what is known of them. */
export type Sources<T> = Record<string, () => Promise<{ default: Record<string, T> }>>;

/** The weights of reports that fit the answer, and of all others; their ratio is the odds. */
export interface Weights {
  own: number;
  other: number;
}

/**
 * Report `omega` of `k` choices; sets with the answer weigh `own`, others `other`.
 * Source: Ye and Barg 2018 (IEEE Trans. Inf. Theory 64:5662), scheme of section III.
 */
export interface SubsetSelection extends Weights {
  k: number;
  omega: number;
}

/** Report one of `m` outputs. Those in the window of `w` outputs that begins at the answer's place
 * weigh `own`, all others `other`. */
export interface Window extends Weights {
  k: number;
  m: number;
  w: number;
}

/** Report output y with probability `weights[row][y]` over the row's sum. */
export interface Channel {
  k: number;
  weights: number[][];
}

/**
 * Report `size` of `k` options and `most` blanks; sets that meet the ticks weigh more.
 * Source: PrivSet, Wang et al. 2018 (INFOCOM).
 */
export interface SetResponse extends Weights {
  k: number;
  most: number;
  size: number;
}

/** Report `s` of `k` options, picked at random, each with its tick randomised (Warner 1965). */
export interface SampledTicks extends Weights {
  k: number;
  s: number;
}

/**
 * Report every option with probability `own/total` if it is ticked, else `other/total`.
 * Source: Wang et al. 2017 (USENIX Security), section 4.3.
 */
export interface Unary extends Weights {
  k: number;
  most: number;
  total: number;
}

/** Report the position plus whole-number noise: y with probability ~ e^(-|y|/scale). */
export interface Laplace {
  k: number;
  scale: string;
}

/** Laplace noise that stays among the positions: a report beyond them is moved to the nearest one
 * (clamp) or drawn again (resample). */
export interface BoundedLaplace extends Laplace {
  beyond: "clamp" | "resample";
}

/** Report `d` positions, each plus noise: y with probability ~ e^(-y^2 / (2 sigma2)). */
export interface Gaussian {
  k: number;
  d: number;
  sigma2: string;
  epsilon: string;
  delta: string;
}

/** Report `s` of several positions, picked at random, each by the mechanism of its part. */
export interface Vector {
  s: number;
  parts: Mechanism[];
}

/**
 * Randomise the answer once with the odds `own / other`, keep the result as the memo, and randomise
 * the memo afresh in each wave. A single report has the law of `once`.
 */
export interface Memoised extends Weights {
  once: Mechanism;
}
