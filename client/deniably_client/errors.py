"""Errors of a device, and of its exchange with a server.

DeniablyError
  AlreadyAnswered     this device has made its one report
  MemoryUnusable      this device's memory cannot be read or written
  SurveyClosed        the survey takes no more reports
  InvitationUnknown   the survey has no such invitation
  InvitationUsed      the invitation was traded before, by another device
  NobodyInvited       the survey's mixer has given out no invitations yet
  Rejected            the server refused; carries its problem document
  Unreachable         no usable answer after every retry; the report can be sent again
    AskedToWait       too many requests come from this network; try again later
"""

from __future__ import annotations

from collections.abc import Mapping

from deniably.core.errors import DeniablyError
from deniably.core.steering import one_line


class AlreadyAnswered(DeniablyError):
    """This device has made its report. It has no memory, so it cannot change single answers of the
    report.

    A second randomisation of the same answer would weaken the first one.
    """


class MemoryUnusable(DeniablyError):
    """The device's memory cannot be read or written. The device answers nothing until its owner
    forgets the memory.

    Attributes: ``where_and_why``, the folder and the reason.
    """

    def __init__(self, where_and_why: str) -> None:
        self.where_and_why = where_and_why
        super().__init__(
            f"this device's memory cannot be used: {where_and_why}. Without it the device cannot"
            " count what it has given away, so it does not answer. To start again, and lose"
            " that count: deniably forget"
        )


class Rejected(DeniablyError):
    """The server refused the request.

    Attributes: ``status`` (HTTP), ``problem`` (RFC 9457 members) and ``sentence`` (its detail,
    on one line).
    """

    def __init__(self, status: int, problem: Mapping[str, object]) -> None:
        self.status = status
        self.problem = dict(problem)
        reason = problem.get("detail") or problem.get("title") or "the server gave no reason"
        self.sentence = one_line(str(reason))
        super().__init__(f"the server refused (status {status}): {self.sentence}")


class SurveyClosed(Rejected):
    """The survey takes no more reports."""


class InvitationUnknown(Rejected):
    """The survey has no such invitation, or the report lacks a valid ticket."""


class InvitationUsed(Rejected):
    """The invitation was exchanged for a ticket before, by another device or by this one before
    ``forget``."""


class NobodyInvited(Rejected):
    """The survey is by the mixer's invitation, and the mixer has given out none yet."""


class Unreachable(DeniablyError):
    """The server could not be reached, or its answer was unusable. Sending again is safe."""


class AskedToWait(Unreachable):
    """The server rate-limits this network.

    Attributes: the time to wait, in ``seconds`` and in ``minutes`` (rounded up).
    """

    def __init__(self, host: str, seconds: int) -> None:
        self.seconds = seconds
        self.minutes = -(-seconds // 60)
        super().__init__(f"{host} asks this network to wait for {seconds} seconds (status 429)")
