// Makes the report that leaves the device: the survey's digest, a random id and one randomised value
// for each question.

import { canonicalise, sha256 } from "../core/canonical.js";
import { Coins } from "../core/coins.js";
import { BadAnswer } from "../core/errors.js";
import { respond } from "../mechanisms/mechanism.js";
import { encode } from "./questions.js";
import { inReport } from "./strata.js";
import { conditional, verify } from "./survey.js";

/** @import { Input } from "../mechanisms/types.js" */
/** @import { Answers, Memos, Report, Stratum } from "./types.js" */

/**
 * Makes the report for true answers, keyed by question name (see `encode`).
 *
 * The definition is verified before anything is drawn. Every shown question needs an answer,
 * because a missing value would reveal one exactly. Throws Refused or BadAnswer.
 *
 * `drawn` are the questions to randomise: with `ask`, the result of drawQuestions. The values of an
 * earlier report are in `before`; they stay for all other questions. `memos` are the panel's memos
 * that the device keeps; their questions need no answer. The result's `memos` are all that were
 * used. `id` is given where it was drawn earlier, as for an invitation. `stratum` is that of the link,
 * where the survey has strata. `coins` are for tests.
 * @type {(definition: unknown, digest: string, answers: Answers, coins?: Coins,
 *   drawn?: readonly {name: string}[], before?: Record<string, number[]>, memos?: Memos,
 *   id?: string, stratum?: Stratum) =>
 *   Promise<Report>}
 */
export async function makeReport(
  definition, digest, answers, coins, drawn, before = {}, memos, id, stratum,
) {
  coins ??= new Coins();
  const survey = await verify(definition, digest);
  const strata = inReport?.(survey, stratum);
  for (const name of answers.keys()) {
    const known = survey.questions.some((question) => question.name === name);
    if (!known) throw new BadAnswer("the survey has no question of this name");
  }
  const special = conditional(survey) && (await import("./conditions.js"));
  drawn ??= special ? special.drawQuestions(survey, coins) : survey.questions;
  const questions = survey.questions.filter(({ name }) => drawn.some((each) => each.name === name));
  const names = new Set([...Object.keys(before), ...questions.map(({ name }) => name)]);
  const count = survey.ask ?? survey.questions.length;
  if (names.size > count || names.size < (survey.part ? 1 : count)) {
    throw new BadAnswer("these are not the questions that the survey asks");
  }
  // A hidden question is answered by not_applicable, and randomised like any other.
  const all = special ? special.withHidden({ questions }, answers) : answers;
  // Encode every answer before the first draw, so that a bad one throws first.
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
  const reports = { ...before, ...Object.fromEntries(values) };
  id ??= coins.drawId();
  const text = canonicalise({ ...strata, survey: digest, id, values: reports });
  return { text, id, receipt: await sha256(text), memos: used };
}
