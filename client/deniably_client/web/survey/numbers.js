// Questions with numbers or several parts: number, vector, point, product (SPEC section 4.1).

import { BadAnswer, must } from "../core/errors.js";
import { decimal } from "../core/fraction.js";
import { NAME, integer, like, named, object, text } from "../core/validators.js";
import { CHOICES, index, schema } from "./choice.js";
import { AIM } from "./choices.js";

/** @import { Check, Fraction } from "../core/types.js" */
/** @import { Question, Range, Type } from "./types.js" */
/** @import { NumberQuestion, Point, Product, VectorQuestion } from "./types.js" */

// --- ranges: numbers on a grid ----------------------------------------------------------------

const SIGNED = like(/^(?=.{1,40}$)(?!-0$)-?(0|[1-9][0-9]*)(\.[0-9]*[1-9])?$/);
const RANGE = object({ minimum: SIGNED, maximum: SIGNED, step: SIGNED }, { unit: text });

/** @type {Check} */
function checkRange(value, path) {
  RANGE(value, path);
  must(decimal(value.step)[0] > 0n, path, `the step is ${value.step}; it must be above 0`);
  const [n, d] = steps(value, decimal(value.maximum));
  const whole = n % d === 0n && n >= d && n <= d << 20n;
  must(whole, path, `there are no 1 to 2^20 steps of ${value.step} up to ${value.maximum}`);
}

/**
 * Returns how many steps a number is above the minimum, as a fraction that is not reduced.
 * @param {Range} range
 * @param {Fraction} number
 * @returns {Fraction}
 */
function steps({ minimum, step }, [n, d]) {
  const [[m, e], [s, f]] = [decimal(minimum), decimal(step)];
  return [(n * e - m * d) * f, d * e * s];
}

/** @param {Range} range the positions are the numbers minimum, minimum + step, ..., maximum */
function positions(range) {
  const [n, d] = steps(range, decimal(range.maximum));
  return Number(n / d) + 1;
}

/**
 * Returns into which of `cells` equal groups of positions a number falls, from 0. Numbers beyond
 * the range count as its nearest end. Throws BadAnswer, without the answer, for what is no number.
 * @param {Range} range
 * @param {unknown} given a plain decimal, or a number
 * @param {number} cells
 * @param {string} name of the question
 */
function cell(range, given, cells, name) {
  const plain = ["string", "number"].includes(typeof given) ? String(given).trim() : "";
  if (plain.length > 40 || !/^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)$/.test(plain)) {
    throw new BadAnswer(`${name} needs a number`);
  }
  const [n, d] = steps(range, decimal(plain));
  // floor(n/d + 1/2), halves upwards; but BigInt division rounds towards 0.
  const nearest = Number((2n * n + d) / (2n * d)); // below 0 only the sign matters
  const count = positions(range);
  return Math.floor((Math.min(Math.max(nearest, 0), count - 1) * cells) / count);
}

/**
 * A mean needs a position for each number; else some may share a cell.
 * @type {(range: Range, k: number, exactly: boolean, path: string) => void}
 */
function cellsFit(range, k, exactly, path) {
  const count = positions(range);
  const fits = exactly ? k === count : k <= count;
  must(fits, path, `mechanism.k is ${k} but there are ${count} positions`);
}

// --- the parts of an answer -------------------------------------------------------------------

const NUMBER_PART = object({ name: NAME, label: text, range: checkRange });
const CHOICE_PART = object({ name: NAME, label: text, choices: CHOICES });

/**
 * Returns the answers to the parts, in the parts' order. Throws BadAnswer unless there is one for
 * each.
 * @param {Question & {parts: {name: string}[]}} question
 * @param {any} answer a Map or an object
 */
function byPart({ name, parts }, answer) {
  // A Map, because a part may have a name that every object has, such as constructor.
  const answers = answer instanceof Map ? answer : new Map(Object.entries(answer ?? {}));
  const needed = parts.map((part) => part.name);
  if (answers.size !== needed.length || !needed.every((part) => answers.has(part))) {
    throw new BadAnswer(`${name} needs an answer for each of ${needed.join(", ")}`);
  }
  return needed.map((part) => answers.get(part));
}

// --- the types --------------------------------------------------------------------------------

/** @type {Type<NumberQuestion>} */
const number = {
  form: schema({ range: checkRange, aim: AIM }),
  mechanisms: ["window", "channel", "laplace", "bounded_laplace", "gaussian", "subset_selection"],
  fits({ range, aim, mechanism }, path) {
    cellsFit(range, mechanism["k"], aim === "mean", path);
    const single = mechanism.name !== "gaussian" || mechanism["d"] === 1;
    must(single, path, "the mechanism is for one number: d is 1", mechanism["d"]);
  },
  encode: ({ name, range, mechanism }, answer) => cell(range, answer, mechanism["k"], name),
};

/** @type {(question: Question) => number[]} how many positions the mechanism has for each part */
const sizes = ({ mechanism: { name, k, d, parts } }) =>
  name === "gaussian" ? Array(d).fill(k) : parts.map((/** @type {{k: number}} */ part) => part.k);

/** @type {Type<VectorQuestion>} */
const vector = {
  form: schema({ parts: named(NUMBER_PART, 2, 64) }),
  mechanisms: ["vector", "gaussian"],
  fits(question, path) {
    const ks = sizes(question);
    must(ks.length === question.parts.length, path, `the mechanism has ${ks.length} parts`);
    question.parts.forEach(({ range }, c) => cellsFit(range, ks[c] ?? 0, true, path));
  },
  encode(question, answer) {
    const [answers, ks] = [byPart(question, answer), sizes(question)];
    return question.parts.map(({ range }, c) => cell(range, answers[c], ks[c] ?? 0, question.name));
  },
};

const AT = "(0|[1-9]\\d?\\d?|1000)";
const OUTLINE = like(RegExp(`^(?!.{5001})(M${AT} ${AT}( ${AT} ${AT})+)+$`));

/** @type {Type<Point>} */
const point = {
  form: schema({ parts: named(NUMBER_PART, 2, 2), grid: integer }, { outline: OUTLINE }),
  mechanisms: ["subset_selection"],
  fits({ parts, grid, mechanism }, path) {
    must(grid >= 2 && grid <= 32, path, `grid is ${grid}; use 2 to 32`);
    for (const { range } of parts) cellsFit(range, grid, false, path);
    const { k } = mechanism;
    must(k === grid * grid, path, `mechanism.k is not ${grid * grid}, grid * grid`, k);
  },
  encode(question, answer) {
    const { name, parts, grid } = question;
    const answers = byPart(question, answer);
    // One index for both cells: grid * first + second.
    return parts.reduce((sum, { range }, c) => sum * grid + cell(range, answers[c], grid, name), 0);
  },
};

/** @type {Type<Product>} */
const product = {
  form: schema({ parts: named(CHOICE_PART, 2, 8) }),
  mechanisms: ["subset_selection"],
  fits({ parts, mechanism }, path) {
    const combinations = parts.reduce((count, { choices }) => count * choices.length, 1);
    const { k } = mechanism;
    must(k === combinations, path, `mechanism.k is not the ${combinations} combinations`, k);
  },
  encode(question, answer) {
    const answers = byPart(question, answer);
    // One index for all choices, in mixed radix: the last part changes soonest.
    return question.parts.reduce((sum, { choices }, c) => {
      return sum * choices.length + index({ ...question, choices }, answers[c]);
    }, 0);
  },
};

export default { number, vector, point, product };
