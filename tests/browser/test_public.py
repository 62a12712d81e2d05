"""Phones in a network of their own, with a real browser that knows nothing of the certificate.

The phone is a network namespace with its own address, which needs root: without, nothing of this
can be tried. So is the laptop: an address that came and went on this machine would end what other
browsers on it are loading.
"""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
import requests
from playwright.sync_api import Browser, Error, Page
from playwright.sync_api import TimeoutError as Late

from deniably.authoring.compiling import publish_text
from support.material import Process, Server
from support.phone import PHONE, Watched

pytestmark = [pytest.mark.browser, pytest.mark.thorough]

TEXT = """
name: class
title: A question to the class
results: {minimum: 1, while_open: true}
questions: [{name: answer, type: yes_no, label: Have you ever copied homework?, odds: 3}]
"""
AGAIN = "thisisunsafe"
"""What Chromium takes, typed on its warning, for the two taps that open the page."""


_OF_NETWORK = 0x40000000
"""CLONE_NEWNET of Linux."""


class Network:
    """A cable between a laptop and a phone, with an address at either end."""

    def __init__(self) -> None:
        self._laptop, self._phone = (f"deniably-{os.getpid()}-{end}" for end in ("laptop", "phone"))
        self.laptop, self.phone = "10.213.1.1", "10.213.1.2"

    def lay(self) -> None:
        """Raises CalledProcessError where this is not permitted."""
        for call in (
            f"netns add {self._laptop}",
            f"netns add {self._phone}",
            f"link add cable netns {self._laptop} type veth peer name cable netns {self._phone}",
            f"-n {self._laptop} addr add {self.laptop}/24 dev cable",
            f"-n {self._phone} addr add {self.phone}/24 dev cable",
            f"-n {self._laptop} link set lo up",
            # No address of IPv6 either, which comes a second later and ends what is being loaded.
            f"-n {self._laptop} link set cable addrgenmode none up",
            f"-n {self._phone} link set cable addrgenmode none up",
        ):
            subprocess.run(["ip", *call.split()], check=True, capture_output=True)

    def cut(self) -> None:
        """Remove all of it."""
        for name in (self._laptop, self._phone):
            subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)

    def on_the_phone(self, *command: str) -> list[str]:
        """The command, as it is called there."""
        return ["ip", "netns", "exec", self._phone, *command]

    @contextmanager
    def on_the_laptop(self) -> Iterator[None]:
        """Whatever this thread starts or connects to meanwhile is there."""
        libc = ctypes.CDLL(None, use_errno=True)
        with (
            Path("/proc/thread-self/ns/net").open() as here,
            Path(f"/run/netns/{self._laptop}").open() as there,
        ):
            assert libc.setns(there.fileno(), _OF_NETWORK) == 0, os.strerror(ctypes.get_errno())
            try:
                yield
            finally:
                assert libc.setns(here.fileno(), _OF_NETWORK) == 0


@pytest.fixture(scope="module")
def network() -> Iterator[Network]:
    if shutil.which("ip") is None:
        pytest.skip("needs ip of iproute2")
    network = Network()
    try:
        network.lay()
    except subprocess.CalledProcessError as error:
        network.cut()
        pytest.skip(f"a network namespace is not permitted: {error.stderr!r}")
    yield network
    network.cut()


def begin_here(arguments: list[str], out: Path) -> Process:
    """The command, begun by this thread, so in the network where it is."""
    command = [sys.executable, "-m", "deniably_client", *arguments]
    with out.open("a") as writes:
        return subprocess.Popen(command, stdout=writes, stderr=writes, start_new_session=True)


@pytest.fixture(scope="module")
def laptop(network: Network, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("laptop")
    with network.on_the_laptop():
        server = Server(folder / "deniably.db", f"--public={network.laptop}", begin=begin_here)
    server.publish(publish_text(TEXT))
    yield server
    assert "Traceback" not in server.log
    assert network.phone not in server.log
    server.kill()


def public(server: Server) -> str:
    (found,) = re.findall(r"^Phones reach it at (\S+)", server.log, re.MULTILINE)
    return str(found)


def go_past_the_warning(page: Page) -> None:
    """Where it is there, it may not listen yet."""
    page.wait_for_selector("#details-button")
    for _ in range(15):
        page.keyboard.type(AGAIN)
        with suppress(Late):
            page.wait_for_selector("#survey", state="attached", timeout=2_000)
            return


def test_a_phone_opens_the_form_past_the_warning_and_sends_its_answer(
    network: Network, laptop: Server, tmp_path: Path, chromium: Browser
) -> None:
    """Then its page is a secure one, with cryptography. No service worker is installed, as Chromium
    fetches its script with no exception: the form works without."""
    full = shutil.which("chromium")
    if full is None:
        pytest.skip("needs chromium: chromium-headless-shell has no page that warns")
    there = tmp_path / "chromium"
    command = " ".join(network.on_the_phone(full))
    there.write_text(f'#!/bin/sh\nexec {command} "$@"\n')
    there.chmod(0o755)
    browser = chromium.browser_type.launch(executable_path=there, args=["--no-sandbox"])
    context = browser.new_context(viewport=PHONE, has_touch=True, is_mobile=True)
    phone, form = Watched(context.new_page(), laptop), f"{public(laptop)}/s/class"

    with pytest.raises(Error, match="ERR_CERT_AUTHORITY_INVALID"):
        phone.page.goto(form)
    go_past_the_warning(phone.page)
    phone.see("#survey[data-kept]")
    secure = phone.page.evaluate("[isSecureContext, typeof crypto.subtle]")
    workers = phone.page.evaluate(
        "navigator.serviceWorker.getRegistrations().then(({ length }) => length)"
    )
    phone.answer("Yes")
    phone.send()
    phone.wait("receipt")
    browser.close()

    assert secure == [True, "object"]
    assert workers == 0
    assert {one.url.partition("/s/")[0] for one in phone.posts()} == {
        f"{public(laptop)}/api/surveys/class/reports"
    }
    with network.on_the_laptop():
        results = requests.get(f"{laptop.url}/api/surveys/class/results", timeout=30)
    assert results.status_code == 200


def test_curl_and_a_device_reach_it_from_there_by_https_alone(
    network: Network, laptop: Server
) -> None:
    (certificate,) = re.findall(r"certificate itself: (.*?), used again", laptop.log)

    def there(*command: str, **more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            network.on_the_phone(*command), capture_output=True, text=True, timeout=60,
            env=os.environ | more, check=False,
        )  # fmt: skip

    if shutil.which("curl"):
        fetch = ("curl", "--silent", "--show-error", "--max-time", "20")
        known = there(*fetch, "--cacert", certificate, f"{public(laptop)}/healthz")
        unknown = there(*fetch, f"{public(laptop)}/healthz")
        plain = there(*fetch, f"http://{network.laptop}:{laptop.port}/healthz")
        assert known.stdout == "alive\n"
        assert "certificate" in unknown.stderr
        assert plain.stdout == ""
        assert plain.returncode != 0
    program = f"from deniably_client.device import Device; Device({public(laptop)!r} + '/s/class')"
    program += ".answer({'answer': 'yes'})"
    device = there(sys.executable, "-c", program, REQUESTS_CA_BUNDLE=certificate)
    assert (device.returncode, device.stderr) == (0, "")


def test_a_machine_in_no_network_says_so(network: Network, tmp_path: Path) -> None:
    """One that has its loopback address, and nothing else."""
    done = subprocess.run(
        ["unshare", "--net", sys.executable, "-m", "deniably_client", "serve", "--public",
         "--database", str(tmp_path / "deniably.db")],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip

    assert done.returncode == 1
    assert "this machine is in no network" in done.stderr
    assert "connect it to the network of the phones" in " ".join(done.stderr.split())


def test_without_a_way_to_other_networks_the_only_address_is_taken(
    network: Network, tmp_path: Path
) -> None:
    """A hotspot without the internet will do."""
    out = tmp_path / "out"
    command = [sys.executable, "-m", "deniably_client", "serve", "--public", "--port", "0",
               "--database", str(tmp_path / "deniably.db")]  # fmt: skip
    up = f"ip link set lo up && exec {' '.join(command)}"
    with (
        out.open("w") as writes,
        subprocess.Popen(
            network.on_the_phone("sh", "-c", up), stdout=writes, stderr=writes
        ) as process,
    ):
        until = time.monotonic() + 60
        while "certificate itself" not in out.read_text():
            assert process.poll() is None, out.read_text()
            assert time.monotonic() < until, out.read_text()
            time.sleep(0.02)
        process.terminate()

    assert f"Phones reach it at https://{network.phone}:" in out.read_text()
