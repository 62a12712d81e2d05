// Stores a device's memory in a browser: encrypted in IndexedDB, with a key that scripts can use but not
// read (SPEC section 7). Unreadable memory is an error, never empty memory.

import { sha256 } from "../core/canonical.js";
import { Refused } from "../core/errors.js";
import { EMPTY, markSent, readMemory, written } from "./memory.js";

/** @import { Memory } from "./types.js" */

const DATABASE = "deniably-memory";
const STORE = "memory";
const CIPHER = "AES-GCM";
// Bound to the text by AES-GCM, so that nothing else under this key passes for a memory.
const PURPOSE = new TextEncoder().encode("deniably memory 1");

/** The stored memory was changed, or a part of it is lost. */
export class Damaged extends Refused {}

/**
 * An encrypted document and its key. The random `iv` also identifies this version of the document.
 * @typedef {{key: CryptoKey, iv: Uint8Array<ArrayBuffer>, sealed: ArrayBuffer}} Sealed
 */

/** The memory of a browser without databases; it ends with the page. @type {Memory | undefined} */
let transient;

/**
 * Whether this browser stores anything. Private windows may not, nor browsers that refuse site
 * data; the memory then ends with the page. Where site data are refused, Chromium fails with
 * UnknownError, as it does on a damaged disk, where the device must stop: what was spent is
 * unknown. Only the former also refuses localStorage, so that is looked at.
 * @type {() => Promise<boolean>}
 */
export async function keeps() {
  try {
    (await open(false))?.close();
  } catch (error) {
    const names = ["SecurityError", "InvalidStateError", "TypeError", "ReferenceError"];
    let { name } = /** @type {Error} */ (error);
    try {
      void localStorage;
    } catch {
      name = "SecurityError";
    }
    if (names.includes(name)) transient ??= EMPTY;
  }
  return transient === undefined;
}

/** @type {() => Promise<Memory>} the memory; throws Damaged */
export const read = async () => transient ?? unsealed(await load());

/** @type {(version: string) => Promise<string | undefined>} the ticket to send with a report, if any */
export const ticketOf = async (version) => (await read()).tickets?.[version]?.ticket;

/**
 * Applies `change` and returns the new memory once it is on the disk. If another tab wrote meanwhile,
 * `change` runs again on that tab's memory. If it throws, nothing changes.
 * @type {(change: (memory: Memory) => Memory | Promise<Memory>) => Promise<Memory>}
 */
export async function update(change) {
  if (transient) return (transient = await change(transient));
  // Compare and swap: a transaction of IndexedDB ends while anything else is waited for, such as
  // the encryption. So none can be held open during the change.
  for (;;) {
    const stored = await load();
    const before = await unsealed(stored);
    const after = await change(before);
    if (after === before) return after;
    if (await swap(stored, await seal(after, stored?.key ?? (await newKey())))) return after;
  }
}

/**
 * Notes in the memory that a server has this report.
 * @type {(version: string, text: string) => Promise<void>}
 */
export async function recordSent(version, text) {
  // If storing fails, the same bytes are sent again and count once.
  await update((memory) => markSent(memory, version, text)).catch(() => {});
}

/**
 * Notes beside the document that a server refused this text. Only its survey's own page may send it
 * again. The note is a digest; the report's random id makes it meaningless to others.
 * @type {(text: string) => Promise<void>}
 */
export async function setAside(text) {
  const name = await refused(text);
  aside.add(name);
  await beside("readwrite", (store) => store.put(1, name)).catch(() => {});
}

/** @type {(text: string) => Promise<boolean>} whether a server refused this text before */
export async function wasRefused(text) {
  const name = await refused(text);
  return aside.has(name) || (await beside("readonly", (store) => store.count(name))) === 1;
}

/**
 * Does some work on what stands beside the document; undefined where nothing is stored.
 * @param {IDBTransactionMode} mode
 * @param {(store: IDBObjectStore) => IDBRequest} work
 */
async function beside(mode, work) {
  const database = transient ? undefined : await open(false);
  try {
    return database && (await done(work(database.transaction(STORE, mode).objectStore(STORE))));
  } finally {
    database?.close();
  }
}

/** The texts that this page set aside. @type {Set<string>} */
const aside = new Set();

const refused = async (/** @type {string} */ text) => `refused ${await sha256(text)}`;

/** Destroys the key and the memory, readable or not. */
export async function forget() {
  if (transient) transient = EMPTY;
  else await done(indexedDB.deleteDatabase(DATABASE));
}

// --- sealing ----------------------------------------------------------------------------------

const newKey = () =>
  crypto.subtle.generateKey({ name: CIPHER, length: 256 }, false, ["encrypt", "decrypt"]);

/** @type {(memory: Memory, key: CryptoKey) => Promise<Sealed>} */
async function seal(memory, key) {
  const iv = crypto.getRandomValues(new Uint8Array(12));
  const text = written(memory);
  readMemory(text); // what could not be read again is neither stored nor sent
  const how = { name: CIPHER, iv, additionalData: PURPOSE };
  const sealed = await crypto.subtle.encrypt(how, key, new TextEncoder().encode(text));
  return { key, iv, sealed };
}

/** @type {(stored: Sealed | undefined) => Promise<Memory>} */
async function unsealed(stored) {
  if (stored === undefined) return EMPTY;
  try {
    const how = { name: CIPHER, iv: stored.iv, additionalData: PURPOSE };
    const text = await crypto.subtle.decrypt(how, stored.key, stored.sealed);
    return readMemory(new TextDecoder("utf-8", { fatal: true }).decode(text));
  } catch {
    throw new Damaged("what this device remembers was changed, or its key was");
  }
}

// --- the database -----------------------------------------------------------------------------

/** @type {() => Promise<Sealed | undefined>} throws Damaged where a part is missing */
async function load() {
  const database = await open(false);
  if (database === undefined) return undefined;
  try {
    const store = database.transaction(STORE).objectStore(STORE);
    const [key, document] = await Promise.all([done(store.get("key")), done(store.get("document"))]);
    if (key === undefined && document === undefined) return undefined;
    if (key === undefined || document === undefined) throw new Damaged("a part of it is missing");
    return { key, ...document };
  } finally {
    database.close(); // an open one could not be deleted
  }
}

/**
 * Replaces the document that was loaded; false where another tab has replaced it meanwhile.
 * @type {(before: Sealed | undefined, after: Sealed) => Promise<boolean>}
 */
async function swap(before, { key, iv, sealed }) {
  const database = /** @type {IDBDatabase} */ (await open(true));
  try {
    // "strict": on the disk before anything is sent.
    const change = database.transaction(STORE, "readwrite", { durability: "strict" });
    const store = change.objectStore(STORE);
    // Within one transaction, which excludes all others that write. Every writing draws a new iv.
    const now = await done(store.get("document"));
    if (String(now?.iv) !== String(before?.iv)) return false;
    store.put(key, "key");
    store.put({ iv, sealed }, "document");
    await new Promise((resolve, reject) => {
      change.oncomplete = resolve;
      change.onabort = () => reject(change.error);
    });
    return true;
  } finally {
    database.close();
  }
}

/**
 * Opens the database. Where there is none, it is created only if `wanted`.
 * @param {boolean} wanted
 * @returns {Promise<IDBDatabase | undefined>}
 */
async function open(wanted) {
  const request = indexedDB.open(DATABASE, 1);
  let none = false;
  request.onupgradeneeded = () => {
    none = !wanted;
    if (wanted) request.result.createObjectStore(STORE);
    else request.transaction?.abort(); // else an empty database would stay
  };
  try {
    return await done(request);
  } catch (error) {
    if (none) return undefined;
    throw error;
  }
}

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
