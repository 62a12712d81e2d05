// What all reports of one person give away (SPEC section 2.2).

import { largest } from "./loss.js";
import { loss } from "./mechanism.js";

/** @import { Definition, Loss } from "./types.js" */

/** @type {(definition: Definition) => Loss} of one person in a verified survey */
export const total = ({ questions, ask = questions.length }) =>
  largest(
    questions.map(({ mechanism }) => loss(mechanism)),
    ask,
  );
