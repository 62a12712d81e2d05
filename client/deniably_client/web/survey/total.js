// The total privacy loss of one person in a survey (SPEC section 2.2).

import { largest } from "../core/loss.js";
import { historyLoss, loss } from "../mechanisms/mechanism.js";

/** @import { Loss } from "../core/types.js" */
/** @import { Definition } from "./types.js" */

/** @type {(definition: Definition) => Loss} of one report to a verified survey */
export const total = ({ questions, ask = questions.length }) =>
  largest(
    questions.map(({ mechanism }) => loss(mechanism)),
    ask,
  );

/** @type {(definition: Definition) => Loss} of all waves of its panel */
export const totalHistory = ({ questions, ask = questions.length, waves: { count = 1 } = {} }) =>
  largest(
    questions.flatMap(({ mechanism }) => Array(count).fill(historyLoss(mechanism) ?? loss(mechanism))),
    ask * count,
  );
