"""The modules that a survey's form loads, read from their own import statements.

A browser finds an import only once the importing file is there: four files deep is four times the
way to the server and back. The page names all of them at once instead.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

_ENTRIES = ("form.js", "exit.js")
_IMPORT = re.compile(r'^(?:import\b|export\b[^;"=]*\bfrom)[^;"]*"\./(\w+\.js)"', re.MULTILINE)
_NAMED = re.compile(r'(\w+)(?: =|:) \(\) => import\("\./(\w+\.js)"\)')
_NAME = re.compile(r'"name": "(\w+)"')
_ALIAS = re.compile(r"^  (\w+)(?:: (\w+))?,$", re.MULTILINE)


class Modules:
    """The import graph of the web client. ``texts``: file name -> source."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._imports = {name: _IMPORT.findall(text) for name, text in texts.items()}
        self._sources = [_sources(text) for text in texts.values()]

    def needed(self, definition: Mapping[str, Any], fields: bool) -> list[str]:
        """Every module that the form of a definition loads, the entries left out, in order.

        ``fields``: whether a question is answered otherwise than by picking one of its choices.
        """
        questions = definition["questions"]
        words = {word for question in questions for word in _words(question)}
        some = "ask" in definition or any("show_if" in question for question in questions)
        lazy = [table[word] for table in self._sources for word in sorted(words & table.keys())]
        special = (["fields.js"] if fields else []) + (["answers.js", "path.js"] if some else [])
        found = self._closure([*_ENTRIES, *lazy, *special])
        return [name for name in found if name not in _ENTRIES]

    def _closure(self, names: Iterable[str]) -> list[str]:
        found: dict[str, None] = {}
        ahead = list(names)
        while ahead:
            name = ahead.pop(0)
            if name not in found:
                found[name] = None
                ahead += self._imports[name]
        return list(found)


def _sources(text: str) -> dict[str, str]:
    """What a module's table fetches by name: ``scale: choices``, ``scale: () => import(...)``."""
    named = dict(_NAMED.findall(text))
    same = {
        key: named[other or key] for key, other in _ALIAS.findall(text) if (other or key) in named
    }
    return named | same


def _words(question: Mapping[str, Any]) -> set[str]:
    """The type of a question and the names of its mechanism and of those within it."""
    return {question["type"], *_NAME.findall(json.dumps(question["mechanism"]))}
