// The window mechanism, for ordered answers: square wave, Duchi et al., piecewise (SPEC section 2.5).

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
    const total = BigInt(w) * BigInt(own) + BigInt(m - w) * BigInt(other);
    must(total <= LARGEST, path, "w*own + (m-w)*other is at most 2^53", total);
  },

  loss: twoWeights,

  randomise({ k, m, w, own, other }, answer, coins) {
    checkPosition(answer, k);
    const start = knot(answer, k, m - w + 1, coins);
    const inside = coins.choose([w * own, (m - w) * other]) === 0;
    const i = coins.below(w);
    const j = coins.below(m - w);
    if (inside) return [start + i];
    return [j < start ? j : j + w];
  },
};

export default { window };
