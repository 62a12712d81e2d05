"""The weights of a report set, and the strata that errors are taken within."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager

import numpy as np

from deniably.core.binomial import Floats
from deniably.core.errors import BadModel
from deniably.estimation.weighted import Weighing
from deniably.workbench.columns import note
from deniably.workbench.models.columns import groups_of, nearest, numbers, weights_of
from deniably.workbench.models.fit import Ints
from deniably.workbench.report_rows import ReportRows


def weighing(
    reports: ReportRows, weights: Sequence[float] | Floats, strata: str | Sequence[str] | None
) -> Weighing:
    """The weights of all reports, one each. Raises BadModel where they do not fit."""
    groups = None if strata is None else strata_of(reports, reports.strata, strata)
    return Weighing(checked_weights(weights, len(reports)), groups)


@contextmanager
def of_group(by: str | None, value: str) -> Generator[None]:
    """Names the group whose weights are refused, where there are any."""
    try:
        yield
    except BadModel as error:
        if by is None:
            raise
        raise BadModel(f"{by} {value}: {error}") from None


def checked_weights(given: Sequence[float] | Floats, n: int) -> Floats:
    """A weight for each of n reports. Raises BadModel."""
    found = weights_of("weights", numbers("weights", given))
    if found.shape != (n,):
        raise BadModel(f"{found.size} weights for {n} reports")
    return found


def strata_of(
    reports: ReportRows, public: Mapping[str, Sequence[object]], names: str | Sequence[str]
) -> Ints:
    """Number the different values of some columns together. Raises BadModel."""
    wanted = [names] if isinstance(names, str) else list(names)
    found = np.zeros(len(reports), np.int64)
    for name in wanted:
        if name not in public:
            unknown = name not in (reports.survey.strata or {})
            why = nearest(name, public) if unknown else f": {note(reports.layout)}"
            raise BadModel(f"there is no stratum {name}{why}")
        codes = groups_of(public[name])
        if len(codes) != len(reports):
            raise BadModel(f"{name} has {len(codes)} rows for {len(reports)} reports")
        found = found * (int(codes.max(initial=0)) + 1) + codes
    return found
