"""Fetches from a server a survey that its register lists, and all reports to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import requests

from deniably.core.bounded_files import SMALL
from deniably.core.bounded_http import answer_lines
from deniably.core.errors import BadInput, DeniablyError, NoResults
from deniably.results.remote import Remote, unreached
from deniably.survey.survey import Survey, read_survey
from deniably.trust.register import read_register
from deniably.workbench.data_source import Provenance, provenance
from deniably.workbench.files.report_lines import read_ndjson
from deniably.workbench.files.tables import MOST_ROWS
from deniably.workbench.report_set import ReportSet

_PATIENCE = 600  # seconds: a server reads and sorts every report before it begins to answer
_EVERY = 1_000
"""Reports between two signs of progress."""
COUNT = "Deniably-Reports"
"""The header with how many reports a server gives out."""


def fetch_survey(remote: Remote) -> tuple[Survey, Provenance]:
    """Returns the definition of a survey on a server, which its author signed and the register
    lists.

    Raises NoResults, with the reason.
    """
    try:
        survey = read_survey(remote.got("", limit=SMALL))
        origin = provenance(read_register(remote.got("/register")), survey)
        return survey, replace(origin, address=f"{remote.base}/surveys/{survey.name}")
    except NoResults:
        raise
    except DeniablyError as error:
        raise NoResults(f"{remote.host}: {error}") from None


def fetch_reports(
    remote: Remote,
    survey: Survey,
    read: Callable[[int, int], None] = lambda done, of: None,
) -> ReportSet:
    """Returns the reports of a closed survey on a server, all of them or none.

    ``read`` is called now and then with how many have come, and how many there are. Raises
    NoResults, with the reason.
    """
    try:
        with (
            remote.session() as session,
            remote.answer(session, "/reports.ndjson", patience=_PATIENCE) as answer,
        ):
            count = _count(answer)
            lines = _counted(answer_lines(answer), count, lambda done: read(done, count))
            reports = read_ndjson(survey, lines)
    except BadInput as error:
        raise NoResults(str(error)) from None
    except requests.Timeout as error:
        raise NoResults(unreached(remote.host, error)) from None
    except requests.RequestException as error:
        raise NoResults(
            f"the connection to {remote.host} was cut before all reports had come"
            f" ({type(error).__name__}); fetch them again"
        ) from None
    except NoResults:
        raise
    except DeniablyError as error:
        raise NoResults(f"{remote.host}: {error}") from None
    if len(reports) != count:
        raise NoResults(
            f"the connection to {remote.host} was cut after {len(reports):,} of {count:,} reports;"
            " fetch them again"
        )
    return reports


def _count(answer: requests.Response) -> int:
    count = answer.headers.get(COUNT, "")
    if not (count.isascii() and count.isdecimal() and len(count) < 20):
        raise NoResults(f"the answer lacks the header {COUNT}: this is no Deniably server's")
    if int(count) > MOST_ROWS:
        raise NoResults(
            f"there are {int(count):,} reports, and at most {MOST_ROWS:,} are fetched at once: ask"
            " the operator for a report set (deniably gather) or a tally file"
        )
    return int(count)


def _counted(lines: Iterator[bytes], count: int, read: Callable[[int], None]) -> Iterator[bytes]:
    """The lines, of which there are as many as the server said. Raises NoResults for more."""
    number = 0
    for number, line in enumerate(lines, 1):
        if number > count:
            raise NoResults(f"the server sends more than the {count:,} reports that it says")
        if number % _EVERY == 0:
            read(number)
        yield line
    read(number)
