// Reads a mixer's signed statement about a survey (SPEC section 14.2). Devices ask and send nothing
// without it.

import { canonicalise, parse } from "../core/canonical.js";
import { Refused, must } from "../core/errors.js";
import { HASH, integer, like, object, text } from "../core/validators.js";
import { signedBy } from "./signing.js";

/** @import { Mixer } from "../survey/types.js" */
/** @import { Statement } from "./types.js" */

const STATEMENT = object({
  by: text,
  invitations: integer,
  senders: integer,
  signature: like(/^[0-9a-f]{128}$/),
  survey: HASH,
  until: like(/^[0-9]{4}-[0-9]{2}-[0-9]{2}$/),
});

/**
 * Returns the statement in what a mixer answered. Throws Refused unless it is about this version of the
 * survey, and the mixer that the definition names signed it.
 * @type {(text: string, mixer: Mixer, version: string) => Promise<Statement>}
 */
export async function readStatement(text, mixer, version) {
  const value = /** @type {Statement} */ (parse(text));
  STATEMENT(value, "statement");
  const { signature, ...signed } = value;
  const message = `deniably mixer 1\n${canonicalise(signed)}`;
  if (!(await signedBy(mixer.signing, signature, message))) {
    throw new Refused("the mixer's statement is not signed with the key of the survey's mixer");
  }
  const own = value.survey === version && value.by === mixer.by;
  must(own, "statement", "is of another survey or mixer");
  return value;
}
