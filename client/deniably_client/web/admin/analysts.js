// What is for analysts or authors alone: for their token the server gives the very page that others
// give to everybody, or the one that the form names. The token is in this module's memory and nowhere else, neither in an address
// nor in a cookie or a storage; whoever leaves the page, or loads it again, takes it along.

import { DEFINITION, PROBLEM, body } from "../core/body.js";

const NETWORK = "The server does not answer. Please try again.";
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

/** Of results that are shown already, such as where a link of theirs leads nowhere. */
function placeForWhy() {
  const why = Object.assign(document.createElement("p"), { id: "why", className: "error" });
  why.setAttribute("role", "alert");
  document.querySelector("main")?.prepend(why);
  return why;
}

/**
 * What is at an address of this server for whoever has the token; undefined, and told why, where
 * there is nothing.
 * @param {string} address
 */
async function ask(address) {
  tell("");
  try {
    const response = await fetch(address, {
      headers: { Authorization: `Bearer ${token}` },
      credentials: "omit",
      redirect: "error",
      cache: "no-store",
    });
    if (response.ok) return await body(response, DEFINITION);
    tell(String(JSON.parse(await body(response, PROBLEM)).detail));
  } catch {
    tell(NETWORK);
  }
  return undefined;
}

/**
 * Puts a page of results into the place of this one; whether there is one.
 * @param {string} address
 */
async function show(address) {
  const text = await ask(address);
  if (text === undefined) return false;
  // Scripts in it never run, and it came from where this page did.
  const page = new DOMParser().parseFromString(text, "text/html");
  const main = page.querySelector("main");
  if (main === null) return false;
  document.title = page.title;
  document.querySelector("main")?.replaceWith(document.adoptNode(main));
  const heading = main.querySelector("h1");
  heading?.setAttribute("tabindex", "-1");
  heading?.focus();
  scrollTo(0, 0);
  return true;
}

/** @param {HTMLAnchorElement} link */
async function save({ href, pathname }) {
  const text = await ask(href);
  if (text === undefined) return;
  const [name = "", last = ""] = pathname.split("/").slice(-2);
  const file = document.createElement("a");
  file.href = URL.createObjectURL(new Blob([text]));
  file.download = `${name}-${last}${last.includes(".") ? "" : ".json"}`;
  file.click();
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

// Links of the results need the token, too; all others are followed without it.
document.addEventListener("click", async (event) => {
  const link = event.target instanceof Element && event.target.closest("main a[href]");
  if (token === "" || !(link instanceof HTMLAnchorElement) || link.origin !== location.origin) return;
  if (event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  const [, first] = link.pathname.split("/");
  if (first !== "surveys" && first !== "api") return;
  event.preventDefault();
  if (first === "api") return save(link);
  if (await show(link.href)) history.pushState(null, "", link.href);
});

addEventListener("popstate", () => void (token && show(location.href)));
addEventListener("pagehide", () => {
  token = field.value = "";
});
addEventListener("pageshow", ({ persisted }) => {
  if (persisted) location.reload(); // the results of who had the token are not left standing
});
button.disabled = false;
