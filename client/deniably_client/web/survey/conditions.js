// Questions that only some respondents are asked: `show_if` and `ask` (SPEC sections 4.2 and 4.3).
// Loaded only where a survey has them.

import { Coins } from "../core/coins.js";
import { must } from "../core/errors.js";
import { NAME, list, object } from "../core/validators.js";
import { names } from "./choice.js";

/** @import { Answers, Choosing, Definition, Question } from "./types.js" */

const HIDDEN = "not_applicable";
const SHOW_IF = object({ question: NAME, is: list(NAME, 1, 1024) });

/**
 * Throws Refused for an invalid `ask` or `show_if`.
 * @type {(definition: Definition) => void}
 */
export function checkConditions({ questions, ask }) {
  const some = ask === undefined || (ask >= 1 && ask < questions.length);
  must(some, "survey", "ask is the number of questions asked, from 1 to all but one", ask);
  for (const [i, question] of questions.entries()) {
    const { name, show_if: condition } = question;
    if (condition === undefined) continue;
    SHOW_IF(condition, `${name}.show_if`);
    const own = names(/** @type {Choosing} */ (question));
    must(own.includes(HIDDEN), name, `has show_if without the choice ${HIDDEN}`, own);
    must(ask === undefined, name, "has show_if, but only some of the questions are asked", ask);
    const earlier = questions.slice(0, i).find((each) => each.name === condition.question);
    const decides = earlier?.choices && !("most" in earlier); // of several ticks none decides
    const choices = decides ? names(/** @type {Choosing} */ (earlier)) : [];
    const known = condition.is.every((choice) => choices.includes(choice));
    must(known, name, "show_if names no choices of an earlier question with one answer", condition);
  }
}

/**
 * Returns the questions that this device asks, in the survey's order: all, or `ask` of them at
 * random. Call it once, before anything is answered: the draw must not depend on an answer.
 * @type {(definition: Definition, coins?: Coins) => Question[]}
 */
export function drawQuestions({ questions, ask }, coins = new Coins()) {
  if (ask === undefined) return questions;
  const drawn = coins.pick(questions.length, ask);
  return questions.filter((_, i) => drawn.includes(i));
}

/**
 * Returns the names of the questions that these answers hide. A condition on a question outside
 * this list counts as met: the respondent saw the question in an earlier report.
 * @type {(form: {questions: readonly Question[]}, answers: Answers) => string[]}
 */
export function hiddenQuestions({ questions }, answers) {
  /** @type {string[]} */
  const hidden = [];
  for (const { name, show_if: condition } of questions) {
    if (condition === undefined) continue;
    const earlier = condition.question;
    if (!questions.some((each) => each.name === earlier)) continue;
    // A hidden question counts as answered by not_applicable, so that conditions on it follow.
    const answer = hidden.includes(earlier) ? HIDDEN : answers.get(earlier);
    if (!condition.is.some((choice) => choice === answer)) hidden.push(name);
  }
  return hidden;
}

/**
 * Adds the answer `not_applicable` for every hidden question, and takes it away from all others, which
 * then have none.
 * @type {(form: {questions: readonly Question[]}, answers: Answers) => Answers}
 */
export function withHidden(form, answers) {
  const all = new Map(answers);
  const hidden = hiddenQuestions(form, answers);
  for (const { name, type, show_if: condition } of form.questions) {
    if (hidden.includes(name)) all.set(name, type === "select_multiple" ? [HIDDEN] : HIDDEN);
    else if (condition && [all.get(name)].flat().includes(HIDDEN)) all.delete(name);
  }
  return all;
}
