"""Writes the eleven items that AAPOR asks every survey to disclose, as far as they are known from
the survey.

Source: American Association for Public Opinion Research 2021, Code of Professional Ethics and
Practices, section III.A.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from deniably.core.counting import counted, people
from deniably.results.document import SurveyResult
from deniably.results.drawing import rounding
from deniably.results.narrative import level_text
from deniably.survey.survey import Survey


@dataclass(frozen=True)
class Disclosure:
    """One item of the checklist of disclosures: what is ``known`` about it, and ``state``, what
    the authors still have to state themselves.

    ``known`` and ``state`` may be empty.
    """

    item: str
    known: str
    state: str = ""

    @property
    def text(self) -> str:
        """The text ``known``, followed by "state:" and what the authors have to state."""
        return " ".join(filter(None, [self.known, f"state: {self.state}" if self.state else ""]))


def disclosures(
    result: SurveyResult, survey: Survey, days: Sequence[str], signed: str = ""
) -> list[Disclosure]:
    """Returns the checklist of disclosures for these results. ``days`` are the days of publication
    and of closing, each an empty text if not known; ``signed`` is the fingerprint of the author's
    key."""
    known = [day for day in days if day]
    return [
        Disclosure(
            "Data collection strategy",
            "A survey on the web. Respondents' devices randomised every answer before they sent it"
            f" (local differential privacy).{_passed_on(result)}",
        ),
        Disclosure(
            "Who sponsored the research and who conducted it",
            f"The definition is signed with the author's key {signed}." if signed else "",
            "who paid for it, and who did it",
        ),
        Disclosure(
            "Measurement tools and instruments",
            f"The {counted(len(survey.questions), 'question')} word by word, with the randomisation"
            f" of each, are in the survey's definition (SHA-256 {result.digest}).",
        ),
        Disclosure("Population under study", "", "whom the figures are meant to describe"),
        Disclosure(
            "Method used to generate and recruit the sample",
            _recruited(result, survey),
            f"{'whether the mixer gave out invitations, ' if result.mixed else ''}where the people"
            " come from, whether they are a probability sample, and whether anything was paid or"
            " promised",
        ),
        Disclosure(
            "Methods and modes of data collection",
            "Self-administered on the web. The questions were written in the language"
            f" {survey.language}.",
            "" if survey.invited is not True else "how invitations were handed out",
        ),
        Disclosure("Dates of data collection", *_dates(result, known)),
        Disclosure(
            "Sample size and precision of the results",
            f"{_size(result)}. {level_text(result.confidence)} intervals with every"
            " figure cover the noise of the randomisation and the sampling of respondents.",
            "" if survey.invited is True else "the sampling frame, if there was one",
        ),
        Disclosure("How the data were weighted", "These figures are not weighted."),
        Disclosure(
            "How the data were processed, and procedures to ensure data quality",
            "Every report was checked to be one that an honest device can send; none"
            f"{' of these' if result.mixed else ''} was left out or edited."
            f"{_unread(result)}{_signs(result)}",
        ),
        Disclosure(
            "A general statement acknowledging limitations of the data",
            "Besides sampling, the figures are subject to non-response, to wording, and to whether"
            " respondents trusted the method. Randomisation widens every interval.",
            "further limits of this study",
        ),
    ]


def _passed_on(result: SurveyResult) -> str:
    if not result.mixed:
        return ""
    return (
        f" A mixer, run by {result.mixed.by}, passed the answers on without their senders, among"
        f" {counted(result.blanks or 0, 'blank')} for each question."
    )


def _size(result: SurveyResult) -> str:
    return people(result.n).capitalize() if result.mixed else counted(result.n, "report")


def _recruited(result: SurveyResult, survey: Survey) -> str:
    if result.mixed:
        return ""
    if survey.invited is not True:
        return "Anybody who had the link could take part, also more than once."
    if result.invited and result.response_rate is not None and result.n <= result.invited:
        rate = rounding.with_unit(rounding.number(100 * result.response_rate, 1), "%")
        return f"By invitation: {result.n:,} of {result.invited:,} brought a report ({rate})."
    return "By invitation, one report each."


def _dates(result: SurveyResult, days: Sequence[str]) -> tuple[str, str]:
    if result.state != "closed":
        since = f" since {days[0]}" if days else ""
        return f"The survey has been open{since} and is not closed yet.", "the last day"
    # Both days are known: empty ones were left out.
    if len(days) == 2:
        first, last = days
        return f"{first if first == last else f'{first} to {last}'} (UTC).", ""
    return "", "the first and the last day"


def _unread(result: SurveyResult) -> str:
    sentences = result.mixed.sentences if result.mixed else ()
    return "".join(f" {sentence}" for sentence in sentences)


def _signs(result: SurveyResult) -> str:
    odd = [question.short for question in result.questions if question.flags]
    if not odd:
        # What could not be read may be such a sign.
        return (
            "" if result.mixed and result.mixed.refused else " There are no signs of fake reports."
        )
    named = ", ".join(f"“{name}”" for name in odd)
    return f" There are signs of fake reports or faulty devices in {named}."
