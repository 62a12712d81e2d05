// Checks a question's claimed epsilon or odds against its mechanism's privacy loss (SPEC 2.2).

import { must } from "../core/errors.js";
import { decimal, fraction, parts } from "../core/fraction.js";
import { atMostExp } from "../core/odds.js";
import { DECIMAL, anything, like, object } from "../core/validators.js";

/** @import { Loss } from "../core/types.js" */
/** @import { Claim } from "./types.js" */

const ODDS = like(/^(?=.{1,40}$)[1-9][0-9]*(\/[1-9][0-9]*)?$/);
const HISTORY = object({}, { epsilon: DECIMAL, odds: ODDS });
const CLAIM = object({}, { epsilon: DECIMAL, odds: ODDS, delta: DECIMAL, history: anything });

/**
 * Throws Refused unless the claim is well formed and the loss stays within it, in exact integers.
 * `history` is the loss of all waves together, where the mechanism keeps a memo; the claim then
 * has one for it.
 * @type {(claim: unknown, loss: Loss, path?: string, history?: Loss) => void}
 */
export function checkClaim(claim, loss, path = "claim", history) {
  CLAIM(claim, path);
  const { epsilon, odds, delta } = /** @type {Claim} */ (claim);
  const [a, b] = loss.exponent;
  let kept = false;
  must((epsilon === undefined) !== (odds === undefined), path, "is epsilon or odds", claim);
  if (epsilon !== undefined) {
    const [n, d] = decimal(epsilon);
    must(100n * n >= d && n <= 10n * d, path, `epsilon is ${epsilon}; use 0.01 to 10`);
    // epsilon - exponent = rest / (d b): what is left for the odds.
    const rest = n * b - a * d;
    kept = rest >= 0n && atMostExp(loss.odds, rest, d * b);
  } else {
    const [n, d] = parts(odds ?? "");
    must(fraction(n, d) === odds, path, `write the odds ${odds} in lowest terms`);
    const inRange = !atMostExp([n, d], 1n, 100n) && atMostExp([n, d], 10n);
    must(inRange, path, `the odds are ${odds}; use e^0.01 to e^10`);
    must(delta === undefined && a === 0n, path, "use epsilon instead of odds", claim);
    kept = loss.odds[0] * d <= n * loss.odds[1];
  }
  must(kept, path, "the mechanism's weights give larger odds than the claim allows", claim);
  const [n, d] = decimal(delta ?? "0");
  const [m, e] = loss.delta;
  const small = delta === undefined || (n > 0n && 10000n * n <= d);
  must(small, path, `delta is ${delta}; use up to 0.0001`);
  must((n > 0n) === m > 0n && m * d <= n * e, path, `the mechanism's delta is ${m}/${e}`);
  checkHistory(/** @type {Claim} */ (claim), path, history);
}

/**
 * Checks the claim of all waves together.
 * @type {(claim: Claim, path: string, loss?: Loss) => void}
 */
function checkHistory({ epsilon, delta, history }, path, loss) {
  const stated = history !== undefined;
  must(stated === (loss !== undefined), path, "a history is claimed exactly where a memo is kept", history);
  if (loss === undefined) return;
  HISTORY(history, `${path}.history`);
  const { epsilon: all } = /** @type {Claim} */ (history);
  const same = (epsilon === undefined) === (all === undefined) && delta === undefined;
  must(same, path, "the history is claimed as the epsilon is, or as the odds are", history);
  checkClaim(history, loss, `${path}.history`);
}
