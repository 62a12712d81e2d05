// What the form knows and what of it changes: one object for what is asked, shown and sent. No
// answer is in it.

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

/** What this survey is, for the memory. */
export const about = () => ({
  definition: state.definition,
  version,
  author: state.verified.author,
  drawn: state.drawn,
});
