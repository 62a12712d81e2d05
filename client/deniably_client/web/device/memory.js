// A device's memory: one document, and the functions that change it (SPEC section 7). It never holds a
// true answer, only randomised reports.

import { canonicalise, digest, parse } from "../core/canonical.js";
import { BadAnswer, FOUND, Refused, WavesSent, must } from "../core/errors.js";
import { fraction, parts } from "../core/fraction.js";
import { pure } from "../core/odds.js";
import {
  HASH, NAME, SPEC, SURVEY_NAME, anObject, between, integer, like, list, object, text,
} from "../core/validators.js";
import { historyLoss, loss } from "../mechanisms/mechanism.js";
import { makeReport } from "../survey/report.js";
import { total } from "../survey/total.js";
import { HEAD } from "../trust/register.js";
import { LIMITS, charge, checkLimit, ledgerEntry, firstDay } from "./ledger.js";

/** @import { Check } from "../core/types.js" */
/** @import { Definition, Question, Stratum } from "../survey/types.js" */
/** @import { Answering, LedgerEntry, Memory, CountedSince } from "./types.js" */

/** @type {Memory} */
export const EMPTY = Object.freeze({
  spec: 1,
  ledger: [],
  reports: {},
  memos: {},
  authors: {},
  registers: {},
});

/** @type {(memory: Memory) => string} returns the document's text, before encryption */
export const written = (memory) => canonicalise(memory);

/**
 * Reads the document's text. Throws Refused unless the text is canonical JSON of a valid memory.
 * @type {(text: string) => Memory}
 */
export function readMemory(text) {
  const value = parse(text);
  try {
    MEMORY(value, "memory");
  } catch (error) {
    // What is wrong may be a memo or the secret of an invitation: no message holds it.
    throw error instanceof Refused ? new Refused(error.message.split(FOUND)[0] ?? "") : error;
  }
  const memory = /** @type {Memory} */ (value);
  const open = Object.keys(memory.orders ?? {}).every((version) => !memory.reports[version]);
  must(open, "memory", "has an order of a survey that was answered");
  must(canonicalise(memory) === text, "memory", "is not canonical");
  return memory;
}

/**
 * Returns the report that this device made for a version of a survey; undefined where there is
 * none. (Surveys with a mixer have an envelope instead: through_mixer.js.)
 * @type {(memory: Memory, version: string) =>
 *   {values: Record<string, number[]>, strata?: Stratum} | undefined}
 */
export function earlier({ reports }, version) {
  const kept = Object.hasOwn(reports, version) ? reports[version] : undefined;
  return kept?.text && JSON.parse(kept.text);
}

/**
 * Returns the key of each question's memo in `memory.memos`, by question name; empty for a survey
 * without waves.
 * @type {(definition: Definition, author: string) => Promise<Map<string, string>>}
 */
async function memoKeys({ waves, questions }, author) {
  const keys = new Map();
  for (const question of waves ? questions : []) {
    // The digest of the whole question: with other texts or another mechanism it is another
    // question.
    keys.set(question.name, `${author}/${waves?.panel}/${await digest(question)}`);
  }
  return keys;
}

/**
 * Returns the memos (permanent randomised answers) from earlier waves of a survey's panel, by
 * question name.
 * @type {(memory: Memory, definition: Definition, author: string) =>
 *   Promise<Map<string, readonly number[]>>}
 */
async function keptMemos({ memos }, definition, author) {
  const kept = new Map();
  for (const [name, key] of await memoKeys(definition, author)) {
    if (Object.hasOwn(memos, key)) kept.set(name, memos[key]);
  }
  return kept;
}

/**
 * Returns the names of the questions that this device has answered: in its report to this version
 * of the survey, or else in earlier waves.
 * @type {(memory: Memory, definition: Definition, version: string, author?: string) =>
 *   Promise<string[]>}
 */
export async function knownQuestions(memory, definition, version, author = "") {
  const before = earlier(memory, version);
  if (before) return Object.keys(before.values);
  return [...(await keptMemos(memory, definition, author)).keys()];
}

/**
 * Returns the questions to ask, randomise and charge: those that this device has not answered, and
 * those named in `changed`, whose true answers have changed.
 *
 * `drawn` are the questions for a device that made no report to this version; by default all. A
 * question whose `show_if` names a changed one counts as changed. Throws BadAnswer for a changed
 * question that was not answered.
 * @type {(memory: Memory, answering: Omit<Answering, "answers">) => Promise<readonly Question[]>}
 */
export async function freshQuestions(memory, { definition, version, drawn, changed = [], author }) {
  const { questions } = definition;
  const known = await knownQuestions(memory, definition, version, author);
  const fixed = definition.invited && earlier(memory, version) && changed.length > 0;
  if (fixed) throw new BadAnswer("one invitation gives one report");
  if (!changed.every((name) => known.includes(name))) {
    throw new BadAnswer("what was not answered on this device cannot have changed");
  }
  if (earlier(memory, version) === undefined) {
    return (drawn ?? questions).filter(({ name }) => changed.includes(name) || !known.includes(name));
  }
  /** @type {Question[]} */
  const fresh = [];
  for (const question of questions) {
    const after = fresh.some(({ name }) => name === question.show_if?.question);
    if (after || changed.includes(question.name)) fresh.push(question);
  }
  return fresh;
}

/**
 * Returns the ledger entries for randomising the questions `fresh`, one for each. A question that
 * keeps a memo is charged once, with the loss over all waves.
 * @type {(definition: Definition, version: string, fresh: readonly Question[], author: string,
 *   day: string) => LedgerEntry[]}
 */
export const charges = ({ name }, version, fresh, author, day) =>
  fresh.map((question) => {
    const head = { day, author, survey: name, version };
    return ledgerEntry(head, question.name, historyLoss(question.mechanism) ?? loss(question.mechanism));
  });

/**
 * Counts one more wave for each of the questions `fresh`, where the survey states a number of
 * waves; returns the new `memory.waves`. The smallest number ever stated for a question is its
 * limit. Throws WavesSent beyond it.
 * @type {(memory: Memory, definition: Definition, fresh: readonly Question[], author: string) =>
 *   Promise<Pick<Memory, "waves">>}
 */
export async function rounds({ waves: before }, definition, fresh, author) {
  const stated = definition.waves?.count;
  if (!stated || fresh.length === 0) return before ? { waves: before } : {};
  const waves = { ...before };
  const keys = await memoKeys(definition, author);
  for (const { name } of fresh) {
    const key = keys.get(name) ?? "";
    const { count, sent } = waves[key] ?? { count: stated, sent: 0 };
    const most = Math.min(count, stated);
    if (sent >= most) throw new WavesSent(`all ${most} waves that were stated are answered`);
    waves[key] = { count: most, sent: sent + 1 };
  }
  return { waves };
}

/**
 * Answers the survey; returns the memory with the new charges and report.
 *
 * If the survey was answered before and nothing changed, the memory stays as it is, and the stored
 * report is sent again. Only changed questions need answers. Throws BudgetSpent before anything is
 * drawn, BadAnswer, and Refused. A report that was made before keeps its stratum.
 * @type {(memory: Memory, answering: Answering) => Promise<Memory>}
 */
export async function answer(memory, answering) {
  const { definition, version, answers, author = "", coins, stratum } = answering;
  must(!definition.mixer, "survey.mixer", "takes sealed answers");
  // First, because this throws where the budget is spent: nothing may be drawn then.
  const { fresh, ledger, waves } = await plan(memory, answering);
  const before = earlier(memory, version);
  if (before && fresh.length === 0) return memory;
  const kept = await keptMemos(memory, definition, author);
  for (const { name } of fresh) kept.delete(name);
  // A report of a wave has all questions; those with a kept memo need no answer.
  const drawn = before || kept.size === 0 ? fresh : definition.questions;
  const id = memory.tickets?.[version]?.id;
  if (definition.invited && !id) throw new Refused("no invitation was traded");
  const made = await makeReport(
    definition, version, answers, coins, drawn, before?.values, kept, id, before?.strata ?? stratum,
  );
  const reports = { ...memory.reports, [version]: { text: made.text, sent: false } };
  const memos = { ...memory.memos };
  const keys = await memoKeys(definition, author);
  for (const [name, memo] of made.memos) memos[keys.get(name) ?? ""] = [...memo];
  // The order of section 4.7 has done its work: without it, what is left of `orders` stays.
  const { orders: { [version]: _, ...left } = {}, ...rest } = memory;
  const orders = Object.keys(left).length ? { orders: left } : {};
  return { ...rest, ...orders, ledger, reports, memos, ...waves };
}

/**
 * Returns the day of the last entry of each register that has this author, or any author;
 * undefined for a register whose day is not known.
 * @type {(memory: Memory, author?: string) => (string | undefined)[]}
 */
const seenDays = ({ authors, registers }, author) =>
  Object.entries(authors)
    .filter(([, keys]) => author === undefined || keys.includes(author))
    .map(([origin]) => registers[origin]?.day);

/**
 * Returns the first day whose charges count, in the totals of the author and of all. A charge
 * leaves a total only once the clock and the registers agree that it is old (SPEC section 8.1).
 * @type {(memory: Memory, author: string, day: string) => CountedSince}
 */
export const countedSince = (memory, author, day) => ({
  author: firstDay(day, seenDays(memory, author)),
  overall: firstDay(day, seenDays(memory)),
});

/**
 * Returns the day that a charge gets: that of the clock, or the earliest of the author's registers
 * where that is later. So a clock that was set back does not make a charge leave sooner.
 * @type {(memory: Memory, author: string, day: string) => string}
 */
export function chargeDay(memory, author, day) {
  // An unknown day sorts first, as an empty text, and then the clock decides.
  const [first = ""] = seenDays(memory, author).map((each) => each ?? "").sort();
  return first > day ? first : day;
}

/**
 * Returns what answering would do: the questions to ask (`fresh`), the ledger and waves
 * afterwards, and the days `since` which charges count. Throws WavesSent, and BudgetSpent where a
 * limit would be exceeded: the survey's limit also by the worst draw of questions.
 * @type {(memory: Memory, answering: Omit<Answering, "answers">) =>
 *   Promise<{fresh: readonly Question[], ledger: readonly LedgerEntry[],
 *   waves: Pick<Memory, "waves">, since: CountedSince}>}
 */
export async function plan(memory, answering) {
  const { definition, version, author = "", day = today(), limits = LIMITS } = answering;
  const fresh = await freshQuestions(memory, answering);
  // Without a report or a drawn order any questions may be drawn, so the worst draw has to fit.
  if (earlier(memory, version) === undefined && !memory.orders?.[version]) {
    checkLimit("survey", pure([1n, 1n]), total(definition), limits.survey);
  }
  const entries = charges(definition, version, fresh, author, chargeDay(memory, author, day));
  const waves = await rounds(memory, definition, fresh, author);
  const since = countedSince(memory, author, day);
  return { fresh, ledger: charge(memory.ledger, entries, limits, since), waves, since };
}

/** @type {(memory: Memory, version: string, text: string) => Memory} marks this text as sent */
export const markSent = (memory, version, text) =>
  memory.reports[version]?.text === text
    ? { ...memory, reports: { ...memory.reports, [version]: { text, sent: true } } }
    : memory;

/** Returns today's date in UTC by the device's clock, such as 2026-11-21. */
export const today = () => new Date().toISOString().slice(0, 10);

// --- the shape of the document --------------------------------------------------------------

/** @type {(key: Check, item: Check) => Check} validates an object with arbitrary keys */
const mapOf = (key, item) => (value, path) => {
  anObject(value, path);
  for (const [name, one] of Object.entries(value)) {
    key(name, path);
    item(one, path);
  }
};

/** @type {Check} validates a fraction as text; its digits are bounded, and so is the arithmetic */
const amount = (value, path) => {
  const spelled = typeof value === "string" && /^(0|[1-9]\d{0,399})(\/[1-9]\d{0,399})?$/.test(value);
  must(spelled && fraction(...parts(value)) === value, path, "is no fraction in lowest terms");
};

const FIELDS = object({
  day: like(/^[0-9]{4}-[0-9]{2}-[0-9]{2}$/),
  author: like(/^([0-9a-f]{64})?$/),
  survey: SURVEY_NAME,
  version: HASH,
  question: NAME,
  odds: amount,
  exponent: amount,
  delta: amount,
}, { mixed: object({ epsilon: amount, delta: amount, mixer: HASH }) });

/** @type {Check} */
const ENTRY = (value, path) => {
  FIELDS(value, path);
  for (const { odds, delta } of [value, { ...value, ...value.mixed }]) {
    const [[n, d], [m, e]] = [parts(odds), parts(delta)];
    must(n >= d && m < e, path, "has odds below 1 or a delta of 1");
  }
};

const INTEGERS = list(integer, 0, Infinity);
const ID = like(/^[0-9a-f]{32}$/);
const REPORT = object(
  { survey: HASH, id: ID, values: mapOf(text, INTEGERS) },
  { strata: mapOf(SURVEY_NAME, SURVEY_NAME) },
);
/** @type {(least: number, most: number | "") => Check} validates a number of bytes in hexadecimal */
const NUMBER = (least, most) => like(new RegExp(`^([0-9a-f]{2}){${least},${most}}$`));
const KEPT = object(
  { sent: (value, path) => must(typeof value === "boolean", path, "is not true or false") },
  { text, sealed: NUMBER(1, ""), inner: list(HASH, 1, 100) },
);

/** @type {Check} */
const REPORTS = (value, path) => {
  mapOf(HASH, KEPT)(value, path);
  for (const [version, { text, sealed, inner }] of Object.entries(value)) {
    const ordered = text === undefined && `${inner}` === `${[...new Set(inner)].sort()}`;
    must(sealed ? ordered : !inner, path, "is no envelope");
    if (sealed) continue;
    const report = /** @type {any} */ (parse(text ?? ""));
    REPORT(report, path);
    const same = report.survey === version && canonicalise(report) === text;
    must(same, path, "is not as it is sent");
  }
};

const ORIGIN = like(/^https?:\/\/[^/\s]+$/);
const MEMO = like(/^([0-9a-f]{64})?\/[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?\/[0-9a-f]{64}$/);

/** @type {Check} */
const ROUNDS = (value, path) => {
  object({ count: between(2, 100), sent: integer })(value, path);
  must(value.sent >= 1 && value.sent <= value.count, path, "is more than there are waves");
};

/** @type {(item: Check, key?: Check) => Check} validates a record that is not empty */
const some = (item, key = HASH) => (value, path) => {
  mapOf(key, item)(value, path);
  must(Object.keys(value).length > 0, path, "is empty");
};

/** @type {Check} */
const ORDER = (value, path) => {
  list(NAME, 2, Infinity)(value, path);
  must(new Set(value).size === value.length, path, "has a question twice");
};

const MEMORY = object({
  spec: SPEC,
  ledger: list(ENTRY, 0, Infinity),
  reports: REPORTS,
  memos: mapOf(MEMO, INTEGERS),
  authors: mapOf(ORIGIN, list(HASH, 0, Infinity)),
  registers: mapOf(ORIGIN, HEAD),
}, {
  tickets: some(object({ id: ID, ticket: NUMBER(288, 544) })),
  trades: some(
    object({
      blinded: NUMBER(256, 512),
      code: like(/^[0-9A-HJKMNP-TV-Y]{18}$/),
      id: ID,
      inverse: NUMBER(256, 512),
      prefix: HASH,
    }),
  ),
  waves: some(ROUNDS, MEMO),
  orders: some(ORDER),
});
