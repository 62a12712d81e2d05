"""Draws a question by its type: for a page, for a figure on paper, and as a line in the
overview."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise

from msgspec import UNSET

from deniably.core.counting import counted
from deniably.core.languages.html import Html
from deniably.exhibits.exhibit import Picture
from deniably.exhibits.marks import AreaMap, HeatTable, Strips
from deniably.exhibits.paper import has_room, nearest_last
from deniably.results import among_asked, combined, narrative, places, shown
from deniably.results.document import (
    AmongAskedResult,
    AreaResult,
    ChoiceResult,
    MeanResult,
    NumberPartResult,
    NumberResult,
    OfChoicesResult,
    PointResult,
    ProductResult,
    QuantileResult,
    QuestionResult,
    ScaleResult,
    SelectMultipleResult,
    VectorResult,
)
from deniably.results.drawing import axes, dotplot, rounding, strip
from deniably.results.drawing.axes import Axis
from deniably.results.drawing.paper_figure import PaperPart
from deniably.results.drawing.paper_strips import PaperStrips
from deniably.results.drawing.rounding import NARROW, exact, with_unit
from deniably.results.drawing.row import Row, ends
from deniably.results.narrative import level_text

_MANY = 20
"""With more choices, those that cannot be told from 0 are folded away."""
_WIDE = 4
"""Heat tables with more columns scroll sideways on a phone."""
RISK = f"with a risk of 5{NARROW}% over all of them"


@dataclass(frozen=True)
class Drawn:
    """The drawings of one question: its pictures on a page, the parts of its figure for a paper,
    and the notes below.

    ``line`` is the question's row in the overview of all questions. ``own`` is the axis of a row
    that shows a mean; it is None for a share, as all shares have a common axis. ``half`` is half
    the width of the widest interval among the shares; None without shares.
    """

    pictures: Sequence[Picture]
    figure: Callable[[], Sequence[PaperPart]]
    line: Row
    notes: Sequence[str] = ()
    own: Axis | None = None
    half: float | None = None


@dataclass(frozen=True)
class Heads:
    """Column headings of estimates and their intervals; ``interval`` is the heading of intervals,
    such as "95 % interval"."""

    interval: str

    @property
    def shares(self) -> tuple[str, str]:
        """Returns the headings of two columns: shares and their intervals."""
        return ("Estimate", self.interval)

    @property
    def means(self) -> tuple[str, str]:
        """Returns the headings of two columns: means and their intervals."""
        return ("Mean", self.interval)


def heads_at(confidence: float) -> Heads:
    """Returns the column headings of results with intervals at a level of ``confidence``."""
    return Heads(f"{level_text(confidence)} interval")


def draw(question: QuestionResult, heads: Heads) -> Drawn:
    """Returns the drawings of a question; its type decides which."""
    match question:
        case OfChoicesResult():
            if question.among_asked is not UNSET:
                return _of_those_asked(question, question.among_asked, heads)
            return _of_choices(question, question.choices, heads)
        case ScaleResult():
            return _scale(question, heads)
        case NumberResult():
            return _number(question, heads)
        case VectorResult():
            return _vector(question, heads)
        case ProductResult():
            return _product(question, heads)
        case PointResult():
            return _point(question, heads)


# --- shares -----------------------------------------------------------------------------------


def _of_choices(question: QuestionResult, choices: Sequence[ChoiceResult], heads: Heads) -> Drawn:
    by_size = isinstance(question, SelectMultipleResult)
    ordered = shown.ordered(choices, by_size=by_size)
    listed, rest = ordered, list[ChoiceResult]()
    if len(choices) > _MANY and choices[0].stands_out is not None:
        # If none stands out, all are shown: an empty picture would look like missing data.
        listed = [choice for choice in ordered if choice.stands_out] or ordered
        rest = (
            [choice for choice in ordered if not choice.stands_out] if listed is not ordered else []
        )
    drawn = _rows(listed)
    pictures = [Picture(_strips(question.label, drawn, heads.shares))]
    if rest:
        marks = _strips(f"{question.label}, the rest", _rows(rest), heads.shares)
        summary = f"{counted(len(rest), 'answer')} that maybe nobody gave"
        pictures.append(Picture(marks, summary=summary))
    return Drawn(
        pictures,
        lambda: [_strips("", drawn if listed is ordered else _rows(ordered), heads.shares)],
        _line(question, choices),
        _choice_notes(question, drawn, listed, bool(rest)),
        half=_widest(choices),
    )


def _of_those_asked(question: QuestionResult, among: AmongAskedResult, heads: Heads) -> Drawn:
    """Draws the shares among those who were asked; where these cannot be told, how many were
    asked."""
    drawn, asked_row = (
        [shown.of_choice_among(choice) for choice in among.choices],
        shown.of_asked(among.asked),
    )
    first = among_asked.leader(among)
    marks = _strips(f"{question.label}: of those who were asked", drawn, heads.shares)
    of_everybody = replace(
        _strips("Who was asked", [asked_row], heads.shares), title="Of everybody"
    )
    figure = [of_everybody]
    if first is not None:
        figure = [replace(marks, title="Of those who were asked"), of_everybody]
    known = [choice.interval for choice in among.choices if choice.estimate is not None]
    return Drawn(
        [Picture(of_everybody if first is None else marks)],
        lambda: figure,
        _line_among(among, drawn, first),
        half=max(high - low for low, high in known) / 2 if known else None,
    )


def _line_among(among: AmongAskedResult, rows: Sequence[Row], first: int | None) -> Row:
    """Returns the row for the overview: the answer that the headline names."""
    if first is None:
        return replace(rows[0], note="of those who were asked: cannot be told", aside=False)
    note = f"“{rows[first].label}”, of those who were asked"
    if not narrative.asks_yes_or_no([choice.name for choice in among.choices]):
        clear = among_asked.is_clear(among, first)
        note += ", clearly the most frequent" if clear else ", highest, but not clearly in front"
    return replace(rows[first], note=note, aside=False)


def _rows(choices: Sequence[ChoiceResult]) -> list[Row]:
    return [shown.of_choice(choice) for choice in choices]


def _line(question: QuestionResult, choices: Sequence[ChoiceResult]) -> Row:
    if narrative.asks_yes_or_no([choice.name for choice in choices]):
        return replace(shown.of_choice(choices[0]), note=f"“{choices[0].label}”", aside=False)
    first = narrative.leader([choice.estimate for choice in choices])
    clear = narrative.is_in_front(first, [choice.joint_interval for choice in choices])
    note = "clearly the most frequent answer" if clear else "highest, but not clearly in front"
    row = shown.of_choice(choices[first])
    return replace(row, note=f"“{choices[first].label}”, {note}", aside=False)


def _choice_notes(
    question: QuestionResult, rows: Sequence[Row], choices: Sequence[ChoiceResult], folded: bool
) -> list[str]:
    notes: list[str] = []
    if folded:
        some = "1 answer stands" if len(rows) == 1 else f"{len(rows)} answers stand"
        notes.append(
            f"{some} out from the noise. The risk that any of these is nobody’s answer is at most"
            f" 5{rounding.NARROW}%."
        )
    if isinstance(question, SelectMultipleResult):
        if question.most > 1:
            notes.append(
                f"People could tick up to {question.most}, so the shares do not sum to 100"
                f"{rounding.NARROW}%."
            )
        proper = [choice for choice in choices if not shown.of_choice(choice).aside]
        # Joint intervals, as all neighbours are compared at once.
        if any(not _above(choice, other) for choice, other in pairwise(proper)):
            notes.append("The order is not certain.")
    return notes


def _above(choice: ChoiceResult, other: ChoiceResult) -> bool:
    return choice.joint_interval[0] > other.joint_interval[1]


def _widest(choices: Sequence[ChoiceResult | AreaResult]) -> float:
    return max(choice.interval[1] - choice.interval[0] for choice in choices) / 2


# --- means ------------------------------------------------------------------------------------


def _scale(question: ScaleResult, heads: Heads) -> Drawn:
    mean = None if question.mean is UNSET else question.mean
    if question.choices is UNSET:
        assert isinstance(mean, MeanResult)
        return _one_mean(question.label, mean, heads, named="Mean score")
    shares = (
        _of_choices(question, question.choices, heads)
        if question.among_asked is UNSET
        else _of_those_asked(question, question.among_asked, heads)
    )
    if not isinstance(mean, MeanResult):
        return shares
    labels = [row.label for row in _rows(question.choices) if not row.aside]
    axis = axes.of_numbers(*ends(mean.extent), first=labels[0], last=labels[-1])
    score = Strips(
        [shown.of_mean("Mean score", mean)], axis, about="Mean score", heads=heads.means,
        heading="Figure",
    )  # fmt: skip
    pictures, folded = shares.pictures[:1], shares.pictures[1:]
    return replace(
        shares,
        pictures=[*pictures, Picture(score), *folded],
        figure=lambda: [*shares.figure(), score],
    )


def _number(question: NumberResult, heads: Heads) -> Drawn:
    if question.distribution is UNSET:
        return _one_mean(question.label, question.mean, heads)
    quantiles = () if question.quantiles is UNSET else question.quantiles
    range_ = question.distribution[0].low, question.distribution[-1].high
    low, high = map(float, range_)
    axis = axes.of_numbers(low, high)
    drawn = [shown.of_mean("Mean", question.mean), *shown.of_quantiles(question)]
    shape = narrative.knows_shape(quantiles, range_)
    above, notes = _dots(question, quantiles, range_, axis) if shape else (None, [])
    marks = Strips(
        drawn, axis, about=f"{question.label}: mean and quantiles", heads=heads.shares,
        heading="Figure", above=above,
    )  # fmt: skip
    unit = question.mean.unit
    alone = _one_mean(question.label, question.mean, heads, range_)
    return replace(
        alone,
        pictures=[Picture(marks)],
        figure=lambda: [replace(marks, axis=axes.of_numbers(low, high, unit))],
        notes=notes,
    )


def _dots(
    question: NumberResult,
    quantiles: Sequence[QuantileResult],
    range_: tuple[str, str],
    axis: Axis,
) -> tuple[Html, list[str]]:
    """Returns a quantile dotplot and notes on it. Dots above the first uncertain quantile in the
    upper half are open."""
    assert question.distribution is not UNSET
    places_: list[float] = []
    # Dot k is the quantile (k + 1/2) / DOTS, drawn in the middle of its bucket (Kay et al. 2016).
    reached, beyond = 0.0, iter(range(dotplot.DOTS))
    wanted = next(beyond, None)
    for bucket in question.distribution:
        reached += bucket.consistent
        # 1e-9 allows for the error of the sum of floats.
        while wanted is not None and (wanted + 0.5) / dotplot.DOTS <= reached + 1e-9:
            places_.append((float(bucket.low) + float(bucket.high)) / 2)
            wanted = next(beyond, None)
    # The adjusted shares may sum to a little less than 1: dots that are left go to the top.
    places_ += [float(range_[1])] * (dotplot.DOTS - len(places_))
    unsure = [
        quantile
        for quantile in quantiles
        if quantile.share > 0.5 and narrative.width(quantile, range_) > shown.UNSURE
    ]
    from_ = min((quantile.share for quantile in unsure), default=1.0)
    known = sum((k + 0.5) / dotplot.DOTS < from_ for k in range(dotplot.DOTS))
    notes = [
        "Each dot is 1 in 20 people. Where single dots lie is a guess, because many shapes"
        " fit the reports. Trust the intervals."
    ]
    if unsure:
        last = unsure[-1]
        low, high = map(exact, last.interval)
        notes.append(
            "Open dots: their place is not known. The upper end of"
            f" {shown.QUANTILES.get(last.share, f'{last.share:.0%}').lower()} may be anywhere from"
            f" {low} to {with_unit(high, question.mean.unit)}."
        )
    return dotplot.dots(places_, known, axis), notes


def _one_mean(
    label: str,
    mean: MeanResult,
    heads: Heads,
    range_: tuple[str, str] | None = None,
    named: str = "Mean",
) -> Drawn:
    """Draws a single mean. ``range_`` is the question's, where answers were counted as the middle
    of a range of numbers; ``named`` is the row's label on paper."""
    axis = axes.of_numbers(*ends(mean.extent), mean.unit)
    row = shown.of_mean("Mean", mean)
    marks = Strips([row], axis, about=f"{label}: mean", heads=heads.means, heading="Figure")
    return Drawn(
        [Picture(marks)],
        lambda: [replace(marks, rows=[replace(row, label=named)])],
        replace(row, note=f"mean, {_on(mean, range_)}"),
        own=axis,
    )


def _on(mean: MeanResult, range_: tuple[str, str] | None = None) -> str:
    low, high = range_ or (axes.plain(end) for end in mean.extent)
    return f"on a scale from {low} to {with_unit(high, mean.unit)}"


def _vector(question: VectorResult, heads: Heads) -> Drawn:
    known = question.known
    if not known:
        # The overview has a line for every question, also where nothing is known: an unknown mean.
        unread = MeanResult(
            n=0, unit="", extent=[0, 1], estimate=None, standard_error=None, interval=[0, 1],
            interval_80=None, interval_50=None, respondents_standard_error=None,
            respondents_interval=[0, 1],
        )  # fmt: skip
        return replace(_one_mean(question.label, unread, heads), pictures=[], figure=list)
    marks: list[Strips] = []
    for (low, high, unit), some in groupby(known, key=_axis_of):
        drawn = [shown.of_mean(part.label, mean) for part, mean in some]
        axis = axes.of_numbers(low, high, unit)
        marks.append(Strips(drawn, axis, "", question.label, heads.means, "Figure"))
    part, mean = known[0]
    if len(marks) == 1:
        part, mean = max(known, key=lambda known_part: known_part[1].estimate or 0.0)
    called = "the largest mean" if len(marks) == 1 and len(known) > 1 else "mean"
    row = replace(shown.of_mean(part.label, mean), note=f"“{part.label}”: {called}, {_on(mean)}")
    own = axes.of_numbers(*ends(mean.extent), mean.unit)
    return Drawn([*map(Picture, marks)], lambda: marks, row, own=own)


def _axis_of(known_part: tuple[NumberPartResult, MeanResult]) -> tuple[float, float, str]:
    mean = known_part[1]
    return mean.extent[0], mean.extent[1], mean.unit


# --- combinations and places ------------------------------------------------------------------


def _product(question: ProductResult, heads: Heads) -> Drawn:
    cells, parts = question.cells, question.parts
    named = [(", ".join(cell.names), cell) for cell in cells]
    first = narrative.leader([cell.estimate for cell in cells])
    line = replace(shown.of_cell(*named[first]), note=f"“{named[first][0]}”, the highest estimate")
    out = sum(cell.stands_out for cell in cells)
    notes = [f"{out} of {len(cells)} combinations stand{'s' * (out == 1)} out from the noise."]
    listed = [shown.of_cell(*named_cell) for named_cell in named]
    of_parts = [
        _strips(part.label, _rows(shown.ordered(part.choices, by_size=False)), heads.shares,
                titled=True)
        for part in parts
    ]  # fmt: skip
    figure: list[PaperPart] = [
        *(replace(marks, title=marks.about) for marks in of_parts),
        replace(_strips("", listed, heads.shares), title="All of these together"),
    ]
    if (together := combined.table(question)) is not None:
        table = HeatTable(together, about=question.label, cells=lambda: listed)
        region = ""
        if len(together.columns.labels) > _WIDE:
            region = f"Combinations: {question.label}"
        pictures = [Picture(table, region=region)]
        text = "Shares of everybody, with their intervals. Hatched: maybe nobody"
        notes = [f"{text}, {RISK}.", *notes]
        if has_room(table):
            figure = [table]
    else:
        seen = [row for row, (_, cell) in zip(listed, named, strict=True) if cell.stands_out]
        pictures = [Picture(marks) for marks in of_parts]
        if seen:
            marks = _strips("Combinations that stand out", seen, heads.shares, titled=True)
            pictures.append(Picture(marks))
    return Drawn(pictures, lambda: figure, line, notes, half=_widest(cells))


def _point(question: PointResult, heads: Heads) -> Drawn:
    out = sorted(
        (area for area in question.cells if area.stands_out), key=lambda area: -area.estimate
    )
    leading = max(question.cells, key=lambda area: area.estimate)
    note = "the most frequent area" if leading.stands_out else "highest, but does not stand out"
    where = places.place(question.sides, leading)
    line = replace(shown.of_cell("", leading), note=f"{where}, {note}")
    notes = [
        f"Coloured areas stand out from the noise, with a risk of 5{NARROW}% over all"
        f" {len(question.cells)}; in grey ones there may be nobody."
    ]
    drawn = [
        shown.of_cell(places.place(question.sides, area), area)
        for area in question.cells
        if area.stands_out
    ]
    drawn.sort(key=nearest_last)
    listed = PaperStrips(drawn, axes.of_shares(drawn)) if drawn else None
    mapped = area_map(question)
    return Drawn(
        [Picture(replace(mapped, beside=_areas(question, out)))],
        lambda: [replace(mapped, listed=listed)],
        line,
        notes,
        half=_widest(question.cells),
    )


def area_map(question: PointResult, centres: Sequence[tuple[float, float]] = ()) -> AreaMap:
    """Returns the map of a question. ``centres`` are drawn as rings; each is a position (x, y) in
    fractions of the map's sides."""
    mapped = combined.areas(question)
    first, second = mapped.sides
    about = (
        f"Map of {len(question.cells)} areas: {first.label} to the right, {second.label} upwards."
        f" {places.sentence(question.sides, question.cells)}"
    )
    return AreaMap(mapped, None, "", centres, about)


def _areas(question: PointResult, out: Sequence[AreaResult]) -> Html:
    """Returns the areas that stand out, as a list beside the map."""
    if not out:
        return Html()
    heads = [*(side.label for side in question.sides), "Share", "Interval"]
    lines = [
        [*map(places.span, area.names), reading.value, reading.bare]
        for area in out
        for reading in [shown.of_cell("", area).reading]
    ]
    return strip.plain_table("Areas that stand out", heads, lines)


# --- below ------------------------------------------------------------------------------------


def _strips(
    about: str, drawn: Sequence[Row], heads: tuple[str, str], *, titled: bool = False
) -> Strips:
    """Returns strips of shares, with an axis that fits them."""
    return Strips(drawn, axes.of_shares(drawn), about=about, heads=heads, titled=titled)
