"""A card for each question of a result: the finding, its pictures and its notes, and one line for
the glance over all of them. Pages and notebooks show the same cards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise

from msgspec import UNSET

from deniably.core.counting import counted
from deniably.core.languages.html import Html
from deniably.results import among_asked, combined, narrative, places, shown
from deniably.results.document import (
    AmongAskedResult,
    AreaResult,
    ChoiceResult,
    MeanResult,
    NumberPartResult,
    NumberResult,
    PointResult,
    ProductResult,
    QuantileResult,
    QuestionResult,
    ScaleResult,
    SelectMultipleResult,
    SelectOneResult,
    SurveyResult,
    VectorResult,
    YesNoResult,
)
from deniably.results.drawing import axes, digits, heat, plot, strip
from deniably.results.drawing.axes import Axis
from deniably.results.drawing.digits import exact, with_unit
from deniably.results.drawing.row import Row, ends

_MANY = 20
"""With more choices, those that cannot be told from 0 are folded away."""
_WIDE = 4
"""Heat tables with more columns scroll sideways on a phone."""


@dataclass(frozen=True)
class Card:
    """One question: what is drawn of it, the notes below, and answers that are folded away.

    ``line`` is its row in the glance; ``own`` is its own axis there, or None for that of shares.
    ``half`` is half the widest interval of its shares, None without shares.
    """

    question: QuestionResult
    pictures: tuple[Html, ...]
    notes: tuple[str, ...]
    line: Row
    own: Axis | None = None
    half: float | None = None
    folded: tuple[str, Html] | None = None

    @property
    def flagged(self) -> bool:
        """Whether there are signs of fake reports."""
        return bool(self.question.flags)


@dataclass(frozen=True)
class _Drawn:
    """What the type of a question decides about its card."""

    pictures: Sequence[Html]
    line: Row
    notes: Sequence[str] = ()
    own: Axis | None = None
    half: float | None = None
    folded: tuple[str, Html] | None = None


@dataclass(frozen=True)
class Heads:
    """Headings of the columns of figures: the interval has the level of the results."""

    interval: str

    @property
    def shares(self) -> tuple[str, str]:
        """The words for shares."""
        return ("Estimate", self.interval)

    @property
    def means(self) -> tuple[str, str]:
        """The words for means."""
        return ("Mean", self.interval)


def cards(result: SurveyResult) -> list[Card]:
    """The cards of all questions."""
    heads = _heads(result.confidence)
    return [_card(one, heads) for one in result.questions]


def _card(question: QuestionResult, heads: Heads) -> Card:
    drawn = _drawn(question, heads)
    line = replace(drawn.line, label=question.short, address=f"#{question.name}")
    return Card(
        question=question,
        pictures=tuple(drawn.pictures),
        notes=(*drawn.notes, *question.notes),
        line=line,
        own=drawn.own,
        half=drawn.half,
        folded=drawn.folded,
    )


def glance(
    found: Sequence[Card],
    confidence: float,
    *,
    about: str = "One line a question",
    heading: str = "Question",
) -> list[Html]:
    """One line a card: shares on one axis, means each on its own.

    ``about`` and ``heading``, what a line is of, are for screen readers.
    """
    heads = _heads(confidence)
    of_shares = [card.line for card in found if card.own is None]
    of_means = [(card.line, card.own) for card in found if card.own is not None]
    drawn: list[Html] = []
    if of_shares:
        axis = axes.of_shares(of_shares)
        drawn.append(strip.table(about, of_shares, axis, heads=heads.shares, heading=heading))
    if of_means:
        rows, scales = [row for row, _ in of_means], [own for _, own in of_means]
        caption = "Means" if of_shares else about
        drawn.append(strip.table(caption, rows, scales, heads=heads.means, heading=heading))
    return drawn


@dataclass(frozen=True)
class Precision:
    """How precise the shares of a result are: half-widths of intervals, as text in points.

    ``typical`` is the median over the questions of their widest, ``best`` and ``worst`` are the
    smallest and the largest of these, ``of_worst`` the question of the latter. ``below`` says
    whether an answer's share reads as being below a number.
    """

    grade: str
    typical: str
    best: str
    worst: str
    of_worst: str
    four_times: int
    below: bool


_GRADES = (
    (3, "precise"),
    (5, "good"),
    (10, "rough"),
    (15, "coarse"),
)
"""The most points that a word still fits."""


def precision(result: SurveyResult, found: Sequence[Card]) -> Precision | None:
    """The precision of all shares; None where there are none."""
    halves = sorted((card.half, card.line.label) for card in found if card.half is not None)
    if not halves:
        return None
    typical = halves[(len(halves) - 1) // 2][0]
    return Precision(
        grade=_grade(digits.half_points(typical)),
        typical=digits.half(typical),
        best=digits.half(halves[0][0]),
        worst=digits.half(halves[-1][0]),
        of_worst=halves[-1][1],
        four_times=4 * result.n,
        below=any(_reads_below(card.question) for card in found),
    )


def _reads_below(question: QuestionResult) -> bool:
    match question:
        case YesNoResult() | SelectOneResult() | SelectMultipleResult() | ScaleResult():
            choices = question.choices or ()
            return any(shown.of_choice(one).reading.state == "below" for one in choices)
        case _:
            return False


def _grade(points: float) -> str:
    """The word for a typical half-width, by the points that are printed beside it."""
    return next((word for most, word in _GRADES if points <= most), "too coarse for single figures")


def _drawn(question: QuestionResult, heads: Heads) -> _Drawn:
    match question:
        case YesNoResult() | SelectOneResult() | SelectMultipleResult():
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


def _of_choices(question: QuestionResult, choices: Sequence[ChoiceResult], heads: Heads) -> _Drawn:
    ordered = shown.ordered(choices, by_size=isinstance(question, SelectMultipleResult))
    listed, folded = ordered, None
    if len(choices) > _MANY and choices[0].stands_out is not None:
        listed = [one for one in ordered if one.stands_out]
        rest = [one for one in ordered if not one.stands_out]
        if rest and listed:
            table = _table(f"{question.label}, the rest", _rows(rest), heads.shares)
            folded = (f"{counted(len(rest), 'answer')} that cannot be told from nobody’s", table)
        listed = listed or ordered
    rows = _rows(listed)
    return _Drawn(
        [_table(question.label, rows, heads.shares)],
        _line(question, choices),
        _choice_notes(question, rows, listed, folded is not None),
        half=_widest(choices),
        folded=folded,
    )


def _of_those_asked(question: QuestionResult, among: AmongAskedResult, heads: Heads) -> _Drawn:
    """The shares among those who were asked; where none can be told, how many were asked."""
    rows = [shown.of_choice_among(one) for one in among.choices]
    first = among_asked.leader(among)
    caption, drawn = f"{question.label}: of those who were asked", rows
    if first is None:
        caption, drawn = "Who was asked", [shown.of_asked(among.asked)]
    known = [one.interval for one in among.choices if one.estimate is not None]
    return _Drawn(
        [_table(caption, drawn, heads.shares)],
        _line_among(among, rows, first),
        half=max(high - low for low, high in known) / 2 if known else None,
    )


def _line_among(among: AmongAskedResult, rows: Sequence[Row], first: int | None) -> Row:
    """The line of the glance: the answer of the headline."""
    if first is None:
        return replace(rows[0], note="of those who were asked: cannot be told", aside=False)
    said = f"“{rows[first].label}”, of those who were asked"
    if not narrative.asks_yes_or_no([one.name for one in among.choices]):
        clear = among_asked.is_clear(among, first)
        said += ", clearly the most frequent" if clear else ", highest, but not clearly in front"
    return replace(rows[first], note=said, aside=False)


def _rows(choices: Sequence[ChoiceResult]) -> list[Row]:
    return [shown.of_choice(one) for one in choices]


def _line(question: QuestionResult, choices: Sequence[ChoiceResult]) -> Row:
    if narrative.asks_yes_or_no([one.name for one in choices]):
        return replace(shown.of_choice(choices[0]), note=f"“{choices[0].label}”", aside=False)
    first = narrative.leader([one.estimate for one in choices])
    joint = [one.joint_interval for one in choices]
    clear = narrative.clear(first, [low for low, _ in joint], [high for _, high in joint])
    said = "clearly the most frequent answer" if clear else "highest, but not clearly in front"
    row = shown.of_choice(choices[first])
    return replace(row, note=f"“{choices[first].label}”, {said}", aside=False)


def _choice_notes(
    question: QuestionResult, rows: Sequence[Row], choices: Sequence[ChoiceResult], folded: bool
) -> list[str]:
    notes: list[str] = []
    if folded:
        some = "1 answer stands" if len(rows) == 1 else f"{len(rows)} answers stand"
        notes.append(
            f"{some} out from the noise. The risk that any of these is nobody’s answer is at most"
            f" 5{digits.NARROW}%."
        )
    if isinstance(question, SelectMultipleResult):
        if question.most > 1:
            notes.append(
                f"People could tick up to {question.most}, so the shares do not sum to 100"
                f"{digits.NARROW}%."
            )
        proper = [one for one in choices if not shown.of_choice(one).aside]
        if any(not _above(one, other) for one, other in pairwise(proper)):
            notes.append("The order is not certain.")
    return notes


def _above(one: ChoiceResult, other: ChoiceResult) -> bool:
    return one.joint_interval[0] > other.joint_interval[1]


def _widest(choices: Sequence[ChoiceResult | AreaResult]) -> float:
    return max(one.interval[1] - one.interval[0] for one in choices) / 2


# --- means ------------------------------------------------------------------------------------


def _scale(question: ScaleResult, heads: Heads) -> _Drawn:
    mean = None if question.mean is UNSET else question.mean
    if question.choices is UNSET:
        assert isinstance(mean, MeanResult)
        return _one_mean(question.label, mean, heads)
    shares = (
        _of_choices(question, question.choices, heads)
        if question.among_asked is UNSET
        else _of_those_asked(question, question.among_asked, heads)
    )
    if not isinstance(mean, MeanResult):
        return shares
    proper = [row for row in _rows(question.choices) if not row.aside]
    axis = axes.of_numbers(*ends(mean.extent), first=proper[0].label, last=proper[-1].label)
    row = shown.of_mean("Mean score", mean)
    table = strip.table("Mean score", [row], axis, heads=heads.means, heading="Figure")
    return replace(shares, pictures=[*shares.pictures, table])


def _number(question: NumberResult, heads: Heads) -> _Drawn:
    if question.distribution is UNSET:
        return _one_mean(question.label, question.mean, heads)
    quantiles = () if question.quantiles is UNSET else question.quantiles
    range_ = question.distribution[0].low, question.distribution[-1].high
    low, high = map(float, range_)
    axis = axes.of_numbers(low, high)
    mean = shown.of_mean("Mean", question.mean)
    rows = [mean, *shown.of_quantiles(question)]
    shape = narrative.knows_shape(quantiles, range_)
    above, notes = _dots(question, quantiles, range_, axis) if shape else (None, [])
    caption = f"{question.label}: mean and quantiles"
    table = strip.table(caption, rows, axis, heads=heads.shares, heading="Figure", above=above)
    drawn = _one_mean(question.label, question.mean, heads, range_)
    return replace(drawn, pictures=[table], notes=notes)


def _dots(
    question: NumberResult,
    quantiles: Sequence[QuantileResult],
    range_: tuple[str, str],
    axis: Axis,
) -> tuple[Html, list[str]]:
    """The dots, and what to say of them: open are those above the first quantile that is not
    known well."""
    assert question.distribution is not UNSET
    places_: list[float] = []
    reached, beyond = 0.0, iter(range(plot.DOTS))
    wanted = next(beyond, None)
    for bucket in question.distribution:
        reached += bucket.consistent
        while wanted is not None and (wanted + 0.5) / plot.DOTS <= reached + 1e-9:
            places_.append((float(bucket.low) + float(bucket.high)) / 2)
            wanted = next(beyond, None)
    places_ += [float(range_[1])] * (plot.DOTS - len(places_))
    unsure = [one for one in quantiles if narrative.width(one, range_) > shown.UNSURE]
    from_ = min((one.share for one in unsure if one.share > 0.5), default=1.0)
    known = sum((k + 0.5) / plot.DOTS < from_ for k in range(plot.DOTS))
    notes = [
        "Each dot is 1 in 20 people. Where single dots lie is a guess, the fit nearest to the"
        " reports: trust the intervals."
    ]
    if unsure:
        last = unsure[-1]
        low, high = map(exact, last.interval)
        notes.append(
            "Open dots: their place is not known. The upper end of"
            f" {shown.QUANTILES.get(last.share, f'{last.share:.0%}').lower()} may be anywhere from"
            f" {low} to {with_unit(high, question.mean.unit)}."
        )
    return plot.dots(places_, known, axis), notes


def _one_mean(
    label: str, mean: MeanResult, heads: Heads, range_: tuple[str, str] | None = None
) -> _Drawn:
    """``range_`` is the question's, where answers count as the middle of a range of numbers."""
    axis = axes.of_numbers(*ends(mean.extent), mean.unit)
    row = shown.of_mean("Mean", mean)
    table = strip.table(f"{label}: mean", [row], axis, heads=heads.means, heading="Figure")
    return _Drawn([table], replace(row, note=f"mean, {_on(mean, range_)}"), own=axis)


def _on(mean: MeanResult, range_: tuple[str, str] | None = None) -> str:
    low, high = range_ or (axes.plain(one) for one in mean.extent)
    return f"on a scale from {low} to {with_unit(high, mean.unit)}"


def _vector(question: VectorResult, heads: Heads) -> _Drawn:
    known = [(part, part.mean) for part in question.parts if part.mean is not None]
    if not known:
        unread = MeanResult(
            n=0, unit="", extent=[0, 1], estimate=None, standard_error=None, interval=[0, 1],
            interval_80=None, interval_50=None, respondents_standard_error=None,
            respondents_interval=[0, 1],
        )  # fmt: skip
        return replace(_one_mean(question.label, unread, heads), pictures=[])
    pictures: list[Html] = []
    for (low, high, unit), some in groupby(known, key=_axis_of):
        rows = [shown.of_mean(part.label, mean) for part, mean in some]
        axis = axes.of_numbers(low, high, unit)
        pictures.append(
            strip.table(question.label, rows, axis, heads=heads.means, heading="Figure")
        )
    part, mean = known[0]
    if len(pictures) == 1:
        part, mean = max(known, key=lambda one: one[1].estimate or 0.0)
    called = "the largest mean" if len(pictures) == 1 and len(known) > 1 else "mean"
    row = replace(shown.of_mean(part.label, mean), note=f"“{part.label}”: {called}, {_on(mean)}")
    return _Drawn(pictures, row, own=axes.of_numbers(*ends(mean.extent), mean.unit))


def _axis_of(one: tuple[NumberPartResult, MeanResult]) -> tuple[float, float, str]:
    mean = one[1]
    return mean.extent[0], mean.extent[1], mean.unit


# --- combinations and places ------------------------------------------------------------------


def _product(question: ProductResult, heads: Heads) -> _Drawn:
    cells, parts = question.cells, question.parts
    named = [(", ".join(one.names), one) for one in cells]
    first = narrative.leader([one.estimate for one in cells])
    line = replace(shown.of_cell(*named[first]), note=f"“{named[first][0]}”, the highest estimate")
    out = sum(one.stands_out for one in cells)
    seen = f"{out} of {len(cells)} combinations stand{'s' * (out == 1)} out from the noise."
    if (together := combined.table(question)) is not None:
        drawn = [_heat(question.label, together)]
        notes = [
            "Shares of everybody, with their intervals. Hatched: cannot be told from nobody, with a"
            f" risk of 5{digits.NARROW}% over all of them.",
            seen,
        ]
    else:
        rows = [shown.of_cell(*one) for one in named if one[1].stands_out]
        drawn = [
            _table(
                part.label,
                _rows(shown.ordered(part.choices, by_size=False)),
                heads.shares,
                titled=True,
            )
            for part in parts
        ]
        drawn += (
            [_table("Combinations that stand out", rows, heads.shares, titled=True)] if rows else []
        )
        notes = [seen]
    return _Drawn(drawn, line, notes, half=_widest(cells))


def _heat(label: str, together: heat.Heat) -> Html:
    table = heat.table(label, together)
    if len(together.columns.labels) <= _WIDE:
        return table
    return strip.scrolling(f"Combinations: {label}", table)


def _point(question: PointResult, heads: Heads) -> _Drawn:
    out = sorted((one for one in question.cells if one.stands_out), key=lambda one: -one.estimate)
    leading = max(question.cells, key=lambda one: one.estimate)
    listed = _areas(question, out)
    said = "the most frequent area" if leading.stands_out else "highest, but does not stand out"
    line = replace(
        shown.of_cell("", leading), note=f"{places.place(question.sides, leading)}, {said}"
    )
    notes = [
        f"Coloured areas stand out from the noise, with a risk of 5{digits.NARROW}% over all"
        f" {len(question.cells)}; grey ones cannot be told from nobody."
    ]
    picture = Html.filled(
        '<div class="side">{mapped}{listed}</div>', mapped=area_map(question), listed=listed
    )
    return _Drawn([picture], line, notes, half=_widest(question.cells))


def area_map(question: PointResult, centres: Sequence[tuple[float, float]] = ()) -> Html:
    """The map of a question; ``centres`` are rings on it, as fractions of its two sides."""
    mapped = combined.areas(question)
    first, second = mapped.sides
    about = (
        f"Map of {len(question.cells)} areas: {first.label} to the right, {second.label} upwards."
        f" {places.sentence(question.sides, question.cells)}"
    )
    return plot.area_map(about, mapped, centres)


def _areas(question: PointResult, out: Sequence[AreaResult]) -> Html:
    """The areas that stand out, as a list beside the map."""
    if not out:
        return Html()
    heads = [*(side.label for side in question.sides), "Share", "Interval"]
    lines = [
        [*map(places.span, one.names), reading.value, reading.bare]
        for one in out
        for reading in [shown.of_cell("", one).reading]
    ]
    return strip.plain_table("Areas that stand out", heads, lines)


# --- below ------------------------------------------------------------------------------------


def _heads(confidence: float) -> Heads:
    return Heads(f"{narrative.level_text(confidence)} interval")


def _table(
    label: str, rows: Sequence[Row], heads: tuple[str, str], *, titled: bool = False
) -> Html:
    return strip.table(label, rows, axes.of_shares(rows), heads=heads, titled=titled)
