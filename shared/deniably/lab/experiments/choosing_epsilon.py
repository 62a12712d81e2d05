"""Experiment L10: what an epsilon means, in four ways, beside the epsilons that others use."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import sqrt

from deniably.core.counting import counted
from deniably.core.table import Cell
from deniably.design.at_privacy import promised
from deniably.design.curve import EPSILONS
from deniably.design.planning import respondents_for, share_goal
from deniably.lab.catalogue import Case, experiment
from deniably.lab.deployments import deployments
from deniably.lab.draws import Draws
from deniably.lab.example_questions import question as example_question
from deniably.lab.example_questions import stated
from deniably.lab.experiment import ExperimentFindings, Reference
from deniably.lab.experiments.one_report import PriorInput, after
from deniably.lab.experiments.price_of_privacy import MarginInput
from deniably.lab.inputs import EPSILON, EpsilonInput, SeedInput, as_privacy, privacy_text
from deniably.lab.picture import Picture, band, bar, column, dots, line, value
from deniably.mechanisms.law import Finite, Supporting
from deniably.results.drawing.axes import of_parts, of_ratios, of_values
from deniably.results.drawing.colours import Tone
from deniably.results.drawing.graph import Bars, Graph
from deniably.results.drawing.rounding import NARROW, hundred, number
from deniably.survey.odds import odds_text
from deniably.survey.privacy import to_decimal_text
from deniably.survey.survey import Survey

PEOPLE = 1000
"""The number of simulated people for each answer; those who report "yes" are counted."""
_PRIORS = (0, 1, 2, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 95, 98, 99, 100)
_TONES: dict[str, Tone] = {"local": "mark", "central": "mute", "yours": "second"}


def _cases(survey: Survey) -> Iterator[Case]:
    """The survey, at the epsilon of its least protected answer, beside that of a whole report."""
    # A belief has no bound where the promise can fail.
    exact = [question for question in survey.questions if not question.report_mechanism.loss.delta]
    levels = [promised(question.claim) for question in exact]
    within = [level for level in levels if EPSILON.minimum <= level.ln <= EPSILON.maximum]
    if within:
        whole = ("all answers of this survey", survey.total.epsilon)
        arguments = {"epsilon": max(within, key=lambda level: level.ln), "register": [whole]}
        yield Case(survey.title, arguments)


@experiment(
    "Choosing epsilon",
    "What does an epsilon mean, and which epsilons do others use?",
    [
        Reference("Nanayakkara et al.", 2023, "What are the chances? Explaining the epsilon"
               " parameter in differential privacy, USENIX Security"),
        Reference("Desfontaines", 2021, "A list of real-world uses of differential privacy,"
               " desfontain.es"),
        Reference("OpenDP", 2025, "Differential Privacy Deployments Registry"),
        Reference("Warner", 1965, "Randomized response, J. American Statistical Association 60:63"),
    ],
    _cases,
)  # fmt: skip
def choosing_epsilon(
    *,
    epsilon: EpsilonInput = "ln 3",
    prior: PriorInput = "1/10",
    margin: MarginInput = "0.05",
    seed: SeedInput = 1,
    register: Sequence[tuple[str, float]] = (),
) -> ExperimentFindings:
    """Shows what an epsilon means in four ways: as people out of a hundred, as what a report
    reveals, as the number of respondents it needs, and beside the epsilons of other deployments.

    The first three are for randomised response to a question with two answers. ``prior`` is how
    likely the answer was thought before the report, ``margin`` the wanted half-width of the
    interval of a share. ``register`` has more epsilons to compare with, each as (name, epsilon).
    """
    level = as_privacy(epsilon)
    mechanism = example_question(type="yes_no", **stated(level)).report_mechanism
    law = mechanism.law
    assert isinstance(law, Supporting | Finite)
    draws = Draws(seed, "choosing epsilon")
    chances = [Fraction(law.probability(answer, (0,))) for answer in (0, 1)]
    frequencies = [
        _frequency(who, chance, draws.reports(mechanism, [answer] * PEOPLE).count((0,)))
        for answer, (who, chance) in enumerate(
            zip(("have it, report it", "have it not, report it"), chances, strict=True)
        )
    ]
    odds = mechanism.loss.odds_bound
    beliefs = [
        _belief(Fraction(share), odds)
        for share in sorted({Fraction(prior), *(Fraction(share, 100) for share in _PRIORS)})
    ]
    goal, points = share_goal(2), float(Fraction(margin))
    plans = [respondents_for(goal, at, points) for at in sorted({*EPSILONS, level.ln})]
    prices: list[dict[str, Cell]] = [
        {"what": "respondents", "epsilon": plan.epsilon, "n": plan.n, "curator": plan.curator,
         "direct": plan.direct}
        for plan in plans
    ]  # fmt: skip
    ours = next(row for row in prices if row["epsilon"] == level.ln)
    at_prior = next(row for row in beliefs if row["prior"] == float(Fraction(prior)))
    ours_too = [("this epsilon", "answer", level.ln, "this page")]
    of_surveys = [(name, "person", level, "its definition") for name, level in register]
    others = _others([*ours_too, *of_surveys])
    rows = [*frequencies, *beliefs, *prices, *others]

    yes, no = (hundred(value(row, "exact")) for row in frequencies)
    half = 100 * points
    answer = (
        f"At epsilon {privacy_text(level)}, {yes} of 100 people who have it report it, and {no} of"
        f" 100 who do not. A reader who thought it {hundred(Fraction(prior))}{NARROW}% likely"
        f" thinks it {hundred(value(at_prior, 'after'))}{NARROW}% likely at most after the report."
        f" A share to ±{number(half, 0 if half % 1 < 1e-9 else 1)} points takes"
        f" {counted(round(value(ours, 'n')), 'person', 'people')}."
    )
    days = {deployment.read.isoformat() for deployment in deployments()}
    notes = [
        f"One report changes the odds by a factor of {odds_text(odds)} at most.",
        f"Epsilons of others as published, read on {max(days)}. They are for different units. A"
        " central epsilon holds only against readers, because the curator sees every answer. So a"
        " smaller number is not always more protection.",
    ]
    pictures = _pictures(frequencies, beliefs, at_prior, prices, ours, others)
    return ExperimentFindings(answer, rows, pictures, notes, mechanism.described)


def _frequency(who: str, chance: Fraction, count: int) -> dict[str, Cell]:
    return {
        "what": "frequency",
        "who": who,
        "exact": float(chance),
        "drawn": count / PEOPLE,
        "standard_error": sqrt(float(chance * (1 - chance)) / PEOPLE),
    }


def _belief(prior: Fraction, odds: Fraction) -> dict[str, Cell]:
    """How likely an answer is thought after the report most against it, and most for it."""
    return {"what": "belief", "prior": float(prior), "against": float(after(prior, 1 / odds)),
            "after": float(after(prior, odds))}  # fmt: skip


def _others(ours: Sequence[tuple[str, str, float, str]]) -> list[dict[str, Cell]]:
    """The epsilons of others and ours, the smallest first."""
    rows: list[dict[str, Cell]] = [
        {"what": "deployment", "who": f"{deployment.who}: {deployment.what}",
         "epsilon": float(deployment.epsilon), "delta": float(deployment.delta),
         "unit": deployment.unit, "model": deployment.model, "year": deployment.year,
         "source": deployment.source, "read": deployment.read.isoformat()}
        for deployment in deployments()
    ]  # fmt: skip
    for name, unit, epsilon, source in ours:
        rows.append({"what": "deployment", "who": name, "epsilon": epsilon, "unit": unit,
                     "model": "yours", "source": source})  # fmt: skip
    # By name too, so that equal epsilons have one order on every machine.
    return sorted(rows, key=lambda row: (value(row, "epsilon"), str(row["who"])))


def _pictures(
    frequencies: list[dict[str, Cell]],
    beliefs: list[dict[str, Cell]],
    at_prior: dict[str, Cell],
    prices: list[dict[str, Cell]],
    ours: dict[str, Cell],
    others: list[dict[str, Cell]],
) -> list[Picture]:
    whole = of_parts([0, 1])
    people = of_ratios([*column(prices, "n"), *column(prices, "curator"),
                        *column(prices, "direct")])  # fmt: skip
    return [
        Picture(
            f"Of 100 people; dots are {PEOPLE:,} of each whose coins were thrown",
            Bars(whole, "of these people", [
                bar(row, str(row["who"]), "exact", f"{hundred(value(row, 'exact'))} of 100",
                    tone, dot="drawn")
                for row, tone in zip(frequencies, _FREQUENCY_TONES, strict=True)
            ]),
        ),
        Picture(
            "How likely the answer is thought to be, before and after one report",
            Graph(whole, "thought likely before", whole, "thought likely after", [
                band(beliefs, "prior", "against", "after", "whatever is reported"),
                line(beliefs, "prior", "prior", "nothing learned", "mute", dashed=True),
                dots([at_prior], "prior", "after", "at most, from here"),
            ]),
        ),
        Picture(
            "How many people it takes",
            Graph(of_ratios(column(prices, "epsilon")), "epsilon", people, "people", [
                line(prices, "epsilon", "n", "no curator", "mark"),
                line(prices, "epsilon", "curator", "a trusted curator", "mute"),
                line(prices, "epsilon", "direct", "asked directly", "mute", dashed=True),
                dots([ours], "epsilon", "n", "at this epsilon"),
            ]),
        ),
        Picture(
            "The epsilons that others took; pale ones trust a curator",
            Bars(of_values([0.0, *column(others, "epsilon")]), "epsilon", [
                bar(row, _short(f"{row['who']}, {row['unit']}"), "epsilon",
                    _epsilon(value(row, "epsilon")), _TONES[str(row["model"])])
                for row in others
            ]),
        ),
    ]  # fmt: skip


_FREQUENCY_TONES: tuple[Tone, Tone] = ("mark", "second")
_LONGEST = 38


def _short(label: str) -> str:
    return label if len(label) <= _LONGEST else f"{label[: _LONGEST - 1].rstrip(' ,')}…"


def _epsilon(number: float) -> str:
    return to_decimal_text(Fraction(str(round(number, 4))))
