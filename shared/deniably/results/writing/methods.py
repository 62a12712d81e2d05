"""Writes the methods section of a paper: collection, randomisation, estimation, and limits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from msgspec import UNSET

from deniably.core.counting import counted
from deniably.core.own_version import own_version
from deniably.estimation.question_shares import UNSCORED
from deniably.results.document import (
    MeanResult,
    NumberResult,
    PointResult,
    PoisoningResult,
    ProductResult,
    QuestionResult,
    ScaleResult,
    SelectMultipleResult,
    SurveyResult,
    VectorResult,
)
from deniably.results.drawing import rounding
from deniably.results.narrative import level_text, quoted
from deniably.results.provenance import Protection
from deniably.results.writing.randomisers import NamedMechanism, randomiser
from deniably.results.writing.references import bracketed
from deniably.survey.strata import stratum_text
from deniably.survey.survey import Survey, Waves, show_if

_GENERAL = ("kasiviswanathan2011", "warner1965")


@dataclass(frozen=True)
class Methods:
    """A methods section: paragraphs of plain text, and in ``cited`` the keys (of
    ``references.SOURCES``) of the works that they cite."""

    paragraphs: tuple[str, ...]
    cited: frozenset[str]


@dataclass
class _Draft:
    """A section as it is written: what is cited in it is kept."""

    cited: set[str] = field(default_factory=set[str])

    def source(self, *keys: str) -> str:
        """Works in brackets, after a space."""
        self.cited |= set(keys)
        return bracketed(keys)


def methods(result: SurveyResult, survey: Survey, days: Iterable[str], signed: str = "") -> Methods:
    """Returns the methods section on these results of a survey.

    ``days`` are the days of publication and of closing, each an empty text if not known.
    ``signed`` is a clause about the author's key, empty if the survey is not signed.
    """
    draft = _Draft()
    passages = (
        _collected(draft, result, survey, [day for day in days if day]),
        _randomised(draft, result),
        _estimated(draft, result),
        _limits(draft, result),
        f"The survey's definition has the SHA-256 digest {result.digest}{signed}. Software:"
        f" Deniably {own_version()}.",
    )
    paragraphs = (some if isinstance(some, str) else " ".join(some) for some in passages)
    # Many fonts of word processors lack the narrow space.
    texts = tuple(paragraph.replace(rounding.NARROW, "\u00a0") for paragraph in paragraphs)
    return Methods(texts, frozenset(draft.cited))


# --- collection -------------------------------------------------------------------------------


def _collected(
    draft: _Draft, result: SurveyResult, survey: Survey, days: Sequence[str]
) -> Iterator[str]:
    number = len(survey.questions)
    whom = stratum_text(result.strata or {})
    yield (
        f"{counted(result.n, 'respondent')}{f' of {whom}' if whom else ''} answered the web survey"
        f" “{survey.title}”, which has {counted(number, 'question')}{_when(result, days)}."
    )
    if survey.asked < number:
        yield (
            f"Each device drew {survey.asked} of the {number} questions at random and reported"
            f" {'that one' if survey.asked == 1 else 'these'} alone."
        )
    if survey.part:
        yield (
            "Devices that had too little of their privacy budget left for all of these reported a"
            " part, drawn at random; the number of reports to each question is given with it."
        )
    yield from _invited(result, survey)
    yield from _passed_on(draft, result)
    if any(map(show_if, survey.questions)):
        yield (
            "People who were not asked a question, because of an earlier answer, reported “not"
            " applicable”, which is randomised like any answer. Shares among those who were asked"
            f" are ratios of two estimates, through the {_channel(result)}, with intervals by test"
            f" inversion{draft.source('fieller1954')}."
        )
    if survey.strata:
        keys = "; ".join(f"{key}: {', '.join(some)}" for key, some in sorted(survey.strata.items()))
        yield f"The link of each respondent said a stratum ({keys}), which is not randomised."
    if isinstance(survey.waves, Waves):
        yield from _in_waves(result, survey, survey.waves)


def _channel(result: SurveyResult) -> str:
    if result.mixed:
        return "channel of that question alone"
    return "joint channel of that question and of the one that decides"


def _passed_on(draft: _Draft, result: SurveyResult) -> Iterator[str]:
    """How the answers came, where they came through a mixer."""
    if result.mixed:
        yield (
            f"The answers travelled through a mixer{draft.source('bittau2017', 'wang2020')}, run by"
            f" {result.mixed.by}, each sealed for the survey's server in an envelope of its own."
            " When the survey was closed, the mixer added"
            f" {counted(result.blanks or 0, 'blank')} to each question: reports of uniformly random"
            " answers. It passed all on as one sorted batch without senders, so that nobody can put"
            " the answers of one person together again."
        )
        yield from result.mixed.sentences


def _when(result: SurveyResult, days: Sequence[str]) -> str:
    if result.state != "closed":
        return f"; it was published on {days[0]} and still open" if days else "; it was still open"
    if len(days) < 2:
        return ""
    first, last = days
    return f", on {first}" if first == last else f", between {first} and {last}"


def _invited(result: SurveyResult, survey: Survey) -> Iterator[str]:
    if result.mixed:
        yield (
            "The mixer decides who takes part; whether it took an invitation is not in the survey's"
            " definition."
        )
    elif survey.invited is not True:
        yield (
            "Anybody who had the link could take part, also more than once: it took no invitation."
        )
    elif result.invited and result.n > result.invited:
        yield (
            f"It took an invitation to answer. There are more reports than the {result.invited:,}"
            " invitations, so some reports are not from people who were invited."
        )
    elif result.invited and result.response_rate is not None:
        rate = _per_cent(result.response_rate)
        yield (
            f"It took an invitation to answer, and each was good for one report: {result.n:,} of"
            f" {result.invited:,} brought one ({rate})."
        )
    else:
        yield "It took an invitation to answer, and each was good for one report."


def _in_waves(result: SurveyResult, survey: Survey, waves: Waves) -> Iterator[str]:
    over = f"epsilon {result.total.get('history', '')} over all of them"
    if survey.count:
        yield (
            f"The survey is one wave of the panel {waves.panel}. Devices randomise the answers"
            f" afresh in each wave, in {survey.count} waves at most: {over}."
        )
    else:
        yield (
            f"The survey is one wave of the panel {waves.panel}. Devices keep a randomised answer"
            f" and report from it in every wave: {over}, however many there are. People who did"
            " not say that an answer had changed are counted with the old one."
        )
    if survey.recognised:
        yield (
            f"By simulation about {survey.recognised_of_100} % of {waves.smallest_group:,} members"
            f" are linkable by their reports ({waves.number} waves, the worst of three"
            " distributions of answers): an estimate, and no upper bound."
        )


# --- randomisation ----------------------------------------------------------------------------


def _randomised(draft: _Draft, result: SurveyResult) -> Iterator[str]:
    total = f"epsilon {result.total['epsilon']}" + (
        f" and delta {result.total['delta']}" if "delta" in result.total else ""
    )
    yield (
        "Each answer was randomised on the respondent's own device before anything was sent, under"
        f" local differential privacy, a form of randomised response{draft.source(*_GENERAL)}. No"
        f" true answer was collected. {'What came from' if result.mixed else 'The whole report of'}"
        f" one person keeps {total}: it changes the"
        " odds between any two sets of answers by a factor of at most"
        f" exp({result.total['epsilon']})"
        f"{', except with a probability of delta' if 'delta' in result.total else ''}."
    )
    if result.mixed:
        yield (
            "That holds even if the mixer works together with the survey's server. Against the"
            " server alone, and against readers of these results, the answers of one person keep"
            f" epsilon {result.mixed.epsilon} and delta {result.mixed.delta} in all, whoever else"
            " took part. This assumes that the mixer adds the blanks, and does not work together"
            " with the server."
        )
    # Questions with one mechanism and one protection are described in one sentence.
    alike: dict[tuple[NamedMechanism, Protection], list[QuestionResult]] = {}
    for question in result.questions:
        # Without the method's words, so that questions with equal mechanisms share one sentence.
        protection = Protection("", Protection.of_result(question).epsilon, _delta(question))
        alike.setdefault((randomiser(question), protection), []).append(question)
    for (used, protection), some in alike.items():
        how = f": {used.report}" if used.report else ""
        # As the results call it, where that is another name.
        shown = f"{some[0].method}; " if used.name not in some[0].method else ""
        all_ = len(alike) == 1 and len(some) > 1
        which = "All questions" if all_ else quoted([question.short for question in some])
        yield (
            f"{which} {'was' if len(some) == 1 else 'were'} asked by {used.name}"
            f"{draft.source(*used.sources)}{how} ({shown}{protection.words}"
            f"{' each' if len(some) > 1 else ''})."
        )


def _delta(question: QuestionResult) -> str:
    return "" if question.delta is UNSET else question.delta


# --- estimation -------------------------------------------------------------------------------


def _estimated(draft: _Draft, result: SurveyResult) -> Iterator[str]:
    questions = result.questions
    level = level_text(result.confidence)
    if any(question.p is not UNSET for question in questions):
        formula, blanks = "(c / n − q) / (p − q): c of n reports", ""
        if result.blanks:
            formula = "((c − D m) / n − q) / (p − q): c of the reports of n people and of D blanks"
            blanks = f", m that a blank names it, and D is {result.blanks:,}"
        yield (
            "Where reports name answers, the share of an answer is estimated without bias by"
            f" {formula} name it, p is the probability that a report names the true answer,"
            f" {'' if blanks else 'and '}q that it names a given other one{blanks}"
            f"{draft.source('wang2017')}."
        )
    if any(question.p is UNSET or _means(question) for question in questions):
        yield (
            "Means, and shares through other designs, average a score of each report whose"
            " expectation is the true value, so they are unbiased, too."
            + (
                " What blanks are expected to add to the sum is subtracted before it is divided by"
                " the number of people."
                if result.blanks
                else ""
            )
        )
    if any(map(_some_without_score, questions)):
        yield "The mean score of a scale is that of people whose answer has a place on it."
    if any(
        isinstance(question, NumberResult) and question.quantiles is not UNSET
        for question in questions
    ):
        yield (
            "Quantiles are those of a distribution that is fitted to the reports"
            f"{draft.source('li2020')}, with intervals of their own."
        )
    yield (
        "Unbiased estimates may lie below 0 or beyond the end of a scale; their intervals are cut"
        f" to it. Standard errors divide by n"
        f"{', and count the chance in the blanks, too' if result.blanks else ''}."
    )
    yield (
        f"Score intervals{draft.source('wilson1927')} at the {level} level cover the noise of the"
        " randomisation and the sampling of respondents together. They hold for a population that"
        " the respondents are a random sample of."
    )
    if any(isinstance(question, PointResult) for question in questions):
        yield (
            "An area stands out if an exact test rejects that nobody is there, at a risk of 5"
            f"{rounding.NARROW}% over all areas of the map"
            f"{draft.source('holm1979', 'shaffer1986')}."
        )
    if any(getattr(question, "choices", UNSET) not in (UNSET, None) for question in questions):
        yield (
            "An answer is called the most frequent if its interval lies above those of all others,"
            " with intervals that cover all answers of the question at once, by Bonferroni's"
            f" inequality{_exact(draft, questions)}."
        )


def _exact(draft: _Draft, questions: Sequence[QuestionResult]) -> str:
    if all(question.p is UNSET for question in questions):
        return ""
    return f"; where reports name answers, these are exact{draft.source('clopper1934')}"


def _means(question: QuestionResult) -> bool:
    if isinstance(question, VectorResult):
        return True
    return isinstance(getattr(question, "mean", UNSET), MeanResult)


def _some_without_score(question: QuestionResult) -> bool:
    return (
        isinstance(question, ScaleResult)
        and question.mean is not UNSET
        and question.choices is not UNSET
        and any(choice.name in UNSCORED for choice in question.choices)
    )


# --- limits -----------------------------------------------------------------------------------


def _limits(draft: _Draft, result: SurveyResult) -> Iterator[str]:
    effects = [
        found
        for question in result.questions
        if isinstance(found := getattr(question, "design_effect", None), float)
    ]
    if effects:
        low, high = (rounding.number(effect, 1) for effect in (min(effects), max(effects)))
        reach = low if low == high else f"{low} to {high}"
        yield (
            f"The price of the randomisation is a design effect of {reach} for shares: so many"
            " respondents tell as much as one person asked directly."
        )
    yield from _poisoned(draft, result)
    several = [
        f"“{question.short}”"
        for question in result.questions
        if isinstance(question, SelectMultipleResult) and question.most > 1
    ]
    if several:
        yield f"People could give several answers to {' and '.join(several)}."
    for question in result.questions:
        for flag in question.flags:
            yield f"Of “{question.short}” there are signs of fake reports: {flag}"


def _poisoned(draft: _Draft, result: SurveyResult) -> Iterator[str]:
    """What fake reports could do at the most, and where that has no bound."""
    poisonings = [pair for question in result.questions for pair in _poisoning(question)]
    shares = [
        poisoning.shift[0]
        for poisoning, width in poisonings
        if poisoning is not None and width is None
    ]
    means = [
        poisoning.shift[0] / width
        for poisoning, width in poisonings
        if poisoning is not None and width
    ]
    parts = [
        f"a share by up to {rounding.number(100 * max(shares), 1)} points" if shares else "",
        f"a mean by up to {_per_cent(max(means))} of its range" if means else "",
    ]
    if text := " and ".join(filter(None, parts)):
        one_in_100 = rounding.with_unit("1", "%")
        yield (
            f"Crafted reports can move estimates{draft.source('cheu2021')}: if {one_in_100} of"
            f" {_whose(result)} reports were fake, they could move {text}."
        )
    if any(poisoning is None for poisoning, _ in poisonings):
        yield "Of some estimates, fake reports could move them without a bound that we can state."


def _whose(result: SurveyResult) -> str:
    return "people's" if result.blanks else "all"


def _poisoning(
    question: QuestionResult,
) -> Iterator[tuple[PoisoningResult | None, float | None]]:
    """What the document says of fake reports, and the width of the scale of a mean."""
    if isinstance(question, VectorResult):
        for part in question.parts:
            if part.mean is not None:
                yield part.poisoning, _width(part.mean)
        return
    of_shares = isinstance(question, ProductResult) or getattr(question, "choices", UNSET) not in (
        UNSET, None,
    )  # fmt: skip
    mean = getattr(question, "mean", None)
    width = None if of_shares or not isinstance(mean, MeanResult) else _width(mean)
    if (poisoning := question.poisoning) is not UNSET:
        yield poisoning, width


def _width(mean: MeanResult) -> float:
    return mean.extent[1] - mean.extent[0]


def _per_cent(share: float) -> str:
    return rounding.with_unit(rounding.number(100 * share, 1), "%")
