"""Trades an invitation for a ticket: a blind signature of the report's id (SPEC 11.3).

The device draws its report's id, blinds it, and has it signed for its invitation. The server cannot
tell later which invitation a report belongs to. The trade is stored before anything is sent, so
that no crash loses an invitation. Everything here is pure.
"""

from __future__ import annotations

import msgspec

from deniably.core.coins import Coins
from deniably.core.errors import BadSignature, Refused
from deniably.device.memory import Memory, Ticket, Trade, replace
from deniably.trust.blind_rsa import PublicKey, blind, finalise, prepare
from deniably.trust.invitation_codes import read_code

_ID = 16  # bytes
_PREFIX = 64  # digits


def begin_trade(memory: Memory, version: str, key: str, text: str) -> Memory:
    """Returns the memory with a new trade: an exchange of an invitation for a ticket.

    The memory is unchanged where it has a trade or a ticket for the survey already. ``version`` is
    the survey's digest, ``key`` the public key that signs its tickets, in hexadecimal, and ``text``
    the invitation as it was typed. Raises BadInvitation where the text is no invitation code.
    """
    code = read_code(text)
    # A second trade would blind another id with the same code, and the server would refuse it.
    if memory.ticket(version) or memory.trade(version):
        return memory
    public, report = PublicKey(key), bytes.fromhex(Coins().draw_id())
    prepared = prepare(report)
    blinded, inverse = blind(public, prepared)
    trade = Trade(
        blinded=blinded.hex(),
        code=code,
        id=report.hex(),
        inverse=f"{inverse:0{len(key)}x}",  # of fixed length: its size must tell nothing of it
        prefix=prepared[:-_ID].hex(),
    )
    return replace(memory, trades=(memory.trades or {}) | {version: trade})


def finish_trade(
    memory: Memory, version: str, key: str, trade: Trade, blind_signature: str
) -> Memory:
    """Returns the memory with the ticket that ends a trade of an invitation for a ticket.

    ``blind_signature`` (hexadecimal) is the server's answer. The memory is unchanged where this
    ``trade`` is no longer under way. Raises Refused where the server signed something else, or with
    another key than the register's.
    """
    # Another process with the same memory finished it, or began another, while the request was
    # under way.
    if memory.trade(version) != trade:
        return memory
    prepared = bytes.fromhex(trade.prefix + trade.id)
    try:
        answered = bytes.fromhex(blind_signature)
        signature = finalise(PublicKey(key), prepared, answered, int(trade.inverse, 16))
    except (BadSignature, ValueError):
        raise Refused(
            "the server did not sign this invitation with the key that the register shows; ask the"
            " survey's contact"
        ) from None
    ticket = Ticket(trade.id, trade.prefix + signature.hex())
    kept = (memory.tickets or {}) | {version: ticket}
    return replace(end_trade(memory, version, trade), tickets=kept)


def end_trade(memory: Memory, version: str, trade: Trade) -> Memory:
    """Returns the memory without a trade of an invitation for a ticket that the server refused.

    The memory is unchanged where another trade, or none, is under way.
    """
    if memory.trade(version) != trade or not memory.trades:
        return memory
    left = {key: kept for key, kept in memory.trades.items() if key != version}
    return replace(memory, trades=left or msgspec.UNSET)


def is_ticket(key: PublicKey, report: str, ticket: str) -> bool:
    """Returns whether ``ticket`` is valid for the report with the id ``report``.

    A valid ticket is the signature of the id by ``key``. Both ``ticket`` and ``report`` are
    hexadecimal.
    """
    # fromhex skips white space, so that a length in characters is checked before.
    if len(ticket) != _PREFIX + len(key.text):
        return False
    try:
        prefix, signature = bytes.fromhex(ticket[:_PREFIX]), bytes.fromhex(ticket[_PREFIX:])
        key.verify(prefix + bytes.fromhex(report), signature)
    except (BadSignature, ValueError):
        return False
    return True
