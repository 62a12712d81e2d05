// What the studio's pages send and fetch. The session's cookie goes along; nothing else tells who asks.

import { PROBLEM, body } from "../core/body.js";

const LARGEST = 2 << 20;
export const NETWORK = "The server does not answer. Nothing is lost: try again.";
const SIGNED_OUT = "You were signed out. Nothing is lost: sign in, and you are back here.";

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
  const text = await body(response, LARGEST);
  return { status: response.status, value: text ? JSON.parse(text) : null };
}

/**
 * Fetches a piece of a page. Throws TypeError where the network fails or the answer is no success.
 * @param {string} address
 */
export async function fragment(address) {
  const response = await fetch(address, { redirect: "error", cache: "no-store" });
  const text = await body(response, response.ok ? LARGEST : PROBLEM);
  if (!response.ok) throw new TypeError(`status ${response.status}`);
  return new DOMParser().parseFromString(html.createHTML(text), "text/html").body;
}

/**
 * What a page says about an answer that is no success.
 * @param {Answer} answer
 */
export function sentence(answer) {
  if (answer.status === 401) return SIGNED_OUT;
  const problems = answer.value?.problems;
  if (problems?.length) return problems.map((/** @type {{ why: string }} */ each) => each.why).join(" ");
  return String(answer.value?.detail ?? NETWORK);
}

/**
 * The element of a page, which is there.
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

/** A random name, such as for an edit that may be sent twice and counts once. */
export const name = () =>
  Array.from(crypto.getRandomValues(new Uint8Array(12)), (byte) => byte.toString(16).padStart(2, "0")).join("");

document.querySelector("#out")?.addEventListener("click", () => {
  void post("/studio/out", {}).then(() => location.assign("/studio/in"));
});
