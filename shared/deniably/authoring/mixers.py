"""Compiles an author's mixer: reads its offer and finds the blanks for the wanted odds (SPEC 4.8).

Needs NumPy, for the blanks.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from deniably.authoring.key_types import WrittenMixer, WrittenOffer
from deniably.authoring.written import WrittenQuestion, WrittenSurvey
from deniably.core.errors import BadSignature, BadSurvey, Problem
from deniably.core.exponential import at_most_exp
from deniably.core.loss import Loss
from deniably.design.blanks import HiddenPair, least_blanks
from deniably.design.mixer_claim import claimed_epsilon, keeps_claim
from deniably.design.mixer_plan import DELTA, LOCAL_ODDS
from deniably.survey.mixer import APART, MixedClaim, Mixer, check_hidden, usual_length
from deniably.survey.odds import odds_text
from deniably.survey.parts import odds_allowed
from deniably.survey.privacy import Privacy, to_decimal_text
from deniably.survey.survey import Survey
from deniably.trust.mixer_offer import MixerOffer, read_offer

NOBODY = (
    "04"
    "d35de49c9692aae6243ba5dd6b14f7e0be5d72a11354f1340ae4d40467a80bb5"
    "28cc0ae50dcfdf5e431ed2f1e9702b6c3a3bb2e35acc7d6d1f0353680b4d6b4c"
)
"""A point of P-256 that stands for the server's key in a draft without one. Its ``x`` is the
SHA-256 of "deniably nobody's key 2", so nobody has the private half."""
_PLACES = 10**4
"""Of the epsilon of a claim that an author states as odds."""
_ROOM = 0.99
"""A mixer may bound delta a little higher than this library does, and must not refuse for it."""
_LOCAL_PLACES = 10**12


def mixer_problems(survey: WrittenSurvey) -> Iterator[Problem]:
    """Yields the problems of a survey's mixer: what does not go with it, an offer that is not
    signed, and odds that are not stated once."""
    mixer = survey.mixer
    if mixer is None:
        return
    stated = {
        "waves": survey.waves,
        "strata": survey.strata,
        "ask": None,  # in a budget alone
        "part": survey.part,
        "invited": survey.invited,
        "results.while_open": survey.results.while_open,
        "results.reports": survey.results.reports == "public",
    }
    for key, mend in APART.items():
        if stated[key]:
            yield Problem(f"$.{key}", f"a survey with a mixer {mend}")
    if survey.budget:
        yield Problem(
            "$.budget",
            "with a mixer each question has local odds of its own, 8 unless it says otherwise, and"
            " the mixer's odds are for all together; leave out budget",
        )
    yield from _offer_problems(mixer)
    yield from _odds_problems(mixer)


def _offer_problems(mixer: WrittenMixer) -> Iterator[Problem]:
    if isinstance(mixer.offer, str):
        yield Problem(
            "$.mixer.offer",
            f"offer names the file “{mixer.offer}”, which is not read here: “deniably publish” and"
            " “deniably check” read it beside the survey's file; or write what is in it",
        )
        return
    try:
        _offer(mixer.offer)
    except BadSignature as error:
        yield Problem("$.mixer.offer", str(error))


def _odds_problems(mixer: WrittenMixer) -> Iterator[Problem]:
    numbers = [number for number in (mixer.odds, mixer.epsilon) if number is not None]
    if len(numbers) != 1:
        yield Problem(
            "$.mixer",
            "state once what the survey's server alone may learn of all answers together, as odds"
            " or epsilon",
        )
        return
    try:
        if mixer.odds is not None and not odds_allowed(mixer.odds.exact):
            yield Problem("$.mixer.odds", "use odds from about 1.0101 to about 22026")
        _target(mixer)
        MixedClaim(epsilon="1", delta=_delta(mixer))
    except (ValueError, ZeroDivisionError) as error:
        yield Problem("$.mixer", str(error))


def local_privacy(question: WrittenQuestion) -> Privacy:
    """Returns a question's privacy in a survey with a mixer: as it says, or local odds of 8.

    Where no mechanism is calibrated by these odds, they are an epsilon, rounded down.
    """
    if question.promised:
        return question.privacy
    privacy = Privacy(odds=LOCAL_ODDS)
    try:
        question.mechanism_for(privacy)
    except ValueError:
        epsilon = Fraction(int(Loss(LOCAL_ODDS).epsilon * _LOCAL_PLACES), _LOCAL_PLACES)
        return question.within(epsilon)
    return privacy


def mixer_for(written: WrittenMixer, survey: Survey) -> tuple[Mixer, list[str]]:
    """Returns the mixer of a ``survey``, which was compiled without one, and notes for the author.

    Raises BadSurvey where blanks that are stated are too few, or where no number is enough.
    """
    assert isinstance(written.offer, WrittenOffer)
    offer, target = _offer(written.offer), _target(written)
    claim = MixedClaim(epsilon=to_decimal_text(target), delta=_delta(written))
    try:
        check_hidden(survey.questions)
        mixer = Mixer(
            address=offer.address,
            by=offer.by,
            key=offer.key,
            signing=offer.signing,
            open=written.open or NOBODY,
            length=usual_length(survey.questions),
            blanks=_blanks(written, survey, claim),
            claim=claim,
        )
    except ValueError as error:
        if isinstance(error, BadSurvey):
            raise
        raise BadSurvey([Problem("$.mixer", str(error))]) from None
    return mixer, _notes(mixer, survey)


def has_key(survey: Survey) -> bool:
    """Returns whether the server of a survey with a mixer has a key, so that it can be signed and
    published. True for a survey without a mixer."""
    return not (isinstance(survey.mixer, Mixer) and survey.mixer.open == NOBODY)


def require_key(survey: Survey) -> None:
    """Raises BadSurvey for a survey with a mixer whose server has no key yet."""
    if not has_key(survey):
        raise BadSurvey(
            [
                Problem(
                    "$.mixer.open",
                    "the key of envelopes of the survey's server is missing, so nobody could read"
                    " the answers; write it as open",
                )
            ]
        )


def _blanks(written: WrittenMixer, survey: Survey, claim: MixedClaim) -> int:
    """Those that are stated, or the fewest for the claim. Raises BadSurvey."""
    if _wanted(written).covers(survey.total):
        raise BadSurvey(
            [
                Problem(
                    "$.mixer",
                    f"the local odds of all questions together are"
                    f" {odds_text(survey.total.odds_bound)}, so they keep this without a mixer;"
                    " state smaller odds for the mixer, or leave it out",
                )
            ]
        )
    pairs = [HiddenPair.of(question.mechanism) for question in survey.questions]
    if written.blanks is not None and keeps_claim(pairs, written.blanks, claim, _ROOM):
        return written.blanks
    try:
        least = least_blanks(pairs, claimed_epsilon(claim), _ROOM * float(claim.loss.delta))
    except ValueError as error:
        raise BadSurvey([Problem("$.mixer", str(error))]) from None
    if written.blanks is not None:
        raise BadSurvey(
            [
                Problem(
                    "$.mixer.blanks",
                    f"{written.blanks:,} blanks do not keep this; write {least:,} or more, or leave"
                    " out blanks",
                )
            ]
        )
    return least


def _wanted(written: WrittenMixer) -> Privacy:
    """What the server alone may learn, exactly as the author states it."""
    if written.epsilon is not None:
        return Privacy(epsilon=written.epsilon.exact)
    assert written.odds is not None
    return Privacy(odds=written.odds.exact)


def _target(written: WrittenMixer) -> Fraction:
    """The epsilon of the claim: of odds their logarithm, rounded down to four decimals.

    Raises ValueError where it is not from 0.01 to 10.
    """
    wanted = _wanted(written)
    if wanted.odds is None:
        assert wanted.epsilon is not None
        return wanted.epsilon
    odds = wanted.odds
    steps = int(Loss(odds).epsilon * _PLACES)
    # A logarithm in floats may be one step off.
    while _above(steps, odds):
        steps -= 1
    return Fraction(steps, _PLACES)


def _above(steps: int, odds: Fraction) -> bool:
    """Whether e^(steps / 10,000) is above the odds; it is never equal to them."""
    return steps > 0 and at_most_exp(odds, Fraction(steps, _PLACES))


def _delta(written: WrittenMixer) -> str:
    delta = Fraction(str(DELTA)) if written.delta is None else written.delta.exact
    return to_decimal_text(delta)


def _offer(written: WrittenOffer) -> MixerOffer:
    """Raises BadSignature where it is none, or not signed by its mixer."""
    members = ("address", "by", "key", "signing", "signature")
    return read_offer({name: getattr(written, name) for name in members})


def _notes(mixer: Mixer, survey: Survey) -> list[str]:
    claim, both = mixer.claim, odds_text(survey.total.odds_bound)
    alone = odds_text(claim.loss.odds_bound)
    notes = [
        f"mixer: {mixer.blanks:,} blanks for each question keep odds {alone} (epsilon"
        f" {claim.epsilon}, delta {claim.delta}) for all answers together against the server alone."
        f" If mixer and server work together, they are {both}"
    ]
    if mixer.open == NOBODY:
        notes.append(
            "mixer.open: the key of the survey's server is missing. Without it the survey can be"
            " checked and planned, but neither signed nor published"
        )
    return notes
