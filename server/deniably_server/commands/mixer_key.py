"""Fills in the server's key of envelopes for ``deniably publish``, and shows who a survey's mixer
is and what it protects."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any, cast

import click

from deniably.core.steering import one_line
from deniably_server.commands.server_calls import call, fetch

if TYPE_CHECKING:
    from deniably.survey.survey import Survey


def with_server_key(text: bytes, survey: Survey, server: str, token: str) -> bytes:
    """Returns an author's text as JSON, with the server's key of envelopes as ``mixer.open``.

    ``survey`` is what the text compiles to without it. If the server has a survey of this name, the
    key is that survey's, so that the same text is the same definition. Else the server makes one.
    Raises ClickException where the server refuses, and where no server answers.
    """
    import msgspec

    from deniably.authoring.compiling import load

    document = cast(dict[str, Any], load(text))
    document["mixer"]["open"] = _key_of(survey.name, server) or _new_key(server, token)
    # Numbers stay as exact as they are written.
    return msgspec.json.Encoder(decimal_format="number").encode(document)


def mixer_lines(survey: Survey) -> Iterator[str]:
    """Yields what an author reads before publishing a survey with a mixer: who runs the mixer, its
    fingerprint, and the odds in both cases; nothing for a survey without one."""
    from deniably.survey.mixer import Mixer
    from deniably.survey.odds import odds_text
    from deniably.trust.signing import fingerprint

    mixer = survey.mixer
    if not isinstance(mixer, Mixer):
        return
    alone, together = mixer.claim.loss.odds_bound, survey.total.odds_bound
    yield one_line(f"{'mixer':<10}  {mixer.by}, {mixer.address}")
    yield f"{'':<10}  {fingerprint(mixer.signing)}"
    yield (
        f"{'odds':<10}  {odds_text(alone)} for all answers of a person against the server alone,"
        f" {odds_text(together)} if server and mixer work together"
    )


def _key_of(name: str, server: str) -> str | None:
    """The key of the survey of this name on the server; None where there is no such survey."""
    from deniably.core.errors import DeniablyError
    from deniably.survey.mixer import Mixer
    from deniably.survey.survey import read_survey

    with suppress(DeniablyError):
        mixer = read_survey(fetch(f"{server}/api/surveys/{name}")).mixer
        return mixer.open if isinstance(mixer, Mixer) else None
    return None


def _new_key(server: str, token: str) -> str:
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    answer = call("POST", f"{server}/api/envelope-keys", headers, json.dumps({}).encode())
    key = answer.get("open")
    if not isinstance(key, str):
        raise click.ClickException(f"no Deniably server answers at {server}")
    return key
