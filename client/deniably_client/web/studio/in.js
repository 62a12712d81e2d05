// Signing in: with the signature that this browser keeps, with a copy and its six words, or on another
// computer.

import { Refused } from "../core/errors.js";
import { elsewhere, signInFile } from "./sign_elsewhere.js";
import { Declined, find, post, returnPlace, trying, word } from "./exchange.js";
import { canSign, keepOwn, openSignature, readOwn, readSignIn, signIn } from "./signature.js";

/** @import { Own, Signed } from "./types.js" */

/**
 * @param {string} asked
 * @param {Signed} signed
 */
async function enter(asked, { author, signature }) {
  const answer = await post("/studio/in", { key: author, word: asked, signature });
  if (answer.status !== 200) throw new Declined(answer);
}

/** @param {Own} own */
async function enterWith(own) {
  const asked = await word();
  await enter(asked, await signIn(own, asked));
  await keepOwn(own);
  location.assign(returnPlace());
}

find("#bring").addEventListener("submit", (event) => {
  event.preventDefault();
  void trying(async () => {
    const file = /** @type {HTMLInputElement} */ (find("#copy")).files?.[0];
    if (!file) throw new Refused("Choose the file with the copy of your signature.");
    const typed = /** @type {HTMLInputElement} */ (find("#opening")).value;
    await enterWith(await openSignature(await file.text(), typed));
  });
});

const part = elsewhere({
  ask: async () => signInFile(await word()),
  async take(text) {
    const { nonce, ...signed } = await readSignIn(text);
    await enter(nonce, signed);
    location.assign(returnPlace());
  },
});

const own = await readOwn().catch(() => undefined);
if (!(await canSign())) {
  find("#cannot").hidden = false;
  find("#bring").hidden = true;
  part.open = true;
} else if (own) {
  find("#number").textContent = own.number;
  find("#sign-in").textContent = `Sign in as ${own.group}`;
  find("#here").hidden = false;
  find("#sign-in").addEventListener("click", () => void trying(() => enterWith(own)));
}
