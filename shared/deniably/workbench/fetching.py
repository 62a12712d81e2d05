"""Fetches a survey and all reports to it from a server, and checks them against its register."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import requests

from deniably.core.bounded_files import SMALL
from deniably.core.bounded_http import answer_lines
from deniably.core.errors import BadInput, DeniablyError, NoResults
from deniably.results.remote import Remote, unreached
from deniably.survey.survey import Survey, read_survey, require_whole_reports
from deniably.trust.register import read_register
from deniably.workbench.data_source import Provenance, provenance
from deniably.workbench.files.report_lines import read_ndjson
from deniably.workbench.files.tables import MOST_ROWS
from deniably.workbench.report_set import ReportSet

if TYPE_CHECKING:
    from deniably.workbench.engines.tallying import TalliedSet

_PATIENCE = 600  # seconds: a server reads and sorts every report before it begins to answer
_EVERY = 1_000
"""Reports between two calls that show progress."""
COUNT = "Deniably-Reports"
"""The HTTP header in which a server states how many reports it sends."""


def fetch_survey(remote: Remote) -> tuple[Survey, Provenance]:
    """Fetches the definition of a survey from a server, and returns it with what the server's
    register proves about the survey.

    Raises NoResults, with the reason, where the server does not answer, or where its register has
    no author's signature on this definition.
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
    """Fetches all reports of a closed survey from a server.

    ``read(done, count)`` is called now and then: ``done`` of ``count`` reports have arrived.
    Raises NoResults, with the reason, where the server refuses or the connection is cut, and
    TravelledApart for a survey with a mixer.
    """
    require_whole_reports(survey)
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
    # A cut connection may look like the end of the stream, so the stated number decides.
    if len(reports) != count:
        raise NoResults(
            f"the connection to {remote.host} was cut after {len(reports):,} of {count:,} reports;"
            " fetch them again"
        )
    return reports


def fetch_tally(remote: Remote, survey: Survey) -> TalliedSet:
    """Fetches the counts of a closed survey with a mixer from a server.

    Raises NoResults, with the reason, where the server refuses or they are of another survey, and
    NoExport where they contradict each other.
    """
    from deniably.workbench.engines.tally_file import read_tally

    tallied = read_tally(remote.got("/tally"))
    if tallied.survey.digest != survey.digest:
        raise NoResults(
            f"{remote.host} gives out counts of another version than its register lists"
        )
    return tallied


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
    """Yields the lines, and counts them. Raises NoResults where there are more than the server
    said."""
    number = 0
    for number, line in enumerate(lines, 1):
        if number > count:
            raise NoResults(f"the server sends more than the {count:,} reports that it says")
        if number % _EVERY == 0:
            read(number)
        yield line
    read(number)
