"""Everything that the server refuses, beside what ``deniably.core.errors`` holds.

DeniablyError
  Refusal                 a request is refused; ``why`` is a sentence
    Malformed             the body cannot be read at all
    BadParameter          a parameter of the address is unknown, wrong or missing
    Unauthorised          the token is missing, wrong, expired or revoked
    Forbidden             the token does not allow this
    TooMany               too much comes from one network address; later it may again
    Busy                  more results are asked for than can be computed; later they may be again
    Quota                 the token has published as much as it may, or the register is full
    TooMuch               what is asked for is more than the server computes
    Hidden                the results are not shown yet
    Misdirected           the request is for a name that this server does not answer to
    NotFound              no such survey or page
    Conflict              the id or the name is taken by something else
    Closed                the survey takes no more reports
    TooFew                a survey would be closed whose results then stay hidden
    TooLarge              a report is longer than any can be
    UnsupportedMediaType  the body is of a kind that is not read here
    Uninvited             the survey is by invitation, and this is none, or comes without its ticket
    Used                  the invitation was traded by another device
    WrongDigest           the report answers another version or another survey
    Unsigned              the author's signature is missing or wrong
  Unavailable             the database does not answer or store; ask the same again later
  Newer                   a newer version made the database, and this one knows less
  Uncomputed              a fault of the server: the process that computes results failed
  NotStored               a fault of the server: the transaction failed, nothing was stored
"""

from __future__ import annotations

from deniably.core.errors import DeniablyError


class Refusal(DeniablyError):
    """A request is refused. Attributes: ``why``, a sentence: what was wrong, what is allowed."""

    def __init__(self, why: str) -> None:
        self.why = why
        super().__init__(why)


class Malformed(Refusal):
    """The body cannot be read at all."""


class BadParameter(Refusal):
    """A parameter of the address is unknown, wrong or missing."""


class Unauthorised(Refusal):
    """The token is missing, wrong, expired or revoked."""


class Forbidden(Refusal):
    """The token is of another role, or for another survey."""


class TooMany(Refusal):
    """Too much comes from one network address. Attributes: ``wait``, seconds."""

    def __init__(self, why: str, wait: int = 1) -> None:
        self.wait = max(1, wait)
        super().__init__(f"{why}; try again in {self.wait} seconds")


class Busy(Refusal):
    """More results are asked for than can be computed. Attributes: ``wait``, seconds."""

    def __init__(self, why: str, wait: int = 10) -> None:
        self.wait = wait
        super().__init__(f"{why}; try again in {wait} seconds")


class TooMuch(Refusal):
    """What is asked for is more than the server computes; ``why`` says what to ask instead."""


class Quota(Refusal):
    """The token has published as much as it may, or the register is full."""


class Hidden(Refusal):
    """The results are not shown yet; ``why`` says why, and when they will be."""


class Misdirected(Refusal):
    """The request is for a name that this server does not answer to."""


class NotFound(Refusal):
    """There is no such survey or page."""


class Conflict(Refusal):
    """The report's id or the survey's name is taken by something else."""


class Closed(Refusal):
    """The survey takes no more reports, for good."""


class TooFew(Refusal):
    """The survey has fewer reports than its results need, and was to be closed with results."""


class TooLarge(Refusal):
    """A report is longer than any can be."""


class UnsupportedMediaType(Refusal):
    """The body is of a kind that is not read here."""


class Uninvited(Refusal):
    """The survey is by invitation: this is none of them, or the report comes without its ticket."""


class Used(Refusal):
    """The invitation was traded by another device, or by this one before it forgot."""


class WrongDigest(Refusal):
    """The report answers another version of the survey, or another survey."""


class Unsigned(Refusal):
    """The author's signature of a definition is missing, or is not the author's."""


class NotStored(DeniablyError):
    """The transaction failed and nothing was stored; the same bytes may be sent again."""


class Uncomputed(DeniablyError):
    """The process that computes results failed or is gone; the next computation has a new one."""


class Unavailable(DeniablyError):
    """The disk, a lock or the network refuses; the same may be asked again later, and counts
    once."""


class Newer(DeniablyError):
    """A newer version of Deniably made the database; this one would not know what it breaks."""

    def __init__(self) -> None:
        super().__init__(
            "a newer version of Deniably made this database; use that version or a later one, or"
            " restore a backup from before"
        )
