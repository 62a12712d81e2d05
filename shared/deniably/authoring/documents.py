"""Reads an author's YAML or JSON, restricted to a subset without surprises.

Needs the extra ``author`` (PyYAML).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Hashable
from decimal import Decimal
from typing import Any, cast

import yaml

from deniably.core.canonical import parse
from deniably.core.errors import BadSurvey, Problem

LONGEST_NUMBER = 20
"""The maximum of characters of a number. No survey needs more, and longer ones only cost time."""
DEEPEST = 32
"""The maximum of lists and maps within each other. A survey has fewer than ten. Without a limit,
PyYAML takes a second or more for 100,000 open brackets."""
MOST_YAML = 30_000
"""The maximum of keys and values of a YAML text. PyYAML takes about 30 microseconds for each, so
that these take a second. JSON is read a hundred times as fast."""
LONGEST_YAML = 1 << 19
"""The maximum of bytes of a YAML text: they take half a second at the worst, which is many short
lines of one text."""


def load(text: str | bytes) -> object:
    """Returns the value of a YAML or JSON text; numbers with a point become exact Decimals.

    YAML follows version 1.2: Yes, No, dates and octal numbers are texts, and only true and false
    are booleans. Raises BadSurvey where the text is neither YAML nor JSON, repeats a key, or uses
    anchors or tags, which hide what is published; and for YAML of more than ``MOST_YAML`` keys and
    values or ``LONGEST_YAML`` bytes.

    >>> load("{label: Yes, odds: 2.5}")
    {'label': 'Yes', 'odds': Decimal('2.5')}
    """
    size, not_json = len(text), ""
    try:
        if isinstance(text, bytes):
            text = text.decode("utf-8-sig")
        if text.lstrip().startswith("{"):
            try:
                return parse(text)
            except json.JSONDecodeError as error:  # YAML in flow style also starts with a brace
                not_json = f"; as JSON, this text has a mistake: {error}"
        if size > LONGEST_YAML:
            raise _TooLarge(f"a YAML text has at most {LONGEST_YAML:,} bytes")
        return yaml.load(text, Loader=_Loader)  # noqa: S506  # a restricted SafeLoader
    except _TooLarge as error:
        mend = "write a larger survey as JSON"
        raise _unreadable(f"{error}; {mend}{not_json}") from None
    except UnicodeDecodeError:
        raise _unreadable("the text is not UTF-8") from None
    except yaml.MarkedYAMLError as error:
        raise _unreadable(_explained(error)) from None
    except (yaml.YAMLError, ValueError) as error:
        raise _unreadable(f"this is neither YAML nor JSON: {error}") from None


def _unreadable(why: str) -> BadSurvey:
    return BadSurvey([Problem("$", why, "unreadable")])


_QUOTES = "put a text that has such a sign in quotes"
_HINTS = (
    ("'\\t'", "indent with spaces, not with tabs"),
    ("cannot start any token", _QUOTES),
    ("alphabetic or numeric character", _QUOTES),
    ("anchors and aliases", "a text that begins with & or * stands in quotes"),
    ("the tag", "a text that begins with ! stands in quotes"),
    ("mapping values are not allowed", "put a text with a colon in quotes"),
    ("got ':'", "put a text with a colon in quotes"),
    ("found '?'", _QUOTES),
    ("end of stream", "a quotation mark is not closed"),
    ("got '<stream end>'", "the bracket that was opened there is not closed"),
    ("another document", "a file has one survey, without lines of ---"),
    ("expected <block end>", "a line is indented unlike those before it, or a quotation mark within"
     " a text ended it: write such a text in the other kind of quotation marks"),
    ("a key is a plain word", "a decimal number has a point, and within { } a text with a comma"
     " stands in quotes"),
)  # fmt: skip
"""Parts of PyYAML's messages, and how to mend each; the first that fits counts."""
_FROM_THERE = ("end of stream", "<stream end>")


def _explained(error: yaml.MarkedYAMLError) -> str:
    """The line and column, what is wrong there, and a hint how to mend it."""
    problem, mark = str(error.problem), error.problem_mark
    if error.context_mark and any(each in problem for each in _FROM_THERE):
        mark = error.context_mark  # an unclosed quote or bracket is mended where it begins
    where = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
    hint = next((f"; {hint}" for marker, hint in _HINTS if marker in problem), "")
    return f"{where}{problem}{hint}"


def line_of(text: str | bytes, *path: str | int) -> int | None:
    """Returns the line, from 1, of the value at a path in a text that ``load`` reads.

    A path has keys and indices. Returns None where there is no value at the path.

    >>> line_of("name: s\\nquestions:\\n  - {name: a}\\n  - {name: b}", "questions", 1)
    4
    """
    node = _node(text, path)
    return None if node is None else node.start_mark.line + 1


def span_of(text: str, *path: str | int) -> tuple[int, int] | None:
    """Returns where the value at a path begins and ends in a text that ``load`` reads.

    Both are indices of characters. Returns None where there is no value at the path.

    >>> span_of("{name: s}", "name")
    (7, 8)
    """
    node = _node(text, path)
    return None if node is None else (node.start_mark.index, node.end_mark.index)


def _node(text: str | bytes, path: tuple[str | int, ...]) -> yaml.Node | None:
    try:
        node: Any = yaml.compose(text, Loader=_Loader)
    except (yaml.YAMLError, ValueError, _TooLarge):
        return None
    for step in path:
        match node, step:
            case yaml.SequenceNode(), int():
                node = node.value[step] if step < len(node.value) else None
            case yaml.MappingNode(), str():
                node = next((value for key, value in node.value if key.value == step), None)
            case _:
                return None
    return cast("yaml.Node | None", node)


class _TooLarge(Exception):
    """A YAML text that would take too long to read. The message names the limit."""


class _Loader(yaml.SafeLoader):
    """YAML 1.2's core values only, exact numbers, no repeated keys, no anchors, no tags."""

    def scan_plain(self) -> yaml.ScalarToken:
        """YAML 1.2 allows a question mark in a plain text within { }; PyYAML ends it there."""
        scanner = cast(Any, super())

        def peek(index: int = 0) -> str:
            character: str = scanner.peek(index)
            return "-" if character == "?" else character

        vars(self)["peek"] = peek  # the text itself is read by ``prefix``
        try:
            return cast(yaml.ScalarToken, scanner.scan_plain())
        finally:
            del vars(self)["peek"]

    # Empty, so that the YAML 1.1 readings of the base class (Yes as a boolean, dates) are gone.
    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012  # as its base

    _composed = 0

    def fetch_flow_collection_start(self, TokenClass: Any) -> None:  # noqa: N803  # as its base
        """A bracket or a brace. Counted here, before anything is built or looked up."""
        cast(Any, super()).fetch_flow_collection_start(TokenClass)
        self._check_depth()

    def add_indent(self, column: int) -> bool:
        """The first line of a list or a map in block style, where it is indented further."""
        deeper = cast(bool, cast(Any, super()).add_indent(column))
        self._check_depth()
        return deeper

    def _check_depth(self) -> None:
        scanner = cast(Any, self)
        if scanner.flow_level + len(scanner.indents) > DEEPEST:
            raise yaml.MarkedYAMLError(
                problem=f"at most {DEEPEST} lists and maps can be within each other",
                problem_mark=scanner.get_mark(),
            )

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        """A key or a value. Counted here, where it is read."""
        self._composed += 1
        if self._composed > MOST_YAML:
            raise _TooLarge(f"a YAML text has at most {MOST_YAML:,} keys and values")
        event = cast(Any, self).peek_event()
        mark: Any = event.start_mark
        if isinstance(event, yaml.AliasEvent) or event.anchor is not None:
            raise yaml.MarkedYAMLError(
                problem="anchors and aliases are not allowed; write the text out",
                problem_mark=mark,
            )
        return super().compose_node(parent, index)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode) or key.tag != _STR:
                raise yaml.MarkedYAMLError(
                    problem="a key is a plain word", problem_mark=key.start_mark
                )
            if key.value in seen:
                raise yaml.MarkedYAMLError(
                    problem=f"the key {key.value} is given twice", problem_mark=key.start_mark
                )
            seen.add(key.value)
        return super().construct_mapping(node, deep)


_TAG = "tag:yaml.org,2002:"
_STR = _TAG + "str"
_RESOLVED: tuple[tuple[str, str, list[str]], ...] = (
    ("null", r"^(?:~|null|Null|NULL|)$", ["~", "n", "N", ""]),
    ("bool", r"^(?:true|True|TRUE|false|False|FALSE)$", list("tTfF")),
    ("int", r"^[-+]?(?:0|[1-9][0-9]*)$", list("-+0123456789")),
    (
        "float",
        r"^[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+)(?:[eE][-+]?[0-9]+)?$",
        list("-+.0123456789"),
    ),
)
for _kind, _pattern, _first in _RESOLVED:
    cast(Any, _Loader).add_implicit_resolver(_TAG + _kind, re.compile(_pattern, re.ASCII), _first)


def _number(make: Callable[[str], object]) -> Callable[[yaml.SafeLoader, yaml.ScalarNode], object]:
    def construct(loader: yaml.SafeLoader, node: yaml.ScalarNode) -> object:
        text = str(loader.construct_scalar(node))
        if len(text) > LONGEST_NUMBER:
            raise yaml.MarkedYAMLError(
                problem=f"the number has more than {LONGEST_NUMBER} characters",
                problem_mark=node.start_mark,
            )
        return make(text)

    return construct


def _unknown_tag(_: yaml.SafeLoader, node: yaml.Node) -> object:
    raise yaml.MarkedYAMLError(
        problem=f"the tag {node.tag} is not allowed", problem_mark=node.start_mark
    )


_Loader.add_constructor(_TAG + "int", _number(int))
_Loader.add_constructor(_TAG + "float", _number(Decimal))
for _kind in ("binary", "timestamp", "omap", "pairs", "set"):
    _Loader.add_constructor(_TAG + _kind, _unknown_tag)
_Loader.add_constructor(None, _unknown_tag)

YAML_RESOLVERS = _Loader.yaml_implicit_resolvers
"""By its first character, as what a plain text is read. The writer quotes by the same table."""
