"""A parser of the statements of Stata that a written script has, and of no other."""

from __future__ import annotations

import re
from collections.abc import Iterator

_NUMBER = r"-?(?:\d+(?:\.\d+)?(?:e[+-]\d+)?)"
_TEXT = r'"[^"`$\\{}\n]*"'
_CALLS = (
    rf"share (?P<text>{_TEXT}) v\d+ \d+ {_NUMBER} {_NUMBER}",
    rf"average (?P<text>{_TEXT}) (?:v\d+|scored)(?: (?:{_NUMBER}|\.))+",
    r'generate double scored = real\(word\("[-\d.e+ ]+", v\d+ \+ 1\)\)',
    r"drop scored",
    rf"display (?P<text>{_TEXT})",
    r"preserve", r"keep if v\d+ == \d+", r"figures", r"restore",
)  # fmt: skip


class NotStata(ValueError):
    """A line that is no statement of such a script."""


def statements(script: str, programs: str) -> Iterator[str]:
    """Every statement of a script, with an empty text in place of each label.

    ``programs`` is what the script begins with after its head, up to ``program define figures``:
    it has no text of an author. Comments are left out. Raises NotStata.
    """
    head, found, rest = script.partition("\nversion 14\n")
    fixed, also, calls = rest.partition("\nprogram define figures\n")
    lines = fixed.split("\n")
    if not found or not also or [one for one in lines if not one.startswith("* v")] != [
        one for one in programs.split("\n") if not one.startswith("* v")
    ]:  # fmt: skip
        raise NotStata("the beginning is not as it was written")
    for line in (*head.split("\n"), *lines, *calls.split("\n")):
        if re.search(r"[\r\v\f\x00-\x08\x0e-\x1f\x7f-\x9f\u2028\u2029]", line):
            raise NotStata(f"a line ends within {line!r}")
    for line in head.split("\n"):
        _comment(line)
    for line in calls.split("\n"):
        if line.startswith("*"):
            _comment(line)
        elif line.strip() not in ("", "end"):
            yield _statement(line.strip())


def _comment(line: str) -> None:
    if line and (not line.startswith("*") or re.search(r"/\*|\*/|//|[`$]", line)):
        raise NotStata(f"this is no comment: {line!r}")


def _statement(line: str) -> str:
    for form in _CALLS:
        if (found := re.fullmatch(form, line)) and not re.search(r"/\*|\*/|//", line):
            return line.replace(found["text"], '""') if "text" in found.groupdict() else line
    raise NotStata(f"this is no statement of such a script: {line!r}")
