// Several numbers of one person: reports all of them, or some picked at random (SPEC section 2.14).

import { BadAnswer, must } from "../core/errors.js";
import { largest } from "../core/loss.js";
import { anything, integer, list, object } from "../core/validators.js";
import channel from "./channel.js";
import noise from "./noise.js";
import { checkPosition } from "./positions.js";
import window from "./window.js";

/** @import { Check } from "../core/types.js" */
/** @import { Family, Mechanism, Vector } from "./types.js" */

const { laplace, bounded_laplace } = noise;
/** @type {Record<string, Family>} */
const ALLOWED = { ...window, ...channel, laplace, bounded_laplace };
const FAMILIES = new Map(Object.entries(ALLOWED));

/** @type {(part: Mechanism) => Family} of a part whose name was checked */
const family = (part) => /** @type {Family} */ (FAMILIES.get(part.name));

/** @type {Check} */
function checkPart(part, path) {
  must(FAMILIES.has(part?.name), path, "is no mechanism for a part of a vector", part?.name);
  family(part).check(part, path);
}

const FORM = object({ name: anything, s: integer, parts: list(checkPart, 2, 64) });

/** @type {Family<Vector, readonly number[]>} */
const vector = {
  check(mechanism, path) {
    FORM(mechanism, path);
    const { s, parts } = mechanism;
    must(s >= 1 && s <= parts.length, path, "s is the number of parts in a report", s);
  },

  loss({ s, parts }) {
    const losses = parts.map((part) => family(part).loss(part));
    return largest(losses, s);
  },

  randomise({ s, parts }, answer, coins) {
    const d = parts.length;
    if (!Array.isArray(answer) || answer.length !== d) {
      throw new BadAnswer(`an answer has ${d} positions`);
    }
    // Also the parts that are not picked: whether an answer is refused must not depend on the
    // draw.
    for (const [c, { k }] of parts.entries()) checkPosition(answer[c], k);
    // Sorted, so that the report does not have the order in which the parts were picked.
    const picked = coins.pick(d, s).sort((a, b) => a - b);
    return picked.map((c) => {
      const part = /** @type {Mechanism} */ (parts[c]);
      const [y = 0] = family(part).randomise(part, answer[c], coins);
      return y * d + c; // one integer for both: c is the remainder by d (SPEC 2.14)
    });
  },
};

export default { vector };
