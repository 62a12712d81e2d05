"""The exhibit of differences between answers: which differ, by how much, and which may not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from deniably.core.counting import people
from deniably.exhibits import tested
from deniably.exhibits.exhibit import Exhibit, Picture, Printed, Records, stated
from deniably.exhibits.marks import Strips
from deniably.exhibits.paper import headed
from deniably.results.among_asked import of_pairs, of_whom
from deniably.results.comparison import AdjustedResult, DifferencesResult
from deniably.results.drawing import axes, digits
from deniably.results.drawing.row import Row
from deniably.results.narrative import level_text, quoted
from deniably.results.provenance import SAMPLE, Protection, ResultsSource, legend
from deniably.results.rows import ResultRow
from deniably.survey.questions import NOT_APPLICABLE
from deniably.survey.readable import short_label
from deniably.survey.strata import stratum_text
from deniably.survey.survey import Survey

_MOST_NAMED = 3
COLUMNS = (
    "survey", "strata", "question", "other_survey", "n", "first", "first_label", "second",
    "second_label", "estimate", "low", "high", "confidence", "standard_error", "p_value",
    "adjusted_p_value", "adjustment", "note",
)  # fmt: skip
"""The columns of the CSV of differences."""
HEADS = ("Points", *tested.HEADS)


DIFFERENCE = (
    "Difference of unbiased estimates with a score test; p-values of several tests at once adjusted"
    " by Holm (1979)."
)


def exhibit(
    found: DifferencesResult, survey: Survey, state: str = "closed", closed: str = ""
) -> Exhibit:
    """The differences of a question of ``survey``, which is in this state, since the day
    ``closed``."""
    question = survey.question(found["question_name"])
    other, level, count = found["other"], level_text(found["confidence"]), len(found["differences"])
    title, before = headed(short_label(question), found["question"])
    what = f"Shares less those in survey {other}" if other else "Differences of shares"
    explained = (
        f"Share here less the share in {other}, in percentage points"
        if other
        else "Difference between the shares of two answers, in percentage points"
    )
    whom = of_whom(question, asked=True) if other else of_pairs(question)
    notes = dict.fromkeys(stated(*(one["note"] for one in found["differences"])))
    heading = f"What differs from {other}?" if other else "Which answers differ?"
    return Exhibit(
        document=found,
        file="-".join(
            [found["survey"], *found["strata"].values(), found["question_name"], "differences"]
        ),
        heading=heading,
        about=f"the differences in “{found['question']}”",
        source=ResultsSource.of_survey(survey, state, found["n"], closed, found["strata"]),
        protections=[Protection.of_question(question)],
        confidence=found["confidence"],
        finding=statement(found),
        family=family(found),
        pictures=lambda: [Picture(forest(found))],
        records=Records(COLUMNS, lambda: difference_rows(found)),
        numbers=lambda: [Printed("differences", ("Difference", *HEADS), numbers(found))],
        method=lambda: [
            "Each p-value is that of a score test, and each interval holds all differences that"
            " this test does not reject: it leaves out 0 exactly where “p alone” is below"
            f" {1 - found['confidence']:g}. The adjusted p-value takes into account that {count}"
            " were tested at once (Holm 1979). Differences that cannot be told apart need not be"
            " equal."
        ],
        estimator=DIFFERENCE,
        label=found["question"],
        whom=whom,
        claim=finding(found, of_some=whom != ""),
        notes=lambda: stated(
            f"{explained}; the dark line is “no difference”. Grey with an open dot: cannot be told"
            " apart. Intervals are for each comparison alone; dots are filled by the adjusted"
            " p-value.",
            found["differences"][0]["note"],
        ),
        caption=f"Differences: {found['question']}",
        lines=lambda: Printed(
            "",
            ("compared", *tested.printed_heads(found["confidence"])),
            [(one["compared"], *tested.printed(one)) for one in found["differences"]],
        ),
        remarks=[*notes],
        title=title,
        lede=f"{before}{what}, in percentage points, {people(found['n'])}.",
        rows="differences",
        opening=stated(statement(found), family(found)),
        legend=[
            *stated(found["differences"][0]["note"]),
            legend(found["confidence"], "grey and open where the two cannot be told apart"),
            "Intervals are for each comparison alone.",
        ],
        effect=f" {SAMPLE}",
        asks=[found["question"]],
        words=f". {statement(found)} {what} in percentage points, with {level} intervals:",
    )


def rows(found: DifferencesResult) -> list[Row]:
    """The largest difference first, each of the larger share over the smaller. Grey with an open
    dot: not shown to differ."""
    return [tested.row(_label(one), one) for one in _by_size(found)]


def statement(found: DifferencesResult) -> str:
    """How many differ, and which of the others cannot be told apart."""
    every = found["differences"]
    apart = [one for one in every if tested.differs(one)]
    what = "answers" if found["other"] else "pairs of answers"
    if not apart:
        return f"None of these {what} can be told apart." if len(every) > 1 else _one(every[0])
    if len(every) == 1:
        return _one(every[0])
    many = f"All {len(every)}" if len(apart) == len(every) else f"{len(apart)} of {len(every)}"
    said = f"{many} {what} differ{'s' if len(apart) == 1 else ''} by more than chance explains"
    rest = [one for one in every if not tested.differs(one)]
    if not rest:
        return f"{said}."
    if len(rest) > _MOST_NAMED:
        return f"{said}; the others cannot be told apart."
    if len(rest) == 1:
        return f"{said}; {_two(rest[0])} cannot be told apart."
    return f"{said}; these cannot be told apart: {'; '.join(map(_two, rest))}."


def family(found: DifferencesResult) -> str:
    """How the tests were adjusted for being many, and which would differ alone; empty for one."""
    every = found["differences"]
    if len(every) == 1:
        return ""
    said = (
        f"All {len(every)} were tested at once (Holm 1979): the risk that any of the differences"
        f" shown is chance is 5{digits.NARROW}% over all."
    )
    alone = [one for one in every if not tested.differs(one) and _leaves_out_0(one)]
    if not alone:
        return said
    which = "; ".join(map(_two, alone)) if len(alone) <= _MOST_NAMED else f"{len(alone)} others"
    return (
        f"{said} Tested alone, {which} would differ, too, so the interval leaves out 0; among"
        f" {len(every)} tests this can be chance."
    )


def _leaves_out_0(one: AdjustedResult) -> bool:
    low, high = one["interval"]
    return not low <= 0 <= high


def finding(found: DifferencesResult, *, of_some: bool = False) -> str:
    """Says which answer leads, if the differences show it; empty for two surveys.

    Of a question that was asked ``of_some`` people, "not applicable" is no answer that leads.
    """
    if found["other"]:
        return ""
    labels: list[str] = []
    below: dict[str, set[str]] = {}  # answer -> those shown to be less frequent
    for one in found["differences"]:
        if of_some and NOT_APPLICABLE in one["names"]:
            continue
        larger, smaller = one["labels"] if one["estimate"] >= 0 else one["labels"][::-1]
        labels += [label for label in one["labels"] if label not in labels]
        if tested.differs(one):
            below.setdefault(larger, set()).add(smaller)
    beaten = set[str]().union(*below.values())
    leaders = [label for label in labels if label not in beaten]
    behind = set(labels) - set(leaders)
    if not leaders or not behind or any(below.get(label, set()) < behind for label in leaders):
        return "No answer is clearly in front."
    if len(leaders) == 1:
        return f"“{leaders[0]}” is more frequent than every other answer."
    return f"{quoted(leaders)} lead over all others; which of them is in front is open."


def numbers(found: DifferencesResult) -> list[list[str]]:
    """A line for each difference: what, then its figures as ``HEADS`` names them."""
    return [[_label(one), *tested.numbers(one)] for one in _by_size(found)]


def difference_rows(found: DifferencesResult) -> Iterator[ResultRow]:
    """A line of the CSV for each difference, in the order of the document."""
    for one in found["differences"]:
        names, labels = ([*one[key], ""][:2] for key in ("names", "labels"))
        low, high = one["interval"]
        yield {
            "survey": found["survey"],
            "strata": stratum_text(found["strata"]),
            "question": found["question_name"],
            "other_survey": found["other"],
            "n": found["n"],
            "first": names[0],
            "first_label": labels[0],
            "second": names[1],
            "second_label": labels[1],
            "estimate": one["estimate"],
            "low": low,
            "high": high,
            "confidence": one["confidence"],
            "standard_error": one["standard_error"],
            "p_value": one["p_value"],
            "adjusted_p_value": one["adjusted_p_value"],
            "adjustment": found["adjustment"],
            "note": one["note"],
        }


# --- below ------------------------------------------------------------------------------------


def forest(found: DifferencesResult) -> Strips:
    """The differences on one axis with nought."""
    drawn, level = rows(found), level_text(found["confidence"])
    return Strips(
        drawn, axes.of_differences(drawn), about=f"Differences: {found['question']}",
        heads=("Points", f"{level} interval"),
        heading="Answer" if found["other"] else "Two answers",
    )  # fmt: skip


def _by_size(found: DifferencesResult) -> list[AdjustedResult]:
    """The largest first; of two answers, each as the larger over the smaller."""
    turned = found["differences"] if found["other"] else map(_larger_first, found["differences"])
    return sorted(turned, key=lambda one: -abs(one["estimate"]))


def _larger_first(one: AdjustedResult) -> AdjustedResult:
    if one["estimate"] >= 0:
        return one
    low, high = one["interval"]
    return {
        **one,
        "names": one["names"][::-1],
        "labels": one["labels"][::-1],
        "estimate": -one["estimate"],
        "interval": [-high, -low],
        "interval_80": _turned(one["interval_80"]),
        "interval_50": _turned(one["interval_50"]),
    }


def _turned(interval: Sequence[float] | None) -> list[float] | None:
    return None if interval is None else [-interval[1], -interval[0]]


def _label(one: AdjustedResult) -> str:
    return " over ".join(one["labels"])


def _one(one: AdjustedResult) -> str:
    return f"{_two(one)} {'differ' if tested.differs(one) else 'cannot be told apart'}."


def _two(one: AdjustedResult) -> str:
    return quoted(one["labels"])
