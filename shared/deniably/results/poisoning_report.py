"""Reports on poisoning: how much fake reports could move the figures, and whether there are signs
of them."""

from __future__ import annotations

from dataclasses import replace

from deniably.estimation.estimate import Estimate
from deniably.estimation.figures import Buckets, Shares, SingleMean, groups
from deniably.estimation.inversion import Mean
from deniably.estimation.tally import Tally
from deniably.mechanisms.law import Law, Noise, Several, Supporting
from deniably.results import plausibility
from deniably.results.document import PoisoningResult
from deniably.results.narrative import quoted
from deniably.results.poisoning import Leverage, of_group
from deniably.survey.questions import Question
from deniably.survey.readable import rounded

FEW, MORE = 0.01, 0.05
"""The shares of fake reports for which results state how far they could move a figure."""

_ODD = "suspect a faulty device or fake reports"


def poisoning_result(
    leverage: Leverage | None, sampled: float, length: float = 1.0, gap: float | None = None
) -> PoisoningResult | None:
    """Returns what the results document states on poisoning of one question; None if ``leverage``
    (how far one fake report can move the question's figure) is None.

    ``sampled`` is the share of respondents who report the question, ``length`` the length of the
    scale in its unit, and ``gap`` how far the share of the second choice is below that of the
    first, None if there are no choices.
    """
    if leverage is None:
        return None
    here = replace(leverage, sampled_fraction=leverage.sampled_fraction * sampled)
    flip = None if gap is None else here.flip(gap)
    return PoisoningResult(
        exchange=rounded(here.exchange),
        shift=[rounded(length * here.shift(share)) for share in (FEW, MORE)],
        flip=None if flip is None else rounded(flip),
    )


def of_question(question: Question, sampled: float) -> Leverage | None:
    """Returns how far one fake report can move a figure of the question, for the figure that it
    can move most. ``sampled`` is the share of respondents who report the question. None if no
    figure has a largest score."""
    mechanism = question.report_mechanism
    guarded = (
        group for group in groups(question) if not isinstance(group, Buckets) and group.guarded
    )
    leverages = [
        leverage
        for leverage in (of_group(mechanism, each) for each in guarded)
        if leverage is not None
    ]
    if not leverages:
        return None
    worst = max(leverages, key=lambda leverage: leverage.exchange)
    return replace(worst, sampled_fraction=worst.sampled_fraction * sampled)


# --- signs ------------------------------------------------------------------------------------


def implausible_shares(
    law: Law, group: Shares, tally: Tally, estimate: Estimate, risk: float
) -> list[str]:
    """Returns a list with one sentence if some choices were reported more or less often than any
    true answers explain; otherwise an empty list. Honest reports cause the sentence with a
    probability of at most ``risk``."""
    if isinstance(law, Supporting):
        odd = plausibility.impossible(law, tally, risk)
    else:
        scores = [figure.score(law) for figure in group.figures]
        blanks = tally.blanks / tally.n
        odd = plausibility.impossible_shares(scores, estimate.raw, tally.n, risk, blanks)
    names = [figure.label for figure, is_odd in zip(group.figures, odd, strict=True) if is_odd]
    if not names:
        return []
    return [f"No true answers explain how often {quoted(names)} was reported: {_ODD}."]


def implausible_mean(
    law: Law, group: SingleMean, tally: Tally, mean: Mean, risk: float
) -> list[str]:
    """Returns a list with one sentence if no true answers explain the reports to a question with a
    mean; otherwise an empty list. In a question about several numbers, ``tally`` has the reports
    of the number whose mean is checked. Honest reports cause the sentence with a probability of at
    most ``risk``.

    For numbers with added noise, the check counts reports farther outside the range than noise
    explains; otherwise it looks at the mean.
    """
    label = group.part.label if group.part else ""
    own = law.parts[group.figure.index] if isinstance(law, Several) else law
    if isinstance(own, Noise):
        return _off_the_grid(plausibility.beyond_noise(own, tally, risk), label)
    spread = plausibility.of_score(group.figure.score(law), tally.blanks / tally.n)
    return _odd(mean, group.figure.extent, spread, risk, label)


def _odd(
    mean: Mean,
    ends: tuple[float, float],
    spread: plausibility.Spread,
    risk: float,
    label: str = "",
) -> list[str]:
    # Scores are on the scale from 0 to 1, the mean is in its unit.
    place = (mean.estimate - ends[0]) / (ends[1] - ends[0])
    if not plausibility.too_far(place, mean.n, spread, risk):
        return []
    about = f"{label}: the" if label else "The"
    return [f"{about} mean lies outside what true answers can give: {_ODD}."]


def _off_the_grid(reports: int, label: str = "") -> list[str]:
    if not reports:
        return []
    about = f"{label}: " if label else ""
    some = "1 report lies" if reports == 1 else f"{reports:,} reports lie"
    return [f"{about}{some} farther off the scale than noise puts any: {_ODD}."]
