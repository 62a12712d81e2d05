"""Reads lines of reports in the two forms that devices and exports write, many at a time.

The text of a question's values is decoded, checked and packed when it is first seen, and looked up
from then on. Nothing here refuses a line: lines of another form, or with an error, are left to the
reader of single lines, which takes more forms and says what is wrong.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec
import numpy as np

from deniably.core.errors import BadReport
from deniably.survey.survey import Survey
from deniably.workbench.packing import Layout, PackedField, Rows

RANDOMISED, VALUES = "randomised", "values"
"""The keys of the values: in a line of an export, and in a report as devices send it."""
STRATA = "strata"
"""The key of the strata, which the link stated, in both."""

_Text = bytes | None
"""The text that a line has in one place; None where there is nothing."""
_ID = rb'"id": ?"[ !#-\[\]-~]*", ?'
_ROW = rb'"row": ?(?:0|[1-9][0-9]*), ?'
_STRATA = rb'(?:"strata": ?(\{[^{}]*\}), ?)?'
_MOST = 100_000
"""The most texts of one question that are remembered."""


class UsualLines:
    """Packs many lines of reports to one survey at once, if all have the form that devices send,
    or all the form of an export."""

    def __init__(self, places: Layout) -> None:
        self._places = places
        survey, names = places.survey, list(places.fields)
        # Devices send canonical JSON, whose keys are sorted; an export keeps the survey's order.
        sent = _ID + _STRATA + rb'"survey": ?"%b", ?' % survey.digest.encode()
        self._forms = [
            (sorted(names), _form(survey, sent, VALUES, sorted(names))),
            (names, _form(survey, _ROW + _STRATA, RANDOMISED, names)),
        ]
        self._columns = {name: _Column(field) for name, field in places.fields.items()}
        self._strata = dict[_Text, int]()

    def pack(self, lines: Sequence[bytes]) -> Rows | None:
        """Returns the packed reports of ``lines``, in their order.

        Returns None unless all lines have the same one of the two forms, and each is a report to
        the survey.
        """
        for names, form in self._forms:
            matches = [match.groups() for match in map(form.fullmatch, lines) if match]
            if matches and len(matches) == len(lines):
                strata, *texts = zip(*matches, strict=True)
                try:
                    return self._packed(strata, dict(zip(names, texts, strict=True)))
                except (BadReport, ValueError, msgspec.DecodeError):
                    return None
        return None

    def _packed(self, strata: Sequence[_Text], texts: dict[str, Sequence[_Text]]) -> Rows:
        """Packs the texts of all lines. Raises BadReport, ValueError or DecodeError for what is no
        report."""
        packed = [column.pack(texts[name]) for name, column in self._columns.items()]
        survey = self._places.survey
        if not survey.complete:
            asked_count = np.sum([rows[:, 0] for rows in packed], axis=0, dtype=np.int64)
            if asked_count.min() < survey.least_asked or asked_count.max() > survey.asked:
                raise BadReport("a report has values of too few or too many questions", "$")
        self._strata |= {text: self._stratum(text) for text in {*strata} - self._strata.keys()}
        numbers = np.fromiter(map(self._strata.__getitem__, strata), np.int64, len(strata))
        return self._places.with_strata(numbers, packed)

    def _stratum(self, text: _Text) -> int:
        if (text is not None) is not self._places.stratified:
            raise ValueError("some lines have strata, and others none")
        if text is None:
            return 0
        return self._places.survey.stratum_number(msgspec.json.decode(text, type=dict[str, str]))


class _Column:
    """Packs the texts of one question's values; a text is None where the question was not asked."""

    def __init__(self, field: PackedField) -> None:
        self._field = field
        self._places = dict[_Text, int]()
        self._packed = np.zeros((0, field.width), np.uint8)

    def pack(self, texts: Sequence[_Text]) -> Rows:
        """Returns the packed texts. Raises BadReport and DecodeError for what no device can have
        sent."""
        if new := list({*texts} - self._places.keys()):
            # Numbers with much noise seldom repeat: what is remembered must not grow with the file.
            if len(self._places) > _MOST:
                new, self._places, self._packed = list({*texts}), {}, self._packed[:0]
            packed = self._field.pack([self._values(text) for text in new])
            self._places |= {text: place for place, text in enumerate(new, len(self._packed))}
            self._packed = np.vstack([self._packed, packed])
        places = np.fromiter(map(self._places.__getitem__, texts), np.int64, len(texts))
        codes: Rows = self._packed[places]
        return codes

    def _values(self, text: _Text) -> list[int] | None:
        if text is None:
            return None
        values = msgspec.json.decode(b"[%b]" % text, type=list[int])
        self._field.question.mechanism.check(values)
        return values


def _form(survey: Survey, before: bytes, key: str, names: Sequence[str]) -> re.Pattern[bytes]:
    """Returns the pattern of lines whose values are in the order of ``names``, with a group for
    strata and one for each question."""
    members = [rb'"%b": ?\[([-0-9, ]*)\]' % re.escape(name).encode() for name in names]
    if survey.complete:
        values = b", ?".join(members)
    else:  # a comma follows exactly where another member does
        values = b"".join(rb'(?:%b(?:, ?(?=")|(?=\})))?' % member for member in members)
    # Lines of the usual form need no JSON decoder; all others are left to it.
    return re.compile(rb'\{%b"%b": ?\{%b\}\}\s*' % (before, key.encode(), values))
