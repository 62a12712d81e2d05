"""Experiment L7: asking a person again and again averages the noise out, and a memoised answer
prevents that."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import comb, sqrt
from typing import Annotated, Any, cast

from deniably.audit.memoised_waves import sent_probability
from deniably.authoring.panels import with_memo
from deniably.core.errors import BadMechanism
from deniably.core.table import Cell
from deniably.design.best_mechanisms import warner
from deniably.lab.catalogue import each_question, experiment
from deniably.lab.curator import LaplaceNoise, Published, count
from deniably.lab.draws import Draws
from deniably.lab.experiment import ExperimentFindings, Reference
from deniably.lab.inputs import Exact, Level, Real, SeedInput, Whole, as_privacy
from deniably.lab.picture import Picture, band, column, dots, line, value
from deniably.mechanisms import Cells, Memoised
from deniably.mechanisms.law import Law, One, Randomiser
from deniably.mechanisms.memoised import Family, memoised
from deniably.results.drawing.axes import of_parts, of_ratios, of_values
from deniably.results.drawing.graph import Graph, GraphLayer
from deniably.results.drawing.rounding import hundred, number, with_unit
from deniably.survey.privacy import Privacy
from deniably.survey.questions import Question

COUNTS = 500
"""The number of noisy counts of the same people that a curator publishes."""
# Numbers of waves, and of counts, about evenly spaced on a logarithmic axis.
_AFTER = (1, 2, 3, 5, 7, 10, 14, 20, 31, 50, 80, 120)
_MEANS = (1, 2, 5, 10, 20, 50, 100, 200, COUNTS)
_PEOPLE, _REPORTS = 300, 10_000  # who are drawn
_Z = 1.96  # the 97.5 % quantile of the normal distribution
# An irrational epsilon, such as 3/2 of ln 3, is rounded down to twelve decimals.
_PLACES = 10**12

ProtectionInput = Annotated[
    Exact | Privacy,
    Level(
        minimum=Fraction(1, 10),
        maximum=3,
        help="Epsilon, the protection of one report, or ln odds.",
    ),
]
WavesInput = Annotated[
    int, Whole(minimum=1, maximum=_AFTER[-1], help="How many times a person is asked.")
]
HistoryInput = Annotated[
    Exact,
    Real(
        minimum=Fraction(3, 2),
        maximum=3,
        help="The epsilon of all reports from one memo, as a multiple of one report's.",
    ),
]


def _of_question(question: Question) -> dict[str, Any] | None:
    """Questions with two answers whose reports are these two answers, too."""
    law = question.report_mechanism.law
    two = isinstance(law.domain, One) and law.domain.k == law.cell_count == 2 and law.exact
    # The mechanism with its memo, if it has one: that is what waves are made with.
    return {"mechanism": question.mechanism} if two else None


@experiment(
    "Asked again and again",
    "What if you ask the same person again and again?",
    [
        Reference("Erlingsson, Pihur and Korolova", 2014, "RAPPOR, CCS, section 2: a permanent"
               " response"),
        Reference("Ding, Kulkarni and Yekhanin", 2017, "Collecting telemetry data privately,"
               " NeurIPS"),
        Reference("Arcolezi et al.", 2022, "Improving the utility of locally differentially private"
               " protocols for longitudinal and multidimensional frequency estimates: L-GRR"),
    ],
    each_question(_of_question),
)  # fmt: skip
def asked_again(
    *,
    epsilon: ProtectionInput = "1",
    waves: WavesInput = 31,
    history: HistoryInput = 2,
    seed: SeedInput = 1,
    mechanism: Family | Memoised[Any] | None = None,
) -> ExperimentFindings:
    """Shows how often the best guess at one person's answer is right after 1 to ``waves`` reports.

    There are three ways to report: with fresh noise in each wave; from a memoised (once
    randomised) answer, which limits all reports together to ``history`` times the epsilon; and by
    sending the first report again. Before the first report, both answers are equally likely. A
    ``mechanism`` with two answers can be given instead of the epsilon.
    """
    once, memo = _mechanisms(mechanism, as_privacy(epsilon), Fraction(history))
    after = [wave for wave in _AFTER if wave < waves] + [waves]
    fresh = _Reports.of(once)
    rows = _rows("fresh chance", fresh, once, after, seed)
    rows += [_row("the report that was made", wave, fresh.right(1)) for wave in after]
    if memo is not None:
        kept = _Reports.of_memo(memo)
        rows += _rows("a memo", kept, memo, after, seed)
        rows += [_row("all that the memo can tell", wave, kept.maximum) for wave in after]
    published = count([True], LaplaceNoise(once.loss.epsilon))
    means = _means(published, Draws(seed, "counts"))

    percents = {(str(row["what"]), row["waves"]): _percent(row) for row in rows}
    with_a_memo = ""
    if memo is not None:
        with_a_memo = (
            f", {percents['a memo', waves]} with a memo, and with a memo never above"
            f" {percents['all that the memo can tell', waves]}"
        )
    answer = (
        f"After one report, {percents['fresh chance', 1]} of the best guesses at a person's answer"
        f" are right. After {waves} reports it is {percents['fresh chance', waves]} with fresh"
        f" chance{with_a_memo}. One noisy count is off by"
        f" {number(value(means[0], 'deviation'), 3)}, the"
        f" mean of {COUNTS} by {number(value(means[-1], 'deviation'), 3)}."
    )
    return ExperimentFindings(
        answer,
        [*rows, *means],
        [_guesses(rows, after, with_memo=memo is not None), _averages(means)],
        _NOTES,
        once.described,
    )


_NOTES = (
    "If a device gets the same survey again, it sends its old report again: the same bytes, with"
    " the same digest. In waves it keeps a memo, and makes each report from the memo alone.",
    "The counts are a trusted curator's, each with Laplace noise of this epsilon about the same"
    " people. Every one spends the epsilon again.",
)


def _mechanisms(
    mechanism_or_family: Family | Memoised[Any] | None, privacy: Privacy, times: Fraction
) -> tuple[Randomiser[Law] | Any, Memoised[Any] | None]:
    """The mechanism of one report, and that with a memo; None where there is none."""
    if isinstance(mechanism_or_family, Memoised):
        return mechanism_or_family.single_report_mechanism, mechanism_or_family
    if mechanism_or_family is not None:
        try:
            return mechanism_or_family, memoised(
                mechanism_or_family, mechanism_or_family.loss.odds**2
            )
        except BadMechanism:
            return mechanism_or_family, None
    if privacy.odds is not None and times.denominator > 1:
        privacy = Privacy(epsilon=Fraction(int(privacy.ln * _PLACES), _PLACES))
    memo, _ = with_memo(warner(2, privacy), privacy, times)
    return memo.single_report_mechanism, memo


@dataclass(frozen=True)
class _Reports:
    """The law of many reports of one person with two answers.

    ``keeping[answer]`` are the probabilities of what a device keeps, and ``sent[kept]`` those of
    the two reports of every wave, given that.
    """

    keeping: Sequence[Sequence[Fraction]]
    sent: Sequence[Sequence[Fraction]]

    @classmethod
    def of(cls, mechanism: Randomiser[Law]) -> _Reports:
        """Fresh chance: as if the answer itself were kept."""
        law = cast(Any, mechanism.law)
        sent = [
            [Fraction(law.probability(answer, (report,))) for report in (0, 1)] for answer in (0, 1)
        ]
        return cls([[Fraction(1), Fraction(0)], [Fraction(0), Fraction(1)]], sent)

    @classmethod
    def of_memo(cls, mechanism: Memoised[Any]) -> _Reports:
        """A memo that is drawn once: what every wave's report is made from."""
        law = mechanism.memo.law
        memos = range(law.cell_count)
        keeping = [[law.probability(answer, (memo,)) for memo in memos] for answer in (0, 1)]
        sent = [[sent_probability(mechanism, memo, (report,)) for report in (0, 1)]
                for memo in memos]  # fmt: skip
        return cls(keeping, sent)

    def chances(self, waves: int) -> list[tuple[Fraction, Fraction]]:
        """How likely each order of so many reports is with either answer, by how many of them are
        the first one."""
        chances = [
            [first**times * second ** (waves - times) for first, second in self.sent]
            for times in range(waves + 1)
        ]
        first, second = self.keeping
        return [(_dot(first, each), _dot(second, each)) for each in chances]

    def right(self, waves: int) -> Fraction:
        """How often the likelier answer is the true one."""
        chances = enumerate(self.chances(waves))
        return sum((comb(waves, times) * max(both) for times, both in chances), Fraction(0)) / 2

    @property
    def maximum(self) -> Fraction:
        """How often it is where what the device keeps is known."""
        return sum(map(max, *self.keeping), Fraction(0)) / 2


def _dot(first: Sequence[Fraction], second: Sequence[Fraction]) -> Fraction:
    return sum((chance * two for chance, two in zip(first, second, strict=True)), Fraction(0))


def _row(what: str, waves: int, right: Fraction) -> dict[str, Cell]:
    return {"what": what, "waves": waves, "exact": float(right)}


def _rows(
    what: str, law: _Reports, mechanism: Any, after: Sequence[int], seed: int
) -> list[dict[str, Cell]]:
    """The exact law, beside people who answer so often, half of them with either answer."""
    # Half of the people have either answer, as the reader thinks beforehand.
    half = max(20, min(_PEOPLE, _REPORTS // after[-1])) // 2
    draws = Draws(seed, what)
    sent = [_sent(mechanism, answer, after[-1], draws) for answer in (0, 1) for _ in range(half)]
    rows: list[dict[str, Cell]] = []
    for waves in after:
        right, chances = law.right(waves), law.chances(waves)
        points = 0.0
        for person, reports in enumerate(sent):
            both = chances[reports[:waves].count((0,))]
            mine, other = both if person < half else both[::-1]
            # A tie is decided by a coin.
            points += 1.0 if mine > other else 0.5 if mine == other else 0.0
        rows.append(
            _row(what, waves, right)
            | {
                "drawn": points / (2 * half),
                "standard_error": sqrt(float(right * (1 - right)) / (2 * half)),
            }
        )
    return rows


def _sent(mechanism: Any, answer: int, waves: int, draws: Draws) -> list[Cells]:
    if isinstance(mechanism, Memoised):
        return list(mechanism.reports_over_waves(answer, waves, draws.coins))
    return draws.reports(mechanism, [answer] * waves)


def _means(published: Published, draws: Draws) -> list[dict[str, Cell]]:
    """How far the mean of the first of many noisy counts is from the truth."""
    noisy, deviation = published.draw(draws, COUNTS), published.noise.deviation
    return [
        {
            "what": "the mean of noisy counts",
            "counts": counts,
            "exact": 0.0,
            "drawn": float(noisy[:counts].mean() - published.exact),
            "standard_error": deviation / sqrt(counts),
            "deviation": deviation / sqrt(counts),
            "low": -_Z * deviation / sqrt(counts),
            "high": _Z * deviation / sqrt(counts),
        }
        for counts in _MEANS
    ]


def _guesses(rows: list[dict[str, Cell]], after: Sequence[int], *, with_memo: bool) -> Picture:
    by = {what: [row for row in rows if row["what"] == what] for what in _WAYS}
    layers: list[GraphLayer] = [
        line(by["fresh chance"], "waves", "exact", "fresh chance each time", "second"),
        dots(by["fresh chance"], "waves", "drawn", "people who were drawn so", "second"),
    ]
    if with_memo:
        layers += [
            line(by["a memo"], "waves", "exact", "from a memo"),
            dots(by["a memo"], "waves", "drawn", "people with a memo", "mark"),
            line(by["all that the memo can tell"], "waves", "exact", "all that a memo can tell",
                 "mute", dashed=True),
        ]  # fmt: skip
    layers.append(line(by["the report that was made"], "waves", "exact",
                       "the same report again", "mute"))  # fmt: skip
    shown = [*column(rows, "exact"), *column(rows, "drawn"), 0.5, 1]
    return Picture(
        "How often the best guess at one person's answer is right",
        Graph(of_ratios(after), "reports of one person", of_parts(shown), "of 100 guesses", layers),
    )


_WAYS = ("fresh chance", "a memo", "all that the memo can tell", "the report that was made")


def _averages(rows: list[dict[str, Cell]]) -> Picture:
    layers: list[GraphLayer] = [
        band(rows, "counts", "low", "high", "within 1.96 standard deviations"),
        line(rows, "counts", "exact", "the truth", "mute"),
        dots(rows, "counts", "drawn", "counts that were drawn"),
    ]
    across = of_ratios(column(rows, "counts"))
    up = of_values([*column(rows, "low"), *column(rows, "high"), *column(rows, "drawn")])
    return Picture(
        "The mean of noisy counts of the same people, less the truth",
        Graph(across, "counts", up, "people", layers),
    )


def _percent(row: dict[str, Cell]) -> str:
    return with_unit(hundred(value(row, "exact")), "%")
