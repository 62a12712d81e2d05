"""What one application of a process has compiled, its templates and its routes, serves all others.

A suite makes a thousand applications of the same templates and routes, and to compile these is
nine tenths of what an application costs.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from types import CodeType
from typing import Any

from flask import Flask
from jinja2.bccache import Bucket, BytecodeCache
from werkzeug.routing import Rule
from werkzeug.routing.rules import RulePart

Build = Callable[..., tuple[str, str]]


class Compiled(BytecodeCache):
    """Templates by what they are made of."""

    def __init__(self) -> None:
        self._codes: dict[tuple[str, str], CodeType] = {}

    def load_bytecode(self, bucket: Bucket) -> None:
        bucket.code = self._codes.get((bucket.key, bucket.checksum))

    def dump_bytecode(self, bucket: Bucket) -> None:
        if bucket.code:
            self._codes[bucket.key, bucket.checksum] = bucket.code


def compile_once() -> None:
    """From now on, in this process and in those that it forks."""
    Flask.jinja_options = Flask.jinja_options | {"bytecode_cache": Compiled()}
    compiled: dict[Any, Build] = {}
    of_its_own = Rule._compile_builder

    def builder(rule: Rule, append_unknown: bool = True) -> Build:
        # All that a builder is made of; what it converts it asks of the rule that it is bound to.
        made_of = rule.rule, tuple(rule._trace), repr(rule.defaults), append_unknown
        if made_of not in compiled:
            compiled[made_of] = of_its_own(rule, append_unknown)
        return compiled[made_of]

    Rule._compile_builder = builder  # type: ignore[method-assign]
    parsed: dict[str, tuple[list[RulePart], dict[str, Any], list[tuple[bool, str]]]] = {}
    parse = Rule._parse_rule

    def parts(rule: Rule, text: str) -> list[RulePart]:
        """What a rule's text says, which is the same in every application."""
        if text not in parsed:
            own, before = rule._converters, len(rule._trace)
            rule._converters = {}
            found = list(parse(rule, text))
            parsed[text] = found, rule._converters, rule._trace[before:]
            rule._converters = own
            del rule._trace[before:]
        found, converters, trace = parsed[text]
        rule._converters |= converters
        rule.arguments |= set(converters)
        rule._trace += trace
        return found

    Rule._parse_rule = parts  # type: ignore[method-assign]


def compile_all() -> None:
    """Compile every template and every route, as for an application, and pack what a form fetches:
    a server packs it for its first respondent, and half a suite's servers have but one or two."""
    from deniably_server.app import create_app
    from deniably_server.web.static_files import _PACKED, _packed

    for name in _PACKED:
        _packed(name)

    with tempfile.TemporaryDirectory() as folder:
        app = create_app({"DATABASE": str(Path(folder) / "deniably.db")})
        for name in app.jinja_env.list_templates():
            app.jinja_env.get_template(name)
        app.extensions["deniably"].close()
