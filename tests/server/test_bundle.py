"""The form's code in one file: the modules as they are, but for their imports and exports."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from posixpath import normpath

import pytest

from conftest import WEB
from deniably_server.web.bundle import (
    APART,
    RESERVED,
    bundle_modules,
    without_breaks,
    without_const,
    without_signs,
    without_spaces,
)

SOURCES = {
    f"{path.parent.name}/{path.stem}": path.read_text(encoding="utf-8")
    for path in WEB.glob("*/*.js")
}
ENTRIES = ("form/exit", "form/form")
BUNDLE = bundle_modules(SOURCES, ENTRIES)

FORMS = {
    "one/entry": (
        '// A comment goes.\nimport a from "./a.js";\n'
        'import {\n  two,\n  three as drei,\n} from "../other/b.js";\n'
        'import { four } from "../other/e.js";\n'
        "/** Goes,\n * too. */\n"
        'const five = await import("../other/d.js");\n'
        "globalThis.found = [a, two(), drei, four, new five.Five().value, five.default];\n"
    ),
    "one/a": 'globalThis.runs = (globalThis.runs ?? 0) + 1;\nexport default "one"; // goes\n',
    "other/b": (
        'import one from "../one/a.js";\n'
        "export async function two() {\n  return `${one} // no comment`;\n}\n"
        "export const three = 3;\n"
    ),
    "other/d": 'export class Five {\n  value = 5;\n}\nexport default "late";\n',
    "other/e": "export const four = 4;\n",
    "other/unused": "throw new Error();\n",
}
TOLD = "console.log(JSON.stringify([await Promise.all(globalThis.found), globalThis.runs]));\n"


def said_in_node(script: Path) -> str:
    node = shutil.which("node")
    assert node
    return subprocess.run([node, script], capture_output=True, text=True, check=True).stdout


def test_a_joined_module_does_what_the_modules_do(tmp_path: Path) -> None:
    (tmp_path / "bundle.mjs").write_text(bundle_modules(FORMS, ["one/entry"]) + TOLD)
    for name, text in FORMS.items():
        path = tmp_path / f"{name}.js"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text + (TOLD if name == "one/entry" else ""))
    (tmp_path / "package.json").write_text('{"type": "module"}')

    said = [said_in_node(tmp_path / name) for name in ("one/entry.js", "bundle.mjs")]

    assert said[0] == said[1] == '[["one","one // no comment",3,4,5,"late"],1]\n'


def test_a_dynamic_import_of_a_module_that_is_left_out_gives_an_empty_object(
    tmp_path: Path,
) -> None:
    (tmp_path / "bundle.mjs").write_text(
        bundle_modules(FORMS | {"one/entry": 'console.log(await import("../other/d.js"));\n'},
             ["one/entry"], ["other/d"])
    )  # fmt: skip

    assert said_in_node(tmp_path / "bundle.mjs") == "{}\n"


def test_another_module_can_stand_in_for_one(tmp_path: Path) -> None:
    forms = {
        "one/entry": (
            'import { four } from "../other/e.js";\nconst { five } = await import("./late.js");\n'
            "console.log(four, five);\n"
        ),
        "two/other": "export const four = 44;\n",
        "two/later": "export const five = 55;\n",
    }
    instead = {"other/e": "two/other", "one/late": "two/later"}
    (tmp_path / "bundle.mjs").write_text(
        bundle_modules(forms, ["one/entry"], instead=instead), encoding="utf-8"
    )

    assert said_in_node(tmp_path / "bundle.mjs") == "44 55\n"


SWAPPING = {
    "one/entry": (
        'import { four, six } from "../other/e.js";\nimport { five } from "./a.js";\n'
        "console.log(four, five, six());\n"
    ),
    "one/a": 'import { four } from "../other/e.js";\nexport const five = four + 1;\n',
    "other/e": "export const four = 4;\nexport const six = () => 6;\n",
    "two/other": (
        'import { six } from "../other/e.js";\n'
        "export const four = 40;\nexport const sixty = () => 10 * six();\n"
    ),
}


def test_single_names_can_come_from_elsewhere_where_one_module_imports_them(
    tmp_path: Path,
) -> None:
    """The module that stands in may import what it stands for, and others still get that."""
    swapped = {"one/entry": {"four": "two/other", "six": "two/other.sixty"}}
    (tmp_path / "bundle.mjs").write_text(bundle_modules(SWAPPING, ["one/entry"], swapped=swapped))
    (tmp_path / "plain.mjs").write_text(bundle_modules(SWAPPING, ["one/entry"]))

    assert said_in_node(tmp_path / "bundle.mjs") == "40 5 60\n"
    assert said_in_node(tmp_path / "plain.mjs") == "4 5 6\n"


def test_a_name_that_nobody_imports_cannot_be_swapped() -> None:
    with pytest.raises(ValueError, match=r"one/entry.js: does not import \['seven'\]"):
        bundle_modules(SWAPPING, ["one/entry"], swapped={"one/entry": {"seven": "two/other"}})


def test_functions_that_nothing_calls_can_be_left_out(tmp_path: Path) -> None:
    """With what they alone import, and what only they call."""
    forms = {
        "one/entry": 'import { a } from "./a.js";\nconsole.log(a());\n',
        "one/a": (
            'import { c } from "./c.js";\n'
            'import { d } from "./d.js";\n'
            "/** Not b. */\nexport function a() {\n  return helper();\n}\n"
            "export async function b() {\n  return c() + alone();\n}\n"
            "function alone() {\n  return d;\n}\n"
            "function helper() {\n  return 7;\n}\n"
        ),
        "one/c": "export function c() {\n  return 1;\n}\n",
        "one/d": "export const d = 2;\n",
    }
    shaken = bundle_modules(forms, ["one/entry"], shaken=True)
    (tmp_path / "bundle.mjs").write_text(shaken)

    assert said_in_node(tmp_path / "bundle.mjs") == "7\n"
    whole = bundle_modules(forms, ["one/entry"])
    for gone in ("alone", "function c", "let d", "async function"):
        assert gone in whole
        assert gone not in shaken


def test_what_is_imported_later_is_never_left_out(tmp_path: Path) -> None:
    forms = {
        "one/entry": 'const { five } = await import("./late.js");\nconsole.log(five());\n',
        "one/late": "export function five() {\n  return 5;\n}\n",
    }
    (tmp_path / "bundle.mjs").write_text(bundle_modules(forms, ["one/entry"], shaken=True))

    assert said_in_node(tmp_path / "bundle.mjs") == "5\n"


def test_an_export_that_only_other_bundles_need_adds_nothing() -> None:
    """Here a name is taken, so that the module is a function and gives its exports back."""
    forms = {
        "one/entry": 'import { a } from "./a.js";\nimport { b } from "./b.js";\nlook(a, b);\n',
        "one/a": "const own = 1;\nexport const a = own;\n",
        "one/b": "const own = 2;\nexport const b = own;\n",
    }
    more = forms | {"one/b": forms["one/b"].replace("const own", "export const own")}

    assert bundle_modules(more, ["one/entry"]) == bundle_modules(forms, ["one/entry"])


def test_a_module_is_imported_at_once_or_later_and_not_both() -> None:
    both = 'import { four } from "../other/e.js";\nconst e = await import("../other/e.js");\n'

    with pytest.raises(ValueError, match="imports later what is there"):
        bundle_modules(FORMS | {"one/entry": both}, ["one/entry"])


@pytest.mark.parametrize(
    "line",
    [
        'import * as all from "./a.js";',
        'import "./a.js";',
        'import one, { two } from "./a.js";',
        'export * from "./a.js";',
        'export { a } from "./a.js";',
        "export let changing = 1;",
        "export const { a, b } = c;",
        "export { a };",
        "const a = `one\n  two`;",
        'const a = import("./" + name);',
        'import a from "https://elsewhere.example/a.js";',
    ],
)
def test_what_is_written_otherwise_is_refused(line: str) -> None:
    with pytest.raises(ValueError, match="cannot be bundled: "):
        bundle_modules(FORMS | {"one/entry": line + "\n"}, ["one/entry"])


@pytest.mark.parametrize(
    ("line", "narrow"),
    [
        ("if (a === b) return { c: [d, ...e] };", "if(a===b)return{c:[d,...e]};"),
        ("const f = async (a, b) => a ? b : -1;", "const f=async(a,b)=>a?b:-1;"),
        ("a - -b + +c - d++ + e", "a- -b+ +c-d++ +e"),
        ('return "a = b, c" + d in { e };', 'return "a = b, c"+d in{e};'),
        ('f(\'say "a : b"\', "it\'s ( c )") ;', 'f(\'say "a : b"\',"it\'s ( c )");'),
        ('const a = "\\" , b" + c;', 'const a="\\" , b"+c;'),
        ("g(a, `one ( ${b + c} ) two`, d);", "g(a,`one ( ${b + c} ) two`,d);"),
        ("if (/^[ ,] = /u.test(a)) b / c;", "if(/^[ ,] = /u.test(a))b/c;"),
        ("return /a , b/.test(c) / 2;", "return /a , b/.test(c)/2;"),
        ("a[0] / (b + c) / d", "a[0]/(b+c)/d"),
        ("const mean = sum / n;", "const mean=sum/n;"),
        ('const a = b / c + " / ( d";', 'const a=b/c+" / ( d";'),
    ],
)
def test_only_spaces_without_a_meaning_are_left_out(line: str, narrow: str) -> None:
    assert without_spaces(line) == narrow


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("const a=1;const{b}=c;", "let a=1;let{b}=c;"),
        ("for(const[d]of e)f.const=constant;", "for(let[d]of e)f.const=constant;"),
        ('const g="const h = 1;";', 'let g="const h = 1;";'),
        ("k=`const l`;const m=1", "k=`const l`;let m=1"),
    ],
)
def test_a_bundle_says_let_in_its_code_alone(line: str, said: str) -> None:
    assert without_const(line) == said


@pytest.mark.parametrize(
    ("code", "short"),
    [
        ("{f(a,b,);return[c,];}", "{f(a,b);return[c]}"),
        ("for(;;){g();}", "for(;;){g()}"),
        ('h(";}",`,]`,/[;,)]/u,);', 'h(";}",`,]`,/[;,)]/u);'),
    ],
)
def test_a_bundle_has_no_sign_that_means_nothing_before_a_bracket(code: str, short: str) -> None:
    assert without_signs(code) == short


def test_what_few_devices_need_stays_a_file_of_its_own() -> None:
    assert {"trust/past"} == APART
    assert 'import("../trust/past.js")' in BUNDLE
    assert "await pastFault(" in BUNDLE
    assert "function pastFault" not in BUNDLE


@pytest.mark.parametrize(
    ("lines", "joined"),
    [
        ("f(\n1,\n2,\n);\ng()", "f(1,2,);g()"),
        ("if (a) {\nreturn\n}\nelse b", "if (a) {return}\nelse b"),
        ("const a =\nb\n? c\n: d\n.e", "const a =b? c: d.e"),
        ("a; // it's {\n}", "a; // it's {\n}"),
        ("let b\n[c] = d\n(e)\n++f", "let b\n[c] = d\n(e)\n++f"),
        ("once(\n", "once("),
    ],
)
def test_only_line_breaks_without_a_meaning_are_left_out(lines: str, joined: str) -> None:
    assert without_breaks(lines) == joined


def own_lines(path: str) -> list[str]:
    """A module's lines as the bundle has them: without comments, types, imports and exports."""
    code = re.sub(r'^import [^;]*from "[^"]*";$', "", SOURCES[path], flags=re.MULTILINE)
    found = list[str]()
    for line in map(str.strip, code.splitlines()):
        if line.startswith(("//", "*")) or re.fullmatch(r"/\*(?:(?!\*/).)*(?:\*/)?", line):
            continue
        text = re.sub(r"/\*\*.*?\*/ ?|\s+//[^\"'`]*$", "", line)
        text = re.sub(r"^export default ", f"const ${Path(path).name}Default = ", text)
        text = without_const(without_spaces(re.sub(r"^export ", "", text)))
        text = re.sub(r'\bimport\("(?!\./past)[./\w]+/(\w+)\.js"\)', r"late($\1)", text)
        found.append(text.replace('import("./past.js")', 'import("../trust/past.js")'))
    return [line for line in found if line]


def bundled(path: str) -> bool:
    """Whether the bundle has all lines of a module, one right after another."""
    lines = (re.sub(r"[,;]$", "", without_signs(line)) for line in own_lines(path))
    return bool(re.search(r"[,;]?\s*".join(map(re.escape, lines)), BUNDLE))


def needed(entries: Sequence[str]) -> set[str]:
    """The modules that these import, and those that they import later, and so on."""
    ahead, found = [*entries], set[str]()
    while ahead:
        path = ahead.pop()
        code = re.sub(r"/\*(?:(?!\*/)[\s\S])*\*/|^ *//.*$", "", SOURCES[path], flags=re.MULTILINE)
        sources = re.findall(r'(?:from |import\()"(\.[^"]+)\.js"', code)
        found.add(path)
        ahead += {normpath(f"{Path(path).parent}/{each}") for each in sources} - found - APART
    return found


def test_every_line_of_every_module_is_there_in_its_order() -> None:
    """Comments and types are left out, and imports and exports are not as they were."""
    modules = needed(ENTRIES)

    assert len(modules) > 50
    assert [path for path in sorted(modules) if not bundled(path)] == []


def test_no_name_of_the_shared_scope_is_one_of_a_browser() -> None:
    """A module that means the browser's own would get another module's."""
    (dom,) = (WEB.parents[1] / "node_modules/@typescript").glob("*/lib/lib.dom.d.ts")
    of_browsers = set(re.findall(r"^declare (?:var|function) (\w+)", dom.read_text(), re.MULTILINE))
    declared = {
        name
        for text in SOURCES.values()
        for name in re.findall(r"^(?:export )?(?:(?:async )?function|class|const|let) (\w+)",
                               text, re.MULTILINE)
    }  # fmt: skip
    imported = {
        name.split(" as ")[-1].strip()
        for text in SOURCES.values()
        for names in re.findall(r"^import \{([^}]*)\}", text, re.MULTILINE)
        for name in names.split(",")
    }
    assert len(of_browsers) > 500
    assert of_browsers & (declared | imported) <= RESERVED


CLASHES = {
    "one/entry": (
        'import { name, tell } from "./a.js";\nimport { own, tell as say } from "./b.js";\n'
        'import { later } from "./c.js";\n'
        "globalThis.name = 5;\nglobalThis.open = 6;\n"
        "globalThis.found = [name, tell(), own, say(), later()];\n"
    ),
    "one/a": (
        'const hidden = "a";\nexport const name = "mine";\nexport const tell = () => hidden;\n'
    ),
    "one/b": (
        'const hidden = "b";\nexport const own = globalThis.never ?? "unset";\n'
        "export const tell = () => hidden + own;\n"
    ),
    "one/c": 'import { tell } from "./b.js";\nexport const later = () => tell() + name + open;\n',
}


def test_modules_with_the_same_names_or_a_browsers_keep_to_themselves(tmp_path: Path) -> None:
    (tmp_path / "bundle.mjs").write_text(bundle_modules(CLASHES, ["one/entry"]) + TOLD)

    assert said_in_node(tmp_path / "bundle.mjs") == (
        '[["mine","a","unset","bunset","bunset56"],null]\n'
    )


def test_the_form_has_every_mechanism_and_type_with_it() -> None:
    together = {Path(path).name for path in SOURCES if bundled(path)}

    assert together >= {"questions", "mechanism", "fields", "path", "conditions", "choices"}
    assert "numbers" in together
    assert together >= {"window", "channel", "ticks", "noise", "vector", "memoised"}
    assert together.isdisjoint({"enumeration", "sw"}), "no respondent needs it"


def test_nothing_of_it_is_fetched_from_elsewhere() -> None:
    """But for what few devices need."""
    imports = r'^\s*(import|export)\b|\bimport\((?!"\.\./trust/past\.js"\))'
    assert not re.search(imports, BUNDLE, re.MULTILINE)
