"""Finds other ways to ask a survey, and changes ("mends") after which devices accept one that they
refuse.

Each is a list of operations on the author's document. Each is compiled as it would be published,
and its figures are those of ``deniably plan``. What does not compile is left out, and so is what
devices would refuse; but the way in which the survey is asked now is always there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import ROUND_FLOOR, Decimal
from fractions import Fraction
from functools import cached_property
from math import inf, log, prod
from typing import Any, Literal, cast

import msgspec

from deniably.authoring.checking import dearest, refusals
from deniably.authoring.compile_question import sizes_together, together_question
from deniably.authoring.compiling import compile_written
from deniably.authoring.reading import read, typed
from deniably.authoring.written import (
    Choosing,
    WrittenProduct,
    WrittenQuestion,
    WrittenSurvey,
    WrittenYesNo,
)
from deniably.core.errors import BadSurvey, Problem
from deniably.design.mixer_plan import answer_losses
from deniably.design.planning import PlanRow, estimable_groups, plan_figures
from deniably.device.ledger import Account, Limits
from deniably.estimation.figures import Group
from deniably.mechanisms.subset_selection import MOST_CHOICES
from deniably.results.crosstabs import is_crossable
from deniably.survey.guessing_rates import Rate, guessing, rate_text
from deniably.survey.mixer import MOST_ODDS, Mixer
from deniably.survey.questions import MOST_PARTS, Product
from deniably.survey.spending import privacy_spent
from deniably.survey.survey import EPSILON_LIMIT, Survey
from deniably.wording.mixer_page import mixer_rates
from deniably.wording.words import Words

Document = Mapping[str, Any]
"""A survey as its author writes it."""
WayId = Literal["own", "all", "some", "joint", "mixer"]
"""The ways to ask, as ``Way`` explains them."""
Margins = dict[str, float]
"""The widest margin of each question, as ``deniably plan`` gives it."""

MOST_MENDS = 3
"""The maximum of mends that are shown."""
STOPS = tuple(map(Decimal, ("2", "2.5", "3", "4", "5", "7", "10", "14", "20", "30", "55", "90")))
"""The odds that a mend may set: those at which the studio's slider stops."""
_BUDGETS = tuple(map(Decimal, ("5", "4", "3", "2", "1", "0.5")))
"""The epsilons that a mend may set for all questions together."""
_ROOMY = Decimal(4)
"""The epsilon of a mend with one for all questions: 80 of 100, so that something is left."""
_LEAST_JOINT = Decimal("0.7")  # the lowest stop of the slider
_HUNDREDTH, _MILLIONTH = Decimal("0.01"), Decimal("0.000001")
_PRIVACY = ("epsilon", "odds", "coins")
_SHARED = ("budget", "mixer")
"""The keys of a survey that state one protection for all questions together."""
MIXER_ODDS = Decimal(3)
"""The odds of a mixer that a way sets for all answers, against the survey's server alone."""
# Logarithms of odds are compared with epsilons that were rounded to a double.
_CLOSE = 1e-9
_TOO_MUCH = (
    "the mixer and the survey's server together would learn more than devices allow; ask fewer"
    " questions"
)
_LIMIT = Fraction(EPSILON_LIMIT)


class Operation(msgspec.Struct, frozen=True):
    """A change of a document: a key gets a value, or is removed where the value is None.

    ``question`` is the name of the question that has the key, None for a key of the survey. Without
    a ``key``, the question itself is removed.
    """

    question: str | None
    key: str | None
    value: Any = None


class Together(msgspec.Struct, frozen=True):
    """How many of 100 guesses are right if a mixer and the survey's server work together.

    ``one`` is about a single answer (the lowest and the highest rate), ``all_answers`` about all
    answers together, and ``worst`` about all with the luckiest reports.
    """

    one: tuple[Rate, Rate]
    all_answers: Rate
    worst: Rate


class Way(msgspec.Struct, frozen=True):
    """One of five designs of a survey.

    Each answer has its ``own`` protection, ``all`` answers share one, each device draws ``some`` of
    the questions, several questions are answered in one ``joint`` report, or answers travel through
    a ``mixer``: this is its ``id``.
    ``chosen`` is whether the survey has this design now. ``note`` says what people do, and ``lost``
    what the author gives up. ``used`` is the privacy that is spent, in hundredths of what devices
    allow. Three fields say how many of 100 guesses are right: ``one`` about a single answer (the
    lowest and the highest rate), ``all_answers`` about all answers together, and ``worst`` with the
    luckiest reports. With a mixer these are about the survey's server alone; ``together`` has those
    of server and mixer, and is None for other ways. ``crosstabs`` says whether cross-tables are
    possible, and ``crossed`` of which answers.
    """

    id: WayId
    label: str
    chosen: bool
    note: str
    lost: str
    used: int
    margins: Margins
    one: tuple[Rate, Rate]
    all_answers: Rate
    worst: Rate
    crosstabs: bool
    crossed: str
    operations: list[Operation]
    together: Together | None = None


class Mend(msgspec.Struct, frozen=True):
    """A change of a survey that devices refuse, after which they accept it.

    ``used`` is the privacy that is then spent, in hundredths of what devices allow, and ``margins``
    are the margins then.
    """

    label: str
    operations: list[Operation]
    used: int
    margins: Margins


def changed(document: Document, operations: Sequence[Operation]) -> dict[str, Any]:
    """Returns the document after the operations; ``document`` itself is not changed.

    Raises ValueError where no question has the name in an operation.

    >>> changed({"title": "A", "questions": []}, [Operation(None, "title", "B")])
    {'title': 'B', 'questions': []}
    """
    found = dict(document)
    for each in operations:
        if each.question is None:
            assert each.key is not None
            found = _with(found, each.key, each.value)
            continue
        questions = [dict(one) for one in cast(Sequence[Document], found["questions"])]
        index = [one["name"] for one in questions].index(each.question)
        if each.key is None:
            del questions[index]
        else:
            questions[index] = _with(questions[index], each.key, each.value)
        found["questions"] = questions
    return found


def _with(group: Document, key: str, value: object) -> dict[str, Any]:
    rest = {each: group[each] for each in group if each != key}
    return rest if value is None else {**group, key: value}


def planned_groups(
    survey: Survey, *, n: int | None = None, margin: float | None = None
) -> list[tuple[Group, PlanRow]]:
    """Returns each group of figures that the results can show, with its plan for ``n`` respondents
    or for a ``margin``."""
    groups = [group for question in survey.questions for group in estimable_groups(question)]
    return list(zip(groups, plan_figures(survey, n=n, margin=margin), strict=True))


def widest_margins(survey: Survey, n: int) -> Margins:
    """Returns the widest margin of each question with ``n`` respondents, by the question's name.

    For a product question, which asks several small questions in one joint report, the small
    questions have margins of their own, by their names.
    """
    products = {each.name for each in survey.questions if isinstance(each, Product)}
    found: Margins = {}
    for group, row in planned_groups(survey, n=n):
        is_part = row.question in products and group.part is not None
        name = group.part.name if is_part and group.part else row.question
        found[name] = max(found.get(name, 0.0), row.plan.margin)
    return found


# --- ways -------------------------------------------------------------------------------------


def ways(document: Document, survey: Survey, n: int, offer: object = None) -> list[Way]:
    """Returns the possible designs of a survey: ``document``, which compiles to ``survey``.

    Designs other than the present one spend about as much privacy as the survey does now, and at
    most what devices allow. One with a mixer is there if the document has one, or if a mixer's
    ``offer`` is given. It spends at most odds of 3 against the survey's server alone. Margins are
    those of ``n`` respondents.
    """
    draft = _Draft(document, survey)
    return [
        _way(id_, way, id_ == draft.way, operations, n)
        for id_, operations in _ways(draft, offer)
        if (way := draft.compiled(operations)) and (id_ == draft.way or not refusals(way))
    ]


def mixer_refusals(document: Document, survey: Survey, offer: object) -> list[Problem]:
    """Returns why answers to a survey cannot travel through the mixer that made an ``offer``; an
    empty list if they can. ``document`` compiles to ``survey``."""
    try:
        through = compile_written(
            *typed(changed(document, _Draft(document, survey).through_mixer(offer)))
        )[0]
    except BadSurvey as error:
        return list(error.problems)
    return [Problem("$.mixer", _TOO_MUCH)] if refusals(through) else []


_Label = Callable[[Survey], str]
"""The words for a way or a mend, from the survey that it gives."""


def _ways(draft: _Draft, offer: object) -> Iterator[tuple[WayId, list[Operation]]]:
    several = len(draft.names) > 1
    apart: WayId = "joint" if draft.has_products else "own"  # what is joined stays joined
    each = [*draft.without_shared(), *draft.each_at(draft.share)] if draft.shared else []
    yield apart, each
    if several or draft.way == "all":
        yield "all", [] if draft.way == "all" else draft.within("split")
    if several:
        yield "some", [] if draft.way == "some" else draft.within("sample")
    joined = draft.joinable()
    if apart == "own" and len(joined) > 1:
        if draft.way == "joint":
            yield "joint", []
        elif share := draft.share_of(joined):  # none is left where the other questions spend it all
            yield "joint", draft.join(joined, share)
    if draft.way == "mixer":
        yield "mixer", []
    elif offer is not None:
        yield "mixer", draft.through_mixer(offer)


def _way(id_: WayId, survey: Survey, chosen: bool, operations: list[Operation], n: int) -> Way:
    crossed = _crossed(survey)
    one, all_answers, worst = _guessed(survey)
    return Way(
        id=id_,
        label=_WAYS[id_](survey),
        chosen=chosen,
        note=_through(survey.mixer) if isinstance(survey.mixer, Mixer) else _NOTES[id_],
        lost=_lost(id_, survey),
        used=privacy_spent(survey.server_loss),
        margins=widest_margins(survey, n),
        one=one,
        all_answers=all_answers,
        worst=worst,
        crosstabs=bool(crossed),
        crossed=crossed or "You cannot see how the answers to two questions go together.",
        operations=operations,
        together=conspiring(survey),
    )


def conspiring(survey: Survey) -> Together | None:
    """Returns how well a mixer and the survey's server guess together; None without a mixer."""
    if not survey.mixer:
        return None
    rates = guessing(survey)
    one = rate_text(rates.lowest), rate_text(rates.highest)
    return Together(one, rate_text(rates.together), rate_text(rates.worst))


def _guessed(survey: Survey) -> tuple[tuple[Rate, Rate], Rate, Rate]:
    """The rates of one answer, of all, and of the luckiest guesser; with a mixer those of the
    survey's server alone, which hold for the luckiest, too."""
    if survey.mixer:
        mixed = mixer_rates(survey, answer_losses(survey))
        every = rate_text(mixed.all)
        return (rate_text(min(mixed.one)), rate_text(max(mixed.one))), every, every
    rates = guessing(survey)
    one = rate_text(rates.lowest), rate_text(rates.highest)
    return one, rate_text(rates.together), rate_text(rates.worst)


def _of_own(survey: Survey) -> str:
    if _several(survey):
        return "Everybody answers all, each with its own protection"
    return "Everybody answers it, with its own protection"


def _of_all(survey: Survey) -> str:
    shared = "Everybody answers all, with one protection for all"
    return shared if _several(survey) else "Everybody answers it"


def _of_some(survey: Survey) -> str:
    return f"Each device draws {survey.asked} of the {len(survey.questions)}"


def _of_joint(count: int) -> _Label:
    words = ("Two", "Three", "Four", "Five", "Six", "Seven", "Eight")
    return lambda _: f"{words[count - 2]} questions on one page, as one report"


def _of_products(survey: Survey) -> str:
    products = [each for each in survey.questions if isinstance(each, Product)]
    return _of_joint(sum(len(each.parts) for each in products[:1]))(survey)


def _of_mixer(_: Survey) -> str:
    return "With a mixer"


def _through(mixer: Mixer) -> str:
    return (
        f"Answers travel sealed through {mixer.by}, which cannot read them. When you close the"
        f" survey, it adds {mixer.blanks:,} made-up answers to each question, removes what shows"
        " who sent what, and passes all on. The results are corrected for the made-up answers."
    )


_WAYS: Mapping[WayId, _Label] = {
    "own": _of_own,
    "all": _of_all,
    "some": _of_some,
    "joint": _of_products,
    "mixer": _of_mixer,
}
_NOTES: Mapping[WayId, str] = {
    "own": "As in any questionnaire. You set the protection at each question.",
    "all": "As in any questionnaire. One slider sets how much is spent, and each question has the"
    " same part of it.",
    "some": "You never learn who was asked what.",
    "joint": "They are answered on one page, and are sent as one with one protection.",
}


def _several(survey: Survey) -> bool:
    return len(survey.questions) > 1


def _lost(id_: WayId, survey: Survey) -> str:
    """What this way gives up; empty where it gives up nothing."""
    asked, count = survey.asked, len(survey.questions)
    match id_:
        case "all" if count > 1:
            return "You cannot protect one answer more than another."
        case "some":
            one, both = Fraction(asked, count), Fraction(asked * (asked - 1), count * (count - 1))
            pairs = f", and each pair of {_in(both)}" if both else ""
            return f"Each question is asked of {_in(one)} people{pairs}."
        case "joint":
            return (
                "The editor can no longer change the words of these questions. Only “Undo” makes"
                " them single questions again."
            )
        case "mixer":
            return (
                "There are no results while it is open. Answers travel apart, so that nobody can"
                " put them together again: you cannot compare groups."
            )
        case _:
            return ""


def _in(part: Fraction) -> str:
    return f"{part.numerator} in {part.denominator}"


def _crossed(survey: Survey) -> str:
    """Which cross-tables there can be; empty where there are none."""
    joined = any(isinstance(each, Product) for each in survey.questions)
    apart = survey.asked == 1 or survey.mixer
    crossable = 0 if apart else sum(map(is_crossable, survey.questions))
    see, together = "You can see how", "go together"
    sentences = [f"{see} the answers in the one report {together}."] if joined else []
    if crossable > 1:
        some = "two of the questions" if crossable == 2 else f"any two of {crossable} questions"
        which = "two questions" if crossable == len(survey.questions) else some
        drawn = ", from those who are asked both" if survey.asked < len(survey.questions) else ""
        sentences.append(f"{see} the answers to {which} {together}{drawn}.")
    return " ".join(sentences)


# --- mends ------------------------------------------------------------------------------------


def mends(document: Document, survey: Survey, n: int) -> list[Mend]:
    """Returns at most three changes, after each of which devices would accept the survey.

    The list is empty where they accept it as it is. Margins are those of ``n`` respondents.
    """
    if not refusals(survey):
        return []
    draft = _Draft(document, survey)
    found: list[Mend] = []
    # Of each kind the first that devices accept.
    for candidates in (_draw, _protect, _promise_more, _leave_out, _join):
        for label, operations in candidates(draft):
            compiled = draft.compiled(operations)
            if compiled is None or refusals(compiled):
                continue
            used, margins = privacy_spent(compiled.server_loss), widest_margins(compiled, n)
            found.append(Mend(label(compiled), operations, used, margins))
            break
        if len(found) == MOST_MENDS:
            break
    return found


_Candidate = tuple[_Label, list[Operation]]


def _draw(draft: _Draft) -> Iterator[_Candidate]:
    """Each device draws some of the questions."""
    if len(draft.names) > 1 and draft.way != "mixer":
        yield _of_some, draft.within("sample", _ROOMY)


def _protect(draft: _Draft) -> Iterator[_Candidate]:
    """The next stop down, for all questions that give away more than it."""
    budget = draft.document.get("budget")
    if budget is not None:
        for epsilon in _BUDGETS:
            if epsilon < budget["epsilon"]:
                yield _protected, [Operation(None, "budget", {**budget, "epsilon": epsilon})]
        return
    for odds in reversed(STOPS):
        if odds <= draft.most_odds and draft.may_fit(log(odds)):
            yield (
                _protected,
                [
                    operation
                    for question, epsilon in draft.epsilons.items()
                    if epsilon > log(odds) + _CLOSE
                    for operation in draft.at_odds(question, odds)
                ]
                + draft.less_to_server(),
            )


def _protected(survey: Survey) -> str:
    rate = rate_text(guessing(survey).highest)
    return f"Protect every answer more: a guess is right at most {rate} of 100 times"


def _promise_more(draft: _Draft) -> Iterator[_Candidate]:
    """A mixer that lets the survey's server learn less."""
    if operations := draft.less_to_server():
        yield _promised, operations


def _promised(survey: Survey) -> str:
    rate = rate_text(mixer_rates(survey, {}).all)
    return f"Let the survey’s server learn less: it guesses right at most {rate} of 100 times"


def _leave_out(draft: _Draft) -> Iterator[_Candidate]:
    """The survey without its dearest question."""
    question = dearest(draft.survey)
    if len(draft.names) > 1 and question.name in draft.names:
        yield lambda _: f"Leave out “{question.label}”", [Operation(question.name, None)]


def _join(draft: _Draft) -> Iterator[_Candidate]:
    """The questions that have yes and no as answers, as one report."""
    joined = [each for each in draft.joinable() if isinstance(each, WrittenYesNo)]
    if len(joined) < 2 or draft.shared:
        return
    own = sum(draft.epsilons[each.name] for each in joined)
    room = float(_ROOMY) - sum(draft.epsilons.values()) + own
    epsilon = _down(min(own, room), _HUNDREDTH)
    if epsilon >= _LEAST_JOINT:
        yield _of_joint(len(joined)), draft.join(joined, epsilon)


# --- drafts -----------------------------------------------------------------------------------


class _Draft:
    """A document that is valid, with the survey that it compiles to."""

    def __init__(self, document: Document, survey: Survey) -> None:
        self.document, self.survey = document, survey

    @cached_property
    def written(self) -> WrittenSurvey:
        """The document as typed values."""
        return read(self.document)[0]

    @cached_property
    def names(self) -> set[str]:
        """The names of the questions as they are written."""
        return {question.name for question in self.written.questions}

    @cached_property
    def epsilons(self) -> dict[str, float]:
        """What each question gives away."""
        return {each.name: each.mechanism.loss.epsilon for each in self.survey.questions}

    @cached_property
    def has_products(self) -> bool:
        """Whether some questions are written as one report."""
        return any(isinstance(each, WrittenProduct) for each in self.written.questions)

    @cached_property
    def way(self) -> WayId:
        """The way in which the survey is asked now."""
        if self.survey.mixer:
            return "mixer"
        questions = self.survey.questions
        if self.survey.asked < len(questions):
            return "some"
        if "budget" not in self.document:
            return "joint" if self.has_products else "own"
        joint = any(isinstance(each, Product) for each in questions) and not self.has_products
        return "joint" if joint else "all"

    @property
    def shared(self) -> bool:
        """Whether one protection is stated for all questions together."""
        return any(key in self.document for key in _SHARED)

    @property
    def most_odds(self) -> float:
        """The largest local odds that a question may have."""
        return MOST_ODDS if self.way == "mixer" else inf

    @property
    def share(self) -> float:
        """The epsilon that each question has where all have the same."""
        return float(self.whole) / len(self.names)

    @property
    def whole(self) -> Decimal:
        """The epsilon of all that is asked, at most what devices allow; with a mixer what the
        survey's server alone may learn."""
        budget = self.document.get("budget")
        own = self.survey.server_loss.epsilon if budget is None else budget["epsilon"]
        return _down(min(own, int(EPSILON_LIMIT)), _HUNDREDTH)

    def compiled(self, operations: Sequence[Operation]) -> Survey | None:
        """The survey after the operations; None where it is not valid."""
        if not operations:
            return self.survey
        try:
            # The operations are of this module, and keep the form that the document has.
            return compile_written(*typed(changed(self.document, operations)))[0]
        except BadSurvey:
            return None

    def within(self, spend: str, epsilon: Decimal | None = None) -> list[Operation]:
        """One epsilon for all questions, by default what is spent now."""
        return [
            *self.without_shared(),
            _budget(epsilon or self.whole, spend),
            *self.without_own_privacy(),
        ]

    def through_mixer(self, offer: object) -> list[Operation]:
        """Through the mixer that made an offer, with its usual local odds for each question."""
        return [
            *self.without_shared(),
            Operation(None, "mixer", {"offer": offer, **self._promise}),
            *self.without_own_privacy(),
            *self._without_early_results(),
        ]

    def less_to_server(self) -> list[Operation]:
        """Smaller odds for a mixer whose claim is more than devices accept; else nothing."""
        if self.way != "mixer" or self.survey.server_loss.at_most_epsilon(_LIMIT):
            return []
        stated = cast(Document, self.document["mixer"])
        kept = {key: stated[key] for key in stated if key not in ("epsilon", "blanks")}
        return [Operation(None, "mixer", {**kept, "odds": MIXER_ODDS})]

    @property
    def _promise(self) -> dict[str, Decimal]:
        """What the survey's server alone may learn through a mixer: at most what it does now."""
        now = self.survey.total.epsilon
        if log(MIXER_ODDS) <= now + _CLOSE:
            return {"odds": MIXER_ODDS}
        return {"epsilon": _down(now, _HUNDREDTH)}

    def _without_early_results(self) -> Iterator[Operation]:
        """No results while it is open, and no whole reports: a mixer passes all on at the end."""
        rules = self.written.results
        if rules.while_open or rules.reports == "public":
            stated = cast(Document, self.document["results"])
            kept = {key: stated[key] for key in stated if key not in ("while_open", "reports")}
            yield Operation(None, "results", kept or None)

    def without_shared(self) -> Iterator[Operation]:
        """Removes the protection that is stated for all questions together."""
        yield from (Operation(None, key) for key in _SHARED if key in self.document)

    def each_at(self, epsilon: float) -> Iterator[Operation]:
        """Each question at the stop of the slider that gives away as much, or a little less; below
        the lowest stop, with this epsilon."""
        stops = [stop for stop in STOPS if log(stop) <= epsilon + _CLOSE]
        key, value = ("odds", stops[-1]) if stops else ("epsilon", _down(epsilon, _HUNDREDTH))
        for question in cast(Sequence[Document], self.document["questions"]):
            yield from (
                Operation(question["name"], own)
                for own in _PRIVACY
                if own in question and own != key
            )
            yield Operation(question["name"], key, value)

    def without_own_privacy(self) -> Iterator[Operation]:
        """Removes what each question states of its own privacy."""
        for question in cast(Sequence[Document], self.document["questions"]):
            for key in _PRIVACY:
                if key in question:
                    yield Operation(question["name"], key)

    def at_odds(self, name: str, odds: Decimal) -> Iterator[Operation]:
        """A question's privacy at these odds, in the key that states it."""
        (question,) = (
            each
            for each in cast(Sequence[Document], self.document["questions"])
            if each["name"] == name
        )
        if "epsilon" in question:
            yield Operation(name, "epsilon", _down(log(odds), _HUNDREDTH))
            return
        if "coins" in question:
            yield Operation(name, "coins")
        yield Operation(name, "odds", odds)

    def may_fit(self, epsilon: float) -> bool:
        """Whether devices may accept the survey if no question gives away more than this; roughly,
        to compile only what is worth it."""
        at_once = self.survey.total if self.survey.count else self.survey.history
        # With memos a device pays for all waves at once.
        memos = at_once.epsilon / self.survey.total.epsilon
        most = sorted(min(each, epsilon) for each in self.epsilons.values())[-self.survey.asked :]
        account: Account = "together" if self.way == "mixer" else "server"
        return memos * sum(most) <= Limits().of_scope("survey", account) + _CLOSE

    def joinable(self) -> list[WrittenQuestion]:
        """The questions that fit into one report, from the first on."""
        decide = {
            each.show_if.question
            for each in self.written.questions
            if isinstance(each, Choosing) and each.show_if
        }
        found: list[WrittenQuestion] = []
        for question in self.written.questions:
            sizes = sizes_together([*found, question])
            fits = sizes and prod(sizes) <= MOST_CHOICES and len(sizes) <= MOST_PARTS
            if fits and question.name not in decide:
                found.append(question)
        return found

    def share_of(self, joined: Sequence[WrittenQuestion]) -> Decimal:
        """The epsilon that some questions have together, as the survey spends it now."""
        if self.shared:
            return _down(float(self.whole) * len(joined) / len(self.names), _HUNDREDTH)
        own = sum(self.epsilons[each.name] for each in joined)
        room = int(EPSILON_LIMIT) - sum(self.epsilons.values()) + own
        return _down(max(0, min(own, room)), _HUNDREDTH)

    def join(self, joined: Sequence[WrittenQuestion], epsilon: Decimal) -> list[Operation]:
        """Asks some questions as one, with this epsilon for all of them."""
        product = together_question(joined, Words(self.written.language))
        one = _as_written(product, self._free_name(product.name)) | {"epsilon": epsilon}
        names = {each.name for each in joined}
        # Finer than hundredths, so that the parts lose next to nothing of the whole.
        each = _down(float(self.whole) / len(self.names), _MILLIONTH) if self.shared else None
        questions: list[Document] = []
        for question in cast(Sequence[Document], self.document["questions"]):
            if question["name"] not in names:
                questions.append(question if each is None else _at_epsilon(question, each))
            elif one not in questions:
                questions.append(one)
        return [*self.without_shared(), Operation(None, "questions", questions)]

    def _free_name(self, name: str) -> str:
        while name in self.names:
            name = f"{name}_"
        return name


def _at_epsilon(question: Document, epsilon: Decimal) -> Document:
    """A question with this privacy, and none that it states in another way."""
    return {key: question[key] for key in question if key not in _PRIVACY} | {"epsilon": epsilon}


def _budget(epsilon: Decimal, spend: str) -> Operation:
    return Operation(None, "budget", {"epsilon": epsilon, "spend": spend})


def _as_written(product: WrittenProduct, name: str) -> dict[str, Any]:
    """A product as an author writes it."""
    parts = [
        {
            "name": part.name,
            "label": part.label,
            "choices": [msgspec.to_builtins(choice) for choice in part.choices],
        }
        for part in product.parts
    ]
    return {"name": name, "type": product.type, "label": product.label, "parts": parts}


def _down(epsilon: float | Decimal, step: Decimal) -> Decimal:
    """Rounded down, in the shortest spelling."""
    found = Decimal(epsilon).quantize(step, rounding=ROUND_FLOOR)
    return found.quantize(Decimal(1)) if found == found.to_integral() else found.normalize()
