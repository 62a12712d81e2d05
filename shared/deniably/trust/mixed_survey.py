"""What device, mixer and server must know of a survey that goes through a mixer (SPEC 14)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import msgspec

from deniably.mechanisms import Mechanism
from deniably.survey.mixer import Mixer
from deniably.survey.survey import Survey
from deniably.trust.batch import LARGEST_BATCH
from deniably.trust.envelope import inner_size, outer_size


@dataclass(frozen=True)
class MixedQuestion:
    """A question's name, and the mechanism of its reports."""

    name: str
    mechanism: Mechanism


@dataclass(frozen=True)
class MixedSurvey:
    """A survey whose reports go through a mixer.

    ``digest`` is that of the definition, and ``questions`` are in its order. ``by`` says who runs
    the mixer. ``key`` is the mixer's public key of envelopes, ``open`` that of the survey's server,
    and ``signing`` the mixer's Ed25519 key. A padded report has ``length`` bytes. The mixer adds
    ``blanks`` to each question, and passes nothing on from fewer than ``minimum`` people. Where
    people are ``invited``, everybody needs a code of the mixer's.
    """

    digest: str
    questions: tuple[MixedQuestion, ...]
    by: str
    key: str
    signing: str
    open: str
    length: int
    blanks: int
    minimum: int = 1
    invited: bool = False

    @property
    def inner_size(self) -> int:
        """The bytes of the envelope of one report."""
        return inner_size(self.length)

    @cached_property
    def outer_size(self) -> int:
        """The bytes of the envelope that one person sends."""
        return outer_size(self.length, len(self.questions))

    @property
    def most_senders(self) -> int:
        """How many people may send, so that a server takes the batch; below 1 where blanks alone
        are too many."""
        return LARGEST_BATCH // (len(self.questions) * self.inner_size) - self.blanks

    @property
    def text(self) -> str:
        """The survey as JSON, which ``read_mixed_survey`` reads."""
        return msgspec.json.encode(self).decode()


def read_mixed_survey(text: str) -> MixedSurvey:
    """Returns the survey in a text that ``MixedSurvey.text`` wrote. Raises ValueError for any other
    text."""
    return msgspec.json.decode(text, type=MixedSurvey)


def mixed_survey(survey: Survey, *, invited: bool = False) -> MixedSurvey:
    """Returns what a published definition says of its mixer. Where people are ``invited``, which
    no definition says, everybody needs a code of the mixer's.

    Raises ValueError for a survey without a mixer.
    """
    mixer = survey.mixer
    if not isinstance(mixer, Mixer):
        raise ValueError(f"{survey.name} has no mixer")
    return MixedSurvey(
        digest=survey.digest,
        questions=tuple(
            MixedQuestion(each.name, each.report_mechanism) for each in survey.questions
        ),
        by=mixer.by,
        key=mixer.key,
        signing=mixer.signing,
        open=mixer.open,
        length=mixer.length,
        blanks=mixer.blanks,
        minimum=survey.results.minimum,
        invited=invited,
    )
