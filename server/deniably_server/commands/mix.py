"""``deniably mix``: runs a mixer, which takes sealed reports for the survey of another party."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import ExitStack, closing, contextmanager
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import click

from deniably.core.steering import one_line, printable
from deniably_server.commands.database import open_mixer_store, settings_options
from deniably_server.commands.mix_database import backup, delete, migrate, mixer_store_of, restore
from deniably_server.commands.serve import hold_standard_streams
from deniably_server.settings import MIXER_SETTINGS

if TYPE_CHECKING:
    from deniably_server.mixing.accepting import Examined

_MOST = 1_000_000
_LONGEST_DAYS = 365

_database = settings_options("mixer_database", of=MIXER_SETTINGS)


@click.group()
def mix() -> None:
    """Run a mixer: it takes sealed answers, and passes them on without showing who sent which.

    A mixer is run by another party than the survey's server, on another machine. Its steps are:
    offer (keys for one survey, for its author), accept (the survey that the author published),
    invite (only where you want to say who may answer), and serve, which does all the rest.
    """


for _command in (backup, restore, migrate, delete):
    mix.add_command(_command)


@mix.command()
@click.option("--address", required=True, help="Where phones will reach this mixer: https://...")
@click.option("--by", required=True, help="Who runs this mixer, as respondents should read it.")
@_database
@click.option(
    "--to",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the offer into this new file, instead of printing it.",
)
def offer(address: str, by: str, mixer_database: str, to: Path | None) -> None:
    """Make keys for one survey, and an offer for its author.

    The offer is public. The private keys stay in the mixer's database. The author names the offer
    in the survey's file and publishes it; then: deniably mix accept.
    """
    from deniably_server.mixing.offering import new_offer, offer_text

    offered = new_offer(address, by)
    if to is not None and to.exists():
        raise click.ClickException(f"{to} is there already; choose another name")
    with closing(open_mixer_store(mixer_database)) as store:
        store.keep_offer(offered)
    text = offer_text(offered.offer)
    if to is None:
        click.echo(text, nl=False)
        return
    try:
        to.write_text(text, encoding="utf-8")
    except OSError as error:
        raise click.ClickException(f"cannot write {to}: {error.strerror}") from None
    click.echo(f"{to} is the offer; give it to the author of one survey", err=True)


@mix.command()
@click.argument("url")
@settings_options("mixer_database", "mixer_room", of=MIXER_SETTINGS)
@click.option(
    "--until",
    metavar="DAY",
    help="The last day (UTC) on which envelopes are taken, such as 2026-12-24; at most 365 days"
    " from today, which is the default.",
)
@click.option("--invited", is_flag=True, help="Let only people send who have a code of yours.")
@click.option("--yes", is_flag=True, help="Do not ask.")
def accept(
    url: str, mixer_database: str, mixer_room: int, until: str | None, invited: bool, yes: bool
) -> None:
    """Accept the survey at URL, which uses an offer of this mixer.

    It checks the author's signature, the register, that the keys are those of your offer and that
    the mixer is not at the survey's own host. It works out again what the blanks protect: phones
    rely on you for that. Then it shows both odds and asks you. It warns where one person could fill
    all places; give --room as you give it to serve. The mixer may run meanwhile, and takes
    envelopes at once.

    Compare the author's number with one that the author gave you another way.
    """
    from deniably_server.mixing.accepting import examine
    from deniably_server.mixing.capacity import is_soon_full
    from deniably_server.mixing.survey_server import source_at

    with _sentences(), closing(mixer_store_of(mixer_database)) as store:
        found = examine(store, source_at(url), invited=invited)
        last = found.until if found.until and until is None else _last_day(until)
        for line in _terms(found, last):
            click.echo(one_line(line))
        if is_soon_full(found.mixed, mixer_room):
            places = "so few places" if mixer_room else "all places (--room 0)"
            click.echo(f"warning        {places} can be filled by one person: use --invited")
        if not yes:
            click.confirm(printable(f"\nMix {found.survey.name}?"), abort=True)
        new = store.accept(found.mixed, found.keys, last, found.source)
    click.echo("accepted" if new else "accepted before")
    click.echo(f"Phones reach it at {found.mixer.address}/mix/{found.survey.digest}")
    if invited:
        click.echo(f"Invite people: deniably mix invite {found.survey.name} --count 30")


def _terms(found: Examined, until: str) -> list[str]:
    """What whoever runs the mixer agrees to, a line each."""
    from deniably.core.counting import counted
    from deniably.survey.odds import odds_text
    from deniably.trust.signing import fingerprint

    survey, mixer, claim = found.survey, found.mixer, found.mixer.claim
    alone, both = odds_text(claim.loss.odds_bound), odds_text(survey.total.odds_bound)
    largest = max(question.mechanism.loss.odds_bound for question in survey.questions)
    who = "only who has a code of yours" if found.mixed.invited else "anybody"
    return [
        f"{survey.name}: {survey.title}",
        f"published at   {found.source.server}",
        f"digest         {survey.digest}",
        f"author         {fingerprint(found.author)}",
        f"mixer          {fingerprint(mixer.signing)}",
        f"run by         {mixer.by}",
        f"asks           {counted(len(survey.questions), 'question')}; you add"
        f" {mixer.blanks:,} made-up answers to each",
        f"sends          {who}, until {until}",
        f"needs          {counted(found.mixed.minimum, 'sender')} or more; with fewer, the mixer"
        f" deletes all; at most {found.mixed.most_senders:,} may send, so that the server takes the"
        " batch",
        f"server alone   odds of {alone} at most, for all answers of a person together (epsilon"
        f" {claim.epsilon}, delta {claim.delta}); worked out again: right",
        f"with you       odds of {both} for all answers together, of {odds_text(largest)} for one",
    ]


def _last_day(text: str | None) -> str:
    """The last day that is wanted. Raises UsageError for a day that has passed or is too far
    off."""
    today = datetime.now(UTC).date()
    latest = today + timedelta(days=_LONGEST_DAYS)
    try:
        day = latest if text is None else date.fromisoformat(text)
    except ValueError:
        raise click.UsageError(f"--until is {text}; write a day such as {latest}") from None
    if not today <= day <= latest:
        raise click.UsageError(f"--until is {day}; use a day from {today} to {latest}")
    return day.isoformat()


@mix.command()
@settings_options(of=MIXER_SETTINGS)
def serve(**options: str | int) -> None:
    """Run a mixer, for the surveys that it has accepted.

    It asks the server of each survey every minute whether it is closed. Then it makes one batch of
    all envelopes and of blanks, passes it on until the server has taken it, and deletes all. It
    needs no other command for that, and goes on where it was if it is stopped.
    """
    from deniably_server.errors import Conflict
    from deniably_server.guard.host_names import host_names
    from deniably_server.mixing.serving import serve_mixer
    from deniably_server.wire.listening import AddressTaken, claim

    hold_standard_streams()
    try:
        host_names(str(options["hosts"]))
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    with ExitStack() as stack:
        try:
            held = stack.enter_context(claim(str(options["host"]), int(options["port"])))
        except AddressTaken as error:
            raise click.ClickException(str(error)) from None
        store = open_mixer_store(str(options["mixer_database"]), wait=True)
        try:
            stack.enter_context(store.engine.serving())
        except Conflict as error:
            raise click.ClickException(error.why) from None
        # Before a process is forked: it must not share a connection.
        store.close()
        host, port = held.getsockname()[:2]
        where = f"[{host}]" if ":" in host else host
        click.echo(f"The mixer listens on http://{where}:{port}")
        config = {name.upper(): value for name, value in options.items()}
        serve_mixer(config | {"DATABASE": options["mixer_database"]}, [held])


@mix.command()
@click.argument("survey")
@_database
@click.option("--count", type=click.IntRange(1, _MOST), help="Number of invitations to make.")
def invite(survey: str, mixer_database: str, count: int | None) -> None:
    """Invite people to a survey.

    SURVEY is its name or its digest. Without --count, it says how many were invited. Each code is
    good for one person. It is shown only once: the database has only a keyed hash of it. The mixer
    may run meanwhile.
    """
    from deniably.trust.invitation_codes import code_in_groups

    with _sentences(), closing(mixer_store_of(mixer_database)) as store:
        digest = store.digest_of(survey)
        codes = store.invite(digest, count) if count is not None else []
        for code in codes:
            click.echo(code_in_groups(code))
        counts = store.invitations(digest)
    click.echo(f"{counts.issued:,} issued, {counts.used:,} used", err=count is not None)


@mix.command()
@_database
def doctor(mixer_database: str) -> None:
    """Say how far each survey is, and what is wrong.

    The mixer may run meanwhile. It checks the database and who may read it, whether the disk still
    tells in which order envelopes came, and whether the servers of the surveys can be reached.
    """
    from deniably_server.mixing.diagnosis import diagnose

    with closing(mixer_store_of(mixer_database)) as store:
        found = diagnose(store)
        offers = store.offers()
    for line in found.surveys:
        click.echo(one_line(line))
    click.echo(f"offers that no survey uses yet: {offers:,}")
    for line in found.wrong:
        click.echo(one_line(line), err=True)
    if found.wrong:
        raise click.ClickException(f"{len(found.wrong)} found; see above")
    click.echo("all is well")


@contextmanager
def _sentences() -> Generator[None]:
    """Shows a refusal as a sentence, with exit status 1."""
    from deniably.core.errors import DeniablyError
    from deniably_server.errors import Refusal

    try:
        yield
    except Refusal as error:
        raise click.ClickException(error.why) from None
    except DeniablyError as error:
        raise click.ClickException(printable(str(error))) from None
