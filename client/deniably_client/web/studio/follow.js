// Closes a survey, for good, once its address was typed; asks an old one again; and says how many people
// have sent where a mixer has their answers.

import { PROBLEM, body } from "../core/body.js";
import { digest } from "../core/canonical.js";
import { Refused } from "../core/errors.js";
import { readStatement } from "../trust/mixer_statement.js";
import { elsewhere } from "./sign_elsewhere.js";
import { Declined, find, get, post, trying } from "./exchange.js";
import { canSign, readClosing, readOwn, signClosing } from "./signature.js";

const TOO_FEW = 409;

/** @import { Statement } from "../trust/types.js" */
/** @import { Signed } from "./types.js" */

/**
 * Returns the definition of the survey on this page. Throws Refused where the server sends another one.
 * @param {string} name
 * @param {string} title
 */
async function definitionOf(name, title) {
  const answer = await get(`/api/surveys/${name}`);
  if (answer.status !== 200) throw new Declined(answer);
  // The author has seen a name and a title: only that survey is meant, and only that is signed.
  const its = answer.value;
  if (its?.name !== name || its?.title !== title) {
    throw new Refused(`The server sent another survey, ${its?.name}, “${its?.title}”. Nothing was signed.`);
  }
  return its;
}

/** @param {HTMLElement} form */
async function closing(form) {
  const { name = "", title = "", key = "" } = form.dataset;
  const own = await readOwn().catch(() => undefined);
  const signs = own?.author === key && (await canSign());
  /** @type {HTMLButtonElement} */
  const button = find("#close");
  /** @type {Signed | null} */
  let brought = null;
  const ready = () => {
    button.disabled = !(signs || brought);
  };

  const definition = () => definitionOf(name, title);

  const part = elsewhere({
    ask: async () => ({ file: `${name}-close.json`, text: JSON.stringify({ close: await definition() }) }),
    async take(text) {
      brought = null;
      ready();
      const signed = await readClosing(text, await definition());
      if (signed.author !== key) throw new Refused("This is the signature of another group.");
      brought = signed;
      ready();
    },
  });
  part.open = !signs;
  find("#away").hidden = signs;
  ready();

  async function close() {
    const signature = brought ?? (own && (await signClosing(own, await definition())));
    const typed = /** @type {HTMLInputElement} */ (find("#typed")).value.trim();
    const anyway = /** @type {HTMLInputElement} */ (find("#anyway")).checked;
    const answer = await post(`/studio/s/${name}/closed`, { name: typed, anyway, ...signature });
    if (answer.status === 200) return location.reload();
    if (answer.status === TOO_FEW) find("#few").hidden = false;
    throw new Declined(answer);
  }
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    void trying(close);
  });
}

document.querySelector("#again")?.addEventListener("click", ({ target }) => {
  const { name = "" } = /** @type {HTMLElement} */ (target).dataset;
  void trying(async () => {
    const answer = await post(`/studio/s/${name}/again`, {});
    if (answer.status !== 201) throw new Declined(answer);
    location.assign(`/studio/d/${answer.value.id}`);
  });
});

// --- at the mixer -----------------------------------------------------------------------------------

const SILENCE = 8000; // milliseconds
const NOT_YET = 404;
const NO_MORE = 410;
const TEN = 10;

/**
 * Asks the mixer how many people have sent, and says it. Only what it signed is believed. This server is not
 * asked, as it does not know.
 * @param {HTMLElement} place
 */
async function askMixer(place) {
  const { name = "", title = "" } = place.dataset;
  let by = "The mixer";
  /** @param {string[]} sentences */
  const show = (...sentences) =>
    place.replaceChildren(
      ...sentences.map((textContent) => Object.assign(document.createElement("p"), { textContent })),
    );
  try {
    const its = await definitionOf(name, title);
    const version = await digest(its);
    by = its.mixer.by;
    const response = await fetch(`${its.mixer.address}/mix/${version}`, {
      credentials: "omit",
      referrerPolicy: "no-referrer",
      redirect: "error",
      cache: "no-store",
      signal: AbortSignal.timeout(SILENCE),
    });
    if (response.status === NOT_YET) {
      find("#accepting").hidden = false;
      return show(`${by} has not accepted this survey yet. Until then nobody can answer.`);
    }
    if (response.status === NO_MORE) return show(`${by} takes no more answers to this survey.`);
    if (!response.ok) throw new TypeError(`status ${response.status}`);
    show(...told(await readStatement(await body(response, PROBLEM), its.mixer, version)));
  } catch (error) {
    const wrong = `What answers in the place of ${by} is not the mixer that you signed for. Ask its owner.`;
    show(error instanceof Refused ? wrong : `${by} cannot be reached now. Load this page again later.`);
  }
}

/** @type {(statement: Statement) => string[]} what a mixer states, in sentences */
function told({ by, senders, invitations, until }) {
  const many = senders < TEN ? `fewer than ${TEN} people have sent so far` : `at least ${senders.toLocaleString("en")} people have sent`;
  const codes = invitations > 0 ? ` Only people with a code can: it has issued ${invitations.toLocaleString("en")}.` : "";
  return [
    `${by} says, signed, that ${many}. It counts in whole tens, and anew every five minutes.`,
    `It takes answers until ${until}.${codes}`,
  ];
}

const mixer = /** @type {HTMLElement | null} */ (document.querySelector("#at-mixer"));
if (mixer) void askMixer(mixer);
const form = /** @type {HTMLElement | null} */ (document.querySelector("#closing"));
if (form) await closing(form);
