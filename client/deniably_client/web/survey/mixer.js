// The mixer that answers travel through (SPEC section 4.8). The bundles for surveys without a mixer leave
// this module out: they refuse the key.

import { must } from "../core/errors.js";
import { decimal } from "../core/fraction.js";
import { atMostExp } from "../core/odds.js";
import {
  DECIMAL, HASH, between, integer, like, object, text,
} from "../core/validators.js";
import { loss } from "../mechanisms/mechanism.js";

/** @import { Check } from "../core/types.js" */
/** @import { Definition } from "./types.js" */

const ORIGIN =
  /^(https:\/\/([a-z0-9.-]{1,253}|\[[0-9a-f:.]{2,45}\])|http:\/\/(localhost|127\.0\.0\.1|\[::1\]))(:[1-9][0-9]{0,4})?$/;
const POINT = like(/^04[0-9a-f]{128}$/);
/** The curve P-256, y^2 = x^3 - 3x + B modulo P. */
const P = 2n ** 256n - 2n ** 224n + 2n ** 192n + 2n ** 96n - 1n;
const B = 0x5ac635d8aa3a93e7b3ebbd55769886bc651d06b0cc53b0f63bce3c3e27d2604bn;
const MOST_ODDS = 20n;

/** @type {Check} validates a public key of envelopes */
function key(value, path) {
  POINT(value, path);
  const x = BigInt(`0x${value.slice(2, 66)}`);
  const y = BigInt(`0x${value.slice(66)}`);
  must(x < P && y < P && (y * y - x ** 3n + 3n * x - B) % P === 0n, path, "is no point of P-256");
}

const FORM = object({ epsilon: DECIMAL, delta: DECIMAL });

/** @type {Check} */
function claim(value, path) {
  FORM(value, path);
  const [n, d] = decimal(value.epsilon);
  must(100n * n >= d && n <= 10n * d, path, "has an epsilon that is not 0.01 to 10", value);
  const [m, e] = decimal(value.delta);
  const oneOver = m > 0n && e % m === 0n && e >= 10000n * m;
  must(oneOver, path, "has a delta that is not one over 10000 or more", value);
}

/** @type {Check} validates the mixer of a definition, but for what depends on the questions */
export const MIXER = object({
  address: like(ORIGIN),
  by: text,
  key,
  signing: HASH,
  open: key,
  length: integer,
  blanks: between(1, 20_000),
  claim,
});

/**
 * Throws Refused unless the definition, whose other keys are checked, goes with its mixer.
 * @type {(definition: Definition) => void}
 */
export function checkMixer({ mixer, questions, results, ...rest }) {
  if (mixer === undefined) return;
  const path = "survey.mixer";
  must(mixer.key !== mixer.open, path, "has one key for both parties");
  for (const other of /** @type {const} */ (["waves", "strata", "ask", "part", "invited"])) {
    must(rest[other] === undefined, path, `does not go with ${other}`);
  }
  must(!results.while_open, path, "does not go with results while the survey is open");
  must(results.reports !== "public", path, "does not go with public reports");
  const longest = questions.map(({ name, mechanism }) => {
    const { odds: [n, d], exponent: [a, b], delta } = loss(mechanism);
    must(delta[0] === 0n, path, "does not go with a delta", name);
    const most = MOST_ODDS * d;
    const small = a === 0n ? n <= most : !atMostExp([most, n], a, b);
    must(small, path, `does not go with odds above ${MOST_ODDS}`, name);
    return 136 + name.length + 12 * numbers(mechanism);
  });
  must(mixer.length >= Math.max(...longest), path, "has a length that not all reports fit into");
  const whole = 18 + questions.length * (mixer.length + 81);
  must(whole < 1 << 16, path, "has a length with which the envelopes do not fit into one");
}

/** @type {(mechanism: any) => number} the most numbers that a report has */
const numbers = ({ name, omega, size, s, k }) => omega ?? size ?? s ?? (name === "unary" ? k : 1);
