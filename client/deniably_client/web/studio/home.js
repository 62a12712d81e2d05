// The group's own page: begin a draft, bring a file, delete and bring back.

import { Declined, find, post, trying } from "./exchange.js";

/**
 * @param {string} address
 * @param {unknown} value
 */
async function act(address, value) {
  const answer = await post(address, value);
  if (answer.status >= 300) throw new Declined(answer);
  return answer;
}

/** @param {{ document: unknown } | { text: string }} written */
async function begin(written) {
  const answer = await act("/studio/drafts", written);
  location.assign(`/studio/d/${answer.value.id}`);
}

const empty = find("#empty");
empty.addEventListener("click", () =>
  trying(() => begin({ document: JSON.parse(empty.dataset.document ?? "{}") })),
);

const file = /** @type {HTMLInputElement} */ (find("#file"));
file.addEventListener("change", async () => {
  const chosen = file.files?.[0];
  if (chosen) await trying(async () => begin({ text: await chosen.text() }));
  file.value = ""; // the same file may be chosen again
});

for (const button of document.querySelectorAll("[data-delete], [data-bring]")) {
  const { delete: gone, bring } = /** @type {HTMLElement} */ (button).dataset;
  button.addEventListener("click", () =>
    trying(async () => {
      await act(`/studio/drafts/${gone ?? bring}/gone`, { gone: gone !== undefined });
      location.reload();
    }),
  );
}
