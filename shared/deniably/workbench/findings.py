"""Makes the tables that a study's methods return: figures, their estimator, and the pictures of
the pages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

from deniably.core.errors import NoFigure
from deniably.core.languages.html import Html
from deniably.core.table import Cell, Table
from deniably.estimation.weighted_tally import Weighing
from deniably.exhibits import difference_exhibit, notebook, printing, question_exhibit
from deniably.exhibits.difference_exhibit import DIFFERENCE
from deniably.exhibits.printing import TEXTS, table_lines, whole_rows
from deniably.exhibits.results_table import Results, as_results
from deniably.exhibits.tabular import NOTHING, Findings, below, whole
from deniably.results.among_asked import of_whom as whose
from deniably.results.differences import Side, StatedDifference
from deniably.results.document import AmongAskedResult, NumberResult, QuantileResult, SurveyResult
from deniably.results.drawing import rounding
from deniably.results.narrative import level_text
from deniably.results.rows import OF_THOSE_ASKED, SHARE_ASKED, ResultRow, rows, rows_among_asked
from deniably.survey.questions import Question
from deniably.survey.readable import number_text
from deniably.survey.strata import stratum_text


@dataclass(frozen=True, eq=False, repr=False)
class Subgroups(Table):
    """The results of each value of a stratum key, one after the other. ``parts`` maps each value
    to its results.

    ``rows`` have the columns of ``results.csv``; the column ``strata`` names the subgroup.
    """

    parts: Mapping[str, Results]

    def to_dict(self) -> dict[str, Any]:
        """Returns {value: results of that subgroup}, all as plain values for JSON."""
        return {value: part.to_dict() for value, part in self.parts.items()}

    def _repr_html_(self) -> str:
        return Html.joined(
            "", (notebook.html(part.document) for part in self.parts.values())
        ).source


class Passage(str):
    """A text for a paper, with paragraphs. A notebook keeps the line breaks."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return Html.filled(
            '<div style="white-space: pre-wrap; max-width: 42rem">{text}</div>',
            text=Html.text(self),
        ).source  # fmt: skip


SHARES = "Unbiased shares, by the inverse of the channel (Warner 1965; Wang et al. 2017)."
MEAN = (
    "Mean of unbiased scores of the reports, by the inverse of the channel (Horvitz and Thompson"
    " 1952; Duchi, Jordan and Wainwright 2018)."
)
DISTRIBUTION = (
    "Shares for display by expectation maximisation on whole reports (Li et al. 2020); shares up to"
    " a number unbiased."
)
QUANTILE = (
    "The bucket in which the distribution for display first reaches the share; intervals by profile"
    " likelihood (Wilks 1938) or by the margins of the shares up to a number."
)
WEIGHTED = (
    "Weighted mean of unbiased scores, as R's svymean has it (Binder 1983, Int. Stat. Rev. 51:279);"
    " intervals at as many people as would know it without weights (Korn and Graubard 1998)."
)
WEIGHTED_DISTRIBUTION = (
    "Weighted shares, fitted and estimated as those of as many people as would know every share up"
    " to a number without weights (Korn and Graubard 1998): for display by expectation maximisation"
    " (Li et al. 2020); shares up to a number unbiased."
)
WEIGHTED_QUANTILE = (
    "The bucket in which the weighted distribution for display first reaches the share; intervals"
    " by profile likelihood (Wilks 1938) or by the margins of the shares up to a number, of as many"
    " people as would know every such share without weights (Korn and Graubard 1998)."
)
WEIGHTED_CROSSTAB = (
    "Weighted means of unbiased joint scores, as R's svymean has them (Binder 1983); intervals at"
    " as many people as would know each figure without weights (Korn and Graubard 1998);"
    " independence by the test of Rao and Scott (1984), with the variance of independent answers."
)
WEIGHTED_DIFFERENCE = (
    "Difference of weighted means of unbiased scores, with their linearised errors (Binder 1983)"
    " and a score test at as many people as would know them without weights (Korn and Graubard"
    " 1998); p-values of several tests at once adjusted by Holm (1979)."
)


def of_subgroups(title: str, documents: Mapping[str, SurveyResult]) -> Subgroups:
    """Returns one table with the results of several subgroups. ``documents`` maps each value of a
    stratum key to its results."""
    parts = {value: as_results(document) for value, document in documents.items()}
    lines = list[Sequence[str]]()
    for value, part in parts.items():
        head, *rest = part.lines
        lines += [] if lines else [("group", *head)]
        lines += [(value if number == 0 else "", *line) for number, line in enumerate(rest)]
    rows = [row for part in parts.values() for row in part.rows]
    notes = [f"{value}: {note}" for value, part in parts.items() for note in part.notes]
    return Subgroups(title, rows, lines, TEXTS + 1, notes, parts)


def of_mean(document: SurveyResult, only: str | None = None) -> Findings:
    """Returns the means of the one question in ``document``. With ``only``, returns the mean of
    that part of the question alone.

    Raises NoFigure where the question has no mean, or no such part.
    """
    mean_rows = [row for row in rows(document) if row["figure"] == "mean"]
    chosen = [row for row in mean_rows if only in (None, row.get("part"))]
    if mean_rows and not chosen:
        parts = ", ".join(str(row["part"]) for row in mean_rows)
        raise NoFigure(f"there is no part {only}; there are {parts}")
    shown = _shown(document, chosen, MEAN, "mean")
    (question,) = document.questions
    return replace(shown, notes=[*question.notes, *question.flags])


def of_distribution(document: SurveyResult) -> Findings:
    """Returns the shares of the one question in ``document``: of its choices, or of a number up to
    the end of each range.

    Raises NoFigure where the question has no shares.
    """
    (question,) = document.questions
    figures = ("share", "share at most", OF_THOSE_ASKED, SHARE_ASKED)
    chosen = [row for row in rows(document) if row["figure"] in figures]
    estimator = DISTRIBUTION if any(row["figure"] == "share at most" for row in chosen) else ""
    exhibit = question_exhibit.exhibit(document, question.name)
    drawn = Html.joined("", (picture.html() for picture in exhibit.unfolded))
    shown = _shown(document, chosen, estimator or SHARES, "distribution", drawn)
    if not isinstance(question, NumberResult):
        return shown
    return replace(shown, lines=list(_buckets(question, document.confidence)), texts=1)


def side_by_side(caption: str, parts: Mapping[str, Findings]) -> Findings:
    """Returns one table with the findings of several subgroups, one below the other. ``parts``
    maps each value of a stratum key to its findings."""
    first = next(iter(parts.values()))
    lines: list[Sequence[str]] = [("group", *first.lines[0])]
    for value, part in parts.items():
        _, *rest = part.lines
        lines += [(value if number == 0 else "", *line) for number, line in enumerate(rest)]
    return replace(
        first,
        caption=caption,
        rows=[row for part in parts.values() for row in part.rows],
        lines=lines,
        texts=first.texts + 1,
        notes=[f"{value}: {note}" for value, part in parts.items() for note in part.notes],
        document={"subgroups": {value: part.document for value, part in parts.items()}},
        drawn=Html.joined(
            "", (below(value, part.drawn) for value, part in parts.items() if part.drawn)
        ),
    )


@dataclass(frozen=True, eq=False)
class WeightedAmong:
    """Weighted shares ``shown`` among those who were asked a follow-up question (``show_if``).
    They are estimated from the reports of ``people`` respondents."""

    people: int
    shown: AmongAskedResult


def of_weighted(
    document: SurveyResult,
    question: Question,
    tables: Mapping[str, Table],
    by: str | None,
    among: Mapping[str, WeightedAmong],
) -> Findings:
    """Returns weighted shares and means of one question as a table of findings.

    ``tables`` maps the empty name to the question's table. For a question with several answers or
    numbers per person it maps the name of each option or number to a table. For a follow-up
    question (``show_if``), ``among`` maps each value of the stratum key ``by`` to the shares of
    those who were asked.
    """
    listed = list(rows(document))
    plain = {row.get("choice"): row for row in listed if row["figure"] == "share"}
    means = {row.get("part") or "": row for row in listed if row["figure"] == "mean"}
    order = [*plain, None]
    made = list[ResultRow]()
    for name, shares in tables.items():
        for share in shares.rows:
            like = means.get(name)
            # A table of an option has its yes ("1") and its no; only the yes is a figure of the
            # results.
            if share["figure"] == "share":
                like = plain.get(str(share["answer"])) if name == "" else plain.get(name)
                like = None if name and share["answer"] != "1" else like
            if like is not None:
                made.append(_weighted_row(like, share, by))
    made += _weighted_among(listed, among, by)
    groups = list(dict.fromkeys(str(row["strata"]) for row in made))
    figures = [OF_THOSE_ASKED, SHARE_ASKED, "share", "mean"]
    # As in results.csv: by subgroup, kind of figure and choice; a mean has no choice and comes
    # last.
    made.sort(
        key=lambda row: (
            groups.index(str(row["strata"])),
            figures.index(str(row["figure"])),
            order.index(row.get("choice")),
        )
    )
    table_notes = next(iter(tables.values())).notes  # of a table that has a column for it
    notes = [note.replace("the design effect", "design_effect of its rows") for note in table_notes]
    return Findings(
        f"{document.title}: {question.label}", whole_rows(made), _grouped(made), _texts(made),
        notes, WEIGHTED, {"rows": [dict(row) for table in tables.values() for row in table.rows]},
    )  # fmt: skip


def _weighted_among(
    listed: Sequence[ResultRow], among: Mapping[str, WeightedAmong], by: str | None
) -> Iterator[ResultRow]:
    """Yields the rows of the shares among those who were asked, and of how many these are."""
    head: ResultRow = {key: listed[0].get(key) for key in _OF_QUESTION}
    head |= {"choice": None, "choice_label": None}
    for value, among_row in among.items():
        stratum: ResultRow = {
            "strata": "" if by is None else f"{by} {value}",
            "n": among_row.people,
        }
        for row in rows_among_asked(among_row.shown):
            yield head | stratum | row


def _grouped(made: Sequence[ResultRow]) -> list[Sequence[str]]:
    """Returns the lines of a table, with a column for the subgroup if there are any."""
    confidence = made[0]["confidence"]
    assert isinstance(confidence, float)
    if not made[0]["strata"]:
        return list[Sequence[str]](table_lines(made, confidence))
    lines = list[Sequence[str]]()
    for group, own in groupby(made, key=lambda row: str(row["strata"])):
        head, *rest = table_lines(list(own), confidence)
        lines += [] if lines else [("group", *head)]
        value = group.partition(" ")[2]  # of a stratum's text, such as "site north"
        lines += [(value if number == 0 else "", *line) for number, line in enumerate(rest)]
    return lines


def _texts(made: Sequence[ResultRow]) -> int:
    return TEXTS + bool(made[0]["strata"])


def _weighted_row(like: ResultRow, weighted_row: Mapping[str, Cell], by: str | None) -> ResultRow:
    """Returns a row of ``results.csv`` with the weighted figures instead of the plain ones."""
    n, effect = weighted_row["n"], weighted_row["design_effect"]
    # Adding 0.0 turns -0.0 into 0.0.
    estimate, low, high = (
        float(weighted_row[key] or 0) + 0.0 for key in ("estimate", "low", "high")
    )
    assert isinstance(n, int)
    # A weighted share may lie below 0 or above 1; its reading, as everywhere, does not.
    reading = rounding.share(estimate, [max(low, 0.0), min(high, 1.0)])
    shown = {"reads": reading.value, "reads_interval": reading.interval}
    if weighted_row["figure"] == "mean":
        shown = {"reads": f"{estimate:.4g}", "reads_interval": f"{low:.4g} to {high:.4g}"}
    kept = {key: like.get(key) for key in _OF_QUESTION}
    return {
        **kept,
        **shown,
        "n": n,
        "estimate": estimate,
        "low": low,
        "high": high,
        "standard_error": weighted_row["standard_error"],
        "design_effect": effect,
        "effective_n": n / effect if isinstance(effect, float) else None,
        "strata": f"{by} {weighted_row[by]}" if by is not None else "",
    }


_OF_QUESTION = (
    "survey", "digest", "state", "question", "question_label", "odds", "epsilon", "delta", "choice",
    "choice_label", "confidence", "figure", "part", "unit", "p", "q",
)  # fmt: skip
"""The columns that weights leave unchanged."""


def means_alone(findings: Findings, part: str | None) -> Findings:
    """Returns the findings with only the weighted means; with ``part``, only the mean of that part
    of the question. Raises NoFigure where no mean is left."""
    means = [row for row in findings.rows if row["figure"] == "mean"]
    chosen = [row for row in means if part in (None, row["part"])]
    parts = ", ".join(dict.fromkeys(str(row["part"]) for row in means))
    return _some(findings, chosen, f"no part {part}; there are {parts}" if means else "no mean")


def shares_alone(findings: Findings) -> Findings:
    """Returns the findings with only the weighted shares. Raises NoFigure where there are no
    shares."""
    kinds = ("share", OF_THOSE_ASKED, SHARE_ASKED)
    shares = [row for row in findings.rows if row["figure"] in kinds]
    return _some(findings, shares, "no distribution: its reports tell no shares")


def _some(findings: Findings, chosen: Sequence[Mapping[str, Cell]], why: str) -> Findings:
    """Returns some rows of weighted figures. Raises NoFigure, with the reason, if there are
    none."""
    if not chosen:
        raise NoFigure(f"{findings.rows[0]['question']} has {why}")
    kept = [dict(row) for row in chosen]
    return replace(findings, rows=kept, lines=_grouped(kept))


def of_quantile(document: SurveyResult, quantile: QuantileResult, unit: str, n: int) -> Findings:
    """Returns a quantile of a number as a table with one row. ``n`` is the number of reports."""
    (question,) = document.questions
    low, high = quantile.interval
    row: ResultRow = {
        "survey": document.survey,
        "strata": stratum_text(document.strata or {}),
        "question": question.name,
        "figure": "quantile",
        "unit": unit,
        "n": n,
        "share": quantile.share,
        "estimate_low": float(quantile.low),
        "estimate_high": float(quantile.high),
        "low": float(low),
        "high": float(high),
        "confidence": document.confidence,
    }
    heading = ("question", "share", "reached", f"{level_text(document.confidence)} interval", "n")
    line = (
        question.name, f"{100 * quantile.share:g} %", _range(quantile.low, quantile.high, unit),
        _range(low, high, unit), f"{n:,}",
    )  # fmt: skip
    caption = f"{document.title}: {question.label}"
    return Findings(caption, [row], [heading, line], TEXTS, [], QUANTILE, quantile)


def of_whom(findings: Findings, question: Question, *, asked: bool) -> Findings:
    """Returns the findings of a follow-up question (``show_if``) with a first note on whose shares
    they are; those of other questions unchanged."""
    sentence = whose(question, asked=asked)
    return replace(findings, notes=[sentence, *findings.notes]) if sentence else findings


def cost_of_weights(weighed: Weighing) -> str:
    """Returns a note on the cost of the weights: the number of respondents over Kish's effective
    sample size (Kish 1965)."""
    cost = len(weighed.weights) / weighed.kish
    return f"Weights cost {cost:.2f} times the respondents (Kish)."


def weighted(findings: Findings, weighed: Weighing | None, estimator: str) -> Findings:
    """Returns the findings with this ``estimator`` and with a note on the cost of the weights;
    unchanged if ``weighed`` is None."""
    if weighed is None:
        return findings
    return replace(findings, notes=[*findings.notes, cost_of_weights(weighed)], estimator=estimator)


def of_mean_difference(
    here: Side, there: Side, comparison: StatedDifference, confidence: float
) -> Findings:
    """Returns the difference between the means of two studies, with its test, as a table with one
    row."""
    document = comparison.result(confidence)
    low, high = document["interval"]
    row: ResultRow = {
        "survey": here.survey.name,
        "question": here.question.name,
        "other_survey": there.survey.name,
        "n": here.tally.n,
        "estimate": document["estimate"],
        "low": low,
        "high": high,
        "confidence": confidence,
        "standard_error": document["standard_error"],
        "p_value": document["p_value"],
        "adjusted_p_value": document["p_value"],
        "note": document["note"],
    }
    lines = [
        ("compared", "difference", f"{level_text(confidence)} interval", "p"),
        (
            document["compared"],
            *printing.apart(document["estimate"], document["interval"], shares=False),
            printing.p_text(document["p_value"]),
        ),
    ]
    notes = [document["sentence"], *([document["note"]] if document["note"] else [])]
    caption = f"Differences: {here.question.label}"
    columns = difference_exhibit.COLUMNS
    estimator = DIFFERENCE if here.weighted is None else WEIGHTED_DIFFERENCE
    return Findings(caption, whole(columns, [row]), lines, 1, notes, estimator, document)


# --- below ------------------------------------------------------------------------------------


def _shown(
    document: SurveyResult,
    chosen: Sequence[ResultRow],
    estimator: str,
    what: str,
    drawn: Html = NOTHING,
) -> Findings:
    (question,) = document.questions
    if not chosen:
        raise NoFigure(
            f"{question.name} is a {question.type} and has no {what}: estimate({question.name!r})"
            " shows what it has"
        )
    return Findings(
        f"{document.title}: {question.label}",
        whole_rows(chosen),
        table_lines(chosen, document.confidence),
        TEXTS,
        [note for note in (question.sentence, *question.notes, *question.flags) if note],
        estimator,
        question,
        drawn,
    )


def _buckets(question: NumberResult, confidence: float) -> Iterator[Sequence[str]]:
    """Yields a line for each range: its share for display, and the share up to its end with its
    interval."""
    yield ("range", "share", "up to its end", f"{level_text(confidence)} interval")
    for bucket in question.distribution or ():
        share = f"{100 * bucket.consistent:.1f} %"
        upto = (
            printing.share(bucket.at_most, bucket.at_most_interval)
            if bucket.at_most_interval
            else ("", "")
        )
        yield (f"{bucket.low} to {bucket.high}", share, *upto)


def _range(low: str, high: str, unit: str) -> str:
    text = number_text(float(low)) if low == high else f"{low} to {high}"
    return f"{text} {unit}".strip()
