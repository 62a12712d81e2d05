// What leaves the device: the survey's digest, a random id, one perturbed value a question.

import { canonicalise, sha256 } from "../core/canonical.js";
import { Coins } from "../core/coins.js";
import { BadAnswer } from "../core/errors.js";
import { respond } from "../mechanisms/mechanism.js";
import { encode } from "./questions.js";
import { conditional, verify } from "./survey.js";

/** @import { Input } from "../mechanisms/types.js" */
/** @import { Answers, Memos, Report } from "./types.js" */

/**
 * The report for a respondent's true answers, by the name of the question (see `encode`).
 *
 * The definition is verified before anything is drawn. Every question that is shown needs an
 * answer: a missing report would itself be an exact one. Throws Refused or BadAnswer.
 * Where the survey has `ask`, `drawn` is what drawQuestions gave; where it was answered `before`,
 * what is to be randomised anew, and the other values stay. Where it has waves, `memos` are those
 * that the device keeps for its panel, by the name of the question, which then needs no answer; the
 * others are drawn, and all that were used are in the report. `id` is the report's where it was
 * drawn before, as for an invitation. Only tests bring coins.
 * @type {(definition: unknown, digest: string, answers: Answers, coins?: Coins,
 *   drawn?: readonly {name: string}[], before?: Record<string, number[]>, memos?: Memos,
 *   id?: string) =>
 *   Promise<Report>}
 */
export async function makeReport(
  definition, digest, answers, coins, drawn, before = {}, memos, id,
) {
  coins ??= new Coins();
  const survey = await verify(definition, digest);
  for (const name of answers.keys()) {
    const known = survey.questions.some((question) => question.name === name);
    if (!known) throw new BadAnswer("the survey has no question of this name");
  }
  const special = conditional(survey) && (await import("./answers.js"));
  drawn ??= special ? special.drawQuestions(survey, coins) : survey.questions;
  const questions = survey.questions.filter(({ name }) => drawn.some((one) => one.name === name));
  const asked = new Set([...Object.keys(before), ...questions.map(({ name }) => name)]);
  if (asked.size !== (survey.ask ?? survey.questions.length)) {
    throw new BadAnswer("these are not the questions that the survey asks");
  }
  const all = special ? special.withHidden({ questions }, answers) : answers;
  // Every answer is looked at before the first draw.
  const inputs = questions.map((question) =>
    memos?.has(question.name) ? undefined : encode(question, all.get(question.name)),
  );
  /** @type {Map<string, readonly number[]>} */
  const used = new Map();
  const values = questions.map(({ name, mechanism }, i) => {
    const input = /** @type {Input} */ (inputs[i]);
    const { report, memo } = respond(mechanism, input, coins, memos?.get(name));
    if (memo) used.set(name, memo);
    return [name, report];
  });
  const every = { ...before, ...Object.fromEntries(values) };
  id ??= coins.drawId();
  const text = canonicalise({ survey: digest, id, values: every });
  return { text, id, receipt: await sha256(text), memos: used };
}
