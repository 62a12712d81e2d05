"""``deniably register``: verifies a server's public register and compares copies of it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import cast
from urllib.parse import quote

import click
import requests

from deniably.core.bounded_files import read_file
from deniably.core.errors import BadRegister, BadSignature, Refused
from deniably.core.steering import one_line
from deniably.trust.heads import differences, head_of, published_name
from deniably.trust.listing import LARGEST_LISTING, read_listing
from deniably.trust.register import Register, RegisterEntry, differ, read_register, signature_of
from deniably.trust.signing import fingerprint, verify
from deniably_client.device import session
from deniably_client.errors import Unreachable
from deniably_client.response_body import REGISTER, body

# What may follow the address of a server that was copied from a page of it.
_PAGE = re.compile(r"/(s|surveys|api/surveys)/[a-z0-9-]+/?$|/register/?$|/$")
_TIMEOUT = 30  # seconds a request


@click.command()
@click.argument("address")
@click.option(
    "--compare",
    metavar="FILE-OR-URL",
    help="Another copy of the register: from somebody else, another network or an earlier day.",
)
@click.option(
    "--save",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Keep this copy in a file, to compare it later.",
)
def register(address: str, compare: str | None, save: Path | None) -> None:
    """Show every survey that the server at ADDRESS ever published.

    The command verifies the chain of the entries and every author's signature, and that the
    server's signed head belongs to the entries. It reads all entries, because only these show
    whether the head leaves one out. Devices read the signed head and their own survey's entry. A
    server that asks one person a different survey has to show this person a different register:
    compare the seal, or copies, with others.
    """
    text = _text(address)
    copy = _verified(text)
    for line in _lines(copy):
        click.echo(line)
    click.echo(f"\nentries: {len(copy.entries)}, all verified; the seal is\n{head_of(copy).seal}")
    if _is_url(address):
        click.echo(_signed(address, copy))
    if compare is not None:
        click.echo(f"\n{_verdict(copy, _verified(_text(compare)))}")
    if save is not None:
        _save(save, text)


def _text(source: str) -> bytes:
    """Read a register from a server's address, a survey's address, or a file."""
    if _is_url(source):
        return _fetched(f"{_PAGE.sub('', source)}/register", REGISTER)
    try:
        return read_file(source, REGISTER)
    except OSError as error:
        raise click.UsageError(f"{source}: {error.strerror}") from None


def _is_url(source: str) -> bool:
    return source.startswith(("http://", "https://"))


def _fetched(url: str, maximum: int) -> bytes:
    try:
        with session(retries=1).get(
            url, timeout=_TIMEOUT, allow_redirects=False, stream=True
        ) as response:
            # A redirect is not followed: it could lead to another server's register.
            if response.status_code == 200:
                return body(response, maximum)
    except requests.RequestException as error:
        raise Unreachable(f"{url} gave no answer ({type(error).__name__})") from None
    raise Unreachable(f"{url} is no register (status {response.status_code})")


def _signed(address: str, whole: Register) -> str:
    """Compare the head that the server signs for devices with the one that its entries make.

    Returns a sentence. Raises BadRegister where they differ.
    """
    names = [name for entry in whole.entries if (name := published_name(entry))]
    if not names:
        return "Nothing is published, so no head is signed."
    base = _PAGE.sub("", address)
    listing = read_listing(_fetched(f"{base}/register/{quote(names[-1])}", LARGEST_LISTING))
    # The listing was fetched after the register, so its head may have more entries, never fewer.
    if listing.head.count > len(whole.entries):
        whole = _verified(_text(address))  # it has grown meanwhile
    listing.signed.check()
    if wrong := differences(listing.head, head_of(whole, listing.head.count)):
        raise BadRegister(
            "the head that this server signed for devices is not the one that its entries make. It"
            f" differs in {' and in '.join(wrong)}. Do not answer before that is explained"
        )
    listing.check(names[-1])
    key = fingerprint(listing.signed.signature.author)
    return f"The server signed the head that these entries make. The key of the server is\n{key}"


def _verified(text: bytes) -> Register:
    copy = read_register(text)
    for entry in copy.entries:
        if entry.get("event") == "published":
            try:
                verify(str(entry.get("digest")), signature_of(entry))
            except BadSignature as error:
                raise BadRegister(f"entry {entry['number']}: {error}") from None
    return copy


def _lines(copy: Register) -> Iterator[str]:
    closed = {
        str(entry.get("survey")): str(entry.get("day"))
        for entry in copy.entries
        if entry.get("event") == "closed"
    }
    for entry in copy.entries:
        if entry.get("event") == "published":
            name = str(entry.get("survey"))
            until = _plain(closed.get(name, "now"))
            yield f"{_plain(entry.get('day'))} to {until:<10}  {_plain(name)}"
            yield f"  epsilon  {_plain(entry.get('epsilon'))}, delta {_plain(entry.get('delta'))}"
            yield from _through_mixer(entry)
            yield f"  author   {fingerprint(str(entry.get('author')))}"
            yield f"  version  {_plain(entry.get('digest'))}"


def _through_mixer(entry: RegisterEntry) -> Iterator[str]:
    """What a survey with a mixer gives away against its server alone, and whose mixer it is."""
    claim = entry.get("mixed")
    if isinstance(claim, dict):
        mixed = cast(dict[str, object], claim)
        epsilon, delta = (_plain(mixed.get(name)) for name in ("epsilon", "delta"))
        yield f"  mixed    epsilon {epsilon}, delta {delta}, against its server alone"
        yield f"  mixer    {fingerprint(str(entry.get('mixer')))}"


def _verdict(own: Register, other: Register) -> str:
    """Compare two copies; returns a sentence. Raises Refused where they contradict each other."""
    number = differ(own, other)
    if number is not None:
        raise Refused(
            f"the two copies differ from entry {number} on: the server shows different people"
            " different surveys, or a copy was changed. Do not answer before that is explained"
        )
    ahead = len(own.entries) - len(other.entries)
    if ahead == 0:
        return "The other copy is the same."
    which, count = ("other", ahead) if ahead > 0 else ("first", -ahead)
    entries = "1 entry" if count == 1 else f"{count} entries"
    return f"The copies agree; the {which} one is {entries} behind."


def _save(file: Path, text: bytes) -> None:
    try:
        file.write_bytes(text)
    except OSError as error:
        raise click.UsageError(f"{file}: {error.strerror}") from None


def _plain(value: object) -> str:
    """Returns a server's text on one line."""
    return one_line(str(value))
