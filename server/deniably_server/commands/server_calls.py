"""Calls a survey's server for the commands of authors."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, cast

import click

from deniably.core.steering import one_line

if TYPE_CHECKING:
    from requests import PreparedRequest

_PATIENCE = 120  # seconds: a server may compile a definition for some


def base(server: str) -> str:
    """Returns the address of a server without a slash at its end, so that paths can be appended."""
    return server.rstrip("/")


def call(method: str, address: str, headers: dict[str, str], body: bytes) -> dict[str, Any]:
    """Sends a request to a server; returns the JSON object of the answer.

    Raises ClickException where no Deniably server answers, and where the server refuses.
    """
    import requests

    from deniably.core.bounded_files import SMALL
    from deniably.core.bounded_http import bounded_session, check_no_redirect, read_answer
    from deniably.core.errors import BadInput

    try:
        with (
            bounded_session() as session,
            session.request(
                method, address, data=body, headers=headers, timeout=_PATIENCE, stream=True,
                allow_redirects=False, auth=_as_it_is,
            ) as response,
        ):  # fmt: skip
            # A redirect would take the token to another server.
            check_no_redirect(response)
            answer: object = json.loads(read_answer(response, SMALL))
    except BadInput as error:
        raise click.ClickException(one_line(str(error))) from None
    except (ValueError, RecursionError) as error:
        if isinstance(error, requests.RequestException):  # an address that is none
            raise click.ClickException(f"cannot reach {address} ({type(error).__name__})") from None
        raise click.ClickException(f"no Deniably server answers at {address}") from None
    except requests.Timeout:
        raise click.ClickException(
            f"{address} sends too slowly, and was not waited for any longer; try again later"
        ) from None
    except requests.RequestException as error:
        why = type(error).__name__
        raise click.ClickException(f"cannot reach {address} ({why})") from None
    if not isinstance(answer, dict):
        raise click.ClickException(f"no Deniably server answers at {address}")
    document = cast("dict[str, Any]", answer)
    if not response.ok:
        raise ServerRefused(document)
    return document


def fetch(address: str) -> bytes:
    """Returns the bytes at an address; empty where they cannot be fetched."""
    import requests

    from deniably.core.bounded_files import SMALL
    from deniably.core.bounded_http import bounded_session, read_answer
    from deniably.core.errors import BadInput

    try:
        with (
            bounded_session() as session,
            session.get(
                address, timeout=30, allow_redirects=False, auth=_as_it_is, stream=True
            ) as response,
        ):
            return read_answer(response, SMALL) if response.ok else b""
    except (BadInput, requests.RequestException):
        return b""


def _as_it_is(request: PreparedRequest) -> PreparedRequest:
    """Keep the author's token; without this, requests replaces it by credentials in ~/.netrc."""
    return request


class ServerRefused(click.ClickException):
    """A refusal by the server, as its problem describes it; ``kind`` is the problem's type."""

    def __init__(self, problem: dict[str, Any]) -> None:
        self.kind = problem.get("type")
        lines = [str(problem.get("detail") or problem.get("title") or "the server refused")]
        lines += [f"  {error['path']}: {error['why']}" for error in problem.get("errors", ())]
        super().__init__("\n".join(map(one_line, lines)))
