"""Makes the answers that a replay gives to one question, by kinds; each kind is a class of inputs.

A randomiser is walked by its input, a number below k. But people give texts, and what becomes of a
text is code as well: borders, fractions, numbers beyond the range and odd spellings are answers of
their own. Everything here reads the published definition as JSON.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import combinations, product
from math import prod
from random import Random
from typing import Any

Json = Any
REFUSED: Json = {"$refused": True}
"""Stands in place of the answer that SPEC has, where a device must refuse what was typed."""

_MANY = 128
_BORDERS = 64
_TYPED = 48
# The characters of the longest number that SPEC 4.1 takes.
_LONGEST = 40


@dataclass(frozen=True)
class Input:
    """An answer in two forms: ``typed``, as a device gets it, and ``plain``, as SPEC 4.1 has it.

    ``kind`` names its class of inputs. {"$decimal": "7.5"} stands for a Decimal of Python.
    ``anywhere`` is False for inputs that only the Python device takes: labels and Decimals.
    """

    kind: str
    typed: Json
    plain: Json
    anywhere: bool = True

    @property
    def refused(self) -> bool:
        """Whether a device must refuse the answer."""
        return bool(self.plain == REFUSED)


def inputs_of(question: Mapping[str, Json], random: Random) -> list[Input]:
    """Returns answers to a question of any type, one or more of each class of inputs."""
    match question["type"]:
        case "select_multiple":
            kinds = list(_of_ticks(question, random))
        case "number":
            kinds = list(_of_range(question["range"], cells_of(question), random))
        case "vector" | "point":
            kinds = list(_of_number_parts(question, random))
        case "product":
            kinds = list(_of_choice_parts(question, random))
        case _:
            kinds = list(_of_choices(question))
    return kinds


def any_input(question: Mapping[str, Json], random: Random) -> Json:
    """Returns a random answer in the form of SPEC 4.1, such that every input of the mechanism is
    about equally likely."""
    match question["type"]:
        case "select_multiple":
            names = [choice["name"] for choice in _offered(question)]
            return random.sample(names, random.randint(0, min(question["most"], len(names))))
        case "number":
            return _any_number(question["range"], cells_of(question), random)
        case "vector" | "point":
            return {
                part["name"]: _any_number(part["range"], cells, random)
                for part, cells in _parts_with_cells(question)
            }
        case "product":
            return {p["name"]: random.choice(p["choices"])["name"] for p in question["parts"]}
        case _:
            return random.choice(_offered(question))["name"]


def place(question: Mapping[str, Json], index: int) -> Json:
    """Returns the answer number ``index`` to a question, in the form of SPEC 4.1.

    The answers for 0 to ``places(question) - 1`` are different; larger numbers repeat them.
    """
    match question["type"]:
        case "select_multiple":
            offered = _offered(question)
            return [offered[index % len(offered)]["name"]]
        case "number":
            return _first(question["range"], index % cells_of(question), cells_of(question))
        case "vector" | "point":
            return {
                part["name"]: _first(part["range"], index % cells, cells)
                for part, cells in _parts_with_cells(question)
            }
        case "product":
            combination: dict[str, Json] = {}
            for part in reversed(question["parts"]):
                index, at = divmod(index, len(part["choices"]))
                combination[part["name"]] = part["choices"][at]["name"]
            return combination
        case _:
            offered = _offered(question)
            return offered[index % len(offered)]["name"]


def places(question: Mapping[str, Json]) -> int:
    """Returns how many different answers ``place`` gives.

    It is the number of choices, of combinations, or of the cells of a number.
    """
    match question["type"]:
        case "number":
            return cells_of(question)
        case "vector" | "point":
            return max(cells for _, cells in _parts_with_cells(question))
        case "product":
            return prod(len(part["choices"]) for part in question["parts"])
        case _:
            return len(_offered(question))


def cells_of(question: Mapping[str, Json]) -> int:
    """Returns the number of cells into which a number question's mechanism cuts its range."""
    return int(_once(question)["k"])


def _once(question: Mapping[str, Json]) -> Mapping[str, Json]:
    mechanism: Mapping[str, Json] = question["mechanism"]
    mechanism_once: Mapping[str, Json] = mechanism.get("once", mechanism)
    return mechanism_once


def _parts_with_cells(question: Mapping[str, Json]) -> Iterator[tuple[Mapping[str, Json], int]]:
    for index, part in enumerate(question["parts"]):
        mechanism = _once(question)
        cells = (
            question["grid"]
            if question["type"] == "point"
            else mechanism["k"]
            if mechanism["name"] == "gaussian"
            else mechanism["parts"][index]["k"]
        )
        yield part, int(cells)


# --- choices --------------------------------------------------------------------------------------

_NO_CHOICES: Sequence[Json] = ("no such choice", "", None, 0, True, ["yes"], {"yes": "yes"})


def _offered(question: Mapping[str, Json]) -> list[Mapping[str, str]]:
    """The choices of somebody who sees the question."""
    hides = "show_if" in question
    return [each for each in question["choices"] if not hides or each["name"] != "not_applicable"]


def _of_choices(question: Mapping[str, Json]) -> Iterator[Input]:
    names = [choice["name"] for choice in question["choices"]]
    labels = [choice["label"] for choice in question["choices"]]
    if "show_if" in question:
        yield Input("no choice", "not_applicable", REFUSED)
    for choice in _offered(question):
        yield Input("each choice", choice["name"], choice["name"])
        if labels.count(choice["label"]) == 1 and choice["label"] not in names:
            yield Input("each label", choice["label"], choice["name"], anywhere=False)
    odd = [*_NO_CHOICES, names[0] + " ", names[0].swapcase(), names[-1] + "\n"]
    for typed in odd:
        if typed not in names and typed not in labels:
            yield Input("no choice", typed, REFUSED)


def _of_ticks(question: Mapping[str, Json], random: Random) -> Iterator[Input]:
    all_, names = question["choices"], [choice["name"] for choice in _offered(question)]
    maximum = min(question["most"], len(names))
    if "show_if" in question:
        yield Input("no ticks", ["not_applicable"], REFUSED)
    yield Input("no tick", [], [])
    for name in names:
        yield Input("one tick", [name], [name])
    # 23 choices have 253 pairs, which a replay can afford.
    for several in combinations(names, 2) if len(names) <= 23 else ():
        if maximum > 1:
            yield Input("two ticks", list(several), list(several))
    for _ in range(8):
        full = random.sample(names, maximum)
        yield Input("the most ticks", full, full)
        yield Input("ticks in another order", full[::-1], full)
    yield Input("a tick twice", [names[0], names[0]], [names[0]])
    labels = [choice["label"] for choice in question["choices"]]
    for tick in _offered(question):
        if labels.count(tick["label"]) == 1 and tick["label"] not in [
            each["name"] for each in all_
        ]:
            yield Input("each label", [tick["label"]], [tick["name"]], anywhere=False)
    refused: list[Json] = ["", None, 0, ["no such choice"], [None], [names]]
    for typed in (*refused, names[0], *([names] if question["most"] < len(names) else [])):
        yield Input("no ticks", typed, REFUSED)


def _of_choice_parts(question: Mapping[str, Json], random: Random) -> Iterator[Input]:
    parts = question["parts"]
    lists = [[choice["name"] for choice in part["choices"]] for part in parts]
    number = places(question)
    combined: Iterator[Sequence[str]] = (
        iter(product(*lists))
        if number <= _MANY
        else ([random.choice(names) for names in lists] for _ in range(_MANY))
    )
    for chosen in combined:
        combination = {part["name"]: name for part, name in zip(parts, chosen, strict=True)}
        yield Input("each combination", combination, combination)
    first = {part["name"]: names[0] for part, names in zip(parts, lists, strict=True)}
    for typed in _wrong_parts(first, "no such choice"):
        yield Input("no combination", typed, REFUSED)


def _wrong_parts(right: Mapping[str, Json], wrong: Json) -> Iterator[Json]:
    names = list(right)
    yield {name: right[name] for name in names[1:]}
    yield {**right, "no such part": right[names[0]]}
    yield {**right, names[0]: wrong}
    yield {**right, names[-1]: None}
    yield "no such choice"
    yield None


# --- numbers --------------------------------------------------------------------------------------


def decimal_text(value: Fraction) -> str:
    """Returns the text of a fraction that is a finite decimal: plain digits without an exponent.

    >>> decimal_text(Fraction(-15, 2)), decimal_text(Fraction(40))
    ('-7.5', '40')
    """
    places_after, scaled = 0, abs(value.numerator)
    while scaled % value.denominator:
        places_after, scaled = places_after + 1, scaled * 10
    digits = str(scaled // value.denominator).rjust(places_after + 1, "0")
    sign = "-" if value < 0 else ""
    if not places_after:
        return sign + digits
    return f"{sign}{digits[:-places_after]}.{digits[-places_after:]}"


def _grid(limits: Mapping[str, str]) -> tuple[Fraction, Fraction, int]:
    """(minimum, step, the number of positions)"""
    return _positions(limits["minimum"], limits["maximum"], limits["step"])


@cache
def _positions(minimum: str, maximum: str, step: str) -> tuple[Fraction, Fraction, int]:
    low, high, width = Fraction(minimum), Fraction(maximum), Fraction(step)
    return low, width, int((high - low) / width) + 1


def _first(limits: Mapping[str, str], cell: int, cells: int) -> str:
    low, step, count = _grid(limits)
    # The first position i for which floor(i * cells / count) is the cell (SPEC 4.1).
    return decimal_text(low + step * -(-cell * count // cells))


def _any_number(limits: Mapping[str, str], cells: int, random: Random) -> str:
    low, step, count = _grid(limits)
    cell = random.randrange(cells)
    first, behind = (-(-cell_at * count // cells) for cell_at in (cell, cell + 1))
    value = low + step * random.randrange(first, behind)
    odd = random.randrange(6)
    if odd == 0:
        value += step * Fraction(random.randrange(-499, 500), 1000)
    elif odd == 1 and cell in (0, cells - 1):
        value += (1 if cell else -1) * Fraction(random.randrange(10**6), 100)
    text = decimal_text(value)
    return text if len(text) <= _LONGEST else decimal_text(low)


# Texts that some languages read as numbers: exponents, separators, digits of other scripts.
_NO_NUMBERS: Sequence[Json] = (
    "", " ", "seven", "1e1", "1,5", "0x10", "1_0", "--1", "+", ".", "1.2.3", "٣", "１", "1/2",
    "inf", "nan", "0" * 41, None, True, [], {}, [7],
)  # fmt: skip


def _of_range(limits: Mapping[str, str], cells: int, random: Random) -> Iterator[Input]:
    texts = {(kind, decimal_text(value)) for kind, value in _values(limits, cells, random)}
    fitting = sorted(kind_and_text for kind_and_text in texts if len(kind_and_text[1]) <= _LONGEST)
    for kind, text in fitting:
        yield Input(kind, text, text)
    for _, text in random.sample(fitting, min(_TYPED, len(fitting))):
        yield from _other_types(text)
    low, _, _ = _grid(limits)
    whole = decimal_text(Fraction(abs(int(low)) + 7))
    spelt = [
        f"+{whole}", f"00{whole}", f" {whole} ", f"{whole}.", f"{whole}.0", f"{whole}.50", ".5",
        "+.5", "-.5", "-0", "0.", "00", f"{whole}.4999999999999999999", "9" * _LONGEST,
        "-" + "9" * (_LONGEST - 1), "\t" + whole,
    ]  # fmt: skip
    for text in spelt:
        yield Input("spellings", text, text)
    for typed in _NO_NUMBERS:
        yield Input("no number", typed, REFUSED)


def _other_types(text: str) -> Iterator[Input]:
    """The same number as numbers of a program are."""
    if "." not in text:
        # Above this JavaScript rounds integers.
        if abs(int(text)) < 2**53:
            yield Input("as an integer", int(text), text)
    # Only floats that are written back as they were typed; others are other numbers.
    elif repr(float(text)) == text:
        yield Input("as a float", float(text), text)
    yield Input("as a Decimal", {"$decimal": text}, text, anywhere=False)


def _values(
    limits: Mapping[str, str], cells: int, random: Random
) -> Iterator[tuple[str, Fraction]]:
    low, step, count = _grid(limits)
    high, little = low + step * (count - 1), step / 10**9
    borders = [-(-cell * count // cells) for cell in range(cells)]
    for border in borders if cells <= _MANY else _some(borders, random):
        yield "every cell", low + step * border
    positions = range(count) if count <= _MANY else _some(range(count), random)
    for position in positions:
        yield "positions", low + step * position
        yield "half steps", low + step * (position + Fraction(1, 2))
        yield "fractions", low + step * (position + Fraction(random.randrange(1, 1000), 1000))
    for border in borders if cells <= _BORDERS else _some(borders, random):
        middle = low + step * (border - Fraction(1, 2))
        yield "borders of cells", low + step * border
        yield "borders of cells", middle
        yield "beside borders", middle - little
        yield "beside borders", middle + little
        yield "beside borders", low + step * border - little
    for value in (low, high):
        for by in (-step, -step / 2, -little, 0, little, step / 2, step):
            yield "both ends", value + by
    reach = high - low
    for by in (1, 7, Fraction(1, 2), reach, 1000 * reach, Fraction(10**12)):
        yield "beyond the ends", high + by
        yield "beyond the ends", low - by
    for number in range(int(low) - 2, int(min(high, low + _MANY)) + 3):
        yield "whole numbers", Fraction(number)
        yield "whole numbers and a half", number + Fraction(1, 2)


def _some(of: Sequence[int], random: Random) -> list[int]:
    few = {of[0], of[1], of[-2], of[-1], *random.sample(of, min(_BORDERS, len(of)))}
    return sorted(few)


def _of_number_parts(question: Mapping[str, Json], random: Random) -> Iterator[Input]:
    """The kinds of each part's numbers, beside any numbers of the others."""
    parts = list(_parts_with_cells(question))
    for part, cells in parts:
        every_input = list(_of_range(part["range"], cells, random))
        kept = _few_of_each(every_input, 40 if len(parts) <= 2 else 4, random)
        for chosen in kept:
            rest = {
                other["name"]: _any_number(other["range"], count, random) for other, count in parts
            }
            typed = rest | {part["name"]: chosen.typed}
            plain = REFUSED if chosen.refused else rest | {part["name"]: chosen.plain}
            yield Input(chosen.kind, typed, plain, chosen.anywhere)
    right = {part["name"]: _first(part["range"], 0, cells) for part, cells in parts}
    for typed in _wrong_parts(right, "seven"):
        yield Input("no numbers", typed, REFUSED)


def _few_of_each(every_input: Sequence[Input], limit: int, random: Random) -> list[Input]:
    kinds: dict[str, list[Input]] = {}
    for each in every_input:
        kinds.setdefault(each.kind, []).append(each)
    return [x for those in kinds.values() for x in random.sample(those, min(limit, len(those)))]


# --- what counts as an answer ---------------------------------------------------------------------


def answers_in(question: Mapping[str, Json], encoded: int | list[int]) -> list[str]:
    """Returns the answers that an input of the question's mechanism stands for, as texts to count.

    They are a cell; each tick, or "none" without any; or "<part>.<position>" for each part.
    """
    if isinstance(encoded, int):
        return [str(encoded)]
    if question["type"] == "vector" or (question["type"] == "number"):
        return [f"{part}.{position}" for part, position in enumerate(encoded)]
    return [str(tick) for tick in encoded] or ["none"]


def answers_to(question: Mapping[str, Json]) -> int:
    """Returns how many different texts ``answers_in`` gives for a question."""
    match question["type"]:
        case "select_multiple":
            return len(question["choices"]) + 1
        case "vector":
            return sum(cells for _, cells in _parts_with_cells(question))
        case "number":
            return cells_of(question)
        case "point":
            return int(question["grid"]) ** 2
        case "product":
            return places(question)
        case _:
            return len(question["choices"])
