// The total privacy loss of one person in a survey (SPEC section 2.2).

import { largest } from "../core/loss.js";
import { historyLoss, loss } from "../mechanisms/mechanism.js";

/** @import { Loss } from "../core/types.js" */
/** @import { Definition } from "./types.js" */

/** @type {(definition: Definition) => Loss} at most, of one report to a verified survey, whichever
 * questions `ask` draws */
export const total = ({ questions, ask = questions.length }) =>
  largest(
    questions.map(({ mechanism }) => loss(mechanism)),
    ask,
  );

/**
 * At most, the loss of all waves of the survey's panel together.
 * @type {(definition: Definition) => Loss}
 */
export const totalHistory = ({ questions, ask = questions.length, waves: { count = 1 } = {} }) =>
  largest(
    // A memoised mechanism loses once for all waves; without a memo each of `count` waves adds its
    // loss.
    questions.flatMap(({ mechanism }) => Array(count).fill(historyLoss(mechanism) ?? loss(mechanism))),
    ask * count,
  );
