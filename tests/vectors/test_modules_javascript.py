"""What the JavaScript promises beyond the vectors: randomness, refusals, silence."""

from __future__ import annotations

import hashlib
import itertools
import json
import socket
import time
from collections.abc import Callable, Sequence
from fractions import Fraction
from math import floor
from typing import Any

import pytest
from playwright.sync_api import Page

from deniably.core.coins import Coins
from deniably.device.ledger import Limits
from deniably.device.memory import Memory, read_memory
from deniably.device.through_mixer import Envelopes, answer_through_mixer
from deniably.device.tickets import finish_trade, is_ticket
from deniably.reference.canonical import canonical, digest, parse
from deniably.reference.definition import check_definition
from deniably.survey.report import Report, read_report
from deniably.survey.survey import as_survey
from deniably.trust.blind_rsa import new_key
from spec.cases.definitions import party, stolen, workplace
from spec.cases.mixers import EIGHT, mixed
from spec.cases.questions import NUMBER, YES_NO, changed
from support import hostile_http
from support.cases import for_each
from support.hostile_http import HEAD, Answer, hostile_server
from support.modules import Modules


@pytest.fixture
def run(modules: Modules) -> Callable[..., Any]:
    """(body of an async function of `given`, given) -> its value, or the error's name and text."""
    return modules.compute


@pytest.fixture
def run_alone(modules: Modules) -> Callable[..., Any]:
    """Like ``run``, in a thread of its own: the body may change globals."""
    return modules.run


REPORT = """
  const { makeReport } = await import("/survey/report.js");
  return makeReport(given.definition, given.digest, new Map(given.answers));
"""


def asked(answers: dict[str, str], **changes: Any) -> dict[str, Any]:
    """A survey of two questions, its digest, and a respondent's answers."""
    definition = workplace(questions=[stolen(), party()], **changes)
    digest = check_definition(definition)
    return {"definition": definition, "digest": digest, "answers": list(answers.items())}


TRUE = {"stolen": "yes", "party": "p7"}


def test_a_report_is_canonical_and_has_only_the_specified_fields(run: Any) -> None:
    given = asked(TRUE)
    made = run(REPORT, given)
    report = parse(made["text"])
    assert canonical(report) == made["text"]
    assert sorted(report) == ["id", "survey", "values"]
    assert report["survey"] == given["digest"]
    assert report["id"] == made["id"]
    assert sorted(report["values"]) == ["party", "stolen"]
    assert [len(report["values"][name]) for name in ("party", "stolen")] == [4, 1]
    assert made["receipt"] == hashlib.sha256(made["text"].encode()).hexdigest()


def test_report_ids_are_128_bits_and_never_the_same(run: Any) -> None:
    many = REPORT.replace("return", "const one = () =>")
    ids = run(f"{many} return (await Promise.all(Array.from({{length: 200}}, one)))", asked(TRUE))
    found = {report["id"] for report in ids}
    assert len(found) == 200
    assert all(len(value) == 32 and int(value, 16) >= 0 for value in found)


@pytest.mark.parametrize("name", ["__proto__", "constructor", "toString"])
def test_a_question_may_have_a_name_that_objects_have_already(name: str, run: Any) -> None:
    definition = workplace(questions=[stolen(name=name)])
    given = {
        "definition": json.dumps(definition),
        "digest": check_definition(definition),
        "answers": [[name, "no"]],
    }
    body = REPORT.replace("given.definition", "JSON.parse(given.definition)")
    assert sorted(json.loads(run(body, given)["text"])["values"]) == [name]


@pytest.mark.parametrize(
    "answers",
    [
        {},
        {"stolen": "yes"},
        {"stolen": "yes", "party": ""},
        {"stolen": "my secret", "party": "p7"},
        {"stolen": "constructor", "party": "p7"},
        {"stolen": "yes", "party": "p7", "my secret": "yes"},
    ],
    ids=["none", "one_missing", "empty", "no_choice", "prototype", "no_question"],
)
def test_answers_that_fit_no_question_are_refused_without_naming_them(
    answers: dict[str, str], run: Any
) -> None:
    error = run(REPORT, asked(answers))
    assert error["name"] == "BadAnswer"
    assert "secret" not in error["message"]
    assert "constructor" not in error["message"]


def test_nothing_is_drawn_before_every_answer_is_known_to_fit(run: Any) -> None:
    body = """
      const { makeReport } = await import("/survey/report.js");
      const { Coins } = await import("/core/coins.js");
      const coins = new Coins(() => { throw new Error("drawn too early"); });
      return makeReport(given.definition, given.digest, new Map(given.answers), coins);
    """
    assert run(body, asked({"stolen": "yes"}))["name"] == "BadAnswer"
    assert run(body, asked(TRUE) | {"digest": "0" * 64})["name"] == "Refused"
    assert run(body, asked(TRUE))["message"] == "drawn too early"


@pytest.mark.parametrize("answer", [7, -1, 1.5, "1", None, 2**53])
def test_an_answer_outside_the_choices_is_not_repeated(answer: object, run: Any) -> None:
    body = """
      const { randomise } = await import("/mechanisms/mechanism.js");
      const { Coins } = await import("/core/coins.js");
      const mechanism = { name: "subset_selection", k: 5, omega: 2, own: 3, other: 1 };
      return randomise(mechanism, given, new Coins());
    """
    assert run(body, answer) == {
        "name": "BadAnswer",
        "message": "an answer is the index of a choice, from 0 to 4",
    }


def test_a_definition_of_another_version_is_refused(run: Any) -> None:
    error = run(REPORT, asked(TRUE) | {"digest": check_definition(workplace())})
    assert error["name"] == "Refused"
    assert "was changed" in error["message"]


def test_a_broken_claim_is_refused_before_anything_is_drawn(run: Any) -> None:
    given = asked(TRUE)
    given["definition"]["questions"][0]["claim"] = {"odds": "2"}
    given["digest"] = digest(given["definition"])
    error = run(REPORT, given)
    assert error["name"] == "Refused"
    assert "larger odds than the claim allows" in error["message"]


def test_the_odds_of_a_survey_multiply(run: Any) -> None:
    body = """
      const { total } = await import("/survey/total.js");
      return total(given).odds.map(String);
    """
    assert run(body, asked(TRUE)["definition"]) == [str(3 * 11674931554), str(2**32)]


@pytest.mark.parametrize("crypto", ["undefined", "{}"])
def test_without_secure_random_numbers_the_page_refuses(crypto: str, run_alone: Any) -> None:
    body = f"""
      Object.defineProperty(globalThis, "crypto", {{ value: {crypto} }});
      const {{ Coins }} = await import("/core/coins.js");
      return new Coins();
    """
    error = run_alone(body)
    assert error["name"] == "Refused"
    assert "no secure random numbers" in error["message"]


def test_random_bytes_are_fetched_in_blocks_below_the_quota_and_used_once(run_alone: Any) -> None:
    body = """
      const { Coins } = await import("/core/coins.js");
      const sizes = [];
      let next = 0;
      Crypto.prototype.getRandomValues = (array) => {
        sizes.push(array.length);
        return array.map(() => 0).map((_, i) => (i % 7 === 6 ? next++ % 256 : 0));
      };
      const coins = new Coins();
      return [Array.from({ length: 200 }, () => coins.below(2 ** 53)), sizes];
    """
    drawn, sizes = run_alone(body)
    assert drawn == list(range(200))
    assert max(sizes) <= 65536
    assert len(sizes) < 200


def test_a_source_that_runs_dry_is_an_error_and_no_endless_loop(run: Any) -> None:
    body = """
      const { Coins } = await import("/core/coins.js");
      return new Coins(() => new Uint8Array(3)).below(5);
    """
    assert run(body)["name"] == "RangeError"


@pytest.mark.parametrize("bound", [0, -1, 1.5, 2**53 + 2, None, "3"])
def test_a_bound_is_an_integer_from_1_to_2_to_the_53(bound: object, run: Any) -> None:
    body = """
      const { Coins } = await import("/core/coins.js");
      return new Coins().below(given);
    """
    assert run(body, bound)["name"] == "RangeError"


def test_the_systems_generator_gives_every_choice(run: Any) -> None:
    """2000 fair draws below 5 miss one of them with probability below 1e-190."""
    body = """
      const { Coins } = await import("/core/coins.js");
      const coins = new Coins();
      return [...new Set(Array.from({ length: 2000 }, () => coins.below(5)))].sort();
    """
    assert run(body) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("text", ["", "{", "{'a':1}", "[1,]", "01", '{"a":1}}', "NaN", '"\n"'])
def test_a_text_that_is_no_json_is_refused(text: str, run: Any) -> None:
    error = run("return (await import('/core/canonical.js')).parse(given)", text)
    assert error == {"name": "Refused", "message": "this is not JSON"}


@pytest.mark.parametrize("value", ["undefined", "NaN", "1n", "() => 1", "[undefined]", "1 / 0"])
def test_only_json_values_have_a_canonical_form(value: str, run: Any) -> None:
    error = run(f"return (await import('/core/canonical.js')).canonicalise({value})")
    assert error["name"] == "Refused"


# --- every type of question -----------------------------------------------------------------

E = floor(Fraction("2.718281828459045") * 2**32)
"""The weight beside 2**32 whose odds are just below e."""
PAIR = {"own": E, "other": 2**32}


def choices(*names: str) -> list[dict[str, str]]:
    return [{"name": name, "label": name} for name in names]


def grid(maximum: str, step: str = "1") -> dict[str, str]:
    return {"minimum": "0", "maximum": maximum, "step": step}


def selection(k: int) -> dict[str, Any]:
    return {"name": "subset_selection", "k": k, "omega": 1} | PAIR


def question(name: str, kind: str, mechanism: dict[str, Any], **more: Any) -> dict[str, Any]:
    common = {"name": name, "type": kind, "label": name, "claim": {"epsilon": "1"}}
    return common | {"mechanism": mechanism} | more


def number(name: str, mechanism: dict[str, Any], **more: Any) -> dict[str, Any]:
    return question(name, "number", mechanism, range=grid("100"), aim="mean") | more


def vector(name: str, mechanism: dict[str, Any], **more: Any) -> dict[str, Any]:
    parts = [{"name": part, "label": part, "range": grid("10", "0.1")} for part in ("x", "y")]
    return question(name, "vector", mechanism, parts=parts) | more


LAPLACE = {"name": "laplace", "k": 101, "scale": "100"}
GAUSSIAN = {"k": 101, "sigma2": "500000", "epsilon": "1", "delta": "0.00001"}
OFTEN = ("never", "sometimes", "always")
DRUGS = ("tea", "coffee", "none_of_these")

EVERY: list[tuple[dict[str, Any], Any]] = [
    (question("yes", "yes_no", selection(2), choices=choices("yes", "no")), "yes"),
    (question("one", "select_one", selection(3), choices=choices(*OFTEN)), "always"),
    (
        question(
            "coded",
            "select_one",
            {"name": "unary", "k": 3, "most": 1, "own": 8, "other": 5, "total": 13},
            choices=choices(*OFTEN),
        ),
        "never",
    ),
    (
        question(
            "drugs",
            "select_multiple",
            {"name": "set_response", "k": 3, "most": 2, "size": 1} | PAIR,
            choices=choices(*DRUGS),
            most=2,
        ),
        ["coffee", "tea"],
    ),
    (
        question(
            "sampled",
            "select_multiple",
            {"name": "sampled_ticks", "k": 3, "s": 1} | PAIR,
            choices=choices(*DRUGS),
            most=3,
        ),
        [],
    ),
    (
        question(
            "scale",
            "scale",
            {"name": "window", "k": 3, "m": 5, "w": 3} | PAIR,
            choices=choices(*OFTEN),
            aim="mean",
            scores=[-1, 0, 1],
        ),
        "sometimes",
    ),
    (
        question(
            "likert",
            "scale",
            {"name": "bounded_laplace", "k": 3, "scale": "2", "beyond": "resample"},
            choices=choices(*OFTEN),
            aim="distribution",
        ),
        "sometimes",
    ),
    (number("income", {"name": "channel", "k": 101, "weights": [[5, 2], [2, 5]]}), "17.4"),
    (number("age", LAPLACE), " 42 "),
    (number("weight", {"name": "gaussian", "d": 1} | GAUSSIAN), "100000"),
    (number("coarse", selection(10), aim="distribution"), "-3"),
    (vector("two", {"name": "vector", "s": 1, "parts": [LAPLACE, LAPLACE]}), {"x": "1", "y": "2"}),
    (vector("noisy", {"name": "gaussian", "d": 2} | GAUSSIAN), {"y": "0.05", "x": "10"}),
    (
        question(
            "place",
            "point",
            selection(9),
            parts=[{"name": part, "label": part, "range": grid("90")} for part in ("lat", "lon")],
            grid=3,
        ),
        {"lat": "12.5", "lon": "77"},
    ),
    (
        question(
            "both",
            "product",
            selection(6),
            parts=[
                {"name": "a", "label": "a", "choices": choices("l", "r")},
                {"name": "b", "label": "b", "choices": choices(*OFTEN)},
            ],
        ),
        {"b": "never", "a": "r"},
    ),
]
for _asked, _ in EVERY:
    if _asked["mechanism"]["name"] == "gaussian":
        _asked["claim"] = {"epsilon": "1", "delta": "0.00001"}

ALL = """
  const { makeReport } = await import("/survey/report.js");
  const { Coins } = await import("/core/coins.js");
  const coins = given.zeros ? new Coins((count) => new Uint8Array(count)) : new Coins();
  const answers = new Map(Object.entries(given.answers));
  return makeReport(given.definition, given.digest, answers, coins, given.drawn ?? undefined);
"""


def posed(*pairs: tuple[dict[str, Any], Any], **changes: Any) -> dict[str, Any]:
    """A survey of these questions that Python accepts too, its digest and the answers."""
    definition = workplace(questions=[one for one, _ in pairs], **changes)
    answers = {one["name"]: answer for one, answer in pairs if answer is not None}
    digest = as_survey(definition).digest
    return {"definition": definition, "digest": digest, "answers": answers}


def test_a_report_on_every_type_of_question_is_one_that_the_server_takes(run: Any) -> None:
    given = posed(*EVERY)
    survey = as_survey(given["definition"])
    for _ in range(20):
        read_report(run(ALL, given)["text"].encode()).check(survey)


@for_each(
    ("name", "answer"),
    [
        ("one", "secret"),
        ("drugs", ["secret"]),
        ("drugs", "tea"),
        ("drugs", ["tea", "coffee", "none_of_these"]),
        ("age", "secret"),
        ("age", "1e3"),
        ("age", ""),
        ("age", "9" * 41),
        ("age", True),
        ("two", {"x": "1"}),
        ("two", {"x": "1", "y": "2", "secret": "3"}),
        ("two", {"x": "1", "y": "secret"}),
        ("two", "secret"),
        ("both", {"a": "l", "b": "secret"}),
        ("both", None),
    ],
)
def test_an_answer_of_another_type_is_refused_and_not_repeated(
    name: str, answer: object, run: Any
) -> None:
    asked_about = next(one for one, _ in EVERY if one["name"] == name)
    given = posed((asked_about, None))
    given["answers"] = {} if answer is None else {name: answer}
    error = run(ALL, given)
    assert error["name"] == "BadAnswer"
    assert error["message"].startswith(f"{name} ")
    assert "secret" not in error["message"]
    assert "999" not in error["message"]


@for_each(
    ("given", "position"),
    [
        ("0", 0),
        ("0.5", 1),
        ("0.49999999999999999999999", 0),
        ("-0.5", 0),
        ("-1000000000000000000000000", 0),
        ("99.5", 100),
        ("1000000000000000000000000", 100),
        ("+007.50", 8),
        (" .6 ", 1),
        ("3.", 3),
        (3, 3),
        (2.5, 3),
    ],
)
def test_a_number_is_the_nearest_position_and_halves_go_up(
    given: object, position: int, run: Any
) -> None:
    body = """
      const { verify } = await import("/survey/survey.js");
      const { encode } = await import("/survey/questions.js");
      const { questions } = await verify(given.definition, given.digest);
      return encode(questions[0], given.answers.age);
    """
    assert run(body, posed((number("age", LAPLACE), given))) == position


# --- hidden questions, and surveys that ask some of their questions --------------------------


def hiding() -> list[dict[str, Any]]:
    """A person who never works is not asked how long, nor then what they would change."""
    names = ("not_applicable", "short", "long")
    return [
        question("works", "yes_no", selection(2), choices=choices("yes", "no")),
        question(
            "long",
            "select_one",
            selection(3),
            choices=choices(*names),
            show_if={"question": "works", "is": ["yes"]},
        ),
        question(
            "change",
            "select_multiple",
            {"name": "set_response", "k": 3, "most": 1, "size": 1} | PAIR,
            choices=choices(*names),
            most=1,
            show_if={"question": "long", "is": ["short", "long"]},
        ),
    ]


@pytest.mark.parametrize(
    ("answers", "hidden", "values"),
    [
        ({"works": "no"}, ["long", "change"], {"works": [1], "long": [0], "change": [1]}),
        (
            {"works": "no", "long": "short", "change": ["long"]},
            ["long", "change"],
            {"works": [1], "long": [0], "change": [1]},
        ),
        (
            {"works": "yes", "long": "long", "change": ["short"]},
            [],
            {"works": [0], "long": [2], "change": [0]},
        ),
    ],
)
def test_a_hidden_question_is_answered_with_not_applicable(
    answers: dict[str, Any], hidden: list[str], values: dict[str, list[int]], run: Any
) -> None:
    """With a tape of zeros the answer itself is sent; by set_response the first that is none."""
    given = posed(*((one, None) for one in hiding())) | {"answers": answers, "zeros": True}
    body = """
      const { hiddenQuestions } = await import("/survey/conditions.js");
      return hiddenQuestions(given.definition, new Map(Object.entries(given.answers)));
    """
    assert run(body, given) == hidden
    assert json.loads(run(ALL, given)["text"])["values"] == values


@pytest.mark.parametrize(
    "answers",
    [
        {"works": "yes", "long": "not_applicable"},
        {"works": "yes", "long": "long", "change": ["not_applicable"]},
        {"works": "yes", "long": "long", "change": ["short", "not_applicable"]},
    ],
)
def test_not_applicable_is_no_answer_to_a_question_that_is_shown(
    answers: dict[str, Any], run: Any
) -> None:
    given = posed(*((one, None) for one in hiding())) | {"answers": answers}

    error = run(ALL, given)

    assert error["name"] == "BadAnswer"
    assert error["message"].startswith(("long needs an answer", "change needs a list"))


def test_a_question_that_is_shown_needs_an_answer(run: Any) -> None:
    given = posed(*((one, None) for one in hiding())) | {"answers": {"works": "yes"}}
    error = run(ALL, given)
    assert error["name"] == "BadAnswer"
    assert error["message"].startswith("long needs an answer")


ASKING = [
    (question(f"q{i}", "yes_no", selection(2), choices=choices("yes", "no")), "yes")
    for i in range(5)
]


def test_some_of_the_questions_are_drawn_in_order_and_only_they_are_reported(run: Any) -> None:
    """Each of the ten pairs is drawn; that 500 fair draws miss one has probability below 1e-21."""
    given = posed(*ASKING, ask=2)
    body = """
      const { drawQuestions } = await import("/survey/conditions.js");
      const names = () => drawQuestions(given.definition).map(({ name }) => name).join();
      return [...new Set(Array.from({ length: 500 }, names))].sort();
    """
    pairs = [f"q{i},q{j}" for i in range(5) for j in range(i + 1, 5)]
    assert run(body, given) == pairs
    for drawn in (None, [{"name": "q1"}, {"name": "q4"}]):
        report = read_report(run(ALL, given | {"drawn": drawn})["text"].encode())
        report.check(as_survey(given["definition"]))
        assert drawn is None or sorted(report.values) == ["q1", "q4"]


@pytest.mark.parametrize("drawn", [[], ["q1"], ["q1", "q1"], ["q1", "q9"], ["q0", "q1", "q2"]])
def test_a_report_of_another_number_of_questions_is_refused(drawn: list[str], run: Any) -> None:
    names = [{"name": name} for name in drawn]
    error = run(ALL, posed(*ASKING, ask=2) | {"drawn": names})
    assert error["name"] == "BadAnswer"


def test_where_everything_is_asked_nothing_is_drawn(run: Any) -> None:
    body = """
      const { drawQuestions } = await import("/survey/conditions.js");
      const { Coins } = await import("/core/coins.js");
      const coins = new Coins(() => { throw new Error("drawn"); });
      return drawQuestions(given.definition, coins).length;
    """
    assert run(body, posed(*ASKING)) == 5


# --- what is fetched ------------------------------------------------------------------------


@pytest.mark.browser
def test_a_simple_survey_fetches_no_code_that_it_does_not_need(page: Page, web_url: str) -> None:
    """In a page, which knows what it fetched."""
    body = """(given) => (async () => {
      const { verify } = await import("/survey/survey.js");
      await import("/survey/report.js");
      await verify(given.definition, given.digest);
      return performance.getEntriesByType("resource").map(({ name }) => name.split("/").pop());
    })()"""

    def run(given: object) -> list[str]:
        page.goto(web_url)
        return list(page.evaluate(body, given))

    simple = run(asked(TRUE))
    needless = {"conditions.js", "channel.js", "choices.js", "gaussian_delta.js", "loss.js"}
    needless |= {"noise.js", "numbers.js", "positions.js", "ticks.js", "total.js", "vector.js"}
    needless |= {"window.js"}
    assert "subset_selection.js" in simple
    assert needless.isdisjoint(simple)
    (several,) = (one for one in EVERY if one[0]["name"] == "drugs")
    assert {"choices.js", "ticks.js"} <= set(run(posed(several)))


def test_verifying_a_name_that_every_object_has_fetches_and_accepts_nothing(run: Any) -> None:
    for name in ("constructor", "__proto__", "toString"):
        given = asked(TRUE)
        for part in ("type", "mechanism"):
            definition = json.loads(json.dumps(given["definition"]))
            definition["questions"][0][part] = name if part == "type" else {"name": name}
            error = run(REPORT, given | {"definition": definition})
            assert error["name"] == "Refused"
            why = "there is no such type of question" if part == "type" else "is none of"
            assert why in error["message"]


def test_a_body_is_read_up_to_a_size_and_no_further(run: Any) -> None:
    body = """
      const { body } = await import("/core/body.js");
      let pulled = 0;
      const pull = (control) => {
        control.enqueue(new Uint8Array([[0xc3], [0xa4]][pulled % 2])); // half an a umlaut
        if (++pulled === given) control.close();
      };
      const stream = new ReadableStream({ pull });
      return [await body(new Response(stream), 100).catch(({ name }) => name), pulled];
    """
    assert run(body, 4) == ["ää", 4]
    text, pulled = run(body, 10_000)
    assert text == "Refused"
    assert pulled < 110
    empty = 'return (await import("/core/body.js")).body(new Response(null), 10)'
    assert run(empty) == ""


QUICK = """
  const wait = globalThis.setTimeout, now = performance.now.bind(performance);
  globalThis.setTimeout = (then, milliseconds) => wait(then, milliseconds / 20);
  performance.now = () => 20 * now();
  const { send } = await import("/device/send.js");
  return send(given, "{}");
"""


LENGTH = 900


def dripping_head(status: bytes) -> bytes:
    return HEAD.replace(b"200 OK", status) + b"Content-Length: %d\r\n\r\n" % LENGTH


def dripping(status: bytes) -> Answer:
    """A whole header, then a byte now and then, for ten seconds."""
    return lambda line: hostile_http.dripping(line, dripping_head(status))


def test_who_sends_a_report_does_not_wait_for_an_answer_that_drips(run_alone: Any) -> None:
    """Its status says enough. Whoever waited would have the whole answer after 90 seconds."""
    heard_to_the_end = list[bytes]()

    def dripping_to_the_end(status: bytes) -> Answer:
        def answer(line: socket.socket) -> None:
            hostile_http.dripping(line, dripping_head(status), LENGTH)
            heard_to_the_end.append(status)

        return answer

    with (
        hostile_server(dripping_to_the_end(b"200 OK")) as taken,
        hostile_server(dripping_to_the_end(b"410 Gone")) as gone,
    ):
        assert run_alone(QUICK, taken) == ""
        refused = run_alone(QUICK, gone)
    assert heard_to_the_end == []
    assert refused == {"name": "Refused", "message": "the server refused with status 410"}


def test_a_body_that_drips_is_a_fault_of_the_network_and_a_long_one_has_its_time(run: Any) -> None:
    body = """
      const { body } = await import("/core/body.js");
      return (await body(await fetch(given), 1 << 20, 500)).length;
    """

    def steady(line: socket.socket) -> None:
        line.sendall(HEAD + b"Content-Length: %d\r\n\r\n" % (8 * 16_384))
        for _ in range(8):
            line.sendall(b" " * 16_384)
            time.sleep(0.1)

    with hostile_server(dripping(b"200 OK")) as slow, hostile_server(steady) as enough:
        assert run(body, slow) == {"name": "TypeError", "message": "the server sends too slowly"}
        assert run(body, enough) == 8 * 16_384


# --- losses ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "size"), [(3, 4), (3, -1), (3, 1.5), (2.5, 1), (None, 0), (3, "1")])
def test_pick_takes_from_none_to_all(n: object, size: object, run: Any) -> None:
    body = """
      const { Coins } = await import("/core/coins.js");
      return new Coins().pick(...given);
    """
    assert run(body, [n, size])["name"] == "RangeError"


def test_the_largest_losses_are_found_exactly(run: Any) -> None:
    """e is 2.71828182845904523536...: two ratios around it, and the exponent 1 between them."""
    body = """
      const { largest } = await import("/core/loss.js");
      const e = 2718281828459045n, d = 10n ** 15n;
      const loss = (odds, exponent) => ({ odds, exponent, delta: [0n, 1n] });
      const below = loss([e, d], [0n, 1n]);
      const between = loss([1n, 1n], [3n, 3n]);
      const above = loss([e + 1n, d], [0n, 1n]);
      const { odds, exponent } = largest([below, between, above], given);
      return [odds, exponent].map(([n, m]) => Number(n) / Number(m));
    """
    assert run(body, 1) == [2.718281828459046, 0]
    assert run(body, 2) == [2.718281828459046, 1]


@for_each(
    ("claim", "exponent", "delta", "kept"),
    [
        ({"epsilon": "1"}, "1", "0", True),
        ({"epsilon": "1"}, "3/2", "0", False),
        ({"epsilon": "1"}, "1000000000000000000001/1000000000000000000000", "0", False),
        ({"odds": "3"}, "1/100", "0", False),
        ({"odds": "3"}, "0", "0", True),
        ({"epsilon": "1", "delta": "0.00001"}, "1", "1/100000", True),
        ({"epsilon": "1", "delta": "0.0001"}, "1", "1/100000", True),
        ({"epsilon": "1", "delta": "0.000001"}, "1", "1/100000", False),
        ({"epsilon": "1"}, "1", "1/100000", False),
        ({"epsilon": "1", "delta": "0.00001"}, "1", "0", False),
        ({"epsilon": "1", "delta": "0"}, "1", "0", False),
        ({"epsilon": "1", "delta": "0.0002"}, "1", "1/100000", False),
        ({"epsilon": "1", "delta": "0.000010"}, "1", "1/100000", False),
        ({"odds": "3", "delta": "0.00001"}, "0", "1/100000", False),
        ({"odds": "3", "delta": "0.00001"}, "0", "0", False),
    ],
)
def test_a_claim_covers_exponent_and_delta(
    claim: dict[str, str], exponent: str, delta: str, kept: bool, run: Any
) -> None:
    body = """
      const { checkClaim } = await import("/survey/claim.js");
      const { parts } = await import("/core/fraction.js");
      const [claim, exponent, delta] = given;
      checkClaim(claim, { odds: [1n, 1n], exponent: parts(exponent), delta: parts(delta) });
    """
    error = run(body, [claim, exponent, delta])
    assert (error is None) == kept
    assert kept or error["name"] == "Refused"


@pytest.mark.parametrize(
    ("sigma2", "shift", "epsilon", "bound"),
    [
        ("73/4", 1, "1", "1192934819602486118291638849312447009459733"),
        ("36000000", 120, "1/10", "1643046358823582588059402965658197626963"),
        ("4000000", 2000, "1", "185518238983735433334765175491804720206489785516"),
    ],
)
def test_the_bound_of_gaussian_noise_has_its_known_answers(
    sigma2: str, shift: int, epsilon: str, bound: str, run: Any
) -> None:
    """The figures of section 2.15 of the specification."""
    body = """
      const { parts } = await import("/core/fraction.js");
      const { upperDelta } = await import("/mechanisms/gaussian_delta.js");
      const [sigma2, shift, epsilon] = given;
      return String(upperDelta(parts(sigma2), BigInt(shift), 1n, parts(epsilon)));
    """
    assert run(body, [sigma2, shift, epsilon]) == bound


@pytest.mark.parametrize("change", ["definition.title = 'Other'", "mechanism.own = 1000000"])
def test_a_verified_definition_cannot_be_changed_any_more(change: str, run: Any) -> None:
    """So it is verified once, and not before each report again."""
    body = f"""
      const {{ verify }} = await import("/survey/survey.js");
      const [definition, digest] = given;
      if ((await verify(definition, digest)) !== definition) throw new Error("another definition");
      await verify(definition, digest);
      const {{ mechanism }} = definition.questions[0];
      {change};
      const canonical = await import("/core/canonical.js");
      return (await canonical.digest(definition)) === digest;
    """
    definition = workplace()
    assert run(body, [definition, check_definition(definition)]) is True


def test_a_verified_definition_has_one_digest(run: Any) -> None:
    body = """
      const { verify } = await import("/survey/survey.js");
      const [definition, digest] = given;
      await verify(definition, digest);
      await verify(definition, "00" + digest.slice(2));
    """
    definition = workplace()
    error = run(body, [definition, check_definition(definition)])
    assert error["name"] == "Refused"
    assert "was changed" in error["message"]


# --- invitations ------------------------------------------------------------------------------

TRADE = """
  const { beginTrade, finishTrade, endTrade } = await import("/device/trade.js");
  const { EMPTY, readMemory, written } = await import("/device/memory.js");
"""


def test_what_javascript_blinds_python_signs_and_both_keep_alike(run: Any) -> None:
    key, version = new_key(), "ab" * 32
    given = {"key": key.public.text, "version": version, "code": "0" * 18}
    begun = run(
        f"""{TRADE}
        const memory = await beginTrade(EMPTY, given.version, given.key, given.code);
        const again = await beginTrade(memory, given.version, given.key, "1".repeat(18));
        return [written(memory), written(again)];
        """,
        given,
    )
    assert begun[0] == begun[1], "one trade at a time"
    trade = read_memory(begun[0].encode()).trade(version)
    assert trade
    signed = key.sign(bytes.fromhex(trade.blinded)).hex()

    ended = run(
        f"""{TRADE}
        const memory = readMemory(given.memory);
        const trade = memory.trades[given.version];
        const done = await finishTrade(memory, given.version, given.key, trade, given.signed);
        const late = await finishTrade(done, given.version, given.key, trade, given.signed);
        const [dropped, kept] = [memory, done].map((one) => endTrade(one, given.version, trade));
        return [done, late, dropped, kept].map(written);
        """,
        given | {"memory": begun[0], "signed": signed},
    )

    done, late, dropped, kept = (read_memory(text.encode()) for text in ended)
    ticket = done.ticket(version)
    assert ticket
    assert ticket.id == trade.id
    assert is_ticket(key.public, ticket.id, ticket.ticket)
    assert (
        done
        == late
        == kept
        == finish_trade(read_memory(begun[0].encode()), version, key.public.text, trade, signed)
    )
    assert dropped == Memory()


def test_javascript_takes_no_signature_of_another_key(run: Any) -> None:
    key = new_key()
    given = {"key": key.public.text, "version": "ab" * 32}
    found = run(
        f"""{TRADE}
        const memory = await beginTrade(EMPTY, given.version, given.key, "0".repeat(18));
        const trade = memory.trades[given.version];
        return finishTrade(memory, given.version, given.key, trade, "7" + "0".repeat(511));
        """,
        given,
    )

    assert found["name"] == "Refused"


def test_javascript_blinds_otherwise_each_time(run: Any) -> None:
    made = run(
        """
        const { blind, prepare } = await import("/trust/blind_rsa.js");
        const prepared = prepare("00".repeat(16));
        const all = await Promise.all(Array.from({ length: 20 }, () => blind(given, prepared)));
        return [...all.map(({ blinded }) => blinded), prepare("00"), prepare("00")];
        """,
        new_key().public.text,
    )

    assert len(set(made)) == 22


# --- mixers -----------------------------------------------------------------------------------

THROUGH_MIXER = """
  const { answerThroughMixer, markSealedSent } = await import("/device/through_mixer.js");
  const { EMPTY, readMemory, written } = await import("/device/memory.js");
  const { sha256 } = await import("/core/canonical.js");
  const { Coins } = await import("/core/coins.js");
  let at = 0;
  const coins = new Coins((count) => Uint8Array.from({ length: count }, () => (at++ * 89) % 251));
  const hex = (text) => Array.from(text, (char) => char.charCodeAt(0).toString(16)).join("");
  const seal = async (texts) => ({
    outer: hex(texts.join("")),
    inner: await Promise.all(texts.map(sha256)),
  });
  const { version, day, author } = given;
  const { verify } = await import("/survey/survey.js");
  const definition = await verify(given.definition, version);
  const answers = new Map(given.answers);
  const answering = { definition, version, day, author, answers, coins };
"""
MIXED = mixed(EIGHT, YES_NO, NUMBER)
MIXED_ANSWERS = {"e": "yes", "a": "no", "f": "7"}


def through_mixer(**changes: Any) -> dict[str, Any]:
    given: dict[str, Any] = {"definition": MIXED, "answers": list(MIXED_ANSWERS.items())}
    given |= {"day": "2026-11-21", "author": "a1" * 32} | changes
    return given | {"version": check_definition(given["definition"])}


def not_sealed(reports: Sequence[Report]) -> Envelopes:
    inner = [report.canonical for report in reports]
    return Envelopes(b"".join(inner), inner)


def test_both_keep_the_same_envelope_of_the_same_coins(run: Any) -> None:
    numbers = itertools.count()
    coins = Coins(lambda size: bytes(next(numbers) * 89 % 251 for _ in range(size)))
    survey = as_survey(MIXED)

    found = run(
        f"{THROUGH_MIXER} return written(await answerThroughMixer(EMPTY, answering, seal));",
        through_mixer(),
    )

    ours = answer_through_mixer(
        Memory(), survey, MIXED_ANSWERS, not_sealed, day="2026-11-21", limits=Limits(),
        author="a1" * 32, coins=coins,
    )  # fmt: skip
    assert found == ours.canonical.decode()


def test_javascript_seals_reports_that_are_on_their_own(run: Any) -> None:
    texts = run(
        f"""{THROUGH_MIXER}
        const texts = [];
        await answerThroughMixer(EMPTY, answering, (all) => (texts.push(...all), seal(all)));
        return texts;
        """,
        through_mixer(),
    )

    reports = [read_report(text.encode()) for text in texts]
    for report, text in zip(reports, texts, strict=True):
        report.check(as_survey(MIXED))
        assert report.canonical.decode() == text
    assert [list(report.values) for report in reports] == [["e"], ["a"], ["f"]]
    assert len({report.id for report in reports}) == 3


def test_javascript_sends_the_same_envelope_again(run: Any) -> None:
    found = run(
        f"""{THROUGH_MIXER}
        const memory = await answerThroughMixer(EMPTY, answering, seal);
        const thrown = at;
        const again = await answerThroughMixer(readMemory(written(memory)), answering, seal);
        const sent = markSealedSent(memory, version, memory.reports[version].sealed);
        const other = markSealedSent(memory, version, "00");
        return [...[memory, again, other, sent].map(written), at - thrown];
        """,
        through_mixer(),
    )

    memory, again, other, sent, thrown = found
    assert memory == again == other
    assert sent == memory.replace('"sent":false', '"sent":true')
    assert thrown == 0


def test_javascript_refuses_before_a_coin_is_thrown(run: Any) -> None:
    questions = [changed(EIGHT, name=f"q{i}") for i in range(13)]
    given = through_mixer(
        definition=mixed(*questions), answers=[[each["name"], "yes"] for each in questions]
    )

    found = run(
        f"""{THROUGH_MIXER}
        try {{
          await answerThroughMixer(EMPTY, answering, seal);
        }} catch ({{ name, scope, shares }}) {{
          return {{ name, scope, shares, at }};
        }}
        """,
        given,
    )

    assert found == {
        "name": "BudgetSpent",
        "scope": "survey",
        "shares": {"before": 0, "more": 109},
        "at": 0,
    }


def test_javascript_answers_no_survey_with_a_mixer_by_one_report(run: Any) -> None:
    error = run(
        f"""{THROUGH_MIXER}
        const {{ answer }} = await import("/device/memory.js");
        return answer(EMPTY, answering);
        """,
        through_mixer(),
    )

    assert error["message"] == "survey.mixer: takes sealed answers"
