"""Divides long lists into pages, which the parameter ``page`` chooses: ``?page=2``."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from flask import request

from deniably_server.errors import BadParameter
from deniably_server.web.operation import QueryParameters

SIZE = 50
"""The most items of a page."""
_MOST_DIGITS = 6

PARAMETERS: QueryParameters = {"page": {"type": "integer", "minimum": 1}}


@dataclass(frozen=True)
class RequestedPage:
    """The page of a list that a request asks for; ``number`` counts from 1."""

    number: int

    @property
    def start(self) -> int:
        """The number of items on earlier pages."""
        return (self.number - 1) * SIZE

    def of(self, size: int) -> Pages:
        """Returns the page's place among all pages of a list of ``size`` items."""
        return Pages(self.number, max(1, ceil(size / SIZE)))


@dataclass(frozen=True)
class Pages:
    """The place of page ``number`` among the ``count`` pages of a list."""

    number: int
    count: int

    @property
    def before(self) -> int | None:
        """The number of the previous page; None on the first page. Beyond the last page it is that
        of the last page."""
        return min(self.number - 1, self.count) or None

    @property
    def after(self) -> int | None:
        """The number of the next page; None on the last one."""
        return self.number + 1 if self.number < self.count else None


def wanted() -> RequestedPage:
    """Returns the page that the current request asks for, by default the first. Raises BadParameter
    where the parameter is no whole number from 1 on, of at most six digits."""
    text = request.args.get("page", "1")
    if not (text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS and int(text)):
        raise BadParameter("“page” is the number of a page, from 1 on")
    return RequestedPage(int(text))
