"""A mechanism has a name for authors, and the name has a mechanism, or it is told here."""

from __future__ import annotations

from fractions import Fraction
from itertools import chain
from typing import Any, get_args, get_type_hints

import pytest
from msgspec.structs import replace

from deniably.authoring.schema import schema
from deniably.design.named_mechanisms import (
    NAMES,
    Task,
    choice_task,
    joint_task,
    number_task,
    scale_task,
    ticks_task,
    vector_task,
)
from deniably.mechanisms import BoundedLaplace, Channel, Mechanism, Memoised
from deniably.survey.privacy import Privacy
from deniably.survey.questions import Question

TASKS: dict[str, list[Task]] = {
    "yes_no": [choice_task(2)],
    "select_one": [choice_task(2), choice_task(5)],
    "select_multiple": [ticks_task(5, 2)],
    "scale": [scale_task(5, "distribution"), scale_task(5, "mean")],
    "number": [number_task(11, "distribution"), number_task(11, "mean")],
    "vector": [vector_task([11, 11])],
    "point": [joint_task("point", 16)],
    "product": [joint_task("product", 6)],
}
BY_COINS = {("yes_no", Channel), ("select_one", Channel)}
"""Two coins, which authors ask for by ``coins``."""
PROMISE = Privacy(epsilon=Fraction(1), delta=Fraction(1, 100_000))

NAMED = [
    pytest.param(task, name, id=f"{kind}-{name}")
    for kind, tasks in TASKS.items()
    for task in tasks
    for name in task.names
    if not (name == "warner" and task.choose(PROMISE, None).law.domain.count != 2)
]


@pytest.mark.parametrize("question", get_args(Question))
def test_whatever_may_ask_a_question_can_be_asked_for_by_an_author(question: Any) -> None:
    """A mechanism that is added to a type of question needs a row among the names."""
    kind = question.__struct_config__.tag
    hint = get_type_hints(question)["mechanism"]
    allowed = {one for one in get_args(hint) or (hint,) if one in get_args(Mechanism)}
    named = {task.names[name].made for task in TASKS[kind] for name in task.names}

    missing = {(kind, one) for one in allowed - named} - BY_COINS
    assert not missing, "has no name in design.named_mechanisms"
    assert named <= allowed, "is named, and no such question may have it"


def test_every_mechanism_has_a_name() -> None:
    tasks = chain.from_iterable(TASKS.values())
    assert {task.names[name].made for task in tasks for name in task.names} == set(
        get_args(Mechanism)
    )


def test_every_type_of_question_is_looked_at() -> None:
    assert set(TASKS) == {one.__struct_config__.tag for one in get_args(Question)}
    assert Memoised not in get_args(Mechanism), "it stands before one that has a name"


@pytest.mark.parametrize(("task", "name"), NAMED)
def test_a_name_makes_what_it_says_and_what_is_made_has_that_name(task: Task, name: str) -> None:
    made = task.choose(PROMISE, name)

    assert isinstance(made, task.names[name].made)
    found = task.names.of(made)
    assert found is not None
    again = task.choose(PROMISE, found)
    if isinstance(again, BoundedLaplace):  # what is beyond the range is a key of its own
        again = replace(again, beyond=made.beyond)  # type: ignore[union-attr]
    assert again == made, "or another name of the same"


@pytest.mark.parametrize(("task", "name"), NAMED)
def test_what_is_asked_for_by_name_keeps_the_promise(task: Task, name: str) -> None:
    assert task.choose(PROMISE, name).loss.at_most_epsilon(Fraction(1))


@pytest.mark.parametrize("kind", TASKS)
def test_another_name_is_refused_with_those_that_are_allowed(kind: str) -> None:
    for task in TASKS[kind]:
        for name in set(NAMES) - set(task.names):
            with pytest.raises(
                ValueError, match=name if kind not in ("point", "product") else kind
            ):
                task.choose(PROMISE, name)


def test_an_author_can_write_every_name() -> None:
    question = schema()["properties"]["questions"]["items"]

    assert question["properties"]["mechanism"]["enum"] == list(NAMES)
