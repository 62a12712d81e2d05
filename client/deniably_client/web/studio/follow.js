// Closes a survey, for good, once its address was typed; and asks an old one again.

import { Refused } from "../core/errors.js";
import { elsewhere } from "./sign_elsewhere.js";
import { Declined, find, get, post, trying } from "./exchange.js";
import { canSign, readClosing, readOwn, signClosing } from "./signature.js";

const TOO_FEW = 409;

/** @import { Signed } from "./types.js" */

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

  /** The definition that is closed: that of the survey on this page. Throws Refused. */
  async function definition() {
    const answer = await get(`/api/surveys/${name}`);
    if (answer.status !== 200) throw new Declined(answer);
    // The person who closes has seen a name and a title: only that survey is signed.
    const its = answer.value;
    if (its?.name !== name || its?.title !== title) {
      throw new Refused(`The server sent another survey, ${its?.name}, “${its?.title}”. Nothing was signed.`);
    }
    return its;
  }

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

const form = /** @type {HTMLElement | null} */ (document.querySelector("#closing"));
if (form) await closing(form);
