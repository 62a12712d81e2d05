"""Reads and writes tally files: the definition and the counts of a report set, as canonical JSON
(SPEC 12.2).

Equal counts give equal bytes, whichever engine counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import msgspec
import numpy as np
from msgspec import UNSET, Meta, UnsetType

from deniably.core.canonical import LARGEST_INTEGER, canonical
from deniably.core.counting import counted
from deniably.core.errors import DeniablyError, TravelledApart
from deniably.estimation.tally import Tally
from deniably.mechanisms.law import Supporting
from deniably.survey.mixer import Mixer
from deniably.survey.survey import Survey, read_survey
from deniably.workbench.engines.counting_engine import Groups
from deniably.workbench.engines.tallying import Counts, TalliedSet, may_be_seen
from deniably.workbench.files.optional_libraries import NoExport
from deniably.workbench.packing import PackedField, layout, reach

VERSION = 1
# JSON numbers that every language can hold exactly: up to 2^53.
_Integer = Annotated[int, Meta(ge=-LARGEST_INTEGER, le=LARGEST_INTEGER)]
_Number = Annotated[int, Meta(ge=0, le=LARGEST_INTEGER)]
"""A number of reports."""


class _Counts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``n`` reports to a question, and how many of them name each cell from ``start`` on. Where a
    mixer added ``blanks`` to the reports of n people, these are among the counts."""

    n: _Integer
    start: _Integer
    counts: list[_Integer]
    blanks: _Number | UnsetType = UNSET

    @property
    def reports(self) -> int:
        """The number of all reports that are counted: of people, and blanks."""
        return self.n + (self.blanks or 0)


class _Pair(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How many people reported each pair of numbers to two questions: [row, column, count]."""

    rows: str
    columns: str
    counts: list[tuple[_Integer, _Integer, _Integer]]


class _Stratum(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    n: _Number
    tallies: dict[str, _Counts]
    pairs: list[_Pair]


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    tally: int
    survey: msgspec.Raw
    left_out: _Number
    unfit: dict[str, _Number]
    strata: list[_Stratum]


def tally_text(tallied: TalliedSet) -> bytes:
    """Returns the bytes of a tally file with these counts."""
    return canonical(
        {
            "tally": VERSION,
            "survey": msgspec.to_builtins(tallied.survey),
            "left_out": tallied.left_out,
            "unfit": tallied.unfit,
            "strata": [_stratum(stratum) for stratum in tallied.strata],
        }
    )


def _stratum(counts: Counts) -> dict[str, Any]:
    tallies = {
        name: {"n": tally.n, "start": tally.start, "counts": tally.counts.tolist()}
        | ({"blanks": tally.blanks} if tally.blanks else {})
        for name, tally in counts.tallies.items()
    }
    pairs = [
        {"rows": rows, "columns": columns, "counts": _triples(groups)}
        for (rows, columns), groups in sorted(counts.pairs.items())
    ]
    return {"n": counts.n, "tallies": tallies, "pairs": pairs}


def read_tally(text: bytes) -> TalliedSet:
    """Reads the bytes of a tally file. Raises NoExport, with the reason, where they are not those
    of a tally file or the counts contradict each other."""
    try:
        written = msgspec.json.decode(text, type=_File)
        if written.tally != VERSION:
            raise NoExport(f"this is a tally file of version {written.tally}, not {VERSION}")
        survey = read_survey(bytes(written.survey))
        strata = tuple(_counts(survey, stratum) for stratum in written.strata)
    except msgspec.DecodeError as error:
        raise NoExport(f"this is no tally file: {error}") from None
    except NoExport:  # is a DeniablyError, too
        raise
    except DeniablyError as error:
        raise NoExport(f"the survey of this tally file: {error}") from None
    _check_strata(survey, strata)
    if survey.mixer and (written.left_out or written.unfit):
        raise NoExport("this tally file has rows that were left out, and its survey has a mixer")
    return TalliedSet(survey, strata, written.left_out, written.unfit)


def _check_strata(survey: Survey, strata: Sequence[Counts]) -> None:
    """Raise NoExport unless these are the counts of all reports together, or of every stratum."""
    if len(strata) not in (1, len(survey.every_stratum)):
        raise NoExport(
            f"this tally file has counts of {len(strata)} strata, and the survey has"
            f" {len(survey.every_stratum)}"
        )
    # Checked on reading, too: a file from elsewhere may say more of a small stratum than results
    # may.
    if len(strata) > 1 and not may_be_seen(survey, strata):
        raise NoExport(
            "this tally file has counts of a stratum with fewer than"
            f" {counted(survey.results.minimum, 'report')}; they belong to those of all"
        )
    if any(stratum.pairs.keys() != strata[0].pairs.keys() for stratum in strata):
        raise NoExport("this tally file has pairs of some strata that it has not of others")


def _counts(survey: Survey, written: _Stratum) -> Counts:
    places = layout(survey)
    blanks = survey.mixer.blanks if isinstance(survey.mixer, Mixer) else UNSET
    tallies = {name: _tally(field, written, blanks) for name, field in places.fields.items()}
    if unknown := written.tallies.keys() - places.fields.keys():
        raise NoExport(f"this tally file has counts of {min(unknown)}, which is no question")
    if survey.mixer and written.pairs:
        raise NoExport(f"this tally file has pairs of questions. {TravelledApart()}")
    pairs = {(pair.rows, pair.columns): _groups(pair, tallies) for pair in written.pairs}
    if len(pairs) < len(written.pairs):
        raise NoExport("this tally file has the pairs of two questions twice")
    return Counts(written.n, tallies, pairs)


def _tally(field: PackedField, written: _Stratum, blanks: int | UnsetType) -> Tally:
    name, law = field.question.name, field.question.mechanism.law
    cell_count = law.cell_count
    of_question = written.tallies.get(name)
    if of_question is None:
        raise NoExport(f"this tally file has no counts of {name}")
    if of_question.blanks != blanks:
        raise NoExport(
            f"the counts of {name} have {_blanks(of_question.blanks)}, and the survey has"
            f" {_blanks(blanks)}"
        )
    if min(of_question.counts, default=0) < 0 or not 0 <= of_question.n <= written.n:
        raise NoExport(f"the counts of {name} are none of {written.n:,} reports")
    if cell_count is not None and (len(of_question.counts) != cell_count or of_question.start):
        raise NoExport(f"{name} has {cell_count} cells, not {len(of_question.counts)}")
    low, high = reach(law)
    if (
        of_question.counts
        and not low <= of_question.start <= of_question.start + len(of_question.counts) - 1 <= high
    ):
        raise NoExport(f"{name} has cells from {low} to {high}, and counts of others")
    if not _are_of(field, of_question):
        raise NoExport(f"the counts of {name} are none of its {of_question.reports:,} reports")
    counts, endless = np.array(of_question.counts, np.int64), cell_count is None
    return Tally(of_question.n, counts, of_question.start, endless, of_question.blanks or 0)


def _blanks(number: int | UnsetType) -> str:
    return "no blanks" if number is UNSET else counted(number, "blank")


def _are_of(field: PackedField, written: _Counts) -> bool:
    """Returns whether so many reports, which name as many cells as the law says, can have these
    counts."""
    law = field.question.mechanism.law
    if field.kind == "numbers":
        return sum(written.counts) == field.count * written.reports
    assert isinstance(law, Supporting)
    named = law.size is None or sum(written.counts) == law.size * written.reports
    return named and max(written.counts) <= written.reports


def _triples(groups: Groups) -> list[list[int]]:
    """Returns the counts of those who were asked both questions, sorted."""
    return sorted(
        [row, column, count]
        for (row, column), count in groups.items()
        if row is not None and column is not None
    )


def _groups(pair: _Pair, tallies: Mapping[str, Tally]) -> Groups:
    """Returns the counts of a pair. Raises NoExport where more reports have a number than its
    tally says."""
    for place, name in enumerate((pair.rows, pair.columns)):
        if name not in tallies:
            raise NoExport(f"the pairs of this tally file name {name}, which is no question")
        known, seen = tallies[name].cells(), Counter[int]()
        for triple in pair.counts:
            seen[triple[place]] += triple[2]
        least = min((triple[2] for triple in pair.counts), default=0)
        if least < 0 or any(count > known.get(cell, 0) for cell, count in seen.items()):
            raise NoExport(
                f"the pairs of {pair.rows} and {pair.columns} are more than the counts of {name}"
            )
    groups: Groups = {(row, column): count for row, column, count in pair.counts}
    if len(groups) < len(pair.counts):
        raise NoExport(f"the pairs of {pair.rows} and {pair.columns} have two numbers twice")
    return groups
