"""Experiment L1: why a report proves nothing, and how many reports still show the truth."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from functools import partial
from math import sqrt
from typing import Annotated, Any

from deniably.core.table import Cell
from deniably.estimation.channels import matrix
from deniably.estimation.estimate import estimate_through
from deniably.estimation.figures import Share, groups
from deniably.estimation.tally import Tally, tally
from deniably.lab.catalogue import each_question, experiment
from deniably.lab.draws import Draws
from deniably.lab.example_questions import question as example_question
from deniably.lab.experiment import ExperimentFindings, Reference
from deniably.lab.inputs import Exact, Real, SeedInput, ShareInput
from deniably.lab.picture import Picture, area, bar, column, group, short, value
from deniably.mechanisms.law import Finite, Law, One, Randomiser, Supporting
from deniably.results.drawing.axes import of_parts
from deniably.results.drawing.colours import Tone
from deniably.results.drawing.graph import Bars, Crowd, CrowdGroup, Mosaic, MosaicTile
from deniably.results.drawing.rounding import hundred, number
from deniably.survey.questions import Question

PEOPLE = 100
_NAME = 9
"""The largest number of characters of an answer's label in a picture, so that two of them share a
line of a phone."""

_COIN = partial(Real, minimum=Fraction(1, 100), maximum=Fraction(99, 100), percent=True)
TruthInput = Annotated[Exact, _COIN(help="How often the first coin says: answer with the truth.")]
SecondInput = Annotated[
    Exact,
    _COIN(
        help="How often the second coin says: yes. It is thrown where the first does not ask for"
        " the truth."
    ),
]


def _of_question(question: Question) -> dict[str, Any] | None:
    """Questions with two answers whose reports are these two answers, too."""
    law = question.report_mechanism.law
    two = isinstance(law.domain, One) and law.domain.k == law.cell_count == 2 and law.exact
    figures = groups(question)[0].figures
    if not (two and len(figures) == 2):
        return None
    first, second = (figure.label for figure in figures if isinstance(figure, Share))
    return {"mechanism": question.report_mechanism, "labels": (first, second)}


@experiment(
    "Two coins",
    "Why does a report prove nothing, and how do many reports still show the truth?",
    [
        Reference("Warner", 1965, "Randomized response, J. American Statistical Association 60:63"),
        Reference("Fox and Tracy", 1986, "Randomized Response, Sage: the design with two coins"),
        Reference(
            "Dwork and Roth",
            2014,
            "The Algorithmic Foundations of Differential Privacy, section 3.2",
        ),
    ],
    each_question(_of_question),
    instead={"mechanism": ("truth", "yes")},
)
def coins(
    *,
    truth: TruthInput = "1/2",
    yes: SecondInput = "1/2",
    share: ShareInput = "0.7",
    seed: SeedInput = 1,
    mechanism: Randomiser[Law] | None = None,
    labels: tuple[str, str] = ("yes", "no"),
) -> ExperimentFindings:
    """Shows 100 people who answer with two coins: what they report, and the estimate of the true
    share from these reports.

    ``share`` of them, rounded to whole people, would truthfully say yes. ``truth`` is the
    probability that the first coin asks for the truth, ``yes`` that the second coin says yes. The
    ``mechanism`` of a question with two answers, and the ``labels`` of the answers, can be given
    instead of the coins.
    """
    if mechanism is None:
        coin_shares = {"truth": str(truth), "yes": str(yes)}
        mechanism = example_question(type="yes_no", coins=coin_shares).report_mechanism
    law = mechanism.law
    people = round(PEOPLE * Fraction(share))
    having = (people, PEOPLE - people)
    assert isinstance(law, Supporting | Finite)
    draws = Draws(seed, "coins")
    sent = [Counter(draws.reports(mechanism, [answer] * having[answer])) for answer in (0, 1)]
    chance = [[Fraction(law.probability(answer, (report,))) for report in (0, 1)]
              for answer in (0, 1)]  # fmt: skip

    report_rows = [_report_row(answer, chance[answer][0], labels) for answer in (0, 1)]
    cells = [
        _cell(having[answer], answer, report, chance[answer][report], sent[answer][report,], labels)
        for answer in (0, 1)
        for report in (0, 1)
    ]
    counts = [sent[0][report,] + sent[1][report,] for report in (0, 1)]
    # The standard error for exactly these people: only the coins vary, so the variances of both
    # groups add up.
    error = sqrt(sum(having[answer] * float(chance[answer][0] * chance[answer][1])
                     for answer in (0, 1))) / PEOPLE  # fmt: skip
    expected = Fraction(sum(having[answer] * chance[answer][0] for answer in (0, 1))) / PEOPLE
    # The estimate is (observed share - q) / (p - q), so its error is that of the share over p - q.
    apart = chance[0][0] - chance[1][0]
    observed = _figure("observed", expected, counts[0] / PEOPLE, error)
    recovered = _figure(
        "recovered",
        (expected - chance[1][0]) / apart,
        _recovered(mechanism, tally([(0,)] * counts[0] + [(1,)] * counts[1], 2)),
        error / abs(float(apart)),
    )
    odds: dict[str, Cell] = {"what": "odds", "exact": float(mechanism.loss.odds_bound),
                             "fraction": str(mechanism.loss.odds)}  # fmt: skip
    epsilon: dict[str, Cell] = {"what": "epsilon", "exact": mechanism.loss.epsilon}

    rows = [*report_rows, *cells, observed, recovered, odds, epsilon]
    first, _ = labels
    answer = (
        f"Of 100 people who mean “{first}”, {_hundred(report_rows[0])} report it, and of 100"
        f" who do not, {_hundred(report_rows[1])} report it, too. So a report changes the odds by a"
        f" factor of at most {_short(value(odds, 'exact'))}"
        f" (epsilon {number(mechanism.loss.epsilon, 2)})."
        f" But if {_hundred(observed)} of 100 report it, {_hundred(recovered)} of 100 mean it."
    )
    return ExperimentFindings(
        answer, rows, _pictures(rows, cells, having, labels), _notes(labels), mechanism.described
    )


def _report_row(answer: int, chance: Fraction, labels: tuple[str, str]) -> dict[str, Cell]:
    return {"what": f"reports {labels[0]}", "answer": labels[answer], "report": labels[0],
            "exact": float(chance), "fraction": str(chance)}  # fmt: skip


def _cell(
    people: int, answer: int, report: int, chance: Fraction, count: int, labels: tuple[str, str]
) -> dict[str, Cell]:
    """The people of all 100 who have this answer and make this report."""
    exact = Fraction(people, PEOPLE) * chance
    return {
        "what": "people",
        "answer": labels[answer],
        "report": labels[report],
        "exact": float(exact),
        "fraction": str(exact),
        "drawn": count / PEOPLE,
        "standard_error": sqrt(people * float(chance * (1 - chance))) / PEOPLE,
        "people": count,
    }


def _figure(what: str, exact: Fraction, drawn: float, error: float) -> dict[str, Cell]:
    return {"what": what, "exact": float(exact), "fraction": str(exact), "drawn": drawn,
            "standard_error": error}  # fmt: skip


def _recovered(mechanism: Randomiser[Law], reports: Tally) -> float:
    """The unbiased estimate of the first answer's share, as results have it."""
    return float(estimate_through(reports, matrix(mechanism)).raw[0])


def _pictures(
    rows: list[dict[str, Cell]],
    cells: list[dict[str, Cell]],
    having: tuple[int, int],
    labels: tuple[str, str],
) -> list[Picture]:
    parts: list[MosaicTile] = []
    groups: list[CrowdGroup] = []
    names = [short(label, _NAME) for label in labels]
    for place, row in enumerate(cells):
        answer, report = divmod(place, 2)
        across = having[answer] / PEOPLE
        says = f"mean “{names[answer]}”, report “{names[report]}”"
        tone: Tone
        tone, kept = ("second" if report == 0 else "mark"), answer == report
        if across:
            up = value(row, "exact") / across
            words = f"{_hundred(row)}\nreport “{names[report]}”"
            # Reports that are the truth are drawn darker.
            parts.append(area(row, says, across, up, "exact", words, tone, 50 if kept else 80))
        groups.append(group(row, says, "people", tone, filled=kept))
    of_all = [row for row in rows if row["what"] in ("observed", "recovered")]
    tones = {"observed": f"report “{names[0]}”", "recovered": f"mean “{names[0]}”, recovered"}
    bars = [
        bar(row, tones[str(row["what"])], "exact", f"{_hundred(row)} of 100", dot="drawn")
        for row in of_all
    ]
    heads = [f"{people} mean “{label}”" for people, label in zip(having, names, strict=True)
             if people]  # fmt: skip
    axis = of_parts([0, 1, *column(of_all, "drawn")])
    return [
        Picture("Who reports what, of 100 people: areas are probabilities", Mosaic(parts, heads)),
        Picture("100 people whose coins were thrown; hollow reports are not the truth",
                Crowd(groups)),
        Picture("What is observed, and what is recovered from it; dots are the people above",
                Bars(axis, "of the people", bars)),
    ]  # fmt: skip


def _notes(labels: tuple[str, str]) -> list[str]:
    return [
        f"Nobody who sees a report “{labels[0]}” can know whether a coin or a person said it: both"
        " answers make every report."
    ]


def _hundred(row: dict[str, Cell]) -> str:
    """A share of the table as people of 100."""
    return hundred(value(row, "exact"))


def _short(shown: float) -> str:
    return number(shown, 0 if abs(shown - round(shown)) < 1e-9 else 1)
