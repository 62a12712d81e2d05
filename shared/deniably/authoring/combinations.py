"""Keys of a question that do not go together, which no schema can say plainly.

A key that would change nothing is refused too: whoever wrote it expects that it does something.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from deniably.authoring.publishing import ALSO, choices_of
from deniably.core.errors import Problem

_Question = Mapping[str, Any]

_SAME_AS_COINS = ("subset_selection", "k_ary", "grr", "warner")
_MOVING = ("window", "exponential")
_OF_NUMBERS = (
    "is no number and would count as one; ask {} as select_one with ranges as choices (such as 0 to"
    " 9), or ask everybody and say in the hint that 0, or an end of the range, stands for it"
)
_INSTEAD = {
    "number": _OF_NUMBERS.format("it"),
    "vector": _OF_NUMBERS.format("each part"),
    "point": (
        "is no place; ask it as select_one with areas as choices, or ask everybody and say in the"
        " hint which place stands for it"
    ),
    "product": (
        "is no combination of the parts; give the parts that need it a choice of their own, such"
        " as Not applicable"
    ),
}
_DECIDING = ("yes_no", "select_one", "scale")


def unnatural(question: _Question, path: str) -> Iterator[Problem]:
    """What is wrong with one question whose parts are each as the schema has them."""
    yield from _with_coins(question, path)
    yield from _of_noise(question, path)
    if question["type"] == "scale":
        yield from _on_a_scale(question, path)
    count = len(question.get("parts", ())) or 2
    if question["type"] == "point" and count != 2:
        yield Problem(f"{path}.parts", f"a point has 2 parts and here are {count}")
    if question["type"] == "product" and count > 8:
        yield Problem(f"{path}.parts", f"a product has 2 to 8 parts and here are {count}")


def condition_problems(questions: Sequence[_Question]) -> Iterator[Problem]:
    """What is wrong with show_if: it names choices of an earlier question that can decide."""
    for index, question in enumerate(questions):
        if "show_if" not in question:
            continue
        condition, path = question["show_if"], f"$.questions[{index}].show_if"
        earlier = [
            one
            for one in questions[:index]
            if one["name"] == condition["question"] and one["type"] in _DECIDING
        ]
        if not earlier:
            why = "names no earlier yes_no, select_one or scale question"
            yield Problem(f"{path}.question", f"{condition['question']} {why}")
            continue
        names = [choice["name"] for choice in choices_of(earlier[0])]
        among = condition["is"]
        for name in [among] if isinstance(among, str) else among:
            if name not in names:
                allowed = ", ".join(names)
                yield Problem(
                    f"{path}.is", f"{name} is no choice of {condition['question']}: {allowed}"
                )


def why_no_more(kind: str, key: str) -> str:
    """Why a question that is no list of choices has no ``also`` or ``show_if``, and the mend."""
    what = "“Not applicable”" if key == "show_if" else "such an answer"
    return f"{kind} has no {key}: {what} {_INSTEAD[kind]}"


def _with_coins(question: _Question, path: str) -> Iterator[Problem]:
    name = question.get("mechanism")
    if "coins" not in question or name is None:
        return
    if "yes" in question["coins"] or name not in _SAME_AS_COINS:
        yield Problem(
            f"{path}.mechanism", "coins are a mechanism already; leave one of the two out"
        )


def _of_noise(question: _Question, path: str) -> Iterator[Problem]:
    name, kind = question.get("mechanism"), question["type"]
    if "beyond" in question and kind == "number" and name != "bounded_laplace":
        yield Problem(f"{path}.beyond", "beyond is for mechanism: bounded_laplace alone")
    if "delta" in question and kind in ("number", "vector"):
        # A vector that names no mechanism is asked by Gaussian noise if that is the best.
        if name != "gaussian" and not (kind == "vector" and name is None):
            yield Problem(f"{path}.delta", "delta is for mechanism: gaussian alone")
    elif name == "gaussian" and kind in ("number", "vector"):
        yield Problem(f"{path}.mechanism", "gaussian needs a delta, such as delta: 0.00001")


def _on_a_scale(question: _Question, path: str) -> Iterator[Problem]:
    choices, name = question.get("choices", ()), question.get("mechanism")
    scores = question.get("scores")
    if scores is not None and len(scores) != len(choices):
        yield Problem(
            f"{path}.scores",
            f"scores has {len(scores)} integers for {len(choices)} choices; it needs one for each"
            " (what also adds has none)",
        )
    unplaced = [one["label"] for one in choices_of(question) if one["name"] in ALSO]
    if not unplaced:
        return
    key = next((key for key in ("also", "show_if") if key in question), "choices")
    these = f"{', '.join(unplaced)}: no place on a scale"
    if question.get("aim") == "mean":
        mend = "with aim: distribution the mean is that of the others"
        yield Problem(f"{path}.{key}", f"{these}; {mend}")
    elif name in _MOVING:
        mend = "write mechanism: subset_selection, or leave it out"
        yield Problem(f"{path}.mechanism", f"{these}, as {name} needs; {mend}")
