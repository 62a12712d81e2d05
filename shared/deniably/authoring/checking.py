"""Reports to an author what a survey protects and how accurate it is, before it is published.

The report has each question's epsilon and margin, the choices made for the author, the reasons why
devices would refuse the survey, and what respondents read first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import inf, sqrt
from pathlib import Path

from deniably.authoring.compiling import compile_with_notes
from deniably.authoring.survey_files import is_published, read_document
from deniably.core.loss import Loss
from deniably.core.table import Cell, Table
from deniably.design.alternatives import alternatives
from deniably.design.budgeting import SHARE
from deniably.design.delta_rule import delta_warning
from deniably.design.exact_totals import exact_totals
from deniably.design.gridding import grid_note, uneven_note
from deniably.design.mixer_plan import answer_losses
from deniably.design.plan_table import mixer_notes
from deniably.design.planning import plan_figures
from deniably.device.ledger import DELTA_LIMIT, Account, Limits
from deniably.results.poisoning_report import MORE, of_question
from deniably.survey.odds import odds_text
from deniably.survey.privacy import to_decimal_text
from deniably.survey.questions import Point, Question
from deniably.survey.survey import EPSILON_LIMIT, Survey, Waves, as_survey
from deniably.survey.unique_reports import MANY, fewest_lines, lone_share
from deniably.wording.first_page import first_page

MARGIN_AT = 1000
"""The number of respondents that the margins assume."""

_CROWDS = (500, 2_000, 10_000)  # respondents for whom a map's grid is checked
_AROUND_OUTLINE, _PACKED = 90, 0.55
"""Bytes of a packed form for an outline, and for each character of it, which stands in the
definition and in the picture. Measured with gzip on outlines of 40 to 4,000 characters, within 7
per cent (tests/server/test_outlines.py)."""
_TEXTS = 3  # columns
_TEXT_COLUMNS = ("question", "type", "mechanism", "odds", "epsilon", "delta")
_MIXED_COLUMNS = ("question", "type", "mechanism", "server alone", "together", "margin")
"""With a mixer: the odds against the survey's server alone, and if the mixer works together with
it."""


@dataclass(frozen=True, eq=False, repr=False)
class Checked(Table):
    """The result of a check, as a table with a row for each question, and the ``survey`` as it
    would be published.

    Each row has a question's name, type and mechanism, and ``odds``, ``epsilon`` and ``delta`` as
    texts. ``margin`` is half the 95 % interval with 1,000 respondents: a fraction of 1 for a share
    of 30 %, a fraction of the range for a mean. Of several figures it is the widest. In a survey
    with a mixer ``server_odds`` and ``server_epsilon`` are those of one answer against the server
    alone; the others hold if mixer and server work together.
    ``alternatives`` lists such a margin for every mechanism that an author can name; it is empty
    where there is no choice of mechanisms. ``fake_report`` is how many honest reports one fake
    report can outweigh, and ``fake_shift`` how far 5 % of fake reports can move a figure: a
    fraction of 1 for a share, of the range for a mean; None where neither is known. ``refused``
    says in sentences why devices refuse the survey. ``first_page`` is what respondents read first,
    in paragraphs.
    """

    survey: Survey
    refused: Sequence[str]
    first_page: Sequence[str]

    @property
    def exact(self) -> Table:
        """A table of the epsilons of one wave and of all waves: summed, by exact composition, by
        zCDP."""
        return exact_totals(self.survey)


def check_survey(source: str | Path | Mapping[str, object]) -> Checked:
    """Checks an author's survey; returns what it protects and how accurate it is, as a table.

    ``source`` is the path of a YAML or JSON file, or the document itself: as an author writes it,
    or a published definition. Raises OSError where the file cannot be read, BadInput where the file
    is too large or not a regular file, and BadSurvey with everything that is wrong in the survey.

    >>> from deniably import check_survey
    >>> checked = check_survey({
    ...     "name": "workplace",
    ...     "title": "Honesty at work",
    ...     "questions": [{"name": "stolen", "type": "yes_no", "label": "Stolen?", "odds": 3}],
    ... })
    >>> checked.rows[0]["epsilon"], round(checked.rows[0]["margin"], 3), checked.refused
    ('1.10', 0.061, [])
    """
    document = read_document(source)
    survey, compiling_notes = (
        (as_survey(document), []) if is_published(document) else compile_with_notes(document)
    )
    rows = list(_rows(survey))
    refused = refusals(survey)
    return Checked(
        caption=f"{survey.name}: {survey.title}",
        rows=rows,
        lines=_mixed_lines(survey, rows) if survey.mixer else _lines(survey, rows),
        texts=_TEXTS,
        notes=[*compiling_notes, *notes_on(survey), *refused],
        survey=survey,
        refused=refused,
        first_page=first_page(survey, losses=answer_losses(survey)).paragraphs,
    )


def _lines(survey: Survey, rows: Sequence[Mapping[str, Cell]]) -> list[list[str]]:
    shown = [
        [*(str(row[key]) for key in _TEXT_COLUMNS), _margin_text(row["margin"])] for row in rows
    ]
    shown += [[*line, ""] for line in _totals(survey)]
    shown = [[*_TEXT_COLUMNS, "margin"], *shown]
    if not survey.total.delta:  # nor has any question
        shown = [[*line[:5], line[6]] for line in shown]
    return shown


def _mixed_lines(survey: Survey, rows: Sequence[Mapping[str, Cell]]) -> list[list[str]]:
    """The table of a survey with a mixer: both odds of each question, and of all together."""
    keys = ("question", "type", "mechanism", "server_odds", "odds")
    shown = [[*(str(row[key]) for key in keys), _margin_text(row["margin"])] for row in rows]
    alone, together = survey.server_loss, survey.total
    both = [odds_text(loss.odds_bound) for loss in (alone, together)]
    return [[*_MIXED_COLUMNS], *shown, [_together(survey), "", "", *both, ""]]


def refusals(survey: Survey) -> list[str]:
    """Returns sentences on why devices would refuse the survey for its epsilon or its delta.

    The list is empty if they would accept it.
    """
    if survey.mixer:
        return list(_mixed_refusals(survey))
    refused: list[str] = []
    limit, of_author = Fraction(EPSILON_LIMIT), Limits().author
    at_once = survey.total if survey.count else survey.history  # a memo is paid for in advance
    if not at_once.at_most_epsilon(limit):
        above = [
            each for each in survey.questions if not each.mechanism.loss.at_most_epsilon(limit)
        ]
        parts = [f"{each.name} alone {each.mechanism.loss.epsilon_text()}" for each in above]
        parts.append(f"{_together(survey)} {survey.total.epsilon_text()}")
        if survey.history != survey.total:
            parts.append(f"all waves {survey.history.epsilon_text()}")
        devices = "answer a part of it at most" if survey.part else "refuse this survey"
        refused.append(
            f"epsilon above {EPSILON_LIMIT}: {', '.join(parts)}. Devices {devices}; in a terminal"
            " and in Python a respondent can set a higher limit, in a browser nobody can. To mend"
            f" it, write “budget: {{epsilon: {EPSILON_LIMIT}}}” in place of every epsilon, odds,"
            " coins and budget in the file."
        )
    elif survey.count and not survey.history.at_most_epsilon(of_author):
        refused.append(
            f"epsilon {survey.history.epsilon_text()} over all {survey.count} waves is above the"
            f" {of_author} that a device gives away to one author in 365 days: it refuses later"
            " waves within that time."
        )
    if survey.total.delta > DELTA_LIMIT:
        refused.append(
            f"delta above {float(DELTA_LIMIT):g}: {_together(survey)} {_delta(survey.total)}."
            f" Devices {'answer a part of it at most' if survey.part else 'refuse this survey'}."
        )
    return refused


def _mixed_refusals(survey: Survey) -> Iterator[str]:
    """Why devices would refuse a survey with a mixer, in one account or in the other."""
    who = "in a terminal and in Python a respondent can set a higher limit, in a browser nobody can"
    accounts: tuple[tuple[Account, Loss, str], ...] = (
        ("server", survey.server_loss, "state smaller odds for the mixer"),
        ("together", survey.total, "ask fewer questions, or state smaller odds for them"),
    )
    for account, loss, mend in accounts:
        limit = Limits().of_scope("survey", account)
        if not loss.at_most_epsilon(limit):
            against = {
                "server": "against the survey's server alone",
                "together": "if the mixer and the survey's server work together",
            }[account]
            yield (
                f"epsilon above {limit} {against}: {loss.epsilon_text()}. Devices refuse this"
                f" survey; {who}. To mend it, {mend}."
            )


def dearest(survey: Survey) -> Question:
    """Returns the question with the largest privacy loss; the first of several with the same
    loss."""
    return max(survey.questions, key=lambda question: question.mechanism.loss)


def _rows(survey: Survey) -> Iterator[dict[str, Cell]]:
    margins: dict[str, float] = {}
    for planned in plan_figures(survey, n=MARGIN_AT, share=SHARE):
        margins[planned.question] = max(margins.get(planned.question, 0), planned.plan.margin)
    alone = answer_losses(survey)
    sampled = survey.asked / len(survey.questions)
    for question in survey.questions:
        fake = of_question(question, sampled)
        yield {
            "question": question.name,
            "type": question.type,
            "mechanism": question.mechanism.described,
            **protection_texts(question.mechanism.loss),
            "margin": margins.get(question.name, inf),
            # What others cost depends on the blanks, which are those for this one.
            "alternatives": "" if survey.mixer else _alternatives(question, sampled),
            "fake_report": None if fake is None else fake.exchange,
            "fake_shift": None if fake is None else fake.shift(MORE),
            **_server_texts(alone.get(question.name)),
        }


def _server_texts(loss: Loss | None) -> dict[str, Cell]:
    if loss is None:
        return {}
    return {"server_odds": odds_text(loss.odds_bound), "server_epsilon": loss.epsilon_text()}


def _alternatives(question: Question, reports: float) -> str:
    others = alternatives(question, MARGIN_AT, SHARE, reports)
    if not others:
        return ""
    return ", ".join(f"{each.title} {_margin_text(each.margin)}" for each in others)


def _totals(survey: Survey) -> Iterator[list[str]]:
    """The rows with the loss of all questions together, and of all waves."""
    yield [_together(survey), "", "", *protection_texts(survey.total).values()]
    if isinstance(survey.waves, Waves):
        yield ["all waves", "", "", *protection_texts(survey.history).values()]


def protection_texts(loss: Loss) -> dict[str, str]:
    """Returns the ``odds``, ``epsilon`` and ``delta`` of a loss, each as a text."""
    return {
        "odds": odds_text(loss.odds_bound),
        "epsilon": loss.epsilon_text(),
        "delta": _delta(loss),
    }


def _delta(loss: Loss) -> str:
    return to_decimal_text(loss.delta) if loss.delta else "0"


def _margin_text(margin: Cell) -> str:
    assert isinstance(margin, float)
    return f"{100 * margin:.1f}" if margin <= 1 else "> 100"


def fake_text(row: Mapping[str, Cell]) -> str:
    """Returns a sentence on what fake reports can do to a question.

    ``row`` is the question's row in a check.
    """
    weight, shift = row["fake_report"], row["fake_shift"]
    if not isinstance(weight, float) or not isinstance(shift, float):
        return "not bounded: its reports have no largest score"
    return f"{weight:.2f} people, {_margin_text(shift)}"


def _together(survey: Survey) -> str:
    return "all together" if survey.asked == len(survey.questions) else "what is asked"


def notes_on(survey: Survey) -> list[str]:
    """Returns sentences for the author on the survey's maps, strata, delta and exported reports.

    They say what these cost, or what they give away.
    """
    return [
        *mixer_notes(survey),
        *_grid_notes(survey),
        *_outline_notes(survey),
        *_delta_notes(survey),
        *_strata_notes(survey),
        *_lone_lines(survey),
    ]


def _outline_notes(survey: Survey) -> Iterator[str]:
    """What each outline costs a device that loads the form."""
    for question in survey.questions:
        if isinstance(question, Point) and isinstance(question.outline, str):
            points = (question.outline.count(" ") + question.outline.count("M")) // 2
            size = round(_AROUND_OUTLINE + _PACKED * len(question.outline), -1)
            yield (
                f"{question.name}: its outline has {points} points and costs each device about"
                f" {size:,.0f} bytes of the form"
            )


def _delta_notes(survey: Survey) -> Iterator[str]:
    if warning := delta_warning(survey.total.delta, MARGIN_AT):
        yield warning


def _lone_lines(survey: Survey) -> Iterator[str]:
    """What a list of the reports shows to somebody who has the copy of a device."""
    if survey.mixer:  # reports travel apart, a line has one value
        return
    lines = fewest_lines(survey)
    alone = lone_share(survey, lines)
    if survey.results.reports_to == "never" or alone <= MANY:
        return
    in_waves = (
        ", and in waves what it sent in the others" if isinstance(survey.waves, Waves) else ""
    )
    yield (
        f"of {lines:,} exported reports about {lines * alone:.0f} are alone of their kind:"
        f" somebody who copies a device's memory finds its line{in_waves}. Keep exports to"
        " yourself, or write reports: never"
    )


def _strata_notes(survey: Survey) -> Iterator[str]:
    """What strata cost: in people, and in privacy."""
    if not survey.strata:
        return
    count, least = len(survey.every_stratum), survey.results.minimum
    yield (
        f"{count} strata: results of one need {least:,} reports of its own, and are less certain"
        f" than those of all. If all strata have the same size, margins are {sqrt(count):.1f} times"
        f" as wide; for the same margins ask {count} times as many people"
    )
    yield (
        "a stratum is sent as it is and in no epsilon. In a small group a report is one of"
        " few, and somebody may know whose it is: leave out keys that single people out, and make"
        f" sure that the smallest group has far more than {least:,} people"
    )
    if isinstance(survey.waves, Waves):
        yield (
            "strata make it easier to recognise people from wave to wave: the form"
            " states how many among 1,000 people of the same stratum"
        )


def _grid_notes(survey: Survey) -> list[str]:
    """A sentence for each map whose grid is not the best for some number of respondents."""
    answered = survey.asked / len(survey.questions)
    maps = [question for question in survey.questions if isinstance(question, Point)]
    # The best grid for a number of people was worked out without blanks.
    rated = [] if survey.mixer else maps
    notes = [(question.name, grid_note(question, _CROWDS, answered)) for question in rated]
    uneven = [(question.name, uneven_note(question)) for question in maps]
    return [
        *(
            f"{name}: the best grid depends on the number of people: {note}"
            for name, note in notes
            if note
        ),
        *(f"{name}: {note}" for name, note in uneven if note),
    ]
