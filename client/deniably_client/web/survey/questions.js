// Checks questions of every type and encodes their answers (SPEC section 4.1).

import { must } from "../core/errors.js";
import { checkMechanism, historyLoss, inner, load, loadMechanism, loss } from "../mechanisms/mechanism.js";
import choice from "./choice.js";
import { checkClaim } from "./claim.js";

/** @import { Input, Sources } from "../mechanisms/types.js" */
/** @import { Question, Type } from "./types.js" */

const choices = () => import("./choices.js");
const numbers = () => import("./numbers.js");

/** @type {Sources<Type>} */
const sources = {
  select_multiple: choices,
  scale: choices,
  number: numbers,
  vector: numbers,
  point: numbers,
  product: numbers,
};
/** @type {Map<string, Type>} */
const types = new Map(Object.entries(choice));

/**
 * Throws Refused unless the question is valid and its mechanism keeps its claim.
 * @type {(question: any, path: string) => Promise<void>}
 */
export async function checkQuestion(question, path) {
  const kind = question?.type;
  await load(types, sources, kind);
  const type = types.get(kind);
  if (type === undefined) return must(false, `${path}.type`, whyNot(kind), kind);
  type.form(question, path);
  const { claim, mechanism } = question;
  const name = inner(mechanism)?.name;
  const allowed = type.mechanisms.includes(name);
  must(allowed, `${path}.mechanism`, `is none of ${type.mechanisms.join(", ")}`, name);
  await loadMechanism(mechanism.name);
  checkMechanism(mechanism, `${path}.mechanism`);
  type.fits(taken(question), path);
  checkClaim(claim, loss(mechanism), `${path}.claim`, historyLoss(mechanism));
}

/** @type {(kind: unknown) => string} why a question of an unknown type is refused */
function whyNot(kind) {
  if (!FREE_TEXT.test(String(kind).replace(/[ _-]/g, ""))) return "there is no such type of question";
  return "free text cannot be asked: no randomised response protects it";
}

const FREE_TEXT =
  /^(text|string|str|note|comment|open|sentence|essay|paragraph|(free|open|long|short)text|openended|openquestion|text(area|box))$/i;

/**
 * Encodes a respondent's answer to a verified question for its mechanism. Throws BadAnswer.
 *
 * The answer is the name of a choice, a list of names (select_multiple), a number as plain
 * decimal text, or a Map or an object of such by part (vector, point, product).
 * @type {(question: Question, answer: unknown) => Input}
 */
export const encode = (question, answer) =>
  /** @type {Type} */ (types.get(question.type)).encode(taken(question), answer);

/**
 * The same with the mechanism that takes the answer: of a memoised one, the mechanism inside.
 * @type {(question: Question) => Question}
 */
const taken = (question) => ({ ...question, mechanism: inner(question.mechanism) });
