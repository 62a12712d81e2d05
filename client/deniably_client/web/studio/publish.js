// Publishes a draft. The digest is worked out here, over the definition that came, and only a definition
// that says what the page shows is signed.

import { digest } from "../core/canonical.js";
import { Refused } from "../core/errors.js";
import { fingerprint } from "../trust/signing.js";
import { elsewhere } from "./sign_elsewhere.js";
import { Declined, find, name as anyName, post, trying } from "./exchange.js";
import {
  canSign,
  checkShown,
  readOwn,
  readSignature,
  shownDraft,
  signSurvey,
} from "./signature.js";

/** @import { Answer } from "./exchange.js" */

const form = find("#publishing");
const { draft = "", title = "", key = "" } = form.dataset;
const written = JSON.parse(form.dataset.document ?? "{}");
const expect = Number(form.dataset.expect);
let revision = Number(form.dataset.revision);
/** @type {HTMLButtonElement} */
const button = find("#publish");
/** @type {HTMLInputElement} */
const read = find("#read");
/** @type {HTMLInputElement} */
const address = find("#name");
/** @type {HTMLInputElement} */
const minimum = find("#minimum");

const own = await readOwn().catch(() => undefined);
const signs = own?.author === key && (await canSign());
/** The file that was signed on another computer. */
let brought = "";

/** What this page shows, and what is signed; from the same values. */
function show() {
  const items = shownDraft(written).questions.map((/** @type {import("./types.js").ShownQuestion} */ { label, answers }) => {
    const item = document.createElement("li");
    item.append(label);
    if (answers.length) {
      const small = Object.assign(document.createElement("small"), { textContent: answers.join(" · ") });
      item.append(document.createElement("br"), small);
    }
    return item;
  });
  find("#asked-questions").replaceChildren(...items);
  void showMixer();
}

/** Says who the mixer is, and what both can learn; these are the values that are compared. */
async function showMixer() {
  const { mixer } = shownDraft(written);
  find("#through").hidden = mixer === null;
  if (!mixer) return;
  const { by, address, signing, alone, both, fails } = mixer;
  const number = await fingerprint(signing);
  for (const [selector, text] of Object.entries({ by, address, number, alone, both, fails })) {
    for (const place of document.querySelectorAll(`[data-mixer="${selector}"]`)) place.textContent = text;
  }
}

const shown = () => ({
  name: address.value.trim(),
  ...shownDraft(written),
  title,
  minimum: Number(minimum.value),
  analysts: audience() === "analysts",
});

const audience = () => /** @type {HTMLInputElement} */ (find("[name=to]:checked")).value;

function ready() {
  button.disabled = !((signs || brought) && read.checked && address.value.trim());
  const least = Number(minimum.value);
  find("#too-many").hidden = !(least > expect);
  find("#too-many").textContent =
    `You expect ${expect} people and ask for ${least}. Nobody would ever see a result.`;
}

/**
 * Saves a key of the draft where the page has another value. Throws Refused.
 * @param {string} what
 * @param {unknown} value
 */
async function put(what, value) {
  if (JSON.stringify(written[what] ?? null) === JSON.stringify(value)) return;
  const operation = { do: "put", question: null, key: what, value };
  const answer = await post(`/studio/drafts/${draft}/edits`, { edit: anyName(), revision, operation });
  if (answer.status === 404) return; // another tab published it: the definition's answer says so
  if (answer.status === 409) throw new Refused("Somebody else changed this meanwhile. Load the page again.");
  if (answer.status !== 200) throw new Declined(answer);
  revision = answer.value.revision;
  written[what] = value;
}

/**
 * Returns the rules of the results (who sees them, from how many reports on) as a draft has them.
 */
function results() {
  const text = minimum.value.trim();
  const to = audience();
  const { to: _, ...others } = written.results ?? {};
  return { ...others, minimum: /^\d{1,15}$/.test(text) ? Number(text) : text, ...(to && { to }) };
}

/**
 * Saves what this page has, and returns the definition as it would be published. Throws Refused
 * where the definition is not what this page shows.
 */
async function definition() {
  await put("name", address.value.trim());
  await put("results", results());
  if (written.mixer && !written.mixer.open) await putKey();
  let asked = await defined();
  if (lacksKey(asked)) {
    await putKey(); // the one in the draft is too old, or was made for somebody else in the group
    asked = await defined();
  }
  if (asked.status !== 200) throw refusal(asked);
  const its = asked.value.definition;
  checkShown(its, shown());
  return its;
}

/** Puts a new key of the server's into the draft, with which it will open the answers that the mixer passes on. */
async function putKey() {
  const made = await post(`/studio/drafts/${draft}/envelope-key`, {});
  if (made.status !== 201) throw new Declined(made);
  await put("mixer", { ...written.mixer, open: made.value.open });
}

const defined = () => post(`/studio/drafts/${draft}/definition`, {});

/** @type {(asked: Answer) => boolean} whether all that is missing is the server's key */
const lacksKey = ({ value }) =>
  listed(value?.errors).map(({ path }) => path).join() === "$.mixer.open";

/** @type {(list: unknown) => { path?: string }[]} */
const listed = (list) => (Array.isArray(list) ? list : []);

/**
 * Returns the error for an answer that is no success; another tab may have published the draft.
 * @param {Answer} answer
 */
function refusal(answer) {
  if (!answer.value?.form) return new Declined(answer);
  done(answer.value, "It was published already");
  return new Refused("This draft was published meanwhile, in another tab or by somebody else.");
}

/**
 * @param {{ name: string, form: string }} published
 * @param {string} heading
 */
function done(published, heading) {
  const link = new URL(published.form, location.origin).href;
  Object.assign(find("#link"), { href: link, textContent: link });
  Object.assign(find("#follow"), { href: `/studio/s/${published.name}` });
  find("#accept").hidden = !written.mixer;
  find("#accept-command").textContent = `deniably mix accept ${link}`;
  form.hidden = true;
  find("#done").hidden = false;
  find("#done h2").textContent = heading;
  find("#done h2").focus();
}

/**
 * Returns the signature of a definition, made here or brought in a file.
 * @param {any} its the definition
 */
async function signature(its) {
  if (!brought) return own && (await signSurvey(own, its, shown()));
  const { author, signature } = await readSignature(brought, its);
  if (author !== key) throw new Refused("This is the signature of another group. Nothing was published.");
  return { author, signature, digest: await digest(its) };
}

async function publish() {
  const answer = await post(`/studio/drafts/${draft}/published`, await signature(await definition()));
  if (answer.status !== 201) throw refusal(answer);
  done(answer.value, "It is open");
}

const part = elsewhere({
  async ask() {
    const its = await definition();
    return { file: `${its.name}.json`, text: JSON.stringify(its) };
  },
  async take(text) {
    brought = "";
    ready();
    const its = await definition();
    brought = text;
    try {
      await signature(its);
    } catch (error) {
      brought = "";
      throw error;
    }
    ready();
  },
});
part.open = !signs;
find("#away").hidden = signs;
for (const field of [read, address, minimum]) field.addEventListener("input", ready);
form.addEventListener("submit", async (event) => {
  event.preventDefault();
  button.disabled = true;
  await trying(publish);
  ready();
});
show();
ready();
