// Verifies a server's register (SPEC section 10): a device answers only surveys that everybody sees.

import { canonicalise, digest, parse } from "../core/canonical.js";
import { AuthorChanged, Refused } from "../core/errors.js";
import { fraction } from "../core/fraction.js";
import { atMostExp } from "../core/odds.js";
import { KEY, isDate } from "../core/validators.js";
import { loss } from "../mechanisms/mechanism.js";
import { history, total } from "../survey/total.js";
import { checkSignature, fingerprint } from "./signing.js";

/** @import { Loss } from "../core/types.js" */
/** @import { Definition } from "../survey/types.js" */
/** @import { VerifiedSurvey, Known, Published, RegisterCheckpoint } from "./types.js" */

const NOTHING = "0".repeat(64);

/**
 * Finds a verified definition in the register of the server at `origin`, whose text this is.
 *
 * `accepted` is the fingerprint of an author whom the respondent has accepted. Throws Refused, and
 * AuthorChanged where only the author is not one that was known there.
 * @type {(known: Known, origin: string, definition: Definition, version: string, text: string,
 *   accepted?: string) => Promise<VerifiedSurvey>}
 */
export async function verifyListing(known, origin, definition, version, text, accepted) {
  const { entries, seen } = await checkRegister(parse(text), known.registers[origin]);
  const entry = find(entries, definition.name);
  compare(entry, definition, version);
  await checkSignature(version, entry.author, entry.signature);
  const authors = known.authors[origin] ?? [];
  const print = await fingerprint(entry.author);
  if (authors.length > 0 && !authors.includes(entry.author) && accepted !== print) {
    throw new AuthorChanged(print, await Promise.all(authors.map(fingerprint)));
  }
  const { author, invitations } = entry;
  return { origin, author, fingerprint: print, ...seen, ...(invitations && { invitations }) };
}

/**
 * The memory with a verified survey's author and register. The longer of two registers
 * stays: both were checked.
 * @type {<K extends Known>(memory: K, verified: VerifiedSurvey) => K}
 */
export function remember(memory, { origin, author, count, head, day }) {
  const authors = memory.authors[origin] ?? [];
  const before = memory.registers[origin];
  const newer = !before || before.count < count || (before.count === count && before.day !== day);
  if (authors.includes(author) && !newer) return memory;
  return {
    ...memory,
    authors: { ...memory.authors, [origin]: [...new Set([...authors, author])] },
    registers: { ...memory.registers, ...(newer && { [origin]: { count, head, ...(day && { day }) } }) },
  };
}

/**
 * Checks the chain of entries, and that it continues the checkpoint; returns entries and new one.
 * @type {(document: any, before?: RegisterCheckpoint) =>
 *   Promise<{entries: any[], seen: RegisterCheckpoint}>}
 */
async function checkRegister(document, { count, head } = { count: 0, head: NOTHING }) {
  const entries = document?.entries;
  const form = Array.isArray(entries) && entries.every((entry) => entry && typeof entry === "object");
  if (!form) throw new Refused("a register is an object with a list of entries and a head");
  let last = NOTHING;
  for (const [i, entry] of entries.entries()) {
    if (i === count && last !== head) throw new Refused(REWRITTEN);
    const follows = entry.number === i + 1 && entry.previous === last;
    if (!follows) throw new Refused(`entry ${i + 1} does not continue the one before it`);
    last = await digest(entry);
  }
  if (last !== document.head) throw new Refused("the register's last entry is not its head");
  if (entries.length < count) throw new Refused("the register was cut: it had more entries before");
  if (entries.length === count && last !== head) throw new Refused(REWRITTEN);
  const { day } = entries.at(-1) ?? {};
  return { entries, seen: { count: entries.length, head: last, ...(isDate(day) && { day }) } };
}

const REWRITTEN = "the register's history was rewritten: its entries are others than before";

/** @type {(entries: any[], name: string) => Published} */
function find(entries, name) {
  const found = entries.filter(({ event, survey }) => event === "published" && survey === name);
  if (found.length === 0) throw new Refused(`the register does not list the survey ${name}`);
  if (found.length > 1) {
    throw new Refused(`the register lists ${found.length} surveys of the name ${name}`);
  }
  return found[0];
}

/**
 * Throws Refused unless the entry is exactly the one that the definition makes.
 * @type {(entry: Published, definition: Definition, version: string) => void}
 */
function compare(entry, definition, version) {
  if (entry.digest !== version) {
    throw new Refused("the register shows others another version of this survey");
  }
  const dated = typeof entry.day === "string" && /^\d{4}-\d{2}-\d{2}$/.test(entry.day);
  if (!dated) {
    throw new Refused("an entry's day is a date such as 2026-11-21");
  }
  const own = published(definition, version, entry);
  for (const key of Object.keys({ ...own, ...entry })) {
    /** @type {(of: any) => string} */
    const written = (of) => (Object.hasOwn(of, key) ? canonicalise(of[key]) : "");
    if (written(own) !== written(entry)) {
      const word = key === "questions" ? "mechanism or epsilon" : key;
      throw new Refused(`the register tells others another ${word}`);
    }
  }
}

/** @param {unknown} key */
function checkedKey(key) {
  KEY(key, "the key of its invitations");
  return /** @type {string} */ (key);
}

/**
 * The register entry for a definition.
 * @type {(definition: Definition, version: string, entry: Published) => Published}
 */
function published(definition, version, { number, previous, day, author, signature, invitations }) {
  const { name, questions, waves } = definition;
  const all = total(definition);
  return {
    number,
    previous,
    event: "published",
    day,
    survey: name,
    digest: version,
    author,
    signature,
    epsilon: epsilon(all),
    delta: decimal(all.delta),
    questions: questions.map(({ name: question, mechanism }) => {
      return { name: question, mechanism: mechanism.name, epsilon: epsilon(loss(mechanism)) };
    }),
    ...(waves && { history: epsilon(history(definition)) }),
    ...(definition.invited && { invitations: checkedKey(invitations) }),
  };
}

/**
 * The epsilon of a loss, rounded up to hundredths: the smallest h/100 whose odds are no smaller.
 * @type {(loss: Loss) => string}
 */
function epsilon({ odds, exponent: [n, d] }) {
  let [low, high] = [0n, 1n << 17n];
  while (low < high) {
    const middle = (low + high) >> 1n;
    const rest = middle * d - 100n * n;
    if (rest >= 0n && atMostExp(odds, rest, 100n * d)) high = middle;
    else low = middle + 1n;
  }
  const digits = String(low).padStart(3, "0");
  return `${digits.slice(0, -2)}.${digits.slice(-2)}`;
}

/** @type {(value: [bigint, bigint]) => string} the one decimal spelling of a fraction */
function decimal(value) {
  const [n = "0", d = "1"] = fraction(...value).split("/");
  let scale = 1n;
  let places = 0;
  for (; scale % BigInt(d) !== 0n; places += 1) scale *= 10n;
  const digits = String((BigInt(n) * scale) / BigInt(d)).padStart(places + 1, "0");
  return places ? `${digits.slice(0, -places)}.${digits.slice(-places)}` : digits;
}
