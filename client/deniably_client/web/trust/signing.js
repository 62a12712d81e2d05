// Checks the author's signature of a definition, and fingerprints keys (SPEC section 9).

import { sha256 } from "../core/canonical.js";
import { Refused } from "../core/errors.js";

/**
 * Throws Refused unless this is the author's signature of the definition with this digest.
 * @type {(digest: string, author: string, signature: string) => Promise<void>}
 */
export async function checkSignature(digest, author, signature) {
  const texts = typeof author === "string" && typeof signature === "string";
  const formed = texts && /^[0-9a-f]{64}$/.test(author) && /^[0-9a-f]{128}$/.test(signature);
  if (!formed || !(await signedBy(author, signature, `deniably survey 1\n${digest}\n`))) {
    throw new Refused("the signature is not this author's, of this definition");
  }
}

/**
 * Whether the signature of the text is the key's; both are in hexadecimal.
 * @type {(key: string, signature: string, text: string) => Promise<boolean>}
 */
export const signedBy = (key, signature, text) =>
  verifySignature(bytes(key), bytes(signature), new TextEncoder().encode(text));

/** @type {(author: string) => Promise<string>} a short hash of the key, for people to
 * compare: 32 hexadecimal digits in groups of four */
export async function fingerprint(author) {
  return ((await sha256(author)).slice(0, 32).match(/.{4}/g) ?? []).join(" ");
}

/** @type {(hex: string) => Uint8Array<ArrayBuffer>} the bytes of hexadecimal digits */
export const bytes = (hex) =>
  Uint8Array.from(hex.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));

/**
 * Whether the signature of the message is the key's. ed25519.js takes over where the browser has no
 * Ed25519.
 * @param {Uint8Array<ArrayBuffer>} key
 * @param {Uint8Array<ArrayBuffer>} signature
 * @param {Uint8Array<ArrayBuffer>} message
 */
export async function verifySignature(key, signature, message) {
  try {
    const imported = await crypto.subtle.importKey("raw", key, "Ed25519", false, ["verify"]);
    return await crypto.subtle.verify("Ed25519", imported, signature, message);
  } catch {
    // A malformed key ends up here, too; ed25519.js says that it signed nothing.
    const own = await import("./ed25519.js");
    return own.verify(key, signature, message);
  }
}
