"""The types of question, each with the mechanisms that may randomise it (SPEC 4.1).

``question.encode(answer)`` turns a respondent's answer into the mechanism's input, and
``question.decode`` turns it back. Errors never hold the answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Annotated, Any, Literal, cast

import msgspec

from deniably.core.errors import BadAnswer
from deniably.mechanisms import (
    BoundedLaplace,
    Channel,
    Gaussian,
    Laplace,
    Mechanism,
    Memoised,
    SampledTicks,
    SetResponse,
    SubsetSelection,
    Unary,
    Vector,
    Window,
)
from deniably.mechanisms.law import Each, Finite, Law, One, Several, Ticks
from deniably.survey.parts import (
    CHOICES,
    SEVERAL,
    Choice,
    ChoicePart,
    Claim,
    FieldName,
    Label,
    NumberPart,
    Outline,
    Range,
    ShortLabel,
    ShowIf,
    Value,
    unique,
)
from deniably.survey.privacy import to_decimal_text

YES_NO = ("yes", "no")
NOT_APPLICABLE = "not_applicable"
LARGEST_GRID = 32  # cells of a side of a map: 32 x 32 is the largest k of a subset selection
MOST_PARTS = 8
"""The most parts of a product."""
LARGEST_SCORE = (1 << 31) - 1  # SPEC 4.1

Aim = Literal["distribution", "mean"]
MechanismInput = int | tuple[int, ...]
"""The input of a mechanism: an index, a position, several ticks or several positions."""

Choices = Annotated[list[Choice], CHOICES]


# msgspec chooses the subclass by the key ``type`` of a definition.
class _Asked(Value, frozen=True, kw_only=True, tag_field="type"):
    """The keys that every question has."""

    name: FieldName
    label: Label
    claim: Claim
    hint: Label | msgspec.UnsetType = msgspec.UNSET
    short: ShortLabel | msgspec.UnsetType = msgspec.UNSET

    @property
    def type(self) -> str:
        """The type's name in the definition."""
        return str(self.__struct_config__.tag)

    def _keeps_its_claim(self, mechanism: Mechanism | Memoised[Any]) -> None:
        loss = mechanism.loss
        if not self.claim.covers(loss):
            raise ValueError(
                f"the mechanism's weights give epsilon {loss.epsilon_text()} and delta"
                f" {to_decimal_text(loss.delta)}: larger odds than the claim allows,"
                f" {self.claim.text()}"
            )
        history = mechanism.history if isinstance(mechanism, Memoised) else None
        if not self.claim.covers_history(history):
            of_history = "no history" if history is None else f"epsilon {history.epsilon_text()}"
            raise ValueError(
                f"the mechanism's memo gives {of_history}; claim that much as the history, not"
                f" {self.claim.text()}"
            )


class _WithChoices(_Asked, frozen=True, kw_only=True):
    choices: Choices

    def _choices_fit(self, mechanism: Mechanism | Memoised[Any]) -> None:
        unique((choice.name for choice in self.choices), "the choice")
        domain, count = mechanism.law.domain, len(self.choices)
        assert not isinstance(domain, Each), "no mechanism of choices takes several numbers"
        if domain.k != count:
            raise ValueError(f"mechanism.k is {domain.k} but the question has {count} choices")
        self._keeps_its_claim(mechanism)

    @property
    def names(self) -> list[str]:
        """The names of the choices, in order."""
        return [choice.name for choice in self.choices]

    def index(self, answer: object) -> int:
        """Returns the index of the choice with the name ``answer`` or, if there is none, with this
        label.

        Raises BadAnswer if no choice, or more than one, has the label.
        """
        return _place(self.choices, answer, self.name)

    def decode(self, encoded: MechanismInput) -> object:
        """Returns the name of the choice that the mechanism's input ``encoded`` stands for."""
        # A unary encoding takes the list of the one index.
        return self.names[encoded if isinstance(encoded, int) else encoded[0]]


class _SingleChoice(_WithChoices, frozen=True, kw_only=True):
    """A question with exactly one answer."""

    mechanism: SubsetSelection | Channel | Unary | Memoised[SubsetSelection | Channel]

    def __post_init__(self) -> None:
        self._choices_fit(self.mechanism)
        _one_answer(self.mechanism.law, all_shares=True)

    @property
    def report_mechanism(self) -> SubsetSelection | Channel | Unary:
        """The mechanism from an answer to one report, which estimates are based on. For a memoised
        mechanism it combines both rounds of randomisation."""
        mechanism = self.mechanism
        return mechanism.single_report_mechanism if isinstance(mechanism, Memoised) else mechanism

    def encode(self, answer: object) -> MechanismInput:
        """Returns the mechanism's input for the choice with the name or label ``answer``. Raises
        BadAnswer if there is no such choice."""
        index = self.index(answer)
        return (index,) if isinstance(self.mechanism.law.domain, Ticks) else index


class YesNo(_SingleChoice, frozen=True, kw_only=True, tag="yes_no"):
    """A question with the answers yes and no."""

    def __post_init__(self) -> None:
        if tuple(self.names) != YES_NO:
            raise ValueError(
                f"the choices are {', '.join(self.names)}; of a yes_no question they are the"
                " choices yes and no, in this order"
            )
        super().__post_init__()


class SelectOne(_SingleChoice, frozen=True, kw_only=True, tag="select_one"):
    """A question with one answer out of several choices."""

    show_if: ShowIf | msgspec.UnsetType = msgspec.UNSET

    def __post_init__(self) -> None:
        super().__post_init__()
        _can_hide(self.show_if, self.names)


class SelectMultiple(_WithChoices, frozen=True, kw_only=True, tag="select_multiple"):
    """A question to which people may tick several choices, at most ``most``."""

    most: Annotated[int, msgspec.Meta(ge=1)]
    mechanism: SetResponse | SampledTicks | Unary | Memoised[SetResponse]
    show_if: ShowIf | msgspec.UnsetType = msgspec.UNSET

    def __post_init__(self) -> None:
        self._choices_fit(self.mechanism)
        domain = self.mechanism.law.domain
        limit = domain.limit if isinstance(domain, Ticks) else 1
        if limit is None:  # takes any number of ticks
            if self.most > len(self.choices):
                raise ValueError(
                    f"most is {self.most}; use at most the number of choices, {len(self.choices)}"
                )
        elif self.most != limit:
            raise ValueError(
                f"most is {self.most}, and the mechanism is for {limit} ticks; make them equal"
            )
        _can_hide(self.show_if, self.names)

    @property
    def report_mechanism(self) -> SetResponse | SampledTicks | Unary:
        """The mechanism from an answer to one report, which estimates are based on. For a memoised
        mechanism it combines both rounds of randomisation."""
        mechanism = self.mechanism
        return mechanism.single_report_mechanism if isinstance(mechanism, Memoised) else mechanism

    def encode(self, answer: object) -> MechanismInput:
        """Returns the indices of the ticked choices, ascending. ``answer`` is a list or set of
        their names or labels.

        Raises BadAnswer if ``answer`` is anything else, or has more than ``most`` choices.
        """
        # A string is a sequence, too, of letters.
        if isinstance(answer, str) or not isinstance(answer, Sequence | set | frozenset):
            raise BadAnswer("the answer is a list of the choices that apply", self.name)
        ticks = sorted({self.index(item) for item in cast(Sequence[object], answer)})
        if len(ticks) > self.most:
            raise BadAnswer(f"at most {self.most} of the choices may be ticked", self.name)
        return tuple(ticks)

    def decode(self, encoded: MechanismInput) -> object:
        """Returns the names of the choices that the mechanism's input ``encoded`` stands for."""
        return [self.names[tick] for tick in cast(Sequence[int], encoded)]


class Scale(_WithChoices, frozen=True, kw_only=True, tag="scale"):
    """A question with one answer out of several ordered choices, such as a Likert scale.

    ``scores`` are the numbers that the choices stand for, by default 1, 2, 3, ...
    """

    aim: Aim
    mechanism: (
        SubsetSelection
        | Window
        | Channel
        | BoundedLaplace
        | Unary
        | Memoised[SubsetSelection | Window | Channel]
    )
    scores: list[int] | msgspec.UnsetType = msgspec.UNSET
    show_if: ShowIf | msgspec.UnsetType = msgspec.UNSET

    def __post_init__(self) -> None:
        self._choices_fit(self.mechanism)
        _one_answer(self.mechanism.law, all_shares=self.aim == "distribution")
        _can_hide(self.show_if, self.names)
        if isinstance(self.scores, list):
            if len(self.scores) != len(self.choices) or max(map(abs, self.scores)) > LARGEST_SCORE:
                raise ValueError(
                    f"scores are {self.scores}; use one integer below 2**31 for each of the"
                    f" {len(self.choices)} choices"
                )
            gaps = {b - a for a, b in zip(self.scores, self.scores[1:], strict=False)}
            if min(gaps) < 1:
                raise ValueError(f"scores must be strictly ascending, and here are {self.scores}")
            # The mean is then estimated as a mean position, and positions are equally far apart.
            if self.aim == "mean" and len(gaps) > 1:
                raise ValueError(
                    f"scores must be equally spaced where the aim is the mean, not {self.scores}"
                )

    @property
    def report_mechanism(self) -> SubsetSelection | Window | Channel | BoundedLaplace | Unary:
        """The mechanism from an answer to one report, which estimates are based on. For a memoised
        mechanism it combines both rounds of randomisation."""
        mechanism = self.mechanism
        return mechanism.single_report_mechanism if isinstance(mechanism, Memoised) else mechanism

    @property
    def values(self) -> list[int]:
        """The number that each choice stands for."""
        if isinstance(self.scores, list):
            return self.scores
        return list(range(1, len(self.choices) + 1))

    def encode(self, answer: object) -> MechanismInput:
        """Returns the mechanism's input for the choice with the name or label ``answer``. Raises
        BadAnswer if there is no such choice."""
        index = self.index(answer)
        return (index,) if isinstance(self.mechanism.law.domain, Ticks) else index


class Number(_Asked, frozen=True, kw_only=True, tag="number"):
    """A question for a number within public bounds. A number beyond a bound counts as that
    bound."""

    range: Range
    aim: Aim
    mechanism: (
        Window
        | Channel
        | Laplace
        | BoundedLaplace
        | Gaussian
        | SubsetSelection
        | Memoised[Window | Channel | SubsetSelection]
    )

    def __post_init__(self) -> None:
        domain = self.mechanism.law.domain
        if isinstance(self.mechanism, Gaussian) and self.mechanism.d != 1:
            raise ValueError(f"mechanism.d is {self.mechanism.d}; for one number it must be 1")
        assert isinstance(domain, One), "every other mechanism of numbers takes one"
        _fits(self.range, domain.k, exactly=self.aim == "mean")
        self._keeps_its_claim(self.mechanism)

    @property
    def report_mechanism(
        self,
    ) -> Window | Channel | Laplace | BoundedLaplace | Gaussian | SubsetSelection:
        """The mechanism from an answer to one report, which estimates are based on. For a memoised
        mechanism it combines both rounds of randomisation."""
        mechanism = self.mechanism
        return mechanism.single_report_mechanism if isinstance(mechanism, Memoised) else mechanism

    def encode(self, answer: object) -> MechanismInput:
        """Returns the index of the group of numbers, as the mechanism divides the range, that
        ``answer`` belongs to. Raises BadAnswer if ``answer`` is not a number."""
        return _cell(self.range, answer, self.mechanism.law.domain.count, self.name)

    def decode(self, encoded: MechanismInput) -> object:
        """Returns the first number, as text, of the group with the index ``encoded``."""
        return self.range.first(cast(int, encoded), self.mechanism.law.domain.count)


class VectorOfNumbers(_Asked, frozen=True, kw_only=True, tag="vector"):
    """A question for several numbers of one person, whose means are estimated."""

    parts: Annotated[list[NumberPart], SEVERAL]
    mechanism: Vector | Gaussian

    def __post_init__(self) -> None:
        unique((part.name for part in self.parts), "the part")
        if len(self.sizes) != len(self.parts):
            raise ValueError(
                f"the mechanism is for {len(self.sizes)} parts but the question has"
                f" {len(self.parts)}"
            )
        for part, k in zip(self.parts, self.sizes, strict=True):
            _fits(part.range, k, exactly=True)
        self._keeps_its_claim(self.mechanism)

    @property
    def report_mechanism(self) -> Vector | Gaussian:
        """The mechanism from an answer to one report, which estimates are based on. Vectors are
        never memoised."""
        return self.mechanism

    @property
    def law(self) -> Several:
        """The joint law of the reports of all numbers. Raises ValueError if the mechanism is for
        one number."""
        law = self.mechanism.law
        if not isinstance(law, Several):
            raise ValueError("mechanism.d is 1; it must be the number of parts, 2 or more")
        return law

    @property
    def sizes(self) -> list[int]:
        """The number of positions on the grid of each number."""
        return list(self.law.domain.sizes)

    def encode(self, answer: object) -> MechanismInput:
        """Returns the position of every number on its grid. ``answer`` is {name of a part:
        number}.

        Raises BadAnswer where a part is missing or unknown, or has no number.
        """
        return tuple(_by_part(self, answer))

    def encode_part(self, index: int, answer: object) -> int:
        """Returns the position of one number on its grid: of ``answer``, a number for the part at
        ``index``. Raises BadAnswer if ``answer`` is not a number."""
        return _cell(self.parts[index].range, answer, self.sizes[index], self.name)

    def decode(self, encoded: MechanismInput) -> object:
        """Returns {name of a part: number as text} for the positions ``encoded``."""
        return _firsts(self.parts, cast(Sequence[int], encoded), self.sizes)


class Point(_Asked, frozen=True, kw_only=True, tag="point"):
    """A question for a place on a map: two numbers, which are reported together as one of ``grid``
    x ``grid`` areas.

    ``outline`` is drawn on the map and changes no answer.
    """

    parts: Annotated[list[NumberPart], msgspec.Meta(min_length=2, max_length=2)]
    grid: Annotated[int, msgspec.Meta(ge=2, le=LARGEST_GRID)]
    mechanism: SubsetSelection | Memoised[SubsetSelection]
    outline: Outline | msgspec.UnsetType = msgspec.UNSET

    def __post_init__(self) -> None:
        unique((part.name for part in self.parts), "the part")
        for part in self.parts:
            _fits(part.range, self.grid, exactly=False)
        if (k := self.mechanism.k) != self.grid**2:
            raise ValueError(f"mechanism.k is {k} but the map has {self.grid**2} cells")
        self._keeps_its_claim(self.mechanism)

    @property
    def report_mechanism(self) -> SubsetSelection:
        """The mechanism from an answer to one report, which estimates are based on. For a memoised
        mechanism it combines both rounds of randomisation."""
        mechanism = self.mechanism
        return mechanism.single_report_mechanism if isinstance(mechanism, Memoised) else mechanism

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of areas along each side of the map."""
        return (self.grid, self.grid)

    def encode(self, answer: object) -> MechanismInput:
        """Returns the index of the area of a place. ``answer`` is {name of a part: number}, with
        both parts.

        Raises BadAnswer where a part is missing or unknown, or has no number.
        """
        return _joined(_by_part(self, answer), self.shape)

    def encode_part(self, index: int, answer: object) -> int:
        """Returns the index, along one side of the map, of the areas that contain the number
        ``answer``. ``index`` is that of the part for this side.

        Raises BadAnswer if ``answer`` is not a number.
        """
        return _cell(self.parts[index].range, answer, self.grid, self.name)

    def decode(self, encoded: MechanismInput) -> object:
        """Returns {name of a part: lowest number as text} of the area with the index
        ``encoded``."""
        return _firsts(self.parts, _apart(cast(int, encoded), self.shape), self.shape)


class Product(_Asked, frozen=True, kw_only=True, tag="product"):
    """A question made of several small questions, which are answered in one joint report. The
    report also shows how their answers are associated."""

    parts: Annotated[list[ChoicePart], msgspec.Meta(min_length=2, max_length=MOST_PARTS)]
    mechanism: SubsetSelection | Memoised[SubsetSelection]

    def __post_init__(self) -> None:
        unique((part.name for part in self.parts), "the part")
        if (k := self.mechanism.k) != prod(self.shape):
            raise ValueError(f"mechanism.k is {k} but there are {prod(self.shape)} combinations")
        self._keeps_its_claim(self.mechanism)

    @property
    def report_mechanism(self) -> SubsetSelection:
        """The mechanism from an answer to one report, which estimates are based on. For a memoised
        mechanism it combines both rounds of randomisation."""
        mechanism = self.mechanism
        return mechanism.single_report_mechanism if isinstance(mechanism, Memoised) else mechanism

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of choices of each small question."""
        return tuple(len(part.choices) for part in self.parts)

    def encode(self, answer: object) -> MechanismInput:
        """Returns the index of a combination of choices. ``answer`` is {name of a part: name or
        label of a choice}.

        Raises BadAnswer where a part is missing or unknown, or has no such choice.
        """
        return _joined(_by_part(self, answer), self.shape)

    def encode_part(self, index: int, answer: object) -> int:
        """Returns the index of the choice with the name or label ``answer`` in the part at
        ``index``. Raises BadAnswer if the part has no such choice."""
        return _place(self.parts[index].choices, answer, self.name)

    def decode(self, encoded: MechanismInput) -> object:
        """Returns {name of a part: name of a choice} for the combination with the index
        ``encoded``."""
        places = zip(self.parts, _apart(cast(int, encoded), self.shape), strict=True)
        return {part.name: part.choices[place].name for part, place in places}


InParts = VectorOfNumbers | Point | Product
"""Questions whose answers have a value for each part."""
Question = YesNo | SelectOne | SelectMultiple | Scale | Number | VectorOfNumbers | Point | Product
OfChoices = YesNo | SelectOne | SelectMultiple | Scale
"""Questions with a list of choices."""
Conditional = SelectOne | SelectMultiple | Scale
"""Questions that can have a condition."""
OfOneChoice = YesNo | SelectOne | Scale
"""Questions with one answer out of several. A condition can depend on them."""


def by_name(question: Question, answer: object) -> object:
    """Returns ``answer``, or the name of the choice if ``answer`` is its label.

    A label that two choices share is returned unchanged, like every other answer.
    """
    if isinstance(question, OfOneChoice) and answer not in question.names:
        names = [choice.name for choice in question.choices if choice.label == answer]
        return names[0] if len(names) == 1 else answer
    return answer


def listed(choices: Sequence[Choice]) -> str:
    """Returns the choices as one line of a message: the label of each, with its name in brackets
    if the name is different."""
    return ", ".join(
        each.label if each.label == each.name else f"{each.label} ({each.name})" for each in choices
    )


def _place(choices: Sequence[Choice], answer: object, question: str) -> int:
    """The index of the choice with this name, or else this label."""
    names = [choice.name for choice in choices]
    # Names come first: the label of one choice may be the name of another.
    if answer in names:
        return names.index(str(answer))
    labelled = [place for place, choice in enumerate(choices) if choice.label == answer]
    if len(labelled) != 1:  # two choices may share a label
        raise BadAnswer(f"the answer must be one of {listed(choices)}", question)
    return labelled[0]


def _one_answer(law: Law, *, all_shares: bool) -> None:
    """Raise ValueError unless the mechanism takes one answer; ``all_shares`` wants all shares."""
    # SPEC 4.1 asks this of channels alone, not of windows.
    if all_shares and isinstance(law, Finite) and not law.evenly and law.rows != law.k:
        raise ValueError(
            f"mechanism.weights has {law.rows} rows; it must have one for each of {law.k} choices"
        )
    if isinstance(law.domain, Ticks) and law.domain.limit != 1:
        raise ValueError(f"mechanism.most is {law.domain.limit}; for one answer it must be 1")


def offered(question: OfChoices) -> list[Choice]:
    """Returns the choices that a respondent sees: all of them, but without "not applicable" in a
    question with ``show_if``."""
    if isinstance(getattr(question, "show_if", None), ShowIf):
        return [choice for choice in question.choices if choice.name != NOT_APPLICABLE]
    return list(question.choices)


def _can_hide(show_if: ShowIf | msgspec.UnsetType, names: Sequence[str]) -> None:
    if isinstance(show_if, ShowIf) and NOT_APPLICABLE not in names:
        raise ValueError(
            f"a question with show_if needs the choice {NOT_APPLICABLE}; it has {', '.join(names)}"
        )


def _fits(grid: Range, k: int, *, exactly: bool) -> None:
    if k > grid.positions or (exactly and k != grid.positions):
        raise ValueError(f"mechanism.k is {k} but the range has {grid.positions} positions")


def _cell(grid: Range, answer: object, cells: int, name: str) -> int:
    try:
        return grid.cell(answer, cells)
    except BadAnswer as error:
        raise BadAnswer(str(error), name) from None


def _by_part(question: InParts, answer: object) -> list[int]:
    names = [part.name for part in question.parts]
    if not isinstance(answer, Mapping) or set(cast(Mapping[str, object], answer)) != set(names):
        raise BadAnswer("needs an answer for each of " + ", ".join(names), question.name)
    answers = cast(Mapping[str, object], answer)
    return [question.encode_part(index, answers[name]) for index, name in enumerate(names)]


def _joined(places: Sequence[int], shape: Sequence[int]) -> int:
    index = 0
    for place, size in zip(places, shape, strict=True):
        # Mixed radix, the last part changing soonest (SPEC 4.1).
        index = index * size + place
    return index


def _apart(index: int, shape: Sequence[int]) -> list[int]:
    """The places that ``_joined`` put together."""
    places: list[int] = []
    for size in reversed(shape):
        index, place = divmod(index, size)
        places.append(place)
    return places[::-1]


def _firsts(
    parts: Sequence[NumberPart], cells: Sequence[int], sizes: Sequence[int]
) -> dict[str, str]:
    each = zip(parts, cells, sizes, strict=True)
    return {part.name: part.range.first(cell, size) for part, cell, size in each}
