"""Strata in definitions, links, reports and memories: the cases of strata.json."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from deniably.reference.canonical import canonical, digest, parse
from deniably.reference.definition import check_definition
from deniably.reference.ledger import read_document
from deniably.reference.refusal import Invalid
from deniably.reference.strata import of_link, of_report
from deniably.reference.values import Definition, Json
from spec.cases.definitions import workplace
from spec.cases.ledger import EMPTY
from spec.vector_types import Case, Made

NOTES = {
    "Names": "keys and values are spelt as the name of a survey",
    "Many": "8 strata at most, of all keys together",
    "Prototype": "names that every JavaScript object has already",
    "Type": "a value of another type than the specification says",
    "Other": "parameters of an address that are no keys of the strata",
    "Again": "the survey was answered before, by another link",
}
SITES = workplace(strata={"site": ["north", "south"]})
SHIFTS = workplace(strata={"site": ["south", "north"], "shift": ["night", "day"]})
PLAIN = workplace()


def cases() -> Made:
    groups: list[dict[str, Any]] = [
        {
            "type": f"{result}_definition",
            "tests": [_definition(*case, result=result) for case in made()],
        }
        for result, made in (("valid", _valid), ("invalid", _invalid))
    ]
    for definition, links in ((SITES, _links()), (SHIFTS, _links_of_two())):
        tests = [_link(definition, *case) for case in links]
        groups.append({"type": "link", "definition": json.dumps(definition), "tests": tests})
    for definition in (SITES, SHIFTS, PLAIN):
        tests = [_report(definition, *case) for case in _reports()]
        groups.append({"type": "report", "definition": json.dumps(definition), "tests": tests})
    groups.append({"type": "document", "tests": [_document(*case) for case in _documents()]})
    tests = [_again(*case) for case in (("site=north", "south"), ("site=south", "south"))]
    tests += [_again("site=north", None), _again("", "north"), _again("", None)]
    groups.append({"type": "again", "definition": json.dumps(SITES), "tests": tests})
    return NOTES, groups


def _definition(comment: str, flags: list[str], strata: Json, *, result: str) -> Case:
    text = json.dumps(workplace(strata=strata))
    case: Case = {"comment": comment, "flags": flags, "text": text}
    try:
        case["digest"] = check_definition(parse(text))
    except Invalid as reason:
        case["reason"] = str(reason)
    assert ("digest" in case) == (result == "valid"), (comment, case)
    return case | {"result": result}


def _valid() -> Iterator[tuple[Any, ...]]:
    yield "two sites", [], {"site": ["north", "south"]}
    yield "another order of the values", [], {"site": ["south", "north"]}
    yield "eight years", ["Many"], {"year": [f"202{i}" for i in range(8)]}
    yield "two keys with eight strata", ["Many"], {"a": ["1", "2"], "b": ["1", "2", "3", "4"]}
    yield "three keys with eight strata", ["Many"], {key: ["x", "y"] for key in "abc"}
    yield "the shortest and the longest names", ["Names"], {"0" * 64: ["a", "z" * 64]}
    yield "hyphens", ["Names"], {"a--b": ["n-1", "n-2"]}
    prototype = {"constructor": ["constructor", "prototype"]}
    yield "names of the prototype", ["Prototype"], prototype


def _invalid() -> Iterator[tuple[Any, ...]]:
    value: Json
    yield "no key", [], {}
    yield "one value", [], {"site": ["north"]}
    yield "no value", [], {"site": []}
    yield "a value twice", [], {"site": ["north", "south", "north"]}
    yield "nine values", ["Many"], {"site": [f"n{i}" for i in range(9)]}
    yield "nine strata of two keys", ["Many"], {"a": ["1", "2", "3"], "b": ["1", "2", "3"]}
    yield "sixteen strata of four keys", ["Many"], {key: ["x", "y"] for key in "abcd"}
    for name in ("", "-a", "a-", "A", "a_b", "a b", "\u00e4", "a" * 65, "north\n", "__proto__"):
        yield f"the key {name[:9]!r}", ["Names"], {name: ["north", "south"]}
        yield f"the value {name[:9]!r}", ["Names"], {"site": [name, "south"]}
    for value in ([], ["site"], "site", 1, True, [["site", ["north", "south"]]]):
        yield "strata that are no object", ["Type"], value
    for value in ("north", 2, True, {"north": "North", "south": "South"}, [1, 2], ["north", 2]):
        yield "values that are no list of names", ["Type"], {"site": value}
    for value in ([["north"], "south"], [{"name": "north"}, "south"], ["north", True]):
        yield "a value that is no name", ["Type"], {"site": value}
    yield "one value beside two", [], {"shift": ["day"], "site": ["north", "south"]}


def _link(definition: Definition, comment: str, flags: list[str], query: str) -> Case:
    case: Case = {"comment": comment, "flags": flags, "query": query}
    try:
        return case | {"strata": of_link(definition, query), "result": "valid"}
    except Invalid as reason:
        return case | {"reason": str(reason), "result": "invalid"}


def _links() -> Iterator[tuple[str, list[str], str]]:
    yield "north", [], "site=north"
    yield "south", [], "site=south"
    yield "in other letters", [], "site=%6eorth"
    yield "the key in other letters", [], "%73ite=north"
    for query in ("language=de&site=north", "site=north&utm_source=letter", "site=north&&"):
        yield "beside other parameters", ["Other"], query
    yield "another parameter twice", ["Other"], "a=1&site=north&a=2"
    for query in ("", "site", "site=", "language=de", "Site=north", "sites=north"):
        yield "without its key", [], query
    for query in ("site=north&site=south", "site=north&site=north", "site=&site=north"):
        yield "its key twice", [], query
    for value in ("North", "north%20", "+north", "east", "north%0a", "%00", "north,south", "0"):
        yield "a value that is none", [], f"site={value}"
    for value in ("constructor", "__proto__", "%3Cscript%3E", "%ff"):
        yield "a value that is hostile", ["Prototype"], f"site={value}"


def _links_of_two() -> Iterator[tuple[str, list[str], str]]:
    yield "both keys", [], "site=north&shift=day"
    yield "in another order", [], "shift=night&site=south"
    yield "one of two", [], "site=north"
    yield "the other of two", [], "shift=day"
    yield "the wrong way round", [], "site=day&shift=north"


def _report(definition: Definition, comment: str, flags: list[str], more: Any) -> Case:
    report = {"survey": digest(definition), "id": "0f" * 16, "values": {"stolen": [0]}, **more}
    case: Case = {"comment": comment, "flags": flags, "text": canonical(report)}
    try:
        return case | {"number": of_report(definition, report), "result": "valid"}
    except Invalid as reason:
        return case | {"reason": str(reason), "result": "invalid"}


def _reports() -> Iterator[tuple[str, list[str], Any]]:
    value: Json
    yield "no stratum", [], {}
    yield "an empty one", [], {"strata": {}}
    for site in ("north", "south"):
        yield f"the site {site}", [], {"strata": {"site": site}}
        for shift in ("day", "night"):
            yield f"{site} at {shift}", [], {"strata": {"site": site, "shift": shift}}
    yield "another site", [], {"strata": {"site": "east"}}
    yield "another key", [], {"strata": {"place": "north"}}
    yield "one key more", [], {"strata": {"site": "north", "person": "ann"}}
    yield "the prototype", ["Prototype"], {"strata": {"constructor": "north"}}
    for value in (["north"], 1, True, {"site": "north"}):
        yield "a value that is no text", ["Type"], {"strata": {"site": value}}
    for value in ("north", ["site", "north"], 1, True):
        yield "strata that are no object", ["Type"], {"strata": value}


def kept(site: str, definition: Definition = SITES) -> str:
    """The memory of a device that has answered."""
    version = digest(definition)
    report = {"survey": version, "id": "0f" * 16, "values": {"stolen": [0]}}
    text = canonical(report | {"strata": {"site": site}})
    return canonical(EMPTY | {"reports": {version: {"text": text, "sent": True}}})


def _documents() -> Iterator[tuple[str, list[str], str]]:
    yield "a report with a stratum", [], kept("north")
    for wrong in ("North", "", "a b"):
        yield f"the stratum {wrong!r}", ["Names"], kept(wrong)
    spaced = kept("north").replace(r"{\"site\"", r"{ \"site\"")
    assert spaced != kept("north")
    yield "a stratum with white space", [], spaced
    for value in ('[\\"north\\"]', "1", "true", "{}"):
        text = kept("north").replace(r"\"north\"", value)
        yield f"the stratum {value}", ["Type"], text


def _document(comment: str, flags: list[str], text: str) -> Case:
    case: Case = {"comment": comment, "flags": flags, "text": text}
    try:
        read_document(text)
        return case | {"result": "valid"}
    except Invalid as reason:
        return case | {"reason": str(reason), "result": "invalid"}


def _again(query: str, before: str | None) -> Case:
    """The stratum of the next report of a device that may have answered before."""
    document = canonical(EMPTY) if before is None else kept(before)
    comment = f"a link with {query!r}, answered before as {before}"
    case: Case = {"comment": comment, "flags": ["Again"], "document": document, "query": query}
    if before is not None:
        return case | {"strata": {"site": before}, "result": "valid"}
    try:
        return case | {"strata": of_link(SITES, query), "result": "valid"}
    except Invalid as reason:
        return case | {"reason": str(reason), "result": "invalid"}
