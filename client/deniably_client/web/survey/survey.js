// Verifies a published definition before the device draws anything (SPEC section 4).

import { digest } from "../core/canonical.js";
import { must } from "../core/errors.js";
import { frozen } from "../core/frozen.js";
import {
  SPEC, SURVEY_NAME, anything, between, integer, named, object, prose, text,
} from "../core/validators.js";
import { MIXER, checkMixer } from "./mixer.js";
import { checkQuestion } from "./questions.js";
import { STRATA } from "./strata.js";

/** @import { Definition } from "./types.js" */

/** The digests of definitions that were verified; these are frozen, so they stay verified.
 * @type {WeakMap<object, string>} */
const verified = new WeakMap();

/**
 * Verifies a definition's form, each mechanism, each claim and its digest, and returns it frozen.
 * Nothing can change it any more, so that it is verified once. Throws Refused with what is wrong and
 * where.
 * @type {(definition: unknown, expectedDigest: string) => Promise<Definition>}
 */
export async function verify(definition, expectedDigest) {
  const survey = /** @type {Definition} */ (definition);
  if (verified.get(survey) === expectedDigest) return survey;
  SURVEY(definition, "survey");
  for (const [i, question] of survey.questions.entries()) {
    await checkQuestion(question, `survey.questions[${i}]`);
  }
  if (conditional(survey)) (await import("./conditions.js")).checkConditions(survey);
  checkWaves(survey);
  const { to, reports } = survey.results;
  must(!to || reports !== "public", "survey.results", "is not public", survey.results);
  checkMixer?.(survey);
  const version = await digest(definition);
  must(version === expectedDigest, "survey", `was changed: its version is ${version}`);
  verified.set(frozen(survey), version);
  return survey;
}

/** @type {(definition: Definition) => boolean} whether some respondents skip questions */
export const conditional = ({ questions, ask }) =>
  ask !== undefined || questions.some((question) => "show_if" in question);

/** @type {(definition: Definition) => void} throws Refused for keys that do not go together */
function checkWaves(survey) {
  const { questions, waves } = survey;
  const keeps = waves !== undefined && waves.count === undefined;
  const fits = questions.every(({ mechanism }) => (mechanism.name === "memoised") === keeps);
  must(fits, "survey", "memos are for waves without a count", waves);
  const everything = waves === undefined || !conditional(survey);
  must(!waves || !waves.count || !waves.waves, "survey.waves", "has count and waves", waves);
  must(everything, "survey", "waves go with no ask and no show_if", waves);
  const { ask = questions.length, part } = survey;
  const divided = ask > 1 && !waves && !questions.some((question) => "show_if" in question);
  must(!part || divided, "survey.part", "is not with waves, show_if or one question", part);
}

/** @type {(...allowed: unknown[]) => import("../core/types.js").Check} */
const either = (...allowed) => (value, path) =>
  must(allowed.includes(value), path, `is not ${allowed.join(" or ")}`, value);

const WAVES = object(
  { panel: SURVEY_NAME },
  {
    count: between(2, 100), waves: between(2, 100),
    people: between(2, 1e6), recognised: between(10, 1000),
  },
);

const SURVEY = object(
  {
    spec: SPEC,
    name: SURVEY_NAME,
    title: text,
    language: text,
    results: object(
      { minimum: between(1, Infinity), while_open: either(true, false) },
      { to: either("analysts"), reports: either("public", "never") },
    ),
    questions: named(anything, 1, 100),
  },
  {
    intro: prose, contact: prose, ask: integer, waves: WAVES, invited: either(true),
    part: either(true), strata: STRATA, mixer: MIXER,
  },
);
