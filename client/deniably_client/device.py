"""A respondent's device: fetch, verify, randomise, submit.

    receipt = Device("https://example.org/s/workplace").answer({"stolen": "yes"})

True answers exist only inside ``answer``; what is sent, kept for a retry and receipted is the
perturbed report.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from http.cookiejar import DefaultCookiePolicy
from typing import Any, cast
from urllib.parse import SplitResult, urlsplit, urlunsplit

import requests
from requests.adapters import HTTPAdapter
from urllib3.util.retry import Retry

from deniably.errors import BadSurvey, Refused
from deniably.explain import at_most
from deniably.loss import Loss
from deniably.memory import Memory
from deniably.questions import Question
from deniably.report import Report, draw_questions, randomise_answers
from deniably.signing import fingerprint
from deniably.survey import EPSILON_LIMIT, Survey, read_survey
from deniably.trust import Contact, contact
from deniably.words import Words
from deniably_client.errors import AlreadyAnswered, Rejected, SurveyClosed, Unreachable
from deniably_client.storage import Transient

NOT_MODIFIED = 304
_PORTS = {"http": 80, "https": 443}

RETRIES = 6
"""After waits of up to 0.5, 1, 2, 4, 8, 16 seconds, or what the server's Retry-After says."""


@dataclass(frozen=True)
class Receipt:
    """What a respondent may keep: what was promised and a digest of what was sent.

    ``losses`` say by question, exactly, what was given away at most, ``total`` what by all of
    them together; ``digest`` is SHA-256 of the sent bytes, in hexadecimal. ``author`` is the
    fingerprint of whoever asks, ``register`` the head of the server's register, to be compared
    with what others got. It never holds an answer.
    """

    survey: str
    version: str
    author: str
    register: str
    losses: Mapping[str, Loss]
    total: Loss
    digest: str

    def __str__(self) -> str:
        lines = [
            f"survey    {self.survey}",
            f"version   {self.version}",
            f"author    {self.author}",
            f"register  {self.register}",
            f"sent      {self.digest}",
        ]
        lines += [
            f"odds      {name}: {at_most(loss, 'receipt.total')}"
            for name, loss in self.losses.items()
        ]
        lines.append(f"in total  {at_most(self.total, 'receipt.total')} over all questions")
        return "\n".join(lines)

    def told(self, words: Words) -> str:
        """The receipt in the respondent's language, as the page's."""
        facts = [
            (words("receipt.survey"), self.survey),
            (words("receipt.version"), self.version),
            (words("receipt.author"), self.author),
            (words("receipt.register"), self.register),
            *(
                (name, at_most(loss, "receipt.question", words))
                for name, loss in self.losses.items()
            ),
            (words("receipt.all"), at_most(self.total, "receipt.total", words)),
            (words("receipt.digest"), self.digest),
        ]
        return "\n".join(words("script.pair", name=name, text=text) for name, text in facts)


def session(retries: int = RETRIES) -> requests.Session:
    """A requests session that says nothing about its owner and retries patiently.

    No cookies, a plain User-Agent; connection faults, 429 and 5xx are retried with growing,
    jittered waits and the same bytes. Give one session to many devices to share connections.
    """
    made = requests.Session()
    made.headers.clear()
    made.headers.update({"User-Agent": "deniably", "Accept": "application/json"})
    made.cookies.set_policy(DefaultCookiePolicy(allowed_domains=[]))
    policy = Retry(
        total=retries,
        allowed_methods=None,
        status_forcelist=[429, 500, 502, 503, 504],
        backoff_factor=0.5,
        backoff_jitter=0.5,
        raise_on_status=False,
    )
    for scheme in ("http://", "https://"):
        made.mount(scheme, HTTPAdapter(max_retries=policy))
    return made


@dataclass
class Device:
    """One respondent's device for one survey.

    ``url`` is the survey's address (``/s/<name>`` or ``/api/surveys/<name>``). ``memory`` is where
    the device keeps what it knows of servers; without one that ends with this object. ``digest``
    pins the version and ``fingerprint`` the author, if the respondent knows them.
    ``epsilon_limit`` is a decimal number: the device refuses a survey whose questions together
    allow more. ``timeout`` is in seconds a request.

    Raises ValueError for an address that is none of a survey.
    """

    url: str
    memory: Transient | None = None
    epsilon_limit: str = EPSILON_LIMIT
    digest: str | None = None
    fingerprint: str | None = None
    timeout: float = 30.0
    session: requests.Session = field(default_factory=session, repr=False)
    _report: Report | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        self._base, self._origin, self._name = _address(self.url)
        self._api = f"{self._base}/api/surveys/{self._name}"
        self._memory = self.memory or Transient()
        self._limit = _limit(self.epsilon_limit)

    @property
    def survey(self) -> Survey:
        """The verified definition, which the server's register shows to everybody; fetched once.

        Raises Refused (with what the survey got wrong), AuthorChanged where only the author is
        not the one that is known at this server, Rejected or Unreachable.
        """
        return self._met[0]

    @property
    def author(self) -> str:
        """The author's public key. Raises what ``survey`` raises."""
        return self._met[1].author

    @cached_property
    def _met(self) -> tuple[Survey, Contact]:
        survey = self._fetch()
        register = self._request("GET", f"{self._base}/register").content
        met: list[Contact] = []

        def meet(memory: Memory) -> Memory:
            after, found = contact(memory, self._origin, survey, register, self.fingerprint)
            met.append(found)
            return after

        self._memory.update(meet)
        return survey, met[-1]

    def _fetch(self) -> Survey:
        response = self._request("GET", self._api)
        try:
            survey = read_survey(response.content)
        except BadSurvey as error:
            raise Refused(f"this survey's definition cannot be trusted: {error}") from None
        if response.headers.get("ETag", "").removeprefix("W/").strip('"') != survey.digest:
            raise Refused("the definition is not the version that the server says it is")
        if self.digest is not None and self.digest != survey.digest:
            raise Refused(
                f"the survey was changed: its version is {survey.digest}, not {self.digest}"
            )
        if survey.name != self._name:
            raise Refused("the server sent the definition of another survey")
        if not survey.total.within(self._limit):
            raise Refused(
                f"the questions together allow epsilon {survey.total.epsilon_text()}, more "
                f"than this device's limit of {self.epsilon_limit}"
            )
        return survey

    @cached_property
    def questions(self) -> list[Question]:
        """The questions that this device asks, drawn once: all, or ``ask`` of them at random."""
        return draw_questions(self.survey)

    def answer(self, answers: Mapping[str, object]) -> Receipt:
        """Randomise true answers by the name of the question and submit the report.

        An answer is the name of a choice, a list of names (select_multiple), a number, or a
        mapping by part (vector, point, product). Where the survey asks only some of its
        questions, those of ``questions`` are answered and others are not looked at.
        The coins are thrown once: where sending fails, ``resend`` sends the same report.
        Raises BadAnswer (nothing is drawn or sent), AlreadyAnswered, and what ``resend`` raises.
        """
        if self._report is not None:
            raise AlreadyAnswered("this device has made its report; resend() sends it again")
        self._check_unchanged()
        self._report = randomise_answers(self.survey, answers, questions=self.questions)
        return self.resend()

    def resend(self) -> Receipt:
        """Submit the report that ``answer`` made: the same bytes, the same id, counted once.

        Raises SurveyClosed, Rejected, Unreachable, or ValueError where there is no report yet.
        """
        if self._report is None:
            raise ValueError("there is no report yet: call answer() first")
        survey, report = self.survey, self._report
        self._request("POST", f"{self._api}/reports", report.canonical)
        losses = {
            question.name: question.mechanism.loss
            for question in survey.questions
            if question.name in report.values
        }
        author, head = fingerprint(self.author), self._met[1].head
        return Receipt(
            survey.name, survey.digest, author, head, losses, survey.total, report.receipt
        )

    def _check_unchanged(self) -> None:
        """Raise Refused where the server shows another version by now. Without a network nothing
        can be asked, and the report is made all the same."""
        try:
            response = self._request("GET", self._api, known=self.survey.digest)
        except Unreachable:
            return
        if response.status_code != NOT_MODIFIED and response.content != self.survey.canonical:
            raise Refused("the survey was changed since this device loaded it; nothing was sent")

    def _request(
        self, method: str, url: str, body: bytes | None = None, known: str | None = None
    ) -> requests.Response:
        """``known`` is the version that need not be sent again."""
        headers = {} if body is None else {"Content-Type": "application/json"}
        if known is not None:
            headers["If-None-Match"] = f'"{known}"'
        try:
            response = self.session.request(
                method, url, data=body, headers=headers, timeout=self.timeout, allow_redirects=False
            )
        except requests.RequestException as error:
            raise Unreachable(f"{_host(url)} gave no answer ({type(error).__name__})") from None
        if response.status_code in (200, 201) or (known and response.status_code == NOT_MODIFIED):
            return response
        if response.status_code >= 500 or response.status_code == 429:
            raise Unreachable(f"{_host(url)} cannot answer now (status {response.status_code})")
        raise _refusal(response)


def _limit(text: str) -> Fraction:
    try:
        limit = Decimal(text)
        if 0 < limit <= 64:
            return Fraction(limit)
    except ArithmeticError:
        pass
    raise ValueError("the limit of epsilon is a number above 0 and at most 64, such as 5")


def _refusal(response: requests.Response) -> Rejected:
    try:
        body: Any = response.json()
    except requests.JSONDecodeError:
        body = None
    problem = cast(dict[str, object], body) if isinstance(body, dict) else {}
    kind = SurveyClosed if problem.get("type") == "/problems/closed" else Rejected
    return kind(response.status_code, problem)


def _address(url: str) -> tuple[str, str, str]:
    """The address of the server, its origin (scheme, host and port), and the survey's name."""
    parts = urlsplit(url)
    found = re.fullmatch(r"(.*?)/(?:s|surveys|api/surveys)/([a-z0-9-]+)/?", parts.path)
    if parts.scheme not in ("http", "https") or not parts.netloc or not found:
        raise ValueError("a survey's address looks like https://example.org/s/name")
    base = urlunsplit((parts.scheme, parts.netloc, found[1], "", ""))
    return base, _origin(parts), found[2]


def _origin(parts: SplitResult) -> str:
    """As browsers write it: in small letters, without the usual port."""
    host = parts.hostname or ""
    shown = f"[{host}]" if ":" in host else host
    usual = parts.port in (None, _PORTS[parts.scheme])
    return f"{parts.scheme}://{shown}" + ("" if usual else f":{parts.port}")


def _host(url: str) -> str:
    return urlsplit(url).netloc
