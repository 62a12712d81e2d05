"""Writes what an author reads of how many people can be recognised from wave to wave of a panel."""

from __future__ import annotations

from typing import cast

import msgspec

from deniably.core.errors import Problem
from deniably.design.reidentification import Asked, Recognition, recognised
from deniably.survey.survey import Survey, Waves

FEW_WAVES = 3
"""The largest stated number of waves that may be drawn afresh by default: where memos (answers that
are randomised once and kept) would make ``MANY`` or more people recognisable."""

MANY = 0.05
"""The share of recognisable people from which on fresh chance is better."""


def drawn_afresh(waves: int, kept: Recognition) -> bool:
    """Returns whether fresh noise in each wave is better than memos (permanently randomised
    answers).

    It is for at most ``FEW_WAVES`` waves, if memos would make a share of ``MANY`` or more people
    recognisable. ``kept`` is the risk with memos.
    """
    return waves <= FEW_WAVES and kept.share >= MANY


def recognition_problem(risk: Recognition) -> Problem:
    """Returns the problem to report for a survey whose waves make too many people recognisable."""
    return Problem(
        "$.waves",
        f"{_recognised(risk)}, and that is 1 in 10 or more. Ask fewer questions, raise history, or"
        " say with count how many waves there are; or write recognisable: true, and the form tells"
        " respondents",
    )


def recognition_note(risk: Recognition, survey: Survey) -> str:
    """Returns sentences on how many people can be recognised, and what follows."""
    questions = [cast(Asked, question.mechanism) for question in survey.questions]
    alone = recognised(questions, risk.people, 1, known=True)
    number = len(questions)
    whose = "the true answer is" if number == 1 else f"all {number} true answers are"
    parts = [
        f"{_recognised(risk)}. This is an estimate by simulation, no bound: it is more where true"
        f" answers are known from elsewhere (if {whose} known, {_of_100(alone)} of 100 in a single"
        " wave).",
        *_assumed(survey),
    ]
    if risk.stated:
        parts.append(
            "Form and receipt say so. Separate invitations for each wave do not keep such reports"
            " apart."
        )
    return " ".join(parts)


def choice_note(kept: Recognition, fresh: Recognition, *, totals: tuple[float, float],
                error: float, chosen: str) -> str:  # fmt: skip
    """Returns a note that compares memos with fresh noise in each wave, and says which was
    ``chosen``.

    ``kept`` is the risk with memos, ``fresh`` the risk with fresh noise. ``totals`` are the
    epsilons of all waves with memos and with fresh noise. ``error`` is the standard error of a wave
    with fresh noise within the total epsilon of memos, as a multiple of the standard error with
    memos.
    """
    return (
        f"Two ways to ask {kept.waves} waves. Kept answers: {_of_100(kept.share)} of 100 people can"
        f" be recognised, and all waves together are epsilon {totals[0]:.2f}. Fresh chance in each"
        f" wave (count: {kept.waves}): {_of_100(fresh.share)} of 100, and epsilon"
        f" {totals[1]:.2f}; within {totals[0]:.2f}, a wave's standard error would be"
        f" {error:.2f} times as large. Taken: {chosen}. Write history or count to choose yourself."
    )


def _recognised(risk: Recognition) -> str:
    return (
        f"About {_of_100(risk.share)} of 100 people can be recognised over {risk.waves} waves of"
        f" {risk.people:,} people by somebody who keeps all reports"
    )


def _assumed(survey: Survey) -> list[str]:
    """What the author did not say of the panel."""
    assert isinstance(survey.waves, Waves)
    waves = survey.waves
    known = (waves.people, waves.waves if waves.count is msgspec.UNSET else waves.count)
    keys = [key for key, value in zip(("people", "waves"), known, strict=True)
            if value is msgspec.UNSET]  # fmt: skip
    if not keys:
        return []
    group = "the smallest stratum" if survey.strata else "the panel"
    sizes = {
        "people": f"{waves.smallest_group} people in {group}",
        "waves": f"{waves.number} waves",
    }
    return [
        f"{' and '.join(sizes[key] for key in keys)} are assumed: write"
        f" {' and '.join(keys)} under waves."
    ]


def _of_100(share: float) -> str:
    """A share as a number of 100 people: whole from 10 on."""
    # From here on one decimal would read 10.0.
    return f"{100 * share:.0f}" if share >= 0.0995 else f"{100 * share:.1f}"
