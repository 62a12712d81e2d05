"""Lists the steps of a survey, from its questions to its results, for the bar on each of its
pages."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

_OF_A_DRAFT = {"Questions": "", "Privacy": "/privacy", "Try it": "/try", "Publish": "/publish"}


@dataclass(frozen=True)
class Step:
    """A step on the way from a survey's questions to its results, for the bar at the top of each
    page: its name, the address of its page, and whether this page is shown now (``here``)."""

    name: str
    address: str
    here: bool


def steps_of_draft(draft: str, here: str) -> list[Step]:
    """Returns the steps of the draft with this id. ``here`` is the name of the step whose page is
    shown."""
    return list(
        _steps({name: f"/studio/d/{draft}{end}" for name, end in _OF_A_DRAFT.items()}, here)
    )


def steps_of_survey(survey: str, here: str, *, is_open: bool) -> list[Step]:
    """Returns the steps of a published survey. ``here`` is the name of the step whose page is
    shown. A closed survey has no step to invite people."""
    invite = {"Invite": f"/studio/s/{survey}#invite"} if is_open else {}
    rest = {"Follow": f"/studio/s/{survey}", "Results": f"/surveys/{survey}"}
    return list(_steps(invite | rest, here))


def _steps(addresses: dict[str, str], here: str) -> Iterator[Step]:
    for name, address in addresses.items():
        yield Step(name, address, name == here)
