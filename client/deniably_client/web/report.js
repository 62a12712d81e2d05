// What leaves the device: the survey's digest, a random id, one perturbed value a question.

import { canonicalise, hexadecimal, sha256 } from "./canonical.js";
import { Coins, systemBytes } from "./coins.js";
import { BadAnswer } from "./errors.js";
import { randomise } from "./mechanism.js";
import { verify } from "./survey.js";

/** @import { Question } from "./survey.js" */

/**
 * `text` is what to send, and to send again unchanged on every retry; `receipt` is its
 * SHA-256, for the respondent to keep.
 * @typedef {{text: string, id: string, receipt: string}} Report
 */

/**
 * The report for a respondent's true answers (question name -> choice name).
 *
 * The definition is verified before anything is drawn. Every question needs an answer: a
 * missing report would itself be an exact one. Throws Refused or BadAnswer.
 * @param {unknown} definition
 * @param {string} digest
 * @param {ReadonlyMap<string, unknown>} answers
 * @param {Coins} [coins] leave it out everywhere but in tests
 * @returns {Promise<Report>}
 */
export async function makeReport(definition, digest, answers, coins = new Coins()) {
  const { questions } = await verify(definition, digest);
  const names = questions.map(({ name }) => name);
  for (const name of answers.keys()) {
    if (!names.includes(name)) throw new BadAnswer("the survey has no question of this name");
  }
  // Every answer is looked at before the first draw.
  const indices = questions.map((question) => index(question, answers));
  const values = questions.map(({ name, mechanism }, i) => {
    return [name, randomise(mechanism, /** @type {number} */ (indices[i]), coins)];
  });
  const id = hexadecimal(systemBytes()(16));
  const text = canonicalise({ survey: digest, id, values: Object.fromEntries(values) });
  return { text, id, receipt: await sha256(text) };
}

/**
 * The true choice's position.
 * @param {Question} question
 * @param {ReadonlyMap<string, unknown>} answers
 */
function index({ name, choices }, answers) {
  const names = choices.map((choice) => choice.name);
  const found = names.findIndex((choice) => choice === answers.get(name));
  if (found < 0) throw new BadAnswer(`${name} needs an answer: one of ${names.join(", ")}`);
  return found;
}
