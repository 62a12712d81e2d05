"""A draft is edited by small operations, by several people at once, and loses nobody's words."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniably.authoring.documents import load
from deniably.authoring.drafts import (
    LARGEST_DRAFT,
    Add,
    Clash,
    Document,
    Edited,
    Move,
    Operation,
    Put,
    Remove,
    Several,
    drafted,
    edit,
    from_json,
    operation_of,
    to_json,
    written,
)
from deniably.authoring.yaml_writing import to_yaml
from deniably.core.errors import BadSurvey

PAY = drafted(
    {
        "title": "Pay",
        "budget": Decimal("2.5"),
        "questions": [
            {"name": "fair", "type": "yes_no", "label": "Fair?"},
            {"name": "late", "type": "yes_no", "label": "Late?"},
        ],
    }
)

IDS = st.sampled_from(["q1", "q2", "q3"])
VALUES = st.none() | st.text(max_size=3) | st.integers(0, 9) | st.lists(st.text(max_size=2))
KEYS = st.sampled_from(["label", "hint", "choices", "title"])
OPERATIONS: st.SearchStrategy[Operation] = (
    st.builds(Put, st.none() | IDS, KEYS, VALUES)
    | st.builds(Add, st.sampled_from(["q3", "q4"]), st.none() | IDS,
                st.dictionaries(KEYS, VALUES.filter(lambda value: value is not None)))
    | st.builds(Remove, IDS)
    | st.builds(Move, IDS, st.none() | IDS).filter(lambda move: move.question != move.after)
)  # fmt: skip


def applied(draft: Document, *operations: Operation) -> Document:
    for operation in operations:
        result = edit(draft, draft, operation)
        assert isinstance(result, Edited)
        draft = result.document
    return draft


def test_ids_and_the_number_of_people_are_never_published() -> None:
    draft = applied(PAY, Put(None, "expect", 600))

    assert [question["id"] for question in draft["questions"]] == ["q1", "q2"]
    assert written(draft) == written(PAY)
    assert "q1" not in to_yaml(written(draft))


def test_a_question_without_a_name_gets_one_from_its_text() -> None:
    texts = [
        {"label": "Paid fairly?"},
        {"label": "Paid fairly?"},
        {"name": "paid_fairly_3"},
        {"label": "Paid fairly?"},
        {"label": "¿¡?!"},
        {"short": "Late", "label": "Paid late?"},
        {"label": "2 jobs?"},
        {"label": "A long question, " * 20},
        {"label": 7},
    ]

    names = [each["name"] for each in written(drafted({"questions": texts}))["questions"]]

    assert names == [
        "paid_fairly", "paid_fairly_2", "paid_fairly_3", "paid_fairly_4", "question", "late",
        "_2_jobs", "a_long_question_a_long_question", "question_2",
    ]  # fmt: skip


def test_an_empty_draft_begins_without_questions() -> None:
    draft = applied(drafted({}), Put(None, "title", "Pay"), Add("a1", None, {"name": "fair"}))

    assert written(draft) == {"title": "Pay", "questions": [{"name": "fair"}]}


@given(st.lists(OPERATIONS, max_size=12))
def test_what_is_given_out_is_read_back_as_it_was(operations: list[Operation]) -> None:
    draft = PAY
    for operation in operations:
        try:
            result = edit(draft, draft, operation)
        except BadSurvey:
            continue
        if isinstance(result, Edited):
            draft = result.document

    assert from_json(to_json(draft)) == draft
    assert written(drafted(load(to_yaml(written(draft))))) == written(draft)


@given(st.lists(OPERATIONS, max_size=8))
def test_every_edit_can_be_taken_back_one_after_the_other(operations: list[Operation]) -> None:
    drafts, undos = [PAY], []
    for operation in operations:
        try:
            result = edit(drafts[-1], drafts[-1], operation)
        except BadSurvey:  # a question of this id is there
            continue
        if isinstance(result, Edited):
            drafts.append(result.document)
            undos.append(result.undo)

    draft = drafts.pop()
    for undo, before in zip(reversed(undos), reversed(drafts), strict=True):
        draft = applied(draft, undo)
        assert draft == before


@given(st.lists(OPERATIONS, min_size=1, max_size=6))
def test_several_edits_as_one_do_what_they_do_one_after_the_other(
    operations: list[Put | Add | Remove | Move],
) -> None:
    draft: Document | None = PAY
    for operation in operations:
        try:
            result = edit(draft, draft, operation) if draft else None
        except BadSurvey:
            result = None
        draft = result.document if isinstance(result, Edited) else None
    try:
        together = edit(PAY, PAY, Several(operations))
    except BadSurvey:
        together = None

    if draft is None:
        assert not isinstance(together, Edited), "all of them or none"
    else:
        assert isinstance(together, Edited)
        assert together.document == draft
        assert operation_of(from_json(to_json(together.undo))) == together.undo
        assert applied(draft, together.undo) == PAY


def test_of_several_edits_none_is_made_where_somebody_changed_one_of_these_things() -> None:
    theirs = applied(PAY, Put("q2", "label", "Too late?"))
    mine = Several([Put("q1", "odds", 3), Put("q2", "label", "Ever late?")])

    assert edit(theirs, PAY, mine) == Clash("Too late?")
    other = Several([Put("q1", "odds", 3), Remove("q1"), Add("q1", "q2", {"label": "New"})])
    result = edit(theirs, PAY, other)
    assert isinstance(result, Edited)
    assert [each.get("label") for each in result.document["questions"]] == ["Too late?", "New"]


@given(OPERATIONS, OPERATIONS)
def test_of_two_people_at_once_either_both_are_kept_or_the_second_is_told(
    mine: Operation, theirs: Operation
) -> None:
    try:
        first, alone = edit(PAY, PAY, theirs), edit(PAY, PAY, mine)
    except BadSurvey:
        return
    if isinstance(first, Clash) or isinstance(alone, Clash):
        return
    try:
        both = edit(first.document, PAY, mine)
    except BadSurvey:
        assert isinstance(mine, Add)
        assert isinstance(theirs, Add)
        assert mine.question == theirs.question
        return

    if isinstance(both, Clash):
        assert {mine.question, theirs.question} != {"q1", "q2"}, "they were at different questions"
        assert first.document == applied(PAY, theirs), "and nothing of the first is lost"
    elif isinstance(theirs, Put) and not isinstance(mine, Remove) and mine != theirs:
        (kept,) = [each for each in [both.document, *both.document["questions"]]
                   if each.get("id") == theirs.question]  # fmt: skip
        same = isinstance(mine, Put) and (mine.question, mine.key) == (theirs.question, theirs.key)
        assert same or kept.get(theirs.key) == theirs.value


def test_different_keys_of_one_question_merge() -> None:
    theirs = applied(PAY, Put("q1", "hint", "Last year"))

    result = edit(theirs, PAY, Put("q1", "label", "Fairly paid?"))

    assert isinstance(result, Edited)
    assert result.document["questions"][0] == {
        "id": "q1", "name": "fair", "type": "yes_no", "label": "Fairly paid?", "hint": "Last year"
    }  # fmt: skip


@pytest.mark.parametrize(
    ("theirs", "mine", "shown"),
    [
        (Put("q1", "label", "B"), Put("q1", "label", "C"), "B"),
        (Put(None, "title", "B"), Put(None, "title", "C"), "B"),
        (Remove("q1"), Put("q1", "label", "C"), None),
        (Remove("q1"), Move("q1", "q2"), None),
        (Remove("q1"), Remove("q1"), None),
        (
            Put("q1", "label", "B"),
            Remove("q1"),
            {"name": "fair", "type": "yes_no", "label": "B"},
        ),
    ],
)
def test_the_same_thing_twice_shows_what_the_other_made_of_it(
    theirs: Operation, mine: Operation, shown: Any
) -> None:
    assert edit(applied(PAY, theirs), PAY, mine) == Clash(shown)


def test_the_same_words_by_both_are_no_clash() -> None:
    theirs = applied(PAY, Put("q1", "label", "B"))

    result = edit(theirs, PAY, Put("q1", "label", "B"))

    assert isinstance(result, Edited)
    assert result.document == theirs


def test_an_edit_from_a_revision_that_is_no_longer_known_overwrites_nothing() -> None:
    assert edit(PAY, None, Put("q1", "label", "C")) == Clash("Fair?")
    assert edit(PAY, None, Remove("q1")) == Clash({"name": "fair", "type": "yes_no",
                                                   "label": "Fair?"})  # fmt: skip


def test_questions_are_moved_to_any_place() -> None:
    names = [
        [question["name"] for question in applied(PAY, move)["questions"]]
        for move in (Move("q1", "q2"), Move("q2", None), Move("q1", None), Move("q2", "q1"))
    ]

    assert names == [["late", "fair"], ["late", "fair"], ["fair", "late"], ["fair", "late"]]


def test_where_the_question_before_is_gone_the_end_is_the_place() -> None:
    gone = applied(PAY, Remove("q1"))

    result = edit(gone, PAY, Add("a1", "q1", {"name": "new"}))

    assert isinstance(result, Edited)
    assert [question["name"] for question in result.document["questions"]] == ["late", "new"]


@pytest.mark.parametrize(
    ("operation", "why"),
    [
        (Put(None, "questions", []), "each by its own operation"),
        (Put("q1", "id", "q9"), "each by its own operation"),
        (Add("q1", None, {}), "has a question q1 already"),
        (Move("q1", "q1"), "cannot stand behind itself"),
        (Put("q1", "label", "x" * LARGEST_DRAFT), "at most 262,144 bytes"),
    ],
)
def test_what_makes_no_sense_is_refused_and_says_why(operation: Operation, why: str) -> None:
    with pytest.raises(BadSurvey, match=why):
        edit(PAY, PAY, operation)


def test_a_draft_has_limits() -> None:
    nested: Any = "x"
    for _ in range(40):
        nested = [nested]

    with pytest.raises(BadSurvey, match="at most 32 lists and maps"):
        edit(PAY, PAY, Put("q1", "choices", nested))
    with pytest.raises(BadSurvey, match="at most 100 questions, not 101"):
        drafted({"questions": [{"name": f"q{number}"} for number in range(101)]})
    hundred = drafted({"questions": [{"name": f"q{number}"} for number in range(100)]})
    with pytest.raises(BadSurvey, match="at most 100 questions"):
        edit(hundred, hundred, Add("a1", None, {}))


@pytest.mark.parametrize(
    ("document", "why"),
    [
        ("Pay", "keys and their values"),
        (["Pay"], "keys and their values"),
        ({"questions": {"name": "a"}}, "questions are a list"),
        ({"questions": ["fair"]}, "each has keys"),
        ({"spec": 1, "questions": []}, "a published survey"),
    ],
)
def test_what_is_no_draft_is_refused_and_says_why(document: object, why: str) -> None:
    with pytest.raises(BadSurvey, match=why):
        drafted(document)


@pytest.mark.parametrize(
    ("value", "operation"),
    [
        ({"do": "put", "question": "q1", "key": "label", "value": "A"}, Put("q1", "label", "A")),
        ({"do": "put", "question": None, "key": "title", "value": None}, Put(None, "title", None)),
        ({"do": "move", "question": "q1", "after": None}, Move("q1", None)),
        ({"do": "remove", "question": "q1"}, Remove("q1")),
        ({"do": "add", "question": "a1", "after": "q1", "keys": {}}, Add("a1", "q1", {})),
    ],
)
def test_an_operation_is_read_from_json(value: object, operation: Operation) -> None:
    assert operation_of(value) == operation


@pytest.mark.parametrize(
    "value",
    [None, [], {}, {"do": "drop"}, {"do": "remove"}, {"do": "remove", "question": "Q/1"},
     {"do": "remove", "question": "q1", "more": 1}, {"do": "put", "question": "q1", "key": ""}],
)  # fmt: skip
def test_what_is_no_operation_is_refused(value: object) -> None:
    with pytest.raises(BadSurvey):
        operation_of(value)
