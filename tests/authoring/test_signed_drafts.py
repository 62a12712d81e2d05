"""What an author signs is what the page has: no honest server is accused, and no other believed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from deniably.authoring.compiling import compile_survey
from deniably.authoring.documents import load
from deniably.authoring.drafts import to_json
from deniably.wording.words import LANGUAGES
from support.drafts import draft
from support.modules import Modules
from support.soak import soak
from support.studio import EVERY_KIND

SIGNS = """
  const { checkShown, shownDraft } = await import("/studio/signature.js");
  return given.map(({ definition, written }) => {
    const { name, results: { minimum, to } } = definition;
    const shown = { ...shownDraft(written), name, minimum, analysts: to === "analysts" };
    try { checkShown(definition, shown); return "signs"; } catch ({ message }) { return message; }
  });
"""
YES_NO = {"type": "yes_no", "label": "Paid?"}
TWO = [{"name": "a", **YES_NO}, {"name": "b", **YES_NO, "label": "Fairly?"}]
BUDGETED: dict[str, Any] = {"name": "s", "title": "T", "budget": {"epsilon": 3}, "questions": TWO}
WHOM = {"type": "select_one", "label": "Whom?", "choices": ["Ada", "Ben", "Eve"]}


def with_coins(coins: dict[str, object], **keys: object) -> dict[str, Any]:
    """A draft whose one question states its protection as coins."""
    return {"name": "s", "title": "T", "questions": [TWO[0] | keys | {"coins": coins}]}


def pair(written: dict[str, Any]) -> dict[str, Any]:
    """A draft, as a page has it, and its definition."""
    document: Any = load(to_json(written).encode())
    definition = json.loads(compile_survey(document).canonical)
    return {"definition": definition, "written": json.loads(to_json(document))}


def honest() -> Iterator[dict[str, Any]]:
    yield EVERY_KIND
    yield EVERY_KIND | {"intro": "Be honest.\nNobody sees it.\n", "contact": " The union "}
    facts = {"controller": "The union (Harbour St. 1)", "legal_basis": "Art. 6 [1] a",
             "retention": "To 2030. $0 is left", "consent": "By sending: *yes*?"}  # fmt: skip
    for language in LANGUAGES:
        yield BUDGETED | facts | {"language": language, "intro": "Be honest."}
    for key, text in facts.items():
        yield BUDGETED | {key: text}
    for spend in ("split", "sample"):
        yield BUDGETED | {"budget": {"epsilon": 3, "spend": spend}}
    yield BUDGETED | {"questions": [*TWO, {"name": "c", "type": "number", "label": "Hours?",
                                           "minimum": 0, "maximum": 60}]}  # fmt: skip
    yield {"name": "s", "title": "T", "questions": [TWO[0] | {"odds": "13/3"}]}
    for coins in ({"truth": 0.7, "yes": "1/2"}, {"truth": 0.5, "yes": 0.3}):
        yield with_coins(coins)
        yield with_coins(coins, **WHOM | {"choices": ["Ada", "Ben"]})
    for truth in (0.5, "1/3"):
        for more in ({}, {"also": ["prefer_not_to_say"]}, {"choices": list("abcdefghij")}):
            yield with_coins({"truth": truth}, **WHOM | more)


@pytest.mark.parametrize("seeds", [range(40), soak(range(40, 200))])
def test_every_draft_of_an_honest_server_is_signed(modules: Modules, seeds: range) -> None:
    """Also where one protection for all makes one question of several."""
    drafts = [*honest(), *map(draft, seeds)]

    assert set(modules.compute(SIGNS, list(map(pair, drafts)))) == {"signs"}


@pytest.mark.parametrize(
    ("written", "change", "sentence"),
    [
        (BUDGETED | {"intro": "Hello.", "retention": "A year"}, {"retention": "For ever"},
         "The introduction here is “Hello. A year”, and there “Hello. How long it is kept: For"
         " ever”."),
        (BUDGETED | {"retention": "A year"}, {"intro": "All is public."}, "The introduction here is"
         " “A year”, and there “All is public. How long it is kept: A year”."),
        (BUDGETED, {"budget": {"epsilon": 4}}, "The protection of all questions here is “guessed"
         " right 95.3 of 100 times”, and there “guessed right 98.2 of 100 times”."),
        (BUDGETED, {"questions": TWO[::-1]}, "The text of question 1 here is “Paid?”, and there"
         " “Fairly?”."),
        (BUDGETED, {"questions": TWO[:1]}, "The number of questions here is “2”, and there “1”."),
        (EVERY_KIND, {"questions": [each | {"epsilon": 0.6} for each in EVERY_KIND["questions"]]},
         "The protection of question 1 here is “guessed right 62.2 of 100 times”, and there"
         " “guessed right 64.6 of 100 times”."),
        ({"name": "s", "title": "T", "questions": [TWO[0] | {"odds": "5/2"}]},
         {"questions": [TWO[0] | {"odds": "7/2"}]},
         "The protection of question 1 here is “guessed right 71.4 of 100 times”, and there"
         " “guessed right 77.8 of 100 times”."),
        (with_coins({"truth": 0.5}), with_coins({"truth": 0.9}),
         "The protection of question 1 here is “coins that let the truth pass 50.0 of 100 times,"
         " else any answer”, and there “coins that let the truth pass 90.0 of 100 times, else any"
         " answer”."),
        (with_coins({"truth": "1/3"}, **WHOM), with_coins({"truth": "1/2"}, **WHOM),
         "“coins that let the truth pass 33.3 of 100 times, else any answer”, and there “coins that"
         " let the truth pass 50.0 of 100 times"),
        (with_coins({"truth": 0.5}), with_coins({"truth": 0.5, "yes": 0.1}),
         "pass 50.0 of 100 times, else the first answer 10.0 of 100 times”."),
        (with_coins({"truth": 0.5, "yes": 0.3}), {"questions": [TWO[0] | {"odds": "13/3"}]},
         "else the first answer 30.0 of 100 times”, and there “coins that let the truth pass 62.5"),
        (EVERY_KIND, {"contact": "Somebody else"}, "Who asks here is “Harbour Workers' Union”, and"
         " there “Somebody else”."),
    ],
)  # fmt: skip
def test_another_survey_is_not_signed(
    modules: Modules, written: dict[str, Any], change: dict[str, Any], sentence: str
) -> None:
    swapped = pair(written) | {"definition": pair(written | change)["definition"]}

    (said,) = modules.compute(SIGNS, [swapped])

    assert sentence in said
