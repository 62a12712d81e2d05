"""People who answer a survey, each on a device of their own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from deniably.core.coins import Coins
from deniably.survey.report import randomise_answers
from deniably.survey.survey import Survey
from deniably_server.storage.store import Store
from deniably_server.storage.writing.commit import BatchWrite, Outcome


def answer(
    store: Store,
    survey: Survey,
    people: Iterable[Mapping[str, object]],
    coins: Coins | None = None,
) -> None:
    """Store a report of each of the people, all in one batch; by fresh coins if none are given."""
    batch = BatchWrite(survey)
    for answers in people:
        report = randomise_answers(survey, answers, coins)
        report.check(survey)
        batch.add(report)
    store.begin(batch)
    assert {*batch.wait()} == {Outcome.STORED}
