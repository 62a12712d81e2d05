// Stands in for the modules that ask a mixer, seal and send to it, while a draft is tried out. The mixer is
// not asked, and nobody needs a code. What would be sealed is shown.

import { byId } from "./elements.js";
import { send as show } from "./trial.js";

/** The reports that would be sealed.
 * @type {readonly string[]} */
let reports = [];

export const fetchStatement = async () => "";

/** @type {typeof import("../trust/mixer_statement.js").readStatement} */
export const readStatement = async () => ({
  by: "",
  invitations: 0,
  senders: 0,
  signature: "",
  survey: "",
  until: "9999-12-31",
});

/** @type {typeof import("../device/to_mixer.js").sealReports} */
export async function sealReports(_, __, texts) {
  reports = texts;
  return [];
}

/** An envelope with nothing in it. */
export const sealForMixer = async () => ({ outer: "00", inner: [] });

/** Shows what would be sealed, and sends nothing. */
export async function sendSealed() {
  const values = Object.assign({}, ...reports.map((text) => JSON.parse(text).values));
  await show("", JSON.stringify({ values }));
  byId("report").textContent = reports.join("\n");
}

// --- instead of an invitation ---------------------------------------------------------------------

export const code = () => "";
export const forgetCode = async () => {};
export const keepStatement = async () => {};
export const storedStatement = async () => "";
export const askForOther = () => {};

/** @type {typeof import("./mixer_code.js").askForCode} */
export async function askForCode(_, on) {
  byId("invitation").addEventListener("submit", (event) => {
    event.preventDefault();
    on();
  });
}
