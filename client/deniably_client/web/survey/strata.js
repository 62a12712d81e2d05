// Strata: the public groups that respondents come in, as their links say (SPEC section 4.6). The bundle
// for surveys without strata leaves this module out: what others import of it is undefined there.

import { must } from "../core/errors.js";
import { SURVEY_NAME, anObject, list } from "../core/validators.js";

/** @import { Check } from "../core/types.js" */
/** @import { Definition, Stratum } from "./types.js" */

const MOST = 8; // strata, SPEC 4.6
const VALUES = list(SURVEY_NAME, 2, MOST);

/** @type {Check} validates the strata of a definition */
export const STRATA = (strata, path) => {
  anObject(strata, path);
  let count = 1;
  for (const [key, values] of Object.entries(strata)) {
    SURVEY_NAME(key, path);
    VALUES(values, `${path}.${key}`);
    must(new Set(values).size === values.length, `${path}.${key}`, "has a value twice", values);
    count *= values.length;
  }
  must(count > 1 && count <= MOST, path, `has ${count} strata, not 2 to ${MOST}`);
};

/**
 * Returns the stratum that a link names, from what stands behind its question mark. Other
 * parameters are ignored. Throws Refused unless each key is there once, with one of its values.
 * @type {(definition: Definition, query: string) => Stratum}
 */
export function stratumIn({ strata = {} }, query) {
  const parameters = new URLSearchParams(query);
  const entries = Object.entries(strata).map(([key, values]) => {
    // A link that names a key twice is refused: which one was meant is not known.
    const [value = "", ...more] = parameters.getAll(key);
    const fits = values.includes(value) && more.length === 0;
    must(fits, "the link", `does not say the ${key} that it is for`);
    return [key, value];
  });
  return Object.fromEntries(entries);
}

/**
 * Returns a report's member `strata`, to be spread into the report; undefined without strata.
 * Throws Refused for a stratum that the survey does not have.
 * @type {(definition: Definition, stratum?: Stratum) => {strata: Stratum} | undefined}
 */
export function inReport({ strata }, stratum = {}) {
  if (strata === undefined) return undefined;
  const keys = Object.keys(strata);
  const fits = keys.every((key) => strata[key]?.includes(stratum[key] ?? ""));
  must(fits && Object.keys(stratum).length === keys.length, "the stratum", "is none of the survey's");
  return { strata: stratum };
}
