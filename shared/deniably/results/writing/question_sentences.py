"""Writes one sentence for each question that a paper can print: estimate, interval, n and how it
was asked.

Numbers are rounded as on pages (``drawing.rounding``). Where an interval reaches an end of the
scale, the sentence says so and adds the unbiased estimate, which may lie beyond that end.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from msgspec import UNSET

from deniably.core.counting import counted
from deniably.results import among_asked, narrative, places, shown
from deniably.results.document import (
    AmongChoiceResult,
    AreaResult,
    ChoiceResult,
    ChoosingResult,
    MeanResult,
    NumberResult,
    PointResult,
    ProductResult,
    QuestionResult,
    ScaleResult,
    SelectMultipleResult,
    SurveyResult,
    VectorResult,
)
from deniably.results.drawing import axes, rounding
from deniably.results.drawing.rounding import NARROW, Reading, exact, with_unit
from deniably.results.provenance import Protection
from deniably.results.writing.randomisers import randomiser
from deniably.survey.strata import stratum_text

FAKE = "there are signs of fake reports"
_NO_BREAK = "\u00a0"
_Figure = ChoiceResult | AmongChoiceResult | AreaResult


@dataclass(frozen=True)
class _Clause:
    """A part of a sentence, and what its brackets say: the interval, maybe with an estimate."""

    text: str
    bracket: str = ""


def sentence(result: SurveyResult, name: str) -> str:
    """Returns a sentence for a paper that states the main result of the question ``name``. Raises
    KeyError if there is no such question."""
    question = result.question(name)
    clauses = list(_clauses(question, f"{narrative.level_text(result.confidence)} CI"))
    *first, last = clauses
    details = "; ".join(filter(None, [last.bracket, *_details(result, question)]))
    texts = [f"{clause.text}{f' ({clause.bracket})' if clause.bracket else ''}" for clause in first]
    text = ", and ".join([*texts, f"{last.text} ({details})"])
    among = stratum_text(result.strata or {})
    whole = f"Of the respondents of {among}: {text}." if among else f"{text[0].upper()}{text[1:]}."
    return whole.replace(NARROW, _NO_BREAK)


def _details(result: SurveyResult, question: QuestionResult) -> Iterator[str]:
    drawn = isinstance(question, VectorResult) and _is_sampled(question)
    yield f"of {question.n:,} respondents" if drawn else f"n = {question.n:,}"
    if question.blanks:
        yield f"less {counted(question.blanks, 'blank')} of a mixer"
    yield f"{randomiser(question).name}, {Protection.of_result(question).words}"
    if isinstance(question, SelectMultipleResult) and question.most > 1:
        yield f"up to {question.most} answers a person"
    if result.state != "closed":
        yield "survey still open"
    if question.flags:
        yield FAKE


def _clauses(question: QuestionResult, level: str) -> Iterator[_Clause]:
    match question:
        case VectorResult():
            yield from _of_vector(question, level)
        case NumberResult():
            yield _of_mean(f"the mean answer to “{question.label}”", question.mean, level)
            yield from _median(question, level)
        case ScaleResult(choices=list() as choices):
            yield from _of_everybody_or_asked(question, choices, level)
            if isinstance(question.mean, MeanResult):
                yield _of_score("the mean score", question.mean, level)
        case ScaleResult():
            assert isinstance(question.mean, MeanResult)
            yield _of_score(f"the mean score of “{question.label}”", question.mean, level)
        case ProductResult():
            yield _of_leader(
                question, [", ".join(cell.names) for cell in question.cells], question.cells, level
            )
        case PointResult():
            yield _of_areas(question, level)
        case _:
            yield from _of_everybody_or_asked(question, question.choices, level)


# --- shares -----------------------------------------------------------------------------------


def _of_everybody_or_asked(
    question: ChoosingResult, choices: Sequence[ChoiceResult], level: str
) -> Iterator[_Clause]:
    """The shares of everybody; of a question with ``show_if``, of those who were asked."""
    among = question.among_asked
    if among is UNSET:
        yield _of_choices(question, choices, level)
        return
    if among_asked.leader(among) is None:
        subject = f"what those answered who were asked “{question.label}”"
        yield _Clause(f"the reports are too few to say {subject}")
    else:
        known = [choice for choice in among.choices if choice.estimate is not None]
        clause = _of_choices(question, known, level)
        yield replace(clause, text=f"of those who were asked, {clause.text}")
    reading = rounding.share(among.asked.estimate, among.asked.interval)
    many = f"{level} {reading.interval}"
    if reading.state == "known":
        yield _Clause(f"an estimated {reading.value} of all respondents were asked", many)
    else:
        yield _Clause("the share of all respondents who were asked is not known well", many)


def _of_choices(
    question: QuestionResult, choices: Sequence[ChoiceResult | AmongChoiceResult], level: str
) -> _Clause:
    if not narrative.asks_yes_or_no([choice.name for choice in choices]):
        return _of_leader(question, [choice.label for choice in choices], choices, level)
    first = choices[0]
    reading = rounding.share(_estimate(first), first.interval)
    subject = f"answered “{first.label}” to “{question.label}”"
    if reading.state == "known":
        return _Clause(f"an estimated {reading.value} {subject}", f"{level} {reading.interval}")
    return _vague(f"the share that {subject}", reading, _share(first), level)


def _of_leader(
    question: QuestionResult,
    labels: Sequence[str],
    figures: Sequence[_Figure],
    level: str,
) -> _Clause:
    """The answer with the highest estimate, and whether it is clearly in front."""
    at = narrative.leader([_estimate(figure) for figure in figures])
    figure, label = figures[at], labels[at]
    reading = rounding.share(_estimate(figure), figure.interval)
    what = "combination of answers" if isinstance(question, ProductResult) else "answer"
    to = f"{what} to “{question.label}”"
    joint = [figure.joint_interval for figure in figures if not isinstance(figure, AreaResult)]
    clear = bool(joint) and narrative.is_in_front(at, joint)
    if clear and reading.state == "known":
        text = f"the most frequent {to} was “{label}”, an estimated {reading.value}"
        return _Clause(text, f"{level} {reading.interval}")
    if clear:
        return _vague(f"the share of “{label}”, the most frequent {to},", reading, _share(figure),
                      level)  # fmt: skip
    # Combinations have no joint intervals, so nothing is said about a lead.
    before = "the" if not joint else "no answer was clearly in front: the"
    if reading.state == "known":
        text = f"{before} highest estimate of any {to} was {reading.value}, for “{label}”"
        return _Clause(text, f"{level} {reading.interval}")
    return _vague(f"{before} share of “{label}”, the {to} with the highest estimate,", reading,
                  _share(figure), level)  # fmt: skip


def _of_areas(question: PointResult, level: str) -> _Clause:
    out = [area for area in question.cells if area.stands_out]
    among = f"the {len(question.cells)} areas of “{question.label}”"
    if not out:
        return _Clause(f"none of {among} stood out from the noise of the randomisation")
    largest = max(out, key=lambda area: area.estimate)
    reading = rounding.share(largest.estimate, largest.interval)
    where = places.place(question.sides, largest)
    stood = f"{len(out)} of {among} stood out from the noise of the randomisation"
    if reading.state == "known":
        text = f"{stood}, with the highest estimate {reading.value}, at {where}"
        return _Clause(text, f"{level} {reading.interval}")
    clause = _vague(f"the share at {where}", reading, _share(largest), level)
    return _Clause(f"{stood}; {clause.text}", clause.bracket)


def _estimate(figure: _Figure) -> float:
    assert figure.estimate is not None  # those that are not determined are left out before
    return figure.estimate


def _share(figure: _Figure) -> str:
    half = (figure.interval[1] - figure.interval[0]) / 2
    return with_unit(
        rounding.number(100 * _estimate(figure), 0 if half >= rounding.FINE else 1), "%"
    )


def _vague(subject: str, reading: Reading, estimate: str, level: str) -> _Clause:
    """A figure whose interval reaches an end of the scale, or nearly both."""
    bracket = f"unbiased estimate {estimate}, {level} {reading.interval}"
    match reading.state:
        case "below":
            text = f"{subject} is compatible with any value {reading.value}"
        case "above":
            text = f"{subject} is compatible with any value {reading.value}"
        case _:
            text = f"the reports are too few to say anything about {subject.rstrip(',')}"
    return _Clause(text, bracket)


# --- means ------------------------------------------------------------------------------------


def _of_mean(subject: str, mean: MeanResult, level: str) -> _Clause:
    if mean.estimate is None:
        return _Clause(f"the reports do not determine {subject}")
    reading = shown.of_mean("", mean).reading
    reading = replace(reading, interval=with_unit(reading.interval, mean.unit))
    if reading.state == "known":
        return _Clause(f"{subject} was an estimated {reading.value}", f"{level} {reading.interval}")
    value = with_unit(rounding.number(mean.estimate, rounding.places(mean.interval)), mean.unit)
    return _vague(subject, reading, value, level)


def _of_score(subject: str, mean: MeanResult, level: str) -> _Clause:
    """A mean score, with the scale that it is on."""
    clause = _of_mean(subject, mean, level)
    low, high = (axes.plain(end) for end in mean.extent)
    return replace(clause, text=clause.text.replace(subject, f"{subject} from {low} to {high}"))


def _median(question: NumberResult, level: str) -> Iterator[_Clause]:
    """The median, where the reports tell where it lies."""
    if question.quantiles is UNSET or question.distribution is UNSET:
        return
    range_ = question.distribution[0].low, question.distribution[-1].high
    if not narrative.knows_shape(question.quantiles, range_):
        return
    median = next(each for each in question.quantiles if each.share == 0.5)
    low, high = map(exact, median.interval)
    unit = question.mean.unit
    yield _Clause(
        f"half of the answers were at most about {with_unit(exact(median.high), unit)}",
        f"{level} {with_unit(f'{low} to {high}', unit)}",
    )


def _of_vector(question: VectorResult, level: str) -> Iterator[_Clause]:
    if not question.known:
        yield _Clause(f"no report had any of the numbers of “{question.label}”")
    for number, (part, mean) in enumerate(question.known):
        of = f" under “{question.label}”" if number == 0 else ""
        clause = _of_mean(f"the mean of “{part.label}”{of}", mean, level)
        size = f"; n = {mean.n:,}" if _is_sampled(question) else ""
        # A clause without an interval has empty brackets.
        yield _Clause(clause.text, f"{clause.bracket}{size}".removeprefix("; "))


def _is_sampled(question: VectorResult) -> bool:
    """Whether devices drew which of the numbers they reported."""
    return any(part.mean is None or part.mean.n != question.n for part in question.parts)
