// The first start: makes the group's signature and its copy in this browser, and founds the group.

import { Refused } from "../core/errors.js";
import { NETWORK, find, post, sentence, tell } from "./exchange.js";
import { canSign, keepOwn, makeSignature, signIn } from "./signature.js";

/** @import { Made } from "./types.js" */

const LINK = "Open the whole link that the server printed at its first start, with all that is behind the #.";
const OLD =
  "This browser cannot sign. Take a newer one: Chrome from 137, Safari from 17 or Firefox from 129 on. Or write surveys in a terminal, as the handbook says.";

const secret = location.hash.slice(1);
// Remove it from the address and the tab's history.
history.replaceState(null, "", location.pathname);

/** @type {Made | null} */
let made = null;
/** @type {HTMLInputElement} */
const group = find("#name");
/** @type {HTMLInputElement} */
const contact = find("#contact");
/** @type {HTMLInputElement} */
const kept = find("#kept");
/** @type {HTMLButtonElement} */
const save = find("#save");
/** @type {HTMLButtonElement} */
const start = find("#start");

/** Says what went wrong; refusals are sentences. @param {unknown} error */
const failed = (error) => tell(error instanceof Refused ? error.message : NETWORK);

/** The copy names the group, so it is made once the group has a name, and anew with another one. */
async function make() {
  const name = group.value.trim();
  if (!name || made?.own.group === name) return;
  tell("");
  made = null;
  kept.checked = false;
  ready();
  try {
    made = await makeSignature(name);
  } catch (error) {
    return failed(error);
  }
  const halves = made.own.number.match(/.{1,19}(?: |$)/g) ?? [];
  find("#number").textContent = halves.map((half) => half.trim()).join("\n");
  const items = made.words.map((word) => Object.assign(document.createElement("li"), { textContent: word }));
  find("#words").replaceChildren(...items);
  find("#saved").textContent = "";
  ready();
}

function ready() {
  save.disabled = !made;
  kept.disabled = !made;
  start.disabled = !(made && kept.checked && contact.value.trim() && secret);
}

function saveCopy() {
  if (!made) return;
  const address = URL.createObjectURL(new Blob([made.copy], { type: "application/x-pem-file" }));
  const name = `deniably-signature-${made.own.number.slice(0, 4)}.pem`;
  Object.assign(document.createElement("a"), { href: address, download: name }).click();
  URL.revokeObjectURL(address);
  find("#saved").textContent = name;
}

async function found() {
  if (!made) return;
  tell("");
  start.disabled = true;
  try {
    const asked = await post("/studio/word", {});
    if (asked.status !== 200) return tell(sentence(asked));
    const { word } = asked.value;
    const { author, signature } = await signIn(made.own, word);
    const wanted = { secret, name: made.own.group, contact: contact.value.trim(), key: author, word, signature };
    const answer = await post("/studio/start", wanted);
    if (answer.status !== 201) return tell(sentence(answer));
    await keepOwn(made.own);
    find("#operator").textContent = answer.value.operator.token;
  } catch (error) {
    return failed(error);
  } finally {
    ready();
  }
  made = null;
  find("#words").replaceChildren(); // shown once
  find("#founding").hidden = true;
  find("#founded").hidden = false;
  find("#founded h2").focus();
}

group.addEventListener("change", () => void make());
for (const field of [contact, kept]) field.addEventListener("input", ready);
save.addEventListener("click", saveCopy);
find("#founding").addEventListener("submit", (event) => {
  event.preventDefault();
  void found();
});
if (!secret) tell(LINK);
else if (!(await canSign())) tell(OLD);
