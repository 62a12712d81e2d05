// Fetches the server's register, verifies a survey's listing in it, and keeps what was verified.

import { DEFINITION, REGISTER, body } from "../core/body.js";
import { sha256 } from "../core/canonical.js";
import { Refused } from "../core/errors.js";
import { verifyListing } from "../trust/register.js";
import { keep, kept, registerOf } from "./vault.js";

/** @import { Definition } from "../survey/types.js" */
/** @import { VerifiedSurvey, Known } from "../trust/types.js" */

/** Milliseconds to wait for the network where a copy of the register is kept. */
const PATIENCE = 4000;

/**
 * Finds a verified definition in the server's register (see `verifyListing`). Without a network
 * the kept register has to do: the survey was in it before.
 *
 * Throws what `verifyListing` throws. Throws Refused where the server has no register, and
 * TypeError where there is neither a network nor a kept register.
 * @type {(known: Known, definition: Definition, version: string, accepted?: string) =>
 *   Promise<VerifiedSurvey>}
 */
export async function meet(known, definition, version, accepted) {
  const { origin } = location;
  const asked = online() ? fresh() : Promise.reject(new TypeError("there is no network"));
  const silence = new Promise((resolve) => setTimeout(resolve, PATIENCE));
  const answer = await Promise.race([asked, silence]).catch(() => undefined);
  const copy = answer === undefined ? await old() : undefined;
  if (copy === undefined) {
    register = await asked;
    return verifyListing(known, origin, definition, version, register, accepted);
  }
  // The copy may lack entries seen since with other surveys: ignore the checkpoint.
  const before = { authors: known.authors, registers: {} };
  return verifyListing(before, origin, definition, version, copy, accepted);
}

/** @type {string | undefined} the register that was verified */
let register;

/**
 * The address that takes reports to a survey's version, from the verified register. Undefined where
 * the register does not list that version, or lists it as closed.
 * @type {(version: string) => string | undefined}
 */
export function reportsOf(version) {
  /** @type {any[]} */
  const entries = register === undefined ? [] : JSON.parse(register).entries;
  const own = entries.filter(({ digest }) => digest === version);
  const listed = own.find(({ event }) => event === "published");
  if (!listed || own.some(({ event }) => event === "closed")) return undefined;
  return `/api/surveys/${encodeURIComponent(listed.survey)}/reports`;
}

/** Stores the verified register beside the page. */
export async function keepRegister() {
  if (register !== undefined) {
    await keep(registerOf(location.pathname), { headers: [], body: register }).catch(() => {});
  }
}

/** Whether the network may be there. A wrong yes only costs a failed request. */
const online = () => navigator.onLine;

/** @type {() => Promise<string>} the register as the server shows it now */
async function fresh() {
  // Without options, so that the browser reuses the page's preload of this address.
  const response = await fetch("/register");
  if (!response.ok) throw new Refused("the server shows no register");
  if (response.status === 204) throw new TypeError("there is no network");
  return body(response, REGISTER);
}

/** @returns {Promise<string | undefined>} the stored register */
const old = async () => (await kept(registerOf(location.pathname)).catch(() => undefined))?.body;

/**
 * Whether the server now shows another version. False without a network.
 * @param {string} address
 * @param {string} version
 */
export async function hasChanged(address, version) {
  if (!online()) return false;
  try {
    const response = await fetch(address, {
      headers: { "If-None-Match": `"${version}"` },
      credentials: "omit",
      referrerPolicy: "no-referrer",
      cache: "no-store",
      signal: AbortSignal.timeout(PATIENCE),
    });
    return response.ok && (await sha256(await body(response, DEFINITION))) !== version;
  } catch (error) {
    return error instanceof Refused; // the response was too long
  }
}
