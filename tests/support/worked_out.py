"""Questions whose counts are the same are estimated once: many tests show the same reports."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

import msgspec
import pytest

from deniably.results import result
from deniably.results.among_asked import FollowUpReports
from deniably.results.document import QuestionResult

_KNOWN: dict[tuple[object, ...], QuestionResult] = {}


def _follow_up(followed: FollowUpReports | None) -> tuple[object, ...]:
    if followed is None:
        return ()
    pairs = b"" if followed.pairs is None else followed.pairs.counts.tobytes()
    return msgspec.json.encode(followed.follow_up.decides), followed.follow_up.among, pairs


@contextmanager
def worked_out_once() -> Generator[None]:
    """Within this, in this process: a document hangs on nothing but the definition, the tally and
    how it is reported for, and nobody can change it."""
    work_out = result._question

    def once(reported: result._Reported) -> QuestionResult:
        tally, counts = reported.tally, reported.tally.counts
        key = (
            *(type(reported.question), msgspec.json.encode(reported.question)),
            *(tally.n, counts.dtype.str, counts.tobytes(), tally.start, tally.endless),
            *(reported.sampled_fraction, reported.risk, reported.confidence, reported.smooth),
            *_follow_up(reported.followed),
        )
        if key not in _KNOWN:
            _KNOWN[key] = work_out(reported)
        return _KNOWN[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(result, "_question", once)
        yield
