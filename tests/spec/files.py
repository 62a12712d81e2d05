"""The text of every file of shared/vectors."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from typing import Any

from spec.cases import (
    blanks,
    canonical,
    claims,
    codes,
    coins,
    definitions,
    envelopes,
    invitations,
    ledger,
    listing,
    mechanisms,
    mixing,
    questions,
    register,
    report_sets,
    strata,
    subsets,
    waves,
)
from spec.vector_types import Made

MAKERS: dict[str, Callable[[], Made]] = {
    "coins": coins.cases,
    "subset_selection": subsets.subset_selection,
    "channels": subsets.channels,
    "mechanisms": mechanisms.cases,
    "canonical": canonical.cases,
    "claims": claims.cases,
    "omega": subsets.omega,
    "definitions": definitions.cases,
    "answers": questions.answers,
    "totals": questions.totals,
    "estimates": subsets.estimates,
    "ledger": ledger.cases,
    "waves": waves.cases,
    "signatures": register.signatures,
    "registers": register.registers,
    "listings": listing.cases,
    "blind_rsa": invitations.blind_rsa,
    "codes": codes.cases,
    "strata": strata.cases,
    "envelopes": envelopes.cases,
    "mixing": mixing.cases,
    "report_sets": report_sets.cases,
    "blanks": blanks.cases,
}


def files() -> dict[str, str]:
    """{file name: text} of every vector file."""
    return {f"{name}.json": text(name) for name in MAKERS}


def text(name: str) -> str:
    """One vector file: a line a test, so that a difference can be read."""
    notes, groups = MAKERS[name]()
    identifier = itertools.count(1)
    for group in groups:
        group["tests"] = [{"id": next(identifier)} | test for test in group["tests"]]
    head: dict[str, Any] = {"spec": 1, "name": name, "notes": notes}
    head["numberOfTests"] = next(identifier) - 1
    lines = [f" {json.dumps(key)}: {json.dumps(value)}," for key, value in head.items()]
    blocks: list[str] = []
    for group in groups:
        rest = {key: value for key, value in group.items() if key != "tests"}
        tests = ",\n".join(f"   {json.dumps(test)}" for test in group["tests"])
        blocks.append(f'  {json.dumps(rest)[:-1]}, "tests": [\n{tests}\n  ]}}')
    return "\n".join(["{", *lines, ' "groups": [', ",\n".join(blocks), " ]", "}", ""])
