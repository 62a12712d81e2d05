// The form's state: one object, shared by the modules that ask, show and send. It holds no answer.

import { questions, version } from "./elements.js";

/** @import { State } from "./types.js" */

/** @type {Partial<State>} */
const begun = {
  locked: true,
  sent: false,
  current: 0,
  path: { drawn: undefined, shown: () => questions, nearest: (number) => number },
  drawn: undefined,
  readFields: undefined,
  barred: () => false,
  kept: undefined,
  changed: [],
};

export const state = /** @type {State} */ (begun);

/** Returns the survey as the memory's functions take it. */
export const about = () => ({
  definition: state.definition,
  version,
  author: state.verified.author,
  verified: state.verified,
  drawn: state.drawn,
  stratum: state.stratum,
});
