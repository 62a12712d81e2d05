"""Defines what each key of an author's survey may hold, with the sentences that an author reads.

The JSON Schema is made of these types (``schema``); the values that have them are in ``written``.
None stands for a key that was not written. A key whose ``says`` has ``needs`` must be written; its
default only allows the other keys to be checked where it is missing.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from deniably.core.canonical import LARGEST_INTEGER
from deniably.design.best_mechanisms import Beyond
from deniably.design.named_mechanisms import NAMES
from deniably.survey.mixer import MOST_BLANKS
from deniably.survey.parts import (
    CHOICES,
    FEW_CHOICES,
    FIELD_NAME,
    LARGEST_DELTA,
    LARGEST_EPSILON,
    LONGEST_OUTLINE,
    MOST_SHORT,
    SEVERAL,
    SMALLEST_EPSILON,
    SURVEY_NAME,
    Value,
)
from deniably.survey.questions import LARGEST_GRID, LARGEST_SCORE, Aim
from deniably.survey.strata import MOST_KEYS, MOST_STRATA
from deniably.survey.survey import MOST_PEOPLE, MOST_QUESTIONS, MOST_WAVES


class Numeral(str):
    """A number as its author wrote it, so that its exact value is known.

    The value of 0.1 is one tenth, and not the nearest floating-point number.
    """

    __slots__ = ()

    @property
    def exact(self) -> Fraction:
        """The exact value. Raises ValueError or ZeroDivisionError where the text is no number."""
        return Fraction(self)


def says(description: str, needs: str = "", type: Any = None, **keywords: Any) -> Meta:  # noqa: A002  # the keyword of JSON Schema
    """Returns the description of a type for the schema: what a key may hold.

    ``needs`` completes the error "<type of question> needs ..." where the key is missing. ``type``
    and ``keywords`` are keywords of JSON Schema for what Python's type does not say.
    """
    schema = keywords | ({"type": type} if type else {})
    extra = {"needs": needs} if needs else None
    return Meta(description=description, extra_json_schema=schema or None, extra=extra)


# --- texts and names --------------------------------------------------------------------------

_Text = Annotated[str, Meta(min_length=1, max_length=500, pattern=r"\S")]
_Prose = Annotated[str, Meta(min_length=1, max_length=5000, pattern=r"\S")]
# JSON Schema's regular expressions have no \Z.
_Address = Annotated[str, Meta(pattern=SURVEY_NAME.replace(r"\Z", "$"))]
_Name = Annotated[str, Meta(pattern=FIELD_NAME.replace(r"\Z", "$"))]

FieldName = Annotated[
    _Name, says("a letter or underscore, then letters, digits, and _ . -, at most 64 characters")
]
Label = Annotated[_Text, says("the question itself: a text of 1 to 500 characters")]
PartLabel = Annotated[_Text, says("a text of 1 to 500 characters")]
ChoiceLabel = Annotated[_Text, says("the text that respondents see, 1 to 500 characters")]
Hint = Annotated[
    _Text | None, says("an explanation under the question: a text of 1 to 500 characters")
]
_Fact = Annotated[str, Meta(min_length=1, max_length=1000, pattern=r"\S")]
_FACT = "a text of 1 to 1000 characters; it stands under the intro, and in the dossier"
Short = Annotated[
    Annotated[str, Meta(min_length=1, max_length=MOST_SHORT, pattern=r"\S")] | None,
    says(
        f"what tables, figures and titles call the question: a text of 1 to {MOST_SHORT}"
        " characters (default: the label, cut at a word)"
    ),
]
Unit = Annotated[_Text | None, says("the unit of the number: a text of 1 to 500 characters")]
SurveyName = Annotated[
    _Address,
    says("a short name for addresses: lower-case letters, digits and hyphens, at most 64"),
]
Title = Annotated[_Text, says("the heading that respondents see: a text of 1 to 500 characters")]
Intro = Annotated[
    _Prose | None, says("a text of 1 to 5000 characters for the first page; it may have paragraphs")
]
Contact = Annotated[
    _Prose | None, says("who asks and how to reach them: a text of 1 to 5000 characters")
]
Controller = Annotated[
    _Fact | None,
    says(f"who is responsible for the data: {_FACT}"),
]
LegalBasis = Annotated[_Fact | None, says(f"on what law the study rests: {_FACT}")]
Retention = Annotated[_Fact | None, says(f"how long results and reports are kept: {_FACT}")]
Consent = Annotated[_Fact | None, says(f"how respondents consent, and withdraw: {_FACT}")]
Language = Annotated[
    str,
    Meta(pattern="^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*$"),
    says("the language of the texts, such as en or pt-BR"),
]

# --- privacy ----------------------------------------------------------------------------------

_EPSILON: dict[str, Any] = {
    "type": "number",
    "minimum": float(SMALLEST_EPSILON),
    "maximum": int(LARGEST_EPSILON),
}
_CHANCE: dict[str, Any] = {
    "type": ["number", "string"],
    # The bounds of numbers only catch mistakes early; `Privacy` checks the exact value.
    "pattern": "^[1-9][0-9]*/[1-9][0-9]*$",
    "minimum": 1e-06,
    "maximum": 0.999999,
}

Epsilon = Annotated[
    Numeral | None,
    says("a number from 0.01 to 10; the smaller, the safer, and 1 is usual", **_EPSILON),
]
WholeEpsilon = Annotated[
    Numeral, says("a number from 0.01 to 10 for all questions together", **_EPSILON)
]
Odds = Annotated[
    Numeral | None,
    says(
        "e^epsilon, exactly: a number or a fraction such as 13/7, from about 1.0101 to 22026",
        type=["number", "string"],
        pattern="^[1-9][0-9]*(/[1-9][0-9]*)?$",
        minimum=1,
        maximum=22027,
    ),
]
FirstCoin = Annotated[
    Numeral,
    says(
        "the probability of the first coin: a number or a fraction such as 2/3, strictly between 0"
        " and 1",
        **_CHANCE,
    ),
]
SecondCoin = Annotated[
    Numeral | None,
    says(
        "the probability with which the second coin shows yes: a number or a fraction, strictly"
        " between 0 and 1 (default 1/2, the only efficient one)",
        **_CHANCE,
    ),
]


class WrittenCoins(Value, frozen=True):
    """The two-coin design: the probabilities of answering truthfully, and of "yes" otherwise."""

    truth: FirstCoin
    yes: SecondCoin = None

    @property
    def unfair(self) -> Fraction | None:
        """The probability with which the second coin shows "yes", if it is not 1/2; else None.

        Raises ValueError or ZeroDivisionError where the author wrote no number.
        """
        yes = Fraction(1, 2) if self.yes is None else self.yes.exact
        return None if yes == Fraction(1, 2) else yes


Coins = Annotated[
    WrittenCoins | None,
    says(
        "the two-coin design: {truth: 0.5} answers truthfully with probability 1/2, and otherwise"
        " picks among all choices with a fair coin"
    ),
]
MechanismName = Annotated[
    str | None,
    says("the name of a mechanism; without it the most accurate one is taken", enum=list(NAMES)),
]
Delta = Annotated[
    Numeral | None,
    says(
        "the chance with which a gaussian promise may fail: a number above 0 and at most 0.0001",
        type="number",
        exclusiveMinimum=0,
        maximum=float(LARGEST_DELTA),
    ),
]

# --- choices ----------------------------------------------------------------------------------


class WrittenChoice(Value, frozen=True):
    """A choice with a name of its own."""

    name: FieldName
    label: ChoiceLabel


AnyChoice = Annotated[
    _Text | WrittenChoice, says("a text of 1 to 500 characters, or {name: ..., label: ...}")
]
Choices = Annotated[
    tuple[AnyChoice, ...],
    CHOICES,
    says("a list of 2 to 1024 choices", needs="choices, a list of 2 to 1024"),
]
ChoicesInOrder = Annotated[
    tuple[AnyChoice, ...],
    CHOICES,
    says("a list of 2 to 1024 choices", needs="choices, a list of 2 to 1024 in their order"),
]
FewChoices = Annotated[
    tuple[AnyChoice, ...],
    FEW_CHOICES,
    says("a list of 2 to 512 choices", needs="choices"),
]
Most = Annotated[
    Annotated[int, Meta(ge=1, le=1024)] | None,
    says("how many choices may be ticked: an integer from 1 (default: all)"),
]
Score = Annotated[int, Meta(ge=-LARGEST_SCORE, le=LARGEST_SCORE), says("an integer below 2^31")]
Scores = Annotated[
    Annotated[tuple[Score, ...], CHOICES] | None,
    says("a list of integers, one for each choice, ascending"),
]
Category = Annotated[
    Literal["dont_know", "prefer_not_to_say", "not_applicable"],
    says("dont_know, prefer_not_to_say or not_applicable"),
]
Also = Annotated[
    Annotated[tuple[Category, ...], Meta(min_length=1, max_length=3)] | None,
    says("a list of dont_know, prefer_not_to_say, not_applicable", uniqueItems=True),
]


class WrittenCondition(Value, frozen=True):
    """A condition: shows a question only to people who gave one of these answers to an earlier
    question."""

    question: FieldName
    # "is" is what authors write; it is no name in Python.
    among: Annotated[
        _Name | Annotated[tuple[FieldName, ...], Meta(min_length=1)],
        says("the name of a choice, or a list of names"),
    ] = msgspec.field(name="is")

    @property
    def names(self) -> list[str]:
        """The names of the choices with which the question is shown."""
        return [self.among] if isinstance(self.among, str) else list(self.among)


ShowIf = Annotated[
    WrittenCondition | None,
    says("{question: <an earlier question>, is: <one of its choices, or a list>}"),
]

# --- numbers ----------------------------------------------------------------------------------

_VALUE: dict[str, Any] = {"type": "number", "minimum": -(10**12), "maximum": 10**12}

Minimum = Annotated[
    Numeral,
    says(
        "the smallest number that counts, such as 0",
        needs="a minimum: numbers below it count as the minimum",
        **_VALUE,
    ),
]
Maximum = Annotated[
    Numeral,
    says(
        "the largest number that counts",
        needs="a maximum: numbers above it count as the maximum",
        **_VALUE,
    ),
]
Step = Annotated[
    Numeral | None,
    says(
        "a number above 0, to which numbers are rounded (default 1)",
        type="number",
        exclusiveMinimum=0,
        maximum=10**12,
    ),
]
AimOf = Annotated[Aim, says("distribution or mean: what the answers are asked for")]
Buckets = Annotated[
    Annotated[int, Meta(ge=2, le=256)] | None,
    says("into how many ranges a distribution is cut: an integer from 2 to 256 (default 32)"),
]
BeyondRange = Annotated[
    Beyond | None,
    says("clamp or resample: what bounded_laplace does with numbers beyond the range"),
]
Grid = Annotated[
    Annotated[int, Meta(ge=2, le=LARGEST_GRID)] | None,
    says("into how many columns and rows the map is cut: an integer from 2 to 32"),
]

_OUTLINE = (
    "the name of a GeoJSON file beside the survey, or a list of lines, each a list of points such"
    " as [4.9, 52.4], in the numbers of the two parts"
)
_Coordinate = Annotated[Numeral, says(_OUTLINE, **_VALUE)]
_Position = Annotated[tuple[_Coordinate, ...], Meta(min_length=2, max_length=2), says(_OUTLINE)]
_Line = Annotated[tuple[_Position, ...], Meta(min_length=2), says(_OUTLINE)]
Outline = Annotated[
    Annotated[str, Meta(min_length=1, max_length=LONGEST_OUTLINE, pattern=r"\S")]
    | Annotated[tuple[_Line, ...], Meta(min_length=1)]
    | None,
    says(_OUTLINE),
]

# --- parts ------------------------------------------------------------------------------------


class _WrittenPart(Value, frozen=True, kw_only=True):
    name: FieldName
    label: PartLabel


class WrittenNumberPart(_WrittenPart, frozen=True, kw_only=True):
    """A part of a vector or a point: a number with its range."""

    minimum: Minimum = Numeral("0")
    maximum: Maximum = Numeral("0")
    step: Step = None
    unit: Unit = None


class WrittenChoicePart(_WrittenPart, frozen=True, kw_only=True):
    """A part of a product: a question with few choices."""

    choices: FewChoices = ()


_PART = says("a part: name, label, and minimum and maximum (vector, point) or choices (product)")
_NumberParts = Annotated[tuple[Annotated[WrittenNumberPart, _PART], ...], SEVERAL]
Numbers = Annotated[
    _NumberParts,
    says("a list of 2 to 64 parts", needs="parts, each with name, label, minimum and maximum"),
]
TwoNumbers = Annotated[
    _NumberParts,
    says("a list of 2 to 64 parts", needs="two parts, each with name, label, minimum and maximum"),
]
SmallQuestions = Annotated[
    tuple[Annotated[WrittenChoicePart, _PART], ...],
    SEVERAL,
    says("a list of 2 to 64 parts", needs="parts, each with name, label and choices"),
]

# --- the survey -------------------------------------------------------------------------------


class WrittenResults(Value, frozen=True):
    """Says when the results are shown, and to whom."""

    minimum: Annotated[
        int,
        Meta(ge=1, le=LARGEST_INTEGER),
        says(
            "the number of reports from which on results are shown: an integer of at least 1"
            " (default 100)"
        ),
    ] = 100
    while_open: Annotated[
        bool,
        says(
            "true (results are shown before the survey is closed, from twice the minimum on and"
            " without the newest reports) or false (the default)"
        ),
    ] = False
    to: Annotated[
        Literal["analysts"] | None,
        says(
            "analysts (only people with an analyst's token see results); without it, everybody does"
        ),
    ] = None
    reports: Annotated[
        Literal["analysts", "public", "never"],
        says(
            "who may have the randomised reports of the closed survey: analysts (with a token, the"
            " default), public (everybody) or never; the form tells respondents"
        ),
    ] = "analysts"
    linkable: Annotated[
        bool,
        says(
            "true, to allow a public list of reports in which more than 1 in 10 lines are alone of"
            " their kind; the form tells respondents"
        ),
    ] = False


class WrittenWaves(Value, frozen=True, kw_only=True):
    """Says that the survey is one wave of a panel, and how its waves are randomised."""

    panel: Annotated[
        _Address,
        says(
            "the same short name in every wave: lower-case letters, digits and hyphens, at most 64"
        ),
    ]
    history: Annotated[
        Numeral | None,
        says(
            "the epsilon of all waves together, as a multiple of that of one report: a number"
            " from 1.1 to 100 (default 2, or 3 where reports name several choices)",
            type="number",
            minimum=1.1,
            maximum=100,
        ),
    ] = None
    count: Annotated[
        Annotated[int, Meta(ge=2, le=MOST_WAVES)] | None,
        says(
            "how many waves there are at most, from 2 to 100: devices then draw fresh chance in"
            " each wave and refuse further waves, unless a smaller history is stated"
        ),
    ] = None
    waves: Annotated[
        Annotated[int, Meta(ge=2, le=MOST_WAVES)] | None,
        says(
            "how many waves are planned, from 2 to 100 (default 5), for the number of people who"
            " can be recognised; leave it out beside count"
        ),
    ] = None
    people: Annotated[
        Annotated[int, Meta(ge=2, le=MOST_PEOPLE)] | None,
        says(
            "how many people take part in a wave, or in its smallest stratum, from 2 to 1000000"
            " (default 100), for the number of people who can be recognised"
        ),
    ] = None
    recognisable: Annotated[
        bool,
        says(
            "true, to allow waves in which 10 or more of 100 people could be recognised from wave"
            " to wave; the form tells respondents"
        ),
    ] = False

    @property
    def open_choice(self) -> bool:
        """Whether the compiler chooses if devices keep memos (permanently randomised answers).

        It does if the author gave the number of waves, but neither ``count`` nor ``history``.
        """
        return self.waves is not None and self.count is None and self.history is None

    @property
    def afresh(self) -> bool:
        """Whether answers are randomised afresh in each wave, without a memo.

        That is so where ``count`` states the number of waves. It is not so if the author also
        states a ``history`` below ``count``, which only memos can keep.
        """
        if self.count is None:
            return False
        return self.history is None or self.history.exact >= self.count


class WrittenBudget(Value, frozen=True, kw_only=True):
    """The epsilon that all questions of a survey share."""

    epsilon: WholeEpsilon
    spend: Annotated[
        Literal["split", "sample", "auto"] | None, says("split, sample or auto (the default)")
    ] = None
    ask: Annotated[
        Annotated[int, Meta(ge=1, le=MOST_QUESTIONS - 1)] | None,
        says("how many questions each device asks: an integer from 1 (with spend: sample)"),
    ] = None


_StratumName = Annotated[
    _Address,
    says("a short text of lower-case letters, digits and hyphens, at most 64"),
]
_StratumNames = Annotated[
    Annotated[tuple[_StratumName, ...], Meta(min_length=2, max_length=MOST_STRATA)],
    says(f"a list of 2 to {MOST_STRATA} short texts, none twice", uniqueItems=True),
]
Strata = Annotated[
    Annotated[dict[_StratumName, _StratumNames], Meta(min_length=1, max_length=MOST_KEYS)] | None,
    says(
        "{site: [north, south]}: the groups that respondents come in, as their links say"
        f" (?site=north); at most {MOST_STRATA} strata with all keys together. They are public:"
        " they are not randomised"
    ),
]
_OneLine = Annotated[str, Meta(min_length=1, max_length=255, pattern=r"\S")]


class WrittenOffer(Value, frozen=True, kw_only=True):
    """A mixer's signed offer, as whoever runs the mixer gave it to the author."""

    address: Annotated[_OneLine, says("the mixer's address")]
    by: Annotated[_OneLine, says("who runs the mixer")]
    key: Annotated[_OneLine, says("the mixer's key of envelopes")]
    signing: Annotated[_OneLine, says("the mixer's key of signatures")]
    signature: Annotated[_OneLine, says("the mixer's signature of the offer")]


class WrittenMixer(Value, frozen=True, kw_only=True):
    """Says which mixer the answers travel through, and what the server alone may learn."""

    offer: Annotated[
        _OneLine | WrittenOffer,
        says(
            "the file with the mixer's signed offer, in the folder of the survey, such as"
            " offer.json; or what is in it"
        ),
    ]
    open: Annotated[
        _OneLine | None,
        says("the key of envelopes of the survey's server, which deniably publish asks it for"),
    ] = None
    odds: Annotated[
        Numeral | None,
        says(
            "what all answers of one person together may give away to the survey's server alone: a"
            " number or a fraction such as 13/7, from about 1.0101 to 22026",
            type=["number", "string"],
            pattern="^[1-9][0-9]*(/[1-9][0-9]*)?$",
            minimum=1,
            maximum=22027,
        ),
    ] = None
    epsilon: Annotated[
        Numeral | None,
        says("these odds as an epsilon instead: a number from 0.01 to 10", **_EPSILON),
    ] = None
    delta: Annotated[
        Numeral | None,
        says(
            "the chance with which that may fail, one over a whole number of 10000 or more (default"
            " 0.000001)",
            type="number",
            exclusiveMinimum=0,
            maximum=float(LARGEST_DELTA),
        ),
    ] = None
    blanks: Annotated[
        Annotated[int, Meta(ge=1, le=MOST_BLANKS)] | None,
        says(
            f"how many blanks the mixer adds to each question, from 1 to {MOST_BLANKS} (default:"
            " the fewest that are enough)"
        ),
    ] = None


Mixer = Annotated[
    WrittenMixer | None,
    says(
        "{offer: offer.json, odds: 3}: the answers travel through a mixer, which somebody else"
        " runs; it adds blanks to them and removes what shows who sent what. Each question then has"
        " odds of 8, unless it states its own, which hold if the mixer works with the server"
    ),
]
Results = Annotated[WrittenResults, says("when the results are shown")]
Invited = Annotated[
    bool,
    says(
        "true (one report for each invitation, and nobody learns whose it is) or false (the"
        " default: anybody may answer)"
    ),
]
Part = Annotated[
    bool | None,
    says(
        "true (a device with too little privacy budget left may answer a part of the questions,"
        " drawn by chance; the default, where the survey has no show_if, no waves and no public"
        " list of reports) or false (all or none)"
    ),
]
Waves = Annotated[
    WrittenWaves | None,
    says(
        "{panel: workplace, history: 2}: the survey is one wave of a panel, whose people are asked"
        " again and again; devices answer each wave from what they keep for it, or with fresh"
        " chance if count says how many waves there are"
    ),
]
Budget = Annotated[
    WrittenBudget | None,
    says(
        "{epsilon: 2, spend: auto}: one epsilon for the whole survey; then no question states its"
        " own"
    ),
]
