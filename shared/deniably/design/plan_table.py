"""Plans a survey as a table: respondents, margins, epsilons, and the price of protection."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

from deniably.core.counting import people
from deniably.core.table import Cell, Table
from deniably.design.delta_rule import delta_warning
from deniably.design.mixer_plan import answer_losses
from deniably.design.planning import ASKED, PlanRow, combined_plan, plan_figures
from deniably.design.release_of_counts import counts_notes
from deniably.survey.guessing_rates import rate_text
from deniably.survey.mixer import Mixer
from deniably.survey.odds import odds_at, odds_text, surest
from deniably.survey.privacy import to_decimal_text
from deniably.survey.survey import Survey

TOGETHER = "all together"

_TEXTS = 2  # columns
_DELTA = 5  # the place of its column
_PRICE = ("asked directly", "trusted curator")


@dataclass(frozen=True, eq=False, repr=False)
class Planned(Table):
    """The table of a plan for a survey; its last row is for all questions together.

    Each row has ``question``, ``figure``, ``epsilon``, ``odds``, ``worst_guess`` (the largest
    probability of a right guess between two equally likely answers), ``delta`` (a text), ``n``
    respondents and a ``note``. ``margin`` is half an interval, as a fraction of 1 for a share or of
    the range for a mean. ``direct`` is how many people direct questions without noise would need,
    ``curator`` how many a trusted curator would need, and ``design_effect`` is n / direct. In a
    survey with a mixer ``server_odds`` and ``server_epsilon`` are those against the survey's server
    alone; the others hold if the mixer works together with it.
    """


def plan_survey(
    survey: Survey,
    *,
    n: int | None = None,
    margin: float | None = None,
    share: float | None = None,
    confidence: float = 0.95,
    times: float = 1,
    counts: bool = False,
    asked: float = ASKED,
) -> Planned:
    """Plans a survey: the margins of ``n`` respondents, or the respondents for a ``margin``.

    With both, it finds the epsilon that each question would need. ``margin`` is half an interval:
    0.05 for five points of a share, or five percent of the range of a mean. ``share`` is the
    expected share, by default the one with the widest margin. ``confidence`` is the fraction of
    surveys in which margins hold. ``times`` multiplies every question's epsilon. ``counts`` adds
    notes on the privacy against people who see only the counts of reports. ``asked`` is the
    fraction of people who are asked a question with ``show_if``, for margins among these people.
    Raises ValueError where neither n nor margin is given, and where no epsilon is enough.

    >>> from deniably import load_survey, plan_survey
    >>> survey = load_survey({
    ...     "name": "workplace",
    ...     "title": "Honesty at work",
    ...     "questions": [{"name": "stolen", "type": "yes_no", "label": "Stolen?", "odds": 3}],
    ... })
    >>> plan_survey(survey, margin=0.05).rows[0]["n"]
    1537
    >>> round(plan_survey(survey, n=1_000).rows[0]["margin"], 3)
    0.062
    """
    rows = plan_figures(survey, n=n, margin=margin, share=share, confidence=confidence, times=times,
                        asked=asked)  # fmt: skip
    if not rows:
        raise ValueError(
            "the noise hides every figure of this survey; deniably check says what to change"
        )
    rows.append(PlanRow(TOGETHER, "", combined_plan(survey, rows), delta=survey.total.delta))
    more = counts_notes(survey, rows[-1].plan.n) if counts else []
    table = planned(rows, confidence, f"{survey.name}: {survey.title}", more)
    return _with_mixer(table, survey, rows, confidence) if survey.mixer else table


def _with_mixer(
    table: Planned, survey: Survey, rows: Sequence[PlanRow], confidence: float
) -> Planned:
    """The table of a plan with both odds of each row, in place of those for a trusted curator."""
    alone = answer_losses(survey) | {TOGETHER: survey.server_loss}
    heading = ("question", "figure", "server alone", "together", "respondents", "margin")
    lines: list[tuple[str, ...]] = [(*heading, "asked directly")]
    cells: list[dict[str, Cell]] = []
    for row, shown in zip(rows, table.rows, strict=True):
        loss, plan = alone[row.question], row.plan
        odds = [odds_text(loss.odds_bound), odds_text(odds_at(plan.epsilon))]
        numbers = (f"{plan.n:,}", f"{100 * plan.margin:.1f} %", f"{plan.direct:,}")
        lines.append((row.question, row.figure, *odds, *numbers))
        server = {"server_epsilon": loss.epsilon, "server_odds": float(loss.odds_bound)}
        cells.append({**shown, **server})
    notes = [
        *(f"{row.question}, {row.figure}: {row.note}" for row in rows if row.note),
        *mixer_notes(survey),
        f"Margins hold in {100 * confidence:g} of 100 surveys.",
    ]
    return replace(table, rows=cells, lines=lines, notes=notes)


def mixer_notes(survey: Survey) -> list[str]:
    """Returns sentences on the two odds of a survey with a mixer; none for another one."""
    if not isinstance(survey.mixer, Mixer):
        return []
    by, blanks = survey.mixer.by, survey.mixer.blanks
    chance = 1 / survey.mixer.claim.loss.delta
    return [
        "Server alone: how far at most the survey's server can shift the odds between two answers,"
        " or between two lists of answers to everything, by what it gets, if the mixer adds its"
        f" {blanks:,} blanks to each question. This can fail once in {int(chance):,}. The odds of"
        " all together are no product of those of single answers.",
        f"Together: the same if {by} works together with the server, or adds no blanks.",
    ]


def planned(
    rows: Sequence[PlanRow], confidence: float, caption: str = "", more: Sequence[str] = ()
) -> Planned:
    """Returns the table of some plans, with the notes ``more`` before the table's own notes."""
    notes = [*more, *_notes(rows, confidence)]
    return Planned(caption, list(map(_cells, rows)), _shown(rows), _TEXTS, notes)


def _cells(row: PlanRow) -> dict[str, Cell]:
    return {
        "question": row.question,
        "figure": row.figure,
        **asdict(row.plan),
        "odds": float(odds_at(row.plan.epsilon)),
        "worst_guess": float(surest(odds_at(row.plan.epsilon))),
        "design_effect": round(row.plan.design_effect, 4),
        "note": row.note,
        "delta": to_decimal_text(row.delta),
    }


def _shown(rows: Sequence[PlanRow]) -> list[tuple[str, ...]]:
    heading = ("epsilon", "odds", "worst guess", "delta", "respondents", "margin")
    table = [("question", "figure", *heading, *_PRICE), *map(_texts, rows)]
    if not any(row.delta for row in rows):
        table = [(*line[:_DELTA], *line[_DELTA + 1 :]) for line in table]
    return table


def _texts(row: PlanRow) -> tuple[str, ...]:
    plan = row.plan
    return (
        row.question,
        row.figure,
        f"{plan.epsilon:.2f}",
        odds_text(odds_at(plan.epsilon)),
        str(rate_text(surest(odds_at(plan.epsilon)))),
        to_decimal_text(row.delta),
        f"{plan.n:,}",
        f"{100 * plan.margin:.1f} %",
        f"{plan.direct:,}",
        f"{plan.curator:,}",
    )


def _notes(rows: Sequence[PlanRow], confidence: float) -> list[str]:
    rest = [row for row in rows if row.question != TOGETHER]
    worst = max(rest, key=lambda row: (row.plan.n, row.plan.design_effect)).plan
    return [
        *(f"{row.question}, {row.figure}: {row.note}" for row in rows if row.note),
        *filter(None, [delta_warning(rows[-1].delta, rows[-1].plan.n)]),
        "Worst guess: of 100 guesses between two answers that seemed equally likely, how many can"
        " be right at most, once the report is seen.",
        f"Margins hold in {100 * confidence:g} of 100 surveys. The same margin would take"
        f" {people(worst.direct)} asked directly, and {worst.curator:,} if a trusted curator"
        " collected true answers and published at the same epsilon: protection costs"
        f" {'up to ' if len(rest) > 1 else ''}{worst.design_effect:.1f} times the respondents.",
    ]
