// Verifies a survey's listing in a server's register (SPEC section 10): a device answers only surveys
// that everybody sees.

import { canonicalise, digest, parse } from "../core/canonical.js";
import { AuthorChanged, Refused } from "../core/errors.js";
import { fraction } from "../core/fraction.js";
import { atMostExp } from "../core/odds.js";
import {
  DATE, HASH, KEY, anything, between, integer, like, list, object,
} from "../core/validators.js";
import { loss } from "../mechanisms/mechanism.js";
import { total, totalHistory } from "../survey/total.js";
import { checkSignature, fingerprint, signedBy } from "./signing.js";
import { BLOCK, NOTHING, blockSides, folded, logRoot, nameSides, root } from "./trees.js";

/** @import { Check, Loss } from "../core/types.js" */
/** @import { Definition } from "../survey/types.js" */
/** @import { Accepted, Known, Listing, More, Published, RegisterCheckpoint, VerifiedSurvey } from "./types.js" */

const HASHES = list(HASH, 0, Infinity);
/** The head of a register, as it is sent and remembered. Devices of before remembered no more than
 * `count`, `head` and `day`. @type {Check} */
export const HEAD = object(
  { count: between(0, Infinity), head: HASH },
  { day: DATE, log: HASH, map: HASH, key: HASH, signature: like(/^[0-9a-f]{128}$/) },
);
const LISTED = object({
  entry: anything,
  head: HEAD,
  blocks: HASHES,
  recent: HASHES,
  log_path: HASHES,
  map_path: list(HASH, 0, 256),
});

/**
 * Checks the listing `text` of a verified definition in the register of the server at `origin`.
 * Returns the author, the seal of the register, and the head that was seen.
 *
 * `known` are the authors and registers that the device remembers. `accepted` is the fingerprint
 * of an author whom the respondent has accepted; `more` fetches what a device needs that was here
 * last long ago. Throws Refused, and AuthorChanged where only the author is not one that was known
 * there.
 * @type {(known: Known, origin: string, definition: Definition, version: string, text: string,
 *   accepted: string | undefined, more: More) => Promise<VerifiedSurvey>}
 */
export async function verifyListing(known, origin, definition, version, text, accepted, more) {
  const listing = /** @type {Listing} */ (parse(text));
  LISTED(listing, "register");
  const seal = await checkListing(listing, definition.name);
  const before = known.registers[origin];
  if (before) await checkContinues(listing, before, more);
  const met = await accept(known, origin, listing.entry, definition, version, accepted);
  return { ...met, seal, seen: listing.head };
}

/**
 * Returns the digest of the head, the seal. Throws Refused unless the head is signed, the hashes
 * of the listing make it, and the entry is in the log at its number and in the map under this name
 * (SPEC 10.2).
 * @type {(listing: Listing, name: string) => Promise<string>}
 */
async function checkListing({ blocks, entry, head: signed, log_path, map_path, recent }, name) {
  const { key, signature, ...head } = signed;
  const seal = await digest(head);
  if (!(await signedBy(`${key}`, `${signature}`, `deniably register 1\n${seal}\n`))) {
    throw new Refused("the signature is not this server's, of this head");
  }
  const { count, log, map } = head;
  const first = firstRecent(blocks);
  // The first 64 of `recent` are the last complete block, where there is one.
  const end = blocks.length && BLOCK;
  const number = entry?.number;
  integer(number, "number");
  const hash = await digest(entry);
  const old = number <= first;
  const place = old ? blocks[Math.floor((number - 1) / BLOCK)] : recent[number - 1 - first];
  const listed =
    blocks.length === Math.floor(count / BLOCK) &&
    first + recent.length === count &&
    (recent.at(-1) ?? NOTHING) === head.head &&
    (!end || (await root(recent.slice(0, end))) === blocks.at(-1)) &&
    (await logRoot(blocks, recent.slice(end))) === log &&
    log_path.length === (old ? 6 : 0) && // 2^6 = 64 entries are a block
    (await folded(hash, log_path, blockSides(number))) === place &&
    (await folded(hash, map_path, await nameSides(name))) === map;
  if (!listed) throw new Refused(`the register does not list the survey ${name} by this entry`);
  return seal;
}

/**
 * How many entries are before the recent ones, which begin with the last complete block.
 * @type {(blocks: readonly string[]) => number}
 */
const firstRecent = (blocks) => BLOCK * Math.max(0, blocks.length - 1);

/**
 * Throws Refused unless a checked listing continues what was seen.
 * @type {(listing: Listing, before: RegisterCheckpoint, more: More) => Promise<void>}
 */
async function checkContinues(listing, before, more) {
  const { blocks, head, recent } = listing;
  const { count } = before;
  const rest = count % BLOCK;
  // Where the incomplete block of the last visit begins in `recent`; below 0 it is not there any
  // more.
  const from = count - rest - firstRecent(blocks);
  if (count > head.count) throw new Refused("the register was cut: it had more entries before");
  if (!before.log || before.key !== head.key || (rest && from < 0)) {
    const { pastFault } = await import("./past.js"); // most devices never need it
    const why = await pastFault(listing, before, more);
    if (why) throw new Refused(why);
    return;
  }
  const log = await logRoot(blocks.slice(0, (count - rest) / BLOCK), recent.slice(from, from + rest));
  if (log !== before.log || (count === head.count && before.map !== head.map)) {
    throw new Refused("the register's history was rewritten: its entries are others than before");
  }
}

/**
 * Throws Refused unless the entry is the definition's and its author's, and AuthorChanged where the
 * author is not one that was known.
 * @type {(known: Known, origin: string, entry: Published, definition: Definition, version: string,
 *   accepted?: string) => Promise<Accepted>}
 */
export async function accept(known, origin, entry, definition, version, accepted) {
  compare(entry, definition, version);
  await checkSignature(version, entry.author, entry.signature);
  const authors = known.authors[origin] ?? [];
  const print = await fingerprint(entry.author);
  if (authors.length > 0 && !authors.includes(entry.author) && accepted !== print) {
    throw new AuthorChanged(print, await Promise.all(authors.map(fingerprint)));
  }
  const { author, invitations } = entry;
  return { origin, author, fingerprint: print, ...(invitations && { invitations }) };
}

/**
 * Returns the memory with a verified survey's author and register. Of two registers of a server
 * the longer one stays, as another tab may have seen more: both were checked.
 * @type {<K extends Known>(memory: K, verified: VerifiedSurvey) => K}
 */
export function remember(memory, { origin, author, seen }) {
  const authors = memory.authors[origin] ?? [];
  const before = memory.registers[origin];
  const newer = !before || before.count <= seen.count;
  return {
    ...memory,
    authors: { ...memory.authors, [origin]: [...new Set([...authors, author])] },
    registers: { ...memory.registers, ...(newer && { [origin]: seen }) },
  };
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
  // The keys of both: an entry may neither lack a member nor have another one.
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
 * Returns the register entry that the definition makes. What only the server and the author know
 * is taken from the `entry` at hand.
 * @type {(definition: Definition, version: string, entry: Published) => Published}
 */
function published(definition, version, { number, previous, day, author, signature, invitations }) {
  const { mixer, name, questions, waves } = definition;
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
    delta: asDecimal(all.delta),
    questions: questions.map(({ name: question, mechanism }) => {
      return { name: question, mechanism: mechanism.name, epsilon: epsilon(loss(mechanism)) };
    }),
    ...(waves && { history: epsilon(totalHistory(definition)) }),
    ...(definition.invited && { invitations: checkedKey(invitations) }),
    ...(mixer && { mixed: mixer.claim, mixer: mixer.signing }),
  };
}

/**
 * Returns the epsilon of a loss, rounded up to hundredths: the smallest h/100 with odds *
 * e^exponent <= e^(h/100), found by bisection.
 * @type {(loss: Loss) => string}
 */
function epsilon({ odds, exponent: [n, d] }) {
  // 2^17 hundredths are an epsilon of 1310: 100 waves within the limit of a survey, 5, have 500.
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
function asDecimal(value) {
  const [n = "0", d = "1"] = fraction(...value).split("/");
  // The power of ten that the denominator divides: the value was published as a decimal, so there
  // is one.
  let scale = 1n;
  let places = 0;
  for (; scale % BigInt(d) !== 0n; places += 1) scale *= 10n;
  const digits = String((BigInt(n) * scale) / BigInt(d)).padStart(places + 1, "0");
  return places ? `${digits.slice(0, -places)}.${digits.slice(-places)}` : digits;
}
