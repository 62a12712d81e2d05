"""Opens a mixer's batch and checks it, as the survey's server does (SPEC 14.5).

A batch comes in pieces, and its reader needs one piece at a time. What the reader finds depends
only on the signed manifest and on the server's key, so every reader of a batch finds the same.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from deniably.core.counting import people
from deniably.core.errors import BadBatch, BadEnvelope, BadReport
from deniably.survey.mixer import Mixer
from deniably.survey.report import Report, read_report
from deniably.survey.survey import Survey
from deniably.trust.batch import LARGEST_BATCH, Manifest
from deniably.trust.envelope import OpeningKey, inner_size, open_inner

TOO_FEW = "fewer people answered than the results need; the mixer deleted all"
"""Why there is no batch where a mixer signed one without envelopes."""
_OF_NOTHING = hashlib.sha256().hexdigest()


class OpenedReport(NamedTuple):
    """A report in a batch: its ``id``, the index of its ``question``, and its ``value``."""

    id: bytes
    question: int
    value: tuple[int, ...]


@dataclass(frozen=True)
class OpenedBatch:
    """All reports in a batch, the SHA-256 of every envelope, ascending, and how many envelopes
    were refused because they are no reports."""

    reports: list[OpenedReport]
    hashes: list[bytes]
    refused: int


def batch_size(survey: Survey, manifest: Manifest) -> int:
    """Returns the bytes of all envelopes of a batch."""
    return manifest.envelopes * inner_size(_mixer(survey).length)


def check_manifest(survey: Survey, manifest: Manifest) -> None:
    """Raises BadBatch where the manifest's numbers are not those of a batch of this survey."""
    each, questions = manifest.senders + manifest.blanks, len(survey.questions)
    if manifest.survey != survey.digest:
        raise BadBatch("the manifest is of another survey")
    if manifest.blanks != _mixer(survey).blanks:
        raise BadBatch(
            f"the manifest has {manifest.blanks:,} blanks for each question, and the survey"
            f" promises {_mixer(survey).blanks:,}"
        )
    if manifest.too_few:
        if manifest.senders or manifest.sha256 != _OF_NOTHING:
            raise BadBatch("a batch without envelopes has no senders, and the SHA-256 of nothing")
        return
    if manifest.senders < survey.results.minimum:
        raise BadBatch(
            f"the manifest has {manifest.senders:,} senders, and the survey's results need"
            f" {survey.results.minimum:,}"
        )
    if manifest.envelopes != questions * each:
        raise BadBatch(
            f"the manifest has {manifest.envelopes:,} envelopes; its senders and blanks have"
            f" {each:,} for each question, so {questions * each:,}"
        )
    if batch_size(survey, manifest) > LARGEST_BATCH:
        raise BadBatch(f"a server takes batches of at most {LARGEST_BATCH:,} bytes")


def check_reports(survey: Survey, reports: Iterable[OpenedReport]) -> None:
    """Raises BadBatch where a question has too few ``reports`` for results. However many envelopes
    could not be opened, the others are taken: a few strangers must not void everybody's answers."""
    counts = Counter(report.question for report in reports)
    needed = _mixer(survey).blanks + survey.results.minimum
    for index, question in enumerate(survey.questions):
        if counts[index] < needed:
            raise BadBatch(
                f"only {counts[index]:,} of its reports to {question.name} could be read, and the"
                f" results need {needed:,}: {_mixer(survey).blanks:,} blanks, and"
                f" {people(survey.results.minimum)}"
            )


class BatchReader:
    """Reads the batch with a manifest that ``check_manifest`` passed, piece by piece."""

    def __init__(self, survey: Survey, key: OpeningKey, manifest: Manifest) -> None:
        self._survey, self._key, self._manifest = survey, key, manifest
        self._length = _mixer(survey).length
        self._index = {question.name: n for n, question in enumerate(survey.questions)}
        self._sha256, self._rest, self._last = hashlib.sha256(), b"", b""
        self._ascending = True
        self._reports: list[OpenedReport] = []
        self._values: dict[tuple[int, ...], tuple[int, ...]] = {}
        self._ids: set[bytes] = set()
        self._counts = Counter[int]()
        self._hashes: list[bytes] = []

    def add(self, piece: bytes) -> None:
        """Reads the next bytes of the batch."""
        self._sha256.update(piece)
        data, size = self._rest + piece, inner_size(self._length)
        whole = len(data) // size * size
        self._rest = data[whole:]
        for start in range(0, whole, size):
            self._add(data[start : start + size])

    def finish(self) -> OpenedBatch | None:
        """Returns what the batch holds; None where its bytes are not those that were signed, so
        that they have to be sent again.

        Raises BadBatch where the mixer signed a batch that is to be refused as a whole, or that
        there is none.
        """
        manifest = self._manifest
        if self._sha256.hexdigest() != manifest.sha256:
            return None
        if self._rest or len(self._hashes) != manifest.envelopes:
            raise BadBatch("the batch has another number of envelopes than its manifest")
        if not self._ascending:
            raise BadBatch(
                "the envelopes do not ascend by their bytes, so their order may show who sent which"
            )
        if manifest.too_few:
            raise BadBatch(TOO_FEW)
        check_reports(self._survey, self._reports)
        refused = manifest.envelopes - len(self._reports)
        return OpenedBatch(self._reports, sorted(self._hashes), refused)

    def _add(self, envelope: bytes) -> None:
        self._hashes.append(hashlib.sha256(envelope).digest())
        self._ascending = self._ascending and self._last < envelope
        self._last = envelope
        if not self._ascending:  # the whole batch is refused
            return
        try:
            report = self._opened(envelope)
        except (BadEnvelope, BadReport):
            return
        ((name, value),) = report.values.items()
        key, question = bytes.fromhex(report.id), self._index[name]
        # As envelopes begin with random keys, chance decides which of too many reports are refused.
        full = self._counts[question] == self._manifest.senders + self._manifest.blanks
        if key not in self._ids and not full:
            self._ids.add(key)
            self._counts[question] += 1
            values = tuple(value)
            self._reports.append(
                OpenedReport(key, question, self._values.setdefault(values, values))
            )

    def _opened(self, envelope: bytes) -> Report:
        """Raises BadEnvelope or BadReport where the envelope holds no report to the survey."""
        report = read_report(open_inner(self._key, self._survey.digest, envelope, self._length))
        if report.survey != self._survey.digest:
            raise BadReport("the report is to another survey")
        report.check(self._survey)
        return report


def _mixer(survey: Survey) -> Mixer:
    if not isinstance(survey.mixer, Mixer):
        raise ValueError(f"{survey.name} has no mixer")
    return survey.mixer
