"""Draws the picture that explains randomised response: 30 answers, chance, and what is sent.

As many people send yes as the mechanism makes on average. The picture is still; ``rain.css`` lets
it fall once, where people allow motion.
"""

from __future__ import annotations

from collections.abc import Iterable, Set
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from deniably.core.languages.html import Html
from deniably.mechanisms.subset_selection import subset_selection
from deniably.wording.words import Words

PEOPLE = 30
MECHANISM = subset_selection(k=2, own=3, other=1)
"""Warner's design with two answers: on average 3 of 4 devices send their own."""
YES = frozenset({7, 9, 11, 12, 13, 14, 16, 20, 21})
"""The people whose true answer is yes, counted from 0."""
TURNED = frozenset({1, 2, 3, 5, 7, 10, 11})
"""The people whose answer chance turns round."""
SENT = YES ^ TURNED
"""The people whose report is yes."""
_EVERYBODY = frozenset(range(PEOPLE))
COMPATIBLE = (0, 19)
"""The fewest and the most of these people who may truly say yes, by an exact 95 % interval for
their reports."""

_STEP, _EDGE, _TOP, _BOTTOM = 12, 6, 6, 106
_WAITS = 6
"""How many groups of dots begin to fall one after the other."""


@dataclass(frozen=True)
class Undoing:
    """The steps by which the number of people whose true answer is yes is estimated: ``(sent -
    chance) * each = estimate``.

    ``sent`` is the number of reports that say yes, and ``chance`` the number expected if no true
    answer is yes. ``left`` is their difference, and ``each`` the factor that turns it into the
    estimate. All are exact.
    """

    sent: int
    chance: Decimal
    left: Decimal
    each: int
    estimate: int


def undoing() -> Undoing:
    """Returns the steps of the estimate for the 30 people of the picture. The estimator is n (N/n
    - q) / (p - q), which is unbiased (Warner 1965, SPEC 2.4)."""
    p, q = MECHANISM.law.p, MECHANISM.law.q
    chance = PEOPLE * q
    rest, factor = len(SENT) - chance, 1 / (p - q)
    return Undoing(len(SENT), _decimal(chance), _decimal(rest), int(factor), int(rest * factor))


def example_numbers() -> dict[str, int]:
    """Returns {placeholder: number} for the texts with the keys ``how.*``: the numbers of people,
    of answers that pass unchanged, and of yes."""
    passed = MECHANISM.law.p
    return {
        "all": PEOPLE,
        "yes": len(YES),
        "sent": len(SENT),
        "kept": passed.numerator,
        "turned": passed.denominator - passed.numerator,
        "out_of": passed.denominator,
        "low": COMPATIBLE[0],
        "high": COMPATIBLE[1],
    }


def picture(words: Words, *, moves: bool) -> Html:
    """Returns the picture of 30 people and their reports as SVG, with a text for screen readers.

    If ``moves`` is true, the dots can fall, by the animation in ``rain.css``. A page may have only
    one such picture, because of its ids.
    """
    return Html.filled(
        '<svg class="rain{still}" viewBox="0 0 360 112" role="img" aria-labelledby="raint raind">'
        '<title id="raint">{title}</title><desc id="raind">{about}</desc>{kept}{turned}'
        '<rect class="veil" x=".5" y="38" width="359" height="36" rx="6"/>'
        '{true}<g class="e">{sent}</g>{falling}</svg>',
        still=Html("" if moves else " still"),
        title=Html.text(words("how.picture", **example_numbers())),
        about=Html.text(words("how.described", **example_numbers())),
        kept=_threads(Html("th"), _EVERYBODY - TURNED), turned=_threads(Html("th x"), TURNED),
        true=_row(YES, _TOP), sent=_row(SENT, _BOTTOM),
        falling=Html.joined("", (_falling(person) for person in range(PEOPLE) if moves)),
    )  # fmt: skip


def _x(person: int) -> int:
    return _EDGE + _STEP * person


def _threads(kind: Html, people: Iterable[int]) -> Html:
    lines = (Html.filled("M{x} 12v88", x=_x(person)) for person in sorted(people))
    return Html.filled('<path class="{kind}" d="{d}"/>', kind=kind, d=Html.joined("", lines))


def _row(yes: Set[int], y: int) -> Html:
    """Returns 30 dots: filled for yes, hollow for no. Each is a line without length, with round
    ends."""
    filled, hollow = (
        Html.joined("", (Html.filled("M{x} {y}h.1", x=_x(person), y=y) for person in sorted(group)))
        for group in (yes, _EVERYBODY - yes)
    )
    return Html.filled(
        '<path class="y" d="{filled}"/><defs><path id="n{y}" d="{hollow}"/></defs>'
        '<use class="n" href="#n{y}"/><use class="o" href="#n{y}"/>',
        filled=filled, hollow=hollow, y=y,
    )  # fmt: skip


def _falling(person: int) -> Html:
    return Html.filled(
        '<circle class="f {was}{sent} k{wait}" cx="{x}" cy="6" r="4"/>',
        was=Html("y" if person in YES else "n"), sent=Html("y" if person in SENT else "n"),
        wait=person % _WAITS, x=_x(person),
    )  # fmt: skip


def _decimal(exact: Fraction) -> Decimal:
    return Decimal(exact.numerator) / exact.denominator
