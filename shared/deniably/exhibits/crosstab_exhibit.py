"""Makes the exhibit of a cross-table: a heat table of all pairs of answers, and strips of shares
where a question has two answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Literal

from deniably.core.counting import people
from deniably.exhibits import printing
from deniably.exhibits.exhibit import Exhibit, Picture, Printed, Records, stated
from deniably.exhibits.marks import HeatTable, Strips
from deniably.results.as_product import as_product
from deniably.results.crosstabs import (
    COLUMNS,
    RISK,
    CrossedResult,
    CrosstabResult,
    WithinResult,
    crosstab_rows,
)
from deniably.results.drawing import axes, rounding
from deniably.results.drawing.heat import Heat, HeatCell, HeatMargin, heat_cell
from deniably.results.drawing.rounding import Reading
from deniably.results.drawing.row import Row, banded, share_row
from deniably.results.narrative import level_text, quoted
from deniably.results.provenance import SAMPLE, Protection, ResultsSource, legend
from deniably.survey.readable import short_label
from deniably.survey.survey import Survey

Of = Literal["rows", "columns", "all"]
"""What the percentages are of: each row, each column, or everybody."""
ABOUT: dict[Of, str] = {"rows": "of each row", "columns": "of each column", "all": "of everybody"}
COARSE = 0.15
"""If half the median interval of the cells is wider than this, and the test shows no dependence,
the heat table is folded away."""
_MOST_NAMED = 4


CROSSTAB = (
    "Joint shares by the inverses of both channels; independence by a permutation test (Fisher"
    " 1935; Phipson and Smyth 2010)."
)


@dataclass(frozen=True)
class CrosstabStrips:
    """The share of one answer to a question, separately for each answer to the other question.
    ``marks`` draws these shares. ``finding`` is a sentence that names them, of many only the
    smallest and the largest; empty unless the test rejects independence."""

    marks: Strips
    finding: str


def exhibit(
    document: CrosstabResult, survey: Survey, of: Of | None = None, closed: str = ""
) -> Exhibit:
    """Returns the exhibit of a cross-table: its words, pictures and numbers. ``survey`` was closed
    on the day ``closed``.

    Percentages are of rows, columns or everybody, as ``of`` says; if that is None, as ``usual``
    chooses.
    """
    of = of or usual(document)
    level, shares = level_text(document["confidence"]), f"Percentages {ABOUT[of]}"
    questions = [survey.question(name) for name in document["question_names"]]
    rows_title, columns_title = (short_label(question) for question in questions)
    title = f"{rows_title} × {columns_title}"
    unheard = silence(silent(document, of))
    strips_ = strips(document, of)
    coarse = half_width(document, of) > COARSE
    # A coarse table is shown only if its test found something; otherwise it invites reading noise.
    folded = coarse and document["independence"] >= RISK

    def product() -> str:
        names = [question.name for question in survey.questions]
        chosen = [names.index(name) for name in document["question_names"]]
        asked_as_one = as_product(survey, chosen, document)
        return asked_as_one.sentence if asked_as_one else ""

    hatched = "" if of == "all" else ", or too few to say"
    return Exhibit(
        document=document,
        file=file_name(document),
        heading=title,
        about=" and ".join(f"“{question}”" for question in document["questions"]),
        source=ResultsSource.of_survey(survey, "closed", document["n"], closed, document["strata"]),
        protections=[Protection.of_question(question) for question in questions],
        confidence=document["confidence"],
        finding=document["sentence"],
        precision=_precision(document, of, strips_, folded=folded),
        family="" if folded else unheard,
        pictures=lambda: _pictures(
            document, of, (rows_title, columns_title), strips_, folded=folded
        ),
        records=records(document),
        numbers=lambda: [Printed("all pairs", ("Pair", *HEADS), numbers(document))],
        method=lambda: stated(*_method(document), "" if coarse else product()),
        estimator=CROSSTAB,
        notes=lambda: stated(product() if coarse else ""),
        caption=" by ".join(document["questions"]),
        lines=lambda: Printed("", *_printed(document, of, (rows_title, columns_title)), texts=2),
        remarks=[f"The picture has percentages {ABOUT[of]}."],
        title=title,
        lede=f"{shares}, {people(document['n'])}.",
        rows="pairs of answers",
        opening=stated(
            document["sentence"],
            unheard,
            f"{shares} with {level} intervals; the darker, the larger."
            f"{' “All” is of everybody.' if of != 'all' else ''} Hatched: cannot be told from"
            f" nobody{hatched}.",
        ),
        legend=[legend(document["confidence"])] if strips_ else [],
        effect=f" {SAMPLE}",
        asks=document["questions"],
        words=f". {document['sentence']} {shares} with {level} intervals:",
    )


def file_name(document: CrosstabResult) -> str:
    """Returns the name of the files of a cross-table, without an ending."""
    return "-".join([document["survey"], *document["question_names"], *document["strata"].values()])


def records(document: CrosstabResult) -> Records:
    """Returns the exact numbers of a cross-table, one row per figure."""
    return Records(COLUMNS, lambda: crosstab_rows(document))


def usual(document: CrosstabResult) -> Of:
    """Returns whether a page shows percentages of rows or of columns by default: of columns if
    only those can be drawn as strips, else of rows."""
    return "columns" if len(document["rows"]) == 2 < len(document["columns"]) else "rows"


def half_width(document: CrosstabResult, of: Of) -> float:
    """Returns half the median width of the intervals of the percentages ``of``, as a share from 0
    to 1."""
    intervals = [_share(cell, of)[1] for line in document["cells"] for cell in line]
    return median(high - low for low, high in intervals) / 2


def strips(document: CrosstabResult, of: Of) -> CrosstabStrips | None:
    """Returns strips of the share of one answer, with a strip for each row of the table: of the
    people in that row, the share who gave the first of the two answers in the columns. If ``of``
    is "columns", rows and columns are exchanged.

    Returns None for percentages of everybody, and unless the question of these shares has two
    answers.
    """
    if of == "all":
        return None
    lines, answers = document["rows"], document["columns"]
    outer, inner = document["questions"]
    # Strips show the share of answers[0] in each line; by columns the two questions change roles.
    if of == "columns":
        lines, answers, outer, inner = answers, lines, inner, outer
    if len(answers) != 2:
        return None
    shares = [line[0] for line in _lines(document, of)]
    rows = [_row(label, share) for label, share in zip(lines, shares, strict=True)]
    about = f"{inner} “{answers[0]}”, by: {outer}"
    marks = Strips(
        rows, axes.of_shares(rows), about, about=about,
        heads=(f"“{answers[0]}”", f"{level_text(document['confidence'])} interval"), heading=outer,
    )  # fmt: skip
    finding = _finding(answers[0], rows) if document["independence"] < RISK else ""
    return CrosstabStrips(marks, finding)


def pairs(document: CrosstabResult, of: Of) -> list[Row]:
    """Returns a drawn row for each pair of answers: the list that replaces a heat table in a
    figure without room for the table."""
    return [
        share_row(", ".join(cell.names), cell.estimate, cell.interval)
        if of == "all"
        else _row(", ".join(cell.names), cell.of_row if of == "rows" else cell.of_column)
        for line in document["cells"]
        for cell in line
    ]


def silent(document: CrosstabResult, of: Of) -> list[str]:
    """Returns the labels of the rows or columns that have too few people for any of their shares
    to be estimated."""
    if of == "all":
        return []
    labels = document["columns"] if of == "columns" else document["rows"]
    return [
        label
        for label, line in zip(labels, _lines(document, of), strict=True)
        if all(share.estimate is None for share in line)
    ]


def silence(labels: Sequence[str]) -> str:
    """Returns a sentence that too few people gave the answers ``labels`` to say anything about
    them; empty without ``labels``."""
    if not labels:
        return ""
    return f"Too few to say anything about those who answered {quoted(list(labels))}."


def together(document: CrosstabResult, of: Of, titles: tuple[str, str]) -> Heat:
    """Returns the heat table of all pairs of answers.

    ``titles`` are short names of the two questions. The margins show shares of everybody; a margin
    that would be 100 % everywhere is left out. A cell is hatched if its share cannot be
    distinguished from 0, or its row or column has too few people.
    """
    shares = [[_share(cell, of) for cell in line] for line in document["cells"]]
    # Shades are relative to the largest share that is known, so that a table of small shares has
    # contrast.
    largest = max(
        (share[0] for line in shares for share in line if share[0] is not None), default=1.0
    )
    cells = [[_heat_cell(share, largest) for share in line] for line in shares]
    rows, columns = (
        [rounding.share(figure.estimate, figure.interval) for figure in document[key]]
        for key in ("row_margins", "column_margins")
    )
    return Heat(
        HeatMargin(titles[0], document["rows"], () if of == "rows" else rows),
        HeatMargin(titles[1], document["columns"], () if of == "columns" else columns),
        cells,
    )


HEADS = (
    "% of all", "interval", "Std. error", "Adjusted", "% of its row", "interval",
    "% of its column", "interval",
)  # fmt: skip


def numbers(document: CrosstabResult) -> list[list[str]]:
    """Returns a line of texts for each pair of answers: its labels, then its figures in per cent
    under the headings ``HEADS``."""
    return [
        [
            ", ".join(cell.names),
            printing.points(cell.estimate),
            printing.span(cell.interval),
            printing.points(cell.standard_error),
            printing.points(cell.consistent),
            *_within(cell.of_row),
            *_within(cell.of_column),
        ]
        for line in document["cells"]
        for cell in line
    ]


# --- below ------------------------------------------------------------------------------------


def _pictures(
    document: CrosstabResult,
    of: Of,
    titles: tuple[str, str],
    strips_: CrosstabStrips | None,
    *,
    folded: bool,
) -> list[Picture]:
    everybody = "; “All” is of everybody" if of != "all" else ""
    few = "" if of == "all" else ", or too few to say"
    interval = f"{level_text(document['confidence'])} interval"
    anyway = f"Show the {len(document['rows']) * len(document['columns'])} cells anyway"
    cells = Picture(
        HeatTable(
            together(document, of, titles), "All combinations" if strips_ else "",
            about=f"Percentages {ABOUT[of]}", cells=lambda: pairs(document, of),
        ),
        "All combinations",
        notes=[
            f"Percentages {ABOUT[of]}, with the {interval}{everybody}. Hatched: cannot be told from"
            f" nobody{few}."
        ],
        summary=anyway if folded else "",
        region="All pairs of answers",
        wide=len(document["columns"]) > 3,
        apart=strips_ is not None,
    )  # fmt: skip
    if strips_ is None:
        return [cells]
    answered = (
        f"Percentages {ABOUT[of]}. {people(document['n'])} answered both. Bands of small groups are"
        " wide because the size of the group is itself estimated."
    )
    marks = strips_.marks
    return [Picture(marks, marks.about, finding=strips_.finding, notes=[answered]), cells]


def _precision(
    document: CrosstabResult, of: Of, strips_: CrosstabStrips | None, *, folded: bool
) -> str:
    if strips_ and document["independence"] < RISK:
        return "How much is less certain: see the bands."
    if not folded:
        return ""
    where = {"rows": "within a row", "columns": "within a column", "all": "of a pair"}[of]
    return (
        f"With {people(document['n'])} a share {where} is known to about"
        f" ±{round(100 * half_width(document, of))} points only."
    )


def _method(document: CrosstabResult) -> list[str]:
    fitted = {
        "maximum_likelihood": "those that make all reports together most likely (maximum"
        " likelihood)",
        "shrinkage": "the likely ones (empirical Bayes): where noise is large, nearer to what two"
        " answers without a connection would give, and to 0 where a pair seems to be nobody’s",
        "projection": f"the nearest shares to the estimates that sum to 100{rounding.NARROW}%",
        "clipping": f"the estimates one by one, kept between 0 and 100{rounding.NARROW}%, as people"
        " may have ticked several answers",
    }[document["fit"]]
    tested = (
        f"The test of independence shuffles the reports to one question {document['shuffles']}"
        " times. The p-value is the share of these tables, with this one, that look at least as"
        " dependent."
        if document["shuffles"]
        else "The p-value of the test of independence is from the chi-squared distribution:"
        " shuffling so many reports would take long."
    )
    return [
        f"{document['n']:,} respondents were asked both. The two answers were randomised one by"
        " one; the table undoes both at once. Tabulating the reports as they are would make every"
        " connection look weaker than it is. A share within a row is a ratio of two estimates; its"
        " interval holds every share that the reports do not reject (Fieller 1954), and is “too few"
        " to say” where it is wider than 80 points.",
        f"“Adjusted” shares are for pictures: {fitted}.",
        tested,
    ]


def _printed(
    document: CrosstabResult, of: Of, titles: tuple[str, str]
) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Returns the headings and the lines of a terminal's table."""
    interval = f"{level_text(document['confidence'])} interval"
    within = "columns" if of == "columns" else "rows"
    heads = (*titles, "of everybody", interval, f"of its {within[:-1]}", interval)
    return heads, [
        (
            *cell.names,
            *printing.share(cell.estimate, cell.interval),
            *printing.share(own.estimate, own.interval),
        )
        for line in document["cells"]
        for cell in line
        for own in (cell.of_column if within == "columns" else cell.of_row,)
    ]


_Share = tuple[float | None, Sequence[float]]


def _lines(document: CrosstabResult, of: Of) -> list[list[WithinResult]]:
    """Returns the shares within each row, or within each column, as one list for each."""
    if of == "rows":
        return [[cell.of_row for cell in line] for line in document["cells"]]
    return [[cell.of_column for cell in line] for line in zip(*document["cells"], strict=True)]


def _row(label: str, share: WithinResult) -> Row:
    if share.estimate is None:
        row = share_row(label, sum(share.interval) / 2, share.interval)
        return replace(row, reading=_untold(row.reading), muted=True)
    row = share_row(label, share.estimate, share.interval)
    return banded(row, share.interval_80, share.interval_50)


def _untold(reading: Reading) -> Reading:
    """Says "too few to say". Also for a row whose interval is short enough, but which nobody seems
    to be in."""
    return replace(reading, value=rounding.UNKNOWN, state="unknown")


def _finding(answer: str, rows: Sequence[Row]) -> str:
    """Returns a sentence that names the shares; of more than ``_MOST_NAMED``, the smallest and the
    largest."""
    known = [row for row in rows if row.reading.state == "known"] or [
        row for row in rows if row.drawn
    ]
    if not known:
        return ""
    if len(known) > _MOST_NAMED:
        known = sorted(known, key=lambda row: row.estimate)
        known = [known[0], known[-1]]
    first, *rest = (f"{row.reading.value} ({row.reading.bare})" for row in known)
    others = "".join(
        f", of “{row.label}” {share}" for row, share in zip(known[1:], rest, strict=True)
    )
    return f"Of those who answered “{known[0].label}”, {first} answered “{answer}”{others}."


def _share(cell: CrossedResult, of: Of) -> _Share:
    if of == "all":
        return cell.estimate, cell.interval
    within = cell.of_row if of == "rows" else cell.of_column
    return within.estimate, within.interval


def _heat_cell(share: _Share, largest: float) -> HeatCell:
    estimate, interval = share
    if estimate is None:
        drawn = heat_cell(sum(interval) / 2, interval, largest, seen=False)
        return replace(drawn, reading=_untold(drawn.reading))
    return heat_cell(estimate, interval, largest, seen=interval[0] > 0)


def _within(share: WithinResult) -> list[str]:
    if share.estimate is None:
        return [rounding.UNKNOWN, printing.span(share.interval)]
    return [printing.points(share.estimate), printing.span(share.interval)]
