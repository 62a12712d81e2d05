"""Experiment L14: a curator's median that is published with little noise if the data pass a
test."""

from __future__ import annotations

from fractions import Fraction
from math import inf, sqrt
from typing import Annotated, Any

import numpy as np
from scipy import special

from deniably.core.binomial import Floats
from deniably.core.counting import counted
from deniably.core.table import Cell
from deniably.estimation.figures import Buckets, Quantile, groups
from deniably.lab.catalogue import each_question, experiment
from deniably.lab.curator import LaplaceNoise, Proposal, Published, median, median_distance
from deniably.lab.draws import Draws
from deniably.lab.example_questions import question as example_question
from deniably.lab.experiment import ExperimentFindings, Reference
from deniably.lab.inputs import Exact, Level, Real, SeedInput, Whole, as_privacy
from deniably.lab.picture import Picture, bar, column, dots, line, value
from deniably.results.drawing.axes import of_parts, of_ratios, of_values
from deniably.results.drawing.graph import Bars, Graph
from deniably.results.drawing.rounding import hundred, number
from deniably.survey.privacy import Privacy, to_decimal_text
from deniably.survey.questions import Number, Question

_RANGE = 100
_MIDDLE, _DEVIATION = 0.4, 0.1
"""The median and standard deviation of the people's numbers, as fractions of the range. The numbers
are evenly spaced quantiles of a normal distribution."""
_TESTS, _FEWEST = 200, 4
"""The number of simulated tests at a distance; they are drawn only if at least the second number
are expected to pass, and to fail."""

FailingInput = Annotated[
    Exact,
    Real(
        minimum=Fraction(1, 10**9),
        maximum=Fraction(1, 10),
        help="Delta: how often the test may pass a table that it should not.",
    ),
]
TestedInput = Annotated[
    Exact | Privacy,
    Level(minimum=Fraction(1, 10), maximum=2, help="Epsilon of the test, and of the release."),
]
ProposedInput = Annotated[
    Exact,
    Real(
        minimum=Fraction(1, 1000),
        maximum=Fraction(1, 4),
        percent=True,
        help="The proposal: how far one person may move the median, as a part of the range.",
    ),
]
PeopleInput = Annotated[int, Whole(minimum=20, maximum=1000, help="How many people answer.")]


def _of_question(question: Question) -> dict[str, Any] | None:
    """Questions for a number whose median the results show."""
    shown = isinstance(question, Number) and _median_of(question) is not None
    return {"question": question} if shown else None


def _median_of(question: Question) -> tuple[Buckets, int] | None:
    """The figures of a number, and the place of its median among them."""
    for group in groups(question):
        if isinstance(group, Buckets) and group.variance(question.report_mechanism) < inf:
            for place, figure in enumerate(group.figures):
                if isinstance(figure, Quantile) and figure.level == 0.5:
                    return group, place
    return None


@experiment(
    "Propose, test, release",
    "When is little noise enough for a median?",
    [
        Reference("Dwork and Lei", 2009, "Differential privacy and robust statistics, STOC"),
        Reference("Vadhan", 2017, "The complexity of differential privacy, proposition 3.2"),
        Reference("Nissim, Raskhodnikova and Smith", 2007, "Smooth sensitivity and sampling in"
               " private data analysis, STOC, section 3.1: the median"),
    ],
    each_question(_of_question),
)  # fmt: skip
def propose_test_release(
    *,
    epsilon: TestedInput = "1",
    delta: FailingInput = "0.00001",
    proposed: ProposedInput = "0.01",
    n: PeopleInput = 1000,
    seed: SeedInput = 1,
    question: Question | None = None,
) -> ExperimentFindings:
    """Shows how often propose-test-release publishes a median, by the distance of the table: the
    number of people who must change their answers until one person could move the median by more
    than ``proposed``.

    The ``n`` people have normally distributed numbers in a range of 100, or in the range of a
    survey's ``question``. Their median is published with noise for ``proposed``, a fraction of the
    range. For comparison, the error of local reports from the same people is shown, at the epsilon
    of test and release together.
    """
    privacy, failing = as_privacy(epsilon), Fraction(delta)
    proposal = Proposal(privacy.ln, float(failing))
    both, _ = proposal.total
    local = question or example_question(
        type="number", aim="distribution", minimum=0, maximum=_RANGE, step=1, **_twice(privacy)
    )
    assert isinstance(local, Number)
    low, high = float(local.range.minimum), float(local.range.maximum)
    width = high - low
    values = low + width * np.clip(
        _MIDDLE + _DEVIATION * special.ndtri((np.arange(n) + 0.5) / n), 0, 1
    )
    reach = float(Fraction(proposed)) * width
    distance = median_distance(values, low, high, reach)
    little = LaplaceNoise(privacy.ln).noise(reach)

    draws = Draws(seed, "propose")
    published = Published(median(values, low, high), little)
    people = of_values([0.0, 2 * proposal.threshold])
    passing = [_passing(proposal, people.high * step / 25, published, draws) for step in range(26)]
    # At the threshold, symmetric noise passes half of the time.
    middle = _passing(proposal, proposal.threshold)
    here: dict[str, Cell] = _passing(proposal, distance) | {
        "what": "these people", "total": both, "delta": float(failing),
    }  # fmt: skip
    middle["what"] = "threshold"
    ways = [
        _way("noise for the proposal", both, little.margin(), width),
        _way("noise for the whole range", both, LaplaceNoise(both).noise(width).margin(), width),
    ]
    if (half := _by_reports(local, values, draws)) is not None:
        ways.append(_way("from reports", local.report_mechanism.loss.epsilon, half, width))

    answer = (
        f"The test asks how many people would have to change their answers before one person could"
        f" move the median by more than proposed. With {number(proposal.threshold, 2)} people, a"
        f" table passes half of the time. Here it is {counted(int(distance), 'person', 'people')},"
        f" which passes {hundred(value(here, 'exact'))} times of 100. Test and release spend"
        f" epsilon {_short(both)} together, with delta {to_decimal_text(failing)}."
    )
    pictures = [
        Picture(
            "How often the median is released, by how far the table is from an unstable one",
            Graph(people, "people who have to change", of_parts([0, 1]), "released",
                  [
                line(passing, "distance", "exact", "released"),
                dots(passing, "distance", "drawn", f"{_TESTS} tests that were drawn"),
                dots([middle], "distance", "exact", "the threshold", "mark", hollow=True),
            ]),
        ),
        Picture(
            "How far the published median is off, in 95 of 100 releases",
            Bars(of_ratios([*column(ways, "part"), *(2 * part for part in column(ways, "part"))]),
                 "part of the range", [
                bar(row, str(row["way"]), "part", f"±{number(value(row, 'half'), 2)}",
                    "mark" if row["way"] == "from reports" else "second")
                for row in ways
            ]),
        ),
    ]  # fmt: skip
    return ExperimentFindings(
        answer,
        [*passing, middle, here, *ways],
        pictures,
        _notes(proposal, local, n),
        local.report_mechanism.described,
    )


def _notes(proposal: Proposal, local: Number, n: int) -> list[str]:
    total = _short(proposal.total[0])
    return [
        "Many texts say that both steps together keep (epsilon, delta). But the test spends"
        f" epsilon, and the release spends it again: {total} in all, and delta.",
        f"The interval from reports is for {n:,} people who answer at epsilon"
        f" {_short(local.report_mechanism.loss.epsilon)}; it also includes the chance of the"
        " sample, which the curator's interval does not.",
        "A table that does not pass gives no answer at all, but its epsilon is spent.",
    ]


def _twice(privacy: Privacy) -> dict[str, object]:
    """Twice a level of privacy, as authors write it."""
    if privacy.odds is not None:
        return {"odds": str(privacy.odds**2)}
    assert privacy.epsilon is not None
    return {"epsilon": float(2 * privacy.epsilon)}


def _passing(
    proposal: Proposal,
    distance: float,
    published: Published | None = None,
    draws: Draws | None = None,
) -> dict[str, Cell]:
    """How often a table at this distance is released: the law, and tests that are drawn."""
    chance = proposal.release_probability(distance)
    row: dict[str, Cell] = {"what": "distance", "distance": distance, "exact": chance}
    few = _TESTS * min(chance, 1 - chance)
    if draws and published and few >= _FEWEST:
        released = [proposal.release(distance, published, draws) for _ in range(_TESTS)]
        row |= {
            "drawn": sum(value is not None for value in released) / _TESTS,
            "standard_error": sqrt(chance * (1 - chance) / _TESTS),
        }
    return row


def _way(way: str, epsilon: float, half: float, width: float) -> dict[str, Cell]:
    return {"what": "median", "way": way, "epsilon": epsilon, "half": half, "part": half / width}


def _by_reports(question: Number, values: Floats, draws: Draws) -> float | None:
    """Half the interval of the median that results estimate from everybody's reports."""
    median = _median_of(question)
    assert median is not None
    group, place = median
    people: dict[Any, int] = {}
    step, low = Fraction(question.range.step), Fraction(question.range.minimum)
    for drawn in values:
        rounded = low + step * round((Fraction(float(drawn)) - low) / step)
        cell = question.encode(to_decimal_text(rounded))
        people[cell] = people.get(cell, 0) + 1
    estimated = group.estimate_figures(draws.tally(question.report_mechanism, people))[place]
    if estimated is None:
        return None
    below, above = estimated.population_margin
    return (above - below) / 2


def _short(shown: float, decimals: int = 2) -> str:
    return number(shown, 0 if abs(shown - round(shown)) < 0.0005 else decimals)
