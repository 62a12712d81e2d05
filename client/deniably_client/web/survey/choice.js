// Questions with one answer out of several, and the keys that all questions have (SPEC section 4.1).

import { BadAnswer, must } from "../core/errors.js";
import { NAME, anything, named, object, text } from "../core/validators.js";

/** @import { Check } from "../core/types.js" */
/** @import { Choosing, Type } from "./types.js" */

export const CHOICES = named(object({ name: NAME, label: text }), 2, 1024);
export const ONE_OF = ["subset_selection", "channel", "unary"];

/** @type {(needed: object, optional?: object) => Check} checks these keys and the common ones */
export const schema = (needed, optional) =>
  object(
    { name: NAME, type: text, label: text, claim: anything, mechanism: anything, ...needed },
    { hint: text, short: text, ...optional },
  );

/** @type {(question: Choosing) => string[]} the names of its choices, in order */
export const names = ({ choices }) => choices.map(({ name }) => name);

/**
 * Returns the index of the choice with this name. Throws BadAnswer, without the answer, where
 * there is none.
 * @type {(question: Choosing, answer: unknown) => number}
 */
export function index(question, answer) {
  const place = names(question).findIndex((name) => name === answer);
  if (place >= 0) return place;
  throw new BadAnswer(`${question.name} needs an answer: one of ${names(question).join(", ")}`);
}

/**
 * Throws Refused unless k counts the choices.
 * @type {(question: Choosing, path: string) => void}
 */
export const fitsChoices = ({ mechanism: { k }, choices }, path) =>
  must(k === choices.length, path, `mechanism.k is ${k} but there are ${choices.length} choices`);

/**
 * Throws Refused unless the mechanism randomises one of this question's choices.
 * @type {(question: Choosing, path: string) => void}
 */
export function fitsOne(question, path) {
  fitsChoices(question, path);
  const { name, k, weights, most } = question.mechanism;
  must(name !== "channel" || weights.length === k, path, "weights has no row for each choice", weights);
  must(name !== "unary" || most === 1, path, "the mechanism is for more ticks than one", most);
}

/** @type {Type<Choosing>} */
export const selectOne = {
  form: schema({ choices: CHOICES }, { show_if: anything }),
  mechanisms: ONE_OF,
  fits: fitsOne,
  encode(question, answer) {
    const place = index(question, answer);
    // Unary encoding takes a list of ticks, here of one.
    return question.mechanism.name === "unary" ? [place] : place;
  },
};

/** @type {Type<Choosing>} */
const yesNo = {
  ...selectOne,
  form: schema({ choices: CHOICES }),
  fits(question, path) {
    fitsOne(question, path);
    must(names(question).join() === "yes,no", path, "the choices of yes_no are yes and no", names(question));
  },
};

export default { yes_no: yesNo, select_one: selectOne };
