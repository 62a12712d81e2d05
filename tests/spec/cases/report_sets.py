"""Report sets and their tally files: the cases of report_sets.json."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from deniably.reference.canonical import canonical
from deniably.reference.definition import check_definition
from deniably.reference.mechanisms import check_report
from deniably.reference.refusal import Invalid
from deniably.reference.values import Definition, Json
from spec.cases.mechanisms import (
    bounded,
    channel,
    gaussian,
    laplace,
    sampled_ticks,
    set_response,
    unary,
    vector,
    window,
)
from spec.cases.mixers import EIGHT, mixed
from spec.cases.questions import (
    GAUSS,
    LAPLACE,
    MULTIPLE,
    NUMBER,
    POINT,
    PRODUCT,
    RANGE,
    SCALE,
    VECTOR,
    YES_NO,
    ask,
    changed,
    choices,
    number_part,
    subset,
    survey,
)
from spec.cases.waves import memoised
from spec.report_sets import (
    BLOCK,
    WHOLE,
    columns,
    file_digest,
    files_file,
    mechanism,
    read_tally_file,
    rows,
    tally_file,
)
from spec.vector_types import Case, Group, Made

NOTES = {
    "Noise": "a number plus noise, which may be negative",
    "Unfit": "rows that no device could have made",
    "Names": "names of columns that collide",
    "Pairs": "reports to two questions, counted together",
}
E1 = {"epsilon": "1"}
SHORT = changed(NUMBER, name="f", range=RANGE | {"maximum": "3"}, mechanism=window(4, 5, 2))
TICKS = changed(MULTIPLE, name="t", mechanism=sampled_ticks(4, 2), claim={"odds": "9"})
NOISE = changed(LAPLACE, range=RANGE | {"maximum": "3"}, mechanism=laplace(4, "3"))
SMALL_SET = ask(
    "s", "select_multiple", set_response(3, 1, 2), most=1, choices=choices("x", "y", "z")
)
TWO = ask("b", "select_one", subset(3, 2), choices=choices("x", "y", "z"))
BITS = changed(SMALL_SET, name="u", mechanism=unary(3, 1, 4, 2, 8))
PAIR = changed(PRODUCT, parts=PRODUCT["parts"][::2], mechanism=subset(4))
MIXED = changed(
    VECTOR, mechanism=vector(1, window(11, 2, 1), laplace(21, "40")), claim={"epsilon": "1.6"}
)
SITES = {"strata": {"site": ["south", "north"]}}

Reports = list[Any]


def cases() -> Made:
    groups = [_set(*case) for case in _sets()]
    groups += [_table(*case) for case in _tables()]
    groups.append({"type": "file", "tests": [_file(*case) for case in _files()]})
    groups.append({"type": "digest", "tests": [_digest(*case) for case in _digests()]})
    groups.append({"type": "beside", "tests": [_beside(*case) for case in _sums()]})
    return NOTES, groups


# --- sets: (comment, flags, definition, reports as lists of values, pairs) ---


def _set(
    comment: str, flags: list[str], definition: Definition, reports: Reports, *pairs: list[str]
) -> Group:
    check_definition(definition)
    given = [_report(definition, report) for report in reports]
    found = columns(definition, "strata" in given[0])
    names, table = [column.name for column in found], rows(definition, given)
    case: Case = {"comment": comment, "flags": flags, "reports": given, "pairs": [*pairs]}
    try:
        case |= {"rows": table, "tally": _tally(definition, names, table, [*pairs])}
        case["result"] = "valid"
    except Invalid as reason:
        case |= {"rows": table, "reason": str(reason), "result": "invalid"}
    return {
        "type": "set", "definition": canonical(definition),
        "columns": [[column.name, column.bits] for column in found], "tests": [case],
    }  # fmt: skip


def _tally(definition: Definition, names: list[str], table: Json, pairs: list[list[str]]) -> str:
    """The tally file, but for the definition, which the group has."""
    text = tally_file(definition, names, table, pairs)
    return text.replace(canonical(definition), "<definition>")


def _report(definition: Definition, report: Json) -> dict[str, Any]:
    """A report from its values, in the survey's order, and behind them its stratum, if any."""
    questions = definition["questions"]
    beside = zip(questions, report, strict=False)
    values = {one["name"]: value for one, value in beside if value is not None}
    for question in questions:
        if question["name"] in values:
            check_report(mechanism(question), values[question["name"]])
    strata = dict(zip(("strata",), report[len(questions) :], strict=False))
    return strata | {"values": values}


def _sets() -> Iterator[tuple[Any, ...]]:
    numbers = survey(
        changed(YES_NO, name="one"), SHORT, changed(MULTIPLE, name="c"),
        changed(YES_NO, name="z", mechanism=channel(2, (5, 1), (2, 4)), claim={"odds": "4"}),
        changed(SCALE, mechanism=bounded(3, "2", "resample"), claim=E1),
        PAIR,
    )  # fmt: skip
    one = [
        [[1], [4], [5], [0], [2], [3]], [[0], [0], [0], [1], [0], [0]],
        [[1], [4], [5], [0], [1], [2]], [[1], [0], [4], [0], [2], [3]],
    ]  # fmt: skip
    yield "one number of finitely many", ["Pairs"], numbers, one, ["z", "one"], ["f", "j"]
    sets = survey(
        TWO, SMALL_SET, BITS, POINT, changed(PAIR, mechanism=subset(4, 2)),
        ask("g", "number", subset(3, 2), aim="distribution", range=RANGE),
    )  # fmt: skip
    some = [
        [[0, 2], [1, 3], [], [0, 4, 8], [0, 3], [1, 2]],
        [[1, 2], [0, 2], [0, 1, 2], [1, 2, 3], [1, 2], [0, 1]],
        [[0, 1], [0, 1], [1], [2, 5, 8], [2, 3], [0, 2]],
        [[1, 2], [0, 2], [2], [1, 2, 3], [1, 2], [0, 1]],
    ]
    yield "sets of choices", [], sets, some
    ticks = [[[1, 6]], [[0, 2]], [[1, 2]], [[0, 3]], [[1, 4]], [[4, 7]], [[0, 6]]]
    yield "some of the options", [], survey(TICKS), ticks
    noise = survey(
        changed(NOISE, name="small", mechanism=laplace(4, "1"), claim={"epsilon": "3"}),
        NOISE, GAUSS,
        changed(NOISE, name="far", mechanism=laplace(4, "1000")),
    )  # fmt: skip
    three = [
        [[2], [-120], [-3], [39996]], [[-40], [-1], [-3], [40000]], [[-40], [-7], [4], [40000]],
        [[43], [123], [12], [39990]], [[-40], [-1], [-20], [40003]], [[-40], [-1], [-3], [39991]],
    ]  # fmt: skip
    pairs = (["small", "k"], ["k", "l"])
    yield "numbers plus noise", ["Noise", "Pairs"], noise, three, *pairs
    yield "all noise is negative", ["Noise"], survey(NOISE), [[[-9]], [[-7]], [[-9]]]
    vectors = survey(
        VECTOR, changed(MIXED, name="m"),
        ask(
            "y", "vector", gaussian(11, 2, "3200"), parts=[number_part("u"), number_part("v")],
            claim={"epsilon": "1", "delta": "0.00001"},
        ),
        changed(VECTOR, name="w", mechanism=vector(2, window(11, 3, 1), window(21, 2, 1)),
                claim={"odds": "9"}),
    )  # fmt: skip
    four = [
        [[5], [-21], [-6, 3], [4, 1]], [[0], [2], [20, 21], [0, 3]], [[5], [1], [-6, -7], [4, 1]],
        [[2], [-5], [0, 1], [2, 1]], [[3], [-21], [0, 1], [2, 3]], [[5], [-21], [-6, 3], [2, 3]],
    ]  # fmt: skip
    yield "some numbers of a vector", ["Noise"], vectors, four
    yield from _asking()
    yield from _strata()
    yield from _names()
    kept = changed(
        SCALE, mechanism=memoised(subset(3), 7, 1), claim={"odds": "3", "history": {"odds": "7"}}
    )
    waves = survey(kept, waves={"panel": "p"})
    yield "waves", [], waves, [[[2]], [[0]], [[2]]]
    for names in (["a", "s"], ["t", "a"], ["a", "nobody"]):
        two = survey(YES_NO, SMALL_SET if "s" in names else TICKS)
        comment = f"a pair of {names[0]} and {names[1]}"
        yield comment, ["Pairs"], two, [[[0], [0, 2]]], names


def _asking() -> Iterator[tuple[Any, ...]]:
    some = survey(YES_NO, TWO, TICKS, NOISE, VECTOR, BITS, ask=3)
    six = [
        [[1], None, [3, 4], None, None, []], [None, [0, 2], None, [-3], [2], None],
        [[0], None, None, [-3], [0], None], [[0], None, None, [5], [0], None],
        [None, None, [0, 2], [0], None, [0]], [[1], None, None, [0], None, []],
        [None, [1, 2], None, None, [3], [1, 2]], [[0], [0, 1], [0, 3], None, None, None],
    ]  # fmt: skip
    comment = "some of the questions are asked"
    yield comment, ["Noise", "Pairs"], some, six, ["a", "k"], ["k", "a"]
    few = survey(YES_NO, NOISE, TICKS, ask=1)
    yield "nobody is asked some of them", ["Pairs"], few, [[[1]], [[0]]], ["a", "k"]


def _strata() -> Iterator[tuple[Any, ...]]:
    strata = {"strata": {"site": ["south", "north"], "age": ["old", "mid", "new"]}}
    definition = survey(YES_NO, NOISE, **strata)
    reports = [
        [[0], [5], {"site": "north", "age": "old"}], [[1], [-2], {"site": "south", "age": "new"}],
        [[1], [-2], {"site": "south", "age": "old"}], [[0], [-2], {"site": "south", "age": "mid"}],
        [[0], [5], {"site": "south", "age": "old"}], [[0], [5], {"site": "north", "age": "old"}],
    ]  # fmt: skip
    yield "with strata", ["Noise"], definition, reports
    without = [report[:2] for report in reports]
    yield "without the strata that there are", ["Noise"], definition, without
    yield from _counted_strata()


def _counted_strata() -> Iterator[tuple[Any, ...]]:
    sites = {"strata": {"site": ["south", "north"], "age": ["old", "new"]}}
    places = [{"site": site, "age": age} for age in ("new", "old") for site in ("north", "south")]
    definition = survey(YES_NO, changed(SMALL_SET, name="b"), NOISE, **sites)
    reports = [
        [[place % 2], [place % 3, 3], [5 - 2 * place - extra], one]
        for place, one in enumerate(places)
        for extra in range(1 + place)
    ]
    flags, pairs = ["Noise", "Pairs"], (["a", "k"],)
    yield "every stratum may be seen", flags, definition, reports, *pairs
    definition = definition | {"results": definition["results"] | {"minimum": 2}}
    yield "a stratum has too few", flags, definition, reports, *pairs
    asking = survey(YES_NO, NOISE, TICKS, ask=2, **sites)
    some = [
        report
        for one in places
        for report in ([[1], [-3], None, one], [[0], None, [1, 2], one], [None, [4], [1, 4], one])
    ]
    yield "every stratum has reports to each question", flags, asking, some, ["k", "a"]
    less = [report for report in some if report != [None, [4], [1, 4], places[0]]]
    two = asking | {"results": asking["results"] | {"minimum": 2}}
    yield "a stratum has too few to one question", flags, two, less, ["k", "a"]


def _names() -> Iterator[tuple[Any, ...]]:
    names = survey(
        changed(YES_NO, name="a"), changed(YES_NO, name="A__YES"), changed(YES_NO, name="Row"),
        changed(TWO, name="a_", choices=choices("_no", "no", "No")),
        changed(NOISE, name="a__no"), changed(NOISE, name="a__no_2"),
        strata={"row": ["x", "y"], "row-2": ["x", "y"]},
    )  # fmt: skip
    reports = [[[1], [0], [1], [0, 2], [3], [-4]], [[0], [1], [1], [1, 2], [2], [9]]]
    yield "names that collide", ["Names"], names, reports
    known = [
        [*values, {"row": "y", "row-2": row}] for values, row in zip(reports, "xy", strict=True)
    ]
    yield "with a column of strata called row", ["Names"], names, known
    parts = [
        {"name": name, "label": name, "choices": choices(*names)}
        for name, names in (("p", ("x", "y")), ("p_x", ("p", "x")))
    ]
    product = survey(
        changed(PRODUCT, name="q", parts=parts, mechanism=subset(4)),
        changed(YES_NO, name="q__p"), changed(YES_NO, name="q__X_p"),
        changed(NOISE, name="q__p_x"), changed(NOISE, name="q__p_x_3"),
    )  # fmt: skip
    yield "parts and choices collide", ["Names"], product, [[[2], [1], [0], [3], [3]]]


# --- tables: (comment, flags, definition, whether there are strata, rows, pairs) ---


def _table(
    comment: str, definition: Definition, stratified: bool, table: Any, *pairs: list[str]
) -> Group:
    check_definition(definition)
    found = columns(definition, stratified)
    names = [column.name for column in found]
    case: Case = {"comment": comment, "flags": ["Unfit"], "rows": table, "pairs": [*pairs]}
    case["tally"] = _tally(definition, names, table, [*pairs])
    return {
        "type": "table", "definition": canonical(definition),
        "columns": [[column.name, column.bits] for column in found],
        "tests": [case | {"result": "valid"}],
    }  # fmt: skip


def _tables() -> Iterator[tuple[Any, ...]]:
    n = None
    # f is 0 to 4; k is -120 to 123; of t two; of s and b two; of h one, 0 to 1 and 0 to 2
    every = survey(SHORT, NOISE, TICKS, SMALL_SET, BITS, VECTOR)
    yield "whatever does not fit", every, False, [
        [4, 123, 1, n, 0, n, 1, 0, 0, 1, 0, 0, 0, 1, n],
        [0, -120, n, 1, n, 1, 0, 0, 1, 1, 1, 1, 1, n, 2],
        [5, -1, 1, n, 0, n, 1, 0, 0, 1, 0, 0, 0, 1, n],
        [n, -1, 1, n, 0, n, 1, 0, 0, 1, 0, 0, 0, 1, n],
        [-1, 124, 2, n, 0, n, 1, 0, 0, 0, 0, 2, 0, 2, n],
        [1, n, 1, n, n, n, 1, 1, 0, 1, 0, n, 0, 1, 1],
        [1, -121, 1, 1, 1, n, n, n, n, n, n, n, n, n, n],
        [1, 5, n, n, n, n, 2, 0, 0, 0, 0, 0, -1, n, 3],
        [4, 123, 1, n, 0, n, 1, 0, 0, 1, 0, 0, 0, 1, n],
    ], ["f", "k"]  # fmt: skip
    asking = survey(YES_NO, TWO, TICKS, NOISE, ask=2)
    yield "too many questions and too few", asking, False, [
        [1, n, n, n, n, n, n, n, -3],
        [1, n, n, n, n, n, n, n, n],
        [1, 1, 1, 0, n, n, n, n, -3],
        [n, n, n, n, n, n, n, n, n],
        [n, n, 1, 1, n, n, n, n, 3],
        [n, 0, 1, n, n, n, n, n, 3],
        [n, n, n, n, 1, n, n, n, 3],
        [2, n, n, n, n, n, n, n, 3],
        [n, 0, 1, 1, 1, 0, n, n, n],
    ], ["a", "k"]  # fmt: skip
    some = [
        [0, 1, 0, 1, 1], [1, 0, 1, 1, 0], [2, 0, 1, 1, 0], [-1, 0, 1, 1, 1], [None, 2, 1, 1, 0],
        [1, 2, 1, 1, 0], [0, 0, 1, 1, 1],
    ]  # fmt: skip
    yield "strata that there are not", survey(YES_NO, TWO, **SITES), True, some
    yield "all of a stratum do not fit", survey(YES_NO, TWO, **SITES), True, some[:1] + some[2:]
    yield "nothing fits", survey(NOISE, YES_NO), False, [[124, 2], [None, 0]], ["a", "k"]


# --- tally files: (comment, text) ---


def _file(comment: str, text: str) -> Case:
    case: Case = {"comment": comment, "flags": [], "text": text}
    try:
        read_tally_file(text)
        return case | {"result": "valid"}
    except Invalid as reason:
        return case | {"reason": str(reason), "result": "invalid"}


def _files() -> Iterator[tuple[str, str]]:
    definition = survey(YES_NO)
    whole = json.loads(tally_file(definition, ["a"], [[0], [1], [0], [2]], []))
    yield "a tally file", canonical(whole)
    [only] = whole["strata"]

    def of_all(**changes: Any) -> str:
        return canonical(whole | {"strata": [only | changes]})

    def with_a(**changes: Any) -> str:
        return of_all(tallies={"a": only["tallies"]["a"] | changes})

    yield "another version", canonical(whole | {"tally": 2})
    for key in ("left_out", "unfit", "strata"):
        yield f"without {key}", canonical({k: v for k, v in whole.items() if k != key})
    for key in ("n", "tallies", "pairs"):
        less = {k: v for k, v in only.items() if k != key}
        yield f"without {key}", canonical(whole | {"strata": [less]})
    yield "a key too many", canonical(whole | {"note": 1})
    yield "a key too many beside counts", of_all(note=1)
    yield "a question without counts", of_all(tallies={})
    yield "more reports than there are", with_a(n=4)
    yield "fewer reports than none", with_a(n=-1)
    yield "a count below 0", with_a(counts=[4, -1])
    yield "a cell too many", with_a(counts=[2, 1, 0])
    yield "a cell too few", with_a(counts=[3])
    yield "cells from 1 on", with_a(start=1)
    pairs = [{"rows": "a", "columns": "nobody", "counts": [[0, 0, 1]]}]
    yield "a pair with what is no question", of_all(pairs=pairs)
    yield "a survey that is none", canonical(whole | {"survey": definition | {"spec": 2}})
    yield "strata of a survey without any", canonical(whole | {"strata": [only, only]})
    yield "no strata", canonical(whole | {"strata": []})
    yield "blanks without a mixer", with_a(blanks=0)
    yield from _files_by_stratum()
    yield from _files_with_blanks()


def _files_with_blanks() -> Iterator[tuple[str, str]]:
    definition = mixed(EIGHT, NUMBER, mixer={"blanks": 10})
    eight: Json = {"n": 3, "start": 0, "counts": [6, 7], "blanks": 10}
    numbers = {"n": 4, "start": 0, "counts": [9, 5, 0], "blanks": 10}
    pair = {"rows": "e", "columns": "f", "counts": [[0, 0, 1]]}

    def file(eight: Json, pairs: Sequence[Json] = (), **changes: Any) -> str:
        of_all = {"n": 4, "tallies": {"e": eight, "f": numbers}, "pairs": [*pairs]}
        head = {"tally": 1, "survey": definition, "left_out": 0, "unfit": {}}
        return canonical(head | {"strata": [of_all]} | changes)

    yield "blanks of a mixer", file(eight)
    yield "a mixer, and no blanks", file({key: eight[key] for key in ("n", "start", "counts")})
    for number in (0, 9, 11):
        yield f"{number} blanks, and not 10", file(eight | {"blanks": number})
    yield "blanks that n counts", file(eight | {"n": 13})
    yield "counts without the blanks", file(eight | {"counts": [1, 2]})
    yield "more people than sent", file(eight | {"n": 5, "counts": [8, 7]})
    yield "pairs with a mixer", file(eight, [pair])
    yield "reports that were left out with a mixer", file(eight, left_out=1, unfit={"e": 1})


def _files_by_stratum() -> Iterator[tuple[str, str]]:
    definition = survey(YES_NO, **SITES)
    table: list[list[int | None]] = [[0, 0], [0, 1], [1, 0], [1, 0]]
    whole = json.loads(tally_file(definition, ["site", "a"], table, []))
    south, north = whole["strata"]
    yield "a tally file by stratum", canonical(whole)
    yield (
        "a tally file of all strata",
        tally_file(definition, ["a"], [row[1:] for row in table], []),
    )
    yield "a stratum too many", canonical(whole | {"strata": [south, north, south]})
    three = definition | {"results": definition["results"] | {"minimum": 3}}
    yield "strata that may not be seen", canonical(whole | {"survey": three})
    pairs = [{"rows": "a", "columns": "a", "counts": []}]
    own = [south, north | {"pairs": pairs}]
    yield "pairs of one stratum alone", canonical(whole | {"strata": own})


# --- digests of files: (comment, design, length of the file, changed bytes) ---


def content(length: int, changed: list[int]) -> bytes:
    """A file of which byte i is (i + 7 * floor(i / 256)) modulo 256; of changed bytes, 255 less."""
    rounds = (bytes((at + 7 * row) % 256 for at in range(256)) for row in range(length // 256 + 1))
    found = bytearray(b"".join(rounds)[:length])
    for place in changed:
        found[place] = 255 - found[place]
    return bytes(found)


def _digest(comment: str, design: str, length: int, changed: list[int]) -> Case:
    return {
        "comment": comment, "flags": [], "design": design, "length": length, "changed": changed,
        "digest": file_digest(design, content(length, changed)), "result": "valid",
    }  # fmt: skip


def _digests() -> Iterator[tuple[str, str, int, list[int]]]:
    design, large = '{"n": 5}', WHOLE + 1
    yield "a file", design, 1_000, []
    yield "an empty file", design, 0, []
    yield "beside another design", '{"n": 6}', 1_000, []
    yield "beside a definition with a letter of two bytes", '{"title":"\u00fc"}', 1_000, []
    yield "the largest file of which all counts", design, WHOLE, []
    yield "a byte in its middle", design, WHOLE, [WHOLE // 2]
    yield "a larger file", design, large, []
    yield "its first byte", design, large, [0]
    yield "its last byte", design, large, [large - 1]
    for length in (large + 1, 3_000_000):
        yield "a file with blocks apart", design, length, []
    start = (3_000_000 - BLOCK) // 7
    yield "the first byte of a block", design, 3_000_000, [start]
    yield "the last byte of a block", design, 3_000_000, [start + BLOCK - 1]
    yield "a byte before a block, which does not count", design, 3_000_000, [start - 1]


# --- what is kept beside a tally file: (comment, tally files, digests of each) ---


def _beside(comment: str, tallies: list[str], digests: list[list[str]]) -> Case:
    """One file is there with its digests; several are added, into what is kept beside the sum."""
    case: Case = {"comment": comment, "flags": [], "tallies": tallies, "digests": digests}
    every = [one for some in digests for one in {*some}]
    if len(every) > len({*every}):
        return case | {"result": "invalid", "reason": "a file counts twice"}
    found = _sum([json.loads(one) for one in tallies])
    held = files_file(found, [one for some in digests for one in some])
    return case | {"sum": found, "files": held, "result": "valid"}


def _sum(files: list[Json]) -> str:
    """The sum of tally files of one question and without strata."""
    strata = [one["strata"][0] for one in files]
    counts = [one["tallies"]["a"]["counts"] for one in strata]
    n = sum(one["n"] for one in strata)
    own = {"n": n, "start": 0, "counts": [sum(cells) for cells in zip(*counts, strict=True)]}
    return canonical(files[0] | {"strata": [{"n": n, "tallies": {"a": own}, "pairs": []}]})


def _sums() -> Iterator[tuple[str, list[str], list[list[str]]]]:
    definition = survey(YES_NO)
    monday = tally_file(definition, ["a"], [[0], [1], [0]], [])
    tuesday = tally_file(definition, ["a"], [[1], [1]], [])
    a, b, c = (file_digest("", content(length, [])) for length in (1, 2, 3))
    yield "a tally file", [monday], [[a]]
    yield "digests that are sorted", [monday], [[c, a, b]]
    yield "files of one set that are equal", [monday], [[a, a]]
    yield "two days", [monday, tuesday], [[b], [a, c]]
    yield "the other way round", [tuesday, monday], [[a, c], [b]]
    yield "a file of both", [monday, tuesday], [[a, b], [b, c]]
