// Envelopes (SPEC section 14.1): HPKE of RFC 9180, base mode, with DHKEM(P-256, HKDF-SHA256),
// HKDF-SHA256 and AES-128-GCM. Every envelope has an ephemeral key of the browser's own making.

import { Refused } from "../core/errors.js";
import { bytes } from "./signing.js";

/** @typedef {Uint8Array<ArrayBuffer>} Bytes */

const P256 = { name: "ECDH", namedCurve: "P-256" };
const POINT = /^04[0-9a-f]{128}$/;
const CODE = 18;
const PREFIX = 2;
const LONGEST = 0xffff;

/** @type {(...parts: (Bytes | string | number[])[]) => Bytes} the parts, one after the other */
function joined(...parts) {
  const found = parts.map((part) =>
    typeof part === "string" ? new TextEncoder().encode(part) : Uint8Array.from(part),
  );
  const whole = new Uint8Array(found.reduce((size, part) => size + part.length, 0));
  let at = 0;
  for (const part of found) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

const NOTHING = new Uint8Array();
const KEM = joined("KEM", [0, 0x10]);
const HPKE = joined("HPKE", [0, 0x10, 0, 1, 0, 1]);

/**
 * The envelope of a report to one question, for the survey's server. `pair` is for tests with known
 * answers. Throws Refused where the report does not fit.
 * @type {(key: string, digest: string, report: string, length: number, pair?: CryptoKeyPair) =>
 *   Promise<Bytes>}
 */
export const sealInner = (key, digest, report, length, pair) =>
  sealed(key, `deniably report 1\n${digest}\n`, padded(joined(report), length), pair);

/**
 * The envelope of a person's inner envelopes, for the mixer. `code` is that of the invitation, empty
 * where the survey has none.
 * @type {(key: string, digest: string, inner: readonly Bytes[], code: string, pair?: CryptoKeyPair) =>
 *   Promise<Bytes>}
 */
export function sealOuter(key, digest, inner, code, pair) {
  const text = joined(code.padEnd(CODE), ...inner);
  return sealed(key, `deniably mix 1\n${digest}\n`, padded(text, PREFIX + text.length), pair);
}

/**
 * What seals one text: the ephemeral public key, the key and the nonce (RFC 9180, SetupBaseS).
 * @type {(key: string, info: string | Bytes, pair?: CryptoKeyPair) =>
 *   Promise<{enc: Bytes, key: Bytes, nonce: Bytes}>}
 */
export async function setUp(key, info, pair) {
  const { subtle } = crypto;
  // Browsers take other encodings of a point, too, and the receiver's is part of what is hashed.
  if (!POINT.test(key)) throw new Refused("a key of envelopes is 65 bytes, and the first is 4");
  const receiver = bytes(key);
  const theirs = await subtle.importKey("raw", receiver, P256, false, []).catch(() => {
    throw new Refused("a key of envelopes is no point of P-256");
  });
  const own = pair ?? (await subtle.generateKey(P256, false, ["deriveBits"]));
  const bits = await subtle.deriveBits({ name: "ECDH", public: theirs }, own.privateKey, 256);
  const enc = new Uint8Array(await subtle.exportKey("raw", own.publicKey));
  const exchanged = await extract(KEM, NOTHING, "eae_prk", new Uint8Array(bits));
  const shared = await expand(KEM, exchanged, "shared_secret", joined(enc, receiver), 32);
  const schedule = joined(
    [0], // base mode
    await extract(HPKE, NOTHING, "psk_id_hash", NOTHING),
    await extract(HPKE, NOTHING, "info_hash", joined(info)),
  );
  const secret = await extract(HPKE, shared, "secret", NOTHING);
  return {
    enc,
    key: await expand(HPKE, secret, "key", schedule, 16),
    nonce: await expand(HPKE, secret, "base_nonce", schedule, 12),
  };
}

/** @type {(key: string, info: string, plain: Bytes, pair?: CryptoKeyPair) => Promise<Bytes>} */
async function sealed(key, info, plain, pair) {
  const context = await setUp(key, info, pair);
  const { subtle } = crypto;
  const secret = await subtle.importKey("raw", context.key, "AES-GCM", false, ["encrypt"]);
  const text = await subtle.encrypt({ name: "AES-GCM", iv: context.nonce }, secret, plain);
  return joined(context.enc, new Uint8Array(text));
}

/** @type {(text: Bytes, length: number) => Bytes} how long the text is, the text, and zeros */
function padded(text, length) {
  if (text.length > Math.min(length - PREFIX, LONGEST)) {
    throw new Refused("a report does not fit into the survey's envelopes");
  }
  const whole = new Uint8Array(length);
  whole.set(joined([text.length >> 8, text.length & 0xff], text));
  return whole;
}

/** @type {(suite: Bytes, salt: Bytes, label: string, input: Bytes) => Promise<Bytes>} */
const extract = (suite, salt, label, input) =>
  hmac(salt, joined("HPKE-v1", suite, label, input));

/** @type {(suite: Bytes, secret: Bytes, label: string, info: Bytes, length: number) => Promise<Bytes>}
 * at most the 32 bytes of one block */
async function expand(suite, secret, label, info, length) {
  const block = await hmac(secret, joined([0, length], "HPKE-v1", suite, label, info, [1]));
  return block.slice(0, length);
}

/** @type {(key: Bytes, text: Bytes) => Promise<Bytes>} HMAC with SHA-256 */
async function hmac(key, text) {
  const how = { name: "HMAC", hash: "SHA-256" };
  // HMAC pads keys with zeros, and WebCrypto refuses one of no bytes.
  const raw = key.length ? key : new Uint8Array(32);
  const secret = await crypto.subtle.importKey("raw", raw, how, false, ["sign"]);
  return new Uint8Array(await crypto.subtle.sign(how.name, secret, text));
}
