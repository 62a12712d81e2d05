"""The server's exceptions, besides those of ``deniably.core.errors``.

DeniablyError
  Refusal                 a request is refused; ``why`` says why and how to mend it
    Malformed             the body cannot be parsed, or the host is none
    BadParameter          a query parameter is unknown, wrong or missing
    Unauthorised          the token is missing, wrong, expired or revoked
    Forbidden             the token does not allow this
    TooMany               one network address exceeded a rate limit; retry later
    Busy                  the queue of computations is full; retry later
    Quota                 the token's quota is used up, or the register is full
    TooMuch               the computation is larger than the server allows
    Hidden                the results are not shown yet
    Misdirected           the server does not answer to this host name
    NotFound              no such survey or page
    Conflict              the id or the name is in use with other content
    Closed                the survey takes no more reports
    NotClosed             the survey is open, so its mixer passes nothing on yet
    WrongPlace            the bytes of a batch do not begin where those that are stored end
    TooFew                closing the survey now would hide its results for ever
    TooLarge              the report is longer than 1 MiB, or the draft than 256 kB
    UnsupportedMediaType  the body is of another media type
    Uninvited             the invitation or the ticket is missing or wrong
    Used                  the invitation was traded before
    NobodyInvited         the mixer has given out no invitations yet
    Gone                  the mixer takes no more envelopes for the survey
    WrongDigest           the report answers another version or another survey
    Unsigned              the author's signature is missing or wrong
  TooSlow                 a draft takes too long to be checked; it may be published all the same
  Unavailable             the database does not answer or store; retry later
  Newer                   a newer version made the database
  Unreleased              a version that was never released made the database
  OtherDatabase           the database is a mixer's where a server's is needed, or the reverse
  Uncomputed              a fault of the server: the worker process failed
  NotStored               a fault of the server: the transaction failed, nothing was stored
"""

from __future__ import annotations

from deniably.core.errors import DeniablyError


class Refusal(DeniablyError):
    """A request is refused. ``why`` is a sentence: what is wrong, and what is allowed."""

    def __init__(self, why: str) -> None:
        self.why = why
        super().__init__(why)


class Malformed(Refusal):
    """The body cannot be parsed, or the request does not name one host."""


class BadParameter(Refusal):
    """A query parameter is unknown, wrong or missing."""


class Unauthorised(Refusal):
    """The token is missing, wrong, expired or revoked."""


class Forbidden(Refusal):
    """The token is of another role, or for another survey."""


class TooMany(Refusal):
    """One network address, token or browser exceeded a rate limit. It may retry after ``wait``
    seconds."""

    def __init__(self, why: str, wait: int = 1) -> None:
        self.wait = max(1, wait)
        super().__init__(f"{why}; try again in {self.wait} seconds")


class Busy(Refusal):
    """Too many requests wait already, such as for a computation. The client may retry after
    ``wait`` seconds."""

    def __init__(self, why: str, wait: int = 10) -> None:
        self.wait = wait
        super().__init__(f"{why}; try again in {wait} seconds")


class TooMuch(Refusal):
    """The computation is larger than the server allows; ``why`` says what to ask for instead."""


class Quota(Refusal):
    """The token's quota of surveys is used up, or the register is full.

    ``plainly`` has the same reason without the word token; by default it is ``why``.
    """

    def __init__(self, why: str, plainly: str = "") -> None:
        self.plainly = plainly or why
        super().__init__(why)


class Hidden(Refusal):
    """The results are not shown yet. ``why`` is a sentence that says when they will be.
    ``briefly`` has the same in a few words that follow "results"."""

    def __init__(self, why: str, briefly: str = "") -> None:
        self.briefly = briefly
        super().__init__(why)


class Misdirected(Refusal):
    """The server does not answer to the request's host name."""


class NotFound(Refusal):
    """There is no such survey or page."""


class Conflict(Refusal):
    """The report's id or the survey's name is in use with other content."""


class Closed(Refusal):
    """The survey is closed for good and takes no more reports."""


class NotClosed(Refusal):
    """The survey is open, so its mixer passes nothing on yet."""


class WrongPlace(Refusal):
    """The bytes of a batch do not begin where those that are stored end; ``held`` is their
    number."""

    def __init__(self, why: str, held: int = 0) -> None:
        self.held = held
        super().__init__(why)


class TooFew(Refusal):
    """The survey has fewer reports than its results need, so closing it now would hide them for
    ever."""


class TooLarge(Refusal):
    """A report is longer than 1 MiB, or a draft than 256 kB."""


class UnsupportedMediaType(Refusal):
    """The body's media type is not supported at this address."""


class Uninvited(Refusal):
    """The survey is by invitation, and the invitation or the ticket is missing or wrong."""


class Used(Refusal):
    """The invitation was already exchanged for a ticket, by another device, or by this one before
    it lost its memory."""


class NobodyInvited(Refusal):
    """The survey is by the mixer's invitation, and the mixer has given out none yet."""


class Gone(Refusal):
    """The mixer takes no more envelopes for the survey: it is closed, or all was passed on."""


class WrongDigest(Refusal):
    """The report answers another version of the survey, or another survey."""


class Unsigned(Refusal):
    """The author's signature of a definition is missing or wrong."""


class NotStored(DeniablyError):
    """The transaction failed and nothing was stored; the client may send the same bytes again."""


class Uncomputed(DeniablyError):
    """The worker process failed or ended; the next computation starts a new one."""


class TooSlow(DeniablyError):
    """A check of a draft takes longer than the server gives it; the draft may be fine."""


class Unavailable(DeniablyError):
    """The database's disk, lock or network fails; the same request may be sent again later."""


class Newer(DeniablyError):
    """A newer version of Deniably made the database, so this version must not write to it."""

    def __init__(self) -> None:
        super().__init__(
            "a newer version of Deniably made this database; use that version or a later one, or"
            " restore a backup from before"
        )


class Unreleased(DeniablyError):
    """A version that was never released made the database, with other tables."""

    def __init__(self) -> None:
        super().__init__(
            "a version of Deniably that was never released made this database, with other tables;"
            " use that version, or begin with a new database"
        )


class OtherDatabase(DeniablyError):
    """The database is a mixer's where that of a survey's server is needed, or the other way
    round."""

    def __init__(self) -> None:
        super().__init__(
            "a mixer and a survey's server need a database each, and this one belongs to the other"
        )
