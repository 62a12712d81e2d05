"""The shipped JavaScript in real Chromium: reports perturbed a second."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from statistics import median
from threading import Thread

import msgspec

from deniably.mechanisms.subset_selection import SubsetSelection

WEB = Path(__file__).parents[2] / "client" / "deniably_client" / "web"

_SCRIPT = """
async ([mechanism, n, rounds]) => {
  const { Coins } = await import("/core/coins.js");
  const { randomise } = await import("/mechanisms/mechanism.js");
  const durations = [];
  for (let round = 0; round <= rounds; round++) {
    const start = performance.now();
    for (let i = 0; i < n; i++) randomise(mechanism, i % mechanism.k, new Coins());
    durations.push(performance.now() - start);
  }
  return durations.slice(1);  // the first round warms up
}
"""

ARGUMENTS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking")
"""Nobody sees a picture, and nobody else is talked to: without them it starts in half the time."""


def chromium(quick: bool) -> str | None:
    """The respondents' browser; for a smoke run the same without its windows, where it is."""
    shell = shutil.which("chromium-headless-shell") if quick else None
    return shell or shutil.which("chromium")


class Missing(Exception):
    """Chromium or the module is not there."""


class _Files(SimpleHTTPRequestHandler):
    extensions_map = {**SimpleHTTPRequestHandler.extensions_map, ".js": "text/javascript"}  # noqa: RUF012

    def do_GET(self) -> None:
        if self.path == "/":  # an empty page to run in
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
        else:
            super().do_GET()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass


def rates(mechanisms: Mapping[int, SubsetSelection], quick: bool) -> dict[int, float]:
    """Reports a second for each mechanism, the median of some rounds. Raises Missing."""
    from playwright.sync_api import sync_playwright

    n, rounds = (100, 3) if quick else (20_000, 7)
    path = chromium(quick)
    if path is None:
        raise Missing("Chromium is not installed")
    if not (WEB / "mechanisms/mechanism.js").exists():
        raise Missing("mechanism.js is not there")
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Files, directory=str(WEB)))
    Thread(target=server.serve_forever, daemon=True).start()
    found = {}
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=path, args=list(ARGUMENTS))
            page = browser.new_page()
            page.goto(f"http://127.0.0.1:{server.server_port}/")
            for k, mechanism in mechanisms.items():
                parameters = msgspec.to_builtins(mechanism)
                durations = page.evaluate(_SCRIPT, [parameters, n, rounds])
                found[k] = n / (median(durations) / 1000)
            browser.close()
    finally:
        server.shutdown()
        server.server_close()
    return found
