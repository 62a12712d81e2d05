"""Experiment L12: whether the choice that leads in the results really leads, and why a price is
selected by the exponential mechanism rather than made noisy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import exp, sqrt
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt

from deniably.core.binomial import Floats
from deniably.core.table import Cell
from deniably.design.best_mechanisms import k_ary
from deniably.estimation.estimate import unbiased
from deniably.lab.catalogue import each_question, experiment
from deniably.lab.curator import LaplaceNoise, select, selection_law
from deniably.lab.draws import Draws
from deniably.lab.experiment import ExperimentFindings, Reference
from deniably.lab.inputs import Exact, Level, SeedInput, SeveralOf, Whole, as_privacy, privacy_text
from deniably.lab.leaders import chosen, most_named
from deniably.lab.picture import Picture, bar, column, dots, line, value
from deniably.mechanisms.law import Law, Randomiser, Supporting
from deniably.results.drawing.axes import of_parts, of_ratios, of_values
from deniably.results.drawing.colours import Tone
from deniably.results.drawing.graph import Bars, Graph, GraphLayer
from deniably.results.drawing.rounding import NARROW, hundred, number
from deniably.simulation.bulk import randomise_many, tally_many
from deniably.survey.privacy import Privacy
from deniably.survey.questions import Question

_MOST_CANDIDATES = 8
_SAMPLES, _MOST_REPORTS = 100, 40_000
"""The largest number of simulated samples, and of simulated reports, for one number of people."""

PAID, HIGHEST, BIDDERS = 3.01, 5.0, 100
"""The most that everybody would pay, the highest price considered, and the number of people."""
_PRICES = np.arange(1, round(100 * HIGHEST) + 1) / 100
_SALES = 400

_DIRECT, _CURATOR, _LOCAL = "asked directly", "chosen by a trusted curator", "from reports"
_LOOKS: Mapping[str, tuple[Tone, bool]] = {
    _DIRECT: ("mute", True), _CURATOR: ("second", False), _LOCAL: ("mark", False),
}  # fmt: skip

PeopleInput = Annotated[
    list[int] | tuple[int, ...],
    SeveralOf(
        each=Whole(minimum=2, maximum=1000, help="People."),
        most=5,
        help="How many people answer: up to five numbers.",
    ),
]
CandidatesInput = Annotated[
    int,
    Whole(
        minimum=2,
        maximum=_MOST_CANDIDATES,
        help="Number of choices. Their shares are in the ratio k + 1 : k : k - 1 and so on, down"
        " to 2.",
    ),
]
ChosenInput = Annotated[
    Exact | Privacy,
    Level(minimum=Fraction(1, 10), maximum=5, help="Epsilon, the protection of an answer."),
]


def _of_question(question: Question) -> dict[str, Any] | None:
    """Questions about one choice of a few, each of whose reports names one."""
    law = question.report_mechanism.law
    if not isinstance(law, Supporting) or not law.single or law.size != 1 or law.padding:
        return None
    if law.k > _MOST_CANDIDATES or not 0.1 <= question.report_mechanism.loss.epsilon <= 5:
        return None
    return {"mechanism": question.report_mechanism}


@experiment(
    "Picking the winner",
    "Is the answer that leads in the reports really the most frequent?",
    [
        Reference("McSherry and Talwar", 2007, "Mechanism design via differential privacy, FOCS,"
               " theorem 6: the exponential mechanism"),
        Reference("Dwork and Roth", 2014, "The Algorithmic Foundations of Differential Privacy,"
               " example 3.5: a price that is made noisy sells nothing"),
        Reference("Kairouz, Bonawitz and Ramage", 2016, "Discrete distribution estimation under"
               " local privacy, ICML: k-ary randomised response"),
    ],
    each_question(_of_question),
    instead={"mechanism": ("epsilon", "k")},
)  # fmt: skip
def picking_the_winner(
    *,
    n: PeopleInput = (20, 50, 100, 200, 500),
    k: CandidatesInput = 5,
    epsilon: ChosenInput = "1",
    seed: SeedInput = 1,
    mechanism: Randomiser[Law] | None = None,
) -> ExperimentFindings:
    """Shows how often the choice with the largest share in the population is found: by asking
    directly, by a curator, and from local reports.

    ``n`` has one or more numbers of people, ``k`` is the number of choices. The curator selects by
    the exponential mechanism; reports are made by k-ary randomised response at the same epsilon,
    or by a question's ``mechanism``. Ties are broken at random.
    """
    own = mechanism is not None
    privacy = as_privacy(epsilon)
    used: Randomiser[Law] = mechanism or k_ary(k, privacy)
    law = used.law
    assert isinstance(law, Supporting)
    level = used.loss.epsilon if own else privacy.ln
    shares = _shares(law.k)
    rows = [row for people in n for row in _rows(people, shares, level, used, seed)]
    sales = [] if own else _sales(level, seed)

    percents = {str(row["way"]): _hundred(row) for row in rows if row["n"] == n[-1]}
    words = f"{level:.4g}" if own else privacy_text(privacy)
    answer = (
        f"With {n[-1]:,} people and {law.k} choices, the leader is found {percents[_DIRECT]} times"
        f" of 100 if they are asked directly, {percents[_CURATOR]} times if a trusted curator"
        f" chooses it at epsilon {words}, and {percents[_LOCAL]} times from their reports."
    )
    layers: list[GraphLayer] = []
    for way, (tone, dashed) in _LOOKS.items():
        mine = [row for row in rows if row["way"] == way]
        layers.append(line(mine, "n", "exact", way, tone, dashed=dashed))
    layers += [
        dots([row for row in rows if row["way"] == way], "n", "drawn", f"drawn, {way}", tone)
        for way, (tone, _) in _LOOKS.items()
        if way != _DIRECT
    ]
    pictures = [
        Picture(
            "How often the leader is found, by the number of people",
            Graph(of_ratios([*n, 2 * n[0]]), "people", of_parts([0, 1]), "found", layers),
        )
    ]
    if sales:
        axis = of_values([0, *column(sales, "exact"), *column(sales, "drawn")])
        pictures.append(
            Picture(
                f"What {BIDDERS} people pay in all who would each pay {PAID} and no more",
                Bars(axis, "in all, on average", [
                    bar(row, str(row["way"]), "exact", number(value(row, "exact")), dot="drawn"
                        if "drawn" in row else None)
                    for row in sales
                ]),
            )
        )  # fmt: skip
    return ExperimentFindings(answer, [*rows, *sales], pictures, _notes(law.k, own), used.described)


def _notes(k: int, own: bool) -> list[str]:
    notes = [
        "The people are a sample of a population whose shares are"
        f" {', '.join(f'{100 * share:.3g}' for share in _shares(k))}{NARROW}%: even if they are"
        " asked directly, the sample may have another leader. Ties are broken at random."
    ]
    if not own:
        notes.append(
            f"If a curator chooses a price by its revenue, it gets nearly {PAID} a person. If it"
            f" adds noise to the best price, this is above {PAID} half of the time; then nobody"
            " pays."
        )
    return notes


def _shares(k: int) -> list[float]:
    weights = range(k + 1, 1, -1)
    return [weight / sum(weights) for weight in weights]


def _rows(
    people: int, shares: Sequence[float], epsilon: float, mechanism: Randomiser[Law], seed: int
) -> list[dict[str, Cell]]:
    """Each way with so many people: its exact law, and samples that are drawn."""
    law = mechanism.law
    assert isinstance(law, Supporting)
    # How often reports name each choice: q plus its share times p - q.
    seen = [float(law.q) + share * float(law.p - law.q) for share in shares]
    exact = {
        _DIRECT: most_named(people, shares),
        # Counts move by one up and one down when a person changes, so they are not monotone:
        # epsilon / 2.
        _CURATOR: chosen(people, shares, epsilon / 2),
        _LOCAL: most_named(people, seen),
    }
    draws = Draws(seed, "winner", people)
    times = max(1, min(_SAMPLES, _MOST_REPORTS // people))
    # Without the last end, which rounding may leave below 1.
    ends = np.cumsum(shares)[:-1]
    answers = np.searchsorted(ends, draws.uniform(times * people)).astype(np.int64)
    samples = answers.reshape(times, people)
    counts = [np.bincount(sample, minlength=len(shares)) for sample in samples]
    drawn = {
        _DIRECT: [_leads(count) for count in counts],
        _CURATOR: [float(select(selection_law(count, epsilon), draws)[0] == 0) for count in counts],
        _LOCAL: [_leads(estimate) for estimate in _estimated(mechanism, samples, draws)],
    }
    return [
        {
            "what": "leader",
            "way": way,
            "n": people,
            "choices": len(shares),
            "epsilon": None if way == _DIRECT else epsilon,
            "exact": chance,
            "drawn": sum(drawn[way]) / times,
            "standard_error": sqrt(chance * (1 - chance) / times),
        }
        for way, chance in exact.items()
    ]


def _estimated(
    mechanism: Randomiser[Law], samples: npt.NDArray[np.int64], draws: Draws
) -> list[Floats]:
    """The shares that results estimate from the reports of each sample."""
    law = mechanism.law
    assert isinstance(law, Supporting)
    with draws.bulk():
        reports = randomise_many(mechanism, samples.ravel())
    several = np.split(reports, len(samples))
    return [unbiased(tally_many(mechanism, sample), law) for sample in several]


def _leads(counts: npt.NDArray[Any]) -> float:
    """1 where the first is largest; of several that are, each as likely as the others."""
    # Estimates that are equal may differ by rounding.
    leaders = np.flatnonzero(counts >= counts.max() - 1e-9)
    return 1 / len(leaders) if 0 in leaders else 0.0


# --- a price ------------------------------------------------------------------------------------


def _sales(epsilon: float, seed: int) -> list[dict[str, Cell]]:
    """What a price brings that a curator chooses, or to which noise is added."""
    draws = Draws(seed, "price")
    brought = np.where(_PRICES <= PAID + 1e-9, BIDDERS * _PRICES, 0.0)
    law = selection_law(brought, epsilon, sensitivity=HIGHEST)
    noise = LaplaceNoise(epsilon).noise(HIGHEST)
    made = PAID + noise.draw(draws, _SALES)
    noisy = np.where((made > 0) & (made <= PAID), BIDDERS * made, 0.0)
    # Of noise below 0 by up to the price: its mean sale, and its mean squared sale.
    b, x = noise.scale, PAID
    mean = BIDDERS * (x - b * (1 - exp(-x / b))) / 2
    square = BIDDERS**2 * (x * x - 2 * b * x + 2 * b * b * (1 - exp(-x / b))) / 2
    chosen_mean = float(law @ brought)
    return [
        {"what": "price", "way": "the best price", "exact": BIDDERS * PAID},
        _sale("chosen by what it brings", brought[select(law, draws, _SALES)],
              chosen_mean, float(law @ brought**2)),
        _sale("the best price with Laplace noise", noisy, mean, square),
    ]  # fmt: skip


def _sale(way: str, drawn: Floats, mean: float, square: float) -> dict[str, Cell]:
    return {
        "what": "price",
        "way": way,
        "exact": mean,
        "drawn": float(drawn.mean()),
        "standard_error": sqrt(max(square - mean**2, 0.0) / _SALES),
    }


def _hundred(row: dict[str, Cell]) -> str:
    return hundred(value(row, "exact"), 0)
