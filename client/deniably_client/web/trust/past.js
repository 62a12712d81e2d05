// Verifies that a register continues what a device saw long ago, or under another key of the server
// (SPEC section 10). The form fetches this module alone, where it is needed, which is seldom.

import { digest, parse } from "../core/canonical.js";
import { Refused } from "../core/errors.js";
import { HASH, list, object } from "../core/validators.js";
import { BLOCK, NOTHING, logRoot, root } from "./trees.js";

/** @import { Listing, More, Published, RegisterCheckpoint } from "./types.js" */

/**
 * How many hashes are asked for at once. The server cannot tell which of so many entries was the
 * last that this device saw.
 */
const VOLUME = 1024;
const HASHES = object({ hashes: list(HASH, 0, VOLUME) });
const REWRITTEN = "the register's history was rewritten: its entries are others than before";

/**
 * Returns undefined where a checked listing continues what was seen, else a sentence that says why
 * not. This module is loaded beside the bundle, so its class Refused is another one than the
 * bundle's: its errors are told as text.
 * @type {(listing: Listing, before: RegisterCheckpoint, more: More) => Promise<string | undefined>}
 */
export async function pastFault(listing, before, more) {
  const known = before.log && before.key === listing.head.key;
  const path = known ? `/register/hashes/${Math.floor(before.count / VOLUME)}` : "/register";
  const text = await more(path);
  try {
    await (known ? checkHashes(listing, before, text) : checkWhole(listing, before, text));
    return undefined;
  } catch (error) {
    if (error instanceof Refused) return error.message;
    throw error;
  }
}

/**
 * Checks by the hashes of one volume: the block in which the device's last entry was must be a
 * block of the log, and the log up to that entry the one that was seen (SPEC 10.3).
 * @type {(listing: Listing, before: RegisterCheckpoint, text: string) => Promise<void>}
 */
async function checkHashes({ blocks }, { count, log: seen }, text) {
  const { hashes } = read(text);
  const rest = count % BLOCK;
  const block = Math.floor(count / BLOCK);
  const from = (count - rest) % VOLUME; // where that block begins in its volume
  if ((await root(hashes.slice(from, from + BLOCK))) !== blocks[block]) {
    throw new Refused("the hashes of the register's entries do not make its log");
  }
  const log = await logRoot(blocks.slice(0, block), hashes.slice(from, from + rest));
  if (log !== seen) throw new Refused(REWRITTEN);
}

/** @type {(text: string) => {hashes: string[]}} */
function read(text) {
  const value = parse(text);
  HASHES(value, "hashes");
  return /** @type {{hashes: string[]}} */ (value);
}

/**
 * Checks by the whole register, for a device that remembers no signed head or one of another key.
 * @type {(listing: Listing, before: RegisterCheckpoint, text: string) => Promise<void>}
 */
async function checkWhole({ entry, head }, before, text) {
  const { entries, hashes } = await checkRegister(parse(text), before);
  find(entries, entry.survey);
  if ((await root(hashes.slice(0, head.count))) !== head.log) {
    throw new Refused("the server signed another head than its entries make");
  }
}

/**
 * Checks the chain of entries, and that it continues the checkpoint; returns the entries and their
 * hashes.
 * @type {(document: any, before?: RegisterCheckpoint) =>
 *   Promise<{entries: any[], hashes: string[]}>}
 */
export async function checkRegister(document, { count, head } = { count: 0, head: NOTHING }) {
  const entries = document?.entries;
  const form = Array.isArray(entries) && entries.every((entry) => entry && typeof entry === "object");
  if (!form) throw new Refused("a register is an object with a list of entries and a head");
  const hashes = [];
  let last = NOTHING;
  for (const [i, entry] of entries.entries()) {
    const follows = entry.number === i + 1 && entry.previous === last;
    if (!follows) throw new Refused(`entry ${i + 1} does not continue the one before it`);
    last = await digest(entry);
    hashes.push(last);
  }
  if (last !== document.head) throw new Refused("the register's last entry is not its head");
  if (entries.length < count) throw new Refused("the register was cut: it had more entries before");
  if ((count ? hashes[count - 1] : NOTHING) !== head) throw new Refused(REWRITTEN);
  return { entries, hashes };
}

/** @type {(entries: any[], name: string) => Published} the only publication under this name */
export function find(entries, name) {
  const matches = entries.filter(({ event, survey }) => event === "published" && survey === name);
  if (matches.length === 0) throw new Refused(`the register does not list the survey ${name}`);
  if (matches.length > 1) {
    throw new Refused(`the register lists ${matches.length} surveys of the name ${name}`);
  }
  return matches[0];
}
