"""Fills in the real form in Chromium for ``deniably audit --browser``, and compares what it sends
and what it leaves behind.

A server of its own, in this process, gives the pages that every server gives, and records each byte
of the requests for them. Made-up people fill the form in, half of them in a browser that says it is
driven. From the random bytes that the page got, the independent reference derives what the form
must send and keep. Headers have to be those that the same browser sends for a page that is of no
survey. A survey with a mixer gets one of the audit's own, which opens what the form seals.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fractions import Fraction
from http import HTTPStatus
from itertools import islice
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import click

from deniably.audit.replay.expected import Observed, Reference
from deniably.audit.replay.own_mixer import OwnMixer
from deniably.audit.replay.recording_server import Asked, Loopback, Reply
from deniably.audit.replay.replaying import study_of
from deniably.audit.replay.scenarios import Scenario, Schedule
from deniably.audit.verdict_levels import Judged, Rung, one_in
from deniably.reference.canonical import canonical, parse
from deniably.reference.device import EMPTY
from deniably.survey.strata import query_of
from deniably.survey.survey import as_survey
from deniably.trust.signing import new_key
from deniably_server.app import create_app
from deniably_server.commands.audit_page import BASELINE, BLOCKS, KEPT, PLAIN, TAP
from deniably_server.storage.store import Store

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

    from deniably.survey.survey import Survey

PEOPLE = 28
"""How many people fill in the form. A departure in half of the visits is missed once in 200 million
audits (1 in 2^28). One that depends on ``navigator.webdriver`` is seen, too: half of the visits
have it."""

_TYPES = ("yes_no", "select_one", "scale", "select_multiple", "number")
_LIMITS = {"survey": "5", "author": "10", "overall": "20"}
_NOT_COINS = (1, 12)
"""Bytes for the length of a pause and for the nonce of a cipher; coins take more at once."""
_PATIENCE = 15_000
_OURS = ("content-length", "transfer-encoding", "connection", "deniably-request")
"""Headers of the server's answers that are not passed on: the last is another for each request."""
_STARTED = "[data-step=start], [data-step=refused]"
_START = '[data-step=start] :is([data-go="1"], [form=invitation])'
_NEXT = "form[data-step=question], section[data-step=check]"


Change = Callable[[str, bytes], bytes]
"""Returns what is served at a path instead of these bytes."""


class _Fault(Exception):
    """The form does what the specification does not say; the message says what."""


class _NotReached(Exception):
    """The form did not come to its end."""


def judge_browser(
    survey: Survey,
    people: int = PEOPLE,
    change: Change | None = None,
    browser: Browser | None = None,
) -> Judged:
    """Returns the verdict on the form of a survey in a browser, as ``people`` made-up people fill
    it in.

    Tests use the other two arguments: ``change`` alters the files that are served, and ``browser``
    is a running browser; without it, Chromium is started. Raises ClickException where there is no
    browser.
    """
    missing = list(_not_driven(survey))
    if any(reason.startswith("not driven") for reason in missing):
        return _judged("in part", "the form was not filled in.", missing)
    with ExitStack() as stack:
        running = stack.enter_context(_chromium(browser))
        mixing = stack.enter_context(_Mixing(survey)) if survey.mixer else None
        site = stack.enter_context(_Site(mixing.survey if mixing else survey, change))
        visits = _Visits(site.survey, site, running, mixing)
        done = 0
        try:
            # The same people in every audit; their true answers are made up, and no secret.
            for scenario in islice(Schedule(visits.study, Random(1)).visits(), people):  # noqa: S311
                visits.visit(scenario, seen_as_driven=bool(done % 2))
                done += 1
        except _Fault as fault:
            return _judged("failed", f"{fault}", [])
        except _NotReached as error:
            missing.append(f"not reached in the browser: {error}")
        version = running.version.partition(".")[0]
    sentence = (
        f"the form in Chromium {version} for {done:,} people, with and without navigator.webdriver:"
        " whole requests, and what stays in databases, caches, storage and cookies."
    )
    if done:
        sentence += f" A departure in 1 of {one_in(done):,} of their visits would have been seen."
    return _judged("in part" if missing else "replayed", sentence, missing)


def _judged(rung: Rung, sentence: str, missing: Sequence[str]) -> Judged:
    shown = "FAILED" if rung == "failed" else rung
    more = [f"{reason[:1].upper()}{reason[1:]}." for reason in missing]
    return Judged("browser", {"browser": rung}, " ".join([f"{shown}: {sentence}", *more]), missing)


def _not_driven(survey: Survey) -> Iterator[str]:
    """What of the form this audit does not fill in, in words."""
    definition = json.loads(survey.canonical)
    types = dict.fromkeys(question["type"] for question in definition["questions"])
    if other := [kind for kind in types if kind not in _TYPES]:
        yield f"not driven in the browser: questions of the type {', '.join(other)}"
    if survey.invited:
        yield "not driven in the browser: the trade of an invitation"
    if survey.part and not survey.total.at_most_epsilon(Fraction(_LIMITS["survey"])):
        yield "not driven in the browser: a part of the questions, for want of budget"
    if survey.waves:
        yield "not reached in the browser: later waves"


# --- the browser ----------------------------------------------------------------------------------


def need_browser() -> None:
    """Raises ClickException where Playwright or Chromium is missing, before an audit begins."""
    with _chromium():
        pass


@contextmanager
def _chromium(running: Browser | None = None) -> Generator[Browser]:
    """The system's Chromium, or Playwright's. Raises ClickException where there is none."""
    if running:
        yield running
        return
    try:
        from playwright.sync_api import Error, sync_playwright
    except ImportError:
        raise click.ClickException(
            "--browser needs Playwright: pip install playwright, then playwright install chromium"
        ) from None
    arguments = ["--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"]
    executable = (
        os.environ.get("DENIABLY_CHROMIUM")
        or shutil.which("chromium-headless-shell")
        or shutil.which("chromium")
    )
    with sync_playwright() as playwright:
        try:
            browser = playwright.chromium.launch(executable_path=executable, args=arguments)
        except Error:
            raise click.ClickException(
                "--browser finds no Chromium: playwright install chromium, or name one with"
                " DENIABLY_CHROMIUM=/path/to/chromium"
            ) from None
        try:
            yield browser
        finally:
            browser.close()


_CROSS_ORIGIN = {
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Allow-Methods": "GET, POST",
    "Access-Control-Allow-Headers": "Content-Type",
}


class _Mixing:
    """A mixer of the audit's own in this process, as a context.

    ``survey`` is the survey with this mixer in the place of its own, and ``asked`` has the requests
    so far.
    """

    def __init__(self, survey: Survey) -> None:
        self._mixer = OwnMixer()
        self._loopback = Loopback(self._reply)
        self.url = self._loopback.url
        definition = json.loads(survey.canonical)
        self._by = definition["mixer"]["by"]
        self.definition = self._mixer.definition(definition, self.url)
        self.survey = as_survey(dict(self.definition))

    def __enter__(self) -> _Mixing:
        self._loopback.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._loopback.__exit__(*error)

    @property
    def asked(self) -> list[Asked]:
        """The requests so far."""
        return self._loopback.asked

    def left_open(self, document: str) -> str:
        """Returns a memory with what was sealed for this mixer opened."""
        return self._mixer.left_open(document, self.definition, self.survey.digest)

    def _reply(self, request: Asked) -> Reply:
        if request.method == "OPTIONS":
            return Reply(204, b"", _CROSS_ORIGIN)
        if request.method == "POST":
            return Reply(201, b'{"status":"stored"}', _CROSS_ORIGIN)
        return Reply(200, self._mixer.statement(self.survey.digest, self._by), _CROSS_ORIGIN)


class _Site:
    """The server of the form, in this process, as a context."""

    def __init__(self, survey: Survey, change: Change | None) -> None:
        self.survey, self._change = survey, change
        self.author = new_key()
        self.without: set[str] = set()
        """What was asked for and is no file."""

    def __enter__(self) -> _Site:
        self._folder = tempfile.TemporaryDirectory(prefix="deniably-audit-")
        database = str(Path(self._folder.name) / "deniably.db")
        self._store = Store(database)
        self._store.publish(self.survey, self.author.sign(self.survey.digest))
        app = create_app({"DATABASE": database}, store=self._store)
        self._client = app.test_client(use_cookies=False)
        listing: Any = self._client.get(f"/register/{self.survey.name}").get_json(force=True)
        self.head: dict[str, Any] = listing["head"]
        self._loopback = Loopback(self._reply)
        self._loopback.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._loopback.__exit__(None, None, None)
        self._store.close()
        self._folder.cleanup()

    @property
    def url(self) -> str:
        """The origin of the pages."""
        return self._loopback.url

    @property
    def asked(self) -> list[Asked]:
        """The requests so far."""
        return self._loopback.asked

    def _reply(self, request: Asked) -> Reply:
        path = request.target.partition("?")[0]
        if path in BASELINE:
            kind, text = BASELINE[path]
            return Reply(200, text.encode(), {"Content-Type": kind})
        # What is to be changed must not come compressed.
        sent = [h for h in request.headers if not (self._change and h[0] == "Accept-Encoding")]
        answer = self._client.open(
            request.target, method=request.method, headers=sent, data=request.body
        )
        if answer.status_code == HTTPStatus.NOT_FOUND:
            self.without.add(request.target)
        headers = {name: text for name, text in answer.headers.items() if name.lower() not in _OURS}
        body = answer.get_data()
        changed = self._change(path, body) if self._change else body
        return Reply(answer.status_code, changed, headers)


_READS = ("GET", "HEAD")


# --- visits ---------------------------------------------------------------------------------------


@dataclass
class _Visits:
    """The visits of one audit, and what the first of them left behind."""

    survey: Survey
    site: _Site
    browser: Browser
    mixing: _Mixing | None = None
    left: dict[str, Any] = field(default_factory=dict[str, Any])

    def __post_init__(self) -> None:
        definition = json.loads(self.survey.canonical)
        self.study = study_of(definition)
        self._reference = Reference(self.study)
        self._conditional = "ask" in definition or any(
            "show_if" in question for question in definition["questions"]
        )
        self._alike, self._post = self._baseline()
        asked = self.mixing.asked if self.mixing else []
        self._alike_at_mixer = {(each.method, *header) for each in asked for header in each.headers}

    def visit(self, scenario: Scenario, *, seen_as_driven: bool) -> None:
        """Fills the form in as a respondent would. Raises _Fault and _NotReached."""
        step = scenario["steps"][0]
        link = f"/s/{self.survey.name}{query_of(step['stratum'] or {})}"
        self.site.asked.clear()
        if self.mixing:
            self.mixing.asked.clear()
        with self._opened(() if seen_as_driven else (PLAIN,)) as context:
            # The browser itself says what a page asks for, also where no server would hear of it.
            elsewhere: list[str] = []
            context.on("request", lambda request: elsewhere.append(request.url))
            page = context.new_page()
            not_reached = self._fill_in(page, self.site.url + link, step["plain"])
            kept = page.evaluate(KEPT)
            blocks = [bytes.fromhex(block) for block in page.evaluate(BLOCKS)]
            cookies = context.cookies()
        own = [self.site.url + "/", "data:", "blob:"]
        if self.mixing:
            own.append(f"{self.mixing.url}/mix/{self.survey.digest}")
        if other := [url for url in elsewhere if not url.startswith(tuple(own))]:
            raise _Fault(f"it asks another server: {other[0][:200]}")
        if cookies:
            raise _Fault(f"it leaves a cookie: {json.dumps(cookies)[:200]}")
        if not_reached and self.survey.digest not in self._reports_of(kept):
            self._compare_requests(link, None)
            raise _NotReached(not_reached)
        text = self._memory_of(kept)
        self._compare_memory(scenario, step, text, blocks)
        report = parse(text)["reports"][self.survey.digest]
        self._compare_requests(link, report["sealed" if self.mixing else "text"])
        if not_reached:
            raise _NotReached(not_reached)
        self._compare_storage(link, kept)

    @contextmanager
    def _opened(self, scripts: Sequence[str]) -> Generator[BrowserContext]:
        context = self.browser.new_context()
        context.set_default_timeout(_PATIENCE)
        for script in (TAP, *scripts):
            context.add_init_script(script)
        try:
            yield context
        finally:
            context.close()

    def _fill_in(self, page: Page, link: str, plain: Mapping[str, Any]) -> str | None:
        """Fill the form in and send it; why it did not come to its receipt, if it did not."""
        from playwright.sync_api import TimeoutError as TooLong

        try:
            page.goto(link)
            page.locator(_STARTED).filter(visible=True).wait_for()
            if page.locator("[data-step=refused]").is_visible():
                return "the form refuses this survey before the first question"
            page.locator(_START).click()
            for _ in range(len(self.survey.questions) + 1):
                shown = page.locator(_NEXT).filter(visible=True)
                shown.wait_for()
                name = shown.get_attribute("data-question")
                if name is None:  # not a question, but the page that shows all answers
                    break
                self._answer(page, name, plain[name])
            page.locator("#send").click()
            page.locator("[data-step=receipt]").wait_for()
            page.locator("[data-settled]").wait_for(state="attached")
        except TooLong:
            return "the form did not come to its receipt"
        return None

    def _answer(self, page: Page, name: str, plain: Any) -> None:
        form = page.locator(f'form[data-question="{name}"]')
        types = {str(question["name"]): question["type"] for question in self.study.questions}
        if types[name] == "number":
            form.locator("input[type=text]").fill(plain)
        else:
            values: list[str] = (plain or [""]) if types[name] == "select_multiple" else [plain]
            for value in values:
                form.locator(f'input[value="{value}"]').check()
        form.locator("button:not([type=button])").click()
        form.wait_for(state="hidden")

    # --- comparing ---

    def _baseline(self) -> tuple[set[tuple[str, str]], list[tuple[str, str]]]:
        """The headers of this browser for a page of nobody, and all those of what it sends."""
        self.site.asked.clear()
        with self._opened(()) as context:
            page = context.new_page()
            page.goto(f"{self.site.url}/audit#{self.mixing.url if self.mixing else ''}")
            page.wait_for_function("document.title === 'done'")
        alike = {h for request in self.site.asked for h in request.headers if h[0] != "Referer"}
        sent = next(request for request in self.site.asked if request.method == "POST")
        return alike, [h for h in sent.headers if h[0] != "Content-Length"]

    def _compare_requests(self, link: str, report: str | None) -> None:
        """``report`` is the one that it has kept; without one it may send nothing."""
        name = self.survey.name
        sent = [request for request in self.site.asked if request.method not in _READS]
        address = f"/api/surveys/{name}/reports"
        wanted = [] if self.mixing else [("POST", address)] * bool(report)
        if [(made.method, made.target) for made in sent] != wanted:
            what = ", ".join(f"{made.method} {made.target}" for made in sent)
            raise _Fault(f"it sends {what[:300] or 'nothing'}, not POST {address}")
        for request in sent:
            self._compare_report(request, report or "")
        if self.mixing:
            self._compare_sealed(self.mixing, report)
        # The page is kept for use without a network, with its headers, which it asks for alone.
        known = {
            "GET": {link, f"/register/{name}", "/favicon.ico"},
            "HEAD": {link},
        }
        if not self.mixing:  # else the server would hear when somebody sends
            known["GET"].add(f"/api/surveys/{name}")
        alike = self._alike | {("If-None-Match", f'"{self.survey.digest}"')}
        for seen in self.site.asked:
            plain = seen.target.startswith("/web/") and "?" not in seen.target
            plain = plain and seen.target not in self.site.without and seen.method == "GET"
            allowed = plain or seen.target in known.get(seen.method, ())
            if seen.method in _READS and (seen.body or not allowed):
                raise _Fault(f"it asks for {seen.target[:300]}")
            size = ("Content-Length", str(len(seen.body)))
            for name, value in seen.headers:
                if (name, value) not in {*alike, size}:
                    raise _Fault(f"of {seen.target} a header is {name}: {value[:200]}")

    def _compare_sealed(self, mixing: _Mixing, sealed: str | None) -> None:
        """What the mixer was asked and sent. A browser asks by itself whether it may send."""
        target = f"/mix/{self.survey.digest}"
        asked = [each for each in mixing.asked if each.method != "OPTIONS"]
        wanted = [("GET", target), ("POST", target)][: 2 if sealed else 1]
        made = [(each.method, each.target) for each in asked]
        if made != wanted[: len(made)] or (sealed and made != wanted):
            raise _Fault(f"it asks the mixer for {made}, not {wanted}")
        for each in mixing.asked:
            body = bytes.fromhex(sealed or "") if each.method == "POST" else b""
            if each.target != target or each.body != body:
                raise _Fault(f"it sends to the mixer {each.body.hex()[:200]}, and keeps {sealed}")
            size = ("Content-Length", str(len(body)))
            for header in each.headers:
                if header != size and (each.method, *header) not in self._alike_at_mixer:
                    raise _Fault(f"to the mixer a header is {header[0]}: {header[1][:200]}")

    def _compare_report(self, sent: Asked, report: str) -> None:
        if sent.body != report.encode():
            raise _Fault(f"it sends {sent.body[:300]!r}, and keeps the report {report}")
        headers = [h for h in sent.headers if h[0] != "Content-Length"]
        if headers != self._post:
            odd = next((h for h in headers if h not in self._post), ("order", "another"))
            raise _Fault(f"its report comes with the header {odd[0]}: {odd[1][:200]}")

    def _reports_of(self, kept: Mapping[str, Any]) -> Mapping[str, Any]:
        """The reports in its memory; none where it has no memory yet."""
        if not kept["databases"].get("deniably-memory"):
            return {}
        reports: Mapping[str, Any] = parse(self._memory_of(kept)).get("reports", {})
        return reports

    def _memory_of(self, kept: Mapping[str, Any]) -> str:
        stores = kept["databases"].get("deniably-memory", {})
        memory = dict(stores.get("memory", []))
        if set(stores) != {"memory"} or set(memory) != {"key", "document"}:
            raise _Fault(f"it keeps {json.dumps(stores)[:300]} in its memory")
        return str(memory["document"])

    def _compare_memory(
        self, scenario: Scenario, step: Mapping[str, Any], text: str, blocks: Sequence[bytes]
    ) -> None:
        """The memory and the report, by the bytes that the page was given."""
        author = self.site.author.author
        document = EMPTY | {
            "authors": {self.site.url: [author]}, "registers": {self.site.url: self.site.head}
        }  # fmt: skip
        day = datetime.now(UTC).date().isoformat()
        answered = {**step, "do": "answer", "author": author, "day": day, "limits": _LIMITS}
        text = self.mixing.left_open(text) if self.mixing else text
        try:
            kept = parse(text)
            # The reference stops where the report is made; sending it is compared by itself.
            kept["reports"][self.survey.digest]["sent"] = False
        except (ValueError, KeyError, TypeError):
            raise _Fault(f"it keeps {text[:300]}") from None
        coins = [block for block in blocks if len(block) not in _NOT_COINS]
        fault, _ = self._reference.compare(
            scenario | {"document": document, "steps": [answered]},
            [Observed(canonical(kept), coins)],
        )
        if fault:
            why = fault.why or f"it sends {fault.kept}, the specification makes {fault.right}"
            raise _Fault(f"for {dict(step['plain'])!r}: {why}")

    def _compare_storage(self, link: str, kept: Mapping[str, Any]) -> None:
        _, mark, query = link.partition("?")
        nothing: dict[str, Any] = {"local": {}, "session": {}, "cookie": "", "name": "", "hash": ""}
        for part, right in (nothing | {"search": mark + query}).items():
            if kept[part] != right:
                raise _Fault(f"it leaves in {part}: {json.dumps(kept[part])[:200]}")
        other = set(kept["databases"]) - {"deniably-memory", "deniably-offline"}
        if other:
            raise _Fault(f"it leaves the databases {', '.join(sorted(other))[:200]}")
        pages = kept["databases"].get("deniably-offline", {})
        left: dict[str, Any] = {"caches": sorted(kept["caches"]), "pages": _sorted(pages)}
        if not self._conditional:
            left["state"] = kept["state"]
        for part, content in left.items():
            first = self.left.setdefault(f"{part} {link}", content)
            if content != first:
                raise _Fault(f"what it leaves in its {part} depends on answers")


def _sorted(stores: Mapping[str, Any]) -> dict[str, list[str]]:
    return {name: sorted(map(json.dumps, entries)) for name, entries in stores.items()}
