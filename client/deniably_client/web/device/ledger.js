// The ledger of one person's privacy losses: an entry for each charge, composed exactly (SPEC 8).

import { Refused } from "../core/errors.js";
import { decimal, fraction, parts } from "../core/fraction.js";
import { sum } from "../core/loss.js";
import { atMostExp, pure } from "../core/odds.js";
import { isDate } from "../core/validators.js";

/** @import { Fraction, Loss } from "../core/types.js" */
/** @import { LedgerEntry, Limits, Scope, CountedSince } from "./types.js" */

/** The largest epsilon that a device spends: in one survey, for one author, overall. */
export const LIMITS = Object.freeze({ survey: "5", author: "10", overall: "20" });

/** The limits if mixers work together with servers, where the owner's are not larger. */
export const TOGETHER = { survey: 25, author: 50, overall: 64 };

/** Each total has a delta of at most 1 / DELTA_LIMIT. */
const DELTA_LIMIT = 1000n;

/**
 * Numbers of more than 400 digits are rounded up in the ledger (SPEC 8), which bounds its
 * arithmetic.
 */
const LONGEST = 10n ** 400n;

/** A report would take the total privacy loss over a limit of the device. */
export class BudgetSpent extends Refused {
  /**
   * @param {Scope} scope
   * @param {Loss} spent
   * @param {Loss} asked
   * @param {string | undefined} limit of epsilon; undefined for the limit of delta
   */
  constructor(scope, spent, asked, limit) {
    const [before = 0, more = 0] = [spent, asked].map((loss) => percent(loss, limit));
    super(`${before} % of the limit (${scope}) is spent, and this would add ${more} %`);
    this.scope = scope;
    /** The first day on which enough of what was spent has stopped counting. @type {string=} */
    this.until = undefined;
    this.ofDelta = limit === undefined;
    /** What was spent and what was asked, in percent of the limit. */
    this.shares = { before, more };
  }
}

/**
 * Returns the ledger entry for a question's loss. Odds and exponents over 400 digits are rounded
 * up.
 * @type {(head: Omit<LedgerEntry, "question" | "odds" | "exponent" | "delta">, question: string,
 *   loss: Loss) => LedgerEntry}
 */
export const ledgerEntry = (head, question, { odds, exponent, delta }) => ({
  ...head,
  question,
  odds: fraction(...short(odds)),
  exponent: fraction(...short(exponent)),
  delta: fraction(...delta),
});

/**
 * Returns the exact composition of all entries: against servers alone or, with `together`, if mixers
 * work together with them.
 * @type {(ledger: readonly LedgerEntry[], together?: boolean) => Loss}
 */
export const totalLoss = (ledger, together) =>
  ledger.map((entry) => entryLoss((!together && entry.mixed) || entry)).reduce((one, two) => lowest(sum(one, two)), pure([1n, 1n]));

/**
 * Returns the first of the 365 days that end on `day`, or on the earliest of `seen` where that is
 * before. `seen` are the days of the last entries of the registers that have to agree. Empty, so
 * that every day counts, where there is no register, or the day of one is not known.
 * @type {(day: string, seen: readonly (string | undefined)[]) => string}
 */
export function firstDay(day, seen) {
  const [last = ""] = [day, ...seen].sort();
  return seen.length && seen.every(Boolean) ? shifted(last, -364) : "";
}

/** @type {(day: string, days: number) => string} the day so many days later */
const shifted = (day, days) => new Date(Date.parse(day) + days * 864e5).toISOString().slice(0, 10);

/**
 * Returns the charges that count in each total: of this version of a survey, of its author, and of
 * all. In the latter two only those of the days from `since` on count.
 * @type {(ledger: readonly LedgerEntry[], version: string, author: string, since: CountedSince) =>
 *   Record<Scope, readonly LedgerEntry[]>}
 */
export const counted = (ledger, version, author, since) => ({
  survey: ledger.filter((each) => each.version === version),
  author: ledger.filter((each) => each.author === author && each.day >= since.author),
  overall: ledger.filter(({ day }) => day >= since.overall),
});

/**
 * Returns what stops counting first of these charges: its loss, and the day from which it no
 * longer counts. Undefined where there is none.
 * @type {(counted: readonly LedgerEntry[]) => {day: string, loss: Loss} | undefined}
 */
export function firstToLeave(counted) {
  const [oldest] = counted.map(({ day }) => day).filter(isDate).sort();
  if (oldest === undefined) return undefined;
  return { day: shifted(oldest, 365), loss: totalLoss(counted.filter(({ day }) => day === oldest)) };
}

/**
 * Returns the ledger with the charges of one report. Throws BudgetSpent for the narrowest scope
 * whose limit they would exceed, with `until`: the day on which enough has left, if ever. An empty
 * list of charges never exceeds a limit.
 * @type {(ledger: readonly LedgerEntry[], entries: readonly LedgerEntry[], limits: Limits,
 *   since: CountedSince) => readonly LedgerEntry[]}
 */
export function charge(ledger, entries, limits, since) {
  const [first] = entries;
  if (first === undefined) return ledger;
  const check = (/** @type {CountedSince} */ since) => checkAll(ledger, entries, limits, since);
  try {
    check(since);
  } catch (error) {
    const days = ledger.map(({ day }) => day).filter(isDate).sort();
    // Bisects for the last charge that has to leave before the report fits: the more days have
    // left, the less counts.
    let [low, high] = [0, days.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (fits(check, shifted(days[middle] ?? "", 1))) high = middle;
      else low = middle + 1;
    }
    const oldest = days[low];
    /** @type {BudgetSpent} */ (error).until = oldest && shifted(oldest, 365);
    throw error;
  }
  return [...ledger, ...entries];
}

/**
 * Whether the report fits where only charges from this day on count.
 * @type {(check: (since: CountedSince) => void, day: string) => boolean}
 */
function fits(check, day) {
  try {
    check({ author: day, overall: day });
    return true;
  } catch {
    return false;
  }
}

/**
 * Throws BudgetSpent for the narrowest scope whose limit the charges of one report would exceed, first
 * against servers alone and then if mixers work together with them. (Without a mixer both have the same
 * totals, and the second the larger limits.)
 * @type {(ledger: readonly LedgerEntry[], entries: readonly LedgerEntry[], limits: Limits,
 *   since: CountedSince) => void}
 */
export function checkAll(ledger, entries, limits, since) {
  const { version = "", author = "" } = entries[0] ?? {};
  const before = counted(ledger, version, author, since);
  for (const together of [false, true]) {
    for (const scope of /** @type {Scope[]} */ (Object.keys(before))) {
      const limit = together ? `${Math.max(+limits[scope], TOGETHER[scope])}` : limits[scope];
      checkLimit(scope, totalLoss(before[scope], together), totalLoss(entries, together), limit);
    }
  }
}

/**
 * Throws BudgetSpent where `asked` would take the total `before` over its limit of epsilon, or of
 * delta.
 * @type {(scope: Scope, before: Loss, asked: Loss, limit: string) => void}
 */
export function checkLimit(scope, before, asked, limit) {
  const after = sum(before, asked);
  if (!withinLimit(after, limit)) throw new BudgetSpent(scope, before, asked, limit);
  const [n, d] = after.delta;
  // A report without a delta of its own is never refused for delta.
  if (asked.delta[0] > 0n && n * DELTA_LIMIT > d) throw new BudgetSpent(scope, before, asked, undefined);
}

/**
 * Returns the share of its limit that a loss takes, in percent, rounded up: the larger of the
 * shares of epsilon and delta.
 * @type {(loss: Loss, limit: string) => number}
 */
export const share = (loss, limit) => Math.max(percent(loss, limit), percent(loss, undefined));

/** @type {(loss: Loss, limit: string | undefined) => number} the share of one limit; undefined is delta's */
function percent({ odds: [n, d], exponent: [a, b], delta: [e, f] }, limit) {
  if (limit === undefined) return Number((100n * e * DELTA_LIMIT + f - 1n) / f);
  const epsilon = ln(n) - ln(d) + Number(a) / Number(b);
  // In floats, for display alone: 1e-9 less, so that an exact 100 % is not shown as 101 %.
  return Math.max(0, Math.ceil((100 * epsilon) / Number(limit) - 1e-9));
}

/** @type {(loss: Loss, limit: string) => boolean} whether odds * e^exponent <= e^limit */
function withinLimit({ odds, exponent: [a, b] }, limit) {
  const [n, d] = decimal(limit);
  const rest = n * b - a * d;
  return rest >= 0n && atMostExp(odds, rest, d * b);
}

/**
 * The loss of an entry, or of what is `mixed` in it.
 * @type {(entry: {odds?: string, epsilon?: string, exponent?: string, delta: string}) => Loss}
 */
const entryLoss = ({ odds = "1", epsilon = "", exponent = epsilon, delta }) => ({
  odds: parts(odds),
  exponent: parts(exponent),
  delta: parts(delta),
});

/**
 * Reduces the fractions that add up, so that long ledgers stay quick. Odds only multiply, and to
 * reduce each product would take a hundred times as long.
 * @type {(loss: Loss) => Loss}
 */
const lowest = ({ odds, exponent, delta }) => ({
  odds,
  exponent: parts(fraction(...exponent)),
  delta: parts(fraction(...delta)),
});

/**
 * As the ledger keeps it: rounded up to n / 2^64 if it is long.
 * @type {(value: Fraction) => Fraction}
 */
function short(value) {
  const [n, d] = parts(fraction(...value));
  if (n < LONGEST && d < LONGEST) return [n, d];
  return [((n << 64n) + d - 1n) / d, 1n << 64n];
}

/**
 * The logarithm of a number of any size, from its first 17 digits: a double holds nothing above
 * 1.8e308.
 * @type {(number: bigint) => number}
 */
function ln(number) {
  const digits = String(number);
  return Math.log(Number(`0.${digits.slice(0, 17)}`)) + digits.length * Math.LN10;
}
