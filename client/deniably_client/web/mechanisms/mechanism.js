// How one answer is randomised: the door to every mechanism (SPEC section 2).

import { Refused } from "../core/errors.js";
import subsetSelection from "./subset_selection.js";

/** @import { Coins } from "../core/coins.js" */
/** @import { Family, Input, Mechanism, Sources } from "./types.js" */

const ticks = () => import("./ticks.js");
const noise = () => import("./noise.js");

/** @type {Sources<Family>} */
const sources = {
  window: () => import("./window.js"),
  channel: () => import("./channel.js"),
  set_response: ticks,
  sampled_ticks: ticks,
  unary: ticks,
  laplace: noise,
  bounded_laplace: noise,
  gaussian: noise,
  vector: () => import("./vector.js"),
  memoised: () => import("./memoised.js"),
};
/** @type {Map<string, Family>} */
const families = new Map(Object.entries(subsetSelection));

/**
 * Adds what the module of this name holds to what is `found` already: code is fetched when a
 * survey first needs it, so that a simple one stays light.
 * @type {<T>(found: Map<string, T>, sources: Sources<T>, name: unknown) => Promise<void>}
 */
export async function load(found, sources, name) {
  const source = Object.entries(sources).find(([key]) => key === name)?.[1];
  const { default: module = {} } = (await source?.()) ?? {};
  for (const [key, one] of Object.entries(module)) found.set(key, one);
}

/** @type {(name: unknown) => Promise<void>} to be awaited before a mechanism's first use */
export const loadMechanism = (name) => load(families, sources, name);

/** @type {(mechanism: Mechanism, path?: string) => void} throws Refused */
export const checkMechanism = (mechanism, path = "mechanism") =>
  family(mechanism, path).check(mechanism, path);

/**
 * The report for an answer: a list of integers. Throws BadAnswer before any draw.
 * @type {(mechanism: Mechanism, answer: Input, coins: Coins) => number[]}
 */
export function randomise(mechanism, answer, coins) {
  checkMechanism(mechanism);
  return family(mechanism).randomise(mechanism, answer, coins);
}

/**
 * The same, and the memo that the report was made from where the mechanism has one: the one that
 * the device keeps, or one that is drawn now, to be kept.
 * @type {(mechanism: Mechanism, answer: Input, coins: Coins, kept?: readonly number[]) =>
 *   {report: number[], memo?: readonly number[]}}
 */
export function respond(mechanism, answer, coins, kept) {
  const { drawMemo, reportFromMemo } = family(mechanism);
  if (!drawMemo || !reportFromMemo) return { report: randomise(mechanism, answer, coins) };
  checkMechanism(mechanism);
  const memo = kept ?? drawMemo(mechanism, answer, coins);
  return { report: reportFromMemo(mechanism, memo, coins), memo };
}

/** The most that one report can give away, exactly. */
export const loss = (/** @type {Mechanism} */ mechanism) => family(mechanism).loss(mechanism);

/** The same of all reports that are made from one memo; undefined where none is kept. */
export const history = (/** @type {Mechanism} */ mechanism) =>
  family(mechanism).history?.(mechanism);

/** @type {(mechanism: any) => any} the mechanism that takes the answer: of a memoised one one report */
export const inner = (mechanism) => (mechanism?.name === "memoised" ? mechanism.once : mechanism);

/** @type {(mechanism: Mechanism, path?: string) => Family} */
function family(mechanism, path = "mechanism") {
  const found = families.get(mechanism?.name);
  if (found === undefined) throw new Refused(`${path}: has no name that this page knows`);
  return found;
}
