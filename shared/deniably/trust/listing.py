"""A survey's listing in a register (SPEC 10.2): all that a device fetches of the register.

It has the survey's entry, the signed head, and the hashes that prove that the entry is in the log
and alone under its name in the map. The same hashes show whether the log continues any earlier one,
so the request need not say what the device has seen. It is the same for every device.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import msgspec

from deniably.core.canonical import canonical, digest, parse
from deniably.core.errors import BadRegister
from deniably.trust.heads import Head, SignedHead, dated
from deniably.trust.register import NOTHING, ChainHead, Register, RegisterEntry, read_register
from deniably.trust.signing import Signature
from deniably.trust.trees import (
    BLOCK,
    Trees,
    block_sides,
    first_recent,
    folded,
    log_root,
    name_sides,
    root,
)

LARGEST_LISTING = 1 << 20
"""The maximum of bytes of a listing, and of a list of hashes."""

VOLUME = 1024
"""How many hashes a device asks for at once, where it was here last long ago. To the server, all
devices look alike that were here last within the same 1,024 entries (SPEC 10.3)."""

WHOLE = "/register"
"""The path of the whole register at a server."""

_Hash = Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{64}\Z")]
_Signature = Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{128}\Z")]


@dataclass(frozen=True)
class SeenRegister:
    """What a device remembers of a register.

    ``chain`` has the number of its entries and the hash of the last one. ``log`` and ``map`` are
    the roots of its hash trees and ``key`` is the server's key, all from the signed head. These
    three are None in memories from before servers signed heads.
    """

    chain: ChainHead
    log: str | None = None
    map: str | None = None
    key: str | None = None


@dataclass(frozen=True)
class Listing:
    """A survey's entry in a register, with the proof that the entry belongs to the signed head.

    The log is a hash tree over all entries, in blocks of 64; the map is one over the names of
    surveys. ``blocks`` are the roots of the complete blocks. ``recent`` are the hashes of the
    entries in the last complete block and after it. ``log_path`` has the siblings on the way from
    the root of the entry's block to the entry; it is empty for a recent entry. ``map_path`` has
    those on the way from the root of the map to the entry's name.
    """

    entry: RegisterEntry
    signed: SignedHead
    blocks: Sequence[str]
    recent: Sequence[str]
    log_path: Sequence[str]
    map_path: Sequence[str]

    @property
    def head(self) -> Head:
        """The head that the server signed."""
        return self.signed.head

    @property
    def text(self) -> bytes:
        """The listing as a server sends it: canonical JSON."""
        return canonical(
            {
                "entry": self.entry,
                "head": self.signed.document,
                "blocks": self.blocks,
                "recent": self.recent,
                "log_path": self.log_path,
                "map_path": self.map_path,
            }
        )

    def check(self, name: str) -> None:
        """Checks the whole proof for the survey with this ``name``.

        Raises BadRegister unless the head is signed, the listed hashes make that head, and the
        entry is in the log at its number and in the map under the name.
        """
        self.signed.check()
        self._check_log()
        try:
            hash_ = digest(self.entry)
        except ValueError as error:
            raise BadRegister(f"the entry has no canonical form: {error}") from None
        number = self.entry.get("number")
        # bool is a subclass of int, so isinstance would take true for the number 1.
        if not (type(number) is int and 1 <= number <= self.head.count):
            raise BadRegister(f"the register has no entry of the number {str(number)[:64]}")
        named = folded(hash_, self.map_path, name_sides(name)) == self.head.map
        if not (named and self._has(number, hash_)):
            raise BadRegister(f"the register does not list the survey {name} by this entry")

    def _check_log(self) -> None:
        head = self.head
        complete, recent = head.count // BLOCK, len(self.recent)
        block, rest = self._parts_of_recent
        last = self.recent[-1] if self.recent else NOTHING
        if not (
            len(self.blocks) == complete
            and first_recent(head.count) + recent == head.count
            and (not self.blocks or root(block) == self.blocks[-1])
            and log_root(self.blocks, rest) == head.log
            # The chain of whole entries and the log have to end in the same entry.
            and last == head.head
        ):
            raise BadRegister("the register's hashes do not make its head")

    @property
    def _parts_of_recent(self) -> tuple[Sequence[str], Sequence[str]]:
        """The hashes of the last complete block, if there is one, and those after it."""
        end = BLOCK if self.blocks else 0
        return self.recent[:end], self.recent[end:]

    def _has(self, number: int, hash_: str) -> bool:
        first = first_recent(self.head.count)
        if number > first:
            # A path that is not checked could carry a mark of the device that fetches it.
            return self.recent[number - 1 - first] == hash_ and not self.log_path
        right = self.blocks[(number - 1) // BLOCK]
        # A shorter path would leave digits of the number unchecked.
        fits = len(self.log_path) == len(block_sides(number))
        return fits and folded(hash_, self.log_path, block_sides(number)) == right

    def further(self, seen: SeenRegister) -> str | None:
        """Returns the server's path of what else is needed to prove that the register was only
        extended.

        The proof is that this register continues the one that was ``seen``; None where the listing
        is enough. The whole register is needed where the server has another key than before, and
        where no signed head was remembered.
        """
        count = seen.chain.count
        # A new key may sign anything, so that the chain of all entries has to show the continuity.
        if seen.log is None or seen.key != self.signed.signature.author:
            return WHOLE
        begun = count - count % BLOCK
        # All the hashes that were seen are in the listing: those of whole blocks, or recent ones.
        if count == begun or begun >= first_recent(self.head.count):
            return None
        return f"{WHOLE}/hashes/{begun // VOLUME}"

    def check_continues(self, seen: SeenRegister, more: Mapping[str, bytes]) -> Register | None:
        """Raises BadRegister unless this register continues the one that was ``seen``.

        ``more`` maps the path from ``further`` to the text that the server has at that path.
        Returns the whole register where it was needed, otherwise None.
        """
        count = seen.chain.count
        if count > self.head.count:
            raise BadRegister(
                f"the register was cut: it had {count} entries before and has {self.head.count} now"
            )
        path = self.further(seen)
        text = more.get(path) if path else b""
        if text is None:
            raise BadRegister(f"what shows that the register continues is missing: {path}")
        if path == WHOLE:
            return self._check_whole(read_register(text, seen.chain))
        begun = count - count % BLOCK
        hashes = self._volume(text, begun) if path else self.recent
        at = begun % VOLUME if path else begun - first_recent(self.head.count)
        rest = hashes[at : at + count % BLOCK]
        if log_root(self.blocks[: begun // BLOCK], rest) != seen.log:
            raise BadRegister(
                f"the register's history was rewritten: its first {count} entries are others than"
                " before"
            )
        # The log says nothing of the map: without new entries it has to be the same.
        if count == self.head.count and seen.map != self.head.map:
            raise BadRegister("the register's map of names was rewritten: no entry was added")
        return None

    def _volume(self, text: bytes, begun: int) -> Sequence[str]:
        """The hashes of a volume. Raises BadRegister unless the block from ``begun`` on is this
        register's."""
        try:
            hashes = msgspec.json.decode(text, type=_Volume).hashes
        except ValueError:
            raise BadRegister("this is no list of hashes of a register") from None
        at = begun % VOLUME
        if root(hashes[at : at + BLOCK]) != self.blocks[begun // BLOCK]:
            raise BadRegister("the hashes of the register's entries do not make its log")
        return hashes

    def _check_whole(self, register: Register) -> Register:
        """Raise BadRegister unless these entries, of which there may be more, make the log."""
        hashes = [digest(entry) for entry in register.entries[: self.head.count]]
        if root(hashes) != self.head.log:
            raise BadRegister("the server signed another head than its entries make")
        return register


def read_listing(text: bytes) -> Listing:
    """Returns the listing in a JSON text. Only its form is checked; call ``check`` to verify the
    proof.

    Raises BadRegister where the text is no listing.
    """
    try:
        # msgspec takes the last of repeated keys, other parsers the first: two readers, two
        # listings.
        parse(text)  # refuses repeated keys
        form = msgspec.json.decode(text, type=_Form)
    except (ValueError, UnicodeDecodeError):
        raise BadRegister("this is no listing of a register; fetch it again") from None
    day = None if form.head.day is msgspec.UNSET else form.head.day
    if day != dated(day):
        raise BadRegister("the day of a register's head is no date")
    head = Head(form.head.count, form.head.head, form.head.log, form.head.map, day)
    signed = SignedHead(head, Signature(form.head.key, form.head.signature))
    return Listing(form.entry, signed, form.blocks, form.recent, form.log_path, form.map_path)


def make_listing(trees: Trees, signed: SignedHead, entry: RegisterEntry) -> Listing:
    """Returns the listing of the survey that ``entry`` publishes. ``signed`` is the head of the
    ``trees``."""
    paths = trees.log_path(entry["number"]), trees.map_path(entry["survey"])
    return Listing(entry, signed, [*trees.blocks], trees.recent, *paths)


class _Volume(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    hashes: Annotated[list[_Hash], msgspec.Meta(max_length=VOLUME)]


class _HeadForm(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    count: Annotated[int, msgspec.Meta(ge=0, le=(1 << 53) - 1)]
    head: _Hash
    log: _Hash
    map: _Hash
    key: _Hash
    signature: _Signature
    day: str | msgspec.UnsetType = msgspec.UNSET


class _Form(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    entry: dict[str, Any]
    head: _HeadForm
    blocks: list[_Hash]
    recent: list[_Hash]
    # A block of 64 entries is 6 levels deep, and a name has a digest of 256 bits.
    log_path: Annotated[list[_Hash], msgspec.Meta(max_length=6)]
    map_path: Annotated[list[_Hash], msgspec.Meta(max_length=256)]
