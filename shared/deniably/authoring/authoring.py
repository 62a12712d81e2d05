"""From what an author writes (YAML or JSON) to the published definition.

Needs the extra ``author`` (PyYAML, jsonschema). Every problem of a definition is reported
at once, each with its path, what is wrong and what is allowed. The schema vouches for the shape
of every part; here is what a schema cannot say, and the choice of mechanisms.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from typing import Any, NoReturn, cast

from deniably.authoring.combinations import condition_problems, unnatural, why_no_more
from deniably.authoring.documents import LONGEST_NUMBER
from deniably.authoring.documents import load as load
from deniably.authoring.panels import (
    FLAGGED,
    TOLD,
    asked_afresh,
    recognition_note,
    recognition_problem,
    remembering,
    usual_history,
    wave_problems,
)
from deniably.authoring.publishing import (
    choices_of,
    cost_of_waves,
    measure,
    mechanism_of,
    published,
    sizes_together,
    slug,
    together_question,
)
from deniably.authoring.schema import schema as schema
from deniably.authoring.schema import schema_problems
from deniably.authoring.shape import hidden_shapes
from deniably.core.errors import BadSurvey, Problem
from deniably.design import budgeting
from deniably.design.recognition import PEOPLE, Asked, recognised
from deniably.mechanisms import Mechanism
from deniably.mechanisms.subset_selection import two_coin_odds
from deniably.survey.parts import FIELD_NAME, odds_allowed
from deniably.survey.privacy import Privacy
from deniably.survey.steering import steering_problems
from deniably.survey.survey import SPEC, Survey, as_survey
from deniably.wording.words import LANGUAGES, Words

__all__ = ["compile_survey", "compile_with_notes", "load", "publish_text", "schema", "slug"]

_Question = Mapping[str, Any]

PRIVACY = ("epsilon", "odds", "coins")
_NONE = {
    "none",
    "none of the above",
    "none of them",
    *(Words(language)("question.none").casefold() for language in LANGUAGES),
}
"""How the form calls it, and an author might, when nothing is ticked."""
_DEFAULTS: dict[str, Any] = {"language": "en"}
_RESULTS: dict[str, object] = {"minimum": 100, "while_open": False}

_EVERY = {"name", "type", "label", "hint", "mechanism", *PRIVACY}
_KEYS: dict[str, set[str]] = {
    "yes_no": {"also", "show_if", "choices"},
    "select_one": {"also", "show_if", "choices"},
    "select_multiple": {"also", "show_if", "choices", "most"},
    "scale": {"also", "show_if", "choices", "aim", "scores"},
    "number": {"minimum", "maximum", "step", "unit", "aim", "buckets", "beyond", "delta"},
    "vector": {"parts", "delta"},
    "point": {"parts", "grid"},
    "product": {"parts"},
}
_NEEDS = {
    "select_one": {"choices": "select_one needs choices, a list of 2 to 1024"},
    "select_multiple": {"choices": "select_multiple needs choices, a list of 2 to 1024"},
    "scale": {"choices": "scale needs choices, a list of 2 to 1024 in their order"},
    "number": {
        "minimum": "number needs a minimum: numbers below it count as the minimum",
        "maximum": "number needs a maximum: numbers above it count as the maximum",
    },
    "vector": {"parts": "vector needs parts, each with name, label, minimum and maximum"},
    "point": {"parts": "point needs two parts, each with name, label, minimum and maximum"},
    "product": {"parts": "product needs parts, each with name, label and choices"},
}


def publish_text(text: str | bytes) -> Survey:
    """The published definition of an author's YAML or JSON text. Raises BadSurvey."""
    return compile_survey(load(text))


def compile_survey(document: object) -> Survey:
    """The published definition of an author's document (as ``load`` returns it).

    Raises BadSurvey with every problem found.
    """
    return compile_with_notes(document)[0]


def compile_with_notes(document: object) -> tuple[Survey, list[str]]:
    """The same, with a sentence on each choice that was made for the author."""
    found = [*schema_problems(document), *steering_problems(document)]
    if problems := list(dict.fromkeys(found)):
        raise BadSurvey(problems)
    # The schema has vouched for the shape of every part.
    written = dict(cast(dict[str, Any], document))
    questions = cast(list[_Question], written["questions"])
    budget = cast("dict[str, Any] | None", written.pop("budget", None))
    problems = [
        problem
        for index, question in enumerate(questions)
        for problem in _question_problems(question, f"$.questions[{index}]", budget is not None)
    ]
    problems += _repeated(questions, "$.questions", "question")
    problems += condition_problems(questions)
    if written.get("invited") is False:  # as if nothing were said of it
        del written["invited"]
    waves = cast("dict[str, Any] | None", written.pop("waves", None))
    if waves:
        problems += dict.fromkeys(wave_problems({"budget": budget, "waves": waves}, questions))
        afresh = asked_afresh(waves)
        questions = [remembering(question, afresh=afresh) for question in questions]
    if problems:
        raise BadSurvey(problems)
    notes: list[str] = []
    words = Words(written.get("language", _DEFAULTS["language"]))
    ask: dict[str, object] = {}
    privacies = [None if budget else _privacy(question) for question in questions]
    if budget:
        plan = _spend(budget, questions, everybody=waves is not None)
        notes.append(plan.note)
        if plan.product:
            questions = [together_question(questions, words)]
        if plan.ask is not None:
            ask = {"ask": plan.ask}
        privacies = [Privacy(epsilon=plan.epsilon, delta=_delta(one)) for one in questions]
    history = None
    if waves and not asked_afresh(waves):
        history, said = _history(waves, questions, [one for one in privacies if one])
        notes += said
    made: list[Mapping[str, object]] = []
    for index, (question, privacy) in enumerate(zip(questions, privacies, strict=True)):
        assert privacy is not None
        try:
            made.append(published(question, privacy, history, words))
        except ValueError as error:
            problems.append(Problem(f"$.questions[{index}]", str(error)))
    if problems:
        raise BadSurvey(problems)
    definition = (
        _DEFAULTS
        | written
        | ask
        | {
            "spec": SPEC,
            "results": _RESULTS | written.get("results", {}),
            "questions": made,
        }
    )
    if waves:
        survey, note = _wave(definition, waves)
        notes += [*_costs(written["questions"], survey, privacies), note]
    else:
        survey = as_survey(definition)
    if survey.asked == 1 < len(survey.questions):
        notes.append(
            "a device answers one question, so there will be no cross-tables; for those write"
            " spend: split, or ask for two questions at least, or ask a product question"
        )
    return survey, [*notes, *_language_note(survey.language), *hidden_shapes(survey)]


def _language_note(language: str) -> list[str]:
    """A note where the form does not speak the survey's language."""
    if language.lower().split("-")[0] in LANGUAGES:
        return []
    near = [code for code in LANGUAGES if language.lower().startswith(code)]
    meant = f" (did you mean {near[0]}?)" if near else ""
    return [
        f"language {language}{meant}: the form does not speak it, so its buttons and explanations"
        f" will be in English around your questions; it speaks {', '.join(LANGUAGES)}"
    ]


def _wave(definition: dict[str, Any], waves: Mapping[str, Any]) -> tuple[Survey, str]:
    """The definition of one wave, which says how many people could be recognised; and a note on
    that. Raises BadSurvey where they are many and the author has not asked for it."""
    stated: dict[str, object] = {"panel": waves["panel"]}
    if asked_afresh(waves):
        stated["count"] = waves["count"]
    survey = as_survey(definition | {"waves": stated})
    share = recognised(cast(Asked, question.mechanism) for question in survey.questions)
    people = round(share * PEOPLE)
    if people >= FLAGGED and not waves.get("recognisable"):
        raise BadSurvey([recognition_problem(people)])
    if people >= TOLD:
        survey = as_survey(definition | {"waves": stated | {"recognised": people}})
    return survey, recognition_note(people)


def _costs(
    questions: Sequence[_Question], survey: Survey, privacies: Sequence[Privacy | None]
) -> list[str]:
    """A note on the questions that waves make less accurate."""
    dear: list[str] = []
    for written, question, privacy in zip(questions, survey.questions, privacies, strict=True):
        assert privacy is not None
        times = 1.0 if survey.count else cost_of_waves(written, question, privacy)
        if times >= _DEAR:
            dear.append(f"{question.name} {times:.2f} times")
    if not dear:
        return []
    return [
        "For the same accuracy one wave takes more people than a survey without waves:"
        f" {', '.join(dear)}. A kept answer stands only before windows, reports of fewer choices or"
        " neighbours, and one number of several ticks. A longer history may give some of that"
        " back, a count of waves all of it."
    ]


_DEAR = 1.05


def _history(
    waves: Mapping[str, Any], questions: Sequence[_Question], privacies: Sequence[Privacy]
) -> tuple[Fraction, list[str]]:
    """How many times the epsilon of one wave all may give away, and a note where it was chosen for
    the author."""
    if "history" in waves:
        return _fraction(waves["history"]), []
    asked: list[tuple[Mechanism, Privacy]] = []
    for question, privacy in zip(questions, privacies, strict=True):
        with suppress(ValueError):  # is refused, with its path, when the question is published
            asked.append((mechanism_of(question, privacy), privacy))
    history, note = usual_history(asked)
    return history, [note]


# --- the budget -------------------------------------------------------------------------------


def _spend(
    budget: Mapping[str, Any], questions: Sequence[_Question], *, everybody: bool
) -> budgeting.Plan:
    """How the survey's epsilon is spent, where wanted with ``everybody`` asked every question.
    Raises BadSurvey."""
    epsilon, count, ask = _fraction(budget["epsilon"]), len(questions), budget.get("ask")
    how = budget.get("spend", "auto" if ask is None else "sample")
    can_sample = count > 1 and not any("show_if" in question for question in questions)
    can_sample &= not everybody
    if ask is not None and how != "sample":
        _refuse("$.budget.ask", f"ask goes with spend: sample, and here it is {how}")
    if how == "sample" and not can_sample:
        why = "sampling needs two or more questions and no show_if: write spend: split"
        _refuse("$.budget", why)
    if ask is not None and ask >= count:
        _refuse("$.budget.ask", "ask is less than the number of questions, or write spend: split")

    def variance(privacy: Privacy) -> float:
        return sum(
            _measured(question, f"$.questions[{index}]", privacy)
            for index, question in enumerate(questions)
        ) / len(questions)

    plans: list[budgeting.Plan] = []
    refused: list[ValueError] = []
    if how in ("split", "auto"):
        try:
            plans.append(budgeting.split(epsilon, count, variance))
        except ValueError as error:
            refused.append(error)
    if how == "sample" or (how == "auto" and can_sample):
        try:
            plans.append(budgeting.sample(epsilon, count, variance, ask))
        except ValueError as error:
            refused.append(error)
    sizes = sizes_together(questions) if how == "auto" else []
    if sizes and (joint := budgeting.together(epsilon, sizes)):
        plans.append(joint)
    if not plans:
        last = refused[-1]
        raise last if isinstance(last, BadSurvey) else BadSurvey([Problem("$.budget", str(last))])
    return budgeting.best(plans) if how == "auto" else plans[0]


def _measured(question: _Question, path: str, privacy: Privacy) -> float:
    """How accurate the question would be. Raises BadSurvey where it cannot be asked so."""
    try:
        return measure(question, Privacy(epsilon=privacy.epsilon, delta=_delta(question)))
    except ValueError as error:
        raise BadSurvey([Problem(path, str(error))]) from None


def _refuse(path: str, why: str) -> NoReturn:
    raise BadSurvey([Problem(path, why)])


# --- one question -----------------------------------------------------------------------------


def _privacy(question: _Question) -> Privacy:
    """What the question promises."""
    if "epsilon" in question:
        return Privacy(epsilon=_fraction(question["epsilon"]), delta=_delta(question))
    if "odds" in question:
        return Privacy(odds=_fraction(question["odds"]))
    coins = question["coins"]
    if "yes" in coins and _fraction(coins["yes"]) != Fraction(1, 2):
        from deniably.design.choosing import two_coins

        channel = two_coins(_fraction(coins["truth"]), _fraction(coins["yes"]))
        return Privacy(odds=channel.loss.odds)
    return Privacy(odds=two_coin_odds(_fraction(coins["truth"]), len(choices_of(question))))


def _delta(question: _Question) -> Fraction | None:
    return _fraction(question["delta"]) if "delta" in question else None


def _question_problems(question: _Question, path: str, budgeted: bool) -> Iterator[Problem]:
    kind = question["type"]
    given = [key for key in PRIVACY if key in question]
    if budgeted and given:
        yield Problem(f"{path}.{given[0]}", "the survey's budget is spent already; leave this out")
    elif not budgeted and len(given) != 1:
        found = "none is given" if not given else "given are " + " and ".join(given)
        yield Problem(path, f"state the privacy once, as epsilon, odds or coins; {found}")
    if kind == "yes_no" and "choices" in question:
        yield Problem(f"{path}.choices", "yes_no has the choices Yes and No; leave choices out")
    for key in question:
        if key in ("also", "show_if") and key not in _KEYS[kind]:
            yield Problem(f"{path}.{key}", why_no_more(kind, key))
        elif key not in _EVERY | _KEYS[kind]:
            allowed = ", ".join(sorted(_KEYS[kind]))
            yield Problem(f"{path}.{key}", f"{kind} has no {key}; it may have {allowed}")
    for key, why in _NEEDS.get(kind, {}).items():
        if key not in question:
            yield Problem(path, why)
    if kind in ("yes_no", "select_one", "select_multiple", "scale"):
        yield from _choice_problems(question, path)
    if kind == "product":
        for index, part in enumerate(question.get("parts", ())):
            yield from _choice_problems(part, f"{path}.parts[{index}]")
    yield from _part_problems(question, path)
    yield from unnatural(question, path)
    if len(given) == 1 and not budgeted and (kind not in _NEEDS or _complete(question)):
        yield from _privacy_problems(question, given[0], path)


def _complete(question: _Question) -> bool:
    return all(key in question for key in _NEEDS.get(question["type"], ()))


def _choice_problems(question: _Question, path: str) -> Iterator[Problem]:
    choices = choices_of(question)
    for index, choice in enumerate(choices):
        if not re.fullmatch(FIELD_NAME, choice["name"]):
            yield Problem(
                f"{path}.choices[{index}]",
                "no name can be made of this text; write {name: ..., label: ...}",
            )
    yield from _repeated(choices, f"{path}.choices", "choice")
    if question.get("type") == "select_multiple":
        for index, choice in enumerate(choices):
            if choice["label"].casefold().strip(" .…!") in _NONE:
                yield Problem(
                    f"{path}.choices[{index}]",
                    "whoever ticks nothing says this already: the form has a line for it; leave it"
                    " out",
                )


def _part_problems(question: _Question, path: str) -> Iterator[Problem]:
    parts = question.get("parts", ())
    if parts:
        yield from _repeated(parts, f"{path}.parts", "part")
    numbers = question["type"] in ("vector", "point")
    for index, part in enumerate(parts):
        for key in ("minimum", "maximum") if numbers else ("choices",):
            if key not in part:
                yield Problem(f"{path}.parts[{index}]", f"the key {key} is missing")
        for key in part:
            if key not in (
                {"name", "label", "minimum", "maximum", "step", "unit"}
                if numbers
                else {"name", "label", "choices"}
            ):
                yield Problem(f"{path}.parts[{index}].{key}", f"a part here has no {key}")


def _privacy_problems(question: _Question, key: str, path: str) -> Iterator[Problem]:
    place = f"{path}.coins.truth" if key == "coins" else f"{path}.{key}"
    values = question["coins"].values() if key == "coins" else [question[key]]
    if any(len(str(value)) > LONGEST_NUMBER for value in values):
        yield Problem(place, f"write the number with at most {LONGEST_NUMBER} characters")
        return
    if key == "coins" and question["type"] not in ("yes_no", "select_one"):
        yield Problem(f"{path}.coins", "coins are for yes_no and select_one")
        return
    if key == "coins" and "yes" in question["coins"] and len(choices_of(question)) != 2:
        yield Problem(f"{path}.coins.yes", "the second coin's yes is for two choices")
        return
    try:
        privacy = _privacy(question)
        if privacy.odds is not None and not odds_allowed(privacy.odds):
            # Their float would be rounded; the exact value can be huge, so name the bounds only.
            yield Problem(
                place,
                "this gives odds outside what surveys can use: from about 1.0101 (epsilon 0.01) "
                "to about 22026 (epsilon 10)",
            )
    except (ValueError, ZeroDivisionError) as error:
        yield Problem(place, str(error))


def _repeated(items: Sequence[_Question], path: str, noun: str) -> Iterator[Problem]:
    for key in ("name", "label"):
        first: dict[str, int] = {}
        for index, item in enumerate(items):
            earlier = first.setdefault(item[key], index)
            if earlier != index and not (key == "label" and noun == "question"):
                yield Problem(
                    f"{path}[{index}].{key}",
                    f"the same {key} as {path}[{earlier}]; every {noun} needs its own",
                )


def _fraction(value: object) -> Fraction:
    """An exact number: of 0.1 one tenth, not the nearest double. Raises ValueError."""
    return Fraction(str(value))
