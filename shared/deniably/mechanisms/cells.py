"""The shape of a mechanism's report, a list of integers, and the checks before it is counted."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from operator import ge

from deniably.core.errors import BadReport

Cells = tuple[int, ...]
"""One mechanism's report: the cells of the tally that it counts in."""

LARGEST_NUMBER = (1 << 53) - 1  # what a JavaScript number holds exactly


def check_subset(report: Sequence[int], size: int | None, domain: int, path: str) -> None:
    """Raise BadReport unless the report is ``size`` distinct integers below ``domain``, ascending.

    If ``size`` is None, the report may have any number of integers, also none.
    """
    if size is not None and len(report) != size:
        raise BadReport(f"a report has exactly {size} of the {domain} choices", path)
    if report and not (min(report) >= 0 and max(report) < domain):
        raise BadReport(f"a reported choice is a number from 0 to {domain - 1}", path)
    if len(report) > 1 and any(map(ge, report, islice(report, 1, None))):
        raise BadReport("the reported choices are distinct and in ascending order", path)


def check_one(report: Sequence[int], low: int, high: int, path: str) -> None:
    """Raise BadReport unless the report is one integer from ``low`` to ``high``."""
    if len(report) != 1:
        raise BadReport("a report is one number", path)
    if not low <= report[0] <= high:
        raise BadReport(f"a reported number is from {low} to {high}", path)
