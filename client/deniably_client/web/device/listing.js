// Fetches a survey's listing in the server's register, verifies it, and keeps what was verified.

import { DEFINITION, LISTING, REGISTER, body } from "../core/body.js";
import { sha256 } from "../core/canonical.js";
import { Refused } from "../core/errors.js";
import { verifyListing } from "../trust/register.js";
import { keep, kept, listingOf } from "./kept_pages.js";

/** @import { Definition } from "../survey/types.js" */
/** @import { VerifiedSurvey, Known } from "../trust/types.js" */

/** Milliseconds to wait for the network where a copy of the listing is kept. */
const SILENCE = 4000;

/**
 * Finds a verified definition in the server's register, and checks its listing there as
 * `verifyListing` does. Without a network the kept listing has to do: the survey was in the
 * register before.
 *
 * Throws what `verifyListing` throws. Throws Refused where the server does not list the survey, and
 * TypeError where there is neither a network nor a kept listing.
 * @type {(known: Known, definition: Definition, version: string, accepted?: string) =>
 *   Promise<VerifiedSurvey>}
 */
export async function meet(known, definition, version, accepted) {
  const path = `/register/${definition.name}`;
  // Not awaited here: where the server is silent the kept copy must not wait for it.
  const request = online() ? fresh(path, LISTING) : Promise.reject(new TypeError("there is no network"));
  const silence = new Promise((resolve) => setTimeout(resolve, SILENCE));
  const answer = await Promise.race([request, silence]).catch(() => undefined);
  const copy = answer === undefined ? await old() : undefined;
  if (copy === undefined) listing = await request; // throws what the request has thrown, too
  // A copy may lack entries seen since with other surveys: ignore the checkpoint.
  const before = copy === undefined ? known : { ...known, registers: {} };
  const text = copy ?? listing ?? "";
  return verifyListing(before, location.origin, definition, version, text, accepted, further);
}

/** @type {string | undefined} the listing that was verified */
let listing;

/** Stores the verified listing beside the page. */
export async function keepListing() {
  if (listing !== undefined) {
    await keep(listingOf(location.pathname), { headers: [], body: listing }).catch(() => {});
  }
}

/** Whether the network may be there. A wrong yes only costs a failed request. */
const online = () => navigator.onLine;

/** @type {(path: string, limit: number) => Promise<string>} a part of the register as it is now */
async function fresh(path, limit) {
  // Without options, so that the browser reuses the page's preload of this address.
  const response = await fetch(path);
  if (!response.ok) throw new Refused("the server's register does not list this survey");
  if (response.status === 204) throw new TypeError("there is no network");
  return body(response, limit);
}

/** @type {(path: string) => Promise<string>} what a device needs that was here last long ago */
const further = (path) => fresh(path, REGISTER);

/** @returns {Promise<string | undefined>} the stored listing */
const old = async () => (await kept(listingOf(location.pathname)).catch(() => undefined))?.body;

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
      signal: AbortSignal.timeout(SILENCE),
    });
    return response.ok && (await sha256(await body(response, DEFINITION))) !== version;
  } catch (error) {
    return error instanceof Refused; // the response was too long
  }
}
