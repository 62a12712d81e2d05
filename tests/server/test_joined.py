"""The form's code in one file: the modules as they are, but for their imports and exports."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from conftest import WEB
from deniably_server.web.joined import join

SOURCES = {path.stem: path.read_text(encoding="utf-8") for path in WEB.glob("*.js")}
JOINED = join(SOURCES, ("exit", "form"))

FORMS = {
    "entry": (
        '// A comment goes.\nimport one, { not } from "./a.js";\n'.replace("one, { not }", "one")
        + 'import {\n  two,\n  three as drei,\n} from "./b.js";\n'
        'import { four, also } from "./c.js";\n'
        "/** Goes,\n * too. */\n"
        'const five = await import("./d.js");\n'
        "globalThis.found = [one, two(), drei, four, also, new five.Five().value, five.default];\n"
    ),
    "a": 'globalThis.runs = (globalThis.runs ?? 0) + 1;\nexport default "one"; // stays\n',
    "b": (
        'import one from "./a.js";\n'
        "export async function two() {\n  return `${one} // no comment`;\n}\n"
        "export const three = 3;\n"
    ),
    "c": 'export { four, three as also } from "./e.js";\n',
    "d": 'export class Five {\n  value = 5;\n}\nexport default "late";\n',
    "e": "export const four = 4;\nexport const three = 33;\n",
    "unused": "throw new Error();\n",
}


def test_a_joined_module_does_what_the_modules_do(tmp_path: Path) -> None:
    node = shutil.which("node")
    assert node
    told = "console.log(JSON.stringify([await Promise.all(globalThis.found), globalThis.runs]));\n"
    (tmp_path / "joined.mjs").write_text(join(FORMS, ["entry"]) + told)
    for name, text in FORMS.items():
        (tmp_path / f"{name}.js").write_text(text + (told if name == "entry" else ""))
    (tmp_path / "package.json").write_text('{"type": "module"}')

    said = [
        subprocess.run([node, tmp_path / name], capture_output=True, text=True, check=True).stdout
        for name in ("entry.js", "joined.mjs")
    ]

    assert said[0] == said[1] == '[["one","one // no comment",3,4,33,5,"late"],1]\n'


@pytest.mark.parametrize(
    "line",
    [
        'import * as all from "./a.js";',
        'import "./a.js";',
        'import one, { two } from "./a.js";',
        'export * from "./a.js";',
        "export let changing = 1;",
        "export const { a, b } = c;",
        "export { a };",
        "const a = `one\n  two`;",
        'const a = import("./" + name);',
        'import a from "https://elsewhere.example/a.js";',
    ],
)
def test_what_is_written_otherwise_is_refused(line: str) -> None:
    with pytest.raises(ValueError, match="cannot be joined: "):
        join(FORMS | {"entry": line + "\n"}, ["entry"])


def test_every_line_of_every_module_is_there_in_its_order() -> None:
    """Comments and types are left out, and imports and exports are not as they were."""
    for name in [*re.findall(r"^const \$(\w+) = once", JOINED, re.MULTILINE), "exit", "form"]:
        code = re.sub(r'^(import|export) [^;]*from "[^"]*";$', "", SOURCES[name], flags=re.M)
        at = JOINED.find(f"const ${name} = once") + 1
        for line in map(str.strip, code.splitlines()):
            if line.startswith(("//", "*")) or re.fullmatch(r"/\*(?:(?!\*/).)*(?:\*/)?", line):
                continue
            text = re.sub(r"^export (default )?", "", re.sub(r"/\*\*.*?\*/ ?", "", line))
            found = JOINED.find(re.sub(r'\bimport\("\./(\w+)\.js"\)', r"late($\1)", text), at)
            assert found >= 0, f"{name}.js: {line}"
            at = found


def test_the_form_has_every_mechanism_and_type_with_it() -> None:
    together = set(re.findall(r"^const \$(\w+) = once", JOINED, re.MULTILINE))

    assert together >= {"questions", "mechanism", "fields", "path", "answers", "choices", "numbers"}
    assert together >= {"window", "channel", "ticks", "noise", "vector", "memoised"}
    assert together.isdisjoint({"audit", "sw"}), "no respondent needs it"


def test_nothing_of_it_is_fetched_from_elsewhere() -> None:
    assert not re.search(r"^\s*(import|export)\b|\bimport\(", JOINED, re.MULTILINE)
