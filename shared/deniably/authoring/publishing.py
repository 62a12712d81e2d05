"""One question as an author writes it, as SPEC 4 has it: every type, with its mechanism.

Needs the extra ``author``. The shapes were checked before; what cannot be published is a
ValueError with the mend.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import prod
from typing import Any, cast

import msgspec

from deniably.authoring.panels import with_memo
from deniably.design.budgeting import SHARE
from deniably.design.choosing import (
    cdf_variance,
    for_choice,
    for_distribution,
    for_mean,
    for_ticks,
    for_vector,
    two_coins,
    vector_variance,
)
from deniably.estimation.channels import matrix
from deniably.estimation.variances import mean_variance, share_variance
from deniably.mechanisms import (
    BoundedLaplace,
    Channel,
    Gaussian,
    Laplace,
    Mechanism,
    SampledTicks,
    SetResponse,
    SubsetSelection,
    Unary,
    Vector,
    Window,
)
from deniably.mechanisms.subset_selection import MOST_CHOICES, subset_selection
from deniably.survey.parts import Range
from deniably.survey.privacy import Privacy, plain
from deniably.survey.questions import (
    NOT_APPLICABLE,
    YES_NO,
    Number,
    Point,
    Question,
    Scale,
    SelectOne,
    VectorOfNumbers,
    YesNo,
)
from deniably.wording.words import ENGLISH, Words

_Question = Mapping[str, Any]

ALSO = {
    "dont_know": "choice.dont_know",
    "prefer_not_to_say": "choice.prefer_not_to_say",
    NOT_APPLICABLE: "choice.not_applicable",
}
"""Ordinary categories that an author can add by name, with the keys of their labels."""

BUCKETS = 32

_AUTHORS_ALONE = {
    "epsilon", "odds", "coins", "also", "beyond", "buckets", "delta", "mechanism",
    "minimum", "maximum", "step", "unit",
}  # fmt: skip


def published(
    question: _Question,
    privacy: Privacy,
    history: Fraction | None = None,
    words: Words = ENGLISH,
) -> Mapping[str, object]:
    """The question as it is published, with one claim and the mechanism that keeps it.

    In a survey with waves ``history`` says how many times the epsilon all of them may give away.
    ``words`` label the choices that an author adds by name, in the survey's language.
    """
    shown = {key: value for key, value in question.items() if key not in _AUTHORS_ALONE}
    mechanism = mechanism_of(question, privacy)
    shown["mechanism"] = msgspec.to_builtins(mechanism)
    claim: dict[str, object] = {**privacy.claim}
    if not isinstance(mechanism, Gaussian):
        claim.pop("delta", None)
    if history is not None:
        keeping, claim["history"] = with_memo(mechanism, privacy, history)
        shown["mechanism"] = msgspec.to_builtins(keeping)
    shown["claim"] = claim
    match question["type"]:
        case "yes_no" | "select_one" | "select_multiple" | "scale":
            shown["choices"] = choices_of(question, words)
            if "show_if" in question:
                shown["show_if"] = _condition(question["show_if"])
            if question["type"] == "yes_no" and len(choices_of(question)) > 2:
                shown["type"] = "select_one"
            if question["type"] == "select_multiple":
                shown.setdefault("most", len(choices_of(question)))
            if question["type"] == "scale":
                shown["aim"] = question.get("aim", "distribution")
                if "scores" in question:
                    shown["scores"] = _scores(question)
        case "number":
            shown["range"] = _range(question)
            shown["aim"] = question.get("aim", "mean")
        case "vector":
            shown["parts"] = [_number_part(part) for part in question["parts"]]
        case "point":
            shown["parts"] = [_number_part(part) for part in question["parts"]]
            shown["grid"] = _grid(question, privacy)
        case _:
            shown["parts"] = [
                part | {"choices": choices_of(part, words)} for part in question["parts"]
            ]
    return shown


def mechanism_of(question: _Question, privacy: Privacy) -> Mechanism:
    """The best mechanism for the question, or the one it names."""
    name, beyond = question.get("mechanism"), question.get("beyond", "clamp")
    match question["type"]:
        case "yes_no" | "select_one":
            coins = question.get("coins", {})
            if _fraction(coins.get("yes", "1/2")) != Fraction(1, 2):
                return two_coins(_fraction(coins["truth"]), _fraction(coins["yes"]))
            return for_choice(len(choices_of(question)), privacy, name)
        case "select_multiple":
            k = len(choices_of(question))
            most = question.get("most", k)
            if most > k:
                raise ValueError(f"most is at most the number of choices, which is {k}")
            return for_ticks(k, most, privacy, name)
        case "scale":
            return _for_scale(question, privacy, name)
        case "number":
            positions = _positions(question)
            if question.get("aim", "mean") == "mean":
                if "buckets" in question:
                    raise ValueError("buckets are for aim: distribution")
                return for_mean(positions, privacy, name, beyond)
            buckets = question.get("buckets", BUCKETS)
            return for_distribution(min(buckets, positions), privacy, name, beyond)
        case "vector":
            return for_vector([_positions(part) for part in question["parts"]], privacy, name)
        case "point":
            _no_name(name, "point")
            grid = _grid(question, privacy)
            if any(_positions(part) < grid for part in question["parts"]):
                least = min(_positions(part) for part in question["parts"])
                raise ValueError(
                    f"the grid is finer than the steps of a part; grid is at most {least} here"
                )
            return subset_selection(grid**2, *privacy.weights())
        case _:
            _no_name(name, "product")
            k = prod(len(choices_of(part)) for part in question["parts"])
            if k > MOST_CHOICES:
                raise ValueError(
                    f"the parts have {k} combinations; {MOST_CHOICES} is the most: ask in two"
                )
            return subset_selection(k, *privacy.weights())


def measure(question: _Question, privacy: Privacy) -> float:
    """How accurate the question would be: n times the variance of a share of 30 %, or of a mean
    on 0 to 1."""
    return accuracy(mechanism_of(question, privacy), question["type"])


def accuracy(mechanism: Mechanism, kind: str) -> float:
    """The same of a published question of this type."""
    match mechanism:
        case SubsetSelection() | SetResponse() | SampledTicks() | Unary():
            return share_variance(mechanism, SHARE)
        case Vector():
            return vector_variance(mechanism) / 4
        case Gaussian() if kind == "vector":
            return vector_variance(mechanism) / 4
        case Channel() if kind in ("yes_no", "select_one"):
            (s, _), (t, _) = mechanism.weights
            total = sum(mechanism.weights[0])
            support = (t + (s - t) * SHARE) / total
            return support * (1 - support) / ((s - t) / total) ** 2
        case Window() | Channel() | BoundedLaplace() | Laplace() | Gaussian():
            return mean_variance(mechanism) / 4


def cost_of_waves(written: _Question, question: Question, privacy: Privacy) -> float:
    """How many times the people one wave takes for the accuracy that the question would have
    without waves."""
    alone, kept = mechanism_of(written, privacy), question.once
    if (
        isinstance(alone, Window)
        and isinstance(kept, Window)
        and alone.m - alone.w == kept.m - kept.w
    ):
        shared = isinstance(question, Number) and question.aim == "distribution"
        if shared:
            return cdf_variance(matrix(kept)) / cdf_variance(matrix(alone))
    return accuracy(kept, question.type) / accuracy(alone, question.type)


def mechanism_at(question: Question, privacy: Privacy) -> Mechanism:
    """What would randomise a published question with another privacy: the best there is, or where
    its own mechanism is not that, the one of the same name.

    Two coins of a bias become subset selection: their bias is for repeating an old survey.
    Raises ValueError where there is none.
    """
    written = _as_written(question)
    if not _by_default(written, question):
        written["mechanism"] = _name(question)
        if isinstance(question.once, BoundedLaplace):
            written["beyond"] = question.once.beyond
    return mechanism_of(written, privacy)


def choices_of(question: _Question, words: Words = ENGLISH) -> list[dict[str, str]]:
    """The choices, with those that are added by name."""
    if question.get("type") == "yes_no":
        labels = (words("choice.yes"), words("choice.no"))
        given = [{"name": name, "label": label} for name, label in zip(YES_NO, labels, strict=True)]
    else:
        given = [
            {"name": slug(choice), "label": choice} if isinstance(choice, str) else choice
            for choice in question.get("choices", ())
        ]
    names = {choice["name"] for choice in given}
    wanted = list(question.get("also", ()))
    if "show_if" in question and NOT_APPLICABLE not in wanted:
        wanted.append(NOT_APPLICABLE)
    return given + [{"name": one, "label": words(ALSO[one])} for one in wanted if one not in names]


def slug(label: str) -> str:
    """The name of a choice that is given as a text alone: 'Very happy' becomes very_happy."""
    name = re.sub(r"[^a-z0-9]+", "_", label.lower()).strip("_")[:64]
    return f"_{name}" if name[:1].isdigit() else name


def sizes_together(questions: Sequence[_Question]) -> list[int]:
    """The numbers of choices, where all questions could be one product; else none."""
    simple = all(
        question["type"] in ("yes_no", "select_one")
        and not {"mechanism", "show_if", "hint"} & set(question)
        for question in questions
    )
    return [len(choices_of(question)) for question in questions] if simple else []


def together_question(questions: Sequence[_Question], words: Words = ENGLISH) -> _Question:
    """Several small questions as one product."""
    return {
        "name": "together",
        "type": "product",
        "label": words("choice.together"),
        "parts": [
            {
                "name": question["name"],
                "label": question["label"],
                "choices": choices_of(question, words),
            }
            for question in questions
        ],
    }


def _as_written(question: Question) -> dict[str, Any]:
    """A published question as an author writes it, as far as its mechanism depends on it."""
    shown: dict[str, Any] = dict(msgspec.to_builtins(question))
    # The mechanism is to be chosen anew; what is hidden has "Not applicable" among its choices.
    for key in ("mechanism", "show_if"):
        shown.pop(key, None)
    if isinstance(question, Number):
        shown |= shown.pop("range")
        if question.aim == "distribution":
            shown["buckets"] = question.once.k
    if isinstance(question, VectorOfNumbers | Point):
        shown["parts"] = [part | part["range"] for part in shown["parts"]]
    if isinstance(question, Scale) and isinstance(question.once, SubsetSelection):
        shown["aim"] = "distribution"
    return shown


def _by_default(written: _Question, question: Question) -> bool:
    claim = question.claim
    try:
        if isinstance(claim.odds, str):
            privacy = Privacy(odds=_fraction(claim.odds))
        else:
            delta = _fraction(claim.delta) if isinstance(claim.delta, str) else None
            privacy = Privacy(epsilon=_fraction(claim.epsilon), delta=delta)
        return mechanism_of(written, privacy) == question.once
    except ValueError:
        return False


def _name(question: Question) -> str | None:
    """The name by which an author asks for the question's mechanism."""
    match question.once:
        case SubsetSelection(omega=1) if isinstance(question, YesNo | SelectOne | Scale):
            return "k_ary"
        case SubsetSelection() if isinstance(question, Number):
            return "subset_selection"
        case Unary(own=own, other=other, total=total):
            return "rappor" if own + other == total else "oue"
        case BoundedLaplace():
            return "bounded_laplace" if isinstance(question, Number) else "exponential"
        case Vector(parts=parts):
            return "laplace" if all(isinstance(part, Laplace) for part in parts) else "sample"
        case Channel() if not (isinstance(question, Number | Scale) and question.aim == "mean"):
            return None
        case SubsetSelection():
            return None
        case Window() | Channel() | Laplace() | Gaussian() | SetResponse() | SampledTicks() as one:
            return str(one.__struct_config__.tag)


def _for_scale(question: _Question, privacy: Privacy, name: str | None) -> Mechanism:
    k = len(choices_of(question))
    if question.get("aim", "distribution") == "mean":
        if name in ("laplace", "bounded_laplace", "gaussian"):
            raise ValueError(f"{name} is for numbers; for a scale write exponential")
        return for_mean(k, privacy, name)
    if name in ("window", "exponential"):
        mean = for_distribution if name == "window" else for_mean
        return mean(k, privacy, name)
    return for_choice(k, privacy, name)


def _no_name(name: str | None, kind: str) -> None:
    if name not in (None, "subset_selection"):
        raise ValueError(f"a {kind} is always asked by subset_selection")


def _condition(written: Mapping[str, Any]) -> dict[str, object]:
    among = written["is"]
    return {
        "question": written["question"],
        "is": [among] if isinstance(among, str) else list(among),
    }


def _scores(question: _Question) -> list[int]:
    """The author's scores; categories that are added by name get some too, which no mean uses."""
    scores = list(question["scores"])
    added = len(choices_of(question)) - len(question["choices"])
    return scores + [scores[-1] + 1 + i for i in range(added)]


def _range(question: _Question) -> dict[str, str]:
    texts = {key: plain(_fraction(question.get(key, 1))) for key in ("minimum", "maximum", "step")}
    if "unit" in question:
        texts["unit"] = question["unit"]
    return texts


def _positions(question: _Question) -> int:
    return msgspec.convert(_range(question), Range).positions


def _number_part(part: _Question) -> dict[str, object]:
    return {"name": part["name"], "label": part["label"], "range": _range(part)}


def _grid(question: _Question, privacy: Privacy) -> int:
    """Coarse where the noise is large: k-means and the eye average over areas, but not for ever."""
    if "grid" in question:
        return cast(int, question["grid"])
    usual = 8 if privacy.ln <= 1 else 12 if privacy.ln < 4 else 16
    return min(usual, *(_positions(part) for part in question["parts"]))


def _fraction(value: object) -> Fraction:
    return Fraction(str(value))
