"""Opens the results of a survey as a study: from a server, from files, or from reports in
memory."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, cast
from zipfile import BadZipFile, ZipFile

from deniably.core.bounded_files import open_file, read_file, read_json, unpack
from deniably.core.counting import counted, people
from deniably.core.errors import BadInput, NoResults, TravelledApart
from deniably.core.table import Cell
from deniably.results.document import SurveyResult
from deniably.results.remote import Remote, fetch_results, remote_at
from deniably.simulation.reports import Reports
from deniably.survey.mixer import Mixer
from deniably.survey.survey import Survey
from deniably.trust.signing import fingerprint
from deniably.workbench.collected import Collected
from deniably.workbench.data_source import Provenance
from deniably.workbench.fetching import fetch_reports, fetch_survey, fetch_tally
from deniably.workbench.files.folder import (
    DEFINITION,
    DESIGN,
    FORMATS,
    SIGNED,
    read_export,
    read_set,
)
from deniably.workbench.files.optional_libraries import NoExport
from deniably.workbench.files.sqlite_file import BEGINS, files_of
from deniably.workbench.report_set import ReportSet, of_simulation
from deniably.workbench.study import Study

if TYPE_CHECKING:
    from deniably.workbench.engines.tallying import TalliedSet

_URL = re.compile(r"https?://", re.IGNORECASE)
_FILES = {DEFINITION, SIGNED, DESIGN, *(kind.file for kind in FORMATS.values())}
_PART = re.compile(r"part-\d+\.parquet")
_PAGES = ("results.html", "index.html")
"""The first pages of folders that ``deniably results`` writes."""
_UNSIGNED = (
    f"Not verified: who published this survey. There is no {SIGNED} with an author's signature"
    " here, as an export has."
)


def open(  # noqa: A001  # as deniably.open
    source: str | Path | tuple[Survey, ReportSet | Reports], *, token: str | None = None
) -> Study:
    """Opens a closed survey with its reports, to estimate, model, draw and write about it.

    ``source`` is one of these: the address of the survey's form or results, such as
    https://example.org/surveys/workplace; a folder that ``deniably export`` wrote, a .zip of such
    a folder, or the database in it; a folder with a report set in several files, which ``deniably
    gather`` or ``deniably simulate --reports`` wrote; a tally file of ``deniably tally``, which
    has counts and no reports; or a survey with its reports, such as ``(survey,
    deniably.randomise(people))``. ``token`` is an analyst's token, for a survey whose reports or
    results are not public; the token is sent only over HTTPS or to this machine.

    The author's signature of the definition is verified: for an export in its ``register.json``,
    and for a server in its register. A server that gives out no reports is opened with its results
    alone; methods that need reports then raise NoResults. Of a survey with a mixer the server gives
    out the counts of each question. A report set in several files may lack a
    signature, and a tally file has none; the study then states that nothing was verified.

    Raises NoResults, with the reason, where a server shows neither reports nor results, and where
    there are no reports at all. Raises NoExport for a tally file whose counts contradict each
    other, and for a folder, database or .zip that was cut short or changed: the definition is not
    the signed one, the design does not follow from the definition, or no device could have made
    the reports. Raises ValueError for any other source.
    """
    if isinstance(source, tuple):
        return _at_hand(*source)
    if isinstance(source, str) and _URL.match(source):
        return _served(remote_at(source, token))
    path = Path(source)
    if path.is_dir():
        return _folder(path)
    if path.exists():
        # Told by their first bytes, as people rename files.
        if _begins(path, BEGINS):
            return _exported(*_database(path))
        return _counted(path) if _is_text(path) else _exported(*_zipped(path))
    raise ValueError(
        f"there is no folder, .zip or tally file {str(source)!r}; a survey's address looks like"
        " https://example.org/surveys/name"
    )


def _served(remote: Remote) -> Study:
    survey, source = fetch_survey(remote)
    shown = fetch_results(remote)
    if shown.digest != survey.digest:
        raise NoResults(f"{remote.host} shows results of another version than its register lists")
    if survey.mixer:
        return _served_counts(remote, survey, source, shown)
    try:
        reports = fetch_reports(remote, survey)
    except NoResults as error:
        return _study(survey, shown.n, source, shown.state, None, str(error), remote, shown)
    return _study(survey, len(reports), source, shown.state, reports, "", remote, shown)


def _served_counts(
    remote: Remote, survey: Survey, source: Provenance, shown: SurveyResult
) -> Study:
    """Returns a study of what a mixer passed on: the server has counts, and nobody has reports."""
    tallied, without = None, str(TravelledApart())
    try:
        tallied = fetch_tally(remote, survey)
    except NoResults as error:
        without = str(error)
    n = shown.n if tallied is None else tallied.n
    return _study(survey, n, source, shown.state, None, without, remote, shown, tallied=tallied)


def _folder(path: Path) -> Study:
    if not (path / DEFINITION).exists():
        if any((path / page).exists() for page in _PAGES):
            raise NoExport(
                f"{path} has pages of results: open the tally file or the address that they are of"
            )
        raise NoExport(f"{path} is no export and no report set: it has no {DEFINITION}")
    if not _in_parts(path):
        return _exported(*read_export(path))
    reports, source = read_set(path)
    unsigned = source is None
    return _study(reports.survey, len(reports), source, "closed", reports, unsigned=unsigned)


def _in_parts(folder: Path) -> bool:
    """Returns whether the design names several files of reports. Raises NoExport where it cannot
    be read."""
    try:
        return "parts" in cast("dict[str, object]", read_json(folder / DESIGN))
    except OSError as error:
        raise NoExport(f"{error.filename}: {error.strerror}") from None
    except (ValueError, TypeError) as error:
        raise NoExport(f"{folder / DESIGN}: {error}") from None


def _exported(reports: ReportSet, source: Provenance) -> Study:
    return _study(reports.survey, len(reports), source, "closed", reports)


def _database(path: Path) -> tuple[ReportSet, Provenance]:
    """Reads a database of ``deniably export`` that stands alone; it holds the export's other
    files, too."""
    try:
        files = files_of(path)
        with TemporaryDirectory() as temporary:
            folder = Path(temporary)
            for name in (DEFINITION, SIGNED, DESIGN):
                if name not in files:
                    raise NoExport(
                        f"{path} is a database, and none of deniably export: it has no {name}. Of a"
                        f" server's database take the reports of a survey with deniably export NAME"
                        f" --database {path}"
                    )
                (folder / name).write_text(files[name], encoding="utf-8", newline="")
            # A link, so that an export is read as any other without a copy of the database.
            (folder / FORMATS["sqlite"].file).symlink_to(path.absolute())
            return read_export(folder)
    except ValueError:
        raise NoExport(
            f"{path} is a database, and none of deniably export. Of a server's database take the"
            f" reports of a survey with deniably export NAME --database {path}"
        ) from None


def _is_text(path: Path) -> bool:
    """Returns whether a file begins as JSON does, and not as a .zip."""
    return _begins(path, b"{")


def _begins(path: Path, start: bytes) -> bool:
    try:
        with open_file(path) as file:
            return file.read(len(start)) == start
    except OSError as error:
        raise NoExport(f"{path}: {error.strerror}") from None


def _counted(path: Path) -> Study:
    from deniably.workbench.engines.tally_file import read_tally

    try:
        tallied = read_tally(read_file(path))
    except BadInput as error:
        raise NoExport(str(error)) from None
    except NoExport as error:
        raise NoExport(f"{path}: {error}") from None
    if not tallied.n:
        raise NoResults(f"{path}: there are no reports to {tallied.survey.name}")
    without = f"{path.name} is a tally file; open the export or the survey's address"
    if tallied.survey.mixer:
        without = str(TravelledApart())
    return _study(
        tallied.survey, tallied.n, None, "closed", None, without, tallied=tallied, unsigned=True
    )


def _at_hand(survey: Survey, at_hand: ReportSet | Reports) -> Study:
    reports = of_simulation(at_hand) if isinstance(at_hand, Reports) else at_hand
    if reports.survey.digest != survey.digest:
        raise NoResults(
            f"these are reports to another survey than {survey.name}, or to another version of it"
        )
    if not len(reports):
        raise NoResults(f"{survey.name} has no reports")
    return _study(survey, len(reports), None, "closed", reports)


def _zipped(file: Path) -> tuple[ReportSet, Provenance]:
    """Reads the export in a .zip, at its top or in one folder."""
    try:
        with (
            open_file(file) as packed,
            ZipFile(packed) as archive,
            TemporaryDirectory() as scratch,
        ):
            if any(_PART.fullmatch(Path(name).name) for name in archive.namelist()):
                raise NoExport(f"{file} has reports in parts: unpack it, and open the folder")
            for member in archive.infolist():
                name = Path(member.filename).name
                # Only known names are unpacked, and never under a path of the archive's own.
                if name in _FILES and not member.is_dir():
                    unpack(archive, member, Path(scratch) / name)
            return _read(Path(scratch), file)
    except BadInput as error:
        raise NoExport(f"{file}: {error.strerror}") from None
    except FileExistsError as error:
        raise NoExport(f"{file} has {Path(error.filename).name} twice") from None
    except (BadZipFile, EOFError, OSError, NotImplementedError, RuntimeError) as error:
        raise NoExport(f"{file} is no whole .zip of an export: {error}") from None


def _read(scratch: Path, file: Path) -> tuple[ReportSet, Provenance]:
    try:
        return read_export(scratch)
    except NoExport as error:
        raise NoExport(str(error).replace(str(scratch), str(file))) from None


# --- how a study shows itself -------------------------------------------------------------------


def _study(
    survey: Survey,
    n: int,
    source: Provenance | None,
    state: str,
    reports: ReportSet | None,
    without: str = "",
    remote: Remote | None = None,
    served: SurveyResult | None = None,
    tallied: TalliedSet | None = None,
    *,
    unsigned: bool = False,
) -> Study:
    answered = _answered(survey, reports, served, tallied)
    rows = list[dict[str, Cell]]()
    for question in survey.questions:
        mechanism = question.report_mechanism
        rows.append(
            {
                "question": question.name,
                "label": question.label,
                "type": question.type,
                "n": answered[question.name],
                "mechanism": mechanism.described,
                "epsilon": mechanism.loss.epsilon_text(),
            }
        )
    lines = [
        ["question", "type", "mechanism", "epsilon", "reports"],
        *(
            [str(row["question"]), str(row["type"]), str(row["mechanism"]), str(row["epsilon"]),
             f"{row['n']:,}"]
            for row in rows
        ),
    ]  # fmt: skip
    return Study(
        f"{survey.title} ({survey.name})",
        rows,
        lines,
        3,
        [
            *_about(survey, n, source, state),
            *_lacking(without, tallied),
            *([_UNSIGNED] if unsigned else []),
        ],
        source,
        Collected(survey, state, n, reports, without, remote, served, tallied),
    )


def _answered(
    survey: Survey,
    reports: ReportSet | None,
    served: SurveyResult | None,
    tallied: TalliedSet | None,
) -> dict[str, int]:
    """Returns the number of reports to each question."""
    if tallied is not None:
        return {name: tally.n for name, tally in tallied.tallies.items()}
    if reports is not None and survey.complete:
        return {question.name: len(reports) for question in survey.questions}
    if reports is not None:
        return {
            question.name: int(reports.answered(question.name).asked.sum())
            for question in survey.questions
        }
    assert served is not None
    return {question.name: question.n for question in served.questions}


def _alone(survey: Survey) -> str:
    if not survey.mixer:
        return ""
    return f", and {survey.server_loss.epsilon_text()} against the server without the mixer"


def _lacking(without: str, tallied: TalliedSet | None) -> Iterator[str]:
    """Yields what a study without reports lacks, and which reports were not counted."""
    if without:
        yield f"Only {'results' if tallied is None else 'counts'}: {without}"
    if tallied is not None and tallied.left_out:
        wrong = ", ".join(f"{name} of {count:,}" for name, count in tallied.unfit.items())
        yield (
            f"{tallied.left_out:,} more were left out, because no device can have made them:"
            f" {wrong}."
        )


def _about(survey: Survey, n: int, source: Provenance | None, state: str) -> Iterator[str]:
    yield (
        f"{people(n).capitalize()}, {state}. All answers of one person together:"
        f" epsilon {survey.total.epsilon_text()}{_alone(survey)}."
    )
    if isinstance(survey.mixer, Mixer):
        yield (
            f"A mixer passed their reports on, among {counted(survey.mixer.blanks, 'blank')} for"
            " each question; estimates take these out."
        )
    yield f"Definition {survey.digest}."
    if source is not None:
        closed = f", closed {source.closed}" if source.closed else ""
        yield (
            f"Published {source.published}{closed}; signed by the author with the fingerprint"
            f" {fingerprint(source.author)}."
        )
