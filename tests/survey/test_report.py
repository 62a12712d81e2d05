"""What leaves a device, and what a server takes for a report."""

import hashlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniably.authoring.compiling import publish_text
from deniably.core.canonical import canonical
from deniably.core.errors import BadAnswer, BadReport
from deniably.survey.report import MalformedReport, randomise_answers, read_report
from support.cases import for_each

SURVEY = publish_text(
    """
name: s
title: T
part: false
questions:
  - {name: a, type: yes_no, label: A, epsilon: 1}
  - {name: b, type: select_one, label: B, choices: [x, y, z, u, v], epsilon: 0.5}
"""
)
ANSWERS = {"a": "yes", "b": "z"}


def test_a_report_has_three_fields_and_no_room_for_more() -> None:
    report = randomise_answers(SURVEY, ANSWERS)

    assert set(json.loads(report.canonical)) == {"id", "survey", "values"}
    assert report.survey == SURVEY.digest
    report.check(SURVEY)


def test_its_bytes_are_canonical_json_and_the_receipt_is_their_digest() -> None:
    report = randomise_answers(SURVEY, ANSWERS)

    assert report.canonical == canonical(json.loads(report.canonical))
    assert report.receipt == hashlib.sha256(report.canonical).hexdigest()


def test_ids_never_repeat() -> None:
    assert len({randomise_answers(SURVEY, ANSWERS).id for _ in range(1000)}) == 1000


@pytest.mark.parametrize(
    ("answers", "why"),
    [
        ({"a": "yes"}, "b: needs an answer: one of x, y, z, u, v"),
        ({"a": "perhaps", "b": "x"}, "a: the answer must be one of Yes (yes), No (no)"),
        ({"a": "yes", "b": "x", "c": "SECRET"}, "c: the survey has no such question"),
    ],
)
def test_an_incomplete_answer_sheet_is_refused_without_quoting_it(
    answers: dict[str, str], why: str
) -> None:
    with pytest.raises(BadAnswer) as refused:
        randomise_answers(SURVEY, answers)

    assert why in str(refused.value)
    assert "perhaps" not in str(refused.value)
    assert "SECRET" not in str(refused.value)


def test_an_integer_of_thousands_of_digits_is_no_answer() -> None:
    survey = publish_text("""
name: s
title: S
questions:
  - {name: drinks, type: number, label: Drinks, minimum: 0, maximum: 50, epsilon: 1}
""")
    with pytest.raises(BadAnswer, match="drinks: needs a number"):
        randomise_answers(survey, {"drinks": 10**5000})


def test_other_spacing_and_order_is_the_same_report() -> None:
    report = randomise_answers(SURVEY, ANSWERS)
    spelt = json.dumps(json.loads(report.canonical), indent=2).encode()

    assert read_report(spelt) == report
    assert read_report(spelt).canonical == report.canonical


GOOD = json.loads(randomise_answers(SURVEY, ANSWERS).canonical)


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"\xff\xff", b"nan", b'{"id": NaN}'],
)  # fmt: skip
def test_what_is_no_json_is_malformed(body: bytes) -> None:
    with pytest.raises(MalformedReport):
        read_report(body)


def test_a_repeated_key_is_malformed() -> None:
    body = json.dumps(GOOD).replace('"id"', f'"id": "{"0" * 32}", "id"', 1).encode()

    with pytest.raises(MalformedReport, match="given twice"):
        read_report(body)


@for_each(
    ("change", "path"),
    [
        ({"id": "x"}, "$.id"), ({"id": "A" * 32}, "$.id"), ({"id": 7}, "$.id"),
        ({"survey": "0"}, "$.survey"), ({"time": 1}, "$"), ({"values": []}, "$.values"),
        ({"values": {"a": [1.0], "b": [0, 1]}}, "$.values[...][0]"),
        ({"values": {"a": [True], "b": [0, 1]}}, "$.values[...][0]"),
        ({"values": {"a": [10**30], "b": [0, 1]}}, "$.values"),
        ({"values": {"a": [0]}}, "$.values"),
        ({"values": {"a": [0], "b": [0, 1], "c": [0]}}, "$.values"),
        ({"values": {"a": [2], "b": [0, 1]}}, "$.values.a"),
        ({"values": {"a": [0, 1], "b": [0, 1]}}, "$.values.a"),
        ({"values": {"a": [0], "b": [1, 0]}}, "$.values.b"),
        ({"values": {"a": [0], "b": [1, 1]}}, "$.values.b"),
        ({"values": {"a": [0], "b": [-1, 1]}}, "$.values.b"),
        ({"values": {"a": [0], "b": [0, 5]}}, "$.values.b"),
    ],
)  # fmt: skip
def test_a_report_that_no_device_makes_is_refused_with_its_place(
    change: dict[str, object], path: str
) -> None:
    with pytest.raises(BadReport) as refused:
        read_report(json.dumps(GOOD | change).encode()).check(SURVEY)

    assert refused.value.path.startswith(path)
    assert refused.value.why


@given(st.binary() | st.text().map(str.encode))
def test_any_bytes_are_a_report_or_are_refused(body: bytes) -> None:
    with pytest.raises(BadReport):
        read_report(body)


def test_a_choice_may_be_given_by_its_label_and_its_name_comes_first() -> None:
    survey = publish_text(
        "name: s\ntitle: S\nquestions:\n"
        "  - {name: a, type: yes_no, label: A, odds: 3}\n"
        "  - {name: b, type: select_one, label: B, odds: 3, show_if: {question: a, is: 'no'},"
        " choices: [{name: x, label: y}, {name: y, label: Z}]}\n"
    )
    question = survey.questions[1]

    assert (question.encode("y"), question.encode("Z"), question.encode("x")) == (1, 1, 0)
    with pytest.raises(BadAnswer, match=r"b: .* one of y \(x\), Z \(y\), Not applicable"):
        question.encode("z")
    with pytest.raises(BadAnswer, match="b: needs an answer"):
        randomise_answers(survey, {"a": "No"})  # whoever says no sees the second question
    randomise_answers(survey, {"a": "Yes"})
