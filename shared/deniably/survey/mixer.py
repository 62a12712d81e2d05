"""The mixer of a survey: the second party through which answers travel (SPEC 4.8).

Devices seal each answer for the survey's server and all of them for the mixer. The mixer adds
``blanks`` made-up answers to each question and removes what shows who sent what. Against the
survey's server alone a survey keeps the mixer's ``claim``. Against both together the losses of the
mechanisms hold. Devices rely on the mixer for the claim and check its form alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Annotated
from urllib.parse import urlsplit

import msgspec

from deniably.core.loss import Loss
from deniably.mechanisms.law import Law, Several, Supporting
from deniably.survey.parts import (
    LARGEST_DELTA,
    LARGEST_EPSILON,
    SMALLEST_EPSILON,
    Value,
    decimal_fraction,
)
from deniably.survey.privacy import to_decimal_text
from deniably.survey.questions import Question

MOST_ODDS = 20
"""The largest local odds of a question in a survey with a mixer: they hold against both parties."""
MOST_BLANKS = 20_000
"""The most blanks for a question."""
LONGEST_BY = 100
"""The most characters of the name of a mixer's owner."""
ADDRESS = (
    r"^(https://([a-z0-9.-]{1,253}|\[[0-9a-f:.]{2,45}\])|http://(localhost|127\.0\.0\.1|\[::1\]))"
    r"(:[1-9][0-9]{0,4})?\Z"
)
"""An origin, in characters that may stand in a header. Only this machine's has no TLS."""
ENVELOPE_KEY = r"^04[0-9a-f]{128}\Z"

APART = {
    "waves": "cannot have waves, over which the blanks would average out; leave out waves",
    "strata": "cannot have strata, which envelopes do not show; ask for the group as a question",
    "ask": "asks everybody everything; leave out ask",
    "part": "asks everybody everything; leave out part",
    "invited": "has the mixer's invitations; leave out invited, and invite people at the mixer",
    "results.while_open": "has results once it is closed; write while_open: false in results",
    "results.reports": "has no whole reports to give out; leave out reports in results, or write"
    " never",
}
"""The keys of a survey that do not go with a mixer, with the mend."""

_WITHOUT_NUMBERS = 134
"""Bytes of a report to one question, without the question's name and the numbers."""
_NUMBER = 12
"""Characters of the longest number that any mechanism reports, with a comma."""
PREFIX_BYTES = 2
"""Bytes that say how long a text in an envelope is."""
OVERHEAD = 65 + 16
"""Bytes by which an envelope is longer than what it seals: the ephemeral public key and the tag."""
CODE_BYTES = 18
"""Bytes of the code of an invitation in an outer envelope."""
LONGEST_TEXT = (1 << 8 * PREFIX_BYTES) - 1
"""Bytes of the longest text in an envelope."""
_STEP = 64
"""A publisher takes a multiple of so many bytes for the length of reports."""

# The curve P-256 (SP 800-186, section 3.2.1.3): y^2 = x^3 - 3x + B modulo P.
_P = 2**256 - 2**224 + 2**192 + 2**96 - 1
_B = 0x5AC635D8AA3A93E7B3EBBD55769886BC651D06B0CC53B0F63BCE3C3E27D2604B

EnvelopeKey = Annotated[str, msgspec.Meta(pattern=ENVELOPE_KEY)]


def is_address(text: str) -> bool:
    """Returns whether a text is an origin that can be asked: it has the form of ``ADDRESS``, its
    number in brackets is one of IPv6, and its port is one.

    >>> is_address("https://mixer.example.org:8443")
    True
    >>> is_address("https://[::::]"), is_address("https://mixer.example.org:99999")
    (False, False)
    """
    try:
        return bool(re.fullmatch(ADDRESS, text)) and urlsplit(text).port != 0
    except ValueError:  # of urlsplit, for such a number, and of the port
        return False


class MixedClaim(Value, frozen=True):
    """What a survey with a mixer promises against its server alone, for the whole survey.

    Both are decimals as texts. Raises ValueError where ``epsilon`` is not from 0.01 to 10, or
    ``delta`` not one over a whole number of 10,000 or more.

    >>> MixedClaim(epsilon="1.0986", delta="0.000001").loss.epsilon_text()
    '1.10'
    """

    epsilon: str
    delta: str

    def __post_init__(self) -> None:
        if not SMALLEST_EPSILON <= decimal_fraction(self.epsilon) <= LARGEST_EPSILON:
            raise ValueError(f"the epsilon of a mixer's claim is {self.epsilon}; use 0.01 to 10")
        delta = decimal_fraction(self.delta)
        if delta.numerator != 1 or delta > LARGEST_DELTA:
            raise ValueError(
                f"the delta of a mixer's claim is {self.delta}; use one over a whole number of"
                " 10,000 or more, such as 0.000001"
            )

    @property
    def loss(self) -> Loss:
        """The privacy loss that the claim allows."""
        return Loss(exponent=decimal_fraction(self.epsilon), delta=decimal_fraction(self.delta))


class Mixer(Value, frozen=True):
    """The mixer of a survey, as its definition states it.

    ``address`` is its origin and ``by`` the name of its owner. ``key`` and ``signing`` are its
    public keys, of envelopes and of signatures; ``open`` is the key of envelopes of the survey's
    server. A report in an envelope is padded to ``length`` bytes. Each question gets ``blanks``
    made-up reports. Raises ValueError where a key is no key, or both parties have the same.
    """

    address: Annotated[str, msgspec.Meta(pattern=ADDRESS)]
    by: Annotated[str, msgspec.Meta(min_length=1, max_length=LONGEST_BY)]
    key: EnvelopeKey
    signing: Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{64}\Z")]
    open: EnvelopeKey
    length: int
    blanks: Annotated[int, msgspec.Meta(ge=1, le=MOST_BLANKS)]
    claim: MixedClaim

    def __post_init__(self) -> None:
        for name, key in (("key", self.key), ("open", self.open)):
            if not _on_curve(key):
                raise ValueError(f"mixer.{name} is no point of P-256; copy the whole key again")
        if self.key == self.open:
            raise ValueError(
                "mixer.key and mixer.open are the same, so the mixer could read the answers; each"
                " party needs a key of its own"
            )

    def check(self, questions: Sequence[Question]) -> None:
        """Raises ValueError unless answers to these questions can travel through the mixer.

        No mechanism has a delta, no odds are above ``MOST_ODDS``, and all reports fit into
        envelopes of one length.
        """
        check_hidden(questions)
        least = least_length(questions)
        if self.length < least:
            raise ValueError(
                f"mixer.length is {self.length}; the reports to these questions need {least}, so"
                " that none is too long for its envelope"
            )
        if outer_text(self.length, len(questions)) > LONGEST_TEXT:
            raise ValueError(
                f"with mixer.length {self.length} the envelopes of {len(questions)} questions are"
                f" longer than {LONGEST_TEXT:,} bytes; ask fewer questions, or with fewer choices"
            )


def check_hidden(questions: Iterable[Question]) -> None:
    """Raises ValueError unless blanks can hide answers to these questions: no mechanism has a
    delta, and no local odds are above ``MOST_ODDS``."""
    for question in questions:
        loss = question.mechanism.loss
        if loss.delta:
            raise ValueError(
                f"{question.name}: a mixer's blanks hide no mechanism with a delta, and this"
                f" one has {to_decimal_text(loss.delta)}; choose one without, such as laplace"
            )
        if loss.odds_bound > MOST_ODDS:
            raise ValueError(
                f"{question.name}: the odds are {float(loss.odds_bound):.2f}; with a mixer they"
                f" are at most {MOST_ODDS}, because they hold if both parties work together"
            )


def least_length(questions: Iterable[Question]) -> int:
    """Returns how many bytes a padded report has at least, so that any report to one of these
    questions fits."""
    return max(
        PREFIX_BYTES
        + _WITHOUT_NUMBERS
        + len(question.name)
        + _NUMBER * _numbers(question.mechanism.law)
        for question in questions
    )


def usual_length(questions: Iterable[Question]) -> int:
    """Returns the length that a publisher takes for padded reports: a multiple of 64 bytes."""
    return -(-least_length(questions) // _STEP) * _STEP


def outer_text(length: int, questions: int) -> int:
    """Returns how many bytes the outer envelope of so many ``questions`` holds."""
    return CODE_BYTES + questions * (length + OVERHEAD)


def _numbers(law: Law) -> int:
    """The most numbers that a report has."""
    if isinstance(law, Supporting):
        return law.most
    return law.s if isinstance(law, Several) else 1


def _on_curve(key: str) -> bool:
    if not re.fullmatch(ENVELOPE_KEY, key):
        return False
    x, y = int(key[2:66], 16), int(key[66:], 16)
    return max(x, y) < _P and (y**2 - x**3 + 3 * x - _B) % _P == 0
