"""Figures and references for papers in the software of authors and journals, if it is there."""

from __future__ import annotations

import shutil
import struct
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from deniably.results.drawing import axes
from deniably.results.drawing.choropleth import Area, AreaMap, MapSide
from deniably.results.drawing.heat import Heat, HeatCell, HeatMargin
from deniably.results.drawing.paper_figure import WIDTHS, Paper, svg
from deniably.results.drawing.paper_map import PaperMap
from deniably.results.drawing.paper_strips import PaperStrips
from deniably.results.drawing.paper_table import PaperTable
from deniably.results.drawing.paper_trends import Panel, PaperTrends
from deniably.results.drawing.row import banded, mean_row, share_row
from deniably.results.writing.citation import Citation
from deniably.results.writing.references import SOURCES

ROWS = [
    banded(share_row("3 × “im Jahr” & <mehr>", 0.3, (0.2, 0.4)), (0.23, 0.36), (0.27, 0.33)),
    replace(share_row("从来没有", 0.01, (0, 0.09)), aside=True),
]  # fmt: skip
MEANS = [mean_row("Mean", -2.5, (-4.5, -0.5), (-9, 9), "°C")]
CELLS = [
    [HeatCell(one.reading, shade, hatched=shade == 0) for one in ROWS] for shade in range(2)
]  # fmt: skip
MARGIN = HeatMargin("“Wo?” & <wann>", ["überall", "从来没有"], [one.reading for one in ROWS])
KM = MapSide("East", "km", (-2.0, -1.0, 0.0, 1.0), 1.9, 0.1)
FIGURE = Paper(
    "Theft at work",
    "Estimated shares, 1,400 people.",
    [
        PaperStrips(ROWS, axes.of_shares(ROWS)),
        PaperStrips(MEANS, axes.of_numbers(-9, 9, "°C"), "Cold"),
        PaperTable(Heat(MARGIN, MARGIN, CELLS)),
        PaperTrends(
            [Panel("überall", ROWS), Panel("从来没有", ROWS)], axes.of_shares(ROWS), ["1", "2"]
        ),
        PaperMap(AreaMap((KM, KM), [Area(1, 2, 0.3, ROWS[0].reading)]), None),
    ],
    ["A note."],
)
ACROSS = {85: 2008, 180: 4252}
"""Pixels of each width, in millimetres, at 600 to the inch."""
LATEX = r"""\documentclass{article}\usepackage{graphicx}\begin{document}
\includegraphics{figure85.pdf}\includegraphics{figure180.pdf}\end{document}"""

ASKING = r"""\relax
\citation{*}
\bibstyle{apalike}
\bibdata{works}
"""
"""All works, in a style that abbreviates first names."""
CITING = r"""\documentclass{article}\begin{document}\input{paper.bbl}\end{document}"""


def run(folder: Path, *command: str) -> None:
    if shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} is not installed; make installs it where it can")
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where the figure is in each width."""
    assert set(WIDTHS) == set(ACROSS)
    for width in WIDTHS:
        (tmp_path / f"figure{width}.svg").write_text(svg(FIGURE, width), encoding="utf-8")
    return tmp_path


def size_of(picture: bytes) -> tuple[int, int]:
    across, down = struct.unpack(">II", picture[16:24])
    return across, down


@pytest.mark.thorough
def test_rsvg_draws_it_and_latex_sets_it(folder: Path) -> None:
    for width in WIDTHS:
        file, picture = f"figure{width}.svg", f"figure{width}.png"
        run(folder, "rsvg-convert", "--dpi-x=600", "--dpi-y=600", file, "-o", picture)
        run(folder, "rsvg-convert", "-f", "pdf", file, "-o", f"figure{width}.pdf")

        drawn = (folder / picture).read_bytes()
        across, down = size_of(drawn)
        assert across == ACROSS[width]
        assert 600 < down < 9000
        assert len(drawn) > 20_000  # it is not blank
    (folder / "paper.tex").write_text(LATEX, encoding="ascii")
    run(folder, "pdflatex", "-interaction=batchmode", "-halt-on-error", "paper.tex")
    assert (folder / "paper.pdf").stat().st_size > 10_000


def test_inkscape_opens_it(folder: Path) -> None:
    files = [f"figure{width}.svg" for width in WIDTHS]
    run(folder, "inkscape", *files, "--export-type=png", "--export-dpi=300")

    for width in WIDTHS:
        assert size_of((folder / f"figure{width}.png").read_bytes())[0] == ACROSS[width] / 2


def test_bibtex_and_latex_set_the_references(tmp_path: Path) -> None:
    nasty = Citation(
        survey="x", title="50 % {of} {R&D_#1 \\ $x$ ~ ^ <|>", digest="a" * 64, version="1"
    )
    entries = [nasty.bibtex().source, *(one.bibtex.source for one in SOURCES.values())]
    (tmp_path / "works.bib").write_text("\n".join(entries), encoding="utf-8")
    (tmp_path / "paper.aux").write_text(ASKING, encoding="ascii")
    run(tmp_path, "bibtex", "paper")  # which fails where an entry cannot be read
    listed = (tmp_path / "paper.bbl").read_text(encoding="utf-8")

    assert listed.count(r"\bibitem") == len(entries)
    (tmp_path / "paper.tex").write_text(CITING, encoding="ascii")
    run(tmp_path, "pdflatex", "-interaction=batchmode", "-halt-on-error", "paper.tex")
