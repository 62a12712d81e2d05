// The page of a server's first start: exchanges the link's secret for two tokens, once.

import { PROBLEM, body } from "../core/body.js";

const ROLES = ["operator", "author"];
const LINK = "Open the whole link that the server printed at its first start, with all that is behind the #.";
const NETWORK = "The server does not answer. Nothing is lost: try again.";

const secret = location.hash.slice(1);
// Remove it from the address and the tab's history.
history.replaceState(null, "", location.pathname);

/**
 * @template {HTMLElement} E
 * @param {string} selector
 * @returns {E}
 */
const find = (selector) => {
  const element = /** @type {E | null} */ (document.querySelector(selector));
  if (!element) throw new Error(selector);
  return element;
};
/** @type {HTMLButtonElement} */
const show = find("#show");

/** @param {string} sentence shown in the place for errors; an empty text hides that */
function tell(sentence) {
  const why = find("#why");
  why.textContent = sentence;
  why.hidden = !sentence;
}

async function exchange() {
  tell("");
  show.disabled = true;
  try {
    const response = await fetch("/api/admin", {
      method: "POST",
      body: JSON.stringify({ secret }),
      headers: { "Content-Type": "application/json" },
      credentials: "omit",
      redirect: "error",
      cache: "no-store",
    });
    const answer = JSON.parse(await body(response, PROBLEM));
    if (response.ok) return reveal(answer);
    tell(String(answer.detail));
    find("#offer").hidden = response.status < 429; // another try would be refused too
  } catch {
    tell(NETWORK);
  }
  show.disabled = false;
}

/** @param {Record<string, { token: string, until: string }>} made the tokens, by role */
function reveal(made) {
  for (const role of ROLES) {
    find(`[data-token="${role}"]`).textContent = made[role]?.token ?? "";
    find(`[data-until="${role}"]`).textContent = made[role]?.until ?? "";
    const copy = find(`[data-copy="${role}"]`);
    copy.hidden = !navigator.clipboard; // browsers have it on https:// and localhost only
    copy.addEventListener("click", () => void put(role));
  }
  find("#offer").hidden = true;
  find("#tokens").hidden = false;
  find("#tokens h2").focus();
}

/** @param {string} role whose token goes to the clipboard */
async function put(role) {
  const status = find("#copied");
  try {
    await navigator.clipboard.writeText(find(`[data-token="${role}"]`).textContent ?? "");
    status.textContent = `The ${role}’s token is copied.`;
  } catch {
    status.textContent = "The browser does not allow copying; select the token and copy it yourself.";
  }
}

show.disabled = !secret;
if (!secret) tell(LINK);
show.addEventListener("click", () => void exchange());
