// Makes the link by which a phone without a session tries the draft out. It is shown once.

import { NETWORK, find, fragment, tell } from "./exchange.js";

const own = find("#own");
const make = /** @type {HTMLButtonElement} */ (find("#make"));

make.addEventListener("click", async () => {
  make.disabled = true;
  tell("");
  try {
    const piece = await fragment(own.dataset.address ?? "", "POST");
    find("#link").replaceChildren(...piece.childNodes);
    make.textContent = "Make a new link";
  } catch {
    tell(NETWORK);
  } finally {
    make.disabled = false;
  }
});
