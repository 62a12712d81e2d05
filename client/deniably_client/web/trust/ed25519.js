// Verifies Ed25519 signatures in whole numbers (RFC 8032, section 5.1). Old phones need it: Android 6
// and 7 stay with Chrome 106 and 119 (137 has Ed25519), iPhones up to the X with Safari 15 and 16 (17
// has it). All else in the form works there. Every value here is public, so the time may vary.

/** @typedef {[bigint, bigint, bigint, bigint]} Point X, Y, Z, T with x = X/Z, y = Y/Z, xy = T/Z */

const P = 2n ** 255n - 19n; // the prime of the field
/** The order of the group that BASE generates. */
const ORDER = 2n ** 252n + 27742317777372353535851937790883648493n;

/** @type {(value: bigint) => bigint} */
const mod = (value) => ((value % P) + P) % P;

/**
 * Returns the power modulo P. To the power P - 2 it is the inverse.
 * @type {(base: bigint, exponent: bigint) => bigint}
 */
function power(base, exponent) {
  let [result, square] = [1n, mod(base)];
  for (let rest = exponent; rest > 0n; rest >>= 1n) {
    if (rest & 1n) result = mod(result * square);
    square = mod(square * square);
  }
  return result;
}

// The curve is -x^2 + y^2 = 1 + D x^2 y^2, with D = -121665/121666.
const D = mod(-121665n * power(121666n, P - 2n));
const ROOT = power(2n, (P - 1n) / 4n); // a square root of -1
/** @type {Point} */
const ZERO = [0n, 1n, 1n, 0n];
// The base point has y = 4/5 and an even x.
const BASE = /** @type {Point} */ (decode(mod(4n * power(5n, P - 2n))));

/**
 * Returns the sum of two points; the formula also doubles a point (RFC 8032, 5.1.4).
 * @type {(one: Point, two: Point) => Point}
 */
function add([x, y, z, t], [u, v, w, s]) {
  const a = mod((y - x) * (v - u));
  const b = mod((y + x) * (v + u));
  const c = mod(2n * t * s * D);
  const d = mod(2n * z * w);
  const [e, f, g, h] = [b - a, d - c, d + c, b + a];
  return [mod(e * f), mod(g * h), mod(f * g), mod(e * h)];
}

/** @type {(scalar: bigint, point: Point) => Point} by doubling and adding, lowest bit first */
function multiply(scalar, point) {
  let result = ZERO;
  let double = point;
  for (let rest = scalar; rest > 0n; rest >>= 1n) {
    if (rest & 1n) result = add(result, double);
    double = add(double, double);
  }
  return result;
}

/**
 * Decodes a point; undefined where the encoding is invalid or not canonical.
 * @type {(encoded: bigint) => Point | undefined}
 */
export function decode(encoded) {
  const sign = encoded >> 255n;
  const y = encoded & (2n ** 255n - 1n);
  if (y >= P) return undefined;
  // x^2 = (y^2 - 1) / (D y^2 + 1). The power is a root of it or of its negative (RFC 8032, 5.1.3).
  const square = mod((y * y - 1n) * power(D * y * y + 1n, P - 2n));
  let x = power(square, (P + 3n) / 8n);
  if (mod(x * x) !== square) x = mod(x * ROOT);
  if (mod(x * x) !== square || (x === 0n && sign === 1n)) return undefined;
  if ((x & 1n) !== sign) x = P - x;
  return [x, y, 1n, mod(x * y)];
}

/** @type {(point: Point) => bigint} y, with the lowest bit of x as the topmost one */
function encode([x, y, z]) {
  const inverse = power(z, P - 2n);
  return mod(y * inverse) | ((mod(x * inverse) & 1n) << 255n);
}

/** @type {(bytes: Uint8Array) => bigint} bytes as an integer, little-endian */
export const number = (bytes) => bytes.reduceRight((sum, byte) => (sum << 8n) | BigInt(byte), 0n);

/**
 * Whether the signature of 64 bytes is that of the key of 32 bytes, over the message.
 * @type {(key: Uint8Array, signature: Uint8Array, message: Uint8Array) => Promise<boolean>}
 */
export async function verify(key, signature, message) {
  if (key.length !== 32 || signature.length !== 64) return false;
  const [r, s] = [signature.subarray(0, 32), number(signature.subarray(32))];
  const author = decode(number(key));
  if (author === undefined || s >= ORDER) return false;
  const hashed = await crypto.subtle.digest("SHA-512", new Uint8Array([...r, ...key, ...message]));
  const k = number(new Uint8Array(hashed)) % ORDER;
  // [S]B - [k]A has to be R, whose bytes are those of the encoding.
  const [x, y, z, t] = multiply(k, author);
  return encode(add(multiply(s, BASE), [mod(-x), y, z, mod(-t)])) === number(r);
}
