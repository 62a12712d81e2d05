"""Writes the parts of a dossier that are words only: what is asked, who sees what, and what is not
protected."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from msgspec import UNSET

from deniably.core.counting import counted
from deniably.survey.mixer import Mixer
from deniably.survey.parts import Range
from deniably.survey.questions import (
    Number,
    Point,
    Product,
    Question,
    Scale,
    SelectMultiple,
    VectorOfNumbers,
)
from deniably.survey.strata import stratum_text
from deniably.survey.survey import Survey, Waves, show_if

_LONGEST = 600  # characters of an example
_YES, _NO = "yes", "no"


@dataclass(frozen=True)
class DossierPart:
    """One chapter of a dossier, in this order: sentences (``said``), a table whose first line has
    the headings (``lines``), texts that are quoted literally, such as reports (``exactly``),
    further sentences (``notes``), and the ``commands`` that print all its numbers."""

    title: str
    said: Sequence[str] = ()
    lines: Sequence[Sequence[str]] = ()
    exactly: Sequence[str] = ()
    notes: Sequence[str] = ()
    commands: Sequence[str] = ()


@dataclass(frozen=True)
class Summary:
    """The first page of a dossier, in the board's ``language``: a table of (label, text), with a
    blank line as the text where the board has to fill something in. ``below`` is a sentence under
    the table."""

    language: str
    title: str
    lines: Sequence[tuple[str, str]]
    below: str


# --- what is asked --------------------------------------------------------------------------------


def rules(survey: Survey) -> Iterator[str]:
    """Yields sentences that state the rules of a survey: who sees results, who gets reports, who
    can take part."""
    results = survey.results
    who = "analysts" if results.to == "analysts" else "everybody"
    least = counted(results.first_shown, "report")
    if results.while_open:
        held = f" While the survey is open the newest {results.minimum:,} or more are held back."
        yield f"Results are shown to {who} from {least} on.{held if results.minimum > 1 else ''}"
    else:
        yield f"Results are shown to {who} with at least {least}, once the survey is closed."
    if isinstance(survey.mixer, Mixer):
        yield (
            f"The answers go through a mixer, run by {survey.mixer.by}. They travel apart, so that"
            " nobody can be given whole reports."
        )
        return
    yield {
        "analysts": "Analysts with a token may have the reports once the survey is closed.",
        "public": "Everybody may have the reports once the survey is closed.",
        "never": "Nobody is given the reports themselves.",
    }[survey.reports_to]
    if survey.asked < len(survey.questions):
        yield f"Each device draws {survey.asked} of the {len(survey.questions)} questions."
    if survey.invited is True:
        yield "By invitation only: one report for each invitation."
    if isinstance(survey.waves, Waves):
        again = (
            f"at most {survey.count} times, with fresh coins each time"
            if survey.count
            else "from a memo on the device, so that waves cannot be averaged"
        )
        yield f"A wave of the panel {survey.waves.panel}: the same people are asked again, {again}."


def label(question: Question) -> str:
    """Returns a question as text for readers: its name, its wording and its hint."""
    hint = f" ({question.hint})" if question.hint is not UNSET else ""
    return f"{question.name}: {question.label}{hint}"


def answers(question: Question) -> str:
    """Returns the possible answers to a question as text, with bounds, and the condition under
    which it is asked."""
    match question:
        case Number():
            text = _range(question.range)
        case VectorOfNumbers():
            text = "; ".join(f"{part.label}: {_range(part.range)}" for part in question.parts)
        case Point():
            each = "; ".join(f"{part.label}: {_range(part.range)}" for part in question.parts)
            text = f"{each}; as one of {question.grid} × {question.grid} areas"
        case Product():
            text = "; ".join(
                f"{part.label}: {' · '.join(choice.label for choice in part.choices)}"
                for part in question.parts
            )
        case _:
            text = " · ".join(choice.label for choice in question.choices)
            if isinstance(question, Scale):
                text = f"in this order: {text}"
            elif isinstance(question, SelectMultiple):
                text = f"up to {question.most} of: {text}"
    condition = show_if(question)
    if condition is None:
        return text
    return f"{text}. Shown after {condition.question}: {', '.join(condition.among)}"


def _range(grid: Range) -> str:
    unit = f" {grid.unit}" if grid.unit is not UNSET else ""
    return (
        f"{grid.minimum} to {grid.maximum}{unit} in steps of {grid.step}; what is beyond counts as"
        " the nearer bound"
    )


def some_answer(question: Question) -> object:
    """Returns an answer to a question, in the form that devices take. It is one of the two answers
    whose reports differ most."""
    domain: Any = question.report_mechanism.law.domain
    return question.decode(domain.extremes[0])


def as_text(answer: object) -> str:
    """Returns an answer as text for readers."""
    if isinstance(answer, Mapping):
        named = cast(Mapping[str, object], answer)
        return ", ".join(f"{name}: {value}" for name, value in named.items())
    return ", ".join(cast(list[str], answer)) if isinstance(answer, list) else str(answer)


def cut(report: str) -> str:
    """Returns the text of a report. A longer one than 600 characters is cut, and its length
    added."""
    if len(report) <= _LONGEST:
        return report
    return f"{report[:_LONGEST]}… ({len(report):,} characters in all)"


# --- what no number says --------------------------------------------------------------------------


def who_sees_what(survey: Survey) -> DossierPart:
    """Returns the part of the dossier with the table of who sees what."""
    readers = "analysts with a token" if survey.results.to == "analysts" else "everybody"
    who_has_rows = {"analysts": "analysts have", "public": "everybody has", "never": ""}
    rows = who_has_rows[survey.reports_to]
    readers += f"; {rows} the rows of the closed survey" if rows else ""
    seen = "counts and tables" if survey.reports_to == "never" else _YES
    return DossierPart(
        "Who sees what",
        lines=[
            (
                "who",
                "true answer",
                "randomised answers",
                "whose they are",
                "that somebody took part",
            ),
            ("the respondent's device", _YES, _YES, _YES, _YES),
            ("the network and its providers", _NO, "no, with HTTPS", _NO, _YES),
            ("the server, while somebody is connected", _NO, _YES, "it could note it", _YES),
            ("the server's database afterwards", _NO, _YES, _NO, _NO),
            ("the authors", _NO, "if they run the server", _NO, _NO),
            (f"readers of the results: {readers}", _NO, seen, _NO, _NO),
        ],
        notes=[
            "That the server notes nothing is a promise of its software. A server with other"
            " software could note whose report is whose. The odds below hold against that, too."
        ],
    )


def subpoena(survey: Survey) -> DossierPart:
    """Returns the part of the dossier on what a court order for the whole database would yield."""
    invited = (
        " Of each invitation it has a hash, and whether it was used, but not by which report."
        if survey.invited is True
        else ""
    )
    strata = (
        " Beside each report stands the group that its link said:"
        f" {'; '.join(map(stratum_text, survey.every_stratum))}."
        if survey.strata
        else ""
    )
    return DossierPart(
        "What a court order for the database yields",
        [
            "The published survey and its entry in the register, counts, and every report as above:"
            " randomised answers under a random id. No true answer was ever there. Of respondents"
            " there is no name, address, time, browser or cookie. Of those who run the survey there"
            " are hashes of their tokens, with what they noted beside them." + invited + strata,
            "While the survey is open, the file may show in which order reports came. When it is"
            " closed, the server puts them in the order of their ids.",
            "Somebody who knows from elsewhere which report is whose, such as by a receipt that the"
            " respondent kept, learns what stands above under “What the worst reader can"
            " conclude”, and no more. A court order can make an operator run other software from"
            " then on; the same bound holds.",
        ],
        notes=["On a running server `deniably doctor --privacy` shows what is kept."],
    )


def unprotected(survey: Survey, more: Sequence[str] = ()) -> DossierPart:
    """Returns the part of the dossier on risks that no mechanism protects against, ``more`` risks
    at the end."""
    invited = (
        [
            "Invitations: somebody with the database and a list of who got which invitation can see"
            " who used one, but not with which report."
        ]
        if survey.invited is True
        else []
    )
    panel = (
        [
            "Waves: somebody who keeps the reports of all waves may recognise some people in them."
            " What respondents read first says how many, where it is more than a few."
        ]
        if isinstance(survey.waves, Waves)
        else []
    )
    strata = (
        [
            "Strata: the group that a respondent's link said is sent and stored as it is. The fewer"
            " people there are in a group, the fewer a report of it can come from. Results of a"
            f" group need {survey.results.minimum:,} reports, and so does what is left of all."
        ]
        if survey.strata
        else []
    )
    return DossierPart(
        "What is not protected",
        [
            "Taking part. The network and the server can see that a device talked to the server.",
            "What is true of groups. If nearly everybody in a known group answers alike, the"
            " results tell about its members, whether they took part or not.",
            "Households and friends. People who would all answer the same give away together the"
            " product of their odds.",
            "Answers told elsewhere: to somebody in the room, or to software on the device that"
            " reads the screen.",
            "The page itself. A browser runs the code that a server sends; to trust no server,"
            " answer with `deniably answer`.",
            *invited,
            *panel,
            *strata,
            *more,
        ],
    )
