"""Experiment L3: how many people are needed until the noise averages out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import sqrt
from statistics import NormalDist
from typing import Annotated, Any

from deniably.core.table import Cell
from deniably.estimation.figures import Average, Share, groups
from deniably.estimation.scores import Score
from deniably.lab.catalogue import each_question, experiment
from deniably.lab.draws import Draws
from deniably.lab.example_questions import question as example_question
from deniably.lab.experiment import ExperimentFindings, Reference
from deniably.lab.experiments.coins import SecondInput, TruthInput
from deniably.lab.inputs import SHARE, Exact, SeedInput, SeveralOf, Whole
from deniably.lab.picture import DrawnRow, Picture, band, column, dots, line, value
from deniably.mechanisms.law import Law, One, Randomiser, Ticks
from deniably.results.drawing.axes import of_parts, of_ratios
from deniably.results.drawing.graph import Graph, GraphLayer
from deniably.results.drawing.rounding import number
from deniably.survey.questions import Question

DRAWS = 20
"""The largest number of simulated surveys for each number of people; fewer where there are many
people."""
_OF_A_QUESTION = 5
"""The largest number of simulated surveys for a survey's question, whose estimates take longer."""
_MOST_REPORTS = 100_000  # simulated for one number of people
_FAIR = Fraction(3)  # the odds of two fair coins
_TOLD = {10: 20.0, 100: 1.0, 100_000: 0.22}
"""{people: the error, in percentage points, of a single simulation in a widespread introduction to
two fair coins}."""
_SHARES = ("low", "high", "drawn")
"""The columns with shares that may lie outside 0 to 1."""
_Z = NormalDist().inv_cdf(0.975)

PeopleInput = Annotated[
    list[int] | tuple[int, ...],
    SeveralOf(
        each=Whole(minimum=2, maximum=1_000_000, help="People."),
        most=8,
        help="How many people answer: up to eight numbers.",
    ),
]
PartInput = Annotated[Exact, SHARE]


def _of_question(question: Question) -> dict[str, Any] | None:
    """Questions whose first figure has one score, and which everybody reports."""
    law = question.report_mechanism.law
    figure = groups(question)[0].figures[0]
    # Where devices sample, the number of reports would be random, too.
    if law.sampled_fraction < 1 or not isinstance(law.domain, One | Ticks):
        return None
    if not isinstance(figure, Share | Average):
        return None
    try:
        figure.score(question.report_mechanism)
    except ValueError:
        return None
    return {"question": question}


@experiment(
    "Noise averages out",
    "How many people must answer for the noise to average out?",
    [
        Reference("Warner", 1965, "Randomized response, J. American Statistical Association 60:63"),
        Reference("Genest, Hanley and Bhatnagar", 2024, "J. Statistics and Data Science Education:"
               " a class asks itself"),
    ],
    each_question(_of_question),
    instead={"question": ("truth", "yes")},
)  # fmt: skip
def noise_averages_out(
    *,
    truth: TruthInput = "1/2",
    yes: SecondInput = "1/2",
    n: PeopleInput = (10, 100, 1000, 10_000, 100_000),
    share: PartInput = "1/2",
    seed: SeedInput = 1,
    question: Question | None = None,
) -> ExperimentFindings:
    """Shows a funnel: estimates of the share of yes, from different numbers ``n`` of people, of
    whom the share ``share`` truthfully say yes.

    A survey's ``question`` can be given instead of the coins ``truth`` and ``yes``. The estimated
    figure is then the share of the question's first choice, or the mean, where ``share`` of the
    people are at the high end of the range and the others at the low end.
    """
    maximum = DRAWS if question is None else _OF_A_QUESTION
    question = question or example_question(
        type="yes_no", coins={"truth": str(truth), "yes": str(yes)}
    )
    mechanism = question.report_mechanism
    figure = _Figure(question)
    rows: list[dict[str, Cell]] = []
    for people in n:
        rows += _rows(figure, people, Fraction(share), Draws(seed, "funnel", people), maximum)
    if mechanism.loss.odds == _FAIR and mechanism.law.domain.count == 2:
        rows += [
            _introduction_row(row) for row in rows if row["what"] == "spread" and row["n"] in _TOLD
        ]
    spread = [row for row in rows if row["what"] == "spread"]
    known = ", ".join(f"to ±{_points(row)} points from {row['n']:,} people" for row in spread)
    answer = f"In 95 of 100 surveys the share is known {known}."
    notes = ["The band is for exactly these people: it has only the noise of the reports."]
    return ExperimentFindings(answer, rows, [funnel(rows)], notes, mechanism.described)


@dataclass(frozen=True)
class FunnelWords:
    """The labels of a funnel's picture in one language. Each but the title has at most 38
    characters."""

    title: str = "The noise averages out: a funnel"
    band: str = "95 of 100 surveys, exact error"
    truth: str = "the truth"
    drawn: str = "surveys that were drawn"
    told: str = "the draws of an introduction"
    seen: str = "this survey"
    interval: str = "its interval"
    people: str = "people"
    share: str = "estimated share"


def funnel(
    rows: Sequence[DrawnRow],
    words: FunnelWords = FunnelWords(),  # frozen
    seen: Sequence[DrawnRow] = (),
    *,
    whole: bool = False,
) -> Picture:
    """Returns the picture of the ``rows`` of ``noise_averages_out``. With ``whole`` the axis goes
    from 0 to 1, and estimates beyond an end are drawn at that end.

    ``seen`` adds the estimate of a real survey: a row with ``n`` and ``estimate``, and a row with
    ``n`` and ``end`` for each end of its interval, all as fractions of the range.
    """
    if whole:
        rows = [{name: _held_back(name, cell) for name, cell in row.items()} for row in rows]
    spread = [row for row in rows if row["what"] == "spread"]
    drawn = [row for row in rows if row["what"] == "survey"]
    introduction = [row for row in rows if row["what"] == "introduction"]
    layers: list[GraphLayer] = [
        band(spread, "n", "low", "high", words.band),
        line(spread, "n", "truth", words.truth, "mute"),
        dots(drawn, "n", "drawn", words.drawn),
    ]
    if introduction:
        layers.append(dots(introduction, "n", "drawn", words.told, "mark", hollow=True))
    if seen:
        layers.append(line(seen, "n", "end", words.interval))
        layers.append(dots(seen, "n", "estimate", words.seen, "mark"))
    heights = [*column(spread, "low"), *column(spread, "high"), *column(drawn, "drawn"),
               *column(introduction, "drawn"), *column(seen, "end"), *column(seen, "estimate"),
               *((0.0, 1.0) if whole else ())]  # fmt: skip
    across = of_ratios(column(spread, "n"))
    return Picture(words.title, Graph(across, words.people, of_parts(heights), words.share, layers))


def _held_back(name: str, cell: Cell) -> Cell:
    if name not in _SHARES or isinstance(cell, str | None):
        return cell
    return min(max(cell, 0.0), 1.0)


class _Figure:
    """The first figure of a question, on the scale from 0 to 1, for people of two answers."""

    def __init__(self, question: Question) -> None:
        self.mechanism: Randomiser[Law] = question.report_mechanism
        self.group = groups(question)[0]
        figure = self.group.figures[0]
        assert isinstance(figure, Share | Average)
        score = figure.score(self.mechanism)
        domain = self.mechanism.law.domain
        self.low, self.high = 0.0, 1.0
        if isinstance(figure, Average):
            assert isinstance(domain, One)
            self.answers: tuple[Any, Any] = (domain.k - 1, 0)
            self.low, self.high = figure.extent
            self.noise = float(score.noise[-1]), float(score.noise[0])
        elif isinstance(domain, Ticks):
            self.answers = ((0,), ())
            self.noise = float(score.noise[0]), float(score.noise[-1])
        else:
            assert isinstance(domain, One)
            others = set(range(domain.k)) - set(figure.answers)
            self.answers = (figure.answers[0], min(others))
            self.noise = _noise(score, self.answers, domain.k)

    def estimate(self, draws: Draws, having: int, people: int) -> float:
        """The estimate of one survey that is drawn."""
        yes, no = self.answers
        tally = draws.tally(self.mechanism, {yes: having, no: people - having})
        estimate = self.group.estimate_figures(tally)[0]
        assert estimate is not None
        assert estimate.estimate is not None
        return (estimate.estimate - self.low) / (self.high - self.low)


def _noise(score: Score, answers: tuple[int, int], k: int) -> tuple[float, float]:
    """The variance of one report's score, for either answer."""
    places = answers if len(score.noise) == k else (0, 1)
    return float(score.noise[places[0]]), float(score.noise[places[1]])


def _rows(
    figure: _Figure, people: int, share: Fraction, draws: Draws, maximum: int
) -> list[dict[str, Cell]]:
    # Whole people: the truth is their share, which may differ from the one that was asked for.
    having = round(people * share)
    truth, (yes, no) = having / people, figure.noise
    error = sqrt(having * yes + (people - having) * no) / people
    # The work stays about the same for any number of people.
    times = max(1, min(maximum, _MOST_REPORTS // people))
    seen = [figure.estimate(draws, having, people) for _ in range(times)]
    off = sqrt(sum((estimate - truth) ** 2 for estimate in seen) / times)
    spread: dict[str, Cell] = {
        "what": "spread",
        "n": people,
        "truth": truth,
        "exact": error,
        "drawn": off,
        # A standard deviation from so many normal values has the relative error 1 / sqrt(2 times).
        "standard_error": error / sqrt(2 * times),
        "low": truth - _Z * error,
        "high": truth + _Z * error,
        "margin": _Z * error,
    }
    surveys: list[dict[str, Cell]] = [
        {"what": "survey", "n": people, "truth": truth, "exact": truth, "drawn": estimate,
         "standard_error": error}
        for estimate in seen
    ]  # fmt: skip
    return [spread, *surveys]


def _introduction_row(row: dict[str, Cell]) -> dict[str, Cell]:
    """The draw of an introduction: its error in points, and in standard errors."""
    people, error = int(value(row, "n")), value(row, "exact")
    points = _TOLD[people]
    return {
        "what": "introduction",
        "n": people,
        "truth": row["truth"],
        "exact": row["truth"],
        "drawn": value(row, "truth") + points / 100,
        "standard_error": error,
        "points": points,
        "deviations": points / 100 / error,
    }


def _points(row: dict[str, Cell]) -> str:
    half = 100 * value(row, "margin")
    return number(half, 0 if half >= 10 else 1 if half >= 0.95 else 2)
