"""Every folder and file that a command writes is opened as a study, or refused with the way out."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import deniably as dn
from deniably.authoring.compiling import compile_survey
from deniably.simulation.reports import randomise, simulate_people
from deniably.workbench.files import folder as folders
from deniably.workbench.files.folder import FORMATS, write_folder
from deniably.workbench.files.optional_libraries import NoExport
from deniably.workbench.report_set import ReportSet, of_simulation
from support.commands import call
from support.material import source_of

N = 60
AUTHORED = {
    "name": "theft",
    "title": "Honesty at work",
    "results": {"minimum": 5},
    "strata": {"site": ["north", "south"]},
    "questions": [{"name": "stolen", "type": "yes_no", "label": "Stolen?", "odds": 3}],
}
SURVEY = compile_survey(AUTHORED)
UNSIGNED = "Not verified: who published this survey. There is no register.json"


@pytest.fixture(scope="module")
def reports() -> ReportSet:
    return of_simulation(randomise(simulate_people(SURVEY, N)))


@pytest.fixture(scope="module")
def there(reports: ReportSet, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what each command writes."""
    to = tmp_path_factory.mktemp("there")
    for name in FORMATS:
        write_folder(to / name, reports, source_of(SURVEY), [name])
    (to / "theft.yaml").write_text(json.dumps(AUTHORED))
    (to / "truth.csv").write_text("site,stolen\nnorth,yes\nsouth,no\n")
    lines = (to / "ndjson/survey.json", to / "ndjson/reports.ndjson")
    commands: list[list[str | Path]] = [
        ["gather", *lines, "--to", to / "gathered", "--rows", "25"],
        ["simulate", to / "theft.yaml", "--truth", to / "truth.csv", "--reports", to / "made-up",
         "--people", "60"],
        ["tally", to / "gathered", "--to", to / "tally.json"],
        ["results", "--tally", to / "tally.json", "--to", to / "pages"],
    ]  # fmt: skip
    for command in commands:
        done = call(*command)
        assert done.returncode == 0, done.stderr
    for name in ("csv", "parts", "gathered"):
        shutil.make_archive(str(to / f"{name}-packed"), "zip", to / name)
    return to


@pytest.mark.parametrize("name", [*FORMATS, "csv-packed.zip"])
def test_an_export_is_opened_whatever_its_format_and_its_author_verified(
    name: str, there: Path, reports: ReportSet
) -> None:
    found = dn.open(there / name)

    assert found.reports == reports
    assert found.source is not None
    assert "signed by the author with the fingerprint" in str(found)
    assert UNSIGNED not in str(found)


@pytest.mark.parametrize("name", ["gathered", "parts/reports"])
def test_a_set_in_parts_is_opened_and_says_that_nobody_signed_it(
    name: str, there: Path, reports: ReportSet
) -> None:
    found = dn.open(there / name)

    assert found.reports == reports
    assert found.source is None
    assert UNSIGNED in str(found)
    at_hand = dn.open((SURVEY, reports))
    assert found.estimate(by="site").rows == at_hand.estimate(by="site").rows
    assert "published on" not in found.methods()


def test_a_simulated_set_and_a_tally_file_are_opened_so_too(there: Path) -> None:
    assert dn.open(there / "made-up").n == N
    assert UNSIGNED in str(dn.open(there / "made-up"))
    counted = dn.open(there / "tally.json")
    assert UNSIGNED in str(counted)
    assert counted.estimate(by="site").rows == dn.open(there / "gathered").estimate(by="site").rows


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("pages", "has pages of results: open the tally file or the address that they are of"),
        ("parts-packed.zip", "has reports in parts: unpack it"),
        ("gathered-packed.zip", "has reports in parts: unpack it"),
        ("ndjson/survey.json", "this is no tally file"),
        ("gathered/part-00001.parquet", "no whole .zip of an export"),
        (".", "is no export and no report set: it has no survey.json"),
    ],
)
def test_what_is_no_study_is_refused_with_the_way_out(name: str, why: str, there: Path) -> None:
    with pytest.raises(NoExport) as refused:
        dn.open(there / name)

    assert why in str(refused.value)


def without_signature(to: Path) -> None:
    (to / "register.json").unlink()


def without_design(to: Path) -> None:
    (to / "design.json").unlink()


def with_other_odds(to: Path) -> None:
    design = to / "design.json"
    design.write_text(design.read_text().replace('"3/4"', '"5/6"'))


@pytest.mark.parametrize(
    ("name", "spoil", "why"),
    [
        ("csv", without_signature, "register.json: No such file"),
        ("parts", without_signature, "register.json: No such file"),
        ("gathered", without_design, "design.json: No such file"),
        ("gathered", with_other_odds, "design.json was changed: its questions is not what"),
    ],
)
def test_an_export_without_its_signature_and_a_changed_set_are_refused(
    name: str, spoil: Callable[[Path], None], why: str, there: Path, tmp_path: Path
) -> None:
    shutil.copytree(there / name, tmp_path / name)
    spoil(tmp_path / name)

    with pytest.raises(NoExport) as refused:
        dn.open(tmp_path / name)

    assert why in str(refused.value)


def test_a_signature_beside_a_set_is_verified(there: Path, tmp_path: Path) -> None:
    shutil.copytree(there / "gathered", tmp_path / "set")
    entry = tmp_path / "set/register.json"
    shutil.copy(there / "csv/register.json", entry)
    signed = dn.open(tmp_path / "set")
    entry.write_text(entry.read_text().replace(SURVEY.digest, 64 * "0"))

    assert signed.source is not None
    assert UNSIGNED not in str(signed)
    with pytest.raises(NoExport, match=r"register\.json: "):
        dn.open(tmp_path / "set")


def test_more_reports_than_fit_are_to_be_tallied(
    there: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folders, "MOST_ROWS", N - 1)

    with pytest.raises(NoExport, match=r"there are 60 reports.*count them with deniably tally"):
        dn.open(there / "gathered")
