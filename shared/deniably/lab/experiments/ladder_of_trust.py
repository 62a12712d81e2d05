"""Experiment L9: the price of trusting nobody, as the number of people by which a published count
is off."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import partial
from math import ceil, sqrt
from typing import Annotated, Any

import numpy as np

from deniably.core.binomial import Floats
from deniably.core.table import Cell
from deniably.design.blanks import HiddenPair, least_blanks
from deniably.design.composition import binomial_window
from deniably.design.shuffle import Clones, binary_epsilon, shuffled_epsilon
from deniably.estimation.figures import Share, groups
from deniably.lab.catalogue import each_question, experiment
from deniably.lab.curator import (
    Added,
    ClassicalGaussNoise,
    GaussNoise,
    LaplaceNoise,
    Published,
)
from deniably.lab.draws import Draws
from deniably.lab.example_questions import question as example_question
from deniably.lab.example_questions import stated
from deniably.lab.experiment import ExperimentFindings, Reference
from deniably.lab.inputs import (
    SHARE,
    EpsilonInput,
    Exact,
    Real,
    SeedInput,
    Whole,
    as_privacy,
    privacy_text,
)
from deniably.lab.picture import Picture, bar, column, value
from deniably.mechanisms.law import Finite, One, Supporting
from deniably.results.drawing.axes import of_values
from deniably.results.drawing.graph import Bars
from deniably.results.drawing.rounding import number
from deniably.survey.privacy import to_decimal_text
from deniably.survey.questions import OfChoices, Question

CURATORS_DRAWS = 1000  # noisy counts, as many as in the introduction below
_RAW = 10
"""The number of a curator's noisy counts that are shown one by one."""
_CURATORS = 3
_SURVEYS, _FEWEST_SURVEYS, _MOST_REPORTS = 60, 4, 200_000

_TOLD, _TOLD_AT = 35.29, (0.1, Fraction(1, 10_000))
"""The mean distance of the 1,000 draws that a widespread introduction reports, for the textbook's
formula at this epsilon and delta."""

_FAILING = partial(Real, minimum=Fraction(1, 10**9), maximum=Fraction(1, 10))
PeopleInput = Annotated[int, Whole(minimum=2, maximum=100_000, help="How many people answer.")]
PartInput = Annotated[Exact, SHARE]
DeltaInput = Annotated[Exact, _FAILING(help="Delta of the curator's Gaussian noise.")]
HiddenInput = Annotated[
    Exact, _FAILING(help="Delta for the count of all reports, seen without the reports.")
]


def _of_question(question: Question) -> dict[str, Any] | None:
    """Questions about one answer of several, each of whose reports names it or does not."""
    law = question.report_mechanism.law
    named = isinstance(law, Supporting) or (isinstance(law, Finite) and law.cell_count == 2)
    first = groups(question)[0].figures[0]
    single = isinstance(question, OfChoices) and isinstance(law.domain, One)
    if not (named and law.exact and single and isinstance(first, Share)):
        return None
    return {"question": question}


@experiment(
    "The ladder of trust",
    "What does it cost to trust nobody?",
    [
        Reference("Warner", 1965, "Randomized response, J. American Statistical Association 60:63"),
        Reference("Dwork, McSherry, Nissim and Smith", 2006, "TCC, theorem 1: Laplace noise"),
        Reference("Balle and Wang", 2018, "ICML, theorem 8: the least Gaussian noise"),
        Reference("Feldman, McMillan and Talwar", 2021, "FOCS, theorem 3.2: a report among others"),
        Reference("Wang and others", 2020, "PVLDB 13:3545: made-up reports that a shuffler adds"),
    ],
    each_question(_of_question),
)
def ladder_of_trust(
    *,
    n: PeopleInput = 2584,
    share: PartInput = "882/2584",
    epsilon: EpsilonInput = "0.1",
    delta: DeltaInput = "0.0001",
    hidden: HiddenInput = "0.000001",
    seed: SeedInput = 1,
    question: Question | None = None,
) -> ExperimentFindings:
    """Shows how far a published count of people is from the true one, with a curator and without.

    ``share`` of ``n`` people, rounded to whole people, have the answer that is counted.
    ``epsilon`` and ``delta`` are those of the curator. ``hidden`` is the delta in the shuffle
    model, for somebody who sees the count of all reports but no single report. Reports are made
    with two fair coins, or by a survey's ``question``, whose first choice is then counted.

    A mixer adds blanks to reports with odds of 8, as many as keep ``epsilon`` and ``hidden``
    against the server. Only both together learn more, and then what odds of 8 allow.
    """
    curator, own = as_privacy(epsilon), question is not None
    failing, hiding = Fraction(delta), float(Fraction(hidden))
    coins = question or example_question(type="yes_no", coins={"truth": "1/2", "yes": "1/2"})
    reports = _Reports("reports of this survey" if own else "two coins, no curator", coins)
    alike = _Reports("no curator, same epsilon", example_question(type="yes_no", **stated(curator)))
    having = round(n * Fraction(share))
    draws = Draws(seed, "ladder")

    textbook = ClassicalGaussNoise(curator.ln, float(failing))
    curators: list[tuple[str, Added, float]] = [
        ("curator, Laplace noise", LaplaceNoise(curator.ln).noise(1.0), 0.0),
        ("curator, least Gaussian noise", GaussNoise(curator.ln, float(failing)).noise(1.0),
         float(failing)),
        ("curator, textbook's Gaussian noise", textbook.noise(1.0), float(failing)),
    ]  # fmt: skip
    rungs = [
        _of_curator(who, by, having, draws) | {"epsilon": curator.ln, "delta": part}
        for who, by, part in curators
    ]
    rungs += [reporting.rung(having, n, draws) for reporting in (reports, alike)]
    known = [_known("who sees the curator's count", curator.ln, 0.0), *reports.known(n, hiding)]
    mixer = _behind_a_mixer(curator.ln, hiding)
    if mixer:
        rungs.append(mixer.rung(having, n, draws) | {"epsilon": curator.ln, "delta": hiding})
        known.insert(-1, _known("the server behind a mixer", curator.ln, hiding))
    raw: list[dict[str, Cell]] = [
        {"what": "draw", "who": curators[0][0], "number": place, "exact": float(having),
         "drawn": float(draw), "standard_error": curators[0][1].deviation, "draws": 1}
        for place, draw in enumerate(Published(having, curators[0][1]).draw(draws, _RAW), 1)
    ]  # fmt: skip
    sentences = [_introduction_row(rungs[2])] if (curator.ln, failing) == _TOLD_AT else []

    laplace, _, classical, ours, _ = rungs[:5]
    count, server = (number(value(known[place], "at_most"), 4) for place in (1, -1))
    answer = (
        f"A trusted curator at epsilon {privacy_text(curator)} is off by {_off(laplace)} people on"
        f" average with Laplace noise and by {_off(classical)} with the textbook's Gaussian noise."
        f" Without a curator, {'this survey is' if own else 'two coins are'} off by {_off(ours)}."
        f" Somebody who sees only this count learns at most what epsilon {count}"
        f" allows (delta {to_decimal_text(Fraction(hidden))})."
    )
    notes = [
        f"One count of {having:,} people is published once. Ten times a curator with Laplace noise"
        f" may have published {', '.join(number(value(row, 'drawn'), 1) for row in raw)}.",
        "That epsilon is about the published count by itself. The server sees each report arrive:"
        f" against it only {server} holds.",
        f"It takes {n:,} honest reports: fake ones hide nobody. It is for one question; those of"
        " several add up.",
    ]
    if mixer:
        notes.append(
            f"Behind a mixer that adds {mixer.blanks:,} blanks, the count is off by"
            f" {_off(rungs[-1])} at the curator's epsilon for the server, whoever else answers. You"
            " need not trust either party alone. If both work together, the server learns what"
            f" epsilon {number(ceil(mixer.loss * 10_000) / 10_000, 4)} allows."
        )
    if textbook.true_delta > failing:
        notes.append("The textbook's formula breaks its promise at this epsilon: it is proved below"
                     " 1 only.")  # fmt: skip
    if not own:
        notes.append("882 of 2,584 people is the count of a widespread introduction, from the"
                     " National Longitudinal Survey of Youth 1979.")  # fmt: skip
    return ExperimentFindings(
        answer,
        [*rungs, *raw, *known, *sentences],
        _pictures(rungs, known),
        notes,
        coins.report_mechanism.described,
    )


def _behind_a_mixer(epsilon: float, delta: float) -> _Reports | None:
    """Reports with odds of 8 and blanks, as many as keep this against the server; None where no
    allowed number does."""
    question = example_question(type="yes_no", odds=8)
    pair = HiddenPair.of(question.report_mechanism)
    try:
        blanks = least_blanks([pair], epsilon, delta)
    except ValueError:
        return None
    return _Reports("mixer, same epsilon for the server", question, blanks) if blanks else None


class _Reports:
    """The count of a question's first answer from everybody's reports, and who learns what. The
    ``blanks`` of a mixer are among the reports, and are subtracted."""

    def __init__(self, who: str, question: Question, blanks: int = 0) -> None:
        self.who, self.blanks = who, blanks
        self.mechanism = question.report_mechanism
        self.loss = self.mechanism.loss.epsilon
        self.group = groups(question)[0]
        figure = self.group.figures[0]
        assert isinstance(figure, Share)
        self.score = figure.score(self.mechanism)
        self.own, domain = figure.answers[0], self.mechanism.law.domain
        assert isinstance(domain, One)
        self.other = next(answer for answer in range(domain.k) if answer not in figure.answers)

    def rung(self, having: int, n: int, draws: Draws) -> dict[str, Cell]:
        """How far the count is off: its exact law, and surveys that are drawn."""
        counts, chances = self.law(having, n)
        off = np.abs(counts - having)
        times = max(_FEWEST_SURVEYS, min(_SURVEYS, _MOST_REPORTS // n))
        seen = [abs(self._count(having, n, draws) - having) for _ in range(times)]
        return _rung(self.who, float(off @ chances), float(off**2 @ chances), seen) | {
            "epsilon": self.loss, "delta": 0.0,
        }  # fmt: skip

    def law(self, having: int, n: int) -> tuple[Floats, Floats]:
        """Every count that may be published, and how likely it is.

        A report adds one of two scores, whose mean is 1 for people with the answer and 0 for
        others; so as many people add the larger one as two binomials say together.
        """
        low, high = self.score.low, self.score.high
        first, ours = _binomial(having, (1 - low) / (high - low))
        other, theirs = _binomial(n - having, -low / (high - low))
        # A blank has either answer with the probability 1/2, and so the mean score 1/2.
        made_up, blanks = _binomial(self.blanks, (0.5 - low) / (high - low))
        # The sum of independent binomials.
        chances = np.convolve(np.convolve(ours, theirs), blanks)
        naming = first + other + made_up + np.arange(chances.size)
        reports = n + self.blanks
        return naming * high + (reports - naming) * low - self.blanks / 2, chances

    def _count(self, having: int, n: int, draws: Draws) -> float:
        """The count of one survey that is drawn, as results estimate it."""
        tally = draws.tally(self.mechanism, {self.own: having, self.other: n - having})
        if self.blanks:
            own = sum(draws.coins.below(2) for _ in range(self.blanks))
            made_up = draws.tally(self.mechanism, {self.own: own, self.other: self.blanks - own})
            tally = (tally + made_up).with_blanks(self.blanks)
        estimate = self.group.estimate_figures(tally)[0]
        assert estimate is not None
        assert estimate.estimate is not None
        return n * estimate.estimate

    def known(self, n: int, delta: float) -> Iterator[dict[str, Cell]]:
        """The epsilon against readers of the count, of the reports in no order, and the server."""
        law = self.mechanism.law
        unordered = shuffled_epsilon(Clones.under(law, self.loss), n, delta)
        binary = isinstance(law, Supporting) and law.binary
        # For randomised response the count has an exact bound; others take that of unordered
        # reports.
        count = binary_epsilon(n, self.loss, delta) if binary else unordered
        yield _known("who sees the reports' count", count, delta)
        yield _known("who sees the reports in no order", unordered, delta)
        yield _known("the server that collects them", self.loss, 0.0)


def _binomial(people: int, share: float) -> tuple[int, Floats]:
    if not people or not 0 < share < 1:
        return (people if share >= 1 else 0), np.ones(1)
    return binomial_window(people, share)


def _of_curator(who: str, by: Added, having: int, draws: Draws) -> dict[str, Cell]:
    seen = np.abs(Published(having, by).draw(draws, CURATORS_DRAWS) - having)
    return _rung(who, by.mean_distance, by.deviation**2, seen.tolist())


def _rung(who: str, exact: float, square: float, seen: Sequence[float]) -> dict[str, Cell]:
    """The mean distance from the true count, and that of what was drawn."""
    return {
        "what": "distance",
        "who": who,
        "exact": exact,
        "drawn": sum(seen) / len(seen),
        "standard_error": sqrt(max(square - exact**2, 0.0) / len(seen)),
        "draws": len(seen),
    }


def _introduction_row(textbook: dict[str, Cell]) -> dict[str, Cell]:
    deviation = value(textbook, "standard_error") * sqrt(value(textbook, "draws"))
    return {"what": "introduction", "who": textbook["who"], "exact": textbook["exact"],
            "drawn": _TOLD, "standard_error": deviation / sqrt(CURATORS_DRAWS),
            "draws": CURATORS_DRAWS}  # fmt: skip


def _known(who: str, epsilon: float, delta: float) -> dict[str, Cell]:
    """Protection, with the epsilon to four decimals, rounded up."""
    return {"what": "protection", "who": who, "epsilon": epsilon,
            "at_most": max(ceil(epsilon * 10_000 - 1e-9), 1) / 10_000, "delta": delta}  # fmt: skip


def _pictures(rungs: Sequence[dict[str, Cell]], known: Sequence[dict[str, Cell]]) -> list[Picture]:
    off = of_values([0.0, *column(rungs, "exact"), *column(rungs, "drawn")])
    epsilons = of_values([0.0, *column(known, "at_most")])
    return [
        Picture(
            "How far the published count is off, on average; dots were drawn",
            Bars(off, "people", [
                bar(row, str(row["who"]), "exact", f"±{_off(row)}",
                    "mark" if place < _CURATORS else "second", dot="drawn")
                for place, row in enumerate(rungs)
            ]),
        ),
        Picture(
            "What is learned about one person at most",
            Bars(epsilons, "epsilon", [
                bar(row, str(row["who"]), "at_most", number(value(row, "at_most"), 4),
                    "second" if place else "mark")
                for place, row in enumerate(known)
            ]),
        ),
    ]  # fmt: skip


def _off(row: dict[str, Cell]) -> str:
    exact = value(row, "exact")
    return number(exact, 0 if exact >= 100 else 1 if exact >= 1 else 2)
