"""Says in words how many sealed answers of a mixer's batch could not be read."""

from __future__ import annotations

SUSPECT = 100
"""Results warn where more than one sealed answer in so many could not be read."""


def unread_answers(refused: int, envelopes: int) -> list[str]:
    """Returns sentences about the ``refused`` ones of a batch of so many ``envelopes``. The list is
    empty if all could be read.

    >>> unread_answers(1, 210)
    ['1 of 210 sealed answers could not be read and is not counted.']
    """
    if not refused:
        return []
    verb = "is" if refused == 1 else "are"
    sentence = (
        f"{refused:,} of {envelopes:,} sealed answers could not be read and {verb} not counted."
    )
    if refused * SUSPECT <= envelopes:
        return [sentence]
    return [
        sentence,
        f"That is more than 1 in {SUSPECT}. Either somebody sent made-up ones, or the mixer left"
        " out blanks. If it left out blanks, the figures are off.",
    ]
