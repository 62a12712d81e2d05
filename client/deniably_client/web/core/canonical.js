// Canonical JSON (RFC 8785, integers only) and digests (SPEC section 3).

import { Refused } from "./errors.js";

/**
 * Parses a JSON text. JSON.parse silently keeps the last of repeated keys and rounds numbers, so
 * this function checks the text's tokens for both.
 * @type {(text: string) => unknown}
 */
export function parse(text) {
  /** @type {unknown} */
  let value;
  try {
    value = JSON.parse(text);
  } catch {
    // Without the parser's own message: it may quote the text, which can be a device's memory.
    throw new Refused("this is not JSON");
  }
  /**
   * The keys seen in each object that is open at the token, innermost last.
   * @type {Set<string>[]}
   */
  const objects = [];
  for (const [token, string, colon] of text.matchAll(TOKENS)) {
    if (token === "{") objects.push(new Set());
    else if (token === "}") objects.pop();
    else if (string === undefined) {
      if (/[.eE]/.test(token)) throw new Refused("a number has a fraction or an exponent");
    } else if (colon !== undefined) {
      const keys = objects.at(-1);
      const key = JSON.parse(string);
      if (keys?.has(key)) throw new Refused("a key is given twice in one object");
      keys?.add(key);
    }
  }
  return value;
}

// Strings, with a colon where they are keys; numbers; the braces of objects. JSON.parse has
// accepted the text before, so the pattern need not be strict. Lists have no keys, so their
// brackets are not looked at.
const TOKENS = /("[^"\\]*(?:\\.[^"\\]*)*")(\s*:)?|-?\d[\d.eE+-]*|[{}]/g;

/**
 * Writes a value as canonical JSON. Throws Refused for fractions, null, integers past 2^53 - 1
 * and lone surrogates.
 * @type {(value: unknown) => string}
 */
export function canonicalise(value) {
  if (typeof value === "boolean") return String(value);
  if (typeof value === "number") {
    if (!Number.isSafeInteger(value)) throw new Refused("a number is no integer up to 2^53 - 1");
    return String(value);
  }
  if (typeof value === "string") {
    // With the flag u, a pair of surrogates is one character that does not match.
    if (/\p{Surrogate}/u.test(value)) throw new Refused("a text holds half a character");
    return JSON.stringify(value);
  }
  if (Array.isArray(value)) return `[${value.map(canonicalise).join(",")}]`;
  if (typeof value === "object" && value !== null) {
    // Sorting without a comparison is by UTF-16 code units, as RFC 8785 has it.
    const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
    const members = entries.map(([key, item]) => `${canonicalise(key)}:${canonicalise(item)}`);
    return `{${members.join(",")}}`;
  }
  throw new Refused("only objects, lists, texts, booleans and integers are allowed");
}

/**
 * The SHA-256 of a value's canonical JSON, in hexadecimal.
 * @type {(value: unknown) => Promise<string>}
 */
export const digest = async (value) => sha256(canonicalise(value));

/** @type {(text: string) => Promise<string>} the SHA-256 of a text in UTF-8, in hexadecimal */
export async function sha256(text) {
  const hash = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return hexadecimal(new Uint8Array(hash));
}

/**
 * Returns bytes as lower-case hexadecimal digits, two for each.
 * @param {Uint8Array} bytes
 */
export function hexadecimal(bytes) {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
