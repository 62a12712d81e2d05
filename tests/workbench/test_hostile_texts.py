"""No text of an author is code, in any file of an export: each is run, or read by its program.

The texts stand in every place of a survey, past the check that refuses most of them. The same
survey with plain words says which statements, elements and fields there are to be.
"""

from __future__ import annotations

import ast
import csv
import io
import json
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

import pytest
import yaml
from markdown_it import MarkdownIt

import deniably as dn
from deniably.core.languages.bibliographies import Bibtex, Ris, Yaml
from deniably.core.languages.csv_text import csv_table, spreadsheet_text
from deniably.core.languages.html import Html
from deniably.core.languages.json import json_text
from deniably.core.languages.latex import Latex
from deniably.core.languages.markdown import Markdown
from deniably.core.languages.python import Python
from deniably.core.languages.r import R
from deniably.core.languages.stata import Stata
from deniably.core.steering import one_line, printable
from deniably.core.table import Table
from deniably.exhibits.results_table import estimate
from deniably.survey.survey import Survey
from deniably.workbench.files.folder import write_folder
from deniably.workbench.report_set import ReportSet
from support.hostile_texts import CANARY, TEXTS, hostile_survey, plain_survey, reports_of
from support.material import source_of
from support.stata_files import NotStata, statements

FORMATS = ("csv", "ndjson", "parquet", "xlsx", "sav", "dta")
CELL_ENDS = "[;\t\r\n\v\f\x1c-\x1e\x85\u2028\u2029]"
STEERING = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


class Exported(NamedTuple):
    survey: Survey
    reports: ReportSet
    folder: Path

    def read(self, name: str) -> str:
        return (self.folder / name).read_bytes().decode()


def _export(survey: Survey, folder: Path) -> Exported:
    reports = reports_of(survey)
    write_folder(folder, reports, source_of(survey), FORMATS)
    return Exported(survey, reports, folder)


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Exported:
    return _export(plain_survey(), tmp_path_factory.mktemp("plain") / "out")


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Exported]:
    """The export; at the end of all tests nothing has made a file there."""
    found = _export(hostile_survey(), tmp_path_factory.mktemp("hostile") / "out")
    before = sorted(found.folder.iterdir())
    yield found
    assert sorted(found.folder.iterdir()) == before
    assert not (Path.cwd() / CANARY).exists()


FORMULA = re.compile(r"""[\s"]*[=+\-@＝＋－＠\t\r](?![0-9.]+$)""")


def formulas(table: str) -> list[str]:
    """The cells of a CSV in which a spreadsheet would see one, wherever it ends cells and lines."""
    cells = (cell for row in csv.reader(io.StringIO(table)) for cell in row)
    return [one for one in cells if any(map(FORMULA.match, re.split(CELL_ENDS, one)))]


def run(folder: Path, *command: str) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, timeout=120)
    assert done.returncode == 0, done.stderr.decode(errors="replace")
    assert not (folder / CANARY).exists()
    return done.stdout.decode(errors="replace")


def test_there_are_enough_texts() -> None:
    assert len(set(TEXTS)) >= 60


# --- scripts -------------------------------------------------------------------------------------

TOKENS = """
source("analyse.R", encoding = "UTF-8")
tokens <- function(file) {
  found <- getParseData(parse(file, keep.source = TRUE, encoding = "UTF-8"))
  found <- found[found$terminal & !(found$token %in% c("COMMENT")), ]
  paste(found$token, ifelse(found$token == "STR_CONST", "", found$text))
}
here <- tokens("analyse.R"); there <- tokens(file.path(PLAIN, "analyse.R"))
cat("\\nSAME", identical(here, there), length(here) > 1000, "\\n")
"""


def test_r_sources_the_script_and_sees_no_other_statement(hostile: Any, plain: Any) -> None:
    """In the way that its head names first; then its tokens but for strings and comments."""
    rscript = shutil.which("Rscript")
    assert rscript, "make test installs R; else, as root: apt-get install r-base-core"

    told = run(
        hostile.folder, rscript, "--vanilla", "-e", f"PLAIN <- {R.text(str(plain.folder)).source}",
        "-e", TOKENS, "--csv",
    )  # fmt: skip

    table, _, said = told.rpartition("\nSAME ")
    assert said.split() == ["TRUE", "TRUE"]
    assert formulas(table[table.index('"question"') :]) == []


def _without_texts(script: str) -> str:
    tree = ast.parse(script)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            node.value = ""
    return ast.dump(tree)


def test_python_runs_the_script_and_sees_no_other_statement(hostile: Any, plain: Any) -> None:
    printed = run(hostile.folder, sys.executable, "-I", "analyse.py")

    assert _without_texts(hostile.read("analyse.py")) == _without_texts(plain.read("analyse.py"))
    rows = list(csv.DictReader(io.StringIO(printed)))
    questions = {one.name for one in hostile.survey.questions}
    assert {row["question"] for row in rows} == questions
    assert {spreadsheet_text(text) for text in TEXTS[:60]} <= {row["label"] for row in rows}
    assert formulas(printed) == []


def test_the_script_for_stata_has_no_other_statement(hostile: Any, plain: Any) -> None:
    fixed = plain.read("analyse.do").partition("\nversion 14\n")[2]
    programs = fixed.partition("\nprogram define figures\n")[0]

    found = list(statements(hostile.read("analyse.do"), programs))

    assert found == list(statements(plain.read("analyse.do"), programs))
    assert len(found) > 120
    with pytest.raises(NotStata):
        list(statements(plain.read("analyse.do").replace("figures\n", "shell touch x\n"), programs))


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_a_writer_of_a_script_alone_makes_a_string_or_a_comment(text: str) -> None:
    """Whatever was published, and whoever calls it."""
    assert ast.literal_eval(Python.text(text).source) == one_line(text)
    assert ast.dump(ast.parse("0\n0\n" + Python.comment(text).source)) == ast.dump(
        ast.parse("0\n0")
    )
    assert re.fullmatch(r'"(?:[ !#-\[\]-~]|\\["\\]|\\U\{[0-9a-f]{2,6}\})*"', R.text(text).source)
    assert "\\U{0}" not in R.text(text).source
    for comment, mark in ((R.comment(text), "#"), (Stata.comment(text), "*")):
        assert comment.source.startswith(mark)
        assert len(comment.source.splitlines()) == 1
    for piece in (Stata.comment(text), Stata.text(text)):
        assert not re.search(r"[`$\\{}]|/\*|\*/|//", piece.source[1:-1])
    assert Stata.text(text).source.count('"') == 2
    with pytest.raises(ValueError, match="no name"):
        R.name(f"a {text}")


# --- bibliographies ------------------------------------------------------------------------------

CITING = r"""\documentclass{article}
\usepackage[T1]{fontenc}\usepackage[utf8]{inputenc}\usepackage{url}
\begin{document}\nocite{*}
\bibliographystyle{plain}\bibliography{references}
%s
\end{document}
"""


def test_bibtex_and_latex_set_the_references_and_run_nothing(hostile: Any, tmp_path: Path) -> None:
    """With \\write18 allowed. Letters that the font lacks are errors, and all others failures."""
    shutil.copy(hostile.folder / "references.bib", tmp_path)
    table = Table("Texts", [], [["text", "n"], *([text, text] for text in TEXTS)], 1, list(TEXTS))
    paper = CITING % table.to_latex().replace("{table}", "{center}").replace("\\caption", "")
    (tmp_path / "paper.tex").write_text(paper, encoding="utf-8")
    (tmp_path / "paper.aux").write_text(
        "\\citation{*}\n\\bibstyle{plain}\n\\bibdata{references}\n", encoding="ascii"
    )
    run(tmp_path, "bibtex", "paper")  # which fails where an entry cannot be read

    subprocess.run(
        ["pdflatex", "-shell-escape", "-interaction=nonstopmode", "paper.tex"],
        cwd=tmp_path, capture_output=True, timeout=120,
    )  # fmt: skip

    assert not (tmp_path / CANARY).exists()
    assert (tmp_path / "paper.pdf").stat().st_size > 10_000
    log = (tmp_path / "paper.log").read_bytes().decode(errors="replace")
    errors = {line for line in log.split("\n") if line.startswith("! ")}
    assert all("Unicode character" in one for one in errors), errors
    listed = (tmp_path / "paper.bbl").read_text(encoding="utf-8")
    assert listed.count(r"\bibitem") == hostile.read("references.bib").count("\n@") + 1


def test_records_and_the_citation_have_the_same_fields(hostile: Any, plain: Any) -> None:
    tags = [
        [re.fullmatch(r"([A-Z][A-Z0-9]  - ).*", line) and line[:6] for line in text.split("\n")]
        for text in (hostile.read("references.ris"), plain.read("references.ris"))
    ]
    assert tags[0] == tags[1]
    found = yaml.safe_load(hostile.read("CITATION.cff"))
    assert found.keys() == yaml.safe_load(plain.read("CITATION.cff")).keys()
    assert found["title"].startswith("Health Health system('touch x') # Health import os;")


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_a_writer_of_a_field_alone_keeps_it_a_field(text: str) -> None:
    read = yaml.safe_load(f"a: {Yaml.text(text).source}\nb: 1")
    assert read.keys() == {"a", "b"}
    assert isinstance(read["a"], str)
    record = Ris.record("DATA", [("TI", text), ("UR", text), ("UR", f"https://a.b/{text}")])
    assert len(record.source.splitlines()) == (4 if one_line(text) else 3)
    assert not re.search("^UR  - (?!https://)", record.source, re.MULTILINE)
    latex = Latex.text(text).source
    bare = re.sub(r"\\(?:[a-z]+\{\}|[&%$#_])", "", latex)
    assert not re.search(r"[\\{}%$#&_^~]", bare)
    entry = Bibtex.entry("misc", "k", {"title": Latex.text(text), "url": Latex.address(text)})
    assert entry.source.count("{") == entry.source.count("}")
    assert len(entry.source.splitlines()) == len(entry.source.split("\n")) - 1
    with pytest.raises(ValueError, match="no key"):
        Bibtex.entry("misc", f"k {text}", {})


# --- pages and documents -------------------------------------------------------------------------


class Shape(HTMLParser):
    """The elements of a page, with the names of their attributes; and the text of it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.shape: list[tuple[str, ...]] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.shape.append((tag, *(name for name, _ in attrs)))

    def handle_endtag(self, tag: str) -> None:
        self.shape.append((f"/{tag}",))

    def handle_comment(self, data: str) -> None:
        self.shape.append(("comment", data))

    def handle_pi(self, data: str) -> None:
        self.shape.append(("instruction", data))

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def test_the_codebook_has_the_same_elements(hostile: Any, plain: Any) -> None:
    page = Shape(hostile.read("codebook.html"))

    assert page.shape == Shape(plain.read("codebook.html")).shape
    assert "<script>fetch('//evil.example')</script>" in "".join(page.words)

    def elements(text: str) -> list[tuple[str, list[str]]]:
        return [(one.tag, [*one.attrib]) for one in ElementTree.fromstring(text).iter()]

    assert elements(hostile.read("codebook.xml")) == elements(plain.read("codebook.xml"))


def _marks(text: str) -> Counter[str]:
    """What a Markdown document has beside words, by kind."""
    markdown = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    found: Counter[str] = Counter()
    for token in markdown.parse(text):
        found[token.type] += 1
        found.update(part.type for part in token.children or () if part.type != "text")
    return found


@pytest.mark.parametrize("name", ["METHODS.md", "CHECKLIST.md", "PACKAGES.md"])
def test_a_document_in_markdown_has_the_same_marks(name: str, hostile: Any, plain: Any) -> None:
    text = hostile.read(name)

    assert _marks(text) == _marks(plain.read(name))
    assert not re.search(r"`r[ #]", text), "knitr runs it, backslash or not"
    assert len(text.splitlines()) == len(plain.read(name).splitlines())


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_a_text_alone_is_words_in_markdown_and_html(text: str) -> None:
    for frame in ("{text}", "# {text}", "- {text}", "**{text}**", "| a |\n| --- |\n| {text} |"):
        with_text = Markdown.filled(frame, text=Markdown.text(text)).source  # type: ignore[misc,unused-ignore]
        marks = _marks(with_text) - _marks(frame.replace("{text}", "w"))
        assert not marks or not one_line(text), (frame, with_text)
    shown = Shape(Html.filled('<p title="{a}">{a}</p>', a=Html.text(text)).source)
    assert shown.shape == [("p", "title"), ("/p",)]
    assert "".join(shown.words).split() == printable(text).split()
    assert not STEERING.search(json_text({"a": text}))
    assert json.loads(json_text({"a": text})) == {"a": text}


# --- data ----------------------------------------------------------------------------------------


def test_no_cell_of_a_csv_is_a_formula(hostile: Any, plain: Any) -> None:
    rows = list(csv.reader(io.StringIO(hostile.read("results.csv"))))

    assert [len(row) for row in rows] == [
        len(row) for row in csv.reader(io.StringIO(plain.read("results.csv")))
    ]
    assert formulas(hostile.read("results.csv")) == []
    assert len(hostile.read("results.csv").splitlines()) == len(rows)
    alone = csv_table(["text", "=1"], [{"text": text} for text in TEXTS])
    read = list(csv.reader(io.StringIO(alone)))
    assert len(read) == len(TEXTS) + 1
    assert read[0] == ["text", "'=1"]
    assert not any(cell[:1] in "=+-@＝\t\r" for row in read[1:] for cell in row if cell)


def test_spreadsheets_and_labelled_files_hold_words(hostile: Any, plain: Any) -> None:
    import openpyxl
    import pyreadstat

    book = openpyxl.load_workbook(hostile.folder / "reports.xlsx")
    cells = [cell for sheet in book for row in sheet.iter_rows() for cell in row]
    assert {cell.data_type for cell in cells} <= {"s", "n"}
    assert not any(cell.hyperlink for cell in cells)
    assert any("_x000D_evil" in str(cell.value) for cell in cells)
    for name, read in (("sav", pyreadstat.read_sav), ("dta", pyreadstat.read_dta)):
        frame, about = read(str(hostile.folder / f"reports.{name}"))
        other, _ = read(str(plain.folder / f"reports.{name}"))
        assert frame.equals(other)
        said = [about.file_label, *about.column_labels]
        said += [one for each in about.variable_value_labels.values() for one in each.values()]
        assert not any(STEERING.search(one) or "\n" in one for one in said)
    for name in ("design.json", "datapackage.json", "survey.json", "register.json"):
        json.loads(hostile.read(name))


def test_a_folder_with_such_a_survey_is_refused_on_lines_of_its_own(hostile: Any) -> None:
    """Whoever made it: the register beside it says that it was published."""
    with pytest.raises(ValueError, match="line break") as refused:
        dn.open(hostile.folder)

    for line in str(refused.value).split("\n"):
        assert line == one_line(line)


# --- screens -------------------------------------------------------------------------------------


def test_a_terminal_and_a_notebook_show_words(hostile: Any, plain: Any) -> None:
    shown, other = (estimate(one.survey, one.reports.tally()) for one in (hostile, plain))

    assert not STEERING.search(repr(shown))
    assert len(repr(shown).splitlines()) == len(repr(other).splitlines())
    for page, like in (
        (shown._repr_html_(), other._repr_html_()),
        *((shown.figure(one.name)._repr_svg_(), other.figure(one.name)._repr_svg_())
          for one in hostile.survey.questions),
    ):  # fmt: skip
        found = {one for one in Shape(page).shape if not one[0].startswith("/")}
        assert {one[0] for one in found} <= {one[0] for one in Shape(like).shape}
        assert not {name for one in found for name in one[1:] if name.startswith("on")}
    assert isinstance(shown, dn.Results)
