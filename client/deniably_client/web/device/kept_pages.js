// Stores a survey's page encrypted, so that the form works without a network.
//
// A page reveals what a survey asks. So it is encrypted (AES-GCM) and stored under a keyed hash (HMAC)
// of its address, with keys that scripts cannot export. Code and style are the same for every survey
// and stored as they are. No answer is ever stored here.

/** @import { Keys, Page } from "./types.js" */

const DATABASE = "deniably-offline";
const CODE = "deniably-code-";
const CIPHER = "AES-GCM";
/** The open page was forgotten: later attempts to store it do nothing. */
let forgotten = false;

/** @type {(path: string) => string} the key of the listing beside a page */
export const listingOf = (path) => `${path} listing`;

/** @type {(path: string) => string} the key of an untraded invitation */
export const invitationTo = (path) => `${path} invitation`;

/** @type {(path: string, page: Page) => Promise<void>} stores a page under a path */
export const keep = (path, page) =>
  opened(async (database) => {
    const { name, cipher } = await known(database, path);
    const iv = crypto.getRandomValues(new Uint8Array(12));
    const bytes = new TextEncoder().encode(JSON.stringify(page));
    const sealed = await crypto.subtle.encrypt({ name: CIPHER, iv }, cipher, bytes);
    // Looked at after the waiting: the page may have been forgotten meanwhile.
    if (!forgotten) await done(pages(database).put({ iv, sealed }, name));
  });

/** @type {(path: string) => Promise<Page | undefined>} the stored page of a path */
export const kept = (path) =>
  opened(async (database) => {
    const { name, cipher } = await known(database, path);
    const stored = await done(pages(database).get(name));
    if (stored === undefined) return undefined;
    const bytes = await crypto.subtle.decrypt({ name: CIPHER, iv: stored.iv }, cipher, stored.sealed);
    return JSON.parse(new TextDecoder().decode(bytes));
  });

/**
 * Deletes the page of a path and what is beside it. The last page takes the keys, the code and the
 * service worker along.
 * @type {(path: string) => Promise<void>}
 */
export async function forget(path) {
  forgotten = true;
  const left = await opened(async (database) => {
    for (const each of [path, listingOf(path), invitationTo(path)]) {
      const { name } = await known(database, each);
      await done(pages(database).delete(name));
    }
    return done(pages(database).count());
  });
  if (left === 0) await Promise.all([forgetAll(), forgetWorker()]);
}

/**
 * Caches the code of a build. Code of other builds is deleted, with the pages that need it.
 * @type {(build: string, files: readonly string[]) => Promise<void>}
 */
export async function keepCode(build, files) {
  if ((await codes()).some((name) => name !== CODE + build)) await forgetAll();
  const cache = await caches.open(CODE + build);
  const there = await Promise.all(files.map((file) => cache.match(file)));
  if (!forgotten) await cache.addAll(files.filter((_, i) => there[i] === undefined));
}

const codes = async () => (await caches.keys()).filter((name) => name.startsWith(CODE));

async function forgetAll() {
  await Promise.all((await codes()).map((name) => caches.delete(name)));
  await done(indexedDB.deleteDatabase(DATABASE));
}

async function forgetWorker() {
  const registration = await navigator.serviceWorker?.getRegistration();
  await registration?.unregister();
}

// --- the database ---------------------------------------------------------------------------

/**
 * @template T
 * @param {(database: IDBDatabase) => Promise<T>} work
 * @returns {Promise<T>}
 */
async function opened(work) {
  const request = indexedDB.open(DATABASE, 1);
  request.onupgradeneeded = () => {
    request.result.createObjectStore("keys");
    request.result.createObjectStore("pages");
  };
  const database = await done(request);
  try {
    return await work(database);
  } finally {
    database.close(); // an open one could not be deleted
  }
}

/**
 * @param {IDBDatabase} database a new transaction each time, as one ends while anything else is
 * waited for.
 */
const pages = (database) => database.transaction("pages", "readwrite").objectStore("pages");

/**
 * The encryption key, and the name under which the page of a path is stored.
 * @param {IDBDatabase} database
 * @param {string} path
 */
async function known(database, path) {
  const { cipher, names } = await keys(database);
  const name = await crypto.subtle.sign("HMAC", names, new TextEncoder().encode(path));
  return { name, cipher };
}

/**
 * @param {IDBDatabase} database
 * @returns {Promise<Keys>}
 */
async function keys(database) {
  const store = () => database.transaction("keys", "readwrite").objectStore("keys");
  const stored = await done(store().get("keys"));
  if (stored) return stored;
  const made = {
    cipher: await secret({ name: CIPHER, length: 256 }, ["encrypt", "decrypt"]),
    names: await secret({ name: "HMAC", hash: "SHA-256" }, ["sign"]),
  };
  try {
    await done(store().add(made, "keys"));
    return made;
  } catch {
    return done(store().get("keys")); // another tab was faster: use its keys
  }
}

/** @type {(kind: HmacKeyGenParams | AesKeyGenParams, uses: KeyUsage[]) => Promise<CryptoKey>} */
const secret = async (kind, uses) =>
  /** @type {CryptoKey} */ (await crypto.subtle.generateKey(kind, false, uses));

/**
 * @template T
 * @param {IDBRequest<T>} request
 * @returns {Promise<T>}
 */
const done = (request) =>
  new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
