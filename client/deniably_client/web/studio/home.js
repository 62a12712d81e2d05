// The group's own page: begin a draft, bring a file, delete and bring back.

import { NETWORK, find, post, sentence, tell } from "./exchange.js";

/**
 * @param {string} address
 * @param {unknown} value
 */
async function act(address, value) {
  tell("");
  try {
    const answer = await post(address, value);
    if (answer.status < 300) return answer;
    tell(sentence(answer));
  } catch {
    tell(NETWORK);
  }
  return null;
}

/** @param {{ document: unknown } | { text: string }} written */
async function begin(written) {
  const answer = await act("/studio/drafts", written);
  if (answer) location.assign(`/studio/d/${answer.value.id}`);
}

const empty = find("#empty");
empty.addEventListener("click", () => void begin({ document: JSON.parse(empty.dataset.document ?? "{}") }));

const file = /** @type {HTMLInputElement} */ (find("#file"));
file.addEventListener("change", async () => {
  const chosen = file.files?.[0];
  if (chosen) await begin({ text: await chosen.text() });
  file.value = ""; // the same file may be chosen again
});

for (const button of document.querySelectorAll("[data-delete], [data-bring]")) {
  const { delete: gone, bring } = /** @type {HTMLElement} */ (button).dataset;
  button.addEventListener("click", async () => {
    const done = await act(`/studio/drafts/${gone ?? bring}/gone`, { gone: gone !== undefined });
    if (done) location.reload();
  });
}
