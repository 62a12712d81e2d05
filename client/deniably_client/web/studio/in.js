// Signing in: with the signature that this browser keeps, or with a copy and its six words.

import { Refused } from "../core/errors.js";
import { NETWORK, find, post, sentence, tell } from "./exchange.js";
import { keepOwn, openSignature, readOwn, signIn } from "./signature.js";

/** @import { Own } from "./types.js" */

/** @param {Own} own */
async function enter(own) {
  const asked = await post("/studio/word", {});
  if (asked.status !== 200) return tell(sentence(asked));
  const { word } = asked.value;
  const { author, signature } = await signIn(own, word);
  const answer = await post("/studio/in", { key: author, word, signature });
  if (answer.status !== 200) return tell(sentence(answer));
  await keepOwn(own);
  location.assign("/studio/");
}

/** @param {() => Promise<void>} work */
async function trying(work) {
  tell("");
  try {
    await work();
  } catch (error) {
    tell(error instanceof Refused ? error.message : NETWORK);
  }
}

find("#bring").addEventListener("submit", (event) => {
  event.preventDefault();
  void trying(async () => {
    const file = /** @type {HTMLInputElement} */ (find("#copy")).files?.[0];
    if (!file) throw new Refused("Choose the file with the copy of your signature.");
    const typed = /** @type {HTMLInputElement} */ (find("#opening")).value;
    await enter(await openSignature(await file.text(), typed));
  });
});

const own = await readOwn().catch(() => undefined);
if (own) {
  find("#number").textContent = own.number;
  find("#sign-in").textContent = `Sign in as ${own.group}`;
  find("#here").hidden = false;
  find("#sign-in").addEventListener("click", () => void trying(() => enter(own)));
}
