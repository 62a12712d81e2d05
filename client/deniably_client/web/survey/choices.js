// Questions with several ticks, and questions with ordered choices (SPEC section 4.1).

import { BadAnswer, must } from "../core/errors.js";
import { anything, integer, like, list } from "../core/validators.js";
import { CHOICES, ONE_OF, fitsChoices, fitsOne, index, schema, selectOne } from "./choice.js";

/** @import { Scale, SelectMultiple, Type } from "./types.js" */

export const AIM = like(/^(distribution|mean)$/);
const SCORES = list(integer, 2, 1024);

/** @type {Type<SelectMultiple>} */
const selectMultiple = {
  form: schema({ choices: CHOICES, most: integer }, { show_if: anything }),
  mechanisms: ["set_response", "sampled_ticks", "unary"],
  fits(question, path) {
    fitsChoices(question, path);
    const { k, most } = question.mechanism; // sampled_ticks takes any number of ticks
    const fit = most === undefined ? question.most <= k : question.most === most;
    must(fit && question.most >= 1, path, `most is ${question.most}, not ${most ?? k}`);
  },
  encode(question, answer) {
    const { name, most } = question;
    if (!Array.isArray(answer)) throw new BadAnswer(`${name} needs a list of choices`);
    const ticks = new Set(answer.map((item) => index(question, item)));
    if (ticks.size > most) throw new BadAnswer(`${name} takes at most ${most} ticks`);
    // Ascending, so that the order of ticking does not reach the mechanism.
    return [...ticks].sort((a, b) => a - b);
  },
};

/** @type {Type<Scale>} */
const scale = {
  form: schema({ choices: CHOICES, aim: AIM }, { show_if: anything, scores: SCORES }),
  mechanisms: [...ONE_OF, "window", "bounded_laplace"],
  fits(question, path) {
    const { aim, choices, mechanism, scores } = question;
    // A channel with fewer rows than choices rounds their positions at random, without bias for a
    // mean.
    const rounds = mechanism.name === "channel" && aim === "mean";
    (rounds ? fitsChoices : fitsOne)(question, path);
    if (scores === undefined) return;
    must(scores.length === choices.length, path, "scores has no integer for each choice", scores);
    must(scores.every((score) => Math.abs(score) < 2 ** 31), path, "scores are below 2^31", scores);
    const gaps = scores.slice(1).map((score, i) => score - (scores[i] ?? 0));
    must(Math.min(...gaps) > 0, path, "scores are strictly ascending", scores);
    const even = gaps.every((gap) => gap === gaps[0]);
    must(aim === "distribution" || even, path, "scores are equally spaced for a mean", scores);
  },
  encode: selectOne.encode,
};

export default { select_multiple: selectMultiple, scale };
