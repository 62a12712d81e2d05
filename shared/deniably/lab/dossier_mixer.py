"""Writes the parts of a dossier that a survey with a mixer has in place of others: two parties, and
what each of them and both together can learn."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import cast

from deniably.authoring.checking import Checked
from deniably.core.coins import Coins
from deniably.core.loss import Loss
from deniably.design.delta_rule import delta_warning
from deniably.design.mixer_plan import answer_losses, plan_mixer
from deniably.design.plan_table import Planned, mixer_notes
from deniably.lab.dossier_words import DossierPart, cut, some_answer
from deniably.survey.guessing_rates import guessing, rate_text
from deniably.survey.mixer import Mixer
from deniably.survey.odds import odds_at, surest
from deniably.survey.report import separate_reports
from deniably.survey.survey import Survey
from deniably.trust.signing import fingerprint

ALL = "all together"
_YES, _NO = "yes", "no"
_SOURCES = (
    "Sealing in two layers: Bittau and others 2017, SOSP (Prochlo), with the envelopes of RFC 9180."
    " Made-up reports that a shuffler adds against dishonest servers: Wang and others 2020, PVLDB"
    " 13. Their law for other mechanisms than randomised response: Feldman, McMillan and Talwar"
    " 2021, FOCS, theorem 3.2. Why other respondents are no protection: Serjantov, Dingledine and"
    " Syverson 2002, Information Hiding."
)


def mixer_part(survey: Survey, command: str) -> DossierPart:
    """Returns the part that names the mixer, what it has to do, and what holds only if it does.

    ``command`` prints its numbers.
    """
    mixer = _mixer(survey)
    claim = mixer.claim
    return DossierPart(
        "The mixer",
        [
            f"The answers reach the survey's server through a mixer, a server that {mixer.by} runs."
            " It learns who takes part, and cannot open the answers. The survey's server opens them"
            " in one batch once the survey is closed, and does not learn who sent which.",
            f"To every question the mixer adds {mixer.blanks:,} blanks: reports of uniformly random"
            " answers, which nothing tells from those of people. Results are corrected for them."
            " The promise rests on these, and not on other respondents: it holds even if the"
            " server knows, or makes up, what everybody else sends.",
            f"The assumption: {mixer.by} does not conspire with the survey's server, and adds the"
            " blanks. No device can check either. Without it, the last line of the table holds.",
        ],
        [
            ("against", "epsilon, all answers of one person", "delta"),
            ("the survey's server alone", claim.epsilon, claim.delta),
            ("the server together with the mixer", survey.total.epsilon_text(), "0"),
        ],
        notes=[
            f"Address of the mixer: {mixer.address}. Fingerprint of its key:"
            f" {fingerprint(mixer.signing)}. It stands in the public register as well.",
            f"Sources. {_SOURCES}",
        ],
        commands=[command],
    )


def sealed_part(survey: Survey, coins: Coins, commands: Sequence[str]) -> DossierPart:
    """Returns the part with what leaves a device: the reports of one person before they are
    sealed."""
    answers = {question.name: some_answer(question) for question in survey.questions}
    mixer = _mixer(survey)
    return DossierPart(
        "What leaves the device",
        [
            "True answers stay on the device. It randomises each, and makes a report for each"
            " question: the randomised value under a random id of its own, and the digest of the"
            " survey. No report has a name, an address or a time. Nothing shows that two of them"
            " are one person's.",
            "It seals each report for the survey's server, and all of them together for the mixer."
            f" Every sealed report has {mixer.length + 81:,} bytes, whatever it says.",
            "These are the reports of one person, before they are sealed. Here the coins come from"
            " a seed, so that everybody gets the same examples. On a device they come from its own"
            " generator.",
        ],
        exactly=[cut(each.canonical.decode()) for each in separate_reports(survey, answers, coins)],
        commands=commands,
    )


def two_parties(survey: Survey) -> DossierPart:
    """Returns the part with the table of who sees what."""
    by = _mixer(survey).by
    readers = "analysts with a token" if survey.results.to == "analysts" else "everybody"
    heads = ("who", "true answer", "randomised answers", "whose they are", "who took part")
    return DossierPart(
        "Who sees what",
        lines=[
            heads,
            ("the respondent's device", _YES, _YES, _YES, _YES),
            ("the network and its providers", _NO, _NO, _NO, _YES),
            (f"the mixer, run by {by}", _NO, "sealed, which it cannot open", _NO, _YES),
            ("the survey's server, while the survey is open", _NO, _NO, _NO, "who opened it"),
            ("the survey's server, once the survey is closed", _NO, _YES, _NO, _NO),
            ("both together", _NO, _YES, _YES, _YES),
            (f"readers of the results: {readers}", _NO, "counts", _NO, _NO),
        ],
        notes=[
            "That neither stores addresses and times is a promise of their software. If both work"
            " together, the odds “together” below hold."
        ],
    )


def odds_part(checked: Checked, commands: Sequence[str]) -> DossierPart:
    """Returns the part with both odds of each question, and of all answers together."""
    survey, heads = checked.survey, checked.lines[0]
    kept = [heads.index("server alone"), heads.index("together")]
    alone, both = (
        rate_text(rate)
        for rate in (surest(survey.server_loss.odds_bound), guessing(survey).together)
    )
    return DossierPart(
        "How much the reports give away",
        [
            "Odds of 3 mean: what is seen is no more than 3 times as likely from one true answer as"
            " from another. The same in frequencies: somebody is torn between two complete lists of"
            " answers, sees what is there to see and guesses. Without anything 50 of 100 guesses"
            f" are right, of the survey's server alone at most {alone}, of both together {both}."
        ],
        [
            ("about", "server alone", "together"),
            *((line[0], *(line[at] for at in kept)) for line in checked.lines[1:]),
        ],
        notes=[*checked.refused, *mixer_notes(survey)],
        commands=commands,
    )


def levels(survey: Survey) -> Iterator[tuple[str, Loss]]:
    """Yields the losses that a board has to compare: of one answer and of all, against the server
    alone and against both together."""
    losses = answer_losses(survey)
    yield "one answer, server alone", max(losses.values(), key=lambda loss: loss.odds_bound)
    if survey.asked > 1:
        yield "all answers, server alone", survey.server_loss
    yield "one answer, both together", survey.worst
    if survey.asked > 1:
        yield "all answers, both together", survey.total


def orders_part(survey: Survey) -> DossierPart:
    """Returns the part on what court orders for both databases would yield."""
    by = _mixer(survey).by
    return DossierPart(
        "What a court order for the database yields",
        [
            "From the survey's server, once it has the answers: the published survey and its entry"
            " in the register, and for each question the randomised answers of people and the"
            " blanks, in the order of random ids. No true answer was ever there. Which randomised"
            " answers are one person's is not there either. Its key is deleted with the batch.",
            f"From {by}, while the survey is open: sealed envelopes, without an address or a time,"
            " and a key that opens the outer layer of them. After it has passed on the batch: no"
            " envelope and no key.",
            "Somebody who knows from elsewhere which sealed answers are whose, such as by a device"
            " that they took, learns what stands above under “What the worst reader can conclude”"
            " for both together, and no more. A court order can make both operators run other"
            " software from then on; the same bound holds.",
        ],
    )


def exceptions_part(survey: Survey, n: int, command: str) -> DossierPart:
    """Returns the part on the delta of the claim."""
    claim = _mixer(survey).claim
    fine = "That is far below one in the number of respondents."
    return DossierPart(
        "Exceptions to the promise",
        [
            "The odds against the server alone may fail for a person with a chance of delta,"
            f" {claim.delta}. The odds against both together hold for every report, however the"
            " coins fall.",
            delta_warning(claim.loss.delta, n) or fine,
        ],
        commands=[command],
    )


def counts_part(survey: Survey) -> DossierPart:
    """Returns the part on what published counts tell."""
    return DossierPart(
        "What the published counts tell",
        [
            "Readers of the results see counts of people and blanks together, and no reports. They"
            " learn no more than the survey's server alone. The exception is the mixer itself,"
            " which knows its blanks: against it the odds “together” hold."
        ],
    )


def margins_part(planned: Planned, n: int, command: str) -> DossierPart:
    """Returns the part on what the respondents are worth."""
    heads = planned.lines[0]
    names = ("question", "figure", "respondents", "margin", "asked directly")
    kept = [heads.index(name) for name in names]
    return DossierPart(
        f"What {n:,} respondents are worth",
        ["Half the 95 % interval, for the worst share; of a mean, in percent of its range."],
        [tuple(line[at] for at in kept) for line in planned.lines],
        notes=[planned.notes[-1]],
        commands=[command],
    )


def alternatives_part(survey: Survey, planned: Planned, n: int, command: str) -> DossierPart:
    """Returns the part that compares the survey with the same one without a mixer, and with direct
    questions."""
    claim = _mixer(survey).claim.loss
    without = plan_mixer(survey.questions, odds=odds_at(claim.epsilon), n=n, local_odds=None)
    margins = {
        (row["question"], row["figure"]): cast(float, row["margin"]) for row in planned.rows[:-1]
    }
    lines: list[Sequence[str]] = [
        ("question", "figure", "with the mixer", "without a mixer", "asked directly")
    ]
    for row in without.rows:
        three = (margins[row.question, row.figure], row.alone, row.direct)
        lines.append((row.question, row.figure, *map(_margin, three)))
    return DossierPart(
        "Alternatives considered",
        [
            "Margins of the same questions without a mixer, at the same odds against the survey's"
            " server, which devices then have to keep by themselves; and of direct questions, which"
            " protect nobody:"
        ],
        lines,
        commands=[command],
    )


def risks(survey: Survey) -> list[str]:
    """Returns sentences on what a mixer does not protect; none without a mixer."""
    if not isinstance(survey.mixer, Mixer):
        return []
    by = survey.mixer.by
    return [
        f"Two parties that are one. If {by} and those who run the survey's server work together, or"
        " the mixer adds fewer blanks, the larger odds “together” hold. Nobody else can see that.",
        "Results. A mixer can leave people out or add made-up ones. Devices look whether their own"
        " sealed answers arrived; nobody can look for those of others.",
        "Recorded envelopes. Who keeps them, and can one day break the encryption, learns what both"
        " together learn.",
    ]


def _margin(half: float) -> str:
    return f"{100 * half:.1f} %" if math.isfinite(half) else "no mechanism"


def _mixer(survey: Survey) -> Mixer:
    assert isinstance(survey.mixer, Mixer)
    return survey.mixer
