// Closes a survey, for good, once its address was typed.

import { NETWORK, find, post, sentence, tell } from "./exchange.js";

const TOO_FEW = 409;

const form = document.querySelector("#closing");
form?.addEventListener("submit", async (event) => {
  event.preventDefault();
  tell("");
  const { name = "" } = /** @type {HTMLElement} */ (form).dataset;
  const typed = /** @type {HTMLInputElement} */ (find("#typed")).value.trim();
  const anyway = /** @type {HTMLInputElement} */ (find("#anyway")).checked;
  try {
    const answer = await post(`/studio/s/${name}/closed`, { name: typed, anyway });
    if (answer.status === 200) return location.reload();
    tell(sentence(answer));
    if (answer.status === TOO_FEW) find("#few").hidden = false;
  } catch {
    tell(NETWORK);
  }
});
