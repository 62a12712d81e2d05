// The window mechanism, for ordered answers (SPEC section 2.5). By its width it is that of Duchi,
// Jordan and Wainwright 2018, a square wave (Li et al. 2020) or piecewise (Wang et al. 2019).

import { LARGEST } from "../core/coins.js";
import { must } from "../core/errors.js";
import { twoWeights } from "../core/odds.js";
import { anything, integer, object } from "../core/validators.js";
import { checkPosition, checkPositions, knot } from "./positions.js";

/** @import { Family, Window } from "./types.js" */

const WEIGHTS = { own: integer, other: integer };
const FORM = object({ name: anything, k: integer, m: integer, w: integer, ...WEIGHTS });

/** @type {Family<Window, number>} */
const window = {
  check(mechanism, path) {
    FORM(mechanism, path);
    const { k, m, w, own, other } = mechanism;
    checkPositions(k, path);
    must(m >= 2 && m <= 4096, path, "m is the number of outputs, from 2 to 4096", m);
    must(w >= 1 && w < m, path, "w is the width of the window, from 1 to m - 1", w);
    must(other >= 1 && own > other, path, "the weights are 1 <= other < own", { own, other });
    // In BigInt, because a double could round a sum that is just too large to an allowed one.
    const total = BigInt(w) * BigInt(own) + BigInt(m - w) * BigInt(other);
    must(total <= LARGEST, path, "w*own + (m-w)*other is at most 2^53", total);
  },

  loss: twoWeights,

  randomise({ k, m, w, own, other }, answer, coins) {
    checkPosition(answer, k);
    const start = knot(answer, k, m - w + 1, coins);
    const inside = coins.choose([w * own, (m - w) * other]) === 0;
    // Both are drawn and one is used, so that the draws do not depend on `inside`.
    const i = coins.below(w);
    const j = coins.below(m - w);
    if (inside) return [start + i];
    // The m - w outputs outside the window, without its w places.
    return [j < start ? j : j + w];
  },
};

export default { window };
