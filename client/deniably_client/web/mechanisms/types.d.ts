// The types of mechanisms, apart from what respondents download.

import type { Coins } from "../core/coins.js";
import type { Loss } from "../core/types.js";

/** A mechanism's name and its parameters, as they are published. */
export type Mechanism = { name: string } & Record<string, any>;

/** What a mechanism randomises: an index or a position, several ticks, several positions. */
export type Input = number | readonly number[];

/**
 * What mechanisms of one name do. `check` throws Refused where the parameters make no
 * mechanism; `loss` and `randomise` take checked ones. `randomise` makes the report of an answer,
 * a list of integers, and throws BadAnswer before any draw.
 *
 * Those that keep a memo also have `history`, the loss of all reports that are made from it;
 * `drawMemo`, which makes it, and `reportFromMemo`, which makes a report from it alone.
 */
export interface Family<M = any, A = any> {
  check(mechanism: M, path: string): void;
  loss(mechanism: M): Loss;
  randomise(mechanism: M, answer: A, coins: Coins): number[];
  history?(mechanism: M): Loss;
  drawMemo?(mechanism: M, answer: A, coins: Coins): number[];
  reportFromMemo?(mechanism: M, memo: readonly number[], coins: Coins): number[];
}

/** Modules that are fetched when first needed; their default exports hold things by name. */
export type Sources<T> = Record<string, () => Promise<{ default: Record<string, T> }>>;

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

/** Report one of `m` outputs; the `w` of the window around the answer weigh more. */
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

/** Laplace noise that stays among the positions. */
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
 * Randomise the answer once with the odds `own / other`, keep what came of it, and randomise that
 * afresh in each wave, so that one report by itself is one of `once`.
 */
export interface Memoised extends Weights {
  once: Mechanism;
}
