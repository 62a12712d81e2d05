"""A comparison of figures of one question, with all that a reader may be shown of it.

Pages, JSON, CSV, figures for papers and tables in notebooks are made from this alone: the server's
views by ``api.comparisons.kind_of``, a notebook's table by ``Study.compare``.
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
    """What is compared, how, and what is shown of it."""

    name: str
    """The last part of its addresses, such as "ratio"."""
    called: str
    """What the reference of the API calls it, such as "The ratio of two shares"."""
    asks: Mapping[str, str]
    """The parameters that it needs besides the question, with what they are."""
    document: type[_Document]
    """The type of its document, for the schema of its JSON."""
    compute: Callable[[Side, Mapping[str, str], float], _Document]
    """The document of a question's reports, of these parameters, at a confidence.

    Raises Incomparable with the reason."""
    exhibit: Callable[[_Document, Survey, str, str], Exhibit]
    """What is shown of it: of the survey, its state, and the day on which it was closed."""

    def missing(self, arguments: Mapping[str, Any]) -> str:
        """Returns the sentence that asks for a parameter that is not given; empty if all are."""
        for name, about in self.asks.items():
            if name not in arguments:
                return f"“{name}” is missing: {about}"
        return ""
