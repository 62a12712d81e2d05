"""A phone with a real Chromium that is watched, and what its form remembers."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import BrowserContext, Error, Page, Request, Route, ViewportSize

from support.intercepting_proxy import InterceptingProxy
from support.material import Server

PHONE: ViewportSize = {"width": 390, "height": 780}

SURVEY = """
name: workplace
title: Honesty at work
intro: Ten quiet minutes.
contact: A. Researcher, University
results: {minimum: 1, while_open: true}
questions:
  - {name: stolen, type: yes_no, label: Have you ever stolen from work, coins: {truth: 0.5}}
  - name: often
    type: select_one
    label: How often
    hint: Think of the last year.
    epsilon: 0.5
    choices: [Zilch, Onceonly, Weeklyish, Dailyish, Hourlyish]
"""
ANSWERS = ("Yes", "Weeklyish")
MODULE = "document.querySelector('script[src$=\"page.js\"]').src.replace('page.js', '%s')"
# What the page remembers.
READ = f"async () => (await import({MODULE % '../device/storage.js'})).read()"

# The pauses between tries to send, from half a second to four, are over five times as fast, and not
# at once: a browser that says it is online may refuse a request yet. Other waits are not within:
# leaving has patience for 500 ms, and a register for 4,000.
IMPATIENT = """globalThis.patience = [];
const { setTimeout: patiently } = globalThis;
globalThis.setTimeout = (then, milliseconds) => {
  const between = milliseconds >= 500 && milliseconds < 4000;
  if (between) patience.push(milliseconds);
  return patiently(then, between && milliseconds > 500 ? milliseconds / 5 : milliseconds);
};"""
HURRY = """globalThis.pauses = [];
const { setTimeout: wait } = globalThis;
globalThis.setTimeout = (then, milliseconds) => {
  if (milliseconds < 5000 || milliseconds > 20_000) return wait(then, milliseconds);
  pauses.push(milliseconds);
  return wait(then, 0);
};"""
# Whatever is in databases and caches, as text: bytes as they are, in two widths.
KEPT = """async () => {
  const found = [];
  const read = (value) => {
    if (value instanceof ArrayBuffer) value = new Uint8Array(value);
    if (ArrayBuffer.isView(value)) {
      found.push(String.fromCharCode(...value), new TextDecoder("utf-16le").decode(value));
    } else if (value instanceof CryptoKey) found.push(`extractable: ${value.extractable}`);
    else if (typeof value === "object" && value) Object.entries(value).flat().forEach(read);
    else found.push(String(value));
  };
  const done = (request) => new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
  for (const { name } of await indexedDB.databases()) {
    const database = await done(indexedDB.open(name));
    for (const store of database.objectStoreNames) {
      const all = () => database.transaction(store).objectStore(store);
      found.push(name, store);
      read(await done(all().getAllKeys()));
      read(await done(all().getAll()));
    }
    database.close();
  }
  for (const name of await caches.keys()) {
    const cache = await caches.open(name);
    for (const request of await cache.keys()) {
      found.push(name, request.url, await (await cache.match(request)).text());
    }
  }
  return found;
}"""
# Spoils what is kept in one way.
SPOIL = """async (how) => {
  const done = (request) => new Promise((resolve) => {
    request.onsuccess = () => resolve(request.result);
  });
  const database = await done(indexedDB.open("deniably-memory"));
  const store = database.transaction("memory", "readwrite").objectStore("memory");
  const found = await done(store.get("document"));
  const bytes = new Uint8Array(found.sealed);
  if (how === "flipped") bytes[7] ^= 1;
  if (how === "shorter") found.sealed = found.sealed.slice(0, 40);
  if (how === "no document") await done(store.delete("document"));
  else await done(store.put(found, "document"));
  if (how === "no key") await done(store.delete("key"));
  database.close();
}"""

# Presses one thing after the other, each as soon as a thumb could: it is shown, works and lies
# under nothing else. A pointer that a browser moves there takes five times as long.
PRESS = """async (all) => {
  const plain = (text) => text.replace(/\\s+/g, " ").toLowerCase();
  const under = (one) => {
    one.scrollIntoView({ block: "center", behavior: "instant" });
    const { left, top, width, height } = one.getBoundingClientRect();
    return document.elementFromPoint(left + width / 2, top + height / 2);
  };
  const until = performance.now() + 20_000;
  for (const [which, text] of all) {
    const named = (one) => plain(one.textContent).includes(plain(text)) && one.checkVisibility();
    for (;;) {
      const one = [...document.querySelectorAll(which)].find(named);
      if (one && !one.disabled && one.contains(under(one))) {
        one.focus();
        one.click();
        break;
      }
      if (performance.now() > until) throw new Error(`nobody can press the ${which} “${text}”`);
      await new Promise(requestAnimationFrame);
    }
  }
}"""


# Waits until one of these is shown with this text, and gives the words of all that are. What
# Playwright's own selectors bring to each page is heavier than the form: a sixth of a visit.
SEEN = """([which, text]) => new Promise((resolve, reject) => {
  const plain = (words) => words.replace(/\\s+/g, " ").toLowerCase();
  const shown = (one) => one.checkVisibility({ visibilityProperty: true })
    && plain(one.textContent).includes(plain(text));
  const look = () => {
    const found = [...document.querySelectorAll(which)].filter(shown);
    if (!found.length) return;
    watch.disconnect();
    resolve(found.map((one) => one.innerText));
  };
  const watch = new MutationObserver(look);
  const all = { attributes: true, characterData: true, childList: true, subtree: true };
  watch.observe(document, all);
  AbortSignal.timeout(30_000).onabort = () => reject(new Error(`nobody sees ${which} “${text}”`));
  look();
})"""
WRITE = """([which, texts]) => {
  const all = [...document.querySelectorAll(which)].filter((one) => one.checkVisibility());
  if (all.length !== texts.length) throw new Error(`${all.length} of ${which} are shown`);
  all.forEach((one, at) => {
    one.focus();
    one.select();
    document.execCommand(texts[at] ? "insertText" : "delete", false, texts[at]);
    if (one.value !== texts[at]) throw new Error(`${which} does not take “${texts[at]}”`);
  });
}"""
# Of the rows of a table that differ in words and numbers alone, leaves the first two: axe takes
# over a second for ten thousand cells, and finds in those two what it would find in the others.
ALIKE = """() => {
  const is = (one) => [...one.attributes].map(({ name }) => name) + one.className;
  for (const rows of document.querySelectorAll("thead, tbody")) {
    const seen = new Map();
    for (const row of [...rows.children]) {
      const parts = [row, ...row.querySelectorAll("*")];
      const look = parts.map((one) => one.localName + is(one) + !one.textContent.trim()).join();
      seen.set(look, (seen.get(look) ?? 0) + 1);
      if (seen.get(look) > 2) row.remove();
    }
  }
}"""
SHOWN = """(which) => [...document.querySelectorAll(which)].filter((one) =>
  one.checkVisibility({ visibilityProperty: true })).length"""


_WATCHING: dict[BrowserContext, list[Watched]] = {}
"""Who watches the requests of a browser."""


def as_new(context: BrowserContext, origin: str) -> None:
    """Make a browser a stranger to this server again: nothing is open but its first page, nothing
    is on its way, nothing is remembered. What its HTTP cache has stays, as no page can tell."""
    context.unroute_all(behavior="ignoreErrors")
    first, *others = context.pages
    for page in others:
        page.close()
    for watched in _WATCHING.get(context, [])[:]:
        watched.unwatch()
    context.set_offline(False)
    line = context.new_cdp_session(first)
    line.send("Storage.clearDataForOrigin", {"origin": origin, "storageTypes": "all"})
    line.detach()


def new_tab(context: BrowserContext) -> Page:
    """A tab as new as any, in the process of the browser's first tab, which is empty: to start
    another process is a quarter of a visit."""
    with context.expect_page() as opened:
        context.pages[0].evaluate("() => { open('about:blank'); }")
    return opened.value


class Watched:
    """A page and every request, console line and error that it made."""

    def __init__(self, page: Page, server: Server | InterceptingProxy) -> None:
        self.page = page
        self.url = server.url
        self.requests: list[Request] = []
        self.console: list[str] = []
        page.context.on("request", self._note)
        _WATCHING.setdefault(page.context, []).append(self)
        page.on("console", lambda line: self.console.append(line.text))
        page.on("pageerror", lambda error: self.console.append(str(error)))

    def _note(self, request: Request) -> None:
        self.requests.append(request)

    def unwatch(self) -> None:
        """Note no further request."""
        self.page.context.remove_listener("request", self._note)
        _WATCHING[self.page.context].remove(self)

    def open(self, path: str = "/s/workplace") -> None:
        self.page.goto(self.url + path)
        if path.startswith("/s/"):
            # All that the page does of itself is done, also what comes after its first sight.
            ended = "#survey[data-kept], :is([data-step=refused], [data-step=author]):not([hidden])"
            self.see(ended)

    def tamper(self, old: str, new: str, name: str = "workplace") -> None:
        """From now on, somebody on the way changes the definition within the form's page."""

        def change(route: Route) -> None:
            answer = route.fetch()
            before, mark, after = answer.text().partition('id="definition">')
            definition, end, rest = after.partition("</script>")
            assert old in definition
            page = before + mark + definition.replace(old, new, 1) + end + rest
            route.fulfill(response=answer, body=page)

        self.page.context.route(f"**/s/{name}", change)

    def see(self, which: str, text: str = "") -> list[str]:
        """The words of each of these elements that is shown with this text, once there is one: on
        this page, or on another that comes in its place meanwhile."""
        while True:
            try:
                seen: list[str] = self.page.evaluate(SEEN, [which, text])
                return seen
            except Error as error:
                if "Execution context was destroyed" not in str(error):
                    raise

    def words(self, which: str) -> str:
        """Those of the one element that is shown of these, once it is."""
        (words,) = self.see(which)
        return words

    def text(self, which: str) -> str:
        """That of the first of these elements, whether it is shown or not."""
        return str(
            self.page.evaluate("(which) => document.querySelector(which).textContent", which)
        )

    def write(self, which: str, *texts: str) -> None:
        """Write these into all fields of these that are shown, in place of what is there."""
        self.see(which)
        self.page.evaluate(WRITE, [which, texts])

    def written(self, which: str) -> str:
        """What is in the first of these fields."""
        return str(self.page.evaluate("(which) => document.querySelector(which).value", which))

    def shown(self, which: str) -> int:
        """How many of these are shown now."""
        shown: int = self.page.evaluate(SHOWN, which)
        return shown

    def press(self, *all_of: tuple[str, str]) -> None:
        """Press the first of these elements that is shown with this text, one after the other."""
        self.page.evaluate(PRESS, all_of)

    def click(self, text: str) -> None:
        """Press a button."""
        self.press(("button", text))

    def choose(self, *labels: str) -> None:
        """Answer one question after the other."""
        self.press(
            *(each for label in labels for each in (("label", label), ("button", "Continue")))
        )

    def answer(self, *labels: str) -> None:
        """Answer, from the start to the page where answers are checked."""
        self.press(("button", "Start"))
        self.choose(*labels)

    def to_check_page(self) -> None:
        self.open()
        self.answer(*ANSWERS)

    def send(self) -> None:
        self.press(("#send", ""))

    def wait(self, step: str) -> None:
        self.see(f'[data-step="{step}"]')

    def leave(self) -> None:
        """Exit, until the other page is there in place of the copy that the form shows at once."""
        self.press(("#exit", ""))
        self.left()

    def left(self) -> None:
        self.see("html:not(:has(script)) h1", "Weights and measures")

    def heading(self) -> str:
        return self.words("h1")

    def posts(self) -> list[Request]:
        return [request for request in self.requests if request.method not in ("GET", "HEAD")]

    def checked(self) -> int:
        checked: int = self.page.evaluate("document.querySelectorAll('input:checked').length")
        return checked


def answer(phone: Watched, name: str = "workplace") -> None:
    phone.open(f"/s/{name}")
    phone.answer(*ANSWERS)
    phone.send()
    phone.wait("receipt")


def memory(phone: Watched) -> Any:
    return phone.page.evaluate(READ)
