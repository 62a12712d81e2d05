"""The receipt that a device shows after sending, in the words and figures of the web form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from deniably.core.loss import Loss
from deniably.survey.odds import surest
from deniably.survey.strata import Stratum, stratum_text
from deniably.survey.survey import Survey
from deniably.wording.explain import odds_text
from deniably.wording.words import ENGLISH, Words


@dataclass(frozen=True)
class ThroughMixer:
    """What a receipt says of a mixer: who runs it (``by``), the privacy loss of all answers against
    the survey's server alone (``server_loss``), and the SHA-256 of each envelope to that server
    (``sealed``), in hexadecimal and ascending."""

    by: str
    server_loss: Loss
    sealed: tuple[str, ...]

    def lines(self, count: int, words: Words) -> list[str]:
        """Returns who runs the mixer, how often the server alone guesses ``count`` answers right,
        and that what follows is for both together."""
        from deniably.survey.guessing_rates import rate_text  # NumPy, for this alone

        alone = words("receipt.right", rate=rate_text(surest(self.server_loss.odds_bound)))
        name = words("mixer.alone_all", count=count) if count > 1 else words("mixer.alone_one")
        return [
            words("script.pair", name=words("terminal.mixer_by"), text=self.by),
            words("script.pair", name=name, text=alone),
            words("terminal.mixer_both"),
        ]


@dataclass(frozen=True)
class Receipt:
    """Proof for the respondent: the promised privacy loss and a digest of the sent report.

    ``losses`` maps the name of each question in the report to its exact worst-case privacy loss.
    ``total`` bounds the loss of any report to this survey, by composition. If this report has only
    a part of the questions, ``total`` is therefore more than its own loss. ``digest`` is the
    SHA-256 of the sent bytes in hexadecimal. ``version`` is the digest of the survey's definition,
    ``author`` the author's fingerprint. ``register`` is the seal of the server's register: compare
    it with the seal on other people's receipts. In a survey with waves ``history`` is the loss
    over all waves, and ``recognised`` is how many of 100 people can be recognised from wave to
    wave (None where few are).

    ``stratum`` was in the link to the survey and was sent without randomisation; it is empty
    without strata. ``mixer`` is there in a survey with a mixer: ``losses`` and ``total`` then hold
    if the mixer works together with the survey's server. ``again`` marks a report that was made
    before: nothing was randomised or charged, and the answers given this time were not used. A
    receipt never holds an answer.
    """

    survey: str
    version: str
    author: str
    register: str
    losses: Mapping[str, Loss]
    total: Loss
    digest: str
    again: bool = False
    history: Loss | None = None
    recognised: int | None = None
    stratum: Stratum = field(default_factory=dict[str, str])
    mixer: ThroughMixer | None = None

    def __str__(self) -> str:
        lines = [
            f"survey    {self.survey}",
            f"version   {self.version}",
            f"author    {self.author}",
            f"register  {self.register}",
            f"sent      {self.digest}",
        ]
        if self.again:
            lines.append(f"again     {ENGLISH('receipt.again')}")
        lines += [f"odds      {name}: {odds_text(loss)}" for name, loss in self.losses.items()]
        lines.append(f"in total  {odds_text(self.total)} over all questions")
        if self.mixer:
            alone = odds_text(self.mixer.server_loss)
            lines.append("          if the mixer works together with the survey's server")
            lines.append(f"server    {alone} over all questions, for the server alone")
            lines.append(f"mixer     {self.mixer.by}")
            lines += [f"sealed    {each}" for each in self.mixer.sealed]
        if self.history:
            lines.append(f"waves     {odds_text(self.history)} over all of them")
        if self.stratum:
            lines.append(f"stratum   {stratum_text(self.stratum)}, sent as it is")
        if self.recognised:
            lines.append(f"          {ENGLISH('receipt.matched', count=self.recognised)}")
        return "\n".join(lines)

    def localised(self, survey: Survey, words: Words) -> str:
        """Returns the receipt as text in the respondent's language, with the same words and
        figures as the web form."""
        from deniably.survey.guessing_rates import guessing, rate_text  # NumPy, for this alone

        rates, count = guessing(survey), survey.asked
        right = {
            question.name: words("receipt.right", rate=rate_text(rate))
            for question, rate in zip(survey.questions, rates.one, strict=True)
        }
        facts = [
            (words("receipt.survey"), self.survey),
            (words("receipt.version"), self.version),
            (words("receipt.author"), self.author),
            (words("receipt.register"), self.register),
            *((words("receipt.question", name=name), right[name]) for name in self.losses),
        ]
        if count > 1:
            for_all = words("receipt.right", rate=rate_text(rates.together))
            facts.append((words("receipt.all", count=count), for_all))
        if rates.waves is not None:
            for_waves = words("receipt.right", rate=rate_text(rates.waves))
            facts.append((words("receipt.waves"), for_waves))
        if self.recognised:
            matched = words("receipt.matched", count=self.recognised)
            facts.append((words("receipt.recognised"), matched))
        if self.stratum:
            group = stratum_text(self.stratum, words("fields.comma"))
            facts.append((words("strata.receipt"), group))
        facts.append((words("receipt.digest"), self.digest))
        lines = [words("script.pair", name=name, text=text) for name, text in facts]
        if self.mixer:
            lines[4:4] = self.mixer.lines(count, words)
            sealed = words("mixer.prints")
            lines += [words("script.pair", name=sealed, text=each) for each in self.mixer.sealed]
        return "\n".join([words("receipt.again"), *lines] if self.again else lines)
