// Publishes a draft. The digest is worked out here, over the definition that came, and only a definition
// that is what the page shows is signed.

import { Refused } from "../core/errors.js";
import { NETWORK, find, name as anyName, post, sentence, tell } from "./exchange.js";
import { readOwn, signSurvey } from "./signature.js";

const form = find("#publishing");
const { draft = "", title = "", key = "" } = form.dataset;
const questions = Number(form.dataset.questions);
const written = JSON.parse(form.dataset.document ?? "{}");
let revision = Number(form.dataset.revision);
/** @type {HTMLButtonElement} */
const button = find("#publish");
/** @type {HTMLInputElement} */
const read = find("#read");
/** @type {HTMLInputElement} */
const address = find("#name");

const own = await readOwn().catch(() => undefined);
const signs = own?.author === key;
find("#away").hidden = signs;

const ready = () => {
  button.disabled = !(signs && read.checked && address.value.trim());
};

/**
 * Saves a key of the draft where the page has another value. Throws Refused.
 * @param {string} what
 * @param {unknown} value
 */
async function put(what, value) {
  if (JSON.stringify(written[what] ?? null) === JSON.stringify(value)) return;
  const operation = { do: "put", question: null, key: what, value };
  const answer = await post(`/studio/drafts/${draft}/edits`, { edit: anyName(), revision, operation });
  if (answer.status === 409) throw new Refused("Somebody else changed this meanwhile. Load the page again.");
  if (answer.status !== 200) throw new Refused(sentence(answer));
  revision = answer.value.revision;
  written[what] = value;
}

/** Who sees results, and from when on, as the definition says it. */
function results() {
  const text = /** @type {HTMLInputElement} */ (find("#minimum")).value.trim();
  const to = /** @type {HTMLInputElement} */ (find("[name=to]:checked")).value;
  const { to: _, ...others } = written.results ?? {};
  return { ...others, minimum: /^\d{1,15}$/.test(text) ? Number(text) : text, ...(to && { to }) };
}

async function publish() {
  if (!own) return;
  await put("name", address.value.trim());
  await put("results", results());
  const asked = await post(`/studio/drafts/${draft}/definition`, {});
  if (asked.status !== 200) throw new Refused(sentence(asked));
  const shown = { name: address.value.trim(), title, questions };
  const { digest, author, signature } = await signSurvey(own, asked.value.definition, shown);
  const answer = await post(`/studio/drafts/${draft}/published`, { digest, author, signature });
  if (answer.status !== 201) throw new Refused(sentence(answer));
  const link = new URL(answer.value.form, location.origin).href;
  Object.assign(find("#link"), { href: link, textContent: link });
  Object.assign(find("#follow"), { href: `/studio/s/${answer.value.name}` });
  form.hidden = true;
  find("#done").hidden = false;
  find("#done h2").focus();
}

for (const field of [read, address]) field.addEventListener("input", ready);
form.addEventListener("submit", async (event) => {
  event.preventDefault();
  tell("");
  button.disabled = true;
  try {
    await publish();
  } catch (error) {
    tell(error instanceof Refused ? error.message : NETWORK);
  }
  ready();
});
ready();
