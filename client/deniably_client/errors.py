"""What can go wrong between a device and a server.

DeniablyError
  AlreadyAnswered     this device has made its one report
  MemoryUnusable      what this device remembers cannot be read or written
  SurveyClosed        the survey takes no more reports
  InvitationUnknown   the survey has no such invitation
  InvitationUsed      the invitation was traded before, by another device
  Rejected            the server refused; carries its problem document
  Unreachable         no usable answer after every retry; the report can be sent again
    AskedToWait       too much comes from this network; it can after a while
"""

from __future__ import annotations

from collections.abc import Mapping

from deniably.core.errors import DeniablyError


class AlreadyAnswered(DeniablyError):
    """A second set of coins for the same person would weaken the protection of the first."""


class MemoryUnusable(DeniablyError):
    """The memory is unreadable or cannot be kept; nothing is answered until it is forgotten.

    Attributes: ``where_and_why``.
    """

    def __init__(self, where_and_why: str) -> None:
        self.where_and_why = where_and_why
        super().__init__(
            f"this device's memory cannot be used: {where_and_why}. Without it the device cannot"
            " count what it has given away, so it does not answer. To begin anew, and to lose that"
            " count: deniably forget"
        )


class Rejected(DeniablyError):
    """The server refused. Attributes: ``status`` (HTTP), ``problem`` (RFC 9457 members), and its
    ``sentence``."""

    def __init__(self, status: int, problem: Mapping[str, object]) -> None:
        self.status = status
        self.problem = dict(problem)
        said = problem.get("detail") or problem.get("title") or "the server gave no reason"
        self.sentence = str(said)
        super().__init__(f"the server refused (status {status}): {self.sentence}")


class SurveyClosed(Rejected):
    """The survey takes no more reports."""


class InvitationUnknown(Rejected):
    """The survey has no such invitation, or the report came without its ticket."""


class InvitationUsed(Rejected):
    """The invitation was traded before: by another device, or by this one before it forgot."""


class Unreachable(DeniablyError):
    """The server could not be reached or did not answer usably."""


class AskedToWait(Unreachable):
    """Too much comes from this network at present. Attributes: ``seconds``, ``minutes`` (whole)."""

    def __init__(self, host: str, seconds: int) -> None:
        self.seconds = seconds
        self.minutes = -(-seconds // 60)
        super().__init__(f"{host} asks this network to wait for {seconds} seconds (status 429)")


def printable(text: str) -> str:
    """A text for a terminal: a server's own words may be in it, to be shown and not obeyed."""
    return "".join(char for char in text if char.isprintable() or char == "\n")
