"""A fitted regression as a figure for a paper, and its table as Markdown and LaTeX."""

from __future__ import annotations

import re
from random import Random
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import deniably as dn
from deniably.core.languages.latex import Latex
from deniably.core.languages.markdown import Markdown
from deniably.core.table import Table
from deniably.results.drawing.paper_strips import PaperStrips
from deniably.workbench.models.model_figure import called, model_paper

YES = ("3/4", "1/4")
SAID = {("north", 25): 150, ("north", 50): 190, ("south", 25): 185, ("south", 50): 230}


def frame() -> dict[str, list[Any]]:
    """1,800 people at two sites; ``noise`` has nothing to do with the answers."""
    random = Random(3)
    rows = [
        {"site": site, "age": age, "stolen": int(place < ones), "noise": random.gauss(0, 1),
         "what": random.choices([0, 1, 2], [5, 3, 2])[0]}
        for (site, age), ones in SAID.items() for place in range(450)
    ]  # fmt: skip
    return {name: [row[name] for row in rows] for name in rows[0]}


@pytest.fixture(scope="module")
def model() -> dn.Regression:
    return dn.regress("stolen ~ age + C(site) + noise", frame(), designs={"stolen": YES})


@pytest.fixture(scope="module")
def several() -> dn.Regression:
    design = dn.Design.k_ary(3, "8/10", choices=["money", "goods", "time"])
    return dn.regress("what ~ age + C(site)", frame(), designs={"what": design})


def words(file: str) -> str:
    texts = [one.text or "" for one in ElementTree.fromstring(file).iter() if one.text]
    return " ".join(" ".join(texts).split())


# --- the figure -------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [85, 180])
def test_it_has_every_coefficient_and_says_what_it_is(model: dn.Regression, width: int) -> None:
    file = model.figure(width=width)
    said = words(file)

    assert "Logistic regression of stolen" in said
    assert "1,800 reports" in said
    assert model.estimator.split(",")[0] in said
    for one in model.coefficients:
        assert called(one.term) in said
    assert f'width="{width}mm"' in file
    assert "style" not in file
    assert "-1" not in said, "minus signs are true ones"


def test_its_marks_are_at_the_coefficients_and_open_where_the_interval_has_nought(
    model: dn.Regression,
) -> None:
    strips = model_paper(model).parts[0]
    assert isinstance(strips, PaperStrips)
    slopes = [one for one in model.coefficients if one.term != "Intercept"]

    assert [row.estimate for row in strips.rows] == [one.estimate for one in slopes]
    for row, one in zip(strips.rows, slopes, strict=True):
        assert row.interval == (one.low, one.high)
        assert row.open == row.muted == (one.low <= 0 <= one.high)
        assert row.band_80 is not None
        assert row.band_50 is not None
        reach = 1.2815515655 * one.standard_error
        assert row.band_80 == pytest.approx((one.estimate - reach, one.estimate + reach))
        assert one.low < row.band_80[0] < row.band_50[0] < one.estimate
        assert float(row.reading.value.replace("\u2212", "-")) == pytest.approx(
            one.estimate, abs=(one.high - one.low) / 20
        )
    assert [row.open for row in strips.rows] == [False, False, True]
    assert strips.axis.zero == 0.0


def test_its_table_has_the_figures_of_the_model(model: dn.Regression) -> None:
    described = model_paper(model).described

    for one in model.coefficients:
        ratio = re.search(
            rf"{re.escape(called(one.term))}: [^;]*OR (\d[\d,]*(?:\.\d+)?)", described
        )
        assert ratio
        assert float(ratio[1].replace(",", "")) == pytest.approx(np.exp(one.estimate), rel=0.006)
        assert f"z {one.z:.2f}".replace("-", "\u2212") in described


def test_several_answers_have_a_picture_and_a_table_each(several: dn.Regression) -> None:
    paper = model_paper(several)

    assert [part.title for part in paper.parts] == [
        "“goods” rather than “money”", "", "“time” rather than “money”", ""
    ]  # fmt: skip
    assert paper.described.count("Intercept") == 2
    assert "Multinomial logistic regression of what" in words(several.figure())


def test_a_model_of_a_constant_alone_draws_it() -> None:
    alone = dn.regress("stolen ~ 1", frame(), designs={"stolen": YES})

    assert "Intercept" in words(alone.figure())


def test_a_linear_model_has_no_odds_ratio() -> None:
    found = dn.regress("stolen ~ age", frame(), designs={"stolen": YES}, link="identity")
    said = words(found.figure())

    assert "odds ratio" not in said
    assert "Linear probability model of stolen" in said


def test_very_many_terms_are_cut_and_said_to_be(model: dn.Regression) -> None:
    people = frame()
    people["village"] = [f"v{place % 60:02}" for place in range(1800)]
    found = dn.regress("stolen ~ C(village)", people, designs={"stolen": YES}, link="identity")
    said = words(found.figure())

    assert "Of 59 terms, the first 40." in said
    assert said.count("village: v") == 2 * (40 + 40), "strips and table, drawn and described"


def test_names_of_columns_are_no_markup() -> None:
    people = frame()
    people["<b>&x"] = people.pop("noise")
    found = dn.regress("stolen ~ `<b>&x`", people,
                       designs={"stolen": YES})  # fmt: skip

    assert "<b>" not in found.figure()
    assert "<b>&x" in words(found.figure())


def test_other_kinds_and_widths_are_refused(model: dn.Regression) -> None:
    with pytest.raises(dn.NoFigure, match="no kind of figure 'pdf'; there are svg and png"):
        model.figure("pdf")  # type: ignore[call-overload]
    with pytest.raises(ValueError, match="85 or 180 mm wide"):
        model.figure(width=100)


# --- the table --------------------------------------------------------------------------------


def test_the_table_as_markdown_has_a_line_for_each_coefficient(model: dn.Regression) -> None:
    lines = model.to_markdown().split("\n")
    table = [line for line in lines if line.startswith("|")]

    assert lines[0] == "**stolen ~ age + C(site) + noise, 1,800 reports**"
    assert len(table) == 2 + len(model.coefficients)
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in table} == {8}
    assert table[1].startswith("| :--- | ---: |")
    assert r"C(site)\[T.south\]" in table[4]


def test_the_table_as_latex_is_whole(model: dn.Regression) -> None:
    text = model.to_latex()

    assert text.count(r"\begin{") == text.count(r"\end{") == 2
    assert text.count(r"\\") == 1 + len(model.coefficients)
    assert r"\begin{tabular}{lrrrrrr}" in text
    assert r"\caption{stolen \textasciitilde{} age" in text
    assert "$-$2.4" in text
    assert "95 \\%" in text
    rows = [line for line in text.split("\n") if line.endswith(r"\\")]
    assert {line.count("&") for line in rows} == {6}


def test_a_cell_with_marks_breaks_no_table() -> None:
    nasty = "a|b & [c] \\ {d} 5 % #1 $x$ _y_ ^z ~ <i>\nnew"
    table = Table(nasty, [{"a": nasty}], [["a"], [nasty], ["[x]"]], 1, [nasty])

    assert table.to_markdown().count("\n\n") == 2
    for line in table.to_markdown().split("\n"):
        if line.startswith("|"):
            assert len(re.findall(r"(?<!\\)\|", line)) == 2
    text = table.to_latex()
    assert not re.search(r"(?<!\\)[%#_]|(?<![\\$])\$x", text)
    assert "{}[x]" in text, "after the end of a line a bracket begins an option"
    assert "new" in Latex.text(nasty).source
    assert "\n" not in Latex.text(nasty).source + Markdown.text(nasty).source
