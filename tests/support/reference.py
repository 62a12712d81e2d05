"""Writes the reference pages of the handbook from what they describe: ``make handbook``.

Commands come from their own help, keys of a survey from the JSON Schema, addresses from the OpenAPI
document, the library from its docstrings.
"""

from __future__ import annotations

import importlib
import inspect
import re
import tempfile
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, get_args

import click
from msgspec import inspect as types

from deniably.authoring.schema import schema
from deniably.authoring.written import WrittenQuestion
from deniably_client.cli import deniably
from deniably_server.api.openapi import described
from deniably_server.app import create_app
from deniably_server.web.problems import KINDS
from support.pages import HANDBOOK

COMMAND = "make handbook"
_MADE = "This page is generated. To renew it, run `{}`.\n"
_LIBRARIES = ("deniably", "deniably.workbench", "deniably.lab", "deniably_client")


def pages() -> dict[str, str]:
    """The text of every generated page, by its name."""
    return {
        "commands.md": _page("Commands", _COMMANDS, _commands()),
        "survey-keys.md": _page("Survey keys", _KEYS, _keys()),
        "http.md": _page("HTTP", _HTTP, _addresses()),
        "library.md": _page("Library", _LIBRARY, _names()),
    }


def _page(title: str, intro: str, parts: Iterable[str]) -> str:
    text = "\n\n".join([f"# {title}", intro.strip(), *(part.strip() for part in parts)])
    return f"{text}\n\n{_MADE.format(COMMAND)}"


def _table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A table of Markdown; cells are in one line."""
    lines = [list(heads), *(list(row) for row in rows)]
    lines.insert(1, ["---"] * len(lines[0]))
    cells = ([" ".join(cell.split()).replace("|", r"\|") for cell in line] for line in lines)
    return "\n".join(f"| {' | '.join(line)} |" for line in cells)


def _prose(text: str) -> str:
    """The text of a docstring or a help, as Markdown."""
    text = re.sub(r"``([^`]+)``", r"`\1`", inspect.cleandoc(text))
    # What looks like HTML is a place for a value: code hosts would swallow it.
    outside, *rest = text.split("`")
    parts = [
        part if index % 2 else part.replace("<", r"\<")
        for index, part in enumerate([outside, *rest])
    ]
    return "`".join(parts)


# --- commands -----------------------------------------------------------------------------------

_COMMANDS = """
Every command, as `--help` shows it. An option that names a variable in brackets, such as
`[DENIABLY_SERVER]`, takes its default from that environment variable.
"""


def _commands() -> Iterator[str]:
    context = click.Context(deniably, info_name="deniably")
    for name in deniably.list_commands(context):
        command = deniably.get_command(context, name)
        assert command is not None
        yield from _command(command, click.Context(command, context, info_name=name), level=2)


def _command(command: click.Command, context: click.Context, level: int) -> Iterator[str]:
    yield f"{'#' * level} deniably {context.command_path.removeprefix('deniably ')}"
    usage = " ".join(command.collect_usage_pieces(context))
    yield f"`{context.command_path} {usage}`"
    yield _prose(command.help or "")
    options = [each for each in command.get_params(context) if isinstance(each, click.Option)]
    records = filter(None, (option.get_help_record(context) for option in options))
    rows = [(f"`{names}`", _prose(text)) for names, text in records if names != "--help"]
    if rows:
        yield _table(("option", "what it does"), rows)
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            yield from _command(inner, click.Context(inner, context, info_name=name), level + 1)


# --- keys of a survey ---------------------------------------------------------------------------

_KEYS = """
A survey is a YAML or JSON file with these keys. Every server publishes the same as a JSON Schema at
`/schema/survey.json`. [The authors' guide](authors.md) shows them at work.
"""


def _keys() -> Iterator[str]:
    whole = schema()
    properties = dict(whole["properties"])
    question = properties["questions"]["items"]
    yield "## The survey"
    yield _key_table(properties, whole["required"])
    for name in ("results", "budget", "waves", "mixer"):
        group = properties[name]
        yield f"### {name}"
        yield _key_table(group["properties"] | _inner(group), group.get("required", ()))
    yield "## A question"
    yield "A key without a list of types may stand in a question of every type."
    used = _types_of_keys()
    yield _key_table(question["properties"], question["required"], used)
    yield "### Keys inside a question"
    yield _key_table(_inner(question), ())


def _inner(group: Mapping[str, Any]) -> dict[str, Any]:
    """The keys inside the keys of a group, such as `choices.label`."""
    return {
        f"{name}.{key}": value
        for name, nested in group["properties"].items()
        for key, value in (
            nested.get("properties") or nested.get("items", {}).get("properties", {})
        ).items()
    }


def _key_table(
    properties: Mapping[str, Any], required: Iterable[str], used: Mapping[str, str] | None = None
) -> str:
    needed = set(required)
    heads = ("key", "what it holds") if used is None else ("key", "types", "what it holds")
    rows = []
    for name, found in properties.items():
        text = _prose(str(found.get("description", ""))) + (" (required)" if name in needed else "")
        rows.append((f"`{name}`", *(() if used is None else (used[name],)), text.strip()))
    return _table(heads, rows)


def _types_of_keys() -> dict[str, str]:
    """Key -> the types of question that have it; nothing where all have it."""
    having: dict[str, list[str]] = {}
    tags: list[str] = []
    for one in _structs(types.type_info(WrittenQuestion)):
        own = [one.tag] if isinstance(one.tag, str) else _literals(one)
        tags += own
        for name in ("type", *(field.encode_name for field in one.fields)):
            having.setdefault(name, []).extend(own)
    return {
        name: "" if set(own) == set(tags) else ", ".join(f"`{tag}`" for tag in dict.fromkeys(own))
        for name, own in having.items()
    }


def _structs(kind: Any) -> list[Any]:
    if isinstance(kind, types.Metadata):
        return _structs(kind.type)
    if isinstance(kind, types.UnionType):
        return [struct for one in kind.types for struct in _structs(one)]
    return [kind]


def _literals(struct: Any) -> list[str]:
    """The values of the field ``type`` of a struct that serves several types."""
    return [
        str(value)
        for field in struct.fields
        if field.encode_name == "type"
        for value in get_args(inspect.get_annotations(struct.cls, eval_str=True)["type"])
    ]


# --- HTTP ---------------------------------------------------------------------------------------

_HTTP = """
Every server describes itself as an OpenAPI document at `/api/openapi.json`; this page is made from
it. Addresses answer `HEAD` wherever they answer `GET`. A refusal is a problem document of RFC 9457
(`application/problem+json`); its `type` leads to a page that explains it. What a device sends and
receives, byte by byte, is in [SPEC](../../../shared/SPEC.md#6-http).

A token goes into the header `Authorization: Bearer TOKEN`. Without a token, some parameters of
results take fewer values: `confidence` is one of ten levels, and `share` and `value` go in steps.
The refusal `bad-parameter` lists what they take. See [for analysts](analysts.md).

The names under "refusals" are the last part of a problem's `type`, such as `/problems/closed`.
"""


def _addresses() -> Iterator[str]:
    document = _openapi()
    operations = [
        (path, method, found)
        for path, methods in document["paths"].items()
        for method, found in methods.items()
        if method != "head"
    ]
    pages_ = [one for one in operations if _is_page(one[2])]
    yield "## Addresses for programs"
    for path, method, found in operations:
        if not _is_page(found):
            yield from _operation(path, method, found, document["components"]["schemas"])
    yield "## Pages for people"
    yield _table(
        ("address", "what it shows", "parameters"),
        ((f"`{path}`", found["summary"], _query(found)) for path, _, found in pages_),
    )
    yield "## Problems"
    yield "Each has a page of its own at `/problems/` and its name."
    rows = ((f"`{kind.name}`", str(kind.status), _prose(kind.when)) for kind in KINDS.values())
    yield _table(("problem", "status", "when"), rows)


def _openapi() -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        app = create_app({"DATABASE": f"{folder}/deniably.db"})
        try:
            return described(app)
        finally:
            app.extensions["deniably"].close()


def _is_page(operation: Mapping[str, Any]) -> bool:
    return list(operation["responses"].get("200", {}).get("content", {})) == ["text/html"]


def _kinds_of(response: Mapping[str, Any], schemas: Mapping[str, Any]) -> list[str]:
    """The kinds of problems that a response can be."""
    content = response.get("content", {}).get("application/problem+json")
    if content is None:
        return []
    named = schemas[content["schema"]["$ref"].rpartition("/")[2]]
    return [kind.rpartition("/")[2] for kind in named["properties"]["type"]["enum"]]


def _operation(
    path: str, method: str, found: Mapping[str, Any], schemas: Mapping[str, Any]
) -> Iterator[str]:
    yield f"### {method.upper()} {path}"
    yield _prose(" ".join(filter(None, (found["summary"], found.get("description")))))
    facts = [("token", found.get("x-role", ""))]
    if {} in found.get("security", ()):
        facts = [("token", f"{found['x-role']}, for surveys with `to: analysts`")]
    body = found.get("requestBody", {}).get("content", {})
    facts += [("parameters", _query(found)), ("body", ", ".join(f"`{kind}`" for kind in body))]
    good = [
        f"{status} {', '.join(f'`{kind}`' for kind in response.get('content', ()))}".strip()
        for status, response in found["responses"].items()
        if int(status) < 400
    ]
    refusals = sorted(
        kind for response in found["responses"].values() for kind in _kinds_of(response, schemas)
    )
    facts += [
        ("answers", "; ".join(good)),
        ("refusals", ", ".join(f"`{name}`" for name in refusals)),
    ]
    yield "\n".join(f"- {name}: {text}" for name, text in facts if text)


def _query(found: Mapping[str, Any]) -> str:
    named = [one for one in found.get("parameters", ()) if one["in"] == "query"]
    return ", ".join(
        "keys of the strata, such as `site=north`"
        if one.get("explode")
        else f"`{one['name']}`" + (" (required)" if one["required"] else "")
        for one in named
    )


# --- the library --------------------------------------------------------------------------------

_LIBRARY = """
The names that `import deniably` and `import deniably_client` document. `deniably` is for notebooks
and needs the extra `notebook`. `deniably_client` runs on the device of a respondent and loads no
numpy. All other modules may change from one version to the next.

The examples use this survey:

```yaml
# workplace.yaml
name: workplace
title: Honesty at work
questions:
  - {name: stolen, type: yes_no, label: "Have you ever stolen from work?", odds: 3}
```
"""


def _names() -> Iterator[str]:
    for library in _LIBRARIES:
        module = importlib.import_module(library)
        names = getattr(module, "__all__", [])
        if not names:
            continue
        yield f"## {library}"
        yield _docstring(module.__doc__ or "", library)
        for name in names:
            if inspect.ismodule(getattr(module, name)):
                continue  # a room, with a part of its own
            yield from _name(library, name, getattr(module, name))


def _name(library: str, name: str, thing: Any) -> Iterator[str]:
    yield f"### {name}"
    if not inspect.isclass(thing) or _is_made_by_callers(thing):
        yield f"`{_signature(name, thing)}`"
    yield _docstring(inspect.getdoc(thing) or "", library)
    if inspect.isclass(thing):
        rows = [(f"`{part}`", _prose(text)) for part, text in _members(thing)]
        if rows:
            yield _table(("member", "what it is"), rows)


def _is_made_by_callers(thing: type) -> bool:
    """Not an error, and not a frozen value, which functions return."""
    frozen = getattr(thing, "__dataclass_params__", None) or getattr(
        thing, "__struct_config__", None
    )
    return not issubclass(thing, Exception) and not (frozen and frozen.frozen)


def _signature(name: str, thing: Callable[..., Any]) -> str:
    found = inspect.signature(thing)
    plain = found.replace(
        parameters=[
            each.replace(annotation=_plain(each.annotation), default=_plain_default(each))
            for each in found.parameters.values()
        ],
        return_annotation=inspect.Signature.empty
        if inspect.isclass(thing)
        else _plain(found.return_annotation),
    )
    return f"{name}{plain}".replace("'", "").replace(" = Ellipsis", " = ...")


def _plain(annotation: Any) -> Any:
    """Without the modules of names, which say nothing to a reader."""
    if annotation is inspect.Parameter.empty:
        return annotation
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    return re.sub(r"\b(?:[a-z_]\w*\.)+(?=\w)", "", text)


def _plain_default(parameter: inspect.Parameter) -> Any:
    default = parameter.default
    if default is parameter.empty or isinstance(default, str | int | float | bool | tuple | None):
        return default
    return ...


def _members(thing: type) -> Iterator[tuple[str, str]]:
    """The public methods and properties, those of our own base classes included."""
    ours = [each for each in thing.__mro__ if each.__module__.startswith("deniably")]
    found = {name: member for each in reversed(ours) for name, member in vars(each).items()}
    for name, member in found.items():
        if name.startswith("_") or not (text := inspect.getdoc(member)):
            continue
        if isinstance(member, property | cached_property):
            yield name, _first(text)
        elif inspect.isfunction(member):
            yield f"{name}{_arguments(member)}", _first(text)


def _arguments(function: Callable[..., Any]) -> str:
    names = list(inspect.signature(function).parameters)[1:]
    return f"({', '.join(names)})"


def _first(text: str) -> str:
    return inspect.cleandoc(text).partition("\n\n")[0]


def _docstring(text: str, library: str) -> str:
    """As Markdown; its examples become blocks that the suite runs."""
    parts: list[str] = []
    code = False
    for paragraph in inspect.cleandoc(text).split("\n\n"):
        plain = textwrap.dedent(paragraph)
        if code and plain != paragraph:
            before = (
                parts.pop()[: -len("```")] + "\n" if parts[-1].endswith("```") else "```python\n"
            )
            parts.append(f"{before}{plain}\n```")
        elif plain.startswith(">>>"):
            parts.append(f"```pycon\n{_imports(plain, library)}{plain}\n```")
        else:
            code = plain.endswith("::")
            parts.append(_prose(re.sub("::$", ":", plain)))
    return "\n\n".join(parts)


def _imports(example: str, library: str) -> str:
    """What an example needs that its own module has."""
    names = importlib.import_module(library).__all__
    used = [name for name in names if re.search(rf"(?<![.\w]){name}\(", example)]
    imports = f">>> from {library} import "
    return f"{imports}{', '.join(used)}\n" if used and imports not in example else ""


def write(folder: Path = HANDBOOK) -> None:
    """Write every page."""
    for name, text in pages().items():
        (folder / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write()
