"""Bundles the form's JavaScript modules into one file, which saves a slow phone round trips.

There is no build step. When it starts, the server bundles the modules that the tests run and that
``/web/<room>/<name>`` shows with their comments. The modules that an entry needs at once stand one
after another, in the order in which a browser runs them, and share one scope: so their imports and
exports are not there. A module whose names are taken already, or are a browser's own, and one that
is imported later, becomes a function that runs once, at its first import, and returns its exports.
Only imports and exports change; comments, types, indentation, and spaces and line breaks without a
meaning are removed, and ``const`` becomes ``let``. Every survey has the same bundle, so a browser's
cache does not show which survey its owner answered. Only surveys by invitation, with strata or
with a mixer have others. So has the trial of a draft, in which one module stands in for those of
the device that store, fetch and send. A module in ``APART`` is fetched where it is needed, from the
same build.

The alternatives, gzipped: esbuild's minified file is smaller (26 kB instead of 33), but needs npm
wherever a wheel is built or the demonstration starts, and no longer has the modules' lines in their
order. The modules by themselves, preloaded, are 51 requests and 69 kB.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from posixpath import basename, dirname, normpath
from typing import NamedTuple

_HEAD = """\
// The modules of the form, joined. Read them with their comments: /web/form/form.js, and so on.
let once = (run) => {
  let found;
  return () => (found ??= run());
};
let late = (module) => Promise.resolve().then(module);
"""
_COMMENT = re.compile(r"^[ \t]*(?://[^\n]*|/\*(?:(?!\*/)[\s\S])*\*/[ \t]*)\n", re.MULTILINE)
_AFTERWARDS = re.compile(r"""[ \t]+//[^"'`\n]*$""", re.MULTILINE)
"""A comment at the end of a line. A string that holds ``//`` has its closing quote after it."""
_TYPE = re.compile(r"/\*\*[^\n]*?\*/ ?")
_INDENTED = re.compile(r"\n[ \t\n]+")
_LONG = re.compile(r"^[^`\n]*(?:`[^`\n]*`[^`\n]*)*`[^`\n]*$", re.MULTILINE)
"""A line with an odd number of backticks: a template literal that continues in the next line. None
is supported, because its line breaks and spaces have a meaning."""
_KEPT = re.compile(
    r"""("(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\\n]|\\.)*`"""
    r"""|(?:(?<=return )|(?<![\w)\]}] )(?<![\w)\]}]))"""
    r"""/(?![/*])(?:[^/\\\n\[]|\\.|\[(?:[^\]\\\n]|\\.)*\])+/)"""
)
"""Strings, template literals, and regular expressions. These begin with a slash that has nothing to
divide. No template literal stands inside another."""
_SIGN = r"[=+\-*/%<>!&|^?:,;(){}\[\]]"
_SPACE = re.compile(rf"(?<={_SIGN}) (?![+-])|(?<![+-]) (?={_SIGN})")
"""A space beside a sign, but not that of ``a - -b`` or ``a + +b``, which would become another
sign."""
_CONST = re.compile(r"\bconst\b(?=[ {[])")
_NEEDLESS = re.compile(r"[;,](?=})|,(?=[)\]])")
"""A semicolon or comma before a closing bracket, where it means nothing. A loop with an empty body
would need its semicolon; no module has one."""
_GOES_ON = (*tuple("{,;([=&|?:"), "=>")
_CONTINUES = tuple(")]}?:.&|")
"""How a line ends (``_GOES_ON``), or the next one starts (``_CONTINUES``), where the line break
between them means nothing."""
_IMPORT = re.compile(r'^import (?:(\w+)|\{([^}]*)\}) from "(\.[\w./]+)\.js";\n', re.MULTILINE)
_FUNCTION = re.compile(
    r"^(?:export )?(?:async )?function (?P<name>\w+)\(.*?^}\n", re.MULTILINE | re.DOTALL
)
"""A function of a module, whose last line is a bracket alone."""
_DEFAULT = re.compile(r"^export default ", re.MULTILINE)
_EXPORT = re.compile(r"^export ((?:async )?(?:function|class|const) (\w+))", re.MULTILINE)
_DECLARED = re.compile(
    r"^(?:export )?(?:(?:async )?function|class|const|let|var) ?(\W|\w+)", re.MULTILINE
)
"""The names that a module declares, before its indentation goes; a sign for a pattern of names."""
_LATE = re.compile(r'\bimport\("(\.[\w./]+)\.js"\)')
_UNKNOWN = re.compile(r"^(?:import|export)\b.*$|\bimport\(", re.MULTILINE)
RESERVED = {
    *("await", "caches", "closed", "confirm", "crypto", "default", "event", "external", "fetch"),
    *("find", "focus", "frames", "history", "indexedDB", "late", "length", "location", "name"),
    *("navigator", "once", "open", "opener", "origin", "parent", "print", "screen", "scroll"),
    *("self", "status", "stop", "toolbar", "top", "window"),
}
"""Names that no module may put into the common scope: another module may mean the browser's own."""


APART = {"trust/past"}
"""Modules that stay files of their own, which a bundle fetches where they are imported: few devices
need them. Such a module loads its own copies of the modules that it imports. So a class that both
have is two classes, and no instance of it may pass between them."""
_FETCH = "fetchModule("


@dataclass(frozen=True)
class _Module:
    """A module: its path, its ``text`` without imports and exports, and what it imports and
    exports.

    ``imports`` are triples of a module, the name of an export of it and the local name; ``late``
    the modules that it imports later, by ``import()``. ``exports`` maps the names of exports to
    local names, ``declared`` are all names that the module declares at its top level.
    """

    path: str
    text: str
    imports: Sequence[tuple[str, str, str]]
    late: Sequence[str]
    exports: Mapping[str, str]
    declared: frozenset[str]


def bundle_modules(
    texts: Mapping[str, str],
    entries: Sequence[str],
    without: Sequence[str] = (),
    instead: Mapping[str, str] | None = None,
    swapped: Mapping[str, Mapping[str, str]] | None = None,
    *,
    shaken: bool = False,
) -> str:
    """Returns the JavaScript source of one module that runs the modules ``entries`` in turn.

    A module is named by its path, its room and name without ``.js``, such as ``form/form``; names
    are unique across rooms. ``texts`` maps each module to its source. A module in ``without`` is
    left out, and modules that import it get an empty object. ``instead`` maps modules to others
    that take their place. ``swapped`` does so for single names: for a module, it maps names that it
    imports to the module that they come from instead, or to its export, as in ``form/mixed.send``.
    Where ``shaken``, functions that nothing calls are left out.

    Raises ValueError for an import, export or template literal in an unsupported form, for a module
    that is imported both at once and later, and for a name to swap that nobody imports.
    """
    changes = _Changes(without, instead or {}, swapped or {})
    modules = _parsed(texts, entries, changes)
    if shaken:
        while (smaller := _without_unused(texts, entries, modules)) != texts:
            texts = smaller
            modules = _parsed(texts, entries, changes)
    bundle = _Bundle(modules)
    for path in entries:
        bundle.run(path)
    for module in modules.values():
        # What runs at once is not a function any more that a late import could call.
        if early := bundle.done & {*module.late}:
            raise ValueError(f"{module.path}.js: imports later what is there: {sorted(early)}")
    later_modules = [bundle.later(path) for path in modules if path not in bundle.done]
    left_out = [f"let {_name(each)} = once(Object);\n" for each in without]
    return _HEAD + "".join([*left_out, *later_modules, *bundle.pieces])


class _Changes(NamedTuple):
    """What a bundle changes of its modules: those left out, those replaced, and swapped names."""

    without: Sequence[str]
    instead: Mapping[str, str]
    swapped: Mapping[str, Mapping[str, str]]


def _parsed(
    texts: Mapping[str, str], entries: Sequence[str], changes: _Changes
) -> dict[str, _Module]:
    """Returns the modules ``entries``, and all that these import, and so on, by their paths."""
    modules: dict[str, _Module] = {}
    ahead = list(entries)
    while ahead:
        path = ahead.pop(0)
        if path not in modules:
            module = _module(path, texts[path], changes.instead)
            module = modules[path] = _with_swaps(module, changes.swapped.get(path, {}))
            imported = [*(each for each, _, _ in module.imports), *module.late]
            ahead += [each for each in imported if each not in changes.without]
    return modules


def _without_unused(
    texts: Mapping[str, str], entries: Sequence[str], modules: Mapping[str, _Module]
) -> Mapping[str, str]:
    """Returns the texts without functions that are named nowhere but where they are declared, and
    without imports of them."""
    imported = {each[:2] for module in modules.values() for each in module.imports}
    late = {each for module in modules.values() for each in module.late}
    smaller = dict(texts)
    for path in set(modules) - late - {*entries}:
        taken = {name for source, name in imported if source == path}
        text = _without_comments(texts[path])
        own = _IMPORT.sub("", text)
        while unused := _unused(text, own, taken):
            text = text.replace(unused, "")
            own = own.replace(unused, "")
        smaller[path] = _IMPORT.sub(partial(_still_used, own), text)
    return smaller


def _unused(text: str, own: str, taken: Collection[str]) -> str:
    """The first function of a module's text whose name nobody has ``taken``, and which ``own``, the
    text without imports, has once; empty without one."""
    for function in _FUNCTION.finditer(text):
        name = function["name"]
        if name not in taken and len(_named(name, own)) == 1:
            return function[0]
    return ""


def _still_used(own: str, line: re.Match[str]) -> str:
    """An import without the names that the module's ``own`` text does not have; empty without
    any."""
    if line[1]:
        return line[0] if _named(line[1], own) else ""
    names = [name.strip() for name in line[2].split(",") if name.strip()]
    used = [name for name in names if _named(name.split(" as ")[-1], own)]
    return f'import {{ {", ".join(used)} }} from "{line[3]}.js";\n' if used else ""


def _named(name: str, text: str) -> list[str]:
    """Where a text has the name."""
    return re.findall(rf"(?<![\w$]){re.escape(name)}(?![\w$])", text)


def _without_comments(text: str) -> str:
    return _TYPE.sub("", _AFTERWARDS.sub("", _COMMENT.sub("", text)))


class _Bundle:
    """A bundle as it grows: the ``pieces`` of its text, the modules ``done``, and the names in
    their scope.

    ``imported`` has each module, and the name of an export of it, that another one imports at once.
    ``names`` maps each name to the module, and the name of the export or of its own, that it stands
    for; ``exported`` each export of a module that has run to its name in the scope.
    """

    def __init__(self, modules: dict[str, _Module]) -> None:
        self.modules = modules
        self.imported = {each[:2] for module in modules.values() for each in module.imports}
        self.pieces: list[str] = []
        self.done: set[str] = set()
        self.names: dict[str, tuple[str, str]] = {}
        self.exported: dict[tuple[str, str], str] = {}

    def run(self, entry: str) -> None:
        """Adds an entry, after the modules that it imports and that are not there yet."""
        module = self._ready(entry)
        self.pieces.append(f"{{\n{self._taken(module)}{module.text}}}\n")

    def later(self, path: str) -> str:
        """Returns a module as a function that runs once."""
        return f"let {_name(path)} = once({self._function(path)});\n"

    def _ready(self, path: str) -> _Module:
        self.done.add(path)
        module = self.modules[path]
        # First what it imports, in the order in which a browser would run it.
        for each in dict.fromkeys(each for each, _, _ in module.imports):
            if each in self.modules and each not in self.done:
                self._add(each)
        return module

    def _add(self, path: str) -> None:
        module = self._ready(path)
        scope_names = {name: (path, name) for name in module.declared}
        scope_names |= {
            local: self.names.get(self.exported.get((source, name), ""), (source, name))
            for source, name, local in module.imports
        }
        # All names are free: the module's text stands in the common scope, as it is.
        if all(self._free(name, origin) for name, origin in scope_names.items()):
            self.pieces.append(self._taken(module) + module.text)
            self.names |= scope_names
            self.exported |= {(path, name): local for name, local in module.exports.items()}
            return
        exported: dict[str, str] = {}
        # Exports that only other bundles need would make this one longer.
        used = {a: b for a, b in module.exports.items() if (path, a) in self.imported}
        module = self.modules[path] = replace(module, exports=used)
        for name in used:
            local = name if self._free(name, None) else f"${basename(path)}_{name}"
            exported[name] = local
            self.names[local] = (path, module.exports[name])
            self.exported[path, name] = local
        names = ",".join(a if a == b else f"{a}:{b}" for a, b in exported.items())
        # A name is taken: the module becomes a function of its own, which runs here and at once.
        run = self._function(path)
        self.pieces.append(f"let{{{names}}}=({run})();\n" if exported else f"({run})();\n")

    def _free(self, name: str, origin: tuple[str, str] | None) -> bool:
        """Returns whether a name can stand in the scope for ``origin``: it is an identifier and not
        taken."""
        plain = name.isidentifier() or name.startswith("$")
        return plain and name not in RESERVED and self.names.get(name, origin) == origin

    def _function(self, path: str) -> str:
        module = self.modules[path]
        returned = ",".join(a if a == b else f"{a}:{b}" for a, b in module.exports.items())
        return f"()=>{{{self._taken(module)}{module.text}return{{{returned}}};\n}}"

    def _taken(self, module: _Module) -> str:
        """Returns the lines that give a module the names that it imports and the scope does not
        have."""
        lines: dict[str, list[str]] = {}
        for source, name, local in module.imports:
            in_scope = self.exported.get((source, name))
            if in_scope is None:
                lines.setdefault(source, []).append(name if name == local else f"{name}:{local}")
            elif in_scope != local:
                lines[f"let {local}={in_scope};"] = []
        return "".join(
            f"let{{{','.join(names)}}}={_name(line)}();\n" if names else f"{line}\n"
            for line, names in lines.items()
        )


def _module(path: str, text: str, stand_ins: Mapping[str, str]) -> _Module:
    return _parse(path, text, tuple(stand_ins.items()))


@lru_cache(maxsize=512)
def _parse(path: str, text: str, replaced: tuple[tuple[str, str], ...]) -> _Module:
    """Parses a module. Raises ValueError for a form of import or export that is not supported."""

    stand_ins = dict(replaced)

    def there(source: str) -> str:
        found = _there(path, source)
        return stand_ins.get(found, found)

    text = _without_comments(text)
    if long := _LONG.search(text):
        raise ValueError(f"{path}.js: cannot be bundled: {long[0]}")
    declared = _DECLARED.findall(text)
    text = _INDENTED.sub("\n", text)
    imports = [
        (there(source), *pair)
        for default, names, source in _IMPORT.findall(text)
        for pair in _pairs(default, names)
    ]
    text = _LATE.sub(lambda match: _apart(path, match), text)
    late = [there(source) for source in _LATE.findall(text)]
    exports = {name: name for _, name in _EXPORT.findall(text)}
    if _DEFAULT.search(text):
        own = f"${basename(path)}Default"
        exports["default"] = own
        declared.append(own)
        text = _DEFAULT.sub(lambda _: f"let {own} = ", text)
    text = _EXPORT.sub(r"\1", _IMPORT.sub("", text))
    text = _LATE.sub(lambda match: f"late({_name(there(match[1]))})", text)
    text = without_signs(without_breaks(without_const(without_spaces(text))))
    if unknown := _UNKNOWN.search(text):
        raise ValueError(f"{path}.js: cannot be bundled: {unknown[0]}")
    # Only now: before, an import() that was left would have been refused.
    text = text.replace(_FETCH, "import(")
    return _Module(path, text, imports, late, exports, frozenset(declared))


def _with_swaps(module: _Module, swaps: Mapping[str, str]) -> _Module:
    """Returns the module with some of its imports from other modules than it says."""
    if unknown := set(swaps) - {name for _, name, _ in module.imports}:
        raise ValueError(f"{module.path}.js: does not import {sorted(unknown)}")
    imports = [
        (*_export(swaps[name], name), local) if name in swaps else (source, name, local)
        for source, name, local in module.imports
    ]
    return replace(module, imports=imports)


def _export(target: str, name: str) -> tuple[str, str]:
    """Returns the module and the name of an export, such as ``form/mixed.send``; without a point it
    is ``name``."""
    path, _, other = target.partition(".")
    return path, other or name


def _apart(path: str, match: re.Match[str]) -> str:
    """Returns a late import of a module that stays a file of its own, with its address relative to
    the bundle."""
    target = _there(path, match[1])
    return f'{_FETCH}"../{target}.js")' if target in APART else match[0]


def _pairs(default: str, names: str) -> list[tuple[str, str]]:
    """Returns the names that an import takes, each as a pair: the export's, and the local one."""
    if default:
        return [("default", default)]
    each = [name.split(" as ") for name in names.replace("\n", " ").split(",") if name.strip()]
    return [(pair[0].strip(), pair[-1].strip()) for pair in each]


def _there(path: str, source: str) -> str:
    return normpath(f"{dirname(path)}/{source}")


def without_spaces(text: str) -> str:
    """Returns JavaScript without the spaces beside signs, except in strings and regular
    expressions."""
    return _in_code(lambda code: _SPACE.sub("", code), text)


def without_const(text: str) -> str:
    """Returns JavaScript with ``let`` in place of ``const``, except in strings and regular
    expressions.

    Both mean the same where nothing assigns to the name. With one word instead of two a compressed
    form is 250 bytes smaller.
    """
    return _in_code(lambda code: _CONST.sub("let", code), text)


def without_signs(text: str) -> str:
    """Returns JavaScript without the commas and semicolons before a closing bracket, which mean
    nothing there."""
    return _in_code(lambda code: _NEEDLESS.sub("", code), text)


def _in_code(change: Callable[[str], str], text: str) -> str:
    """Returns the text with a change to what is in no string and no regular expression."""
    parts = _KEPT.split(text)
    parts[::2] = [change(part) for part in parts[::2]]
    return "".join(parts)


def without_breaks(text: str) -> str:
    """Returns lines of JavaScript, joined where the line break has no meaning and ends no
    comment."""
    lines = text.split("\n")
    breaks = [
        ""
        if "//" not in line and (line.endswith(_GOES_ON) or after.startswith(_CONTINUES))
        else "\n"
        for line, after in itertools.pairwise(lines)
    ]
    return "".join(line + end for line, end in zip(lines, [*breaks, ""], strict=True))


def _name(path: str) -> str:
    """The name of the function that a module becomes where it cannot share the scope."""
    return f"${basename(path)}"
