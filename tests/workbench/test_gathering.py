"""Lines that DuckDB reads and sorts make the same files as lines that are read one by one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from deniably.workbench.engines.gathering import sorted_lines
from deniably.workbench.files import parquet_parts as module
from deniably.workbench.files.parquet_parts import write_parts, write_sorted_parts
from deniably.workbench.files.report_lines import packed_lines
from support.every_type import LISTED, sent_lines, survey_of_everything
from support.soak import soak

SITES = {"site": ["north", "south"], "day": ["mon", "tue"]}
SURVEYS = {
    "all": survey_of_everything(questions=LISTED),
    "strata": survey_of_everything(questions=LISTED, strata=SITES),
    "some": survey_of_everything(questions=LISTED, ask=2, strata=SITES),
    "part": survey_of_everything(questions=LISTED, part=True),
}
Change = Callable[[bytes], bytes]


@pytest.fixture(autouse=True)
def few_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """So few rows in a row group, and sorted at once, that most sets have several."""
    monkeypatch.setattr(module, "_GROUP_ROWS", 9)
    monkeypatch.setattr("deniably.workbench.ordering._ROOM", 100)


def one_by_one(name: str, lines: list[bytes], to: Path) -> None:
    write_parts(to, *packed_lines(SURVEYS[name], lines), rows=25)


def by_duckdb(name: str, lines: list[bytes], to: Path, files: int = 2) -> bool:
    """Whether DuckDB took the lines, which are in some files with names that are patterns."""
    paths = [to.parent / f"{to.name} [{number}] *'.gz" for number in range(files)]
    for number, path in enumerate(paths):
        path.write_bytes(b"\n".join(lines[number::files]))
    with sorted_lines(SURVEYS[name], paths) as found:
        if found:
            write_sorted_parts(to, *found, rows=25)
    return found is not None


@pytest.mark.parametrize("name", [*SURVEYS])
def test_the_files_are_the_same_to_the_last_byte(name: str, tmp_path: Path) -> None:
    lines = [b"", *sent_lines(SURVEYS[name], 60), b"  "]
    one_by_one(name, lines, tmp_path / "one")

    assert by_duckdb(name, lines[::-1], tmp_path / "other")

    for file in (tmp_path / "one").iterdir():
        assert file.read_bytes() == (tmp_path / "other" / file.name).read_bytes(), file.name


def replaced(old: bytes, new: bytes) -> Change:
    return lambda line: line.replace(old, new, 1)


@pytest.mark.parametrize(
    "change",
    [
        replaced(b'"stolen":[0]', b'"stolen":[2]'),
        replaced(b'"stolen":[0]', b'"stolen":["0"]'),
        replaced(b'"stolen":[0]', b'"stolen":"[0]"'),
        replaced(b'"stolen":[0]', b'"stolen":[0.0]'),
        replaced(b'"stolen":[0]', b'"stolen":[0,0]'),
        replaced(b'"stolen":[0]', b'"stolen":[]'),
        replaced(b'"stolen":[0]', b'"stolen":[0],"stolen":[0]'),
        replaced(b'"stolen":[0]', b'"stolen":[0],"x":[0]'),
        replaced(b'"stolen":[0]', b'"Stolen":[0]'),
        replaced(b'"stolen":[0]', b'"stolen":null'),
        replaced(b'"values":{', b'"values":null,"x":{'),
        replaced(b'"values":{', b'"values":5,"x":{'),
        replaced(b'"values":{', b'"values":{},"values":{'),
        replaced(b'"values":{', b'"randomised":{},"values":{'),
        replaced(b'"survey":"', b'"survey":"0'),
        replaced(b'"survey":', b'"strata":{"site":"west"},"survey":'),
        replaced(b"}", b"}}"),
        replaced(b'{"id"', b'{"values":{},"id"'),
        replaced(b'{"id"', b'x{"id"'),
        lambda line: line + b" " + line,
        lambda line: line[:-1],
        lambda line: b"null",
        lambda line: b"{}",
    ],
)
@pytest.mark.parametrize("name", [soak("all"), "part"])
def test_a_line_that_is_no_usual_report_is_left_to_the_other_reader(
    name: str, change: Change, tmp_path: Path
) -> None:
    lines = sent_lines(SURVEYS[name], 60)  # one of which says 0, but for 1 in 10 million runs
    place = max(number for number, one in enumerate(lines) if b'"stolen":[0]' in one)
    lines[place] = change(lines[place])

    assert not by_duckdb(name, lines, tmp_path / "set", files=1)


def test_too_few_or_too_many_questions_are_left_to_the_other_reader(tmp_path: Path) -> None:
    few = [one for one in sent_lines(SURVEYS["part"], 12) if one.count(b":[") == 1]
    lines = [one.replace(SURVEYS["part"].digest.encode(), b"%b") for one in few]
    for name, more in (("all", b""), ("some", b'"strata":{"day":"mon","site":"north"},')):
        digest = SURVEYS[name].digest.encode()
        own = [one.replace(b"%b", digest).replace(b'"survey"', more + b'"survey"') for one in lines]
        assert not by_duckdb(name, own, tmp_path / name, files=1)


def test_reports_that_are_too_many_to_list_are_left_to_the_other_reader(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("deniably.workbench.engines.gathering._MOST", 9)

    assert not by_duckdb("all", sent_lines(SURVEYS["all"], 12), tmp_path / "set")
