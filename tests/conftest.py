"""What many tests share: a real Chromium, and the modules that respondents load, served."""

from __future__ import annotations

import atexit
import functools
import gc
import json
import os
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings
from playwright.sync_api import Browser, Page, sync_playwright

from support.same_bytes import same_bytes  # first: it replaces what modules import by its name

# isort: split
from support.compiled import compile_once
from support.databases import a_postgres
from support.intercepting_proxy import InterceptingProxy, intercepting_proxy
from support.kept import keep, make_room
from support.material import Server
from support.modules import Modules, the_modules

if TYPE_CHECKING:
    from support.blocks import Reader

# The same examples in every run: what passes here passes there. make soak looks for new ones, many.
settings.register_profile("suite", settings.get_profile("ci"), max_examples=25)
settings.register_profile("soak", max_examples=1000, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "suite"))

compile_once()

_MEMORY = Path("/dev/shm")
"""A disk without a disk: what a test syncs is synced, and nobody waits for it."""
_ENOUGH = 2 << 30
"""Bytes; a whole run keeps a tenth of that."""


def _may_hold_tests(folder: Path) -> bool:
    if not os.access(folder, os.W_OK):
        return False
    found = os.statvfs(folder)
    return not found.f_flag & os.ST_NOEXEC and found.f_bavail * found.f_frsize > _ENOUGH


if "TMPDIR" not in os.environ and _may_hold_tests(_MEMORY):
    tempfile.tempdir = str(_MEMORY)

make_room()
keep()

# No test touches what the developer's own device remembers.
os.environ["DENIABLY_HOME"] = tempfile.mkdtemp(prefix="deniably-test-")
atexit.register(shutil.rmtree, os.environ["DENIABLY_HOME"], ignore_errors=True)

TESTS = Path(__file__).resolve().parent
ROOT = TESTS.parent
WEB = ROOT / "client/deniably_client/web"
VECTORS = ROOT / "shared/vectors"

# Playwright's own list, which ours would replace, and one more: a page that lets nobody hold on to
# it gets a new process when it comes in place of an empty one, which is a tenth of a visit.
FEATURES = (
    "AvoidCorsURLLoaderRestartOnRedirect",
    "AvoidUnnecessaryBeforeUnloadCheckSync",
    "DestroyProfileOnBrowserClose",
    "HttpsFirstBalancedModeAutoEnable",
    "HttpsUpgrades",
    "MediaRouter",
    "NetworkTimeServiceQuerying",
    "OptimizationHints",
    "PaintHolding",
    "PreconnectToSearch",
    "ThirdPartyStoragePartitioning",
    "CrossOriginOpenerPolicy",
)

# The browser talks to the test's own server and to nobody else. Pages at work at once do not share
# a process: with one for all, a page now and then waited for another without end.
ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--num-raster-threads=1",
    f"--disable-features={','.join(FEATURES)}",
)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Iterator[None]:
    """What a module draws while it is imported."""
    with same_bytes(collector.nodeid):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef: Any, request: Any) -> Iterator[None]:
    """What several tests share is the same, whichever of them comes first."""
    if fixturedef.scope == "function":
        return (yield)
    asked = f"{fixturedef.baseid} {fixturedef.argname} {request.param_index}"
    with same_bytes(asked):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    with same_bytes(item.nodeid):
        return (yield)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files with long tests first, so that no worker waits for one at the end."""
    long = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in long)


Edits = dict[str, tuple[str, str]]
"""Module -> (text, its replacement): a fault planted in what is served."""


def module(name: str) -> Path:
    """The web module of this name, in whichever room it is."""
    (found,) = WEB.glob(f"*/{name}")
    return found


# What is collected stays until the end: to look through it again and again for garbage takes some
# seconds of each worker.
gc.disable()


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)
    gc.enable()


def pytest_sessionfinish() -> None:
    """What nobody closed is found in one look, instead of in the five that pytest takes later."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def nobodys_configuration(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A configuration folder of the tests' own, also for the processes that they start."""
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("configuration")
        patch.setenv("XDG_CONFIG_HOME", str(folder))
        patch.delenv("DENIABLY_KEY", raising=False)
        yield folder


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """The address of a real PostgreSQL, on which tests have databases of their own."""
    with a_postgres() as address:
        yield address


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """The Chromium of the system, or the one that DENIABLY_CHROMIUM names. Without the windows
    that nobody sees (Debian's chromium-headless-shell) each page costs a quarter."""
    path = (
        os.environ.get("DENIABLY_CHROMIUM")
        or shutil.which("chromium-headless-shell")
        or shutil.which("chromium")
    )
    if path is None:
        pytest.fail(
            "The browser tests need Chromium. As root: apt-get install chromium. "
            "Or name one: DENIABLY_CHROMIUM=/path/to/chromium.",
            pytrace=False,
        )
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(ARGUMENTS))
        yield browser
        browser.close()


@pytest.fixture
def page(chromium: Browser) -> Iterator[Page]:
    """A page of a fresh profile. An error that no script caught fails the test."""
    context = chromium.new_context()
    page = context.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    yield page
    context.close()
    assert errors == []


@pytest.fixture(scope="session")
def serve_web() -> Callable[[Edits], Any]:
    """A context manager that serves the web modules, perhaps with a planted fault."""
    return _served


@pytest.fixture(scope="session")
def web_url() -> Iterator[str]:
    """The address of the modules as they are shipped; the root is an empty page."""
    with _served({}) as url:
        yield url


@pytest.fixture(scope="session")
def modules(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Modules]:
    """The modules as Node runs them: much sooner than a page."""
    with the_modules(tmp_path_factory.mktemp("modules")) as modules:
        yield modules


CONSUME = """async (text) =>
  (await import('/test/vectors/consume.js')).consume(JSON.parse(text))"""


@pytest.fixture(scope="session")
def failing_vectors(chromium: Browser) -> Iterator[Callable[[str, str], list[str]]]:
    """(address, vector file) -> what fails in the modules there, each with its case's id.

    Asserts that as many cases ran as the file says it has.
    """
    page = chromium.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))

    def run(url: str, name: str) -> list[str]:
        text = (VECTORS / f"{name}.json").read_text(encoding="utf-8")
        page.goto(url)
        ran, failures = page.evaluate(CONSUME, text)
        assert ran == json.loads(text)["numberOfTests"] > 0
        assert errors == []
        return list(failures)

    yield run
    page.close()


class _Web(SimpleHTTPRequestHandler):
    extensions_map = {".js": "text/javascript", ".css": "text/css", "": "application/octet-stream"}  # noqa: RUF012

    def __init__(self, *arguments: Any, edits: Edits, **options: Any) -> None:
        self.edits = edits
        super().__init__(*arguments, directory=str(WEB), **options)

    def do_GET(self) -> None:
        name = self.path.lstrip("/")
        if name == "":
            return self._send(b"<!doctype html><title>empty</title>", "text/html; charset=utf-8")
        if name == "favicon.ico":
            return self._send(b"", "image/x-icon")
        if name.startswith("test/"):  # a test's own module
            return self._send((TESTS / name[5:]).read_bytes(), "text/javascript")
        if (last := name.rpartition("/")[2]) in self.edits:
            text = module(last).read_text(encoding="utf-8")
            return self._send(text.replace(*self.edits[last]).encode(), "text/javascript")
        return super().do_GET()

    def _send(self, body: bytes, kind: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: Any) -> None:  # noqa: A002
        pass


@contextmanager
def _served(edits: Edits) -> Iterator[str]:
    for name, (old, _) in edits.items():
        text = module(name).read_text(encoding="utf-8")
        assert text.count(old) == 1, f"{old!r} is not exactly once in {name}"
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Web, edits=edits))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def proxy(server: Server) -> Iterator[InterceptingProxy]:
    """A proxy in front of the module's server that can change what it says."""
    with intercepting_proxy(server.url) as proxy:
        yield proxy


@pytest.fixture
def reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Reader]:
    """Somebody who follows a page of Markdown in a new folder."""
    from support.blocks import Reader

    for name in ("DATABASE", "MIXER_DATABASE", "HOME", "SERVER", "TOKEN", "KEY"):
        monkeypatch.setenv(f"DENIABLY_{name}", "")  # so that all of them are put back
        monkeypatch.delenv(f"DENIABLY_{name}")
    monkeypatch.setenv("XDG_CONFIG_HOME", "")
    reader = Reader(tmp_path / "reader")
    yield reader
    reader.close()
