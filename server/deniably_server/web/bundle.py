"""Bundles the form's JavaScript modules into one file, which saves a slow phone round trips.

There is no build step. When it starts, the server bundles the modules that the tests run and that
``/web/<room>/<name>`` shows with their comments. Each module becomes a function that runs once, at
its first import, and returns its exports. Only imports and exports change; comments, types,
indentation, and spaces and line breaks without a meaning are removed. Every survey has the same
bundle, so a browser's cache does not show which survey its owner answered. Only surveys by
invitation and those with strata have others.

The alternatives, gzipped: esbuild's minified file is smaller (26 kB instead of 32), but needs npm
wherever a wheel is built or the demonstration starts, and no longer has the modules' lines in their
order. The modules by themselves, preloaded, are 51 requests and 69 kB.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from posixpath import basename, dirname, normpath

_HEAD = """\
// The modules of the form, joined. Read them with their comments: /web/form/form.js, and so on.
const once = (run) => {
  let found;
  return () => (found ??= run());
};
const late = (module) => Promise.resolve().then(module);
"""
_COMMENT = re.compile(r"^[ \t]*(?://[^\n]*|/\*(?:(?!\*/)[\s\S])*\*/[ \t]*)\n", re.MULTILINE)
_AFTERWARDS = re.compile(r"""[ \t]+//[^"'`\n]*$""", re.MULTILINE)
"""A comment at the end of a line. A string that holds ``//`` has its closing quote after it."""
_TYPE = re.compile(r"/\*\*[^\n]*?\*/ ?")
_INDENTED = re.compile(r"\n[ \t\n]+")
_LONG = re.compile(r"^[^`\n]*(?:`[^`\n]*`[^`\n]*)*`[^`\n]*$", re.MULTILINE)
"""A line with an odd number of backticks: a template literal that continues in the next line."""
_KEPT = re.compile(r"""("(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|[`/].*[`/"'])""")
"""Strings, and all from a line's first backtick or slash to its last one or quotation mark, where a
template literal or a regular expression may be."""
_SIGN = r"[=+\-*/%<>!&|^?:,;(){}\[\]]"
_SPACE = re.compile(rf"(?<={_SIGN}) (?![+-])|(?<![+-]) (?={_SIGN})")
"""Not the space of ``a - -b``."""
_GOES_ON = (*tuple("{,;([=&|?:"), "=>")
_CONTINUES = tuple(")]}?:.&|")
"""How a line ends, or the next one starts, where the line break between them means nothing."""
_IMPORT = re.compile(r'^import (?:(\w+)|\{([^}]*)\}) from "(\.[\w./]+)\.js";$', re.MULTILINE)
_DEFAULT = re.compile(r"^export default ", re.MULTILINE)
_EXPORT = re.compile(r"^export ((?:async )?(?:function|class|const) (\w+))", re.MULTILINE)
_LATE = re.compile(r'\bimport\("(\.[\w./]+)\.js"\)')
_UNKNOWN = re.compile(r"^(?:import|export)\b.*$|\bimport\(", re.MULTILINE)


def bundle_modules(
    texts: Mapping[str, str], entries: Sequence[str], without: Sequence[str] = ()
) -> str:
    """The source of one module that runs the ``entries`` in turn.

    ``texts`` maps room and name, without ``.js``, to a source; names are unique across rooms. An
    import of a module in ``without`` gives an empty object.

    Raises ValueError for an import, export or template literal in an unsupported form.
    """
    needed: dict[str, str] = {}
    ahead = list(entries)
    while ahead:
        path = ahead.pop(0)
        if path not in needed:
            needed[path], imported = _module(path, texts[path], entry=path in entries)
            ahead += [each for each in imported if each not in without]
    nothing = [f"const {_name(each)} = once(Object);\n" for each in without]
    first = [text for path, text in needed.items() if path not in entries]
    return _HEAD + "".join(nothing + first + [needed[path] for path in entries])


def _module(path: str, text: str, entry: bool) -> tuple[str, list[str]]:
    """A module as a function, or an entry as a block, with the paths of its imports."""
    text = _TYPE.sub("", _AFTERWARDS.sub("", _COMMENT.sub("", text)))
    if long := _LONG.search(text):
        raise ValueError(f"{path}.js: cannot be bundled: {long[0]}")
    text = _INDENTED.sub("\n", text)
    imported = [*(each[2] for each in _IMPORT.findall(text)), *_LATE.findall(text)]
    exports = [name for _, name in _EXPORT.findall(text)]
    exports += ["default:$default"] * bool(_DEFAULT.search(text))
    text = _IMPORT.sub(_taken, text)
    text = _DEFAULT.sub("const $default = ", text)
    text = _EXPORT.sub(r"\1", text)
    text = _LATE.sub(lambda found: f"late({_name(found[1])})", text)
    text = without_breaks(without_spaces(text))
    if unknown := _UNKNOWN.search(text):
        raise ValueError(f"{path}.js: cannot be bundled: {unknown[0]}")
    below = [normpath(f"{dirname(path)}/{each}") for each in imported]
    if entry:
        return f"{{\n{text}}}\n", below
    given = ",".join(exports)
    return f"const {_name(path)} = once(()=>{{{text}return{{{given}}};\n}});\n", below


def without_spaces(text: str) -> str:
    """Lines of code without the spaces beside signs that are in no text and no pattern."""
    parts = _KEPT.split(text)
    parts[::2] = [_SPACE.sub("", part) for part in parts[::2]]
    return "".join(parts)


def without_breaks(text: str) -> str:
    """Lines of code, joined where the line break has no meaning and no comment may end there."""
    lines = text.split("\n")
    breaks = [
        ""
        if "//" not in line and (line.endswith(_GOES_ON) or after.startswith(_CONTINUES))
        else "\n"
        for line, after in itertools.pairwise(lines)
    ]
    return "".join(line + end for line, end in zip(lines, [*breaks, ""], strict=True))


def _taken(found: re.Match[str]) -> str:
    """``const { a, b: c } = $module();`` for an import."""
    default, names, source = found.groups()
    wanted = f"default: {default}" if default else names.strip().replace(" as ", ": ")
    return f"const {{ {wanted} }} = {_name(source)}();"


def _name(path: str) -> str:
    """The name of a module's function."""
    return f"${basename(path)}"
