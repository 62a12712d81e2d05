"""``deniably serve``: runs a server on this machine."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from deniably_server.commands.database import open_store, settings_options

if TYPE_CHECKING:
    from socket import socket

    from deniably_server.guard.public_address import PublicAddress
    from deniably_server.wire.certificate import OwnCertificate

_STDERR = 2


@click.command()
@click.option("--open", "opens", is_flag=True, help="Open the studio in this machine's browser.")
@settings_options()
@click.pass_context
def serve(context: click.Context, /, opens: bool, **options: str | int) -> None:
    """Run a server. The first start prints a link to set up the studio, which works once.

    It listens to this machine alone. For phones in the same network use --public; for a server on
    the internet see the handbook.
    """
    from deniably_server.errors import Conflict
    from deniably_server.guard.admin_link import first_link
    from deniably_server.guard.host_names import host_names
    from deniably_server.guard.own_address import named_address
    from deniably_server.serving import serve as run

    hold_standard_streams()
    try:
        host_names(str(options["hosts"]))
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    with ExitStack() as stack:
        listening = _listening(context, options, stack)
        store = open_store(str(options["database"]), wait=True)
        try:
            stack.enter_context(store.engine.serving())
        except Conflict as error:
            raise click.ClickException(error.why) from None
        secret = first_link(store)
        # Before processes are forked: they must not share a connection.
        store.close()
        click.echo(f"Deniably listens on {listening.address}")
        for line in listening.lines:
            click.echo(line)
        public_name = named_address(str(options["hosts"]), listening.port)
        own = public_name if public_name and not options["public"] else listening.address
        if secret:
            click.echo(f"Open this once, today or tomorrow: {own}/studio/start#{secret}")
            click.echo(f"Or, for tokens to use in a terminal: {own}/admin#{secret}")
        if opens:
            click.launch(f"{own}/studio/{f'start#{secret}' if secret else ''}")
        config = {name.upper(): value for name, value in options.items()}
        tls = listening.certificate.context() if listening.certificate else None
        run(config | listening.config, listening.sockets, tls)


@dataclass(frozen=True)
class _Listening:
    """The sockets that the server listens on; the ``lines`` to print besides the first
    ``address``; and the settings that follow for the application."""

    sockets: list[socket]
    lines: list[str] = field(default_factory=list[str])
    config: dict[str, object] = field(default_factory=dict[str, object])
    certificate: OwnCertificate | None = None

    @property
    def port(self) -> int:
        """The port, which the system may have picked."""
        return int(self.sockets[0].getsockname()[1])

    @property
    def address(self) -> str:
        """The address for this machine itself."""
        host = self.sockets[0].getsockname()[0]
        return f"http://{f'[{host}]' if ':' in host else host}:{self.port}"


def _listening(
    context: click.Context, options: dict[str, str | int], stack: ExitStack
) -> _Listening:
    """Opens the sockets. Raises UsageError and ClickException."""
    from deniably_server.guard.public_address import LOOPBACK, NoPublicAddress, public_address

    def opened(host: str, port: int) -> socket:
        from deniably_server.wire.listening import AddressTaken, claim

        try:
            return stack.enter_context(claim(host, port))
        except AddressTaken as error:
            raise click.ClickException(str(error)) from None

    port = int(options["port"])
    if not options["public"]:
        return _Listening([opened(str(options["host"]), port)])
    if context.get_parameter_source("host") is not ParameterSource.DEFAULT:
        raise click.UsageError("say once where to listen: --host, or --public=ADDRESS")
    try:
        public = public_address(str(options["public"]))
    except NoPublicAddress as error:
        raise click.ClickException(str(error)) from None
    if public.own is None:
        return _behind(public, opened(LOOPBACK, port), context, options)
    certificate = _certificate(public.own)
    # First the public one: for port 0 the system picks, and both have the same port.
    outside = opened(public.own, port)
    return _itself(public, [opened(LOOPBACK, outside.getsockname()[1]), outside], certificate,
                   options)  # fmt: skip


def _behind(
    public: PublicAddress, held: socket, context: click.Context, options: dict[str, str | int]
) -> _Listening:
    """Listens behind something that has the public address and a certificate for it."""
    listening = _Listening([held])
    listening.lines.append(
        f"Phones reach it at {public.url(listening.port)}, through what you run in front of port"
        f" {listening.port}"
    )
    listening.config.update(
        PUBLIC_URL=public.url(listening.port),
        OWN_CERTIFICATE=False,
        HOSTS=public.hosts(str(options["hosts"])),
    )
    # Else all phones behind the tunnel would count as this machine itself, which has no limits.
    if context.get_parameter_source("proxies") is ParameterSource.DEFAULT:
        listening.config["PROXIES"] = 1
    return listening


def _itself(
    public: PublicAddress, held: list[socket], certificate: OwnCertificate,
    options: dict[str, str | int],
) -> _Listening:  # fmt: skip
    """Listens at an address of this machine, with its own certificate."""
    from deniably_server.wire.certificate import local_name

    listening = _Listening(held, certificate=certificate)
    listening.lines.extend(_public_lines(public, listening.port, certificate))
    listening.config.update(
        PUBLIC_URL=public.url(listening.port),
        OWN_CERTIFICATE=True,
        HOSTS=public.hosts(str(options["hosts"]), local_name()),
    )
    return listening


def _public_lines(public: PublicAddress, port: int, certificate: OwnCertificate) -> Iterator[str]:
    from deniably_server.guard.machine_addresses import addresses
    from deniably_server.guard.public_address import tunnels

    yield f"Phones reach it at {public.url(port)}"
    yield (
        "Phones warn before the first page, because this machine made its certificate itself:"
        f" {certificate.file}, used again until {certificate.last_day}, SHA-256"
        f" {certificate.fingerprint}"
    )
    if other_addresses := [
        f"{address} ({name})" for address, name in addresses().items() if address != public.own
    ]:
        yield f"Other addresses of this machine, for --public=ADDRESS: {', '.join(other_addresses)}"
    for call in tunnels(port):
        yield f"For phones that do not warn, run {call}, and start this with --public=https://NAME"


def _certificate(address: str) -> OwnCertificate:
    from deniably.core.user_folder import home
    from deniably_server.wire.certificate import own_certificate

    folder = home() / "certificates"
    try:
        return own_certificate(address, folder)
    except OSError as error:
        raise click.ClickException(
            f"cannot keep a certificate in {folder}: {error.strerror}; DENIABLY_HOME names another"
            " folder"
        ) from None


def hold_standard_streams() -> None:
    """Opens closed standard streams on /dev/null.

    Otherwise the next file or connection would get the number of a closed stream, and output meant
    for that stream would go there.
    """
    while (opened := os.open(os.devnull, os.O_RDWR)) <= _STDERR:
        pass
    os.close(opened)
