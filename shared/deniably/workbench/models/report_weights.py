"""Checks the weights of a report set, and numbers the strata that errors are taken within."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager

import numpy as np

from deniably.core.binomial import Floats
from deniably.core.errors import BadModel
from deniably.estimation.weighted_tally import Weighing
from deniably.survey.survey import Survey, require_whole_reports
from deniably.workbench.models.fit import Ints
from deniably.workbench.models.model_columns import groups_of, nearest, numbers, weights_of
from deniably.workbench.report_columns import note
from deniably.workbench.report_rows import ReportRows

StratumWeights = Mapping[str, float] | Mapping[tuple[str, ...], float]
"""A weight for each stratum, by its value; with several keys by the tuple of its values, the keys
in alphabetical order, and in a survey without strata by the empty tuple."""
AnyWeights = StratumWeights | Sequence[float] | Floats
"""Weights by stratum, or one for each report in the order of the set."""


def weighing(
    reports: ReportRows, weights: AnyWeights, strata: str | Sequence[str] | None
) -> Weighing:
    """Returns a weight for each report, with the ``strata`` that errors are taken within: stratum
    keys, None for no strata. Raises BadModel for weights or keys that do not fit."""
    groups = None if strata is None else strata_of(reports, reports.strata, strata)
    return Weighing(checked_weights(reports, weights), groups)


def need_strata_weights(survey: Survey, weights: object) -> None:
    """Raises BadModel unless ``weights`` are given by stratum; the message says why. Raises
    TravelledApart for a survey with a mixer, which cannot have strata."""
    require_whole_reports(survey)
    if isinstance(weights, Mapping):
        return
    example = "the survey has no strata, so its reports cannot be weighed"
    if survey.strata:
        first, second = [stratum_name(stratum) for stratum in survey.every_stratum][:2]
        example = f"give one for each stratum, as {{{first!r}: 1.2, {second!r}: 0.8}} or rake() do"
    raise BadModel(
        f"{_SORTED}: {example}. Weights of people go with a table of your own, where their reports"
        " stand beside them: see deniably.regress and deniably.workbench.weighted_shares"
    )


_SORTED = "the reports of a study are sorted by content, so no list of weights is in their order"


def stratum_name(stratum: Mapping[str, str]) -> str | tuple[str, ...]:
    """Returns the value of a stratum; in a survey with several keys, the tuple of its values."""
    values = tuple(stratum.values())
    return values[0] if len(values) == 1 else values


def weights_by_stratum(
    survey: Survey, weights: StratumWeights, people: Sequence[int] | Ints
) -> Floats:
    """Returns the weight of each stratum, in the order of the strata's numbers. ``people`` has the
    number of people in each stratum.

    A stratum without people may be left out of ``weights``. Raises BadModel for an unknown
    stratum, for a stratum that has people but no weight, and for a negative weight.
    """
    names = [stratum_name(stratum) for stratum in survey.every_stratum]
    known = ", ".join(map(repr, names)) if survey.strata else "none: the survey has no strata"
    by_name: dict[object, float] = dict(weights.items())
    if unknown := [name for name in by_name if name not in names]:
        raise BadModel(f"there is no stratum {str(unknown[0])[:64]!r}; there are {known}")
    if missing := [n for n, some in zip(names, people, strict=True) if some and n not in by_name]:
        raise BadModel(f"no weight of the stratum {missing[0]!r}; there are {known}")
    by_stratum = numbers("weights", [by_name.get(name, 0.0) for name in names])
    if negative := [name for name, weight in zip(names, by_stratum, strict=True) if weight < 0]:
        raise BadModel(f"weights: the stratum {negative[0]!r} has a negative weight")
    return weights_of("weights", by_stratum)


@contextmanager
def of_group(by: str | None, value: str) -> Generator[None]:
    """Adds the name of the group, such as "site north", to any BadModel that is raised within the
    block."""
    try:
        yield
    except BadModel as error:
        if by is None:
            raise
        raise BadModel(f"{by} {value}: {error}") from None


def checked_weights(reports: ReportRows, weights: AnyWeights) -> Floats:
    """Returns a weight for each report, shape (number of reports,), from ``weights`` by stratum or
    by report.

    Weights by report must be equal within each stratum, as those of ``rake`` are: the reports are
    sorted by content, so weights that differ within a stratum were meant for people in another
    order. Raises BadModel for such weights, and for weights that do not fit.
    """
    stratified = reports.layout.stratified
    stratum = reports.layout.strata(reports.rows) if stratified else np.zeros(len(reports), int)
    if isinstance(weights, Mapping):
        if not stratified and reports.survey.strata:
            reports.need_strata()
        people = np.bincount(stratum, minlength=len(reports.survey.every_stratum))
        by_stratum = weights_by_stratum(reports.survey, weights, people)
        return weights_of("weights", by_stratum[stratum])
    values = weights_of("weights", numbers("weights", weights))
    if values.shape != (len(reports),):
        raise BadModel(f"{values.size} weights for {len(reports)} reports")
    for number in np.unique(stratum):
        if np.ptp(values[stratum == number]) > 0:
            need_strata_weights(reports.survey, weights)
    return values


def strata_of(
    reports: ReportRows, public: Mapping[str, Sequence[object]], names: str | Sequence[str]
) -> Ints:
    """Returns for each report the number of its combination of values in the columns ``names``,
    shape (number of reports,). Raises BadModel for an unknown column, or a column of another
    length."""
    wanted = [names] if isinstance(names, str) else list(names)
    numbers = np.zeros(len(reports), np.int64)
    for name in wanted:
        if name not in public:
            unknown = name not in (reports.survey.strata or {})
            why = nearest(name, public) if unknown else f": {note(reports.layout)}"
            raise BadModel(f"there is no stratum {name}{why}")
        codes = groups_of(public[name])
        if len(codes) != len(reports):
            raise BadModel(f"{name} has {len(codes)} rows for {len(reports)} reports")
        # Each combination of values gets a number of its own.
        numbers = numbers * (int(codes.max(initial=0)) + 1) + codes
    return numbers
