"""An author's survey as typed values: one struct for the survey, and one for each question type.

A question type's struct holds everything that depends on the type: its keys, its choices, the task
of its mechanism, and its fields in a published definition. ``reading`` makes these values from a
document, ``incompatible_keys`` checks which keys contradict each other.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from math import prod
from typing import Annotated, ClassVar, get_args

import msgspec
from msgspec import Meta

from deniably.authoring import key_types
from deniably.authoring.key_types import Numeral, WrittenChoice, WrittenNumberPart
from deniably.authoring.outlines import Side, outline
from deniably.design.best_mechanisms import two_coins
from deniably.design.gridding import even_grid
from deniably.design.named_mechanisms import (
    Task,
    choice_task,
    joint_task,
    number_task,
    scale_task,
    ticks_task,
    vector_task,
)
from deniably.mechanisms import Mechanism
from deniably.mechanisms.subset_selection import MOST_CHOICES, two_coin_odds
from deniably.survey.parts import OUTLINE, Choice, Range, Value
from deniably.survey.privacy import Privacy, to_decimal_text
from deniably.survey.questions import NOT_APPLICABLE, YES_NO
from deniably.survey.survey import MOST_QUESTIONS
from deniably.wording.words import ENGLISH, Words

ALSO = {
    "dont_know": "choice.dont_know",
    "prefer_not_to_say": "choice.prefer_not_to_say",
    NOT_APPLICABLE: "choice.not_applicable",
}
"""The categories that an author can add to choices by name, with the keys of their labels."""

BUCKETS = 32
"""Into how many ranges a distribution of numbers is cut, unless its author says otherwise."""

_NO_NUMBER = (
    "is no number and would count as one; ask {} as select_one with ranges as choices (such as 0 to"
    " 9), or ask everybody and say in the hint that 0, or an end of the range, stands for it"
)


def _no_more(kind: str, instead: str) -> dict[str, str]:
    """Why a question that is no list of choices has no ``also`` or ``show_if``, and the mend."""
    what = {"also": "such an answer", "show_if": "“Not applicable”"}
    return {key: f"{kind} has no {key}: {what[key]} {instead}" for key in what}


class _Written(Value, frozen=True, kw_only=True, tag_field="type"):
    """The keys of every question; ``refused`` gives the reason for each key that a type lacks."""

    refused: ClassVar[Mapping[str, str]] = {}

    name: key_types.FieldName
    label: key_types.Label
    hint: key_types.Hint = None
    short: key_types.Short = None
    epsilon: key_types.Epsilon = None
    odds: key_types.Odds = None
    coins: key_types.Coins = None
    mechanism: key_types.MechanismName = None

    @property
    def type(self) -> str:
        """The name of the question's type."""
        return str(self.__struct_config__.tag)

    @property
    def promised(self) -> dict[str, list[Numeral]]:
        """The keys that state the question's privacy (epsilon, odds or coins), each with its
        numbers."""
        numbers = {
            "epsilon": [self.epsilon],
            "odds": [self.odds],
            "coins": [self.coins.truth, self.coins.yes] if self.coins else [],
        }
        stated = {
            key: [text for text in texts if text is not None] for key, texts in numbers.items()
        }
        return {key: texts for key, texts in stated.items() if texts}

    @property
    def privacy(self) -> Privacy:
        """The privacy that the question's own key states. Raises ValueError or ZeroDivisionError
        where the key states no privacy that is allowed."""
        if self.epsilon is not None:
            return self.within(self.epsilon.exact)
        if self.odds is not None:
            return Privacy(odds=self.odds.exact)
        assert self.coins is not None
        return Privacy(odds=self._odds_of(self.coins))

    def within(self, epsilon: Fraction) -> Privacy:
        """Returns the question's privacy where ``epsilon`` is its share of the survey's budget."""
        return Privacy(epsilon=epsilon)

    def task(self, privacy: Privacy) -> Task:
        """Returns what the question's mechanism has to estimate, from which the best one can be
        chosen. Raises ValueError where its keys allow no mechanism."""
        raise NotImplementedError

    def mechanism_for(self, privacy: Privacy) -> Mechanism:
        """Returns the best mechanism within the privacy, or the one that the author named.

        Raises ValueError where there is none; the message says what to write instead.
        """
        return self.task(privacy).choose(privacy, self.mechanism)

    def published_fields(self, privacy: Privacy, words: Words) -> dict[str, object]:
        """Returns the fields that the question's type has in a published definition, with defaults
        filled in."""
        raise NotImplementedError

    def _odds_of(self, coins: key_types.WrittenCoins) -> Fraction:
        raise ValueError("coins are for yes_no and select_one")


class _WithChoices(_Written, frozen=True, kw_only=True):
    also: key_types.Also = None
    show_if: key_types.ShowIf = None

    def given(self, words: Words = ENGLISH) -> list[Choice]:
        """Returns the choices that the author wrote, or that the type implies."""
        raise NotImplementedError

    def offered(self, words: Words = ENGLISH) -> list[Choice]:
        """Returns all choices, with those that ``also`` and ``show_if`` add."""
        listed = self.given(words)
        names = {choice.name for choice in listed}
        wanted: list[str] = list(self.also or ())
        if self.show_if and NOT_APPLICABLE not in wanted:
            wanted.append(NOT_APPLICABLE)
        return listed + [Choice(name, words(ALSO[name])) for name in wanted if name not in names]

    def published_fields(self, privacy: Privacy, words: Words) -> dict[str, object]:
        """Returns the published choices, and the condition if there is one."""
        shown: dict[str, object] = {"choices": msgspec.to_builtins(self.offered(words))}
        if self.show_if:
            shown["show_if"] = {"question": self.show_if.question, "is": self.show_if.names}
        return shown


class _OneAnswer(_WithChoices, frozen=True, kw_only=True):
    def task(self, privacy: Privacy) -> Task:
        """Returns the task: the shares of the choices."""
        return choice_task(len(self.offered()))

    def mechanism_for(self, privacy: Privacy) -> Mechanism:
        """Returns the best mechanism, the one that the author named, or two coins with an unfair
        second one."""
        # An unfair second coin treats yes and no differently; subset selection treats all choices
        # alike.
        if self.coins and (yes := self.coins.unfair) is not None:
            return two_coins(self.coins.truth.exact, yes)
        return super().mechanism_for(privacy)

    def _odds_of(self, coins: key_types.WrittenCoins) -> Fraction:
        if (yes := coins.unfair) is not None:
            return two_coins(coins.truth.exact, yes).loss.odds
        # Missing choices are reported elsewhere; any number will do here.
        return two_coin_odds(coins.truth.exact, len(self.offered()) or 2)


class WrittenYesNo(_OneAnswer, frozen=True, kw_only=True, tag="yes_no"):
    """A question with the answers yes and no."""

    refused: ClassVar[Mapping[str, str]] = {
        "choices": "yes_no has the choices Yes and No; leave choices out"
    }

    def given(self, words: Words = ENGLISH) -> list[Choice]:
        """Returns the two choices, yes and no."""
        labels = (words("choice.yes"), words("choice.no"))
        return [Choice(*each) for each in zip(YES_NO, labels, strict=True)]

    def published_fields(self, privacy: Privacy, words: Words) -> dict[str, object]:
        """Returns the published choices. With more than yes and no the published type is
        ``select_one``."""
        more = {"type": "select_one"} if len(self.offered()) > len(YES_NO) else {}
        return super().published_fields(privacy, words) | more


class WrittenSelectOne(_OneAnswer, frozen=True, kw_only=True, tag="select_one"):
    """A question with one answer out of several."""

    choices: key_types.Choices = ()

    def given(self, words: Words = ENGLISH) -> list[Choice]:
        """Returns the choices that the author wrote."""
        return named(self.choices)


class WrittenSelectMultiple(_WithChoices, frozen=True, kw_only=True, tag="select_multiple"):
    """A question with any of several answers."""

    choices: key_types.Choices = ()
    most: key_types.Most = None

    def given(self, words: Words = ENGLISH) -> list[Choice]:
        """Returns the choices that the author wrote."""
        return named(self.choices)

    def task(self, privacy: Privacy) -> Task:
        """Returns the task of the mechanism: to estimate each choice's share, where several may be
        ticked.

        Raises ValueError where ``most`` is above the number of choices.
        """
        k = len(self.offered())
        maximum = self.most or k
        if maximum > k:
            raise ValueError(f"most is {maximum} but the question has {k} choices")
        return ticks_task(k, maximum)

    def published_fields(self, privacy: Privacy, words: Words) -> dict[str, object]:
        """Returns the published choices, and how many may be ticked."""
        return super().published_fields(privacy, words) | {"most": self.most or len(self.offered())}


class WrittenScale(_WithChoices, frozen=True, kw_only=True, tag="scale"):
    """A question with one answer out of several that have an order."""

    choices: key_types.ChoicesInOrder = ()
    aim: key_types.AimOf = "distribution"
    scores: key_types.Scores = None

    def given(self, words: Words = ENGLISH) -> list[Choice]:
        """Returns the choices that the author wrote."""
        return named(self.choices)

    def task(self, privacy: Privacy) -> Task:
        """Returns the task of the mechanism: to estimate the choices' shares, or the mean of their
        scores."""
        return scale_task(len(self.offered()), self.aim)

    def published_fields(self, privacy: Privacy, words: Words) -> dict[str, object]:
        """Returns the published choices, scores and aim. Choices such as "don't know", which the
        author adds by name, get scores that no mean uses."""
        shown = super().published_fields(privacy, words) | {"aim": self.aim}
        if self.scores:
            added = len(self.offered()) - len(self.choices)
            # Above all others, because published scores have to ascend.
            shown["scores"] = list(self.scores) + [self.scores[-1] + 1 + i for i in range(added)]
        return shown


class WrittenNumber(_Written, frozen=True, kw_only=True, tag="number"):
    """A number within public bounds."""

    refused: ClassVar[Mapping[str, str]] = _no_more("number", _NO_NUMBER.format("it"))

    aim: key_types.AimOf = "mean"
    minimum: key_types.Minimum = Numeral("0")
    maximum: key_types.Maximum = Numeral("0")
    step: key_types.Step = None
    unit: key_types.Unit = None
    buckets: key_types.Buckets = None
    beyond: key_types.BeyondRange = None
    delta: key_types.Delta = None

    def within(self, epsilon: Fraction) -> Privacy:
        """Returns the privacy of ``epsilon`` with the question's own delta."""
        return Privacy(epsilon=epsilon, delta=_exact(self.delta))

    def task(self, privacy: Privacy) -> Task:
        """Returns the task of the mechanism: to estimate the mean, or the distribution over
        buckets.

        Raises ValueError for buckets of a mean, and where the range is not valid.
        """
        if self.aim == "mean" and self.buckets is not None:
            raise ValueError("buckets are for aim: distribution")
        k = positions(self)
        if self.aim == "distribution":
            k = min(self.buckets or BUCKETS, k)
        return number_task(k, self.aim, self.beyond or "clamp")

    def published_fields(self, privacy: Privacy, words: Words) -> dict[str, object]:
        """Returns the published range of the numbers, and the aim."""
        return {"range": published_range(self), "aim": self.aim}


class WrittenVector(_Written, frozen=True, kw_only=True, tag="vector"):
    """Several numbers of one person, whose means are asked for."""

    refused: ClassVar[Mapping[str, str]] = _no_more("vector", _NO_NUMBER.format("each part"))

    parts: key_types.Numbers = ()
    delta: key_types.Delta = None

    def within(self, epsilon: Fraction) -> Privacy:
        """Returns the privacy of ``epsilon`` with the question's own delta."""
        return Privacy(epsilon=epsilon, delta=_exact(self.delta))

    def task(self, privacy: Privacy) -> Task:
        """Returns the task of the mechanism: to estimate the mean of each number."""
        return vector_task([positions(part) for part in self.parts])

    def published_fields(self, privacy: Privacy, words: Words) -> dict[str, object]:
        """Returns the published parts."""
        return {"parts": [_number_part(part) for part in self.parts]}


class WrittenPoint(_Written, frozen=True, kw_only=True, tag="point"):
    """Two numbers that belong together: a place on a map."""

    refused: ClassVar[Mapping[str, str]] = _no_more(
        "point",
        "is no place; ask it as select_one with areas as choices, or ask everybody and say in the"
        " hint which place stands for it",
    )

    parts: key_types.TwoNumbers = ()
    grid: key_types.Grid = None
    outline: key_types.Outline = None

    def task(self, privacy: Privacy) -> Task:
        """Returns the task of the mechanism: to estimate the shares of the areas of the map.

        Raises ValueError where a side of the map has fewer steps than the grid.
        """
        grid, least = self._grid(privacy), min(positions(part) for part in self.parts)
        if least < grid:
            raise ValueError(
                f"the grid is {grid}, finer than the steps of a part; grid is at most {least} here"
            )
        return joint_task("point", grid**2)

    def published_fields(self, privacy: Privacy, words: Words) -> dict[str, object]:
        """Returns the published sides of the map, its grid, and the outline that is drawn on it.

        Raises ValueError where the outline is not valid.
        """
        parts = [_number_part(part) for part in self.parts]
        drawn = {} if self.outline is None else {"outline": self._drawn(self.outline)}
        return {"parts": parts, "grid": self._grid(privacy), **drawn}

    def _drawn(self, given: str | Sequence[Sequence[Sequence[Numeral]]]) -> str:
        """The path data, which a text is already unless it names a file."""
        if isinstance(given, str):
            if re.match(OUTLINE, given):
                return given
            raise ValueError(
                f"outline names the file “{given}”, which is not read here: “deniably publish” and"
                " “deniably check” read it beside the survey's file; or write the lines"
            )
        first, second = (
            Side(part.label, float(part.minimum), float(part.maximum), float(part.step or 1))
            for part in self.parts
        )
        lines = [[(float(x), float(y)) for x, y in line] for line in given]
        return outline(lines, (first, second))

    def _grid(self, privacy: Privacy) -> int:
        """The grid; by default coarser where the noise is larger, with areas alike if it can be."""
        if self.grid is not None:
            return self.grid
        # More noise needs more reports in each area, so fewer areas.
        usual = 8 if privacy.ln <= 1 else 12 if privacy.ln < 4 else 16
        sides = [positions(part) for part in self.parts]
        return even_grid(min(usual, *sides), sides)


class WrittenProduct(_Written, frozen=True, kw_only=True, tag="product"):
    """Several small questions with one joint report."""

    refused: ClassVar[Mapping[str, str]] = _no_more(
        "product",
        "is no combination of the parts; give the parts that need it a choice of their own, such as"
        " Not applicable",
    )

    parts: key_types.SmallQuestions = ()

    def task(self, privacy: Privacy) -> Task:
        """Returns the task of the mechanism: to estimate the shares of the combinations of choices.

        Raises ValueError where there are too many combinations.
        """
        k = prod(len(named(part.choices)) for part in self.parts)
        if k > MOST_CHOICES:
            raise ValueError(
                f"the parts have {k} combinations; {MOST_CHOICES} is the most: ask in two"
            )
        return joint_task("product", k)

    def published_fields(self, privacy: Privacy, words: Words) -> dict[str, object]:
        """Returns the published parts, each with its choices."""
        return {
            "parts": [
                {
                    "name": part.name,
                    "label": part.label,
                    "choices": msgspec.to_builtins(named(part.choices)),
                }
                for part in self.parts
            ]
        }


Choosing = WrittenYesNo | WrittenSelectOne | WrittenSelectMultiple | WrittenScale
"""The types of question that have choices."""
Deciding = WrittenYesNo | WrittenSelectOne | WrittenScale
"""The types of question whose answer can decide whether another one is shown."""
WrittenQuestion = Choosing | WrittenNumber | WrittenVector | WrittenPoint | WrittenProduct
KINDS: dict[str, type[_Written]] = {
    str(kind.__struct_config__.tag): kind for kind in get_args(WrittenQuestion)
}
"""The type of each question's values, by its name in a document."""
EVERY_KEY = frozenset(_Written.__struct_fields__)
"""The keys that questions of every type have."""


class WrittenSurvey(Value, frozen=True, kw_only=True):
    """A survey as its author writes it, before it is compiled."""

    name: key_types.SurveyName
    title: key_types.Title
    intro: key_types.Intro = None
    contact: key_types.Contact = None
    controller: key_types.Controller = None
    legal_basis: key_types.LegalBasis = None
    retention: key_types.Retention = None
    consent: key_types.Consent = None
    language: key_types.Language = "en"
    results: key_types.Results = key_types.WrittenResults()
    questions: Annotated[
        tuple[
            Annotated[
                WrittenQuestion,
                Meta(
                    description="a question: name, type, label, what its type needs, and its"
                    " privacy as one of epsilon, odds, coins",
                    extra={
                        "type": "(free text cannot be asked: offer choices, or ask for a number)"
                    },
                ),
            ],
            ...,
        ],
        Meta(min_length=1, max_length=MOST_QUESTIONS),
        key_types.says("a list of 1 to 100 questions"),
    ]
    invited: key_types.Invited = False
    part: key_types.Part = None
    waves: key_types.Waves = None
    budget: key_types.Budget = None
    strata: key_types.Strata = None
    mixer: key_types.Mixer = None


# --- what questions have in common ------------------------------------------------------------


def slug(label: str) -> str:
    """Returns the name of a choice that is written as a label alone. Letters lose their accents.

    >>> slug("Very happy"), slug("Très heureux"), slug("Große Freude")
    ('very_happy', 'tres_heureux', 'grosse_freude')
    """
    letters = unicodedata.normalize("NFKD", label.casefold())
    plain = "".join(letter for letter in letters if not unicodedata.combining(letter))
    name = re.sub(r"[^a-z0-9]+", "_", plain).strip("_")[:64]
    return f"_{name}" if name[:1].isdigit() else name


def named(choices: Iterable[str | WrittenChoice]) -> list[Choice]:
    """Returns the choices, each with a name: its own, or one that is made of its label."""
    return [
        Choice(slug(each), each) if isinstance(each, str) else Choice(each.name, each.label)
        for each in choices
    ]


def positions(written: WrittenNumber | WrittenNumberPart) -> int:
    """Returns how many numbers a range has. Raises ValueError where the range is not valid; the
    message says what to write instead."""
    return msgspec.convert(published_range(written), Range).positions


def published_range(written: WrittenNumber | WrittenNumberPart) -> dict[str, str]:
    """Returns the published range of a number: minimum, maximum and step as canonical decimals, and
    its unit."""
    step = Fraction(1) if written.step is None else written.step.exact
    numbers = {"minimum": written.minimum.exact, "maximum": written.maximum.exact, "step": step}
    texts = {key: to_decimal_text(value) for key, value in numbers.items()}
    return texts if written.unit is None else texts | {"unit": written.unit}


def _number_part(part: WrittenNumberPart) -> dict[str, object]:
    return {"name": part.name, "label": part.label, "range": published_range(part)}


def _exact(number: Numeral | None) -> Fraction | None:
    return None if number is None else number.exact
