"""Writes and reads the folder of an export: all that an analyst needs of a survey, and nothing
about any person."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from deniably.core.bounded_files import SMALL, file_lines, read_file, read_json, text_lines
from deniably.core.errors import DeniablyError
from deniably.core.languages.json import json_file
from deniably.exhibits.results_table import Results, estimate
from deniably.results.spreadsheet import spreadsheet
from deniably.survey.survey import Survey, read_survey
from deniably.workbench.data_source import Provenance, publication, read_provenance
from deniably.workbench.files.arrow import parquet_of, read_parquet
from deniably.workbench.files.codebook import codebook_page, ddi
from deniably.workbench.files.data_package import data_package
from deniably.workbench.files.design_file import design_of
from deniably.workbench.files.labelled import (
    read_labelled,
    read_xlsx,
    write_dta,
    write_sav,
    write_xlsx,
)
from deniably.workbench.files.optional_libraries import NoExport
from deniably.workbench.files.parquet_parts import bare, open_parts, read_parts, write_parts
from deniably.workbench.files.report_lines import ndjson_of, read_ndjson
from deniably.workbench.files.scripts import scripts_of
from deniably.workbench.files.sqlite_file import read_database, write_database
from deniably.workbench.files.statistical_packages import packages_page
from deniably.workbench.files.tables import MOST_ROWS, csv_of, read_csv, too_many
from deniably.workbench.files.whole_folder import whole_folder
from deniably.workbench.report_columns import randomisation_note
from deniably.workbench.report_set import ReportSet
from deniably.workbench.scripted import script_of

DEFINITION, SIGNED, DESIGN = "survey.json", "register.json", "design.json"
"""The names of three files: the definition, its register entries with the author's signature, and
its p and q."""


@dataclass(frozen=True)
class Export:
    """The contents of an export: the reports, their provenance ``source``, and the results
    estimated from them. ``formats`` are names in ``FORMATS``."""

    reports: ReportSet
    source: Provenance
    results: Results
    formats: tuple[str, ...]


@dataclass(frozen=True)
class Format:
    """A format of the reports: the name of its file, and the functions that write and read that
    file."""

    file: str
    write: Callable[[Export, Path], None]
    read: Callable[[Survey, Path], ReportSet]


def _csv(export: Export, file: Path) -> None:
    reports = export.reports
    _write(file, csv_of(reports.columns, [reports.rows]))


def _ndjson(export: Export, file: Path) -> None:
    reports = export.reports
    _write(file, ndjson_of(reports.layout, [reports.rows]))


def _parquet(export: Export, file: Path) -> None:
    reports = export.reports
    _write(file, parquet_of(reports.columns, [reports.rows]))


def _parts(export: Export, file: Path) -> None:
    reports = export.reports
    write_parts(file, reports.layout, [reports.rows])


def _database(export: Export, file: Path) -> None:
    reports = export.reports
    files = {
        DEFINITION: reports.survey.canonical.decode(),
        SIGNED: export.source.text,
        DESIGN: _design(reports),
    }
    write_database(reports, export.results.rows, files, file)


def _from_csv(survey: Survey, file: Path) -> ReportSet:
    return read_csv(survey, text_lines(file))


def _from_ndjson(survey: Survey, file: Path) -> ReportSet:
    return read_ndjson(survey, file_lines(file))


FORMATS: Mapping[str, Format] = {
    "csv": Format("reports.csv", _csv, _from_csv),
    "ndjson": Format("reports.ndjson", _ndjson, _from_ndjson),
    "parquet": Format("reports.parquet", _parquet, read_parquet),
    "parts": Format("reports", _parts, lambda survey, file: read_parts(file)),
    "xlsx": Format(
        "reports.xlsx", lambda export, file: write_xlsx(export.reports, file), read_xlsx
    ),
    "sav": Format(
        "reports.sav", lambda export, file: write_sav(export.reports, file), read_labelled
    ),
    "sqlite": Format("reports.db", _database, read_database),
    "dta": Format(
        "reports.dta", lambda export, file: write_dta(export.reports, file), read_labelled
    ),
}
"""The formats by name, in the order in which ``read_export`` looks for them."""


def write_folder(
    to: Path,
    reports: ReportSet,
    source: Provenance,
    formats: Sequence[str] = ("csv",),
    done: Callable[[str], None] = lambda file: None,
) -> list[str]:
    """Writes the files of a report set into the new folder ``to``; returns the names of the files,
    sorted.

    ``done`` is called with the name of each file before that file is written. Raises NoExport
    where the folder is there already, a format is unknown or cannot hold the reports, nobody was
    asked one of the questions, or the disk refuses; nothing is left behind then.
    """
    unknown = [name for name in formats if name not in FORMATS]
    if unknown:
        raise NoExport(f"there is no format {unknown[0]}; there are {', '.join(FORMATS)}")
    if not len(reports):
        raise NoExport("there are no reports to export")
    tallies = reports.tally()
    if unasked := [name for name, tally in tallies.items() if not tally.n]:
        raise NoExport(f"nobody was asked {unasked[0]}: there is nothing to estimate it from")
    results = estimate(reports.survey, tallies)
    export = Export(reports, source, results, tuple(dict.fromkeys(formats)))
    with whole_folder(to) as folder:
        for name in export.formats:
            done(FORMATS[name].file)
            FORMATS[name].write(export, folder / FORMATS[name].file)
        for file, text in _files_beside(export):
            done(file)
            (folder / file).write_text(text, encoding="utf-8", newline="")
        names = sorted(path.name for path in folder.iterdir())
    return names


def read_export(folder: Path) -> tuple[ReportSet, Provenance]:
    """Reads an exported folder; returns its report set and its provenance.

    The reports are read from the file of the first format in ``FORMATS`` that the folder has.
    Raises NoExport where a file is missing, the author did not sign the definition, or the design
    or the reports do not fit the definition.
    """
    try:
        survey = read_survey(read_file(folder / DEFINITION, SMALL))
        source = read_provenance(read_file(folder / SIGNED), survey)
        design = cast("dict[str, Any]", read_json(folder / DESIGN))
        if design["digest"] != survey.digest:
            raise NoExport(f"{folder}: {DESIGN} is of another survey than {DEFINITION}")
        file, reports = _read_reports(survey, folder)
        if len(reports) != design["n"]:
            raise NoExport(f"{file} has {len(reports):,} reports, not {design['n']:,}")
        # By way of JSON, so that tuples and lists compare as equal.
        _check_design(folder, design, json.loads(_design(reports)))
    except OSError as error:
        raise NoExport(f"{error.filename}: {error.strerror}") from None
    except NoExport:
        raise
    except (DeniablyError, ValueError, LookupError, TypeError) as error:
        raise NoExport(f"{folder}: {error}") from None
    return reports, source


def read_set(folder: Path) -> tuple[ReportSet, Provenance | None]:
    """Reads a folder that ``deniably gather`` wrote, with one report set in several files, into
    memory. Returns the set and its provenance, None for a folder without a signature.

    ``deniably gather`` writes no signature: a folder has a ``register.json`` only if somebody put
    it there. Raises NoExport where a file is missing or cut short, the author did not sign the
    definition, the design or the reports do not fit the definition, or there are more than
    ``MOST_ROWS`` reports.
    """
    parts = open_parts(folder)
    # The footers state this, so that too many reports are refused before any is read.
    if parts.rows > MOST_ROWS:
        raise NoExport(f"{folder}: {too_many(f'{parts.rows:,}', MOST_ROWS)}")
    reports, signed = read_parts(folder), folder / SIGNED
    try:
        design = cast("dict[str, Any]", read_json(folder / DESIGN))
        _check_design(folder, design, design_of(bare(reports.columns), len(reports)))
        source = read_provenance(read_file(signed), reports.survey) if signed.exists() else None
    except NoExport:
        raise
    except OSError as error:
        raise NoExport(f"{error.filename}: {error.strerror}") from None
    except DeniablyError as error:
        raise NoExport(f"{signed}: {error}") from None
    return reports, source


def _read_reports(survey: Survey, folder: Path) -> tuple[Path, ReportSet]:
    for kind in FORMATS.values():
        if (file := folder / kind.file).exists():
            return file, kind.read(survey, file)
    files = ", ".join(kind.file for kind in FORMATS.values())
    raise NoExport(f"{folder} has none of the files {files}")


def _check_design(folder: Path, design: dict[str, object], expected: dict[str, object]) -> None:
    """Raise NoExport unless the design follows from the definition, whatever version wrote it."""
    for key, value in expected.items():
        if key != "software" and design.get(key) != value:
            raise NoExport(
                f"{folder}: {DESIGN} was changed: its {key} is not what {DEFINITION} makes. Export"
                " the reports again"
            )


def _files_beside(export: Export) -> Iterator[tuple[str, str]]:
    """Yields the name and the text of each file that goes with every format."""
    survey, reports = export.reports.survey, export.reports
    yield DEFINITION, survey.canonical.decode()
    yield SIGNED, export.source.text
    yield DESIGN, _design(reports)
    yield "results.csv", spreadsheet(export.results.document)
    yield "codebook.xml", ddi(reports, export.source)
    yield "codebook.html", codebook_page(reports)
    paper = publication(
        export.results.document, survey, export.source, randomisation_note(reports.layout)
    )
    yield "PACKAGES.md", packages_page(reports.columns)
    yield "METHODS.md", paper.methods_file()
    yield "CHECKLIST.md", paper.checklist_file()
    yield "CITATION.cff", paper.cite("cff")
    yield "references.bib", paper.bibliography
    yield "references.ris", paper.records
    if "csv" in export.formats:
        package = data_package(reports)
        yield "datapackage.json", json_file(package)
        yield from scripts_of(reports, script_of(reports))


def _design(reports: ReportSet) -> str:
    return json_file(design_of(reports.columns, len(reports)))


def _write(file: Path, pieces: Iterable[bytes]) -> None:
    with file.open("wb") as target:
        target.writelines(pieces)
