// What waits from other surveys of this server: any page of the form sends it, so that nobody has to
// come back to the very survey whose report did not get through.

import { recordSent } from "./device.js";
import { send } from "./send.js";
import { read } from "./storage.js";

/**
 * Sends, one after the other, the kept bytes of reports that did not get through. `place` gives the
 * address that takes the reports of a version, or nothing where it is unknown or closed. What does
 * not get through now waits on; nothing is thrown, and nothing is shown.
 *
 * In the order of the versions, which are digests: it tells nothing of when they were made.
 * @type {(except: string, place: (version: string) => string | undefined) => Promise<void>}
 */
export async function sendOthers(except, place) {
  const { reports } = await read().catch(() => ({ reports: {} }));
  for (const [version, { text, sent }] of Object.entries(reports)) {
    const address = place(version);
    if (sent || version === except || address === undefined) continue;
    try {
      await send(address, text);
      await recordSent(version, text);
    } catch {
      // Its own page says why, when it is opened.
    }
  }
}
