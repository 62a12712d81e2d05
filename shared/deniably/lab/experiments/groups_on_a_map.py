"""Experiment L13: finding three groups on a map, by a curator's noisy k-means, by a curator's noisy
grid counts, and from local reports."""

from __future__ import annotations

from fractions import Fraction
from math import sqrt
from statistics import median
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
from scipy import special

from deniably.core.binomial import Floats
from deniably.core.table import Cell
from deniably.estimation.estimate import estimate, project
from deniably.estimation.tally import Tally
from deniably.lab.catalogue import each_question, experiment
from deniably.lab.curator import Published, counted_on_a_grid, k_means, k_means_in_process, spread
from deniably.lab.draws import Draws
from deniably.lab.example_questions import question as example_question
from deniably.lab.experiment import ExperimentFindings, Reference
from deniably.lab.inputs import Exact, Level, SeedInput, Whole, as_privacy
from deniably.lab.picture import Picture, bar, dots, value
from deniably.results.drawing.axes import of_ratios, of_values
from deniably.results.drawing.graph import Bars, Graph
from deniably.results.drawing.rounding import number
from deniably.survey.privacy import Privacy
from deniably.survey.questions import Point, Question

GROUPS = 3
_CENTRES = np.array([[-0.5, -0.5], [0.5, -0.3], [0.0, 0.5]])
_DEVIATION = 0.12
"""The groups are on the square from −1 to 1; people are spread around the centres with this
standard deviation along each axis."""
_RUNS = 9
"""The number of simulated surveys. The answer states the median of their results; the picture shows
the first."""
_SHOWN = 90  # people in the picture

NONE, IN_PROCESS = "without protection", "curator, in rounds"
GRID, REPORTS = "curator, on the grid", "from reports"

PeopleInput = Annotated[int, Whole(minimum=300, maximum=5000, help="How many people answer.")]
CellsInput = Annotated[int, Whole(minimum=3, maximum=8, help="Areas of the map along each side.")]
MappedInput = Annotated[
    Exact | Privacy,
    Level(minimum=Fraction(1, 10), maximum=5, help="Epsilon, the protection of a place."),
]


def _of_question(question: Question) -> dict[str, Any] | None:
    """Maps that have an area for each group at least, and not so many that it takes long."""
    small = isinstance(question, Point) and question.grid <= 32
    return {"question": question} if small else None


@experiment(
    "Groups on a map",
    "Can you find groups on a map without knowing where anybody is?",
    [
        Reference("Blum, Dwork, McSherry and Nissim", 2005, "Practical privacy: the SuLQ framework,"
               " PODS: k-means in rounds"),
        Reference("Su, Cao, Li, Bertino and Jin", 2016, "Differentially private k-means clustering,"
               " CODASPY: on a grid"),
        Reference("Ye and Barg", 2018, "Optimal schemes for discrete distribution estimation under"
               " locally differential privacy, IEEE Trans. Information Theory: the reports"),
    ],
    each_question(_of_question),
    instead={"question": ("epsilon", "grid")},
)  # fmt: skip
def groups_on_a_map(
    *,
    epsilon: MappedInput = "1",
    n: PeopleInput = 2000,
    grid: CellsInput = 6,
    seed: SeedInput = 1,
    question: Question | None = None,
) -> ExperimentFindings:
    """Shows the mean squared distance of ``n`` people from the nearest of three centres, which are
    found in four ways.

    A curator adds noise to every round of k-means, or once to the number of people in each area of
    a ``grid``; local reports name areas, without a curator; and k-means runs without protection.
    If ``question``, a survey's question about a place on a map, is given, its areas and epsilon
    are used.
    """
    privacy = as_privacy(epsilon)
    asking = question or example_question(type="point", grid=grid, parts=_PARTS, **_stated(privacy))
    assert isinstance(asking, Point)
    level = asking.report_mechanism.loss.epsilon if question else privacy.ln
    runs = [_Run(asking, _people(n, run), level, Draws(seed, "map", run)) for run in range(_RUNS)]
    first = runs[0]
    rows: list[dict[str, Cell]] = [
        {"what": "distance", "way": way, "epsilon": level, "squared": spread,
         "root": sqrt(spread)}
        for way in (NONE, GRID, IN_PROCESS, REPORTS)
        for spread in [median(run.spread(way) for run in runs)]
    ]  # fmt: skip
    shown: list[dict[str, Cell]] = [
        {"what": "centre", "way": way, "east": float(x), "north": float(y)}
        for way in (NONE, GRID, IN_PROCESS, REPORTS)
        for x, y in first.centres[way]
    ]
    people: list[dict[str, Cell]] = [
        {"what": "person", "east": float(x), "north": float(y)} for x, y in first.places[:_SHOWN]
    ]
    errors = {str(row["way"]): _three(row) for row in rows}
    answer = (
        f"Of {n:,} people at epsilon {level:.4g}, the mean squared distance from the nearest"
        f" centre is {errors[GRID]} if a curator finds the centres on a grid, and"
        f" {errors[IN_PROCESS]} if a curator works in rounds. From reports alone it is"
        f" {errors[REPORTS]}, and without protection {errors[NONE]}."
    )
    layers = [dots(people, "east", "north", f"{_SHOWN} of the people", "mute", hollow=True)]
    for way, tone, hollow in (
        (NONE, "mute", False), (IN_PROCESS, "second", True), (GRID, "second", False),
        (REPORTS, "mark", False),
    ):  # fmt: skip
        mine = [row for row in shown if row["way"] == way]
        layers.append(dots(mine, "east", "north", way, tone, hollow=hollow))  # type: ignore[arg-type]
    axis = of_values([-1.0, 1.0])
    squared = [value(row, "squared") for row in rows]
    pictures = [
        Picture("The centres of one survey", Graph(axis, "east", axis, "north", layers)),
        Picture(
            f"Mean squared distance from the nearest centre, the median of {_RUNS} surveys",
            Bars(of_ratios([min(squared) / 2, *squared]), "squared distance", [
                bar(row, str(row["way"]), "squared", _three(row),
                    "mark" if row["way"] == REPORTS else "second")
                for row in rows
            ]),
        ),
    ]  # fmt: skip
    return ExperimentFindings(
        answer,
        [*rows, *shown, *first.areas(), *people],
        pictures,
        _NOTES,
        asking.report_mechanism.described,
    )


_NOTES = (
    "The map is a square from −1 to 1. Each of the three groups has a third of the people.",
    "A curator in rounds divides epsilon among them and adds noise in each. On the grid, noise is"
    " added once, and groups are found in the published counts: better at the same epsilon.",
    "A person who moves changes two counts and four sums by up to 1. Texts that count a person more"
    " or less as the change add half of this noise in rounds, and come closer.",
)
_PARTS = [
    {"name": name, "label": name, "minimum": -1, "maximum": 1, "step": 0.01}
    for name in ("east", "north")
]


class _Run:
    """The people of one survey, their reports, and what is found in four ways."""

    def __init__(self, question: Point, places: Floats, epsilon: float, draws: Draws) -> None:
        self.places, self.mechanism = places, question.report_mechanism
        n, grid = len(places), question.grid
        self.cells = _cells(self.places, grid)
        self.counts = np.bincount(self.cells, minlength=grid**2)
        self.tally: Tally = draws.tally(
            self.mechanism, {cell: int(self.counts[cell]) for cell in np.flatnonzero(self.counts)}
        )
        self.published: list[Published] = counted_on_a_grid(self.cells, grid**2, epsilon)
        self.noisy = np.array([float(count.draw(draws)[0]) for count in self.published]) / n
        self.estimated = np.asarray(estimate(self.tally, self.mechanism.law).raw)
        # Areas stand for their middles, weighted by estimates that are projected to valid shares.
        middles = _middles(grid)
        self.centres = {
            NONE: k_means(self.places, np.ones(n), GROUPS),
            IN_PROCESS: k_means_in_process(self.places, GROUPS, epsilon, draws),
            GRID: k_means(middles, project(self.noisy), GROUPS),
            REPORTS: k_means(middles, project(self.estimated), GROUPS),
        }

    def spread(self, way: str) -> float:
        """The mean squared distance of the people from the centres that a way finds."""
        return spread(self.places, self.centres[way])

    def areas(self) -> list[dict[str, Cell]]:
        """The shares of the fullest areas: the true ones, and both estimates."""
        law, n = self.mechanism.law, len(self.places)
        p, q = float(law.p), float(law.q)
        rows: list[dict[str, Cell]] = []
        fullest: list[int] = np.argsort(-self.counts, kind="stable")[: 2 * GROUPS].tolist()
        for cell in fullest:
            having = int(self.counts[cell])
            # The variance of the count of reports that name the area, for exactly these people.
            noise = having * p * (1 - p) + (n - having) * q * (1 - q)
            for way, drawn, error in (
                (GRID, self.noisy[cell], self.published[cell].noise.deviation / n),
                (REPORTS, self.estimated[cell], sqrt(noise) / n / (p - q)),
            ):
                rows.append({
                    "what": "share of an area", "way": way, "area": cell, "exact": having / n,
                    "drawn": float(drawn), "standard_error": error,
                })  # fmt: skip
        return rows


def _people(n: int, run: int) -> Floats:
    """The places of n people, who are the same whatever the seed of their reports is."""
    around = special.ndtri(Draws(0, "people", run).uniform(2 * n)).reshape(n, 2)
    return np.asarray(np.clip(_CENTRES[np.arange(n) % GROUPS] + _DEVIATION * around, -1, 1))


def _cells(places: Floats, grid: int) -> npt.NDArray[np.int64]:
    """The area of each place: column by column, as questions have them."""
    at = np.minimum((places + 1) / 2 * grid, grid - 1).astype(np.int64)
    return np.asarray(at[:, 0] * grid + at[:, 1])


def _middles(grid: int) -> Floats:
    """The middles of all areas."""
    middle = (2 * np.arange(grid) + 1) / grid - 1
    return np.stack([np.repeat(middle, grid), np.tile(middle, grid)], axis=1)


def _stated(privacy: Privacy) -> dict[str, object]:
    if privacy.epsilon is not None:
        return {"epsilon": float(privacy.epsilon)}
    return {"odds": str(privacy.odds)}


def _three(row: dict[str, Cell]) -> str:
    return number(value(row, "squared"), 3)
