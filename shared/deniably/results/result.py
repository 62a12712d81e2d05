"""Builds the results document of a survey from its tallies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast, get_args

import msgspec

from deniably.core.binomial import Floats
from deniably.estimation import blank_laws, question_shares, smoothing
from deniably.estimation.estimate import Estimate
from deniably.estimation.figures import Average, Buckets, Group, Share, Shares, SingleMean, groups
from deniably.estimation.inversion import Margin, Mean
from deniably.estimation.question_distributions import Distribution
from deniably.estimation.question_means import tally_of_part
from deniably.estimation.shares_among_asked import FollowUpCounts
from deniably.estimation.shrinkage import within
from deniably.estimation.tally import Tally
from deniably.mechanisms.law import Supporting
from deniably.results import among_asked, narrative, places, poisoning, poisoning_report
from deniably.results.among_asked import UNTOLD, FollowUpReports, followed
from deniably.results.bands import band, bands
from deniably.results.document import (
    AreaResult,
    BucketResult,
    ChoicePartResult,
    ChoiceResult,
    MeanResult,
    MixedResult,
    NumberPartResult,
    QuantileResult,
    QuestionResult,
    SideResult,
    SurveyResult,
)
from deniably.results.drawing.row import mean_row
from deniably.results.plausibility import RISK
from deniably.results.unread_answers import unread_answers
from deniably.survey.mixer import Mixer
from deniably.survey.odds import odds_text
from deniably.survey.parts import NumberPart
from deniably.survey.questions import (
    Number,
    Point,
    Product,
    Question,
    SelectMultiple,
    VectorOfNumbers,
)
from deniably.survey.readable import rounded, short_label
from deniably.survey.strata import Stratum, titled
from deniably.survey.survey import Survey

CONFIDENCE = 0.95

# The class of results for each type of question, by its tag.
_DOCUMENTS = {
    str(document.__struct_config__.tag): document for document in get_args(QuestionResult)
}


def result(
    survey: Survey,
    state: str,
    tallies: Mapping[str, Tally],
    *,
    smooth: bool = False,
    confidence: float = CONFIDENCE,
    invited: int | None = None,
    only: str | None = None,
    strata: Stratum | None = None,
    subgroups: list[dict[str, str]] | None = None,
    together: Mapping[str, FollowUpCounts] | None = None,
    reports: int | None = None,
) -> SurveyResult:
    """Returns the results of a survey from the tally of every question by its name. Each tally
    must have at least one report.

    ``state`` is "open" or "closed". ``invited`` is the number of valid invitations, None if
    anybody may answer. ``confidence`` is the level of every interval. Pass ``smooth`` only if you
    know that the distributions are smooth: smoothing biases others. ``only`` is the name of a
    question, to get its results alone; None returns all. ``strata`` has the values of the subgroup
    that the tallies are of. ``subgroups`` lists all subgroups that have results of their own.
    ``together`` has, by the name of a question with ``show_if``, the joint counts of the reports
    to this question and to the one that decides who is asked; only whole reports give such counts.
    ``reports`` is the number of reports, for surveys in which a report may leave out some
    questions (SPEC 4.7), and the number of senders where a mixer passed the answers on; None stands
    for the largest number of reports to any question.

    Raises ValueError where a survey has a mixer and a tally has another number of blanks than its
    definition: estimates would be wrong.
    """
    _check_blanks(survey, tallies)
    sampled_fraction = survey.asked / len(survey.questions)
    # The risk of a false alarm holds for the whole survey; its questions share it out (Bonferroni).
    risk = RISK / len(survey.questions)
    questions = [
        _question(
            _Reported(
                question,
                tallies[question.name],
                sampled_fraction,
                risk,
                confidence,
                smooth,
                followed(survey, question.name, together),
            )
        )
        for question in survey.questions
        if only in (None, question.name)
    ]
    total = survey.total
    n = _reports(survey, [tallies[question.name].n for question in survey.questions], reports)
    return SurveyResult(
        survey=survey.name,
        title=titled(survey.title, strata),
        digest=survey.digest,
        state=state,
        n=n,
        invited=invited,
        response_rate=rounded(n / invited) if invited else None,
        confidence=confidence,
        total={"odds": odds_text(total.odds_bound), "epsilon": total.epsilon_text()}
        | ({"delta": narrative.delta_text(total.delta)} if total.delta else {})
        | ({"history": survey.history.epsilon_text()} if survey.waves else {})
        | ({"waves": str(survey.count)} if survey.count else {}),
        **_through_mixer(survey, tallies, n),
        strata=dict(strata) if strata else msgspec.UNSET,
        subgroups=subgroups if subgroups is not None else msgspec.UNSET,
        questions=questions,
    )


def _check_blanks(survey: Survey, tallies: Mapping[str, Tally]) -> None:
    if not isinstance(survey.mixer, Mixer):
        return
    for name, tally in tallies.items():
        if tally.blanks != survey.mixer.blanks:
            raise ValueError(
                f"{name}: the mixer adds {survey.mixer.blanks:,} blanks, and the tally has"
                f" {tally.blanks:,}"
            )


def _through_mixer(survey: Survey, tallies: Mapping[str, Tally], n: int) -> dict[str, Any]:
    """What the document says of the survey's mixer; nothing without one."""
    if not isinstance(survey.mixer, Mixer):
        return {}
    loss = survey.mixer.claim.loss
    # A batch has an envelope of each sender to each question; what is missing could not be read.
    refused = sum(n - tallies[question.name].n for question in survey.questions)
    envelopes = len(survey.questions) * (n + survey.mixer.blanks)
    mixed = MixedResult(
        by=survey.mixer.by,
        odds=odds_text(loss.odds_bound),
        epsilon=loss.epsilon_text(),
        delta=narrative.delta_text(loss.delta),
        refused=refused,
        sentences=unread_answers(refused, envelopes),
    )
    return {"senders": n, "blanks": survey.mixer.blanks, "mixed": mixed}


def _reports(survey: Survey, counts: Sequence[int], reports: int | None) -> int:
    # A server leaves out what it cannot open of a batch, so that some questions have fewer.
    if survey.part or survey.mixer:
        return max(counts) if reports is None else reports
    return sum(counts) // survey.asked  # every report answers the same number of questions


@dataclass(frozen=True, eq=False)
class _Reported:
    """One question and its tally.

    ``sampled_fraction`` is the share of the respondents who report it, ``risk`` the chance of a
    false alarm about it.
    """

    question: Any  # functions dispatch on its type
    tally: Tally
    sampled_fraction: float
    risk: float
    confidence: float
    smooth: bool
    followed: FollowUpReports | None


@dataclass(frozen=True)
class _Addition:
    """What a group of figures adds to the document of its question; tuples are concatenated."""

    fields: Mapping[str, object]
    sentence: str = ""
    notes: Sequence[str] = ()
    flags: Sequence[str] = ()


def _question(reported: _Reported) -> QuestionResult:
    question: Question = reported.question
    fields = _protection(question) | _blanks(question, reported.tally)
    additions = [_of_group(reported, group) for group in groups(question)]
    for addition in additions:
        for key, value in addition.fields.items():
            # Parts of a question add to one list, in their order.
            fields[key] = [*fields.get(key, []), *value] if isinstance(value, tuple) else value
    return cast(
        QuestionResult,
        _DOCUMENTS[question.type](
            n=reported.tally.n,
            sentence=" ".join(addition.sentence for addition in additions if addition.sentence),
            notes=[note for addition in additions for note in addition.notes],
            flags=[flag for addition in additions for flag in addition.flags],
            **fields,
        ),
    )


def _protection(question: Question) -> dict[str, Any]:
    loss, rates = question.mechanism.loss, narrative.rates(question)
    return {
        "name": question.name,
        "label": question.label,
        "short": short_label(question),
        "mechanism": _without_weights(msgspec.to_builtins(question.mechanism)),
        "method": question.mechanism.described,
        "claim": msgspec.to_builtins(question.claim),
        "odds": odds_text(loss.odds_bound),
        "epsilon": loss.epsilon_text(),
        **({"delta": narrative.delta_text(loss.delta)} if loss.delta else {}),
        **(dict(zip("pq", rates, strict=True)) if rates else {}),
        **({"most": question.most} if isinstance(question, SelectMultiple) else {}),
    }


def _blanks(question: Question, tally: Tally) -> dict[str, Any]:
    law = question.report_mechanism.law
    if not tally.blanks:
        return {}
    supporting = {"m": float(blank_laws.support(law))} if isinstance(law, Supporting) else {}
    return {"blanks": tally.blanks, **supporting}


def _without_weights(value: Any) -> Any:
    """A mechanism without the matrices of its channels, which may have 4,096 entries each."""
    if isinstance(value, dict):
        items = cast(dict[str, Any], value).items()
        return {key: _without_weights(item) for key, item in items if key != "weights"}
    if isinstance(value, list | tuple):
        return [_without_weights(item) for item in cast(list[Any], value)]
    return value


def _of_group(reported: _Reported, group: Group) -> _Addition:
    match group:
        case Shares(part=None) if isinstance(reported.question, Point | Product):
            return _cells(reported, group)
        case Shares(part=None):
            return _choices(reported, group)
        case Shares():
            return _choices_of_part(reported, group)
        case SingleMean(part=None):
            return _mean(reported, group)
        case SingleMean():
            return _mean_of_part(reported, group)
        case Buckets():
            return _distribution(reported, group)


# --- shares -----------------------------------------------------------------------------------


def _choices(reported: _Reported, group: Shares) -> _Addition:
    question, tally = reported.question, reported.tally
    estimate = group.estimate(tally, reported.confidence)
    odd = poisoning_report.implausible_shares(
        question.mechanism.law, group, tally, estimate, reported.risk
    )
    shown = _displayed(question, tally, estimate)
    counts, out = narrative.support_counts(question, tally), _out(question, tally)
    choices = _choice_results(reported, group.figures, shown, counts, out)
    offered = [choice.estimate for choice in choices]
    among = None
    if reported.followed is not None:
        if len(offered) > 2:  # what is in front is one of the answers that are offered
            del offered[reported.followed.follow_up.hidden]
        among = reported.followed.result(tally, reported.confidence)
    fields = {"choices": choices, **_of_all(reported, group, estimate, offered)}
    if reported.followed is None or among is None:
        sentence = narrative.sentence(question, shown, out) if reported.followed is None else UNTOLD
        return _Addition(fields, sentence, narrative.too_wide(question, shown, tally.blanks), odd)
    return _Addition(
        fields | {"among_asked": among},
        among_asked.headline(among, reported.confidence),
        [
            among_asked.share_asked_sentence(
                among, reported.confidence, reported.followed.follow_up
            ),
            *among_asked.known_alone(among, reported.followed.follow_up, mixed=tally.blanks > 0),
            *among_asked.too_wide(among, reported.followed, tally, reported.confidence),
        ],
        odd,
    )


def _cells(reported: _Reported, group: Shares) -> _Addition:
    question, tally = reported.question, reported.tally
    estimate = group.estimate(tally, reported.confidence)
    odd = poisoning_report.implausible_shares(
        question.mechanism.law, group, tally, estimate, reported.risk
    )
    shown, out = _displayed(question, tally, estimate), _out(question, tally)
    assert out is not None  # joint reports support their cells
    eighty, fifty = bands((estimate.low, estimate.high), estimate.interval_at, reported.confidence)
    cells = [
        AreaResult(
            names=list(figure.labels),
            estimate=rounded(shown.raw[v]),
            standard_error=rounded(shown.standard_error[v]),
            interval=_pair(shown.low, shown.high, v),
            interval_80=band(eighty, v),
            interval_50=band(fifty, v),
            consistent=rounded(shown.consistent[v]),
            stands_out=out[v],
        )
        for v, figure in enumerate(group.figures)
    ]
    fields = {
        "cells": cells,
        **_of_all(reported, group, estimate, [cell.estimate for cell in cells]),
    }
    if isinstance(question, Point):
        sides = [_side(part) for part in question.parts]
        sentence = places.sentence(sides, cells)
        outline = question.outline if isinstance(question.outline, str) else None
        fields |= {"sides": sides, "outline": outline}
        return _Addition(fields, sentence, narrative.too_wide(question, shown, tally.blanks), odd)
    sentence = narrative.leading(
        [figure.label for figure in group.figures], shown, out, "combination"
    )
    return _Addition(fields, sentence, narrative.too_wide(question, shown, tally.blanks), odd)


def _side(part: NumberPart) -> SideResult:
    grid = part.range
    unit = grid.unit if isinstance(grid.unit, str) else ""
    return SideResult(
        label=part.label, unit=unit, low=float(grid.minimum), high=float(grid.maximum)
    )


def _choices_of_part(reported: _Reported, group: Shares) -> _Addition:
    assert group.part is not None
    estimate = group.estimate(reported.tally, reported.confidence)
    # A part of a product has no shares for display: the shares nearest to its estimates are moved
    # into their intervals.
    inside = replace(estimate, consistent=within(estimate.consistent, estimate.low, estimate.high))
    part = ChoicePartResult(
        name=group.part.name,
        label=group.part.label,
        choices=_choice_results(reported, group.figures, inside, None, None),
    )
    return _Addition({"parts": (part,)})


def _choice_results(
    reported: _Reported,
    figures: Sequence[Share],
    estimate: Estimate,
    counts: Sequence[int] | None,
    out: Sequence[bool] | None,
) -> list[ChoiceResult]:
    # Where devices draw which questions they ask, those who reported this one are a sample of the
    # respondents: only the wider interval holds for these.
    low, high = estimate.respondents_low, estimate.respondents_high
    if reported.sampled_fraction < 1:
        low, high = estimate.low, estimate.high
    eighty, fifty = bands((estimate.low, estimate.high), estimate.interval_at, reported.confidence)
    return [
        ChoiceResult(
            name=figure.name,
            label=figure.label,
            count=None if counts is None else counts[v],
            estimate=rounded(estimate.raw[v]),
            standard_error=rounded(estimate.standard_error[v]),
            interval=_pair(estimate.low, estimate.high, v),
            interval_80=band(eighty, v),
            interval_50=band(fifty, v),
            joint_interval=_pair(estimate.joint_low, estimate.joint_high, v),
            respondents_interval=_pair(low, high, v),
            consistent=rounded(estimate.consistent[v]),
            stands_out=None if out is None else out[v],
        )
        for v, figure in enumerate(figures)
    ]


def _of_all(
    reported: _Reported, group: Shares, estimate: Estimate, estimates: Sequence[float]
) -> dict[str, object]:
    """What all shares of a question have in common. Where devices draw which questions they ask,
    the design effect counts all respondents, also those without this question."""
    # The two largest estimates, largest first: how far the leader is in front.
    effect, first, second = estimate.design_effect, *sorted(estimates)[:-3:-1]
    fraction = reported.sampled_fraction
    leverage = poisoning.of_group(reported.question.report_mechanism, group)
    return {
        "design_effect": None if effect is None else rounded(rounded(effect) / fraction),
        "effective_n": None if estimate.effective_n is None else rounded(estimate.effective_n),
        "poisoning": poisoning_report.poisoning_result(leverage, fraction, gap=first - second),
    }


def _out(question: Question, tally: Tally) -> list[bool] | None:
    law = question.mechanism.law
    if not isinstance(law, Supporting):
        return None
    single = not isinstance(question, SelectMultiple)
    return [bool(out) for out in question_shares.standing_out(law, tally, single=single)]


def _displayed(question: Any, tally: Tally, estimate: Estimate) -> Estimate:
    """The estimate with its shares for display."""
    return replace(estimate, consistent=question_shares.display_shares(question, tally, estimate))


# --- means ------------------------------------------------------------------------------------


def _mean(reported: _Reported, group: SingleMean) -> _Addition:
    figure, mean = group.figure, group.estimate(reported.tally, reported.confidence)
    if mean is None:
        return _untold_mean(reported, group)
    fields = {"mean": _mean_result(reported, figure, mean)}
    sentence = _mean_sentence(figure, fields["mean"], reported.confidence)
    # The poisoning of this question is stated for its shares, not for its mean.
    if not group.guarded:
        return _Addition(fields, sentence)
    leverage = poisoning.of_group(reported.question.report_mechanism, group)
    poisoned = poisoning_report.poisoning_result(leverage, reported.sampled_fraction, figure.width)
    odd = poisoning_report.implausible_mean(
        reported.question.mechanism.law, group, reported.tally, mean, reported.risk
    )
    return _Addition(
        fields | {"poisoning": poisoned},
        sentence,
        narrative.mean_too_wide(mean, *figure.ends, made_up=_made_up(reported, figure)),
        odd,
    )


def _untold_mean(reported: _Reported, group: SingleMean) -> _Addition:
    """A mean among those with a score, where too few have one; or of buckets that noise hides."""
    figure = group.figure
    mean = _undetermined(reported.tally.n, *figure.extent)
    if not isinstance(reported.question, Number):
        return _Addition({"mean": mean}, _mean_sentence(figure, mean, reported.confidence))
    poisoned = poisoning_report.poisoning_result(None, reported.sampled_fraction, figure.width)
    return _Addition({"mean": mean, "poisoning": poisoned}, narrative.HIDDEN_MEAN)


def _mean_of_part(reported: _Reported, group: SingleMean) -> _Addition:
    question: VectorOfNumbers = reported.question
    figure, part = group.figure, group.part
    assert part is not None
    mean = group.estimate(reported.tally, reported.confidence)
    leverage = poisoning.of_group(question.report_mechanism, group)
    shown = NumberPartResult(
        name=part.name,
        label=part.label,
        mean=None if mean is None else _mean_result(reported, figure, mean),
        poisoning=poisoning_report.poisoning_result(
            leverage, reported.sampled_fraction, figure.width
        ),
    )
    if mean is None:
        return _Addition({"parts": (shown,)}, notes=[f"No report has “{part.label}” yet."])
    assert shown.mean is not None
    own, risk = (
        tally_of_part(question, figure.index, reported.tally),
        # The numbers share the question's risk of a false alarm.
        reported.risk / len(question.parts),
    )
    return _Addition(
        {"parts": (shown,)},
        _mean_sentence(figure, shown.mean, reported.confidence),
        narrative.mean_too_wide(mean, *figure.ends, part.label, _made_up(reported, figure)),
        poisoning_report.implausible_mean(question.mechanism.law, group, own, mean, risk),
    )


def _made_up(reported: _Reported, figure: Average) -> float:
    """How much of the variance of a mean is of a mixer's blanks, in the square of its unit."""
    tally, mechanism = reported.tally, reported.question.report_mechanism
    if not tally.blanks:
        return 0.0
    blended = figure.variance(mechanism, tally.blanks / tally.n)
    return figure.width**2 * (blended - figure.variance(mechanism)) / tally.n


def _mean_sentence(figure: Average, mean: MeanResult, confidence: float) -> str:
    row = mean_row("", mean.estimate, mean.interval, mean.extent, mean.unit)
    return narrative.mean_sentence(figure.label, row.reading, confidence)


def _mean_result(reported: _Reported, figure: Average, mean: Mean) -> MeanResult:
    """Where devices draw which questions they report, those who reported this one are a random
    sample of these respondents, so that the margins are those for a population."""
    whose = mean.population_margin if reported.sampled_fraction < 1 else mean.sample_margin
    eighty, fifty = bands(
        mean.population_margin.ends, lambda level: mean.margin_at(level).ends, reported.confidence
    )
    return MeanResult(
        n=mean.n,
        unit=figure.unit,
        extent=[rounded(end) for end in figure.extent],
        estimate=rounded(mean.estimate),
        standard_error=rounded(mean.population_margin.standard_error),
        interval=_ends(mean.population_margin),
        interval_80=band(eighty),
        interval_50=band(fifty),
        respondents_standard_error=rounded(whose.standard_error),
        respondents_interval=_ends(whose),
    )


def _undetermined(n: int, low: float, high: float) -> MeanResult:
    """A mean that the reports do not determine."""
    return MeanResult(
        n=n,
        unit="",
        extent=[low, high],
        estimate=None,
        standard_error=None,
        interval=[low, high],
        interval_80=None,
        interval_50=None,
        respondents_standard_error=None,
        respondents_interval=[low, high],
    )


# --- distributions ----------------------------------------------------------------------------


def _distribution(reported: _Reported, group: Buckets) -> _Addition:
    question, tally = reported.question, reported.tally
    distribution = group.estimate(tally, reported.confidence)
    can_smooth = smoothing.helps(question, tally.n)
    # The fit of the shares for display depends on the mechanism alone.
    fit = "projection" if isinstance(question.mechanism.law, Supporting) else "em"
    if reported.smooth and can_smooth:
        fit, distribution = "ems", smoothing.smoothed(question, tally, distribution)
    buckets = [
        BucketResult(low=low, high=high, consistent=rounded(share), **upto)
        for (low, high), share, upto in zip(
            group.ranges,
            distribution.shares,
            _shares_up_to(distribution, len(group.ranges)),
            strict=True,
        )
    ]
    quantiles = [
        QuantileResult(
            share=quantile.share,
            low=group.ranges[quantile.bucket][0],
            high=group.ranges[quantile.bucket][1],
            interval=[group.ranges[quantile.low][0], group.ranges[quantile.high][1]],
        )
        for quantile in distribution.quantiles
    ]
    return _Addition(
        {
            "distribution": buckets,
            "fit": fit,
            "can_smooth": can_smooth,
            "quantiles": quantiles,
        },
        narrative.median_sentence(
            quantiles, (group.ranges[0][0], group.ranges[-1][1]), group.unit, reported.confidence
        ),
    )


def _shares_up_to(distribution: Distribution, buckets: int) -> Iterator[dict[str, Any]]:
    """The share up to the end of each bucket. Where the shown one would leave its interval, as the
    lower end of an earlier interval lies above it, the interval reaches out to it."""
    for mean, shown in zip(
        distribution.at_most, map(rounded, distribution.rising.tolist()), strict=True
    ):
        low, high = _ends(mean.population_margin)
        yield {
            "at_most": shown,
            "at_most_unbiased": rounded(mean.estimate),
            "at_most_interval": [min(low, shown), max(high, shown)],
        }
    for _ in range(buckets - len(distribution.at_most)):
        yield {"at_most": None, "at_most_unbiased": None, "at_most_interval": None}


# --- below ------------------------------------------------------------------------------------


def _ends(margin: Margin) -> list[float]:
    return [rounded(margin.low), rounded(margin.high)]


def _pair(low: Floats, high: Floats, v: int) -> list[float]:
    return [rounded(low[v]), rounded(high[v])]
