"""Describes one way to compare figures of a question, with all that a reader may be shown of it.

The server makes pages, JSON, CSV and figures for papers of it, and ``Study.compare`` a notebook's
table. A new comparison therefore needs no code there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from deniably.exhibits.exhibit import Exhibit
from deniably.results.differences import Side
from deniably.survey.survey import Survey

_Document = TypeVar("_Document")


@dataclass(frozen=True, kw_only=True)
class Comparison(Generic[_Document]):
    """A way to compare figures of one question, such as the ratio of two shares."""

    name: str
    """The last part of the comparison's web addresses, such as "ratio"."""
    called: str
    """The title in the API reference, such as "The ratio of two shares"."""
    asks: Mapping[str, str]
    """The parameters that are needed besides the question, each with its description."""
    document: type[_Document]
    """The type of the result document, which gives the schema of the JSON."""
    compute: Callable[[Side, Mapping[str, str], float], _Document]
    """Returns the result document, given the question's reports, the parameters and the
    confidence. Raises Incomparable, which says why, where the reports allow no comparison."""
    exhibit: Callable[[_Document, Survey, str, str], Exhibit]
    """Returns the exhibit of a document, given the survey, its state, and the day on which it was
    closed."""

    def missing(self, arguments: Mapping[str, Any]) -> str:
        """Returns a sentence that asks for the first of the parameters ``asks`` that is not in
        ``arguments``; empty if none is missing."""
        for name, about in self.asks.items():
            if name not in arguments:
                return f"“{name}” is missing: {about}"
        return ""
