"""The pattern that takes the lines of a batch apart, which nothing else interrupts."""

from __future__ import annotations

import re

from deniably_server.api.report_lines import line_pattern
from support.material import a_report, survey_named

SURVEY = survey_named()
LINE = a_report(SURVEY).canonical.decode() + "\n"
PATTERN = re.compile(line_pattern(SURVEY.digest, ["often", "stolen"]))


def test_a_line_is_a_report() -> None:
    assert PATTERN.fullmatch(LINE)


def test_a_report_without_an_end_is_not_read_again_from_all_that_begin_in_it() -> None:
    """Each reading would be as long as the rest. So nothing in a value begins another report."""
    assert PATTERN.search(LINE.replace('"often":[', '"often":[{"id":')) is None
