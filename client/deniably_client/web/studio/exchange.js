// What the studio's pages send and fetch. The session's cookie goes along; nothing else tells who asks.

import { PROBLEM, body } from "../core/body.js";
import { Refused } from "../core/errors.js";

const LARGEST = 2 << 20;
const NETWORK = "The server does not answer. Nothing is lost: try again.";
const PLACE = "deniably-place";
const SIGNED_OUT = 401;
/** Pages for those who are not signed in. */
const OUTSIDE = ["/studio/in", "/studio/start"];

// The only place of the studio where HTML is made of a text: pieces of pages, which this server wrote.
// Without Trusted Types, the text is taken as it is.
const html = /** @type {{ createHTML: (text: string) => string }} */ (
  /** @type {any} */ (globalThis).trustedTypes?.createPolicy("studio", {
    createHTML: (/** @type {string} */ text) => text,
  }) ?? { createHTML: (text) => text }
);

/** An answer: its status, and its value where it is JSON. */
/** @typedef {{ status: number, value: any }} Answer */

/**
 * Posts a value as JSON. Throws TypeError where the network fails.
 * @param {string} address
 * @param {unknown} value
 * @returns {Promise<Answer>}
 */
export async function post(address, value) {
  const response = await fetch(address, {
    method: "POST",
    body: typeof value === "string" ? value : JSON.stringify(value),
    headers: { "Content-Type": "application/json" },
    redirect: "error",
    cache: "no-store",
  });
  return answered(response);
}

/**
 * Fetches JSON. Throws TypeError where the network fails.
 * @param {string} address
 */
export const get = async (address) =>
  answered(await fetch(address, { redirect: "error", cache: "no-store" }));

/**
 * @param {Response} response
 * @returns {Promise<Answer>}
 */
async function answered(response) {
  const text = await body(response, LARGEST);
  return { status: response.status, value: text ? JSON.parse(text) : null };
}

/**
 * Fetches a piece of a page. Throws Declined where the author was signed out, and TypeError where the network
 * fails or the answer is no success.
 * @param {string} address
 */
export async function fragment(address) {
  const headers = { Accept: "application/problem+json, text/html;q=0.5" }; // of an error, its sentence alone
  const response = await fetch(address, { headers, redirect: "error", cache: "no-store" });
  const text = await body(response, response.ok ? LARGEST : PROBLEM);
  if (response.status === SIGNED_OUT) throw new Declined({ status: SIGNED_OUT, value: JSON.parse(text) });
  if (!response.ok) throw new TypeError(`status ${response.status}`);
  return parsed(text);
}

/** @param {string} text a piece of a page, which this server wrote */
export const parsed = (text) => new DOMParser().parseFromString(html.createHTML(text), "text/html").body;

/**
 * Returns what a page says about an answer that is no success.
 * @param {Answer} answer
 */
function sentence(answer) {
  const errors = answer.value?.errors; // of a definition
  if (errors?.length) return errors.map((/** @type {{ why: string }} */ each) => sentenceOf(each.why)).join(" ");
  return String(answer.value?.detail ?? NETWORK);
}

/** @type {(why: string) => string} a reason as a sentence of its own */
const sentenceOf = (why) => `${why.slice(0, 1).toUpperCase()}${why.slice(1)}${/[.!?]$/.test(why) ? "" : "."}`;

/**
 * Returns the first element that matches. Throws Error where the page has none.
 * @template {HTMLElement} E
 * @param {string} selector
 * @returns {E}
 */
export function find(selector) {
  const found = /** @type {E | null} */ (document.querySelector(selector));
  if (!found) throw new Error(selector);
  return found;
}

/**
 * Says something in the page's place for errors; nothing hides it.
 * @param {string} text
 */
export function tell(text) {
  const why = find("#why");
  why.textContent = text;
  why.hidden = text === "";
}

/** An answer that is no success, as a sentence. */
export class Declined extends Refused {
  /** @param {Answer} answer */
  constructor(answer) {
    super(sentence(answer));
    this.status = answer.status;
  }
}

/**
 * Does some work of a page, and says why it was refused. Returns whether it was done.
 * @param {() => Promise<void>} work
 */
export async function trying(work) {
  tell("");
  try {
    await work();
    return true;
  } catch (error) {
    explain(error);
    find("#why").scrollIntoView({ block: "nearest" });
    return false;
  }
}

/**
 * Says why something was refused. Whoever was signed out finds the way back to this page.
 * @param {unknown} error
 */
export function explain(error) {
  const signedOut = error instanceof Declined && error.status === SIGNED_OUT;
  if (signedOut && find("#why").querySelector("a")) return; // a link that is replaced under a press is not pressed
  tell(error instanceof Refused ? error.message : NETWORK);
  if (!signedOut || OUTSIDE.includes(location.pathname)) return;
  sessionStorage.setItem(PLACE, location.pathname + location.search);
  const link = Object.assign(document.createElement("a"), { href: "/studio/in", textContent: "Sign in" });
  find("#why").append(" ", link);
}

/**
 * Gives the author a text as a file.
 * @param {string} file
 * @param {string} text
 * @param {string} [type]
 */
export function save(file, text, type = "application/json") {
  const address = URL.createObjectURL(new Blob([text], { type }));
  Object.assign(document.createElement("a"), { href: address, download: file }).click();
  // Not at once: some browsers begin the download a moment after the click.
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}

/** Asks the server for a nonce to sign, the word. Throws Refused where the server gives none. */
export async function word() {
  const answer = await post("/studio/word", {});
  if (answer.status !== 200) throw new Declined(answer);
  return String(answer.value.word);
}

/**
 * Where whoever signs in goes on: where this tab was signed out, at the page that led here, or at the surveys.
 * Nobody who makes a link to the sign-in can lead out of the studio by it.
 */
export function returnPlace() {
  const place = sessionStorage.getItem(PLACE) ?? location.hash.slice(1);
  sessionStorage.removeItem(PLACE);
  return place.startsWith("/studio/") ? place : "/studio/";
}

/** Returns a random name, such as that of an edit: sent twice under one name, it counts once. */
export const name = () =>
  Array.from(crypto.getRandomValues(new Uint8Array(12)), (byte) => byte.toString(16).padStart(2, "0")).join("");

document.querySelector("#out")?.addEventListener("click", () => {
  void post("/studio/out", {}).then(() => location.assign("/studio/in"));
});
