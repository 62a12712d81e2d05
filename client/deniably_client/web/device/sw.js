// The service worker: serves the stored form when there is no network. It only reads; the page itself
// stores and forgets (offline.js, exit.js).

import { kept } from "./kept_pages.js";

/** @import { Fetching, Worker } from "./types.js" */

const worker = /** @type {Worker} */ (/** @type {unknown} */ (globalThis));
/** Milliseconds to wait for the network where a page is stored. */
const PATIENCE = 3000;

// At once, and for the pages that are open: the page waits for the worker before it says that it
// is kept.
worker.addEventListener("install", () => worker.skipWaiting());
worker.addEventListener("activate", (event) => event.waitUntil(worker.clients.claim()));
worker.addEventListener("fetch", (event) => {
  const { pathname } = new URL(event.request.url);
  if (event.request.mode === "navigate") event.respondWith(page(event, pathname));
  else if (pathname.startsWith("/register/")) event.respondWith(register(event.request));
  else if (pathname.startsWith("/web/")) event.respondWith(file(event.request));
});

/**
 * The page from the network, or the stored one if the network is down, silent or failing.
 * @param {Fetching} event
 * @param {string} path
 */
async function page({ request }, path) {
  const fresh = fetch(request);
  const silence = new Promise((resolve) => setTimeout(resolve, PATIENCE));
  const first = await Promise.race([fresh, silence]).catch(() => undefined);
  if (first instanceof Response && first.status < 500) return first;
  const old = await kept(path).catch(() => undefined);
  return old === undefined ? fresh : new Response(old.body, { headers: old.headers });
}

/**
 * A listing from the network, or status 204: the page then uses its verified copy.
 * @param {Request} request
 */
const register = (request) => fetch(request).catch(() => new Response(null, { status: 204 }));

/**
 * A file from the cache. Its content never changes, because its address names the build.
 * @param {Request} request
 */
const file = async (request) => (await caches.match(request)) ?? fetch(request);
