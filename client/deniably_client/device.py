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
from urllib.parse import urlsplit, urlunsplit

import requests
from requests.adapters import HTTPAdapter
from urllib3.util.retry import Retry

from deniably.errors import BadSurvey, Refused
from deniably.explain import at_most
from deniably.loss import Loss
from deniably.questions import Question
from deniably.report import Report, draw_questions, randomise_answers
from deniably.survey import EPSILON_LIMIT, Survey, read_survey
from deniably.words import Words
from deniably_client.errors import AlreadyAnswered, Rejected, SurveyClosed, Unreachable

RETRIES = 6
"""After waits of up to 0.5, 1, 2, 4, 8, 16 seconds, or what the server's Retry-After says."""


@dataclass(frozen=True)
class Receipt:
    """What a respondent may keep: what was promised and a digest of what was sent.

    ``losses`` say by question, exactly, what was given away at most, ``total`` what by all of
    them together; ``digest`` is SHA-256 of the sent bytes, in hexadecimal. It never holds an
    answer.
    """

    survey: str
    version: str
    losses: Mapping[str, Loss]
    total: Loss
    digest: str

    def __str__(self) -> str:
        lines = [
            f"survey    {self.survey}",
            f"version   {self.version}",
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

    ``url`` is the survey's address (``/s/<name>`` or ``/api/surveys/<name>``). ``digest`` pins
    the version, if the respondent knows it. ``epsilon_limit`` is a decimal number: the device
    refuses a survey whose questions together allow more. ``timeout`` is in seconds a request.

    Raises ValueError for an address that is none of a survey.
    """

    url: str
    epsilon_limit: str = EPSILON_LIMIT
    digest: str | None = None
    timeout: float = 30.0
    session: requests.Session = field(default_factory=session, repr=False)
    _report: Report | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        self._api = _api_address(self.url)
        self._limit = _limit(self.epsilon_limit)

    @cached_property
    def survey(self) -> Survey:
        """The verified definition; fetched once.

        Raises Refused (with what the survey got wrong), Rejected or Unreachable.
        """
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
        if survey.name != self._api.rsplit("/", 1)[1]:
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
        return Receipt(survey.name, survey.digest, losses, survey.total, report.receipt)

    def _request(self, method: str, url: str, body: bytes | None = None) -> requests.Response:
        headers = {} if body is None else {"Content-Type": "application/json"}
        try:
            response = self.session.request(
                method, url, data=body, headers=headers, timeout=self.timeout, allow_redirects=False
            )
        except requests.RequestException as error:
            raise Unreachable(f"{_host(url)} gave no answer ({type(error).__name__})") from None
        if response.status_code in (200, 201):
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


def _api_address(url: str) -> str:
    parts = urlsplit(url)
    found = re.fullmatch(r"(.*)/(?:s|surveys|api/surveys)/([a-z0-9-]+)/?", parts.path)
    if parts.scheme not in ("http", "https") or not parts.netloc or not found:
        raise ValueError("a survey's address looks like https://example.org/s/name")
    path = f"{found[1]}/api/surveys/{found[2]}"
    return urlunsplit((parts.scheme, parts.netloc, path, "", ""))


def _host(url: str) -> str:
    return urlsplit(url).netloc
