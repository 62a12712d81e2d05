"""What the JavaScript promises beyond the vectors: randomness, refusals, silence."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest
from playwright.sync_api import Page

import reference
from definition_cases import party, stolen, workplace
from reference_definition import check_definition

pytestmark = pytest.mark.browser

CATCH = "(error) => ({ name: error.name, message: error.message })"


@pytest.fixture
def run(page: Page, web_url: str) -> Any:
    """(body of an async function of `given`, given) -> its value, or the error's name and text."""
    page.goto(web_url)

    def evaluate(body: str, given: object = None) -> Any:
        return page.evaluate(f"(given) => (async () => {{ {body} }})().catch({CATCH})", given)

    return evaluate


REPORT = """
  const { makeReport } = await import("/report.js");
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
    report = reference.parse(made["text"])
    assert reference.canonical(report) == made["text"]
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
      const { makeReport } = await import("/report.js");
      const { Coins } = await import("/coins.js");
      const coins = new Coins(() => { throw new Error("drawn too early"); });
      return makeReport(given.definition, given.digest, new Map(given.answers), coins);
    """
    assert run(body, asked({"stolen": "yes"}))["name"] == "BadAnswer"
    assert run(body, asked(TRUE) | {"digest": "0" * 64})["name"] == "Refused"
    assert run(body, asked(TRUE))["message"] == "drawn too early"


@pytest.mark.parametrize("answer", [7, -1, 1.5, "1", None, 2**53])
def test_an_answer_outside_the_choices_is_not_repeated(answer: object, run: Any) -> None:
    body = """
      const { randomise } = await import("/mechanism.js");
      const { Coins } = await import("/coins.js");
      return randomise({ k: 5, omega: 2, own: 3, other: 1 }, given, new Coins());
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
    given["digest"] = reference.digest(given["definition"])
    error = run(REPORT, given)
    assert error["name"] == "Refused"
    assert "larger odds than the claim allows" in error["message"]


def test_the_odds_of_a_survey_multiply(run: Any) -> None:
    body = """
      const { totalOdds } = await import("/survey.js");
      return totalOdds(given).map(String);
    """
    assert run(body, asked(TRUE)["definition"]) == [str(3 * 11674931554), str(2**32)]


@pytest.mark.parametrize("crypto", ["undefined", "{}"])
def test_without_secure_random_numbers_the_page_refuses(crypto: str, run: Any) -> None:
    body = f"""
      Object.defineProperty(globalThis, "crypto", {{ value: {crypto} }});
      const {{ Coins }} = await import("/coins.js");
      return new Coins();
    """
    error = run(body)
    assert error["name"] == "Refused"
    assert "no secure random numbers" in error["message"]


def test_on_an_insecure_page_the_digest_says_what_to_do(run: Any) -> None:
    body = """
      Object.defineProperty(crypto, "subtle", { value: undefined });
      return (await import("/canonical.js")).digest({});
    """
    error = run(body)
    assert error["name"] == "Refused"
    assert "https" in error["message"]


def test_random_bytes_are_fetched_in_blocks_below_the_quota_and_used_once(run: Any) -> None:
    body = """
      const { Coins } = await import("/coins.js");
      const sizes = [];
      let next = 0;
      Crypto.prototype.getRandomValues = (array) => {
        sizes.push(array.length);
        return array.map(() => 0).map((_, i) => (i % 7 === 6 ? next++ % 256 : 0));
      };
      const coins = new Coins();
      return [Array.from({ length: 200 }, () => coins.below(2 ** 53)), sizes];
    """
    drawn, sizes = run(body)
    assert drawn == list(range(200))
    assert max(sizes) <= 65536
    assert len(sizes) < 200


def test_a_source_that_runs_dry_is_an_error_and_no_endless_loop(run: Any) -> None:
    body = """
      const { Coins } = await import("/coins.js");
      return new Coins(() => new Uint8Array(3)).below(5);
    """
    assert run(body)["name"] == "RangeError"


@pytest.mark.parametrize("bound", [0, -1, 1.5, 2**53 + 2, None, "3"])
def test_a_bound_is_an_integer_from_1_to_2_to_the_53(bound: object, run: Any) -> None:
    body = """
      const { Coins } = await import("/coins.js");
      return new Coins().below(given);
    """
    assert run(body, bound)["name"] == "RangeError"


def test_the_systems_generator_gives_every_choice(run: Any) -> None:
    """2000 fair draws below 5 miss one of them with probability below 1e-190."""
    body = """
      const { Coins } = await import("/coins.js");
      const coins = new Coins();
      return [...new Set(Array.from({ length: 2000 }, () => coins.below(5)))].sort();
    """
    assert run(body) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("text", ["", "{", "{'a':1}", "[1,]", "01", '{"a":1}}', "NaN", '"\n"'])
def test_a_text_that_is_no_json_is_refused(text: str, run: Any) -> None:
    error = run("return (await import('/canonical.js')).parse(given)", text)
    assert error == {"name": "Refused", "message": "this is not JSON"}


@pytest.mark.parametrize("value", ["undefined", "NaN", "1n", "() => 1", "[undefined]", "1 / 0"])
def test_only_json_values_have_a_canonical_form(value: str, run: Any) -> None:
    error = run(f"return (await import('/canonical.js')).canonicalise({value})")
    assert error["name"] == "Refused"
