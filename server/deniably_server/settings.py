"""The settings of a server, which define its options, environment variables and defaults."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

PREFIX = "DENIABLY_"


@dataclass(frozen=True)
class Setting:
    """One setting: ``--name`` of ``serve``, the variable ``DENIABLY_NAME``, the key ``NAME``.

    A number lies between ``least`` and ``most``; a text is one of ``choices`` unless that is empty.
    ``alone`` is the value of an option that may stand without one.
    """

    name: str
    default: str | int
    help: str
    least: int = 1
    most: int | None = None
    choices: tuple[str, ...] = ()
    alone: str | None = None

    @property
    def key(self) -> str:
        """The key in Flask's configuration."""
        return self.name.upper()

    @property
    def variable(self) -> str:
        """The name of the environment variable."""
        return PREFIX + self.key


SETTINGS = (
    Setting(
        "database",
        "deniably.db",
        "Where the surveys and the perturbed reports are: a file, or postgresql://...",
    ),
    Setting("host", "127.0.0.1", "Address to listen on."),
    Setting("port", 8000, "Port to listen on; 0 picks a free one.", least=0, most=65535),
    Setting(
        "log",
        "text",
        "A line for each answer, in text or json, a minute late and without a time; or off.",
        choices=("text", "json", "off"),
    ),
    Setting("workers", 1, "Server processes; they share the database."),
    Setting("threads", 256, "Requests that one process handles at the same time."),
    Setting(
        "patience",
        15,
        "Seconds for the head of a request, and for each 10 KB of its body and of the answer that"
        " is read; then the connection is ended.",
        most=60,
    ),
    Setting(
        "longest",
        30,
        "Seconds of processor time that one computation of results may take, and seconds that"
        " anybody waits until it begins.",
        most=600,
    ),
    Setting(
        "hosts",
        "",
        "Names that the server answers to, with commas between them; none set is any.",
    ),
    Setting(
        "public",
        "",
        "Let phones reach the server, over https: at this machine's usual address, or at the one of"
        " its addresses that is named, with a certificate that is made and kept; or at the https"
        " address of a tunnel such as cloudflared or tailscale, which you run. It answers to that"
        " name and to this machine alone.",
        alone="auto",
    ),
    Setting(
        "rate",
        1000,
        "Reports a minute that one process takes from one network address, and as many"
        " invitations; 0 for any number. From this machine itself it takes any number.",
        least=0,
    ),
    Setting(
        "surveys",
        50,
        "Surveys that one author's token may publish in a day (UTC); 0 for any number.",
        least=0,
    ),
    Setting(
        "room",
        8,
        "MB of the register, which has room for 64 MiB, that the"
        " surveys of one author's token may take; 0 for any.",
        least=0,
    ),
    Setting(
        "failures",
        60,
        "Wrong tokens and invitation codes a minute from one network address, before even right"
        " ones from there wait; 0 for any number.",
        least=0,
    ),
    Setting(
        "proxies",
        0,
        "Trusted proxies in front, one behind the other; that many entries of X-Forwarded-For are"
        " believed.",
        least=0,
        most=16,
    ),
)


def configuration(overrides: Mapping[str, object] | None = None) -> dict[str, object]:
    """Returns every setting by its key: from ``overrides``, else the environment, else the default.

    Other keys of ``overrides``, such as Flask's TESTING, are passed through. Raises ValueError for
    a variable that is not a number or not one of the choices.
    """
    settings = dict(overrides or {})
    for setting in SETTINGS:
        text = os.environ.get(setting.variable, setting.default)
        try:
            value = settings.setdefault(setting.key, type(setting.default)(text))
        except ValueError:
            raise ValueError(f"{setting.variable} is {text!r}; use a whole number") from None
        if setting.choices and value not in setting.choices:
            choices = ", ".join(setting.choices)
            raise ValueError(f"{setting.name} is {value!r}; it must be one of {choices}")
    return settings
