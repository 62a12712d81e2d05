"""Checks published definitions, and adds up what they may give away (SPEC 4)."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from itertools import pairwise
from typing import Any

from deniably.reference.canonical import digest
from deniably.reference.claims import check_promise
from deniably.reference.losses import added, largest, loss
from deniably.reference.mixers import MEMBERS, check_mixer
from deniably.reference.parameters import check
from deniably.reference.refusal import Invalid, require
from deniably.reference.strata import check_strata
from deniably.reference.values import Json, Loss, Mechanism, Question
from deniably.reference.waves import check_memoised, history, memoised_loss

NAME = r"[A-Za-z_][A-Za-z0-9_.-]{0,63}"
ONE_ANSWER = ("subset_selection", "channel", "unary")
"""The mechanisms that SPEC 4.1 calls A."""
MECHANISMS = {
    "yes_no": ONE_ANSWER,
    "select_one": ONE_ANSWER,
    "select_multiple": ("set_response", "sampled_ticks", "unary"),
    "scale": (*ONE_ANSWER, "window", "bounded_laplace"),
    "number": (
        "window", "channel", "laplace", "bounded_laplace", "gaussian", "subset_selection",
    ),
    "vector": ("vector", "gaussian"),
    "point": ("subset_selection",),
    "product": ("subset_selection",),
}  # fmt: skip
"""The mechanisms that each type of question may have."""
ONE_CHOICE = ("yes_no", "select_one", "scale")
"""The types of question whose answer is one of a list of choices."""
STEERING = {
    *range(0x09), 0x0B, 0x0C, *range(0x0D, 0x20), *range(0x7F, 0xA0),
    *range(0x202A, 0x202F), *range(0x2066, 0x206A),
}  # fmt: skip
"""Code points of characters that control a screen or the direction of a text (SPEC 4)."""
ALSO = {
    "yes_no": (("choices",), ()),
    "select_one": (("choices",), ("show_if",)),
    "select_multiple": (("choices", "most"), ("show_if",)),
    "scale": (("choices", "aim"), ("scores", "show_if")),
    "number": (("range", "aim"), ()),
    "vector": (("parts",), ()),
    "point": (("parts", "grid"), ("outline",)),
    "product": (("parts",), ()),
}
"""The keys that only some types of question have: (needed, optional)."""


LINE_BREAKS = {0x0A, 0x0D, 0x2028, 0x2029}
"""Code points that break a line. A text on one line has none of them."""


FREE_TEXT = (
    "text", "string", "str", "note", "comment", "open", "sentence", "essay", "paragraph",
    "freetext", "opentext", "longtext", "shorttext", "openended", "openquestion", "textarea",
    "textbox",
)  # fmt: skip
"""The types under which free text might be asked for, in small letters and without separators."""


class FreeText(Invalid):
    """Raised for a question that asks for free text, which no mechanism can randomise."""


def keys(value: Json, needed: tuple[str, ...], optional: tuple[str, ...] = ()) -> None:
    """Raises Invalid unless ``value`` is an object with all ``needed`` keys and no others but
    ``optional`` ones."""
    require(type(value) is dict, "an object is needed")
    for key in value:
        require(key in needed or key in optional, "an unknown key")
    for key in needed:
        require(key in value, f"the key {key} is missing")


def named(items: list[dict[str, Any]], pattern: str = NAME) -> None:
    """Raises Invalid unless the items have names that match the ``pattern``, each a different
    one."""
    for item in items:
        require(type(item["name"]) is str and re.fullmatch(pattern, item["name"]), "a bad name")
    require(len({item["name"] for item in items}) == len(items), "a name is used twice")


def texts(value: Json, *names: str) -> None:
    """Raises Invalid unless each of the named texts is on one line and has no control characters.

    A text that is missing is allowed.
    """
    prose(value, *names)
    for name in names:
        breaks = any(ord(char) in LINE_BREAKS for char in value.get(name, ""))
        require(not breaks, f"{name} is on one line")


def prose(value: Json, *names: str) -> None:
    """Raises Invalid unless the named texts have no control characters but line breaks and tabs.

    A text that is missing is allowed.
    """
    for name in names:
        text = value.get(name, "")
        require(type(text) is str, f"{name} is a text")
        for place, char in enumerate(text):
            steers = ord(char) in STEERING and text[place : place + 2] != "\r\n"
            require(not steers, f"{name} has a character that is not read")


def check_choices(choices: Json) -> None:
    """Raises Invalid unless ``choices`` is a list of 2 to 1024 choices with different names."""
    require(type(choices) is list and 2 <= len(choices) <= 1024, "2 to 1024 choices")
    for choice in choices:
        keys(choice, ("name", "label"))
        texts(choice, "label")
    named(choices)


# --- ranges ---


def number(text: Json) -> Fraction:
    """Returns the value of a decimal of a range (SPEC 4.1). Raises Invalid for another spelling."""
    require(type(text) is str and len(text) <= 40 and text != "-0", "a decimal is a text")
    require(re.fullmatch(r"-?(0|[1-9][0-9]*)(\.[0-9]*[1-9])?", text), "a plain decimal")
    return Fraction(text)


def check_range(value: Json) -> None:
    """Raises Invalid unless ``value`` is a range with 1 to 2^20 whole steps."""
    keys(value, ("minimum", "maximum", "step"), ("unit",))
    texts(value, "unit")
    low, high, step = (number(value[key]) for key in ("minimum", "maximum", "step"))
    require(step > 0, "the step is above 0")
    steps = (high - low) / step
    require(steps.denominator == 1 and 1 <= steps <= 2**20, "1 to 2^20 whole steps")


def size(value: Json) -> int:
    """Returns the number of positions of a range, which is one more than its steps."""
    low, high, step = (number(value[key]) for key in ("minimum", "maximum", "step"))
    return int((high - low) / step) + 1


def cell(value: Json, x: Fraction, k: int) -> int:
    """Returns the number of the cell that ``x`` falls into, if a range is cut into ``k`` cells.

    An ``x`` outside the range falls into the cell at the nearer end.
    """
    low, step, n = number(value["minimum"]), number(value["step"]), size(value) - 1
    position = min(max(math.floor((x - low) / step + Fraction(1, 2)), 0), n)
    return position * k // (n + 1)


# --- questions ---


def check_question(question: Question, earlier: list[dict[str, Any]]) -> None:
    """Raises Invalid unless the question is valid, given the ``earlier`` questions of the survey.

    Raises FreeText if it asks for free text.
    """
    require(type(question) is dict, "a question is an object")
    kind: Json = question.get("type")
    require(type(kind) is str, "a type is a text")
    # Before the check of the type, which would refuse free text without its own reason.
    if "".join(char for char in kind.lower() if char not in " _-") in FREE_TEXT:
        raise FreeText("free text")
    require(kind in MECHANISMS, "an unknown type of question")
    needed, optional = ALSO[kind]
    keys(
        question,
        ("name", "type", "label", "claim", "mechanism", *needed),
        ("hint", "short", *optional),
    )
    texts(question, "label", "hint", "short")
    m, asked_again = question["mechanism"], memoised(question)
    if asked_again:
        check_memoised(m)
        # What must fit the type of question is what one report looks like, and that is decided by
        # `once`.
        m = m["once"]
    require(type(m) is dict and m.get("name") in MECHANISMS[kind], "no mechanism of this type")
    check(m)
    if "choices" in needed:
        check_choices(question["choices"])
        names = [choice["name"] for choice in question["choices"]]
        require(kind != "yes_no" or names == ["yes", "no"], "yes_no has the choices yes, no")
        require(m["k"] == len(names), "k is the number of choices")
        if m["name"] == "channel" and question.get("aim") != "mean":
            require(len(m["weights"]) == len(names), "one row a choice")
        if m["name"] == "unary" and kind != "select_multiple":
            require(m["most"] == 1, "unary for one answer has most 1")
    if kind == "select_multiple":
        maximum = question["most"]
        require(type(maximum) is int and 1 <= maximum <= m["k"], "most is from 1 to k")
        # `sampled_ticks` takes any number of ticks and has no `most`.
        require(m["name"] == "sampled_ticks" or m["most"] == maximum, "the same most")
    if "aim" in needed:
        require(question["aim"] in ("distribution", "mean"), "distribution or mean")
    if "scores" in question:
        check_scores(question["scores"], len(question["choices"]), question["aim"])
    if kind == "number":
        check_range(question["range"])
        fits(question["range"], m["k"], question["aim"] == "mean")
        require(m["name"] != "gaussian" or m["d"] == 1, "d is 1")
    if kind in ("vector", "point"):
        check_number_parts(question, kind, m)
    if kind == "product":
        check_small_parts(question, m)
    if "show_if" in question:
        check_condition(question, earlier)
    check_promises(question, m, asked_again)


def check_scores(scores: list[int], count: int, aim: str) -> None:
    """Raises Invalid unless the scores of a scale with ``count`` choices are strictly ascending
    integers, equally spaced where the ``aim`` is "mean"."""
    require(type(scores) is list and len(scores) == count, "one score a choice")
    require(
        all(type(score) is int and abs(score) < 2**31 for score in scores), "integers below 2^31"
    )
    gaps = {b - a for a, b in pairwise(scores)}
    require(min(gaps) >= 1, "strictly ascending")
    require(aim == "distribution" or len(gaps) == 1, "equally spaced")


def fits(value: Json, k: int, exactly: bool) -> None:
    """Raises Invalid if ``k`` is larger than the number of positions of a range.

    With ``exactly``, ``k`` has to be equal to that number.
    """
    require(k == size(value) if exactly else k <= size(value), "k fits the positions")


def check_number_parts(question: Question, kind: str, m: Mechanism) -> None:
    """Raises Invalid unless the parts of a vector or a point are valid and fit its mechanism
    ``m``."""
    parts = question["parts"]
    maximum = 2 if kind == "point" else 64
    require(type(parts) is list and 2 <= len(parts) <= maximum, "2 to 64 parts, of a point 2")
    for part in parts:
        keys(part, ("name", "label", "range"))
        texts(part, "label")
        check_range(part["range"])
    named(parts)
    if kind == "point":
        grid = question["grid"]
        require(type(grid) is int and 2 <= grid <= 32, "grid is from 2 to 32")
        require(m["k"] == grid**2, "k is grid * grid")
        for part in parts:
            fits(part["range"], grid, False)
        if "outline" in question:
            check_outline(question["outline"])
        return
    ks = [m["k"]] * m["d"] if m["name"] == "gaussian" else [part["k"] for part in m["parts"]]
    require(len(ks) == len(parts), "one mechanism a part")
    for part, k in zip(parts, ks, strict=True):
        fits(part["range"], k, True)


def check_outline(value: Json) -> None:
    """Raises Invalid unless ``value`` is the outline of a map, in the form of SPEC 4.1."""
    require(type(value) is str and len(value) <= 5000, "an outline is a text of at most 5000")
    require(value.startswith("M"), "an outline begins with a line")
    for line in value[1:].split("M"):
        numbers = line.split(" ")
        require(len(numbers) >= 4 and len(numbers) % 2 == 0, "a line has two points or more")
        for number in numbers:
            require(re.fullmatch("0|[1-9][0-9]{0,3}", number), "whole numbers")
            require(int(number) <= 1000, "0 to 1000")


def check_small_parts(question: Question, m: Mechanism) -> None:
    """Raises Invalid unless the parts of a product question are valid and fit its mechanism ``m``.

    The ``k`` of the mechanism has to be the number of combinations of the parts' choices.
    """
    parts = question["parts"]
    require(type(parts) is list and 2 <= len(parts) <= 8, "2 to 8 parts")
    for part in parts:
        keys(part, ("name", "label", "choices"))
        texts(part, "label")
        check_choices(part["choices"])
    named(parts)
    count = math.prod(len(part["choices"]) for part in parts)
    require(m["k"] == count, "k is the number of combinations")


def check_condition(question: Question, earlier: list[dict[str, Any]]) -> None:
    """Raises Invalid unless the question's ``show_if`` names choices of one of the ``earlier``
    questions (SPEC 4.2)."""
    condition = question["show_if"]
    keys(condition, ("question", "is"))
    require(type(condition["is"]) is list and condition["is"], "one or more choices")
    require(all(type(name) is str for name in condition["is"]), "names of choices")
    names = [choice["name"] for choice in question["choices"]]
    require("not_applicable" in names, "has not_applicable")
    deciding = [question for question in earlier if question["name"] == condition["question"]]
    require(deciding, "an earlier question")
    require(deciding[0]["type"] in ONE_CHOICE, "with one answer")
    theirs = [choice["name"] for choice in deciding[0]["choices"]]
    require(all(name in theirs for name in condition["is"]), "its choices")


def memoised(question: Question) -> bool:
    """Returns whether the question's mechanism is ``memoised``."""
    m = question["mechanism"]
    return type(m) is dict and m.get("name") == "memoised"


def check_promises(question: Question, m: Mechanism, asked_again: bool) -> None:
    """Raises Invalid if a question's privacy loss is larger than the question claims.

    ``m`` is the mechanism of a single report. With ``asked_again``, the mechanism has a memo (a
    permanently randomised answer). Then the loss of one wave and the loss of all waves are both
    compared with the claim.
    """
    claim = question["claim"]
    require(type(claim) is dict, "a claim is an object")
    require(("history" in claim) == asked_again, "a history is claimed where a memo is kept")
    if not asked_again:
        check_promise(claim, loss(m))
        return
    once = {key: value for key, value in claim.items() if key != "history"}
    check_promise(once, memoised_loss(question["mechanism"]))
    require(type(claim["history"]) is dict, "a claim is an object")
    require("delta" not in claim and "delta" not in claim["history"], "no delta beside a history")
    require(("odds" in once) == ("odds" in claim["history"]), "a history of the same kind")
    check_promise(claim["history"], history(question["mechanism"]))


def check_definition(value: Json) -> str:
    """Returns the digest of a definition.

    Raises Invalid if the definition is not valid, and FreeText if a question asks for free text.
    """
    needed = ("spec", "name", "title", "language", "results", "questions")
    keys(value, needed, ("intro", "contact", "ask", "waves", "invited", "part", "strata", "mixer"))
    require(type(value["spec"]) is int and value["spec"] == 1, "spec is 1")
    named([value], r"[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?")
    texts(value, "title", "language")
    prose(value, "intro", "contact")
    keys(value["results"], ("minimum", "while_open"), ("to", "reports"))
    minimum = value["results"]["minimum"]
    require(type(minimum) is int and minimum >= 1, "results.minimum is at least 1")
    require(type(value["results"]["while_open"]) is bool, "while_open is true or false")
    require(value["results"].get("to", "analysts") == "analysts", "to is analysts or absent")
    reports = value["results"].get("reports", "never")
    require(reports in ("public", "never"), "reports is public, never or absent")
    require(reports != "public" or "to" not in value["results"], "no to where reports are public")
    questions = value["questions"]
    require(type(questions) is list and 1 <= len(questions) <= 100, "1 to 100 questions")
    for index, question in enumerate(questions):
        check_question(question, questions[:index])
    named(questions)
    if "ask" in value:
        require(type(value["ask"]) is int, "ask is an integer")
        require(1 <= value["ask"] < len(questions), "ask is from 1 to all but one")
        require(all("show_if" not in question for question in questions), "no show_if with ask")
    check_waves(value)
    require(value.get("invited", True) is True, "invited is true, or is not there")
    if "part" in value:
        require(value["part"] is True, "part is true, or is not there")
        require("waves" not in value, "no part with waves")
        require(all("show_if" not in question for question in questions), "no part with show_if")
        require(value.get("ask", len(questions)) >= 2, "one question has no part")
    if "strata" in value:
        check_strata(value["strata"])
    if "mixer" in value:
        keys(value["mixer"], MEMBERS)
        texts(value["mixer"], "by")
        check_mixer(value)
    return digest(value)


WAVES = (
    ("count", 2, 100), ("waves", 2, 100), ("people", 2, 1_000_000), ("recognised", 10, 1000)
)  # fmt: skip
"""The integers of ``waves``: (key, smallest value, largest value)."""


def check_waves(value: Json) -> None:
    """Raises Invalid unless the ``waves`` of a definition are valid, and fit the mechanisms (SPEC
    4.4).

    All mechanisms must be ``memoised`` if the definition has waves without a ``count``; otherwise
    none may be.
    """
    repeated = "waves" in value
    if repeated:
        keys(value["waves"], ("panel",), tuple(name for name, *_ in WAVES))
        for name, least, highest in WAVES:
            stated = value["waves"].get(name, least)
            require(
                type(stated) is int and least <= stated <= highest,
                f"{name} is {least} to {highest}",
            )
        require(not {"count", "waves"} <= value["waves"].keys(), "count or waves, not both")
        named([{"name": value["waves"]["panel"]}], r"[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?")
        require("ask" not in value, "no ask with waves")
    for question in value["questions"]:
        keeps = repeated and "count" not in value["waves"]
        require(memoised(question) == keeps, "memoised with waves and no count, and not without")
        require(not repeated or "show_if" not in question, "no show_if with waves")


def total(value: Json) -> Loss:
    """Returns the total loss of one survey, or of one wave (SPEC 2.2)."""
    losses = [
        memoised_loss(question["mechanism"]) if memoised(question) else loss(question["mechanism"])
        for question in value["questions"]
    ]
    return largest(losses, value["ask"]) if "ask" in value else added(losses)


def whole_history(value: Json) -> Loss:
    """Returns the loss of all waves together (SPEC 4.4), or of the one survey if there are none."""
    if "waves" not in value:
        return total(value)
    if "count" in value["waves"]:
        return added([total(value)] * value["waves"]["count"])
    return added([history(question["mechanism"]) for question in value["questions"]])
