"""``deniably answer``: asks a survey's questions in the terminal and sends the report."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import click

from deniably.core.errors import (
    AuthorChanged,
    BadAnswer,
    BadInvitation,
    BudgetSpent,
    DeniablyError,
    Uninvited,
)
from deniably.device.ledger import Account, Limits, Scope, share
from deniably.device.memory import StoredReport
from deniably.device.through_mixer import Arrival, mixer_of
from deniably.survey.parts import Choice, Range
from deniably.survey.questions import (
    Number,
    Point,
    Product,
    Question,
    SelectMultiple,
    VectorOfNumbers,
    offered,
)
from deniably.survey.report import is_shown
from deniably.survey.strata import Stratum, stratum_text
from deniably.survey.survey import Survey
from deniably.wording import explain
from deniably.wording.words import LANGUAGES, Words
from deniably_client.device import Cost, Device
from deniably_client.errors import (
    AskedToWait,
    InvitationUnknown,
    InvitationUsed,
    SurveyClosed,
    Unreachable,
)
from deniably_client.ledger_cli import with_limits
from deniably_client.number_input import AmbiguousNumber, parse_number
from deniably_client.receipt import Receipt
from deniably_client.refusals import refusal_text
from deniably_client.storage import Storage

T = TypeVar("T")

_SCOPES: dict[Scope, str] = {
    "survey": "memory.survey",
    "author": "memory.author",
    "overall": "memory.overall",
}


@click.command()
@click.argument("url")
@with_limits
@click.option("--digest", help="Refuse any other version of the survey than this.")
@click.option("--author", help="Refuse any other author than the one with this fingerprint.")
@click.option(
    "--language",
    type=click.Choice(LANGUAGES),
    help="Speak this language instead of the survey's.",
)
@click.option("--no-memory", is_flag=True, help="Keep nothing, and do not count what was spent.")
def answer(
    url: str,
    limits: Limits,
    digest: str | None,
    author: str | None,
    language: str | None,
    no_memory: bool,
) -> None:
    """Answer the survey at URL here in the terminal.

    Your device randomises every answer before anything is sent; the answers themselves are not sent
    and not kept. The screen is cleared afterwards. What was sent is kept, encrypted. If you answer
    a survey again, the very same report is sent. `deniably ledger` shows what all reports give
    away.
    """
    try:
        memory = None if no_memory else Storage()
        device = Device(url, memory=memory, limits=limits, digest=digest, fingerprint=author)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    words = Words(language or "en")  # until the survey says which
    try:
        if survey := _trusted(device, words):
            words = Words(language or survey.language)
            _converse(device, survey, Talk(words, bool(survey.mixer)))
    except DeniablyError as error:
        click.echo(refusal_text(error, words), err=True)
        sys.exit(1)


def _converse(device: Device, survey: Survey, talk: Talk) -> None:
    """Ask what is needed and send. A stored report goes out unchanged."""
    kept = device.kept
    if survey.mixer and kept is not None:
        _sealed_before(device, talk, kept)
    elif kept is None:
        talk.introduce(survey, device.stratum)
        _divided(device, talk)
        _invited(device, talk)
        _answer(device, talk, talk.wave(device.known))
    elif not kept.sent:
        click.echo(talk.words("script.unsent"))
        _deliver(device, talk, device.resend)
    elif survey.invited:
        talk.answered(survey)
        _deliver(device, talk, device.resend)
    elif changed := talk.changed(survey, device.known):
        _answer(device, talk, changed)
    elif changed is None:
        click.echo(talk.words("terminal.stopped"))
    else:
        _deliver(device, talk, device.resend)


def _sealed_before(device: Device, talk: Talk, kept: StoredReport) -> None:
    """Say whether the answers arrived, where the mixer has passed them on; else send the same
    envelope."""
    talk.sealed(device.survey)
    if arrival := device.arrival:
        talk.arrived(arrival, mixer_of(device.survey).by)
        if not arrival.complete:
            sys.exit(1)
        return
    if not kept.sent:
        click.echo(talk.words("script.unsent"))
    try:
        _deliver(device, talk, device.resend)
    except SurveyClosed:
        if not kept.sent:
            click.echo(talk.words("arrived.unsent"), err=True)
            sys.exit(1)
        click.echo(talk.words("arrived.later", by=mixer_of(device.survey).by))


def _divided(device: Device, talk: Talk) -> None:
    """Offer a part of the questions, where the limits do not leave enough for all."""
    if not device.survey.part:
        return
    try:
        device.cost()
    except BudgetSpent:
        whole = device.survey.asked
        part = device.take_part()
        if len(part) < whole:
            click.echo(f"\n{talk.words('part.told', count=len(part), all=whole)}")


def _invited(device: Device, talk: Talk) -> None:
    """Trade an invitation before the first question, where the survey needs one.

    The code is typed at a prompt. On the command line, other users and the shell's history could
    see it.
    """
    if not device.needs_invitation:
        return
    mixer = device.survey.mixer
    promise = talk.words("mixer.invited", by=mixer.by) if mixer else talk.words("invited.promise")
    click.echo(f"\n{promise}")
    while True:
        try:
            device.trade()
            break
        except Uninvited:
            device.invitation = talk.invitation()
        except (BadInvitation, InvitationUnknown, InvitationUsed) as error:
            click.echo(refusal_text(error, talk.words), err=True)
            device.invitation = talk.invitation()
        except AskedToWait as busy:
            click.echo(talk.words("invited.wait", count=busy.minutes), err=True)
            sys.exit(1)
        except Unreachable:
            click.echo(talk.words("invited.offline"), err=True)
            sys.exit(1)
    if not mixer:  # a code is sealed, and not traded
        click.echo(talk.words("invited.ready"))


def _answer(device: Device, talk: Talk, changed: Collection[str] = ()) -> None:
    """Show the privacy cost, ask, and send."""
    talk.spending(device.cost(changed), device.limits)
    if device.survey.mixer:
        talk.spending(device.cost(changed, "together"), device.limits, "together")
    _deliver(device, talk, lambda: _asked(device, talk, changed))


def _asked(device: Device, talk: Talk, changed: Collection[str]) -> Receipt | None:
    """Ask, and send if the respondent confirms."""
    try:
        answers = talk.ask_all(device.fresh(changed))
        return device.answer(answers, changed) if talk.confirms("terminal.send") else None
    finally:  # also after a network fault or Ctrl-C
        _wipe()


def _deliver(device: Device, talk: Talk, send: Callable[[], Receipt | None]) -> None:
    """Send, and show the receipt. An unsent report waits in the memory, if there is one."""
    try:
        receipt = _with_good_code(device, talk, send)
    except Unreachable:
        if device.memory is None:
            raise
        click.echo(talk.words("terminal.queued"), err=True)
        sys.exit(1)
    if receipt is None:
        click.echo(talk.words("terminal.stopped"))
    else:
        talk.sent(receipt, device.survey)


def _with_good_code(
    device: Device, talk: Talk, send: Callable[[], Receipt | None]
) -> Receipt | None:
    """Send. A mixer sees the code of an invitation only then: ask for another one where it refuses
    it."""
    while True:
        try:
            return send()
        except (InvitationUnknown, InvitationUsed, BadInvitation) as error:
            if not device.can_change_code:
                raise
            click.echo(refusal_text(error, talk.words), err=True)
            device.invitation = talk.invitation()
            send = device.resend


def _trusted(device: Device, words: Words) -> Survey | None:
    """Returns the survey. An author who is new at this server needs the respondent's consent."""
    try:
        return device.survey
    except AuthorChanged as changed:
        talk = Talk(words)
        known_authors = talk.words("fields.comma").join(changed.known)
        fingerprint = changed.fingerprint
        click.echo(
            talk.words(
                "terminal.author", origin=changed.origin, known=known_authors, now=fingerprint
            )
        )
        if talk.confirms("terminal.accept"):
            device.fingerprint = changed.fingerprint
            return device.survey
        click.echo(talk.words("terminal.stopped"))
        return None


def _of_mixer(survey: Survey, words: Words) -> Iterator[str]:
    """What the form's first page says of a mixer: who runs it and what it does, and how often a
    guess is right, of the survey's server alone and of both together."""
    from deniably.design.mixer_plan import answer_losses  # NumPy, for this alone
    from deniably.wording.first_page import first_page
    from deniably.wording.mixer_page import visible_from_terminal

    page = first_page(survey, words, answer_losses(survey))
    yield from (f"{page.promise} {page.doubt}", " ".join(page.cues[1:]), *page.meaning[:2])
    yield visible_from_terminal(survey, words)


class _Slip(Exception):
    """The typed text is no valid answer; the sentence says what is valid."""


@dataclass(frozen=True)
class Talk:
    """A conversation with the respondent in the terminal, in the language of ``words``."""

    words: Words
    mixed: bool = False
    """Whether the answers go through a mixer."""

    def introduce(self, survey: Survey, stratum: Stratum) -> None:
        """Shows the survey, what it reveals about a respondent, and how well that is protected."""
        words = self.words
        click.secho(f"\n{survey.title}", bold=True)
        for text in (survey.intro, survey.contact):
            if isinstance(text, str):
                click.echo(f"\n{text}")
        if survey.mixer:
            for text in _of_mixer(survey, words):
                click.echo(f"\n{text}")
        else:
            weak = explain.weak(survey.total)
            click.echo(f"\n{words.graded('terminal.promise', weak=weak)}")
            click.echo(f"{words('terminal.process')}\n\n{explain.describe_total(survey, words)}")
        if stratum:
            click.echo(f"\n{words('strata.told')} {stratum_text(stratum, words('fields.comma'))}")
        if survey.asked < len(survey.questions):
            part_of_questions = words(
                "terminal.some", count=survey.asked, all=len(survey.questions)
            )
            click.echo(f"\n{part_of_questions}")

    def ask_all(self, questions: Sequence[Question]) -> dict[str, object]:
        """Asks the questions whose conditions hold; returns answers by question name."""
        answers: dict[str, object] = {}
        hidden: set[str] = set()
        for question in questions:
            if not is_shown(question, answers, hidden):
                hidden.add(question.name)
                continue
            self._explain(question)
            answers[question.name] = self._ask(question)
        return answers

    def invitation(self) -> str:
        """Prompts for the invitation code; returns it as typed."""
        click.echo(f"\n{self.words('invited.hint')}")
        return str(click.prompt(self.words("invited.label")))

    def answered(self, survey: Survey) -> None:
        """Says that the report of a survey by invitation cannot change."""
        click.secho(f"\n{survey.title}", bold=True)
        click.echo(f"\n{self.words('memory.before')} {self.words('invited.before')}")

    def sealed(self, survey: Survey) -> None:
        """Says that what was sealed for a mixer cannot change."""
        click.secho(f"\n{survey.title}", bold=True)
        click.echo(f"\n{self.words('memory.before')} {self.words('mixer.before')}")

    def arrived(self, arrival: Arrival, by: str) -> None:
        """Says whether the survey's server received what this device sealed, from the mixer that
        ``by`` runs."""
        counts = {"count": arrival.arrived, "all": arrival.of}
        if arrival.complete:
            click.echo(self.words("arrived.all", **counts))
        else:
            click.echo(self.words("arrived.lost", by=by, **counts), err=True)

    def wave(self, known: Sequence[Question]) -> list[str]:
        """Asks which answers to ``known`` have changed since an earlier wave; returns question
        names."""
        if not known:
            return []
        click.echo(f"\n{self.words('memory.wave')}")
        return self._which(known)

    def changed(self, survey: Survey, known: Sequence[Question]) -> list[str] | None:
        """Asks which answers to ``known`` have changed since the report that this device made.

        Returns question names, none to send the very same report, or None to send nothing.
        """
        words = self.words
        click.secho(f"\n{survey.title}", bold=True)
        click.echo(f"\n{words('memory.before')} {words('memory.costs')}")
        _list([words("memory.same"), words("memory.changed"), words("memory.leave")])
        choice = _prompt(words("memory.choose"), self._one_of(3))
        if choice != 2:
            return [] if choice == 1 else None
        return self._which(known)

    def _which(self, known: Sequence[Question]) -> list[str]:
        click.echo(f"\n{self.words('memory.which')}")
        _list([question.label for question in known])
        parse = self._several(len(known), len(known))
        numbers = _prompt(self.words("memory.numbers"), parse)
        return [known[number - 1].name for number in numbers]

    def spending(self, cost: Cost, limits: Limits, account: Account = "server") -> None:
        """Shows the spent share of the device's limits in an account, before and after this
        report."""
        words = self.words
        together = account == "together"
        click.echo(f"\n{words('terminal.mixer_spent' if together else 'memory.spent')}")
        for scope, key in _SCOPES.items():
            before, after = (
                share(loss[scope], scope, limits, account) for loss in (cost.before, cost.after)
            )
            so_far = f"{words('memory.so_far')} {words('script.percent', count=before)}"
            if leaving := cost.leaving.get(scope):
                part = share(leaving.loss, scope, limits, account)
                day = words.day(leaving.day)
                so_far += f" ({words('script.until', count=part, day=day)})"
            then = f"{words('memory.after')} {words('script.percent', count=after)}"
            click.echo(f"  {words(key)}: {so_far}, {then}")
        if not together:  # what is far from any protection is no number for people
            click.echo(explain.at_most(cost.ever, "memory.bound", words))

    def sent(self, receipt: Receipt, survey: Survey) -> None:
        """Shows the receipt of a report that was sent."""
        click.echo(f"{self.words('terminal.sent')}\n\n{receipt.localised(survey, self.words)}")
        if receipt.mixer:
            click.echo(f"\n{self.words('terminal.mixer_later')}")

    def confirms(self, question: str) -> bool:
        """Asks a question; returns whether the reply is yes. Enter alone means no."""
        yes, no = self.words("terminal.yes"), self.words("terminal.no")
        reply = click.prompt(
            f"\n{self.words(question)} ({yes}/{no})", default=no, show_default=False
        )
        # English is taken in every language, because many people type it.
        return str(reply).strip().casefold() in (yes, yes[0], "y", "yes")

    def _explain(self, question: Question) -> None:
        click.secho(f"\n{question.label}", bold=True)
        if isinstance(question.hint, str):
            click.echo(question.hint)
        click.echo(explain.describe_sending(question, self.words))
        inference = explain.describe_inference(question, self.words)
        both = f"{self.words('terminal.mixer_both')} " if self.mixed else ""
        click.echo(f"{both}{inference}")
        if bounds := explain.clipped(question, self.words):
            click.echo(bounds)

    def _ask(self, question: Question) -> object:
        """Ask one question; returns its answer as ``Device.answer`` takes it."""
        match question:
            case SelectMultiple():
                return self._ticks(question)
            case Number():
                return self._number(self.words("terminal.answer"), question.range)
            case VectorOfNumbers() | Point():
                return {part.name: self._number(part.label, part.range) for part in question.parts}
            case Product():
                return {
                    part.name: self._choice(part.choices, part.label) for part in question.parts
                }
            case _:
                return self._choice(offered(question))

    def _choice(self, choices: Sequence[Choice], label: str = "") -> str:
        """Ask for a choice by its number; returns its name."""
        if label:
            click.echo(f"\n{label}")
        _list([choice.label for choice in choices])

        number = _prompt(self.words("terminal.answer"), self._one_of(len(choices)))
        return choices[number - 1].name

    def _ticks(self, question: SelectMultiple) -> list[str]:
        """Ask for several choices by their numbers; returns their names."""
        words, choices = self.words, offered(question)
        _list([choice.label for choice in choices])
        is_limited = question.most < len(choices)
        limit = words("terminal.most", count=question.most) if is_limited else words("terminal.all")
        parse = self._several(len(choices), question.most)
        numbers = _prompt(words("terminal.ticks", most=limit), parse)
        return [choices[number - 1].name for number in numbers]

    def _one_of(self, count: int) -> Callable[[str], int]:
        """Make a parser for one number from 1 to ``count``."""

        def parse(text: str) -> int:
            number = _numbered(text)
            if number is None or not 1 <= number <= count:
                raise _Slip(self.words("terminal.range", count=count))
            return number

        return parse

    def _several(self, count: int, maximum: int) -> Callable[[str], list[int]]:
        """Make a parser for up to ``maximum`` numbers from 1 to ``count``; it sorts them."""
        words = self.words

        def parse(text: str) -> list[int]:
            typed = [_numbered(part) for part in text.replace(",", " ").split()]
            # 0 stands for no tick at all, so that an empty answer can be typed.
            numbers = {number for number in typed if number is not None} - {0}
            if None in typed:
                raise _Slip(words("terminal.numbers"))
            if not numbers <= set(range(1, count + 1)):
                raise _Slip(words("terminal.choices", count=count))
            if len(numbers) > maximum:
                raise _Slip(words("question.most", count=maximum))
            return sorted(numbers)

        return parse

    def _number(self, label: str, grid: Range) -> str:
        """Ask for a number on the grid; returns it as text."""
        unit = f" ({grid.unit})" if isinstance(grid.unit, str) else ""

        def parse(text: str) -> str:
            try:
                number = parse_number(text, self.words)
                grid.position(number)
            except AmbiguousNumber:
                raise _Slip(self.words("fields.marks")) from None
            except BadAnswer:
                raise _Slip(self.words("fields.number")) from None
            return number

        number = _prompt(f"{label}{unit}", parse)
        if (counts := grid.nearest(number)) is not None:
            texts = {"text": self.words.decimal(number), "number": self.words.decimal(counts)}
            click.echo(self.words("fields.counts", **texts))
        return number


def _prompt(text: str, parse: Callable[[str], T]) -> T:
    """Prompt until the text parses."""
    while True:
        try:
            return parse(click.prompt(text, type=str))
        except _Slip as slip:
            click.echo(str(slip))


def _numbered(text: str) -> int | None:
    return int(text) if text.strip().isdecimal() else None


def _list(labels: Sequence[str]) -> None:
    click.echo()
    for number, label in enumerate(labels, start=1):
        click.echo(f"  {number:>3}  {label}")


def _wipe() -> None:
    """Clear the answers from the screen and the terminal's scrollback."""
    if sys.stdout.isatty():
        click.echo("\x1b[H\x1b[2J\x1b[3J", nl=False)  # home, clear the screen, clear the scrollback
