"""Defines the settings of a server: their options, environment variables and defaults."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

PREFIX = "DENIABLY_"


@dataclass(frozen=True)
class Setting:
    """A setting of the server: the option ``--name`` of ``deniably serve``, the environment
    variable ``DENIABLY_NAME``, and the key ``NAME`` of the configuration.

    A number lies between ``least`` and ``most``; a text is one of ``choices`` unless that is
    empty. ``alone`` is the value if the option is given without a value; None if the option needs
    a value.
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
    def option(self) -> str:
        """The name of the option, without the dashes before it."""
        return self.name.rpartition("_")[2]

    @property
    def variable(self) -> str:
        """The name of the environment variable."""
        return PREFIX + self.key


SETTINGS = (
    Setting(
        "database",
        "deniably.db",
        "The database of the surveys and the randomised reports: a file, or postgresql://...",
    ),
    Setting("host", "127.0.0.1", "Address to listen on."),
    Setting("port", 8000, "Port to listen on; 0 picks a free one.", least=0, most=65535),
    Setting(
        "log",
        "text",
        "Log a line for each response, as text or json, a minute late and without a time; or off.",
        choices=("text", "json", "off"),
    ),
    Setting("workers", 1, "Server processes; they share the database."),
    Setting("threads", 256, "Requests that one process handles at the same time."),
    Setting(
        "patience",
        15,
        "Seconds that a client has to send the head of a request, or 10 KB of its body, or to read"
        " 10 KB of the response. After that the connection is closed.",
        most=60,
    ),
    Setting(
        "longest",
        30,
        "Seconds of processor time that one computation of results may take, and seconds that a"
        " request waits for it to begin.",
        most=600,
    ),
    Setting(
        "hosts",
        "",
        "Names that the server answers to, separated by commas. Empty means any name.",
    ),
    Setting(
        "public",
        "",
        "Let phones reach the server, over https. ADDRESS is one of this machine's addresses, by"
        " default the usual one; the server makes a certificate for it and keeps it. Or it is the"
        " https address of a tunnel that you run, such as cloudflared or tailscale. The server"
        " answers to that name and to this machine alone.",
        alone="auto",
    ),
    Setting(
        "rate",
        1000,
        "Reports a minute that one process takes from one network address, and as many"
        " invitations. 0 means no limit; this machine itself has none.",
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
        "MB of the register that the surveys of one author's token may take. The register has room"
        " for 64 MiB. 0 means no limit.",
        least=0,
    ),
    Setting(
        "failures",
        60,
        "Wrong tokens and invitation codes a minute from one network address. After that, right"
        " ones from there have to wait, too. 0 means no limit.",
        least=0,
    ),
    Setting(
        "proxies",
        0,
        "Number of trusted proxies in front, one behind the other. So many entries of"
        " X-Forwarded-For are believed.",
        least=0,
        most=16,
    ),
)

_OF_MIXERS = ("host", "port", "log", "threads", "patience", "hosts", "failures", "proxies")
MIXER_SETTINGS = (
    Setting(
        "mixer_database",
        "mixer.db",
        "The mixer's database, of its own: a file, or postgresql://...",
    ),
    *(setting for setting in SETTINGS if setting.name in _OF_MIXERS),
    Setting(
        "rate",
        1000,
        "Envelopes a minute that are taken from one network address. 0 means no limit; this machine"
        " itself has none.",
        least=0,
    ),
    Setting(
        "mixer_room",
        50,
        "MB of envelopes that are stored from one network address in a day (UTC), where nobody"
        " needs an invitation. 0 means no limit; this machine itself has none.",
        least=0,
    ),
)
"""The settings of a mixer. Those that a server has, too, mean the same."""


def configuration(overrides: Mapping[str, object] | None = None) -> dict[str, object]:
    """Returns every setting by its key: from ``overrides``, else the environment, else the default.

    Other keys of ``overrides``, such as Flask's TESTING, are passed through. Raises ValueError for
    a variable that is not a number or not one of the choices.
    """
    settings = dict(overrides or {})
    for setting in SETTINGS:
        text = os.environ.get(setting.variable, setting.default)
        try:
            # A setting is an integer or a text, as its default is.
            value = settings.setdefault(setting.key, type(setting.default)(text))
        except ValueError:
            raise ValueError(f"{setting.variable} is {text!r}; use a whole number") from None
        if setting.choices and value not in setting.choices:
            choices = ", ".join(setting.choices)
            raise ValueError(f"{setting.name} is {value!r}; it must be one of {choices}")
    return settings
