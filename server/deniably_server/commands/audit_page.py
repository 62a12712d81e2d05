"""The JavaScript and the files with which an audit looks into a browser: what random bytes a page
gets, what the browser says of itself, and what the form leaves behind."""

TAP = """(() => {
  const blocks = [];
  const real = crypto.getRandomValues.bind(crypto);
  const tapped = { getRandomValues(array) {
    real(array);
    const { buffer, byteOffset, byteLength } = array;
    const hex = [...new Uint8Array(buffer, byteOffset, byteLength)]
      .map((byte) => byte.toString(16).padStart(2, "0"));
    blocks.push(hex.join(""));
    return array;
  } };
  Crypto.prototype.getRandomValues = tapped.getRandomValues;
  globalThis[Symbol.for("deniably audit")] = () => blocks;
})()"""
"""JavaScript that records each block of random bytes that a page gets, in order."""

PLAIN = "Object.defineProperty(Navigator.prototype, 'webdriver', { get: () => false })"
"""JavaScript after which a page cannot tell the driven browser from a person's."""

BLOCKS = "() => globalThis[Symbol.for('deniably audit')]()"
"""JavaScript that returns the recorded blocks, in hexadecimal."""

BASELINE = {
    "/audit": (
        "text/html",
        '<!doctype html><link rel="icon" href="/audit.svg" type="image/svg+xml">'
        '<link rel="stylesheet" href="/audit.css"><script type="module" src="/audit.js"></script>',
    ),
    "/audit.svg": ("image/svg+xml", '<svg xmlns="http://www.w3.org/2000/svg"/>'),
    "/audit.css": ("text/css", ""),
    "/audit.js": (
        "text/javascript",
        """import "/audit-imported.js";
await import("/audit-later.js");
const alike = { credentials: "omit", referrerPolicy: "no-referrer", cache: "no-store" };
for (const way of [{}, { cache: "no-store" }, { cache: "no-cache" }, { cache: "reload" }, alike]) {
  await fetch("/audit-fetched", way);
}
const sent = { method: "POST", headers: { "Content-Type": "application/json" }, body: "{}" };
await fetch("/audit-sent", { ...sent, ...alike, redirect: "error" });
const mixer = location.hash.slice(1);
if (mixer) {
  await fetch(`${mixer}/audit-stated`, { ...alike, redirect: "error" });
  const headers = { "Content-Type": "application/octet-stream" };
  const sealed = { method: "POST", headers, body: new Uint8Array(1), redirect: "error" };
  await fetch(`${mixer}/audit-sealed`, { ...sealed, ...alike });
}
const worker = await navigator.serviceWorker?.register("/audit-worker.js");
await worker?.unregister();
document.title = "done";""",
    ),
    "/audit-imported.js": ("text/javascript", ""),
    "/audit-later.js": ("text/javascript", ""),
    "/audit-worker.js": ("text/javascript", ""),
    "/audit-fetched": ("text/plain", "yes"),
    "/audit-sent": ("text/plain", "yes"),
}
"""The files of a page that is of no survey, by path: (media type, text). From it the audit learns
what a browser says of itself when it asks for files as the form does, and asks a mixer whose origin
is behind the #."""

KEPT = """async () => {
  const done = (request) => new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
  const text = (bytes) => new TextDecoder().decode(bytes);
  const purpose = new TextEncoder().encode("deniably memory 1");
  const opened = async ({ iv, sealed }, keys) => {
    for (const key of keys) {
      for (const more of [{}, { additionalData: purpose }]) {
        try {
          return text(await crypto.subtle.decrypt({ name: "AES-GCM", iv, ...more }, key, sealed));
        } catch { /* another key */ }
      }
    }
    return "sealed";
  };
  const found = { databases: {}, caches: [], local: { ...localStorage },
    session: { ...sessionStorage }, cookie: document.cookie, name: window.name,
    state: history.state, search: location.search, hash: location.hash };
  for (const { name } of await indexedDB.databases()) {
    const database = await done(indexedDB.open(name));
    const stores = {};
    const keys = [];
    for (const store of database.objectStoreNames) {
      const all = () => database.transaction(store).objectStore(store);
      stores[store] = [await done(all().getAllKeys()), await done(all().getAll())];
      keys.push(...stores[store][1].flatMap((one) => one instanceof CryptoKey ? [one]
        : Object.values(one ?? {}).filter((part) => part instanceof CryptoKey)));
    }
    database.close();
    const aes = keys.filter(({ algorithm }) => algorithm.name === "AES-GCM");
    found.databases[name] = {};
    for (const [store, [names, values]] of Object.entries(stores)) {
      found.databases[name][store] = await Promise.all(values.map(async (value, at) => [
        typeof names[at] === "string" ? names[at] : "bytes",
        value?.sealed ? await opened(value, aes) : value instanceof CryptoKey
          || Object.values(value ?? {}).some((part) => part instanceof CryptoKey) ? "key"
          : JSON.stringify(value),
      ]));
    }
  }
  for (const name of await caches.keys()) {
    const cache = await caches.open(name);
    for (const { url } of await cache.keys()) found.caches.push(url.replace(location.origin, ""));
  }
  return found;
}"""
"""JavaScript that returns all that a page keeps in databases, caches and storage, decrypted with
the keys that are kept beside it."""
