// Checks mechanisms, randomises answers and states privacy losses, for every mechanism (SPEC 2).

import { must } from "../core/errors.js";
import { frozen } from "../core/frozen.js";
import subsetSelection from "./subset_selection.js";

/** @import { Coins } from "../core/coins.js" */
/** @import { Loss } from "../core/types.js" */
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
 * Imports the module of this name on its first use and adds its exports to `loaded`. So a simple
 * survey downloads little code.
 * @type {<T>(loaded: Map<string, T>, sources: Sources<T>, name: unknown) => Promise<void>}
 */
export async function load(loaded, sources, name) {
  // Not sources[name]: a name such as constructor would find what every object has.
  const source = Object.entries(sources).find(([key]) => key === name)?.[1];
  const { default: module = {} } = (await source?.()) ?? {};
  for (const [key, value] of Object.entries(module)) loaded.set(key, value);
}

/** @type {(name: unknown) => Promise<void>} imports a mechanism; await it before its first use */
export const loadMechanism = (name) => load(families, sources, name);

/** The losses of mechanisms that were checked; these are frozen, so a check stays true.
 * @type {WeakMap<Mechanism, Loss>} */
const checked = new WeakMap();

/**
 * Throws Refused unless the mechanism is valid. Freezes it, and keeps its loss.
 * @type {(mechanism: Mechanism, path?: string) => void}
 */
export function checkMechanism(mechanism, path = "mechanism") {
  if (checked.has(mechanism)) return;
  const { check, loss } = family(mechanism, path);
  check(mechanism, path);
  checked.set(frozen(mechanism), loss(mechanism));
}

/**
 * Randomises an answer into a report, a list of integers. Throws BadAnswer before any draw.
 * @type {(mechanism: Mechanism, answer: Input, coins: Coins) => number[]}
 */
export function randomise(mechanism, answer, coins) {
  checkMechanism(mechanism);
  return family(mechanism).randomise(mechanism, answer, coins);
}

/**
 * Randomises an answer into a `report`. Memoised mechanisms also return the `memo`, the permanent
 * randomised answer that the report was made from: `kept`, where the device keeps one, else a new
 * one for the device to keep. The answer is not looked at where there is a kept memo.
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

/** Returns the exact worst-case privacy loss of one report. */
export const loss = (/** @type {Mechanism} */ mechanism) =>
  checked.get(mechanism) ?? family(mechanism).loss(mechanism);

/** Returns the loss of all reports made from one memo; undefined for mechanisms without a memo. */
export const historyLoss = (/** @type {Mechanism} */ mechanism) =>
  family(mechanism).history?.(mechanism);

/** @type {(mechanism: any) => any} the mechanism of a single report, also behind memoisation */
export const inner = (mechanism) => (mechanism?.name === "memoised" ? mechanism.once : mechanism);

/** @type {(mechanism: Mechanism, path?: string) => Family} */
function family(mechanism, path = "mechanism") {
  const match = families.get(mechanism?.name);
  must(match !== undefined, path, "has no name that this page knows", mechanism?.name);
  return /** @type {Family} */ (match);
}
