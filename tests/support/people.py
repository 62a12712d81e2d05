"""People who answer a survey, each on a device of their own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor

from deniably.survey.report import randomise_answers
from deniably.survey.survey import Survey
from deniably_server.storage.store import Store


def answer(store: Store, survey: Survey, people: Iterable[Mapping[str, object]]) -> None:
    """Store a report of each of the people, by fresh coins; as many at once as make it quick."""

    def send(answers: Mapping[str, object]) -> None:
        store.add(survey, randomise_answers(survey, answers))

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(send, people))
