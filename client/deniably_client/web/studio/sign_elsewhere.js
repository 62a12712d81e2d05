// Signing on another computer: the page gives out a file, and takes the one that `deniably sign` wrote there.

import { find, save, trying } from "./exchange.js";

const LARGEST = 4096;

/**
 * What is signed elsewhere to sign in here, or to found a group.
 * @param {string} nonce
 */
export const signInFile = (nonce) => ({
  file: "sign-in.json",
  text: JSON.stringify({ sign_in: { origin: location.origin, nonce } }),
});

/**
 * Sets up the part of a page that signs elsewhere. `ask` gives the file to be signed; `take` reads what came
 * back, and throws Refused where it is not right. Returns the part, which opens where this browser cannot
 * sign.
 * @param {{ ask: () => Promise<{ file: string, text: string }>, take: (text: string) => Promise<void> }} does
 */
export function elsewhere({ ask, take }) {
  find("#to-sign").addEventListener("click", () =>
    trying(async () => {
      const { file, text } = await ask();
      save(file, text);
      find("#asked").textContent = file;
      find("#command").textContent = `deniably sign ${file}`;
    }),
  );
  const chosen = /** @type {HTMLInputElement} */ (find("#signed"));
  chosen.addEventListener("change", async () => {
    const file = chosen.files?.[0];
    if (!file) return;
    find("#taken").textContent = "";
    const text = await file.slice(0, LARGEST).text();
    if (await trying(() => take(text))) find("#taken").textContent = "This signature is right.";
    chosen.value = ""; // the same file may be chosen again
  });
  return /** @type {HTMLDetailsElement} */ (find("#elsewhere"));
}
