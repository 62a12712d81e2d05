// Makes the link by which a phone without a session tries the draft out. It is shown once.

import { Declined, explain, find, parsed, post, tell } from "./exchange.js";
import { preview } from "./preview.js";

preview(find("iframe"));

const make = /** @type {HTMLButtonElement} */ (find("#make"));

make.addEventListener("click", async () => {
  make.disabled = true;
  tell("");
  try {
    const answer = await post(find("#own").dataset.address ?? "", {});
    if (answer.status !== 201) throw new Declined(answer);
    show(answer.value);
  } catch (error) {
    explain(error);
  } finally {
    make.disabled = false;
  }
});

/** @param {{ address: string, until: string, code: string }} link */
function show({ address, until, code }) {
  const place = /** @type {HTMLAnchorElement} */ (find("#address"));
  place.href = place.textContent = address;
  find("#until").textContent = until;
  find("#code").replaceChildren(...parsed(code).childNodes);
  find("#link").hidden = false;
  document.querySelector("#before")?.remove();
  make.textContent = "Make a new link";
}
