// Writes and opens the copy of a signature: a key file that six words open (SPEC section 9.1).

import { hexadecimal } from "../core/canonical.js";
import { Refused } from "../core/errors.js";
import { bytes } from "../trust/signing.js";

/** @import { Copy } from "./types.js" */

const COUNT = 6;
const LETTERS = 4; // the first of a word, which no other word has
const LONGEST_GROUP = 100;
// What breaks or turns round a line, and what begins a block of PEM.
const NO_LINE = /[\0-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]|-----|\p{Surrogate}/u;

const TITLE = "Copy of a signature of Deniably";
const HINT = "Six words open it. Keep them apart from this file.";
const BEGIN = "-----BEGIN ENCRYPTED PRIVATE KEY-----";
const END = "-----END ENCRYPTED PRIVATE KEY-----";
const HEAD = new RegExp(
  `^${TITLE}\nGroup: (.+)\nNumber: ([0-9a-f]{4}(?: [0-9a-f]{4}){7})\nDay: (\\d{4}-\\d\\d-\\d\\d)$`,
  "m",
);
const BODY = new RegExp(`^${BEGIN}\n([A-Za-z0-9+/=\n]+)\n${END}$`, "m");

const ROUNDS = 600_000; // of PBKDF2: SPEC 9.1, and BEFORE_VECTOR has the number
// DER of RFC 5958 in hexadecimal. All lengths are fixed, so these are the same in every copy.
const BEFORE_SALT =
  "3081a4306006092a864886f70d01050d3053" + // EncryptedPrivateKeyInfo, PBES2
  "303206092a864886f70d01050c30250410"; // PBKDF2
const BEFORE_VECTOR =
  "02030927c0300c06082a864886f70d02090500" + // rounds, HMAC with SHA-256
  "301d060960864801650304012a0410"; // AES-256-CBC
const BEFORE_SEALED = "0440";
const DER = new RegExp(
  `^${BEFORE_SALT}(.{32})${BEFORE_VECTOR}(.{32})${BEFORE_SEALED}(.{128})$`,
);
/** An Ed25519 key in PKCS #8 before its 32 secret bytes (RFC 8410). */
export const PLAIN = "302e020100300506032b657004220420";

/**
 * Draws six words of the list. 2,048 divides 2^16, so the remainder makes all words equally
 * likely.
 */
export async function drawWords() {
  const list = await wordList();
  const drawn = crypto.getRandomValues(new Uint16Array(COUNT));
  return Array.from(drawn, (number) => list[number % list.length] ?? "");
}

/**
 * The six words in a typed text, however they are separated. Four letters of each are enough. Throws
 * Refused.
 * @type {(typed: string) => Promise<string[]>}
 */
export async function readWords(typed) {
  const words = typed.toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? [];
  if (words.length !== COUNT) {
    throw new Refused(`A copy opens with six words, and this is ${words.length || "none"}.`);
  }
  const known = new Map((await wordList()).map((word) => [word.slice(0, LETTERS), word]));
  return words.map((word, index) => {
    const found = known.get(word.slice(0, LETTERS));
    if (!found) throw new Refused(`Word ${index + 1} is not on the list; look at it once more.`);
    return found;
  });
}

/**
 * Writes the copy of a key that these words open. Throws Refused for a group that no line can name.
 * @type {(secret: Uint8Array, head: {group: string, number: string, day: string},
 *   words: string[]) => Promise<string>}
 */
export async function writeCopy(secret, { group, number, day }, words) {
  const length = [...group].length;
  if (group !== group.trim() || NO_LINE.test(group) || length < 1 || length > LONGEST_GROUP) {
    throw new Refused(
      `The name of a group is a line of 1 to ${LONGEST_GROUP} characters, without five hyphens in a row.`,
    );
  }
  const [salt, iv] = [0, 1].map(() => crypto.getRandomValues(new Uint8Array(16)));
  if (!salt || !iv) throw new Error("two were made");
  const plain = new Uint8Array([...bytes(PLAIN), ...secret]);
  const key = await stretched(words, salt);
  const sealed = await crypto.subtle.encrypt({ name: "AES-CBC", iv }, key, plain);
  plain.fill(0);
  const der = [
    ...bytes(BEFORE_SALT),
    ...salt,
    ...bytes(BEFORE_VECTOR),
    ...iv,
    ...bytes(BEFORE_SEALED),
    ...new Uint8Array(sealed),
  ];
  const body = btoa(String.fromCharCode(...der)).match(/.{1,64}/g) ?? [];
  const head = [TITLE, `Group: ${group}`, `Number: ${number}`, `Day: ${day}`, HINT];
  return [...head, "", BEGIN, ...body, END, ""].join("\n");
}

/**
 * Reads a copy without opening it. Throws Refused where it is cut, or is something else.
 * @type {(text: string) => Copy}
 */
export function readCopy(text) {
  if (!text.includes(TITLE) && !text.includes(BEGIN)) {
    throw new Refused("This is no copy of a signature.");
  }
  const lines = text.replace(/^\uFEFF/, "").split(/\r\n|\r|\n/);
  const plain = lines.map((line) => line.trimEnd()).join("\n");
  const [head, body] = [HEAD.exec(plain), BODY.exec(plain)];
  const der = body?.[1] ? decoded(body[1]) : "";
  if (der && !der.startsWith(BEFORE_SALT)) {
    throw new Refused("This is a key with a password, and no copy of a signature that Deniably made.");
  }
  const parts = DER.exec(der);
  if (!head || !parts) {
    throw new Refused("This copy is cut or damaged: take the whole file, with all its lines.");
  }
  const [, group = "", number = "", day = ""] = head;
  const [, salt = "", vector = "", sealed = ""] = parts;
  return { group, number, day, salt: bytes(salt), vector: bytes(vector), sealed: bytes(sealed) };
}

/**
 * The 32 secret bytes in a copy. Throws Refused where these are not its words. AES-CBC has no tag: the
 * caller compares the number of the key.
 * @type {(copy: Copy, words: string[]) => Promise<Uint8Array<ArrayBuffer>>}
 */
export async function openCopy({ salt, vector, sealed }, words) {
  const key = await stretched(words, salt);
  const how = { name: "AES-CBC", iv: vector };
  const opened = await crypto.subtle.decrypt(how, key, sealed).catch(() => new ArrayBuffer(0));
  const plain = new Uint8Array(opened);
  const before = bytes(PLAIN);
  if (plain.length !== before.length + 32 || before.some((byte, index) => byte !== plain[index])) {
    throw new Refused("These are not the words of this copy.");
  }
  return plain.slice(before.length);
}

/**
 * The key that the words open, by a slow hash.
 * @type {(words: string[], salt: Uint8Array<ArrayBuffer>) => Promise<CryptoKey>}
 */
async function stretched(words, salt) {
  const password = new TextEncoder().encode(words.join(" "));
  const base = await crypto.subtle.importKey("raw", password, "PBKDF2", false, ["deriveKey"]);
  const how = { name: "PBKDF2", hash: "SHA-256", salt, iterations: ROUNDS };
  const cipher = { name: "AES-CBC", length: 256 };
  return crypto.subtle.deriveKey(how, base, cipher, false, ["encrypt", "decrypt"]);
}

/** @type {(body: string) => string} what base64 stands for, in hexadecimal; empty where it is none */
export function decoded(body) {
  try {
    return hexadecimal(Uint8Array.from(atob(body), (char) => char.charCodeAt(0)));
  } catch {
    return "";
  }
}

/** The 2,048 words, which Python reads from the same file. They are fetched where they are needed. */
async function wordList() {
  const response = await fetch(new URL("./words.txt", import.meta.url), { credentials: "omit" });
  const words = (await response.text()).split("\n").filter(Boolean);
  if (!response.ok || words.length !== 2048) {
    throw new Refused("The list of words did not arrive. Please try again.");
  }
  return words;
}
