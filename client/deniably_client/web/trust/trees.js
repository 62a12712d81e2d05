// The hashes of the two trees over a register (SPEC section 10): a log of entries, a map of names.

import { digest } from "../core/canonical.js";

/** The entries of a block, a complete part of the log. */
export const BLOCK = 64;
/** The hash of a tree without entries. */
export const NOTHING = "0".repeat(64);

/** @type {(nodes: readonly string[]) => Promise<string>} the root over these nodes: they are
 * hashed in pairs, level by level, and one that is left over goes up as it is (RFC 9162, 2.1) */
export async function root(nodes) {
  if (nodes.length < 2) return nodes[0] ?? NOTHING;
  const above = [];
  for (let i = 0; i < nodes.length; i += 2) {
    const pair = nodes.slice(i, i + 2);
    above.push(pair.length > 1 ? await digest(pair) : pair.join(""));
  }
  return root(above);
}

/**
 * Returns the root of a log from the roots of its complete blocks and the hashes after them. That
 * is the root over all hashes: a block has 2^6 of them, so pairing never crosses its border.
 * @type {(blocks: readonly string[], rest: readonly string[]) => Promise<string>}
 */
export const logRoot = async (blocks, rest) => root(rest.length ? [...blocks, await root(rest)] : blocks);

/**
 * Returns the root above a hash. `path` has the siblings from the top down, and `sides` a digit
 * for each, 1 where the hash is on the right.
 * @type {(hash: string, path: readonly string[], sides: string) => Promise<string>}
 */
export async function folded(hash, path, sides) {
  let above = hash;
  for (let i = path.length - 1; i >= 0; i -= 1) {
    above = await digest(sides[i] === "1" ? [path[i], above] : [above, path[i]]);
  }
  return above;
}

/** @type {(number: number) => string} the `sides` of an entry in its block: its index in
 * binary, from the top down */
export const blockSides = (number) => ((number - 1) % BLOCK).toString(2).padStart(6, "0");

/** @type {(name: string) => Promise<string>} the `sides` of a name in the map: the
 * bits of the name's digest, from the top down */
export const nameSides = async (name) =>
  BigInt(`0x${await digest(name)}`).toString(2).padStart(256, "0");
