// Working without a network: what the page needs is kept, so that it can also be opened again.

import { keep, keepCode, kept } from "./vault.js";

const ENCODED = ["content-encoding", "content-length"];

/**
 * Keeps this page and its code, once everything that it needs is there. Says whether it could: some
 * browsers keep nothing, such as in private windows, and then the page works until it is closed.
 * @param {string} version of the survey; what is kept of this build, version and language stays
 * @returns {Promise<boolean>}
 */
export async function keepPage(version) {
  try {
    const code = new URL("..", import.meta.url);
    const { serviceWorker } = navigator;
    const worker = await serviceWorker.register(new URL("device/sw.js", code), { type: "module", scope: "/s/" });
    await keepCode(code.pathname, named().filter((name) => name.startsWith(code.href)));
    const page = await kept(location.pathname);
    const marks = [code.pathname, version, `<html lang="${document.documentElement.lang}"`];
    if (!marks.every((mark) => page?.body.includes(mark))) await fetchPage();
    await activated(worker.installing ?? worker.waiting ?? worker.active);
    return true;
  } catch {
    return false;
  }
}

/** The files that the page names: the same in every browser, whatever has arrived by now. */
const named = () =>
  [...document.querySelectorAll("link[href], script[src]")].map((element) =>
    element instanceof HTMLLinkElement ? element.href : /** @type {HTMLScriptElement} */ (element).src,
  );

/** @type {(again: () => void) => void} calls whenever the network may be back */
export function whenBack(again) {
  addEventListener("online", again);
  document.addEventListener("visibilitychange", () => {
    if (document.visibilityState === "visible") again();
  });
}

/**
 * @param {ServiceWorker | null} worker
 * @returns {Promise<void>} which fails where the browser gives the worker up
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

async function fetchPage() {
  const { pathname, search } = location;
  const response = await fetch(pathname + search, { credentials: "omit", cache: "no-store" });
  if (!response.ok) throw new Error("the page is not there");
  const headers = [...response.headers].filter(([name]) => !ENCODED.includes(name));
  await keep(pathname, { headers, body: await response.text() });
}
