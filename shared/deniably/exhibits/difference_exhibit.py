"""Makes the exhibit of the differences between answers: which differ, by how much, and which may
not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from deniably.core.counting import people
from deniably.exhibits import tested_difference
from deniably.exhibits.exhibit import Exhibit, Picture, Printed, Records, stated
from deniably.exhibits.marks import Strips
from deniably.exhibits.paper import headed
from deniably.results.among_asked import of_pairs, of_whom
from deniably.results.differences import AdjustedResult, DifferencesResult
from deniably.results.drawing import axes, rounding
from deniably.results.drawing.row import Row
from deniably.results.narrative import level_text, quoted
from deniably.results.provenance import SAMPLE, Protection, ResultsSource, legend
from deniably.results.rows import ResultRow
from deniably.survey.questions import NOT_APPLICABLE
from deniably.survey.readable import short_label
from deniably.survey.strata import stratum_text
from deniably.survey.survey import Survey

_MOST_NAMED = 3  # pairs of answers that a sentence lists
COLUMNS = (
    "survey", "strata", "question", "other_survey", "n", "first", "first_label", "second",
    "second_label", "estimate", "low", "high", "confidence", "standard_error", "p_value",
    "adjusted_p_value", "adjustment", "note",
)  # fmt: skip
"""The columns of the CSV of differences."""
HEADS = ("Points", *tested_difference.HEADS)
"""The headings of ``numbers`` after the label."""


DIFFERENCE = (
    "Difference of unbiased estimates with a score test; p-values of several tests at once adjusted"
    " by Holm (1979)."
)


def exhibit(
    document: DifferencesResult, survey: Survey, state: str = "closed", closed: str = ""
) -> Exhibit:
    """Returns the exhibit of the differences in one question of ``survey``: its words, pictures
    and numbers.

    ``state`` is "open" or "closed", and ``closed`` the day on which the survey was closed, empty
    if that is not known.
    """
    question = survey.question(document["question_name"])
    other, level, count = (
        document["other"],
        level_text(document["confidence"]),
        len(document["differences"]),
    )
    title, before = headed(short_label(question), document["question"])
    what = f"Shares less those in survey {other}" if other else "Differences of shares"
    explained = (
        f"Share here less the share in {other}, in percentage points"
        if other
        else "Difference between the shares of two answers, in percentage points"
    )
    whom = of_whom(question, asked=True) if other else of_pairs(question)
    # A dict, as several differences often share a note, and each is shown once, in order.
    notes = dict.fromkeys(stated(*(difference["note"] for difference in document["differences"])))
    heading = f"What differs from {other}?" if other else "Which answers differ?"
    return Exhibit(
        document=document,
        file=file_name(document),
        heading=heading,
        about=f"the differences in “{document['question']}”",
        source=ResultsSource.of_survey(survey, state, document["n"], closed, document["strata"]),
        protections=[Protection.of_question(question)],
        confidence=document["confidence"],
        finding=statement(document),
        family=family(document),
        pictures=lambda: [Picture(forest(document))],
        records=records(document),
        numbers=lambda: [Printed("differences", ("Difference", *HEADS), numbers(document))],
        method=lambda: [
            "Each p-value is that of a score test, and each interval holds all differences that"
            " this test does not reject: it leaves out 0 exactly where “p alone” is below"
            f" {1 - document['confidence']:g}. The adjusted p-value takes into account that {count}"
            " were tested at once (Holm 1979). Differences that cannot be told apart need not be"
            " equal."
        ],
        estimator=DIFFERENCE,
        label=document["question"],
        whom=whom,
        claim=finding(document, of_some=whom != ""),
        notes=lambda: stated(
            f"{explained}; the dark line is “no difference”. Grey with an open dot: cannot be told"
            " apart. Intervals are for each comparison alone; dots are filled by the adjusted"
            " p-value.",
            document["differences"][0]["note"],
        ),
        caption=f"Differences: {document['question']}",
        lines=lambda: Printed(
            "",
            ("compared", *tested_difference.printed_heads(document["confidence"])),
            [
                (difference["compared"], *tested_difference.printed(difference))
                for difference in document["differences"]
            ],
        ),
        remarks=[*notes],
        title=title,
        lede=f"{before}{what}, in percentage points, {people(document['n'])}.",
        rows="differences",
        opening=stated(statement(document), family(document)),
        legend=[
            *stated(document["differences"][0]["note"]),
            legend(document["confidence"], "grey and open where the two cannot be told apart"),
            "Intervals are for each comparison alone.",
        ],
        effect=f" {SAMPLE}",
        asks=[document["question"]],
        words=f". {statement(document)} {what} in percentage points, with {level} intervals:",
    )


def file_name(document: DifferencesResult) -> str:
    """Returns the name of the files of the differences, without an ending."""
    subgroup = document["strata"].values()
    return "-".join([document["survey"], *subgroup, document["question_name"], "differences"])


def records(document: DifferencesResult) -> Records:
    """Returns the exact numbers of the differences, one row per difference."""
    return Records(COLUMNS, lambda: difference_rows(document))


def rows(document: DifferencesResult) -> list[Row]:
    """Returns a drawn row for each difference, the largest first. Of two answers, the more
    frequent one comes first. A row whose test shows no difference is grey with an open dot."""
    return [
        tested_difference.row(_label(difference), difference) for difference in _by_size(document)
    ]


def statement(document: DifferencesResult) -> str:
    """Returns a sentence with the number of differences that the tests show, and the names of the
    pairs that cannot be told apart."""
    differences = document["differences"]
    apart = [difference for difference in differences if tested_difference.differs(difference)]
    what = "answers" if document["other"] else "pairs of answers"
    if not apart:
        return (
            f"None of these {what} can be told apart."
            if len(differences) > 1
            else _verdict(differences[0])
        )
    if len(differences) == 1:
        return _verdict(differences[0])
    many = (
        f"All {len(differences)}"
        if len(apart) == len(differences)
        else f"{len(apart)} of {len(differences)}"
    )
    text = f"{many} {what} differ{'s' if len(apart) == 1 else ''} by more than chance explains"
    rest = [difference for difference in differences if not tested_difference.differs(difference)]
    if not rest:
        return f"{text}."
    if len(rest) > _MOST_NAMED:
        return f"{text}; the others cannot be told apart."
    if len(rest) == 1:
        return f"{text}; {_pair(rest[0])} cannot be told apart."
    return f"{text}; these cannot be told apart: {'; '.join(map(_pair, rest))}."


def family(document: DifferencesResult) -> str:
    """Returns sentences on how the p-values of several tests were adjusted, and which pairs would
    differ if tested alone; empty for a single test."""
    differences = document["differences"]
    if len(differences) == 1:
        return ""
    text = (
        f"All {len(differences)} were tested at once (Holm 1979): the risk that any of the"
        f" differences shown is chance is 5{rounding.NARROW}% over all."
    )
    alone = [
        difference
        for difference in differences
        if not tested_difference.differs(difference) and _leaves_out_0(difference)
    ]
    if not alone:
        return text
    which = "; ".join(map(_pair, alone)) if len(alone) <= _MOST_NAMED else f"{len(alone)} others"
    return (
        f"{text} Tested alone, {which} would differ, too, so the interval leaves out 0; among"
        f" {len(differences)} tests this can be chance."
    )


def _leaves_out_0(difference: AdjustedResult) -> bool:
    low, high = difference["interval"]
    return not low <= 0 <= high


def finding(document: DifferencesResult, *, of_some: bool = False) -> str:
    """Returns a sentence on which answer is the most frequent, as far as the tests show that;
    empty if two surveys are compared.

    With ``of_some``, only some people were asked the question, and "not applicable" is not
    considered as an answer.
    """
    if document["other"]:
        return ""
    labels: list[str] = []
    below: dict[str, set[str]] = {}  # answer -> those shown to be less frequent
    for difference in document["differences"]:
        if of_some and NOT_APPLICABLE in difference["names"]:
            continue
        larger, smaller = (
            difference["labels"] if difference["estimate"] >= 0 else difference["labels"][::-1]
        )
        labels += [label for label in difference["labels"] if label not in labels]
        if tested_difference.differs(difference):
            below.setdefault(larger, set()).add(smaller)
    beaten = set[str]().union(*below.values())
    # An answer leads if no other is shown to be above it. The leaders are clearly in front only if
    # each of them is shown to be above all the others; tests of pairs need not be transitive.
    leaders = [label for label in labels if label not in beaten]
    behind = set(labels) - set(leaders)
    if not leaders or not behind or any(below.get(label, set()) < behind for label in leaders):
        return "No answer is clearly in front."
    if len(leaders) == 1:
        return f"“{leaders[0]}” is more frequent than every other answer."
    return f"{quoted(leaders)} lead over all others; which of them is in front is open."


def numbers(document: DifferencesResult) -> list[list[str]]:
    """Returns a line of texts for each difference: its label, then its figures under the headings
    ``HEADS``."""
    return [
        [_label(difference), *tested_difference.numbers(difference)]
        for difference in _by_size(document)
    ]


def difference_rows(document: DifferencesResult) -> Iterator[ResultRow]:
    """Yields a row of the CSV for each difference, in the order of the document."""
    for difference in document["differences"]:
        # Against another survey a difference is of one answer: the second is then empty.
        names, labels = ([*difference[key], ""][:2] for key in ("names", "labels"))
        low, high = difference["interval"]
        yield {
            "survey": document["survey"],
            "strata": stratum_text(document["strata"]),
            "question": document["question_name"],
            "other_survey": document["other"],
            "n": document["n"],
            "first": names[0],
            "first_label": labels[0],
            "second": names[1],
            "second_label": labels[1],
            "estimate": difference["estimate"],
            "low": low,
            "high": high,
            "confidence": difference["confidence"],
            "standard_error": difference["standard_error"],
            "p_value": difference["p_value"],
            "adjusted_p_value": difference["adjusted_p_value"],
            "adjustment": document["adjustment"],
            "note": difference["note"],
        }


# --- below ------------------------------------------------------------------------------------


def forest(document: DifferencesResult) -> Strips:
    """Returns the differences as strips on one axis that includes 0."""
    drawn, level = rows(document), level_text(document["confidence"])
    return Strips(
        drawn, axes.of_differences(drawn), about=f"Differences: {document['question']}",
        heads=("Points", f"{level} interval"),
        heading="Answer" if document["other"] else "Two answers",
    )  # fmt: skip


def _by_size(document: DifferencesResult) -> list[AdjustedResult]:
    """Returns the largest first; of two answers, each as the larger over the smaller."""
    turned = (
        document["differences"]
        if document["other"]
        else map(_larger_first, document["differences"])
    )
    return sorted(turned, key=lambda difference: -abs(difference["estimate"]))


def _larger_first(difference: AdjustedResult) -> AdjustedResult:
    if difference["estimate"] >= 0:
        return difference
    low, high = difference["interval"]
    return {
        **difference,
        "names": difference["names"][::-1],
        "labels": difference["labels"][::-1],
        "estimate": -difference["estimate"],
        "interval": [-high, -low],
        "interval_80": _turned(difference["interval_80"]),
        "interval_50": _turned(difference["interval_50"]),
    }


def _turned(interval: Sequence[float] | None) -> list[float] | None:
    return None if interval is None else [-interval[1], -interval[0]]


def _label(difference: AdjustedResult) -> str:
    return " over ".join(difference["labels"])


def _verdict(difference: AdjustedResult) -> str:
    verdict = "differ" if tested_difference.differs(difference) else "cannot be told apart"
    return f"{_pair(difference)} {verdict}."


def _pair(difference: AdjustedResult) -> str:
    return quoted(difference["labels"])
