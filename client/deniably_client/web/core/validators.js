// Validates the shape of JSON values. Each check throws Refused and names the path.

import { Refused, must } from "./errors.js";

/** @import { Check } from "./types.js" */

export const anything = () => {};

/** Control characters: they steer a screen or the direction of a text. */
const STEERING = /[\0-\x08\v\f\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]|\r(?!\n)/;

/** @type {(refused: RegExp) => Check} checks a text in which the pattern matches nothing */
const without = (refused) => (value, path) => {
  must(typeof value === "string", path, "is not a text", value);
  const at = value.search(refused);
  must(at < 0, path, `has U+${value.charCodeAt(at).toString(16)} at ${at + 1}`, value);
};

/** A text that may have paragraphs. */
export const prose = without(STEERING);
/** A text on one line: a line break of any kind is refused, too. */
export const text = without(RegExp(`[\n\u2028\u2029]|${STEERING.source}`));

/** @type {Check} */
export const integer = (value, path) =>
  must(Number.isSafeInteger(value), path, "is not an integer", value);

/** @type {(least: number, most: number) => Check} */
export const between = (least, most) => (value, path) => {
  const fits = Number.isSafeInteger(value) && value >= least && value <= most;
  must(fits, path, `is not an integer from ${least} to ${most}`, value);
};

/** @type {(pattern: RegExp) => Check} */
export const like = (pattern) => (value, path) =>
  must(
    typeof value === "string" && pattern.test(value), path,
    `does not match ${pattern.source}`, value,
  );

/** @type {Check} */
export const anObject = (value, path) =>
  must(typeof value === "object" && value !== null && !Array.isArray(value), path, "is no object", value);

/**
 * Checks an object that has all `needed` keys, and no others but the `optional` ones.
 * @type {(needed: Record<string, Check>, optional?: Record<string, Check>) => Check}
 */
export const object = (needed, optional = {}) => {
  // A Map, because a plain object has keys of its own, such as constructor.
  const checks = new Map(Object.entries({ ...needed, ...optional }));
  return (value, path) => {
    anObject(value, path);
    for (const key of Object.keys(needed)) must(Object.hasOwn(value, key), path, `lacks ${key}`);
    for (const [key, item] of Object.entries(value)) {
      const check = checks.get(key);
      if (check === undefined) throw new Refused(`${path}: the key ${key} is not known`);
      check(item, `${path}.${key}`);
    }
  };
};

/**
 * Checks a list of `least` to `most` items.
 * @type {(check: Check, least: number, most: number) => Check}
 */
export const list = (check, least, most) => (value, path) => {
  const fits = Array.isArray(value) && value.length >= least && value.length <= most;
  must(fits, path, `is not a list of ${least} to ${most}`, value);
  for (const [i, item] of value.entries()) check(item, `${path}[${i}]`);
};

/**
 * As `list`, with items of different names.
 * @type {(check: Check, least: number, most: number) => Check}
 */
export const named = (check, least, most) => (value, path) => {
  list(check, least, most)(value, path);
  const all = value.map((/** @type {any} */ item) => item?.name);
  const names = new Set(all);
  must(names.size === value.length, path, "a name is used twice", all);
};

/** The version of the specification. @type {Check} */
export const SPEC = (value, path) =>
  must(value === 1, path, "is not the version that this page knows", value);
/** A SHA-256, or a public key of Ed25519. */
export const HASH = like(/^[0-9a-f]{64}$/);
/** @type {(value: unknown) => boolean} whether it is a day such as 2026-11-21, of years 1000 to 2999 */
export const isDate = (value) =>
  typeof value === "string" &&
  /^[12]\d{3}-\d\d-\d\d$/.test(value) &&
  // Date takes 2026-02-30 for 2026-03-02, so the day has to come back unchanged.
  new Date(value).toJSON()?.slice(0, 10) === value;
/** @type {Check} */
export const DATE = (value, path) => must(isDate(value), path, "is no date");
export const SURVEY_NAME = like(/^[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?$/);
/** An RSA modulus for invitations: 2048 to 4096 bits, whole bytes, odd, first bit set. */
export const KEY = like(/^[89a-f]([0-9a-f]{2}){255,511}[13579bdf]$/);
export const NAME = like(/^[A-Za-z_][A-Za-z0-9_.-]{0,63}$/);
/** A decimal of at least 0 in its one spelling (SPEC 2.2); its length bounds exact arithmetic. */
export const DECIMAL = like(/^(?=.{1,40}$)(0|[1-9][0-9]*)(\.[0-9]*[1-9])?$/);
