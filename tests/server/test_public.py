"""A server that phones reach: at an address of this machine, with a certificate that it makes."""

from __future__ import annotations

import os
import re
import signal
import socket
import ssl
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

import pytest
import requests
from cryptography import x509

from deniably_client.device import Device
from deniably_server.guard import machine_addresses, public_address
from deniably_server.guard.public_address import AUTO, NoPublicAddress, tunnels
from deniably_server.wire import certificate
from deniably_server.wire.certificate import own_certificate
from support.commands import call
from support.material import PublicServer, a_report, contents, survey_named
from support.nursery import Nursery

SURVEY = survey_named()
ADDRESS = "192.168.1.7"


# --- the address --------------------------------------------------------------------------------


@pytest.fixture
def at_home(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """A machine in one network, and in another of its own."""
    found = {ADDRESS: "wlan0", "172.17.0.1": "docker0", "fd00::7": "wlan0"}
    monkeypatch.setattr(public_address, "addresses", lambda: found)
    monkeypatch.setattr(public_address, "usual_address", lambda: ADDRESS)
    monkeypatch.setattr(public_address, "is_own", found.__contains__)
    return found


@pytest.mark.usefixtures("at_home")
@pytest.mark.parametrize(
    ("setting", "url", "hosts"),
    [
        (AUTO, f"https://{ADDRESS}:8000", f"{ADDRESS}, localhost, 127.0.0.1, [::1]"),
        ("172.17.0.1", "https://172.17.0.1:8000", "172.17.0.1, localhost, 127.0.0.1, [::1]"),
        ("[fd00::7]", "https://[fd00::7]:8000", "[fd00::7], localhost, 127.0.0.1, [::1]"),
        ("fd00::7", "https://[fd00::7]:8000", "[fd00::7], localhost, 127.0.0.1, [::1]"),
        ("https://a.example/", "https://a.example", "a.example, localhost, 127.0.0.1, [::1]"),
        ("https://a.example:8443", "https://a.example:8443",
         "a.example, localhost, 127.0.0.1, [::1]"),
    ],
)  # fmt: skip
def test_phones_reach_the_address_and_the_server_answers_to_no_other(
    setting: str, url: str, hosts: str
) -> None:
    found = public_address.public_address(setting)

    assert found.url(8000) == url
    assert found.hosts("") == hosts


@pytest.mark.usefixtures("at_home")
@pytest.mark.parametrize(
    ("setting", "why"),
    [
        ("10.9.9.9", f"10.9.9.9 is no address of this machine, which has {ADDRESS} (wlan0), 172"),
        ("127.0.0.1", "phones cannot reach 127.0.0.1"),
        ("0.0.0.0", "phones cannot reach 0.0.0.0"),
        ("::1", "phones cannot reach ::1"),
        ("http://a.example", "does not begin with https://"),
        ("https://a.example/s/class", "is no address of a server"),
        ("https://a@b", "is no address of a server"),
        ("https://", "is no address of a server"),
        ("laptop.local", "is no address: --public is one of this machine's numbers"),
        ("192.168.1", "is no address: "),
    ],
)
def test_what_phones_cannot_reach_is_refused_with_what_they_can(setting: str, why: str) -> None:
    with pytest.raises(NoPublicAddress, match=re.escape(why)):
        public_address.public_address(setting)


def test_without_a_usual_address_it_asks_for_one_of_those_that_there_are(
    at_home: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(public_address, "usual_address", lambda: None)
    with pytest.raises(NoPublicAddress, match=r"has 192.168.1.7 \(wlan0\), .*; say which"):
        public_address.public_address(AUTO)
    at_home.clear()
    with pytest.raises(NoPublicAddress, match=r"this machine is in no network: .* connect it"):
        public_address.public_address(AUTO)


def test_this_machine_has_the_addresses_that_it_is_said_to_have() -> None:
    known = machine_addresses.addresses()

    assert all(map(machine_addresses.is_own, known))
    assert not machine_addresses.is_own("203.0.113.9")
    assert not any(ip_address(each).is_loopback for each in known)
    assert machine_addresses.usual_address() in {None, *known}


def test_an_installed_tunnel_is_named_with_its_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stand-ins: what the real programs do with these calls is not tried here."""
    monkeypatch.setenv("PATH", str(tmp_path))
    assert tunnels(8000) == []
    for name in ("cloudflared", "tailscale"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    assert tunnels(8123) == [
        "cloudflared tunnel --url http://127.0.0.1:8123",
        "tailscale funnel 8123",
    ]


# --- the certificate ----------------------------------------------------------------------------


@pytest.fixture
def laptop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "gethostname", lambda: "Laptop.example.org")


def read(file: Path) -> x509.Certificate:
    return x509.load_pem_x509_certificate(file.read_bytes())


@pytest.mark.usefixtures("laptop")
@pytest.mark.parametrize("address", [ADDRESS, "fd00::7"])
def test_a_certificate_is_for_the_number_and_the_local_name_for_a_term(
    tmp_path: Path, address: str
) -> None:
    made = own_certificate(address, tmp_path / "certificates")

    names = read(made.file).extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.IPAddress) == [ip_address(address)]
    assert names.get_values_for_type(x509.DNSName) == ["laptop.local"]
    now = datetime.now(UTC)
    assert read(made.file).not_valid_before_utc < now - timedelta(hours=23)
    assert timedelta(days=179) < read(made.file).not_valid_after_utc - now < timedelta(days=398)
    assert datetime.fromisoformat(made.last_day).date() < read(made.file).not_valid_after_utc.date()
    assert stat.S_IMODE(made.file.stat().st_mode) == 0o600
    assert stat.S_IMODE(made.file.parent.stat().st_mode) == 0o700
    assert [*made.file.parent.iterdir()] == [made.file]
    made.context()


@pytest.mark.usefixtures("laptop")
def test_it_is_used_again_so_that_phones_need_not_accept_twice(tmp_path: Path) -> None:
    first = own_certificate(ADDRESS, tmp_path)
    elsewhere = own_certificate("10.0.0.9", tmp_path)

    assert own_certificate(ADDRESS, tmp_path).fingerprint == first.fingerprint
    assert own_certificate("10.0.0.9", tmp_path).fingerprint == elsewhere.fingerprint
    assert len({first.fingerprint, elsewhere.fingerprint}) == 2


def ends_soon(file: Path, patch: pytest.MonkeyPatch) -> None:
    patch.setattr(certificate, "_LEFT", timedelta(days=181))


def has_another_name(file: Path, patch: pytest.MonkeyPatch) -> None:
    patch.setattr(socket, "gethostname", lambda: "other")


def is_read_by_others(file: Path, patch: pytest.MonkeyPatch) -> None:
    file.chmod(0o640)


def is_torn(file: Path, patch: pytest.MonkeyPatch) -> None:
    file.write_bytes(file.read_bytes()[:700])


def is_of_another_address(file: Path, patch: pytest.MonkeyPatch) -> None:
    file.write_bytes(own_certificate("10.0.0.9", file.parent).file.read_bytes())


def has_the_key_of_another(file: Path, patch: pytest.MonkeyPatch) -> None:
    key = own_certificate("10.0.0.9", file.parent).file.read_text().partition("-----BEGIN CERT")[0]
    file.write_text(key + "-----BEGIN CERT" + file.read_text().partition("-----BEGIN CERT")[2])


@pytest.mark.usefixtures("laptop")
@pytest.mark.parametrize(
    "fault",
    [ends_soon, has_another_name, is_read_by_others, is_torn, is_of_another_address,
     has_the_key_of_another],
)  # fmt: skip
def test_one_that_is_no_good_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    fault: Callable[[Path, pytest.MonkeyPatch], None],
) -> None:  # fmt: skip
    first = own_certificate(ADDRESS, tmp_path)
    fault(first.file, monkeypatch)

    second = own_certificate(ADDRESS, tmp_path)

    assert second.fingerprint != first.fingerprint
    assert stat.S_IMODE(second.file.stat().st_mode) == 0o600
    second.context()


def test_a_host_name_that_is_no_name_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("localhost", "my laptop", "", "-x", "é"):
        monkeypatch.setattr(socket, "gethostname", lambda name=name: name)
        assert certificate.local_name() is None
    made = own_certificate(ADDRESS, tmp_path)
    names = read(made.file).extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert len(list(names)) == 1


# --- the server ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PublicServer]:
    server = PublicServer(tmp_path_factory.mktemp("running") / "deniably.db")
    server.publish(SURVEY)
    yield server
    assert "Traceback" not in server.log
    server.kill()


def verified(server: PublicServer, path: str, **more: object) -> requests.Response:
    return requests.get(server.public + path, verify=str(server.certificate), timeout=30, **more)  # type: ignore[arg-type]


def test_a_device_answers_at_the_address_for_phones(
    running: PublicServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(running.certificate))

    Device(f"{running.public}/s/workplace").answer({"stolen": "yes", "often": "never"})

    assert contents(running.database)["reports"]


def test_it_speaks_tls_to_others_and_none_to_this_machine(running: PublicServer) -> None:
    assert verified(running, "/healthz").status_code == 200
    assert requests.get(f"{running.url}/healthz", timeout=30).status_code == 200
    with pytest.raises(requests.exceptions.SSLError, match=r"self.signed certificate"):
        requests.get(f"{running.public}/healthz", timeout=30)
    with pytest.raises(requests.ConnectionError):
        requests.get(f"http://{running.address}:{running.port}/healthz", timeout=30)


def test_it_speaks_no_old_tls_and_gives_no_tickets(running: PublicServer) -> None:
    """A ticket would tell that two visits are of one phone."""
    context = own_certificate(running.address, running.certificate.parent).context()
    assert context.minimum_version == ssl.TLSVersion.TLSv1_2
    with running.connect() as line:
        assert isinstance(line, ssl.SSLSocket)
        line.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        while line.recv(65536):
            pass
        assert line.session is None or not line.session.has_ticket


def test_it_answers_to_its_own_names_alone(running: PublicServer) -> None:
    """A page elsewhere whose name leads here reads nothing."""
    assert verified(running, "/").status_code == 200
    assert verified(running, "/", headers={"Host": "localhost"}).status_code == 200
    foreign = verified(running, "/", headers={"Host": "evil.example"})
    assert foreign.status_code == 421


def test_what_needs_a_token_needs_one_there_too(running: PublicServer) -> None:
    for path in ("/metrics", "/api/tokens"):
        assert verified(running, path).status_code == 401, path


def test_a_report_leaves_no_address_behind(running: PublicServer) -> None:
    headers = {"Content-Type": "application/json"}
    answer = requests.post(
        f"{running.public}/api/surveys/workplace/reports", a_report(SURVEY).canonical,
        headers=headers, verify=str(running.certificate), timeout=30,
    )  # fmt: skip

    assert answer.status_code == 201
    kept = str(contents(running.database))
    assert running.address not in kept
    said = running.log.splitlines()
    assert [line for line in said if running.address in line] == said[1:3], "its own, at the start"


def test_the_next_start_shows_the_same_certificate(tmp_path: Path) -> None:
    shown = set()
    for start in ("first", "second"):
        server = PublicServer(tmp_path / f"{start}.db")
        shown.add(ssl.get_server_certificate((server.address, server.port), timeout=30))
        assert server.stop() == 0
    assert len(shown) == 1


def test_a_tunnel_in_front_is_believed_about_the_address(tmp_path: Path) -> None:
    from support.material import Server

    server = Server(tmp_path / "deniably.db", "--public=https://quiet-river.example.org")
    server.publish(SURVEY)

    page = requests.get(f"{server.url}/surveys/workplace/class", timeout=30).text
    through = requests.get(
        f"{server.url}/", headers={"Host": "quiet-river.example.org"}, timeout=30
    )
    foreign = requests.get(f"{server.url}/", headers={"Host": "evil.example"}, timeout=30)
    server.stop()

    assert 'href="https://quiet-river.example.org/s/workplace"' in page
    assert '<ol class="steps">' not in page
    assert (through.status_code, foreign.status_code) == (200, 421)
    assert "through what you run in front of port" in server.log


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["--public=203.0.113.9"], "203.0.113.9 is no address of this machine, which has"),
        (["--public=127.0.0.1"], "phones cannot reach 127.0.0.1"),
        (["--public=nowhere"], "'nowhere' is no address"),
        (["--public", "--host", "127.0.0.1"], "say once where to listen"),
    ],
)
def test_serve_says_in_a_sentence_what_is_wrong(
    tmp_path: Path, options: list[str], why: str
) -> None:
    done = call("serve", "--database", str(tmp_path / "deniably.db"), *options)

    assert done.returncode in (1, 2)
    assert why in " ".join(done.stderr.split())
    assert not (tmp_path / "deniably.db").exists()


def test_a_port_that_is_taken_is_said(running: PublicServer, tmp_path: Path) -> None:
    done = call("serve", "--database", str(tmp_path / "deniably.db"), "--port", str(running.port),
                f"--public={running.address}")  # fmt: skip

    assert done.returncode == 1
    assert f"cannot listen on {running.address}, port {running.port}: Address already in use;" in (
        done.stderr
    )
    assert "choose another one with --port" in done.stderr


# --- one command for a class --------------------------------------------------------------------


def class_on(folder: Path, *options: str) -> list[str]:
    """The words of ``deniably lab class --public`` at this machine's address."""
    address = machine_addresses.usual_address()
    if address is None:
        pytest.skip("this machine is in no network")
    return ["lab", "class", f"--public={address}",
            "--question", "Have you ever copied homework?", "--name", "homework",
            "--database", str(folder / "deniably.db"), "--port", "0", *options]  # fmt: skip


class Class:
    """``deniably lab class --public`` in a terminal; it is killed at the end of the block."""

    def __init__(self, folder: Path, *options: str) -> None:
        self._out = folder / "out"
        command = [sys.executable, "-m", "deniably_client", *class_on(folder, *options)]
        hidden = {key: value for key, value in os.environ.items() if "TOKEN" not in key}
        with self._out.open("w") as out:
            self.process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=out, stderr=subprocess.STDOUT, text=True,
                start_new_session=True, env=hidden | {"PYTHONUNBUFFERED": "1"},
            )  # fmt: skip

    def __enter__(self) -> Class:
        return self

    def __exit__(self, *_: object) -> None:
        with self.process, suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)

    def see(self, pattern: str) -> str:
        """The first part of the output that is like this, once it is there."""
        until = time.monotonic() + 60
        while not (found := re.search(pattern, self.said, re.MULTILINE)):
            assert self.process.poll() is None, self.said
            assert time.monotonic() < until, self.said
            time.sleep(0.02)
        return found[1]

    @property
    def said(self) -> str:
        return self._out.read_text()

    def press_enter(self) -> None:
        assert self.process.stdin
        self.process.stdin.write("\n")
        self.process.stdin.flush()


@pytest.mark.thorough
def test_a_teacher_asks_a_class_with_one_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Class(tmp_path, "--people", "6") as there:
        public = there.see(r"^Phones reach it at (\S+)")
        monkeypatch.setenv("REQUESTS_CA_BUNDLE", there.see(r"certificate itself: (.*?), used"))
        wall = there.see(r"^class +(http://127\.0\.0\.1:\S+)")
        there.see("(Press Enter)")

        page = requests.get(wall, timeout=30).text
        for _ in range(6):
            Device(f"{public}/s/homework").answer({"answer": "yes"})
        there.press_enter()
        there.see("(homework is closed, with 6 reports)")
        closed = requests.get(wall, timeout=30).text
        there.process.terminate()
        status = there.process.wait(30)

    assert f'<a href="{public}/s/homework">' in page
    assert '<ol class="steps"><li>Your phone warns you' in page
    assert "6 reports" in closed
    assert status == 0
    assert "Traceback" not in there.said
    assert "/admin#" not in there.said, "no secret stands on the wall"
    with pytest.raises(requests.ConnectionError):
        requests.get(wall, timeout=5)


def test_a_class_that_cannot_begin_publishes_nothing(
    running: PublicServer, nursery: Nursery, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    status = nursery.begin(class_on(tmp_path, "--port", str(running.port)), out).wait(60)

    said = out.read_text()
    assert status == 1
    assert "Address already in use" in said
    assert "the server did not start" in said
    assert "published" not in said
    assert "Traceback" not in said


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["--public", "--server", "http://127.0.0.1:8000"], "leave --server out"),
        (["--database", "x.db"], "are for the server that --public starts"),
        (["--port", "8001", "--dry-run"], "are for the server that --public starts"),
    ],
)
def test_options_of_two_servers_are_refused(options: list[str], why: str) -> None:
    done = call("lab", "class", "--question", "Is it so?", *options)

    assert done.returncode == 2
    assert why in " ".join(done.stderr.split())
