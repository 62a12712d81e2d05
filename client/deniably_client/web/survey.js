// The published definition: what a device verifies before it draws (SPEC sections 4 and 2.2).

import { digest } from "./canonical.js";
import { Refused, must } from "./errors.js";
import { fraction, parts } from "./fraction.js";
import { checkMechanism } from "./mechanism.js";

/** @import { Mechanism } from "./mechanism.js" */

/**
 * @typedef {{name: string, label: string}} Choice
 * @typedef {{epsilon?: string, odds?: string}} Claim
 * @typedef {{name: string, type: string, label: string, hint?: string, choices: Choice[],
 *   claim: Claim, mechanism: Mechanism}} Question
 * @typedef {{spec: 1, name: string, title: string, language: string, intro?: string,
 *   contact?: string, results: {minimum: number, while_open: boolean},
 *   questions: Question[]}} Definition
 */

/**
 * The definition, once everything that it states is verified: its form, each mechanism, each
 * claim, and that its digest is `expectedDigest`. Throws Refused with what is wrong and where.
 * @param {unknown} definition
 * @param {string} expectedDigest
 * @returns {Promise<Definition>}
 */
export async function verify(definition, expectedDigest) {
  SURVEY(definition, "survey");
  const found = await digest(definition);
  must(found === expectedDigest, "survey", `was changed: its version is ${found}`);
  return /** @type {Definition} */ (definition);
}

/**
 * Throws Refused unless own/other keeps what a well-formed claim says; in whole numbers.
 * @param {unknown} claim
 * @param {number} own
 * @param {number} other
 * @param {string} [path]
 */
export function checkClaim(claim, own, other, path = "claim") {
  CLAIM(claim, path);
  const { epsilon, odds } = /** @type {Claim} */ (claim);
  let kept = false;
  if (epsilon !== undefined) {
    must(odds === undefined, path, "is either epsilon or odds");
    const [whole, digits = ""] = epsilon.split(".");
    const [n, d] = [BigInt(whole + digits), 10n ** BigInt(digits.length)];
    must(100n * n >= d && n <= 10n * d, path, "epsilon is from 0.01 to 10");
    kept = atMostExp([BigInt(own), BigInt(other)], n, d);
  } else {
    const [n, d] = parts(odds ?? "");
    must(fraction(n, d) === odds, path, "is epsilon or odds, and odds are in lowest terms");
    const inRange = !atMostExp([n, d], 1n, 100n) && atMostExp([n, d], 10n);
    must(inRange, path, "odds are from e^0.01 to e^10");
    kept = BigInt(own) * d <= n * BigInt(other);
  }
  must(kept, path, "the mechanism's weights give larger odds than the claim allows");
}

/**
 * The odds of all questions together, the product of own/other: numerator and denominator.
 * @param {Definition} definition
 * @returns {[bigint, bigint]}
 */
export function totalOdds({ questions }) {
  const product = (/** @type {"own" | "other"} */ weight) =>
    questions.reduce((total, { mechanism }) => total * BigInt(mechanism[weight]), 1n);
  return [product("own"), product("other")];
}

/**
 * Whether odds <= e^(n/d), by a lower bound of the right side: the Taylor series with every
 * term rounded down, which is less than 2^-100 short of it where n/d is at most 10.
 * @param {[bigint, bigint]} odds
 * @param {bigint} n
 * @param {bigint} [d]
 */
export function atMostExp([numerator, denominator], n, d = 1n) {
  let term = 1n << 128n;
  let sum = term;
  for (let i = 1n; term > 0n; i++) {
    term = (term * n) / (d * i);
    sum += term;
  }
  return numerator << 128n <= sum * denominator;
}

// --- the form: each check throws Refused unless the value at the path is as it must be ---

/** @typedef {(value: any, path: string) => void} Check */

/** @type {Check} */
const text = (value, path) => must(typeof value === "string", path, "is not a text");

/** @type {(pattern: RegExp) => Check} */
const like = (pattern) => (value, path) =>
  must(typeof value === "string" && pattern.test(value), path, `does not match ${pattern.source}`);

/** @type {(needed: Record<string, Check>, optional?: Record<string, Check>) => Check} */
const object = (needed, optional = {}) => (value, path) => {
  must(typeof value === "object" && value !== null && !Array.isArray(value), path, "is no object");
  const checks = new Map(Object.entries({ ...needed, ...optional }));
  for (const key of Object.keys(needed)) must(Object.hasOwn(value, key), path, `lacks ${key}`);
  for (const [key, item] of Object.entries(value)) {
    const check = checks.get(key);
    if (check === undefined) throw new Refused(`${path}: the key ${key} is not known`);
    check(item, `${path}.${key}`);
  }
};

/** @type {(check: Check, least: number, most: number) => Check} */
const list = (check, least, most) => (value, path) => {
  const fits = Array.isArray(value) && value.length >= least && value.length <= most;
  must(fits, path, `is not a list of ${least} to ${most}`);
  const names = new Set();
  for (const [i, item] of value.entries()) {
    check(item, `${path}[${i}]`);
    must(!names.has(item.name), path, "a name is used twice");
    names.add(item.name);
  }
};

const NAME = like(/^[A-Za-z_][A-Za-z0-9_.-]{0,63}$/);
const CLAIM = object(
  {},
  {
    epsilon: like(/^(0|[1-9][0-9]*)(\.[0-9]*[1-9])?$/),
    odds: like(/^[1-9][0-9]*(\/[1-9][0-9]*)?$/),
  },
);
const anything = () => {};
const FORM = object(
  {
    name: NAME,
    type: like(/^(yes_no|select_one)$/),
    label: text,
    choices: list(object({ name: NAME, label: text }), 2, 1024),
    claim: CLAIM,
    mechanism: object({
      name: like(/^subset_selection$/),
      k: anything,
      omega: anything,
      own: anything,
      other: anything,
    }),
  },
  { hint: text },
);

/** @type {Check} */
function QUESTION(value, path) {
  FORM(value, path);
  const { type, choices, claim, mechanism } = /** @type {Question} */ (value);
  const names = choices.map(({ name }) => name).join();
  must(type !== "yes_no" || names === "yes,no", path, "the choices of yes_no are yes and no");
  checkMechanism(mechanism, `${path}.mechanism`);
  must(mechanism.k === choices.length, path, "k is not the number of choices");
  checkClaim(claim, mechanism.own, mechanism.other, `${path}.claim`);
}

const SURVEY = object(
  {
    spec: (value, path) => must(value === 1, path, "is not the version that this page knows"),
    name: like(/^[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?$/),
    title: text,
    language: text,
    results: object({
      minimum: (value, path) =>
        must(Number.isSafeInteger(value) && value >= 1, path, "is not an integer of at least 1"),
      while_open: (value, path) => must(typeof value === "boolean", path, "is not true or false"),
    }),
    questions: list(QUESTION, 1, 100),
  },
  { intro: text, contact: text },
);
