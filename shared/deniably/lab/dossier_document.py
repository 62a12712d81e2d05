"""Writes the dossier of a survey for an ethics board: what is asked, what leaves a device, and what
that reveals.

The dossier computes nothing of its own: its numbers are those of other commands, which each part
names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from fractions import Fraction
from math import ceil
from pathlib import Path
from shlex import quote
from typing import cast

from deniably.audit.question_audit import TRIALS
from deniably.audit.survey_audit import Audited, audit_survey
from deniably.authoring.checking import Checked, check_survey, fake_text
from deniably.authoring.compiling import STUDY_FACTS
from deniably.authoring.survey_files import read_document
from deniably.core.loss import Loss
from deniably.core.own_version import own_version
from deniably.design.delta_rule import delta_warning
from deniably.design.plan_table import Planned, plan_survey
from deniably.design.release_of_counts import counts_notes
from deniably.lab import dossier_mixer
from deniably.lab.deployments import deployments
from deniably.lab.dossier_page import notebook, page
from deniably.lab.dossier_summary import summary
from deniably.lab.dossier_words import (
    DossierPart,
    Summary,
    answers,
    as_text,
    cut,
    label,
    rules,
    some_answer,
    subpoena,
    unprotected,
    who_sees_what,
)
from deniably.lab.draws import Draws
from deniably.lab.experiments.one_report import after
from deniably.lab.inputs import EPSILON, SEED
from deniably.results.drawing.rounding import hundred
from deniably.survey.guessing_rates import rate_text
from deniably.survey.mixer import Mixer
from deniably.survey.odds import odds_text, surest
from deniably.survey.privacy import to_decimal_text
from deniably.survey.report import randomise_answers
from deniably.survey.survey import Survey, Waves
from deniably.wording.words import LANGUAGES, Words

REPORTS = 3
"""The number of example reports in a dossier."""
PRIORS = (Fraction(1, 100), Fraction(1, 10), Fraction(1, 2))
TIMES = {"half": 0.5, "as planned": 1, "double": 2}
"""The alternatives that a board is shown, as factors of the survey's epsilons."""


@dataclass(frozen=True, eq=False, repr=False)
class Dossier:
    """A dossier for an ethics board: a ``summary`` of one page, then ``parts``. Notebooks display
    it.

    ``signed`` is a sentence that states what the dossier was made from: version, digest of the
    survey, day, and ``n`` respondents.
    """

    survey: Survey
    n: int
    signed: str
    summary: Summary
    parts: Sequence[DossierPart]

    def html(self, style: str = "") -> str:
        """Returns the dossier as an HTML page that loads no other file, has no script, and prints
        on A4. ``style`` is the text of its stylesheet."""
        return page(self.survey.title, self.signed, self.summary, self.parts, style).source

    def _repr_html_(self) -> str:
        return notebook(self.signed, self.summary, self.parts).source


def dossier(
    source: str | Path | Mapping[str, object],
    *,
    n: int,
    seed: int = 1,
    file: str | None = None,
    today: date | None = None,
    trials: int = TRIALS,
    seconds: float | None = None,
    language: str | None = None,
) -> Dossier:
    """Returns the dossier of a survey for ``n`` respondents, for an ethics board.

    ``source`` is a YAML or JSON file as authors write it, or its contents as a mapping. The
    example reports are drawn with ``seed``. ``file`` is the survey's file name in the commands
    that the dossier prints; by default the name of ``source`` without its folder. ``today`` is the
    date that the dossier states, by default today's in UTC. The audit makes ``trials`` reports of
    each of two answers to a question. It replays devices for ``seconds``; None stands for as long
    as a verdict needs, as in ``audit_survey``. ``language`` is that of the summary, by default the
    survey's.

    Raises OSError if the file cannot be read, BadSurvey if the survey is not valid, and ValueError
    for a language without a summary, for ``n`` below 1, and if noise hides every figure.
    """
    if language is not None and language not in LANGUAGES:
        raise ValueError(f"there is no summary in {language}; there are {', '.join(LANGUAGES)}")
    document = cast(Mapping[str, object], read_document(source))
    checked = check_survey(document)
    survey = checked.survey
    alone = f"{survey.name}.yaml" if isinstance(source, Mapping) else Path(source).name
    named = quote(file or alone)
    writer = _DossierWriter(checked, survey, n, named, SEED.read("seed", seed), trials, seconds)
    # UTC, like all days that Deniably writes.
    today = today or datetime.now(UTC).date()
    planned = plan_survey(survey, n=n)  # refuses at once what an audit would take long for
    audited = audit_survey(survey, trials=trials, seconds=seconds)
    margin = planned.rows[-1]["margin"]
    facts = {key: str(document[key]).strip() for key in STUDY_FACTS if document.get(key)}
    first = summary(
        survey, Words(language or survey.language), facts=facts, n=n,
        margin=cast(float, margin) if cast(float, margin) < 1 else None, outcome=audited.outcome,
    )  # fmt: skip
    parts = list(writer.parts(today, planned, audited))
    return Dossier(survey, n, writer.signed(today), first, parts)


@dataclass(frozen=True)
class _DossierWriter:
    checked: Checked
    survey: Survey
    n: int
    file: str
    seed: int
    trials: int
    seconds: float | None

    def parts(self, today: date, planned: Planned, audited: Audited) -> Iterator[DossierPart]:
        yield self._questions()
        yield DossierPart(
            "What respondents read first",
            self.checked.first_page,
            commands=[self._command("check")],
        )
        given_away = self._through_mixer if self.survey.mixer else self._directly
        yield from given_away(planned)
        yield self._fakes()
        yield self._audited(audited, today)
        yield unprotected(self.survey, dossier_mixer.risks(self.survey))
        yield self._others()
        yield self._register()
        if any(row["alternatives"] for row in self.checked.rows):
            yield self._mechanisms()

    def _directly(self, planned: Planned) -> Iterator[DossierPart]:
        yield self._sent()
        yield who_sees_what(self.survey)
        yield self._odds(planned)
        yield self._concluded()
        yield subpoena(self.survey)
        yield self._delta()
        yield self._counts()
        yield self._margins(planned)
        yield self._alternatives(planned)

    def _through_mixer(self, planned: Planned) -> Iterator[DossierPart]:
        survey, n = self.survey, self.n
        check, plan = self._command("check"), self._command("plan", "--n", n)
        seed = self._command("dossier", "--n", n, "--seed", self.seed)
        yield dossier_mixer.mixer_part(survey, check)
        yield dossier_mixer.sealed_part(survey, Draws(self.seed, "dossier").coins, [seed])
        yield dossier_mixer.two_parties(survey)
        yield dossier_mixer.odds_part(self.checked, [check, plan])
        yield self._concluded()
        yield dossier_mixer.orders_part(survey)
        yield dossier_mixer.exceptions_part(survey, n, check)
        yield dossier_mixer.counts_part(survey)
        yield dossier_mixer.margins_part(planned, n, plan)
        yield dossier_mixer.alternatives_part(survey, planned, n, plan)

    def signed(self, today: date) -> str:
        return (
            f"Made on {today.isoformat()} by deniably {own_version()} from the survey with"
            f" the digest {self.survey.digest}, for {self.n:,} respondents."
        )

    def _command(self, *words: object) -> str:
        first, *rest = map(str, words)
        return " ".join(["deniably", first, self.file, *rest])

    # --- what is asked and sent -----------------------------------------------------------------

    def _questions(self) -> DossierPart:
        survey = self.survey
        lines = [("question, word by word", "answers and bounds")]
        lines += [(label(question), answers(question)) for question in survey.questions]
        return DossierPart("What is asked", [*rules(survey)], lines)

    def _sent(self) -> DossierPart:
        some_answers = {question.name: some_answer(question) for question in self.survey.questions}
        draws = Draws(self.seed, "dossier")
        reports = [
            randomise_answers(
                self.survey, some_answers, draws.coins, strata=self.survey.every_stratum[0]
            ).canonical.decode()
            for _ in range(REPORTS)
        ]
        return DossierPart(
            "What leaves the device",
            [
                "True answers stay on the device. It randomises each and sends only the"
                " randomised values, under a random id, and the digest of the survey: no name, no"
                " address, no time. Numbers in a report stand for answers and count from 0; noise"
                " can lead beyond them.",
                "These are the reports of three people who all gave the same true answers, below."
                " Here the coins come from a seed, so that everybody gets the same examples. On a"
                " device they come from its own generator.",
            ],
            [("question", "the true answer of all three"),
             *((name, as_text(answer)) for name, answer in some_answers.items())],
            [cut(report) for report in reports],
            commands=[self._command("dossier", "--n", self.n, "--seed", self.seed)],
        )  # fmt: skip

    # --- what it gives away ---------------------------------------------------------------------

    def _odds(self, planned: Planned) -> DossierPart:
        heads, *lines = self.checked.lines
        odds = heads.index("odds")
        # The columns from the odds to the margin say what is given away.
        kept = slice(odds, heads.index("margin"))
        guess_at = planned.lines[0].index("worst guess")
        guesses = {line[0]: line[guess_at] for line in planned.lines[1:]}
        names = {question.name for question in self.survey.questions}
        table = [("about", *heads[kept], "of 100 guesses, right at most")]
        for line in lines:
            if line[0] in names:
                guess = guesses.get(line[0], "")  # of what noise hides, plans say nothing
            else:
                guess = str(rate_text(surest(self._of_all(line[0]).odds_bound)))
            table.append((line[0], *line[kept], guess))
        return DossierPart(
            "How much the reports give away",
            [
                "Odds of 3 mean: no report is more than 3 times as likely from one true answer as"
                " from another. The last column says the same in frequencies: somebody is torn"
                " between two answers, sees what was sent and guesses. Without any report, 50 of"
                " 100 guesses are right. Epsilon is the logarithm of the odds; epsilons of several"
                " answers add up.",
            ],
            table,
            notes=self.checked.refused,
            commands=[self._command("check"), self._command("plan", "--n", self.n)],
        )

    def _of_all(self, name: str) -> Loss:
        return self.survey.history if name == "all waves" else self.survey.total

    def _levels(self) -> Iterator[tuple[str, Loss]]:
        survey = self.survey
        if survey.mixer:
            yield from dossier_mixer.levels(survey)
            return
        yield "one answer, of the question that gives away most", survey.worst
        if survey.asked > 1:
            yield "all answers of one person", survey.total
        if isinstance(survey.waves, Waves):
            yield "all waves", survey.history

    def _concluded(self) -> DossierPart:
        heads = [f"{hundred(prior)} % likely before: at most" for prior in PRIORS]
        lines: list[tuple[str, ...]] = [("from", *heads)]
        commands: list[str] = []
        for name, loss in self._levels():
            text = odds_text(loss.odds_bound)
            # The experiment that the command names takes no larger epsilon.
            if loss.epsilon > float(EPSILON.maximum):
                lines.append((name, *("nearly certain" for _ in PRIORS)))
                continue
            ratio = Fraction(text)
            lines.append((name, *(f"{hundred(after(prior, ratio))} %" for prior in PRIORS)))
            commands.append(f'deniably lab one-report --epsilon "ln {text}"')
        notes = ["But for the chance of delta, below."] if self.survey.server_loss.delta else []
        return DossierPart(
            "What the worst reader can conclude",
            [
                "Somebody holds a true answer to be 1, 10 or 50 % likely and then sees what was"
                " sent. However the coins fell, and whatever else is known, it becomes at most"
                " this likely:"
            ],
            lines,
            notes=notes,
            commands=list(dict.fromkeys(commands)),
        )

    def _delta(self) -> DossierPart:
        delta = self.survey.total.delta
        if not delta:
            return DossierPart(
                "Exceptions to the promise",
                [
                    "None. The odds hold for every report, however the coins fall: there is no"
                    " delta."
                ],
                commands=[self._command("check")],
            )
        fine = "That is far below one in the number of respondents."
        return DossierPart(
            "Exceptions to the promise",
            [
                "The odds may fail for a person's report with a chance of delta,"
                f" {to_decimal_text(delta)} in all.",
                delta_warning(delta, self.n) or fine,
            ],
            commands=[self._command("plan", "--n", self.n)],
        )

    def _counts(self) -> DossierPart:
        return DossierPart(
            "What the published counts tell",
            [
                "Readers of the results see counts and no reports. What that hides is called"
                " shuffling. It holds against outsiders only.",
                *self._counts_said(),
            ],
            commands=[self._command("plan", "--n", self.n, "--counts")],
        )

    def _counts_said(self) -> Iterator[str]:
        """What counts keep, with each sentence once for all questions that it is true of."""
        names: dict[str, list[str]] = {}
        for note in counts_notes(self.survey, self.n):
            name, colon, sentence = note.partition(": ")
            # Notes about one question begin with its name; equal sentences are then printed once.
            known = colon and any(name == question.name for question in self.survey.questions)
            for part in (sentence if known else note).split(". "):
                names.setdefault(part.rstrip("."), []).extend([name] if known else [])
        question_names = {question.name for question in self.survey.questions}
        for part, about in names.items():
            some = about and set(about) < question_names
            yield f"{', '.join(about)}: {part}." if some else f"{part}."

    # --- what it is worth -----------------------------------------------------------------------

    def _margins(self, planned: Planned) -> DossierPart:
        heads, warned = planned.lines[0], delta_warning(self.survey.total.delta, self.n)
        kept = [heads.index(name) for name in
                ("question", "figure", "respondents", "margin", "asked directly",
                 "trusted curator")]  # fmt: skip
        return DossierPart(
            f"What {self.n:,} respondents are worth",
            ["Half the 95 % interval, for the worst share; of a mean, in percent of its range."],
            [tuple(line[at] for at in kept) for line in planned.lines],
            # A delta has a part of its own, and the column of worst guesses is not among these.
            notes=[
                note
                for note in planned.notes
                if note != warned and not note.startswith("Worst guess: ")
            ],
            commands=[self._command("plan", "--n", self.n)],
        )

    def _alternatives(self, planned: Planned) -> DossierPart:
        # Rounded up to tenths of a point, which the printed command can state.
        margin = ceil(1000 * cast(float, planned.rows[-1]["margin"]) - 1e-9) / 1000
        plans: list[dict[str, object]] = [{"n": self.n}]
        heads = ["epsilons", "all together", "odds", f"margin of {self.n:,} respondents"]
        if margin < 1:
            plans.append({"margin": margin})
            heads.append(f"respondents for {100 * margin:.1f} %")
        lines: list[Sequence[str]] = [heads]
        commands: list[str] = []
        for name, times in TIMES.items():
            try:
                line = self._at(times, None if margin >= 1 else margin)
            except ValueError as error:
                lines.append([name, str(error), *[""] * (len(heads) - 2)])
                continue
            lines.append([name, *line])
            for plan in plans:
                options = (word for key, value in plan.items() for word in (f"--{key}", value))
                commands.append(self._command("plan", *options, "--times", times))
        return DossierPart(
            "Alternatives considered",
            ["The same survey with half and with double the epsilons of all its questions:"],
            lines,
            commands=commands,
        )

    def _mechanisms(self) -> DossierPart:
        lines = [("question", "other mechanisms at the same epsilon")]
        lines += [
            (str(row["question"]), str(row["alternatives"]))
            for row in self.checked.rows
            if row["alternatives"]
        ]
        return DossierPart(
            "Annex: other mechanisms",
            [
                "For readers of the literature: what other ways of mixing would tell with the same"
                " protection. Margins are for a share of 30 % among 1,000 respondents, in points."
            ],
            lines,
            commands=[self._command("check")],
        )

    def _at(self, times: float, margin: float | None) -> list[str]:
        """Epsilon, odds and margin with so many times the epsilons, and the respondents for a
        ``margin``. Raises ValueError where no mechanism keeps that."""
        planned = plan_survey(self.survey, n=self.n, times=times)
        cells = dict(zip(planned.lines[0], planned.lines[-1], strict=True))
        line = [cells["epsilon"], cells["odds"], cells["margin"]]
        if margin is None:
            return line
        needed = plan_survey(self.survey, margin=margin, times=times).lines
        return [*line, needed[-1][needed[0].index("respondents")]]

    def _fakes(self) -> DossierPart:
        lines = [("question", "one fake report weighs as much as, and 5 % move a figure by up to")]
        lines += [(str(row["question"]), fake_text(row)) for row in self.checked.rows]
        return DossierPart(
            "Fake reports",
            [
                "A server cannot know whether a report came from an honest device. Fake reports"
                " harm the results, not the protection of people. Points of a share, or percent of"
                " the range of a mean:"
            ],
            lines,
            notes=[
                "By invitation, a person can send one report and no more."
                if self.survey.invited is True
                else "Without invitations, nothing bounds the number of fake reports."
                + (" Those of this survey are the mixer's." if self.survey.mixer else "")
            ],
            commands=[self._command("check")],
        )

    def _others(self) -> DossierPart:
        loss = self.survey.history
        delta = to_decimal_text(loss.delta) if loss.delta else "0"
        lines = [("who", "epsilon", "delta", "for one", "model", "source")]
        if isinstance(self.survey.mixer, Mixer):
            claim, model = self.survey.mixer.claim, "local, then blanks of a mixer"
            lines += [("this survey", claim.epsilon, claim.delta, "person, in all", model, "above")]
            lines += [
                ("the same, if the mixer conspires", loss.epsilon_text(), delta, "person, in all",
                 "local", "above")
            ]  # fmt: skip
        else:
            local = ("person, in all", "local", "above")
            lines += [("this survey", loss.epsilon_text(), delta, *local)]
        lines += [
            (
                f"{deployment.who}: {deployment.what}",
                f"{float(deployment.epsilon):g}",
                f"{float(deployment.delta):g}",
                deployment.unit,
                deployment.model,
                f"{deployment.source}; {deployment.year}, read {deployment.read.isoformat()}",
            )
            for deployment in deployments()
        ]
        return DossierPart(
            "Epsilons that others use",
            [
                "An epsilon is for a unit. A user-day is spent again every day. Local means that"
                " answers are randomised on the device, as here. Central means that a curator has"
                " every true answer, and that epsilon holds against readers alone. So a smaller"
                " number is not always more protection."
            ],
            lines,
            commands=["deniably lab choosing-epsilon", self._command("check")],
        )

    # --- who vouches for it ---------------------------------------------------------------------

    def _audited(self, audited: Audited, today: date) -> DossierPart:
        heads, *lines = audited.lines
        certified = heads.index("certified")
        shown = [(*line[:certified], line[-1]) for line in lines]
        recognition = [f"Recognition: FAILED: {audited.recognition}"] if audited.recognition else []
        node = audited.replays.javascript
        options = () if self.seconds is None else ("--seconds", f"{self.seconds:g}")
        ran = (
            "the code that devices run, in Python and in JavaScript,"
            if not node.not_run and not audited.replays.python.not_run
            else "the Python code of devices, and not the JavaScript that phones run,"
        )
        return DossierPart(
            "Verdict of the audit",
            [
                f"{audited.conclusion} On {today.isoformat()} version {own_version()} audited {ran}"
                " and compared it with the specification and with the integers of the survey with"
                f" the digest {self.survey.digest}."
            ],
            [(*heads[:certified], "verdict"), *shown],
            notes=[
                *(f"{verdict.name}: {verdict.text}" for verdict in audited.judged),
                *recognition,
            ],
            commands=[
                self._command("audit", "--trials", self.trials, *options),
                self._command("check"),
                "deniably --version",
            ],
        )

    def _register(self) -> DossierPart:
        return DossierPart(
            "Entry in the public register",
            [
                "Every survey is signed by its author and listed in its server's public register,"
                " whose entries never change. Devices refuse a survey that is not listed. To be"
                " filled in when it is published:"
            ],
            [
                ("what", "entry"),
                ("address of the server", ""),
                ("digest, as above", self.survey.digest),
                ("fingerprint of the author's key", ""),
                ("number and day of the entry", ""),
                ("responsible, signature", ""),
                ("ethics board, decision, signature", ""),
            ],
            notes=["After publication `deniably register SERVER` lists the entries."],
            commands=[self._command("check")],
        )
