"""An author at a page of the studio, in a real browser."""

from __future__ import annotations

import re
from collections.abc import Callable

from playwright.sync_api import BrowserContext, Page, Request

from support import studio_pages
from support.material import Server
from support.studio_pages import SAVED

VIOLATIONS = """addEventListener("securitypolicyviolation", (event) =>
  console.error("policy:", event.effectiveDirective, event.blockedURI, event.sample))"""
WITHOUT_ED25519 = """for (const name of ["generateKey", "importKey", "sign", "verify"]) {
  const own = SubtleCrypto.prototype[name];
  SubtleCrypto.prototype[name] = function (...given) {
    const its = given.some((one) => one === "Ed25519" || one?.name === "Ed25519");
    if (its) return Promise.reject(new DOMException("Unrecognized name", "NotSupportedError"));
    return own.apply(this, given);
  };
}"""
"""A browser from before Chrome 137, Safari 17 and Firefox 129."""


class Studio:
    """A page of an author, who presses and types, and everything that it sends.

    ``errors`` are those of its scripts, and what its policy stopped.
    """

    def __init__(self, context: BrowserContext, server: Server) -> None:
        self.page, self.server = context.new_page(), server
        self.page.set_default_timeout(30_000)
        self.page.add_init_script(VIOLATIONS)
        self.errors: list[str] = []
        self.sent: list[str] = []
        self.requests: list[Request] = []
        self.clicks = self.typed = 0
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("console", lambda message: self._note(message.text))
        self.page.on("request", self._request)

    def _note(self, text: str) -> None:
        if text.startswith("policy:"):
            self.errors.append(text)

    def _request(self, request: Request) -> None:
        self.requests.append(request)
        self.sent.append(f"{request.url} {request.post_data or ''}")

    def press(self, what: str) -> None:
        self.clicks += 1
        self.page.click(what)

    def write(self, field: str, text: str) -> None:
        self.typed += 1
        self.page.fill(field, text)
        self.page.keyboard.press("Tab")

    def saved(self) -> None:
        self.page.wait_for_selector(SAVED)

    def words(self) -> str:
        """What stands on the page outside folds for experts."""
        return self.page.inner_text("body")

    def why(self) -> str:
        """What the page says is wrong."""
        self.page.wait_for_selector("#why:not([hidden])")
        return self.page.inner_text("#why")

    def says(self, sentence: str) -> None:
        """Wait until the page says that this is wrong, in place of what it said before."""
        self.page.wait_for_function(
            "(sentence) => document.querySelector('#why')?.textContent.includes(sentence)",
            arg=sentence,
        )

    def found(self, name: str, contact: str) -> None:
        """Found a group at the server's very first start."""
        page = self.page
        page.goto(re.findall(r"http://\S+/studio/start#\S+", self.server.log)[0])
        self.write("#name", name)
        self.write("#contact", contact)
        page.wait_for_selector("#words li")
        page.click("#save")
        page.check("#kept")
        page.click("#start")
        page.wait_for_selector("#founded:not([hidden])")

    def begin(self, title: str, question: str) -> str:
        """Begin a survey with a yes/no question; returns the address of its draft."""
        page = self.page
        page.goto(f"{self.server.url}/studio/")
        page.click("#empty")
        page.wait_for_selector("#f-title")
        self.write("#f-title", title)
        page.click("#list li:nth-child(2) a")
        page.wait_for_selector("#f-label")
        self.write("#f-label", question)
        self.saved()
        return page.url.partition("?")[0]


def look_at(axe: Callable[[Page], list[str]], studio: Studio) -> None:
    """Looks at a state of a page, which no script and no policy complains of."""
    studio_pages.look_at(studio.page, axe)
    assert studio.errors == []
