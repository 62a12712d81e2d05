"""Writes an author's document as YAML from which ``documents.load`` reads an equal document.

Needs the extra ``author`` (PyYAML).
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any, cast

import yaml

from deniably.authoring.documents import LONGEST_NUMBER, YAML_RESOLVERS

_WIDTH = 100
_TOO_LONG = f"a number has at most {LONGEST_NUMBER} characters"
_SURROGATE = re.compile("[\ud800-\udfff]")
_BLANKS = re.compile("[\t\r\n\x85\u2028\u2029\ufeff]")
"""PyYAML reads these back from double quotes alone as what they were."""
_PARAGRAPHS = re.compile(r"(?:[!-~\u00a1-\u1fff][ -~\u00a1-\u1fff]*\n{1,2})+[!-~\u00a1-\u1fff].*")
"""Lines of ordinary text, which are easier to read as a block."""


def to_yaml(document: object) -> str:
    """Returns the YAML of a document, in its own order of keys.

    ``document`` is made of dicts with texts as keys, lists, texts, whole numbers, Decimals,
    booleans and None. Raises ValueError for anything else, and for numbers that ``load`` refuses.

    >>> print(to_yaml({"title": "Pay: yes?", "questions": [{"odds": Decimal("2.5")}]}), end="")
    title: 'Pay: yes?'
    questions:
      - odds: 2.5
    """
    check_values(document)
    return yaml.dump(document, Dumper=_Dumper, allow_unicode=True, sort_keys=False, width=_WIDTH)


def check_values(value: object) -> None:
    """Raises ValueError for a value that cannot be in the YAML document of a survey: a key that is
    no text, a number or a character that ``load`` refuses, or a type that YAML does not have."""
    match value:
        case dict():
            for key, item in cast(dict[object, object], value).items():
                if not isinstance(key, str):
                    raise ValueError(f"a key is a text, not {key!r}")
                check_values(key)
                check_values(item)
        case list():
            for item in cast(list[object], value):
                check_values(item)
        case Decimal():
            _check_decimal(value)
        case int():
            if abs(value) >= 10**LONGEST_NUMBER or len(str(value)) > LONGEST_NUMBER:
                raise ValueError(_TOO_LONG)
        case str():
            if _SURROGATE.search(value):
                raise ValueError("a text holds a lone surrogate, which is no character")
        case None:
            pass
        case _:
            raise ValueError(f"a survey holds no {type(value).__name__}")


def _check_decimal(value: Decimal) -> None:
    if not value.is_finite():
        raise ValueError(f"{value} is no number")
    # Before it is written out: 1E999999999 is short, and has a billion digits.
    if len(value.as_tuple().digits) > LONGEST_NUMBER or abs(value.adjusted()) > LONGEST_NUMBER:
        raise ValueError(_TOO_LONG)
    if len(_number(value)) > LONGEST_NUMBER:
        raise ValueError(_TOO_LONG)


def _number(value: Decimal) -> str:
    text = f"{value:f}"
    # A decimal stays one: "3" would be read as a whole number.
    return text if "." in text else f"{text}.0"


class _Dumper(yaml.SafeDumper):
    """Quotes a text exactly where the reader would take it for something else."""

    yaml_implicit_resolvers = YAML_RESOLVERS

    def ignore_aliases(self, data: object) -> bool:
        """Returns True: the reader refuses anchors, so what occurs twice is written twice."""
        return True

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        """Indents a list below its key, as the handbook's examples do."""
        cast(Any, super()).increase_indent(flow, False)


def _decimal(dumper: yaml.SafeDumper, value: Decimal) -> Any:
    return cast(Any, dumper).represent_scalar("tag:yaml.org,2002:float", _number(value))


def _text(dumper: yaml.SafeDumper, text: str) -> Any:
    style = "|" if _PARAGRAPHS.fullmatch(text) else '"' if _BLANKS.search(text) else None
    return cast(Any, dumper).represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(Decimal, _decimal)
_Dumper.add_representer(str, _text)
