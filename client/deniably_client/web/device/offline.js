// Keeps the page and its code, so that the form opens and works without a network.

import { keep, keepCode, kept } from "./kept_pages.js";

// Headers that are wrong for the stored text, which is not compressed.
const ENCODED = ["content-encoding", "content-length"];

/**
 * Stores this page and its code; returns whether that worked. Some browsers store nothing, such as in
 * private windows; there the page works until it is closed.
 * @param {string} version of the survey; a stored page of this build, version and language is reused
 * @param {string} body the page's HTML, as it came
 * @returns {Promise<boolean>}
 */
export async function keepPage(version, body) {
  try {
    const code = new URL("..", import.meta.url);
    const { serviceWorker } = navigator;
    const worker = await serviceWorker.register(new URL("device/sw.js", code), { type: "module", scope: "/s/" });
    await keepCode(code.pathname, filesOfPage().filter((name) => name.startsWith(code.href)));
    const page = await kept(location.pathname);
    // What is kept is renewed with a new build, version or language; all three are in the page's
    // text.
    const marks = [code.pathname, version, `<html lang="${document.documentElement.lang}"`];
    if (!marks.every((mark) => page?.body.includes(mark))) await keepThis(body);
    // Only an active worker can serve the page: before that nothing may be promised.
    await activated(worker.installing ?? worker.waiting ?? worker.active);
    return true;
  } catch {
    return false;
  }
}

/** The files that the page's HTML names. The list is the same in every browser. */
const filesOfPage = () =>
  [...document.querySelectorAll("link[href], script[src]")].map((element) =>
    element instanceof HTMLLinkElement ? element.href : /** @type {HTMLScriptElement} */ (element).src,
  );

/** @type {(again: () => void) => void} calls `again` whenever the network may be back */
export function whenBack(again) {
  addEventListener("online", again);
  document.addEventListener("visibilitychange", () => {
    if (document.visibilityState === "visible") again();
  });
}

/**
 * @param {ServiceWorker | null} worker
 * @returns {Promise<void>} rejects where the browser drops the worker
 */
const activated = (worker) =>
  new Promise((resolve, reject) => {
    const look = () => {
      if (worker?.state === "activated") resolve();
      if (worker === null || worker.state === "redundant") reject(new Error("no worker"));
    };
    worker?.addEventListener("statechange", look);
    look();
  });

/**
 * Stores the page with its policies, which only the headers have.
 * @param {string} body
 */
async function keepThis(body) {
  const { pathname, search } = location;
  const response = await fetch(pathname + search, { method: "HEAD", credentials: "omit", cache: "no-store" });
  if (!response.ok) throw new Error("the page is not there");
  const headers = [...response.headers].filter(([name]) => !ENCODED.includes(name));
  await keep(pathname, { headers, body });
}
