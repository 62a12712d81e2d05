"""Puts a survey's results into a table for people and programs, and keeps the full document with
it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

import msgspec

from deniably.core.table import Table
from deniably.estimation.tally import Tally
from deniably.exhibits import notebook, question_exhibit
from deniably.exhibits.paper import paper
from deniably.exhibits.printing import TEXTS, table_lines, whole_rows
from deniably.results.document import SurveyResult
from deniably.results.drawing.paper_figure import WIDTHS, Svg, svg
from deniably.results.result import CONFIDENCE, result
from deniably.results.rows import rows
from deniably.survey.strata import Stratum, members
from deniably.survey.survey import Survey


@dataclass(frozen=True, eq=False, repr=False)
class Results(Table):
    """The results of a survey: estimates with their margins, question by question.

    **Estimator.** Unbiased estimates, by the inverse of each question's channel (Warner 1965; Wang
    et al. 2017); so a share may lie below 0. **Assumption.** Devices kept to the design, and
    respondents are a random sample of the population that the intervals are for.

    ``rows`` have the columns of ``results.csv``: ``question``, ``choice``, ``figure``, ``n``,
    ``estimate``, ``standard_error``, the ends ``low`` and ``high`` of the interval, and more.
    ``document`` has all results, in the form in which a server publishes them.
    """

    document: SurveyResult

    def _repr_html_(self) -> str:
        return notebook.html(self.document).source

    def figure(self, question: str, *, width: int = WIDTHS[0]) -> Svg:
        """Returns the figure of a question for a paper, as the text of an SVG file.

        ``width`` is 85 or 180, in millimetres: one column of a journal, or two. Raises KeyError if
        there is no such question, and ValueError for other widths.
        """
        return svg(paper(question_exhibit.exhibit(self.document, question)), width)

    def to_dict(self) -> dict[str, Any]:
        """Returns the document as plain values, for JSON."""
        return cast(dict[str, Any], msgspec.to_builtins(self.document))

    def to_json(self) -> str:
        """Returns the document as JSON text."""
        return msgspec.json.encode(self.document).decode()


def estimate(
    survey: Survey,
    tallies: Mapping[str, Tally],
    *,
    confidence: float = CONFIDENCE,
    smooth: bool = False,
    strata: Stratum | None = None,
) -> Results:
    """Estimates the results of a survey from the tally of each of its questions.

    ``tallies`` maps the name of each question to its tally, which must have at least one report.
    ``confidence`` is the level of every interval, above 0 and below 1. ``smooth`` fits smooth
    distributions of numbers; use it only if you know them to be smooth. ``strata``, such as
    ``{"site": "north"}``, is the subgroup that the tallies are of; None for everybody. Raises
    ValueError where a tally is missing or empty, the confidence is out of range, or there is no
    such subgroup.

    >>> from deniably import estimate, load_survey, randomise, simulate_people, tally
    >>> survey = load_survey({
    ...     "name": "workplace",
    ...     "title": "Honesty at work",
    ...     "questions": [{"name": "stolen", "type": "yes_no", "label": "Stolen?", "odds": 3}],
    ... })
    >>> results = estimate(survey, tally(randomise(simulate_people(survey, 1_000))))
    >>> [row["choice_label"] for row in results.rows], round(results.rows[0]["standard_error"], 2)
    (['Yes', 'No'], 0.03)
    """
    for question in survey.questions:
        if question.name not in tallies or not tallies[question.name].n:
            raise ValueError(f"{question.name} has no reports: a tally needs at least one")
    if not 0 < confidence < 1:
        raise ValueError(f"the confidence is {confidence:g}; it is above 0 and below 1, as 0.95")
    members(survey.strata or {}, strata or {})
    return as_results(
        result(survey, "closed", tallies, smooth=smooth, confidence=confidence, strata=strata)
    )


def as_results(document: SurveyResult) -> Results:
    """Returns a document of results as a table."""
    result_rows = list(rows(document))
    return Results(
        caption=document.title,
        rows=whole_rows(result_rows),
        lines=table_lines(result_rows, document.confidence),
        texts=TEXTS,
        notes=[
            note
            for question in document.questions
            for note in (question.sentence, *question.notes, *question.flags)
            if note
        ],
        document=document,
    )
