"""The picture of how this works: 30 answers pass through chance, and what is sent.

As many are sent as yes as the mechanism sends on average. The picture is still; ``rain.css`` lets
it fall once, where people allow motion.
"""

from __future__ import annotations

from collections.abc import Iterable, Set
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from markupsafe import Markup

from deniably.mechanisms import SubsetSelection
from deniably.wording.words import Words

PEOPLE = 30
MECHANISM = SubsetSelection(k=2, omega=1, own=3, other=1)
"""Two answers; 3 of 4 devices send their own."""
YES = frozenset({7, 9, 11, 12, 13, 14, 16, 20, 21})
"""Who would say yes, counted from 0."""
TURNED = frozenset({1, 2, 3, 5, 7, 10, 11})
"""Whose answer chance turns round."""
SENT = YES ^ TURNED
_EVERYBODY = frozenset(range(PEOPLE))
COMPATIBLE = (0, 19)
"""How many of these people may say yes, as far as their reports show (95 %, exact)."""

_STEP, _EDGE, _TOP, _BOTTOM = 12, 6, 6, 106
_WAITS = 6
"""Groups that begin to fall one after the other."""


@dataclass(frozen=True)
class Undoing:
    """How the true number is worked out: ``(sent - chance) * each = found``, all exact."""

    sent: int
    chance: Decimal
    left: Decimal
    each: int
    found: int


def undoing() -> Undoing:
    """The sum for the people of the picture, by the unbiased estimator (Warner 1965)."""
    p, q = MECHANISM.law.p, MECHANISM.law.q
    chance = PEOPLE * q
    left, each = len(SENT) - chance, 1 / (p - q)
    return Undoing(len(SENT), _decimal(chance), _decimal(left), int(each), int(left * each))


def example_numbers() -> dict[str, int]:
    """The numbers for the texts ``how.*``: of people, of answers that pass, and of yes."""
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


def picture(words: Words, *, moves: bool) -> Markup:
    """The picture as SVG, with a text that is read out in its place; one for each page.

    Without ``moves`` it leaves out what falls, and is still everywhere.
    """
    start = Markup(
        '<svg class="rain{}" viewBox="0 0 360 112" role="img" aria-labelledby="raint raind">'
        '<title id="raint">{}</title><desc id="raind">{}</desc>'
    ).format(
        "" if moves else " still",
        words("how.picture", **example_numbers()),
        words("how.described", **example_numbers()),
    )
    parts = [
        start,
        _threads("th", _EVERYBODY - TURNED),
        _threads("th x", TURNED),
        Markup('<rect class="veil" x=".5" y="38" width="359" height="36" rx="6"/>'),
        _row(YES, _TOP),
        Markup('<g class="e">{}</g>').format(_row(SENT, _BOTTOM)),
        *(_falling(one) for one in range(PEOPLE) if moves),
        Markup("</svg>"),
    ]
    return Markup("").join(parts)


def _x(person: int) -> int:
    return _EDGE + _STEP * person


def _threads(kind: str, people: Iterable[int]) -> Markup:
    lines = "".join(f"M{_x(one)} 12v88" for one in sorted(people))
    return Markup('<path class="{}" d="{}"/>').format(kind, lines)


def _row(yes: Set[int], y: int) -> Markup:
    """30 dots: filled for yes, hollow for no. Each is a line without length, with round ends."""
    filled, hollow = (
        "".join(f"M{_x(one)} {y}h.1" for one in sorted(some)) for some in (yes, _EVERYBODY - yes)
    )
    return Markup(
        '<path class="y" d="{}"/><defs><path id="n{y}" d="{}"/></defs>'
        '<use class="n" href="#n{y}"/><use class="o" href="#n{y}"/>'
    ).format(filled, hollow, y=y)


def _falling(person: int) -> Markup:
    path = ("y" if person in YES else "n") + ("y" if person in SENT else "n")
    return Markup('<circle class="f {} k{}" cx="{}" cy="6" r="4"/>').format(
        path, person % _WAITS, _x(person)
    )


def _decimal(exact: Fraction) -> Decimal:
    return Decimal(exact.numerator) / exact.denominator
