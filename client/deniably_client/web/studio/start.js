// The first start: makes the group's signature and its copy in this browser, and founds the group.

import { Refused } from "../core/errors.js";
import { elsewhere, signInFile } from "./sign_elsewhere.js";
import { Declined, find, post, save, tell, trying, word } from "./exchange.js";
import { fingerprint } from "../trust/signing.js";
import { canSign, keepOwn, makeSignature, readSignIn, signIn } from "./signature.js";

/** @import { Made, Signed } from "./types.js" */

const LINK = "Open the whole link that the server printed at its first start, with all that is behind the #.";
const secret = location.hash.slice(1);
// Remove it from the address and the tab's history.
history.replaceState(null, "", location.pathname);

const able = await canSign();
/** @type {Made | null} */
let made = null;
/** What was signed on another computer. @type {Signed & { nonce: string } | null} */
let brought = null;
/** @type {HTMLInputElement} */
const group = find("#name");
/** @type {HTMLInputElement} */
const contact = find("#contact");
/** @type {HTMLInputElement} */
const kept = find("#kept");
/** @type {HTMLButtonElement} */
const saving = find("#save");
/** @type {HTMLButtonElement} */
const start = find("#start");

/** The copy names the group, so it is made once the group has a name, and anew with another one. */
async function make() {
  const name = group.value.trim();
  if (!able || !name || made?.own.group === name) return;
  made = null;
  kept.checked = false;
  ready();
  made = await makeSignature(name);
  const halves = made.own.number.match(/.{1,19}(?: |$)/g) ?? [];
  find("#number").textContent = halves.map((half) => half.trim()).join("\n");
  const items = made.words.map((word) => Object.assign(document.createElement("li"), { textContent: word }));
  find("#words").replaceChildren(...items);
  find("#saved").textContent = "";
  ready();
}

function ready() {
  saving.disabled = !made;
  kept.disabled = !made;
  const signs = brought || (made && kept.checked);
  start.disabled = !(signs && group.value.trim() && contact.value.trim() && secret);
}

function saveCopy() {
  if (!made) return;
  const name = `deniably-signature-${made.own.number.slice(0, 4)}.pem`;
  save(name, made.copy, "application/x-pem-file");
  find("#saved").textContent = name;
}

/** The signed word that proves the group's key. */
async function proof() {
  if (brought) return brought;
  if (!made) throw new Refused("Save the copy first.");
  const nonce = await word();
  return { nonce, ...(await signIn(made.own, nonce)) };
}

async function found() {
  const { nonce, author, signature } = await proof();
  const [name, reach] = [group.value.trim(), contact.value.trim()];
  const wanted = { secret, name, contact: reach, key: author, word: nonce, signature };
  const answer = await post("/studio/start", wanted);
  if (answer.status !== 201) throw new Declined(answer);
  if (made && !brought) await keepOwn(made.own);
  find("#operator").textContent = answer.value.operator.token;
  made = null;
  find("#words").replaceChildren(); // shown once
  find("#founding").hidden = true;
  find("#founded").hidden = false;
  find("#founded h2").focus();
}

const part = elsewhere({
  ask: async () => signInFile(await word()),
  async take(text) {
    brought = null;
    ready();
    brought = await readSignIn(text);
    find("#number").textContent = await fingerprint(brought.author);
    find("#copying").hidden = true; // the copy of this key is made where the key is
    ready();
  },
});

group.addEventListener("change", () => void trying(make));
for (const field of [group, contact, kept]) field.addEventListener("input", ready);
saving.addEventListener("click", saveCopy);
find("#founding").addEventListener("submit", async (event) => {
  event.preventDefault();
  start.disabled = true;
  await trying(found);
  ready();
});
if (!able) {
  find("#cannot").hidden = false;
  find("#copying").hidden = true;
  part.open = true;
}
if (!secret) tell(LINK);
