"""Results as those who fetch them have them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import msgspec

from deniably.estimation.tally import Tally
from deniably.results.result import result
from deniably.survey.survey import Survey


def results(survey: Survey, state: str, tallies: Mapping[str, Tally], **more: Any) -> Any:
    """The JSON document of a survey's results."""
    return json.loads(msgspec.json.encode(result(survey, state, tallies, **more)))
