"""What an author may write, and how a mistake is explained."""

import json
from collections.abc import Callable
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction
from typing import Any

import msgspec
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from deniably.authoring import documents
from deniably.authoring.compiling import (
    compile_survey,
    compile_with_notes,
    load,
    publish_text,
    schema,
    slug,
)
from deniably.authoring.reading import MOST_PROBLEMS
from deniably.core.errors import BadSurvey
from deniably.survey.survey import Survey, read_survey
from deniably.wording.words import LANGUAGES, Words
from support.cases import for_each

NONES = [Words(language)("question.none") for language in LANGUAGES]

MINIMAL = """
name: workplace
title: Honesty at work
questions:
  - name: stolen
    type: yes_no
    label: Have you ever stolen from work?
    odds: 3
"""


def question(**changes: object) -> dict[str, object]:
    """A document whose one question is valid but for ``changes`` (None takes a key out)."""
    base: dict[str, object] = {"name": "q", "type": "yes_no", "label": "Really?", "epsilon": 1}
    asked = {key: value for key, value in (base | changes).items() if value is not None}
    return {"name": "s", "title": "T", "questions": [asked]}


def problems(document: object) -> list[tuple[str, str]]:
    with pytest.raises(BadSurvey) as refused:
        compile_survey(document)
    return [(problem.path, problem.why) for problem in refused.value.problems]


def one(document: object) -> tuple[str, str]:
    (problem,) = problems(document)
    return problem


def test_a_ten_line_survey_is_enough() -> None:
    survey = publish_text(MINIMAL)

    (stolen,) = survey.questions
    assert [choice.label for choice in stolen.choices] == ["Yes", "No"]
    assert (stolen.mechanism.own, stolen.mechanism.other) == (3, 1)
    assert (survey.results.minimum, survey.results.while_open) == (100, False), "hidden by default"


def test_yaml_and_json_with_the_same_keys_are_the_same_survey() -> None:
    assert publish_text(MINIMAL).digest == publish_text(json.dumps(load(MINIMAL))).digest


def test_what_is_published_reads_back_as_itself() -> None:
    survey = publish_text(MINIMAL)

    assert read_survey(survey.canonical) == survey
    assert read_survey(survey.canonical).digest == survey.digest


@pytest.mark.parametrize(
    ("privacy", "own", "other", "claim"),
    [
        ({"odds": 3}, 3, 1, {"odds": "3"}),
        ({"odds": "13/7"}, 13, 7, {"odds": "13/7"}),
        ({"coins": {"truth": "1/2"}}, 3, 1, {"odds": "3"}),
        ({"coins": {"truth": "3/10"}}, 13, 7, {"odds": "13/7"}),
        ({"epsilon": 1}, 11674931554, 1 << 32, {"epsilon": "1"}),
    ],
)
def test_privacy_becomes_exact_integers(
    privacy: dict[str, object], own: int, other: int, claim: dict[str, str]
) -> None:
    (asked,) = compile_survey(question(**({"epsilon": None} | privacy))).questions

    assert (asked.mechanism.own, asked.mechanism.other) == (own, other)
    assert msgspec.to_builtins(asked.claim) == claim


def test_a_decimal_is_one_tenth_and_not_the_nearest_double() -> None:
    text = MINIMAL.replace("odds: 3", "odds: 1.1")

    assert publish_text(text).questions[0].mechanism.odds == Fraction(11, 10)


@pytest.mark.parametrize("spelling", ["0.5", "0.50", "5e-1", ".5"])
def test_one_epsilon_has_one_spelling_however_it_is_written(spelling: str) -> None:
    text = MINIMAL.replace("odds: 3", f"epsilon: {spelling}")

    assert publish_text(text).questions[0].claim.epsilon == "0.5"


def test_a_bare_yes_is_the_text_yes() -> None:
    """YAML 1.1 reads a bare Yes, No, on and off as booleans; here they stay what was meant."""
    text = """
name: s
title: Yes
questions:
  - {name: q, type: select_one, label: On, choices: [Yes, No, on, off], epsilon: 1}
"""
    (asked,) = publish_text(text).questions

    assert [choice.label for choice in asked.choices] == ["Yes", "No", "on", "off"]
    assert asked.label == "On"


@pytest.mark.parametrize("word", ["true", "false", "True", "FALSE"])
def test_a_boolean_where_a_text_belongs_is_explained(word: str) -> None:
    with pytest.raises(BadSurvey) as refused:
        publish_text(MINIMAL.replace("Honesty at work", word))

    (problem,) = refused.value.problems
    assert problem.path == "$.title"
    assert f'boolean {word.lower()} (write "{word.lower()}" in quotes' in problem.why


def test_json_booleans_are_explained_too() -> None:
    document = question(type="select_one", choices=[True, False, "maybe"])

    assert [path for path, _ in problems(document)] == [
        "$.questions[0].choices[0]",
        "$.questions[0].choices[1]",
    ]


def test_every_problem_is_reported_at_once() -> None:
    document = question(type="text", epsilon=0, colour="red") | {"titel": "T", "name": "A b"}

    found = dict(problems(document))

    assert "unknown key titel (did you mean title?); allowed are name, title" in found["$"]
    assert "unknown key colour" in found["$.questions[0]"]
    assert "free text cannot be asked" in found["$.questions[0].type"]
    assert "from 0.01 to 10" in found["$.questions[0].epsilon"]
    assert "lower-case letters, digits and hyphens" in found["$.name"]


@pytest.mark.parametrize(
    "kind",
    ["text", "string", "note", "comment", "open", "free_text", "Free text", "long-text"],
)
def test_free_text_is_refused_with_the_reason_and_the_mend(kind: str) -> None:
    """Under whatever name other tools have for it."""
    path, why = one(question(type=kind))

    assert path == "$.questions[0].type"
    assert "gives its writer away, and no randomised response protects it" in why
    assert "offer choices (type: select_one, or select_multiple for several)" in why
    assert "ask for a number (type: number)" in why


@pytest.mark.parametrize("kind", ["yes-no", "selectone", "texts", "context", "", 1])
def test_the_error_of_an_unknown_type_lists_the_types(kind: object) -> None:
    path, why = one(question(type=kind))

    assert path == "$.questions[0].type"
    assert "allowed is yes_no, select_one" in why
    assert "writer" not in why


@pytest.mark.parametrize(
    ("changes", "path", "why"),
    [
        ({"epsilon": 0}, ".epsilon", "from 0.01 to 10"),
        ({"epsilon": -1}, ".epsilon", "from 0.01 to 10"),
        ({"epsilon": 11}, ".epsilon", "from 0.01 to 10"),
        ({"epsilon": "1"}, ".epsilon", "the text '1'"),
        ({"epsilon": None, "odds": 1}, ".odds", "outside what surveys can use"),
        ({"epsilon": None, "odds": 22026.5}, ".odds", "outside what surveys can use"),
        ({"epsilon": None, "odds": 10**30}, ".odds", "from about 1.0101 to 22026"),
        ({"epsilon": None, "odds": "3/0"}, ".odds", "fraction such as 13/7"),
        ({"epsilon": None, "coins": {"truth": 0}}, ".coins.truth", "strictly between 0 and 1"),
        ({"epsilon": None, "coins": {"truth": 1}}, ".coins.truth", "strictly between 0 and 1"),
        ({"epsilon": None, "coins": {"truth": "3/2"}}, ".coins.truth", "between 0 and 1"),
        ({"epsilon": None, "coins": {}}, ".coins", "the key truth is missing"),
        ({"epsilon": None}, "", "none is given"),
        ({"odds": 3}, "", "given are epsilon and odds"),
        ({"name": "1q"}, ".name", "a letter or underscore"),
        ({"name": None}, "", "the key name is missing"),
        ({"label": ""}, ".label", "1 to 500 characters"),
        ({"label": "x" * 501}, ".label", "1 to 500 characters"),
        ({"label": None}, "", "the key label is missing"),
        ({"choices": ["a", "b"]}, ".choices", "leave choices out"),
        ({"type": "select_one"}, "", "select_one needs choices"),
        ({"type": "select_one", "choices": ["a"]}, ".choices", "2 to 1024 choices"),
        ({"type": "select_one", "choices": ["a", "a"]}, ".choices[1].name", "the same name"),
        ({"type": "select_one", "choices": ["a", 3]}, ".choices[1]", "the number 3"),
        ({"type": "select_one", "choices": ["a", "是"]}, ".choices[1]", "no name can be made"),
        (
            {"type": "select_one", "choices": ["a", {"name": "b"}]},
            ".choices[1]",
            "the key label is missing",
        ),
        (
            {"type": "select_one", "choices": ["a", {"name": "b", "label": "a"}]},
            ".choices[1].label",
            "the same label",
        ),
    ],
)
def test_a_mistake_is_named_with_its_place_and_the_mend(
    changes: dict[str, object], path: str, why: str
) -> None:
    found = problems(question(**changes))

    assert any(p == f"$.questions[0]{path}" and why in w for p, w in found), found


def test_two_questions_of_one_name_are_refused() -> None:
    document = question()
    document["questions"] *= 2  # type: ignore[operator]

    assert one(document)[0] == "$.questions[1].name"


@for_each(
    ("text", "why"),
    [
        ("", "nothing is given"),
        ("[]", "a list of 0"),
        ("just a text", "the text 'just a text'"),
        ("a: [", "line 1"),
        ("{", "line 1"),
        ("a: 1\na: 2", "line 2, column 1: the key a is given twice"),
        ('{"name": "a", "name": "b"}', "given twice"),
        ("a: &x 1\nb: *x", "anchors and aliases are not allowed"),
        ("a: !!python/object:os.system 1", "not allowed"),
        ("1: 2", "a key is a plain word"),
        ("a: 1e99999999999999999999", "more than 20 characters"),
        ('{"a": NaN}', "NaN is not a JSON number"),
        (b"\xff\xfe\x00", "not UTF-8"),
        ("[" * 5000, "column 34: at most 32 lists and maps can be within each other"),
        ('{"a":' * 5000, "nested too deeply"),
    ],
)
def test_a_text_that_is_no_survey_is_explained(text: str | bytes, why: str) -> None:
    with pytest.raises(BadSurvey) as refused:
        publish_text(text)

    assert why in str(refused.value)


NESTED = {
    "lists in brackets": lambda depth: "[" * depth + "]" * depth,
    "maps in braces": lambda depth: "{a: " * depth + "1" + "}" * depth,
    "lists by indentation": lambda depth: "- " * depth + "1",
    "maps by indentation": lambda depth: "\n".join(" " * i + "a:" for i in range(depth)),
    "with neighbours": lambda depth: "\n".join(
        [*(" " * i + "a:" for i in range(depth - 1)), *[" " * depth + "- 1"] * 3]
    ),
    "one in another": lambda depth: "a:\n - " + "[" * (depth - 2) + "]" * (depth - 2),
}


@pytest.mark.parametrize("nested", NESTED.values(), ids=NESTED)
def test_lists_and_maps_can_be_32_deep_and_no_deeper(nested: Callable[[int], str]) -> None:
    """A survey has fewer than ten. To read on would cost a server seconds."""
    load(nested(32))
    with pytest.raises(BadSurvey, match=r"line \d+, column \d+: at most 32 lists and maps"):
        load(nested(33))


def test_brackets_within_a_text_or_a_comment_are_not_counted() -> None:
    brackets = "[" * 100
    assert load(f"a: '{brackets}' # {brackets}") == {"a": brackets}


LONG = {
    "a list": lambda count: "- a\n" * (count - 1),
    "a list in brackets": lambda count: "[" + "1," * (count - 1) + "]",
    "keys": lambda count: "".join(f"k{i}: 1\n" for i in range(count // 2)),
}


@pytest.mark.parametrize("long", LONG.values(), ids=LONG)
def test_flat_yaml_is_read_up_to_a_limit_that_the_error_names(
    long: Callable[[int], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counted while it is read, so that nothing behind the limit costs time."""
    monkeypatch.setattr(documents, "MOST_YAML", 1000)
    load(long(1000 - 1))
    with pytest.raises(BadSurvey, match="at most 1,000 keys and values; write a larger survey as"):
        load(long(1002) + ": : never read")


def test_long_yaml_is_refused_by_its_bytes_before_it_is_read() -> None:
    comment = "#" * (documents.LONGEST_YAML - 5)
    assert load(f"a: 1 {comment}"[: documents.LONGEST_YAML]) == {"a": 1}
    for long in (f"a: 1 {comment}é", f"a: 1 {comment}é".encode()):
        with pytest.raises(BadSurvey, match="at most 524,288 bytes; write a larger survey as JSON"):
            load(long)


def test_long_json_has_no_such_limit_and_its_mistakes_are_those_of_json(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whatever the limit is: to read so much broken JSON as YAML takes a second."""
    monkeypatch.setattr(documents, "MOST_YAML", 300)
    monkeypatch.setattr(documents, "LONGEST_YAML", 5000)
    long = json.dumps({"a": ["b" * 10] * 2 * documents.MOST_YAML})
    assert len(long) > documents.LONGEST_YAML
    assert len(load(long)["a"]) == 2 * documents.MOST_YAML  # type: ignore[index]
    for broken in (long[:-1], '{"a": [' + "1," * documents.MOST_YAML + "]}"):
        with pytest.raises(BadSurvey, match=r"as JSON, this text has a mistake: .* line 1 column"):
            load(broken)


def test_of_very_many_mistakes_the_first_hundred_are_reported() -> None:
    """As many problems as a hostile document can have take neither long nor a page of megabytes."""
    questions = [{"name": "", "type": "yes_no", "label": 1, "epsilon": -1}] * 90
    document = {"name": "s", "title": "T", "questions": questions}
    with pytest.raises(BadSurvey) as refused:
        compile_survey(document | {f"k{i}": 1 for i in range(5000)})

    unknown, *_, last = refused.value.problems
    assert len(refused.value.problems) == MOST_PROBLEMS + 1
    assert "k19 and 4,980 more" in unknown.why
    assert last.why == "there are more problems; mend these first"


@pytest.mark.parametrize("key", ["questions", "choices"])
def test_a_list_that_is_too_long_is_one_problem_whatever_is_in_it(key: str) -> None:
    question = {"name": "q", "type": "select_one", "label": "Q", "odds": 3, "choices": ["a", "b"]}
    document: dict[str, Any] = {"name": "s", "title": "T", "questions": [question]}
    (document if key == "questions" else question)[key] = [7] * 5000
    with pytest.raises(BadSurvey, match="a list of 5000; allowed is a list of") as refused:
        compile_survey(document)

    assert len(refused.value.problems) == 1


FLOW = """
name: s
title: T
questions:
  - {name: a, type: TYPE, label: Do you smoke?, odds: 3, choices: [Tea?, Why? Coffee]}
  - name: b
    type: yes_no
    label: What now? Really?
    odds: 3
"""


def test_a_question_mark_needs_no_quotes_and_hides_no_mistake() -> None:
    """As YAML 1.2 has it. PyYAML ends a text within braces at its mark."""
    survey = publish_text(FLOW.replace("TYPE", "select_one"))
    with pytest.raises(BadSurvey) as refused:
        publish_text(FLOW.replace("TYPE", "select_on"))

    first, second = survey.questions
    assert (first.label, second.label) == ("Do you smoke?", "What now? Really?")
    assert [choice.label for choice in first.choices] == ["Tea?", "Why? Coffee"]  # type: ignore[union-attr]
    (problem,) = refused.value.problems
    assert problem.path == "$.questions[0].type"
    assert "did you mean select_one?" in problem.why


@given(st.text("ab?:,# -'", max_size=12))
def test_a_text_with_marks_is_read_as_it_is_outside_of_braces(text: str) -> None:
    """Whatever text PyYAML reads in a line, this reads alike."""
    try:
        usual = yaml.safe_load(f"a: {text}")
    except yaml.YAMLError:
        return
    if isinstance(usual["a"], str):
        assert load(f"a: {text}") == usual


FIRST = "name: s\ntitle: T\nquestions:\n  - name: a\n    type: yes_no\n    odds: 3\n    label: "
BRACES = "name: s\ntitle: T\nquestions:\n  - {name: a, type: yes_no, odds: 3, label: "


@pytest.mark.parametrize(
    ("text", "where", "mend"),
    [
        (f"{FIRST}Think: do you smoke?", "line 7", "put a text with a colon in quotes"),
        (f"{BRACES}Think: do you smoke?}}", "line 4", "put a text with a colon in quotes"),
        (f"{BRACES}Well, do you?}}", "$.questions[0]", "a text with a comma stands in quotes"),
        (f"{BRACES}Really", "line 4, column 5", "the bracket that was opened there is not closed"),
        (f'{BRACES}"Really}}', "line 4", "a quotation mark is not closed"),
        (f"{FIRST}'Don't you?'", "line 7", "a quotation mark within a text ended it"),
        ("name: s\n\ttitle: T", "line 2", "indent with spaces, not with tabs"),
        (f"{FIRST}@home", "line 7", "put a text that has such a sign in quotes"),
        (f"{FIRST}*often* at home", "line 7", "put a text that has such a sign in quotes"),
        (f"{FIRST}!important", "line 7", "a text that begins with ! stands in quotes"),
        ("name: s\n  title: T\n questions: []", "line", "quotes"),
        ("a: 1\n  b: 2\n c: 3", "line 2", "in quotes"),
        ("a:\n  - b\n c", "line 3", "indented unlike those before it"),
        ("{epsilon: 0,5}", "line 1", "a decimal number has a point"),
        ("name: s\n---\nname: t", "line 2", "a file has one survey"),
    ],
)
def test_a_slip_of_yaml_is_explained_with_its_mend(text: str, where: str, mend: str) -> None:
    with pytest.raises(BadSurvey) as refused:
        publish_text(text)

    assert where in str(refused.value)
    assert mend in str(refused.value)


@pytest.mark.parametrize(
    "label", ["None of these", "none of the above", "None.", "Nichts davon", *NONES]
)
def test_what_the_form_says_for_no_tick_is_no_choice_of_its_own(label: str) -> None:
    """Else it stands there twice, and only one of the two is counted."""
    choices = ["Tea", "Coffee", {"name": "none", "label": label}]
    asked = question(type="select_multiple", choices=choices)

    assert any("the form has a line for it" in why for _, why in problems(asked)) == (
        label != "Nichts davon" or label in NONES
    )
    compile_survey(question(type="select_one", choices=choices))


@pytest.mark.parametrize(
    ("language", "said"),
    [("en", None), ("de-CH", None), ("zh-Hans", None), ("pt-BR", None),
     ("nl", "it speaks en, de, fr, it, es, pt, pl, tr, uk, ar, zh"),
     ("English", "did you mean en?"), ("deutsch", "did you mean de?")],
)  # fmt: skip
def test_a_language_that_the_form_does_not_speak_is_reported(
    language: str, said: str | None
) -> None:
    _, notes = compile_with_notes(question() | {"language": language})

    assert [said in note for note in notes] == ([] if said is None else [True])  # type: ignore[operator]


def test_the_error_of_a_number_among_choices_says_how_to_write_a_text() -> None:
    (_, why), *_ = problems(question(type="select_one", choices=[1, True]))

    assert 'the number 1 (write "1" in quotes for a text)' in why
    assert why.count("in quotes") == 1


@pytest.mark.parametrize("number", ["1e-99999999", "1e99999999", "0.5e-9999999", "-1e99999999"])
@pytest.mark.parametrize("key", ["epsilon: X", "odds: X", "coins: {truth: X}"])
def test_a_huge_exponent_is_refused_before_it_is_computed(key: str, number: str) -> None:
    with pytest.raises(BadSurvey):
        publish_text(MINIMAL.replace("odds: 3", key.replace("X", number)))


@pytest.mark.parametrize("key", ["step", "minimum", "delta"])
def test_a_number_next_to_nothing_is_refused_before_it_is_computed(key: str) -> None:
    asked = {"type": "number", "minimum": 0, "maximum": 10, "mechanism": "gaussian"}
    tiny = {key: Decimal("1e-99999999")}

    assert one(question(**(asked | {"delta": Decimal("0.00001")} | tiny))) == (
        f"$.questions[0].{key}",
        "the number is next to nothing, 1.0e-99999999; write a larger one, such as 0.001",
    )


def test_a_budget_of_thousands_of_digits_is_refused() -> None:
    digits = Decimal("1." + "1" * 5000)
    document = question(epsilon=None) | {"budget": {"epsilon": digits}}

    assert one(document) == (
        "$.budget.epsilon",
        "the number has 5,002 characters; write at most 20",
    )


@given(st.recursive(
    st.none() | st.booleans() | st.integers() | st.decimals(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(
        st.sampled_from(["name", "title", "questions", "type", "label", "choices", "coins",
                         "truth", "odds", "epsilon", "results", "minimum", "x"]), inner),
    max_leaves=20,
))  # fmt: skip
def test_any_document_is_a_survey_or_is_refused(document: object) -> None:
    with suppress(BadSurvey):
        assert isinstance(compile_survey(document), Survey)


@given(st.text() | st.binary())
def test_any_text_is_read_or_refused(text: str | bytes) -> None:
    with suppress(BadSurvey):
        load(text)


def test_the_published_schema_is_itself_valid() -> None:
    import jsonschema

    jsonschema.Draft202012Validator.check_schema(schema())


def test_choices_given_as_texts_get_names() -> None:
    assert slug("Very happy!") == "very_happy"
    assert slug("18-24") == "_18_24"


# --- strata -----------------------------------------------------------------------------------

SITES = "name: s\ntitle: T\nstrata: STRATA\nquestions: [{name: a, type: yes_no, label: A, odds: 2}]"


def test_strata_are_published_as_they_are_written() -> None:
    survey = publish_text(SITES.replace("STRATA", "{site: [north, south], shift: [day, night]}"))

    assert survey.strata == {"site": ["north", "south"], "shift": ["day", "night"]}
    assert survey.every_stratum[1] == {"shift": "day", "site": "south"}


@pytest.mark.parametrize(
    ("strata", "place", "said"),
    [
        ("{}", "$.strata", "a group of keys"),
        ("[site]", "$.strata", "a list of 1"),
        ("{Site: [north, south]}", "$.strata", "lower-case letters"),
        ("{site: [north]}", "$.strata.site", "a list of 2 to 8 short texts"),
        ("{site: [north, north]}", "$.strata.site", "none twice"),
        ("{year: [2024, 2025]}", "$.strata.year[0]", 'write "2024" in quotes'),
        ("{a: [x, y, z], b: [x, y, z]}", "$.strata", "9 strata together; 8 is the most"),
        ("{language: [de, fr]}", "$.strata.language", "something else"),
        ("{gclid: [x, y]}", "$.strata.gclid", "something else"),
    ],
)
def test_strata_that_cannot_be_are_refused_where_they_stand(
    strata: str, place: str, said: str
) -> None:
    with pytest.raises(BadSurvey) as refused:
        publish_text(SITES.replace("STRATA", strata))

    assert refused.value.problems[0].path == place
    assert said in refused.value.problems[0].why


def test_a_key_of_the_strata_is_no_question() -> None:
    with pytest.raises(BadSurvey, match=r"a question has this name"):
        publish_text(SITES.replace("STRATA", "{a: [x, y]}"))
