// Blind RSA signatures (RFC 9474, RSABSSA-SHA384-PSS-Randomized). The signer learns neither the
// message nor the signature. All values are hexadecimal; the exponent is 65537.

import { hexadecimal } from "../core/canonical.js";
import { Refused } from "../core/errors.js";
import { KEY } from "../core/validators.js";
import { bytes } from "./signing.js";

// Bytes: of the random prefix of a message, of a SHA-384, and of the salt of PSS (RFC 9474,
// section 5).
const PREFIX = 32;
const HASH = 48;
const SALT = 48;

/** @type {(message: string) => string} returns the message behind a random prefix,
 * so that nobody can guess what is signed (PrepareRandomize of RFC 9474) */
export const prepare = (message) => random(PREFIX) + message;

/**
 * Blinds a prepared message: `blinded` goes to the signer, `inverse` removes the blinding later. The
 * parameters `salt` and `inverse` are for tests with known answers.
 * @type {(key: string, prepared: string, salt?: string, inverse?: string) =>
 *   Promise<{blinded: string, inverse: string}>}
 */
export async function blind(key, prepared, salt = random(SALT), inverse) {
  const modulus = read(checked(key));
  const number = await encoded(prepared, salt, 4 * key.length - 1);
  // Else the message shares a prime with the modulus, next to impossible for an honest key (RFC
  // 9474, 4.2).
  if (inverted(number, modulus) === undefined) throw new Refused("the key is not the product of two large primes");
  // The inverse is what is drawn, uniformly: it is kept for later, and the factor follows from it.
  const back = inverse === undefined ? invertible(modulus) : read(inverse);
  // m r^e: the signer returns (m r^e)^d = m^d r, and the inverse of r leaves m^d.
  const factor = power(inverted(back, modulus) ?? 0n, modulus);
  const written = (/** @type {bigint} */ value) => value.toString(16).padStart(key.length, "0");
  return { blinded: written((number * factor) % modulus), inverse: written(back) };
}

/**
 * Removes the blinding and returns the signature. Throws Refused unless the signature is valid.
 * @type {(key: string, prepared: string, blindSignature: string, inverse: string,
 *   saltLength?: number) => Promise<string>}
 */
export async function finalise(key, prepared, blindSignature, inverse, saltLength = SALT) {
  const modulus = read(checked(key));
  if (!isNumber(blindSignature, key)) throw new Refused("the blind signature is no number below the key");
  // Only a valid signature is used: one by another key could mark this device (SPEC 11.5).
  const number = (read(blindSignature) * read(inverse)) % modulus;
  const signature = number.toString(16).padStart(key.length, "0");
  await verify(key, prepared, signature, saltLength);
  return signature;
}

/**
 * Throws Refused unless the key signed the prepared message (ordinary RSASSA-PSS).
 * @type {(key: string, prepared: string, signature: string, saltLength?: number) => Promise<void>}
 */
export async function verify(key, prepared, signature, saltLength = SALT) {
  if (!isNumber(signature, checked(key))) throw new Refused("the signature is no number below the key");
  const { subtle } = crypto;
  const jwk = { kty: "RSA", n: base64url(key), e: "AQAB" };
  const how = { name: "RSA-PSS", hash: "SHA-384" };
  const signer = await subtle.importKey("jwk", jwk, how, false, ["verify"]);
  const parameters = { name: "RSA-PSS", saltLength };
  const good = await subtle.verify(parameters, signer, bytes(signature), bytes(prepared));
  if (!good) throw new Refused("the signature is not this key's, of this message");
}

/** @param {string} key throws Refused unless it is a modulus that SPEC 11.2 allows */
function checked(key) {
  KEY(key, "the key of its invitations");
  return key;
}

/** @type {(text: string, key: string) => boolean} texts of equal length compare as their numbers do */
const isNumber = (text, key) =>
  text.length === key.length && /^[0-9a-f]+$/.test(text) && text < key;

/** @param {string} text in hexadecimal */
const read = (text) => BigInt(`0x${text}`);

/** @type {(base: bigint, modulus: bigint) => bigint} base^65537, and 65537 is 2^16 + 1 */
function power(base, modulus) {
  let result = base;
  for (let squared = 0; squared < 16; squared += 1) result = (result * result) % modulus;
  return (result * base) % modulus;
}

/**
 * The inverse, if there is one; by the extended algorithm of Euclid.
 * @type {(number: bigint, modulus: bigint) => bigint | undefined}
 */
function inverted(number, modulus) {
  let [above, below, first, second] = [modulus, number, 0n, 1n];
  while (below > 0n) {
    const times = above / below;
    [above, below] = [below, above - times * below];
    [first, second] = [second, first - times * second];
  }
  return above === 1n ? (first + modulus) % modulus : undefined;
}

/** @type {(modulus: bigint) => bigint} uniformly random among those that have an inverse */
function invertible(modulus) {
  for (;;) {
    const number = read(random(modulus.toString(16).length / 2));
    if (number < modulus && inverted(number, modulus) !== undefined) return number;
  }
}

/** @param {number} count of bytes */
const random = (count) => hexadecimal(crypto.getRandomValues(new Uint8Array(count)));

/** @type {(message: string, salt: string, bits: number) => Promise<bigint>} EMSA-PSS-ENCODE of
 * RFC 8017, section 9.1.1, as a number */
async function encoded(message, salt, bits) {
  const length = Math.ceil(bits / 8) - HASH - 1;
  const hashed = await sha384("00".repeat(8) + (await sha384(message)) + salt);
  const block = `01${salt}`;
  // MGF1: the mask is SHA-384 of the hash and a counter, until it is long enough.
  let stream = "";
  for (let count = 0; stream.length < 2 * length; count += 1) {
    stream += await sha384(hashed + count.toString(16).padStart(8, "0"));
  }
  const masked = read(block) ^ read(stream.slice(0, 2 * length));
  const whole = (masked << BigInt(8 * HASH + 8)) | (read(hashed) << 8n) | 0xbcn;
  // The encoded message has one bit less than the modulus: the topmost bits are cleared.
  return BigInt.asUintN(bits, whole);
}

/** @type {(text: string) => Promise<string>} */
const sha384 = async (text) =>
  hexadecimal(new Uint8Array(await crypto.subtle.digest("SHA-384", bytes(text))));

/** @param {string} text */
const base64url = (text) =>
  btoa(String.fromCharCode(...bytes(text)))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "");
