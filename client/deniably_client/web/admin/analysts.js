// Shows pages that need the token of an analyst or author. The token is only in this module's memory:
// not in an address, a cookie or browser storage. Leaving or reloading the page deletes it.

import { DEFINITION, PROBLEM, body } from "../core/body.js";

const NETWORK = "The server does not answer. Please try again.";
// An id of 6 bytes and a secret of 32, which has 43 characters in base64.
const SHAPE = /^deniably_[0-9a-f]{12}_[\w-]{43}$/;
const NONE = "This is no token: one begins with deniably_ and has 65 letters, digits and signs.";

const form = /** @type {HTMLFormElement} */ (document.getElementById("analyst"));
const field = /** @type {HTMLInputElement} */ (document.getElementById("token"));
const button = /** @type {HTMLButtonElement} */ (form.querySelector("button"));
let token = "";

/** @param {string} sentence */
function tell(sentence) {
  const why = document.getElementById("why") ?? placeForWhy();
  why.textContent = sentence;
  why.hidden = sentence === "";
}

/** A place for errors on a page of results, such as for a dead link. */
function placeForWhy() {
  const why = Object.assign(document.createElement("p"), { id: "why", className: "error" });
  why.setAttribute("role", "alert");
  document.querySelector("main")?.prepend(why);
  return why;
}

/**
 * Fetches an address of this server with the token. Undefined on failure, and the page says why.
 * A page that is no success says itself why, such as one to choose other questions.
 * @param {string} address
 */
async function ask(address, isPage = false) {
  tell("");
  try {
    const response = await fetch(address, {
      headers: { Authorization: `Bearer ${token}` },
      credentials: "omit",
      redirect: "error",
      cache: "no-store",
    });
    const says = isPage && response.headers.get("Content-Type")?.startsWith("text/html");
    if (response.ok || says) return await body(response, DEFINITION);
    tell(String(JSON.parse(await body(response, PROBLEM)).detail));
  } catch {
    tell(NETWORK);
  }
  return undefined;
}

/**
 * Replaces this page by a page of results; returns whether that worked.
 * @param {string} address
 */
async function show(address) {
  const text = await ask(address, true);
  if (text === undefined) return false;
  // It has this page's origin, and scripts in it never run.
  const page = new DOMParser().parseFromString(text, "text/html");
  const main = page.querySelector("main");
  if (main === null) {
    tell(NETWORK); // a proxy's page
    return false;
  }
  document.title = page.title;
  document.querySelector("main")?.replaceWith(document.adoptNode(main));
  const heading = main.querySelector("h1");
  heading?.setAttribute("tabindex", "-1");
  heading?.focus();
  scrollTo(0, 0);
  return true;
}

/** @param {string} address shown, and put into the tab's history */
async function follow(address) {
  if (await show(address)) history.pushState(null, "", address);
}

/** @param {HTMLAnchorElement} link whose target, fetched with the token, is saved as a file */
async function save({ href, pathname }) {
  const text = await ask(href);
  if (text === undefined) return;
  const [name = "", last = ""] = pathname.split("/").slice(-2);
  const file = document.createElement("a");
  file.href = URL.createObjectURL(new Blob([text]));
  file.download = `${name}-${last}${last.includes(".") ? "" : ".json"}`;
  file.click();
  // Not at once: some browsers begin the download a moment after the click.
  setTimeout(() => URL.revokeObjectURL(file.href), 60_000);
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  token = field.value.trim();
  button.disabled = true;
  if (!SHAPE.test(token)) tell(NONE);
  if (!SHAPE.test(token) || !(await show(form.dataset.page || location.href))) token = "";
  button.disabled = false;
  if (token === "") field.focus();
});

// Links to results need the token; the browser follows all others.
document.addEventListener("click", async (event) => {
  const link = event.target instanceof Element && event.target.closest("main a[href]");
  if (token === "" || !(link instanceof HTMLAnchorElement) || link.origin !== location.origin) return;
  // These open a link elsewhere, where there is no token.
  if (event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  const [, first] = link.pathname.split("/");
  if (first !== "surveys" && first !== "api") return;
  event.preventDefault();
  if (first === "api") return save(link);
  await follow(link.href);
});

// So do the forms that choose what to show.
document.addEventListener("submit", async (event) => {
  const choice = event.target;
  if (token === "" || !(choice instanceof HTMLFormElement && choice.matches(".choose"))) return;
  event.preventDefault();
  const query = [...new FormData(choice)].map(([key, value]) => [key, String(value)]);
  await follow(`${choice.action}?${new URLSearchParams(query)}`);
});

addEventListener("popstate", () => void (token && show(location.href)));
addEventListener("pagehide", () => {
  token = field.value = "";
});
addEventListener("pageshow", ({ persisted }) => {
  if (persisted) location.reload(); // do not show the results without the token
});
button.disabled = false;
