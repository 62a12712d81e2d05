// What one person has given away: one entry for every charge, added up exactly (SPEC section 8).

import { Refused } from "../core/errors.js";
import { decimal, fraction, parts } from "../core/fraction.js";
import { sum } from "../core/loss.js";
import { atMostExp, pure } from "../core/odds.js";

/** @import { Fraction, Loss } from "../core/types.js" */
/** @import { LedgerEntry, Limits, Scope } from "./types.js" */

/** The largest epsilon that a device spends: in one survey, for one author, over all. */
export const LIMITS = Object.freeze({ survey: "5", author: "10", overall: "20" });

/** The largest delta of each total is one in so many. */
const DELTA_LIMIT = 1000n;

const LONGEST = 10n ** 400n;

/** A report would take what is given away about one person over a limit of the device. */
export class BudgetSpent extends Refused {
  /**
   * @param {Scope} scope
   * @param {Loss} spent
   * @param {Loss} asked
   * @param {string | undefined} limit of epsilon; undefined where it is the one of delta
   */
  constructor(scope, spent, asked, limit) {
    const [before = 0, more = 0] = [spent, asked].map((loss) => percent(loss, limit));
    super(`${before} % of the limit (${scope}) is spent, and this would add ${more} %`);
    this.scope = scope;
    this.ofDelta = limit === undefined;
    /** What was spent and what was asked, in percent of the limit. */
    this.shares = { before, more };
  }
}

/**
 * The charge of a question's loss. Odds and exponents of more than 400 digits are rounded up.
 * @type {(head: Omit<LedgerEntry, "question" | "odds" | "exponent" | "delta">, question: string,
 *   loss: Loss) => LedgerEntry}
 */
export const entry = (head, question, { odds, exponent, delta }) => ({
  ...head,
  question,
  odds: fraction(...short(odds)),
  exponent: fraction(...short(exponent)),
  delta: fraction(...delta),
});

/** What all of the entries together can give away, exactly. */
const total = (/** @type {readonly LedgerEntry[]} */ ledger) =>
  ledger.map(loss).reduce((one, two) => lowest(sum(one, two)), pure([1n, 1n]));

/**
 * What was given away in this version of a survey, to its author, and over all.
 * @type {(ledger: readonly LedgerEntry[], version: string, author: string) => Record<Scope, Loss>}
 */
export const spent = (ledger, version, author) => ({
  survey: total(ledger.filter((each) => each.version === version)),
  author: total(ledger.filter((each) => each.author === author)),
  overall: total(ledger),
});

/**
 * The ledger with the charges of one report, all of one survey. Throws BudgetSpent, for the
 * narrowest scope whose limit they would exceed; no charge at all exceeds none.
 * @type {(ledger: readonly LedgerEntry[], entries: readonly LedgerEntry[], limits: Limits) =>
 *   readonly LedgerEntry[]}
 */
export function charge(ledger, entries, limits) {
  const [first] = entries;
  if (first === undefined) return ledger;
  const asked = total(entries);
  const before = spent(ledger, first.version, first.author);
  for (const scope of /** @type {Scope[]} */ (Object.keys(before))) {
    check(scope, before[scope], asked, limits[scope]);
  }
  return [...ledger, ...entries];
}

/**
 * Throws BudgetSpent where this would take a total over its limit of epsilon, or of delta.
 * @type {(scope: Scope, before: Loss, asked: Loss, limit: string) => void}
 */
export function check(scope, before, asked, limit) {
  const after = sum(before, asked);
  if (!within(after, limit)) throw new BudgetSpent(scope, before, asked, limit);
  const [n, d] = after.delta;
  if (asked.delta[0] > 0n && n * DELTA_LIMIT > d) throw new BudgetSpent(scope, before, asked, undefined);
}

/**
 * How much of its limits a loss takes, for people: in percent, rounded up; of epsilon or delta,
 * whichever is more.
 * @type {(loss: Loss, limit: string) => number}
 */
export const share = (loss, limit) => Math.max(percent(loss, limit), percent(loss, undefined));

/** @type {(loss: Loss, limit: string | undefined) => number} of one limit; undefined is delta's */
function percent({ odds: [n, d], exponent: [a, b], delta: [e, f] }, limit) {
  if (limit === undefined) return Number((100n * e * DELTA_LIMIT + f - 1n) / f);
  const epsilon = ln(n) - ln(d) + Number(a) / Number(b);
  return Math.max(0, Math.ceil((100 * epsilon) / Number(limit) - 1e-9));
}

/** @type {(loss: Loss, limit: string) => boolean} whether odds * e^exponent <= e^limit */
function within({ odds, exponent: [a, b] }, limit) {
  const [n, d] = decimal(limit);
  const rest = n * b - a * d;
  return rest >= 0n && atMostExp(odds, rest, d * b);
}

/** @type {(entry: LedgerEntry) => Loss} */
const loss = ({ odds, exponent, delta }) => ({
  odds: parts(odds),
  exponent: parts(exponent),
  delta: parts(delta),
});

/** @type {(loss: Loss) => Loss} the same in lowest terms, so that long ledgers stay quick */
const lowest = ({ odds, exponent, delta }) => ({
  odds: parts(fraction(...odds)),
  exponent: parts(fraction(...exponent)),
  delta: parts(fraction(...delta)),
});

/** @type {(value: Fraction) => Fraction} */
function short(value) {
  const [n, d] = parts(fraction(...value));
  if (n < LONGEST && d < LONGEST) return [n, d];
  return [((n << 64n) + d - 1n) / d, 1n << 64n];
}

/** @type {(number: bigint) => number} of any size, to the precision of a double */
function ln(number) {
  const digits = String(number);
  return Math.log(Number(`0.${digits.slice(0, 17)}`)) + digits.length * Math.LN10;
}
