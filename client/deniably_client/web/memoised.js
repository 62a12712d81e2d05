// Answers for surveys that are repeated: a kept memo, and fresh chance in each wave (SPEC 2.16).

import channel from "./channel.js";
import { LARGEST } from "./coins.js";
import { must } from "./errors.js";
import { greatestCommonDivisor } from "./fraction.js";
import { anything, integer, object } from "./shape.js";
import subsetSelection from "./subset_selection.js";
import ticks from "./ticks.js";
import window from "./window.js";

/** @import { Family, Mechanism, Memoised } from "./types.js" */

const FORM = object({ name: anything, memo: anything, keep: integer, fresh: integer });

/** @type {Record<string, Family>} */
const ALLOWED = { ...subsetSelection, ...window, ...channel, set_response: ticks.set_response };
const FAMILIES = new Map(Object.entries(ALLOWED));

/** @type {(memo: Mechanism) => Family} */
const family = (memo) => /** @type {Family} */ (FAMILIES.get(memo.name));

/**
 * A report is `size` distinct integers below `domain`. The weights of one answer have the sum
 * `total`; if every one of them were 1 it would be `outputs`.
 * @type {Record<string, (memo: Mechanism) => Record<"size" | "domain", number> &
 *   Record<"total" | "outputs", bigint>>}
 */
const REPORTS = {
  subset_selection({ k, omega, own, other }) {
    const total = BigInt(omega) * BigInt(own) + BigInt(k - omega) * BigInt(other);
    return { size: omega, domain: k, total, outputs: BigInt(k) };
  },
  window({ m, w, own, other }) {
    const total = BigInt(w) * BigInt(own) + BigInt(m - w) * BigInt(other);
    return { size: 1, domain: m, total, outputs: BigInt(m) };
  },
  channel({ weights: [first] }) {
    const total = first.reduce((/** @type {bigint} */ sum, /** @type {number} */ weight) => {
      return sum + BigInt(weight);
    }, 0n);
    return { size: 1, domain: first.length, total, outputs: BigInt(first.length) };
  },
  set_response({ k, most, size, own, other }) {
    const [outputs, apart] = [binomial(k + most, size), binomial(k, size)];
    const total = (outputs - apart) * BigInt(own) + apart * BigInt(other);
    return { size, domain: k + most, total, outputs };
  },
};

/** @param {Mechanism} memo */
const reports = (memo) =>
  /** @type {typeof REPORTS["window"]} */ (REPORTS[memo.name])(memo);

/** @type {(n: number, size: number) => bigint} */
function binomial(n, size) {
  let found = 1n;
  for (let i = 0; i < size; i++) found = (found * BigInt(n - i)) / BigInt(i + 1);
  return found;
}

/**
 * The mechanism that one report, by itself, is exactly a report of: the memo's, with the weights
 * of a memo that is kept and of a report picked at random added up, in lowest terms.
 * @type {(mechanism: Memoised) => Mechanism}
 */
function once({ memo, keep, fresh }) {
  const { total, outputs } = reports(memo);
  const [kept, picked] = [BigInt(keep) * outputs, BigInt(fresh) * total];
  const rows = memo.name === "channel" ? memo["weights"] : [[memo["own"], memo["other"]]];
  /** @type {bigint[][]} */
  const changed = rows.map((/** @type {number[]} */ row) =>
    row.map((weight) => kept * BigInt(weight) + picked),
  );
  const common = changed.flat().reduce(greatestCommonDivisor);
  // A weight that no double holds is above 2^53, and refused as such.
  const weights = changed.map((row) => row.map((weight) => Number(weight / common)));
  if (memo.name === "channel") return { ...memo, weights };
  const [[own, other] = []] = weights;
  return { ...memo, own, other };
}

/** @type {Family<Memoised>} */
const memoised = {
  check(mechanism, path) {
    FORM(mechanism, path);
    const { memo, keep, fresh } = mechanism;
    must(FAMILIES.has(memo?.name), `${path}.memo`, "is no mechanism of a memo");
    family(memo).check(memo, `${path}.memo`);
    must(keep >= 1 && fresh >= 1, path, "keep and fresh are integers of 1 or more");
    must(BigInt(keep) + BigInt(fresh) <= LARGEST, path, "keep + fresh is at most 2^53");
    family(memo).check(once(mechanism), `${path}: one report`);
  },

  loss: (mechanism) => family(mechanism.memo).loss(once(mechanism)),

  history: ({ memo }) => family(memo).loss(memo),

  drawMemo: ({ memo }, answer, coins) => family(memo).randomise(memo, answer, coins),

  // The same draws are made whether the memo is sent or not.
  again({ memo, keep, fresh }, kept, coins) {
    const { size, domain } = reports(memo);
    const fits = kept.length === size && kept.every((item, i) => isNext(item, kept[i - 1], domain));
    must(fits, "memory", "what is kept for this question is no memo of it");
    const stays = coins.choose([keep, fresh]) === 0;
    const picked = coins.pick(domain, size).sort((a, b) => a - b);
    return stays ? [...kept] : picked;
  },

  randomise(mechanism, answer, coins) {
    const memo = memoised.drawMemo?.(mechanism, answer, coins) ?? [];
    return memoised.again?.(mechanism, memo, coins) ?? [];
  },
};

/** @type {(item: number, last: number | undefined, domain: number) => boolean} */
const isNext = (item, last = -1, domain) =>
  Number.isInteger(item) && item > last && item < domain;

export default { memoised };
