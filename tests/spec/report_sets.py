"""Section 12, report sets and tally files."""

from __future__ import annotations

from hashlib import sha256
from itertools import product
from typing import Any, NamedTuple

from deniably.reference.canonical import canonical, parse
from deniably.reference.definition import check_definition, memoised
from deniably.reference.parameters import reach
from deniably.reference.refusal import require
from deniably.reference.strata import numbered
from deniably.reference.values import Definition, Json, Mechanism, Question

Row = list[int | None]
Given = dict[str, Any]
"""A report of section 5 without its survey and id."""


class Column(NamedTuple):
    """``of`` is the question, or the key of the strata."""

    name: str
    of: str
    low: int
    high: int

    @property
    def bits(self) -> int:
        return next(
            bits
            for bits in (8, 16, 32, 64)
            if -(2 ** (bits - 1)) <= self.low <= self.high < 2 ** (bits - 1)
        )


# --- 12.1: columns ---


def mechanism(question: Question) -> Mechanism:
    found: Mechanism = question["mechanism"]
    return found["once"] if memoised(question) else found


def ends(m: Mechanism) -> tuple[int, int]:
    """The least and the largest number in a report of one number."""
    if m["name"] in ("laplace", "gaussian"):
        return -reach(m), m["k"] - 1 + reach(m)
    if m["name"] == "window":
        return 0, m["m"] - 1
    if m["name"] == "channel":
        return 0, len(m["weights"][0]) - 1
    return 0, m["k"] - 1 + (m["most"] if m["name"] == "set_response" else 0)


def kind(question: Question) -> str:
    """The row of the table: number, set, ticks, noise or vector."""
    m = mechanism(question)
    if question["type"] == "vector":
        return "vector"
    if m["name"] in ("laplace", "gaussian"):
        return "noise"
    if m["name"] == "sampled_ticks":
        return "ticks"
    size = {"subset_selection": m.get("omega"), "set_response": m.get("size"), "unary": None}
    return "number" if size.get(m["name"], 1) == 1 else "set"


def parts(m: Mechanism) -> list[Mechanism]:
    """The mechanisms of a vector's parts."""
    return [m] * m["d"] if m["name"] == "gaussian" else m["parts"]


def choices(question: Question) -> list[str]:
    """The names of what is chosen from, padding last."""
    m = mechanism(question)
    if question["type"] == "product":
        each = ([choice["name"] for choice in part["choices"]] for part in question["parts"])
        names = ["_".join(names) for names in product(*each)]
    elif question["type"] == "point":
        names = [f"{a}_{b}" for a in range(question["grid"]) for b in range(question["grid"])]
    elif question["type"] == "number":
        names = [str(cell) for cell in range(m["k"])]
    else:
        names = [choice["name"] for choice in question["choices"]]
    blanks = m["most"] if m["name"] == "set_response" else 0
    return names + [str(m["k"] + blank) for blank in range(blanks)]


def own_columns(question: Question) -> list[Column]:
    """The columns of a question, before their names are made unique."""
    name, m = question["name"], mechanism(question)
    if kind(question) in ("number", "noise"):
        return [Column(name, name, *ends(m))]
    if kind(question) == "vector":
        beside = zip(question["parts"], parts(m), strict=True)
        return [Column(f"{name}__{part['name']}", name, *ends(one)) for part, one in beside]
    return [Column(f"{name}__{choice}", name, 0, 1) for choice in choices(question)]


def further_names(question: Question) -> list[str]:
    """The names that follow from a number, which no other column has."""
    if kind(question) != "number":
        return []
    if mechanism(question)["name"] not in ("subset_selection", "set_response"):
        return []
    of_parts = question["parts"] if question["type"] == "product" else []
    names = [part["name"] for part in of_parts] + choices(question)
    return [f"{question['name']}__{name}" for name in names]


def columns(definition: Definition, stratified: bool) -> list[Column]:
    taken = {"row"}

    def unique(name: str) -> str:
        found, number = name, 1
        while found.lower() in taken:
            number += 1
            found = f"{name}_{number}"
        taken.add(found.lower())
        return found

    strata = [
        Column(unique(key), key, 0, len(values) - 1)
        for key, values in sorted(definition.get("strata", {}).items())
    ]
    found = strata if stratified else []
    for question in definition["questions"]:
        for column in own_columns(question):
            found.append(column._replace(name=unique(column.name)))
        for name in further_names(question):
            unique(name)
    return found


# --- 12: rows ---


def cells(question: Question, report: list[int] | None) -> Row:
    """A report in its question's columns."""
    count = len(own_columns(question))
    if report is None:
        return [None] * count
    if kind(question) in ("number", "noise"):
        return [report[0]]
    if kind(question) == "set":
        return [int(place in report) for place in range(count)]
    found: Row = [None] * count
    for one in report:
        if kind(question) == "ticks":
            found[one // 2] = one % 2
        else:
            found[one % count] = one // count
    return found


def rows(definition: Definition, reports: list[Given]) -> list[Row]:
    """The rows of reports, with strata if the reports have them, in the order of their content."""

    def content(report: Given) -> list[Any]:
        found: list[Any] = [numbered(definition).index(report["strata"])] if stratified else []
        for question in definition["questions"]:
            value = report["values"].get(question["name"])
            shown = cells(question, value) if kind(question) == "set" else value
            found.append([0] if value is None else [1, *shown])
        return found

    def row(report: Given) -> Row:
        found: Row = [
            definition["strata"][key].index(value)
            for key, value in sorted(report.get("strata", {}).items())
        ]
        for question in definition["questions"]:
            found += cells(question, report["values"].get(question["name"]))
        return found

    stratified = "strata" in reports[0]
    return [row(report) for report in sorted(reports, key=content)]


# --- 12.2: the tally file ---


def fits(definition: Definition, question: Question, own: Row) -> bool:
    """Whether a row fits a question, whose cells are ``own``."""
    m, there = mechanism(question), [value for value in own if value is not None]
    if not there and definition.keys() & {"ask", "part"}:
        return True
    for value, column in zip(own, own_columns(question), strict=True):
        if value is not None and not column.low <= value <= column.high:
            return False
    if kind(question) == "ticks" or m["name"] == "vector":
        return len(there) == m["s"]
    if len(there) < len(own):
        return False
    size = {"subset_selection": "omega", "set_response": "size"}.get(m["name"])
    return kind(question) != "set" or size is None or sum(there) == m[size]


def asked(question: Question, own: Row) -> bool:
    if kind(question) == "set":
        return own[0] is not None
    return any(value is not None for value in own)


def unfit(definition: Definition, row: dict[str, Row]) -> list[str]:
    """What a row does not fit; it is given by question and key."""
    questions = definition["questions"]
    found = [one["name"] for one in questions if not fits(definition, one, row[one["name"]])]
    for key, values in definition.get("strata", {}).items():
        if key in row and row[key][0] not in range(len(values)):
            found.append(key)
    count = sum(asked(question, row[question["name"]]) for question in questions)
    most = definition.get("ask", len(questions))
    if "part" in definition:
        found += ["number of questions"] * (not 1 <= count <= most)
    elif "ask" in definition:
        found += ["number of questions"] * (count != most)
    return found


def counted(question: Question, own: Row) -> list[int]:
    """The cells in which a row that fits counts."""
    there = [(place, value) for place, value in enumerate(own) if value is not None]
    if kind(question) == "set":
        return [place for place, value in there if value == 1]
    if kind(question) == "ticks":
        return [2 * place + value for place, value in there]
    return [len(own) * value + place for place, value in there]


def cell_count(question: Question) -> int | None:
    """How many cells there are; None where a number is one plus noise."""
    m, count = mechanism(question), len(own_columns(question))
    if kind(question) == "vector":
        if any(one["name"] in ("laplace", "gaussian") for one in parts(m)):
            return None
        return count * max(ends(one)[1] + 1 for one in parts(m))
    if kind(question) == "ticks":
        return 2 * count
    if kind(question) == "set":
        return count
    return None if kind(question) == "noise" else ends(m)[1] + 1


def tally(question: Question, table: list[dict[str, Row]]) -> dict[str, Any]:
    own = [row[question["name"]] for row in table]
    found = [cell for one in own for cell in counted(question, one)]
    count, start = cell_count(question), 0
    if count is None:
        start = min(found, default=0)
        count = max(found) - start + 1 if found else 0
    counts = [found.count(cell) for cell in range(start, start + count)]
    return {"n": sum(asked(question, one) for one in own), "start": start, "counts": counts}


def pair(definition: Definition, names: list[str], table: list[dict[str, Row]]) -> dict[str, Any]:
    kinds = {question["name"]: kind(question) for question in definition["questions"]}
    require(all(kinds.get(name) in ("number", "noise") for name in names), "reports of one number")
    found = [(row[names[0]][0], row[names[1]][0]) for row in table]
    both = [(one, other) for one, other in found if one is not None and other is not None]
    counts = [[*values, both.count(values)] for values in sorted(set(both))]
    return {"rows": names[0], "columns": names[1], "counts": counts}


def tally_file(
    definition: Definition, names: list[str], table: list[Row], pairs: list[list[str]]
) -> str:
    """The text of the tally file of rows whose columns have these ``names``."""
    strata = [column.name for column in columns(definition, True)]
    strata = strata[: len(definition.get("strata", {}))]
    own = columns(definition, set(strata) <= set(names))
    require(all(column.name in names for column in own), "a column is missing")
    keys = sorted(definition.get("strata", {}))

    def stratum(row: dict[str, Row]) -> dict[str, str]:
        return {key: definition["strata"][key][row[key][0]] for key in keys}

    found = list[dict[str, Row]]()
    for values in table:
        row = dict[str, Row]()
        for column in own:
            row.setdefault(column.of, []).append(values[names.index(column.name)])
        found.append(row)
    wrong = [unfit(definition, row) for row in found]
    kept = [row for row, whys in zip(found, wrong, strict=True) if not whys]
    whys = [why for whys in wrong for why in whys]
    parts = [kept]
    if set(strata) <= set(names):
        parts = [[row for row in kept if stratum(row) == one] for one in numbered(definition)]
    if not all(may_be_seen(definition, part) for part in parts):
        parts = [kept]
    return canonical({
        "tally": 1,
        "survey": definition,
        "left_out": len(found) - len(kept),
        "unfit": {why: whys.count(why) for why in whys},
        "strata": [
            {
                "n": len(part),
                "tallies": {one["name"]: tally(one, part) for one in definition["questions"]},
                "pairs": [pair(definition, names, part) for names in sorted(pairs)],
            }
            for part in parts
        ],
    })  # fmt: skip


def may_be_seen(definition: Definition, table: list[dict[str, Row]]) -> bool:
    """Whether rows of a stratum have as many reports to every question as results need."""
    counts = [sum(asked(q, row[q["name"]]) for row in table) for q in definition["questions"]]
    return min(counts) >= definition["results"]["minimum"]


def read_tally_file(text: str) -> None:
    """Raise Invalid unless it is a tally file."""
    found: Json = parse(text)
    keys = {"tally", "survey", "left_out", "unfit", "strata"}
    require(type(found) is dict and set(found) == keys, "a key is unknown or missing")
    require(found["tally"] == 1, "another version")
    definition = found["survey"]
    check_definition(definition)
    strata = found["strata"]
    require(len(strata) in (1, len(numbered(definition))), "the strata of the survey")
    mixer = definition.get("mixer", {})
    require(not mixer or not (found["left_out"] or found["unfit"]), "whole reports with a mixer")
    for one in strata:
        require(not mixer or not one["pairs"], "pairs with a mixer")
        check_counts(definition["questions"], one, mixer.get("blanks", 0))
        pairs = [
            [(two["rows"], two["columns"]) for two in each["pairs"]] for each in (one, strata[0])
        ]
        require(pairs[0] == pairs[1], "the same pairs of all strata")
        reports = [own["n"] for own in one["tallies"].values()]
        few = min(reports) < definition["results"]["minimum"]
        require(len(strata) == 1 or not few, "strata that may be seen")


def check_counts(questions: list[Question], found: Json, blanks: int) -> None:
    require(set(found) == {"n", "tallies", "pairs"}, "a key is unknown or missing")
    for question in questions:
        require(question["name"] in found["tallies"], "a question without counts")
        one, count = found["tallies"][question["name"]], cell_count(question)
        keys = {"n", "start", "counts"} | ({"blanks"} if blanks else set())
        require(set(one) == keys, "a key is unknown or missing")
        require(one.get("blanks", 0) == blanks, "the blanks of the definition")
        require(0 <= one["n"] <= found["n"], "more reports than there are")
        require(min(one["counts"], default=0) >= 0, "a count below 0")
        if count is not None:
            require(len(one["counts"]) == count and one["start"] == 0, "the cells that there are")
        require(are_counts(question, one, one["n"] + blanks), "the counts of so many reports")
    names = [question["name"] for question in questions]
    require(set(found["tallies"]) == set(names), "counts of what is no question")
    pairs = set[tuple[str, str]]()
    for two in found["pairs"]:
        require(set(two) == {"rows", "columns", "counts"}, "a key is unknown or missing")
        require(two["rows"] in names and two["columns"] in names, "a question of the survey")
        require((two["rows"], two["columns"]) not in pairs, "the same pair twice")
        pairs.add((two["rows"], two["columns"]))
        values = [(row, column) for row, column, _ in two["counts"]]
        require(len(set(values)) == len(values), "the same reports twice")
        for place, name in enumerate((two["rows"], two["columns"])):
            check_pair(place, two["counts"], found["tallies"][name])


def are_counts(question: Question, one: Json, n: int) -> bool:
    """Whether ``n`` reports, of so many cells each, can have these counts."""
    m, total = mechanism(question), sum(one["counts"])
    if kind(question) == "ticks" or m["name"] == "vector":
        return bool(total == m["s"] * n)
    if kind(question) != "set":
        return bool(total == n)
    size = {"subset_selection": "omega", "set_response": "size"}.get(m["name"])
    if size is not None and total != m[size] * n:
        return False
    return bool(max(one["counts"]) <= n)


def check_pair(place: int, counts: Json, one: Json) -> None:
    """Raise Invalid where pairs have more reports of a number than the question's counts."""
    for number in {values[place] for values in counts}:
        here = [values[2] for values in counts if values[place] == number]
        known = number - one["start"]
        there = one["counts"][known] if 0 <= known < len(one["counts"]) else 0
        require(min(here) >= 0 and sum(here) <= there, "more pairs than reports")


# --- 12.3, sums of tally files ---

WHOLE, BLOCK = 1_048_576, 131_072


def file_digest(design: str, content: bytes) -> str:
    """The digest of a Parquet file beside its design."""
    length = len(content)
    if length > WHOLE:
        starts = [i * (length - BLOCK) // 7 for i in range(8)]
        blocks = [content[start : start + BLOCK] for start in starts]
        content = length.to_bytes(8, "big") + b"".join(blocks)
    return sha256(design.encode() + content).hexdigest()


def files_file(tally: str, digests: list[str]) -> str:
    """What is kept beside a tally file."""
    own = sha256(tally.encode()).hexdigest()
    return canonical({"counted": 1, "tally": own, "files": sorted(digests)})
