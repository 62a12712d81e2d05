"""What operators copy works: parsed, run where it can be, and in step with the settings.

No container runs here: of the Containerfile the steps are checked, not their execution.
"""

from __future__ import annotations

import datetime
import json
import re
import shlex
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import requests
import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from deniably_server.mixing.survey_server import source_at
from deniably_server.settings import MIXER_SETTINGS, SETTINGS
from deniably_server.storage.store import Store
from deniably_server.watching.metrics import Metrics
from deniably_server.watching.request_facts import AnsweredRequest
from deniably_server.web.problems import KINDS
from support.commands import call
from support.material import Server, a_report, lines_headers, new_token, survey_named
from support.pages import PAGES

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "server/deploy"


def needs(program: str) -> Callable[[Any], Any]:
    found = shutil.which(program)
    return pytest.mark.skipif(found is None, reason=f"{program} is not installed")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    server = Server(tmp_path / "deniably.db")
    yield server
    server.kill()


# --- settings ---------------------------------------------------------------------------------


def test_the_table_of_settings_is_that_of_the_program() -> None:
    listed = PAGES["commands.md"].partition("## deniably serve")[2].partition("\n## ")[0]

    for one in SETTINGS:
        (row,) = [line for line in listed.splitlines() if f"[{one.variable}]" in line]
        assert one.help in row
        assert f"default: {one.default}" in row.replace('""', "")


@pytest.mark.parametrize("name", ["compose.yaml", "Containerfile", "deniably.service"])
def test_every_variable_that_is_set_is_one(name: str) -> None:
    text = (DEPLOY / name).read_text(encoding="utf-8")

    assert set(re.findall(r"\bDENIABLY_[A-Z]+", text)) <= {one.variable for one in SETTINGS}


def test_every_variable_of_a_mixer_is_one() -> None:
    text = (DEPLOY / "mixer.yaml").read_text(encoding="utf-8")

    known = {one.variable for one in MIXER_SETTINGS}
    assert set(re.findall(r"\bDENIABLY_[A-Z_]+", text)) <= known


# --- the operator's page --------------------------------------------------------------------------

OPERATING = PAGES["operators.md"]


def test_what_is_watched_is_reported() -> None:
    (rules,) = yaml.safe_load(re.findall(r"```yaml\n(.*?)```", OPERATING, re.DOTALL)[0])["groups"]
    watched = {
        name for rule in rules["rules"] for name in re.findall(r"deniably_\w+", rule["expr"])
    }
    page = Metrics()
    page.failed()
    page.computation("holders", "refused")
    page.add(AnsweredRequest("GET", "/", 503, 1, ""))

    told = re.findall(r"^(deniably_\w+)", page.page(lambda: 1.0).decode(), re.MULTILINE)

    assert watched <= set(told)


def test_the_problems_that_operators_are_told_of_are_answered() -> None:
    known = {kind.status for kind in KINDS.values()}
    told = {int(status) for status in re.findall(r"\b([45]\d\d)\b", OPERATING)}

    assert told - {431} <= known, "this one is said before there is a request"


# --- containers ---------------------------------------------------------------------------------


def test_the_container_runs_as_nobody_and_has_no_build_tools() -> None:
    build, final = re.split(r"^FROM ", _containerfile(), flags=re.MULTILINE)[1:]

    assert "AS build" in build
    assert "USER 10001:10001" in final
    assert "pip uninstall --yes --quiet pip setuptools wheel" in final
    assert "pip install" not in final
    assert "apt-get" not in build + final
    assert {"HEALTHCHECK", "STOPSIGNAL"} <= set(re.findall(r"^[A-Z]+", final, re.MULTILINE))


def test_the_container_copies_what_is_there_and_all_that_the_wheel_needs() -> None:
    copied = re.findall(r"^COPY (?!--from)(.+) \S+$", _containerfile(), re.MULTILINE)
    paths = [path for line in copied for path in line.split()]

    assert all((ROOT / path).exists() for path in paths), paths
    packages = re.search(r"wheel\]\npackages = \[(.+)\]", (ROOT / "pyproject.toml").read_text())
    assert packages is not None
    assert set(re.findall(r'"(.+?)"', packages[1])) <= set(paths)


def test_the_containers_check_of_its_health_asks_the_server(server: Server) -> None:
    (check,) = re.findall(r'CMD \["python", "-c", "(.+)"\]', _containerfile())
    here = check.replace(":8000", f":{server.port}")

    assert subprocess.run([sys.executable, "-c", here], timeout=60).returncode == 0
    server.kill()
    assert subprocess.run([sys.executable, "-c", here], timeout=60, stderr=-3).returncode != 0


def _containerfile() -> str:
    return (DEPLOY / "Containerfile").read_text(encoding="utf-8")


def test_the_compose_file_has_no_default_password_and_hides_the_database() -> None:
    text = (DEPLOY / "compose.yaml").read_text(encoding="utf-8")
    document = yaml.safe_load(text)
    server, database = (document["services"][name] for name in ("server", "database"))

    assert len(re.findall(r"\$\{POSTGRES_PASSWORD:\?[^}]+\}", text)) == 2
    assert len(re.findall(r"\$\{?POSTGRES_PASSWORD", text)) == 2, "and no other way"
    assert "ports" not in database
    assert document["networks"]["back"] == {"internal": True}
    assert server["ports"] == ["127.0.0.1:8000:8000"]
    assert server["read_only"] is True
    assert server["cap_drop"] == ["ALL"]
    assert all("no-new-privileges:true" in each["security_opt"] for each in (server, database))


def test_the_mixers_compose_file_has_a_mixer_alone_that_runs(tmp_path: Path) -> None:
    """Of another party than a server's. Its command is the program's, with its settings."""
    document = yaml.safe_load((DEPLOY / "mixer.yaml").read_text(encoding="utf-8"))
    (mixer,) = document["services"].values()

    assert mixer["command"] == ["mix", "serve"]
    assert mixer["ports"] == ["127.0.0.1:8000:8000"]
    assert mixer["read_only"] is True
    assert mixer["cap_drop"] == ["ALL"]
    assert "no-new-privileges:true" in mixer["security_opt"]
    (volume,) = mixer["volumes"]
    kept = mixer["environment"]["DENIABLY_MIXER_DATABASE"]
    assert Path(kept).parent == Path(volume.partition(":")[2]), "the one place that is written to"
    assert mixer["build"]["dockerfile"] == str((DEPLOY / "Containerfile").relative_to(ROOT))


def test_the_commands_of_the_mixers_file_are_the_programs(tmp_path: Path) -> None:
    text = (DEPLOY / "mixer.yaml").read_text(encoding="utf-8")
    said = re.sub(r" \\\n#\s+", " ", text)
    offer, accept = (
        shlex.split(line.strip()) for line in re.findall(r"exec mixer deniably (mix .+)", said)
    )
    database = ("--database", str(tmp_path / "mixer.db"))

    made = call(*offer, *database)
    refused = call(*accept[:2], "https://survey.example.org/elsewhere", *database)

    assert made.returncode == 0, made.stderr
    assert json.loads(made.stdout)["address"] == "https://mixer.example.net"
    assert source_at(accept[2]).name == "workplace"
    assert "a survey's address looks like" in refused.stderr


def test_a_mixer_starts_with_the_variables_of_its_file(tmp_path: Path) -> None:
    """As the container starts it: with a name of its own, and another database."""
    document = yaml.safe_load((DEPLOY / "mixer.yaml").read_text(encoding="utf-8"))
    (service,) = document["services"].values()
    database = tmp_path / "mixer.db"
    known = {
        "DENIABLY_MIXER_DATABASE": str(database),
        "DENIABLY_HOSTS": "mixer.example.net",
        "DENIABLY_LOG": "off",
    }
    assert known.keys() == service["environment"].keys()
    port = free_port()
    program = [sys.executable, "-m", "deniably_client", *service["command"]]
    with running(
        f"http://127.0.0.1:{port}", "env",
        *(f"{name}={value}" for name, value in known.items()), *program, "--port", port,
    ) as url:  # fmt: skip
        answer = _when_it_answers(f"{url}/readyz")
        named = requests.get(
            f"{url}/mix/{'0' * 64}", headers={"Host": "mixer.example.net"}, timeout=30
        )

    assert (answer.status_code, named.status_code) == (200, 404)
    assert database.exists()


# --- systemd ------------------------------------------------------------------------------------


@needs("systemd-analyze")
def test_the_unit_is_right_and_hardened() -> None:
    unit = DEPLOY / "deniably.service"
    verified = subprocess.run(
        ["systemd-analyze", "verify", unit], capture_output=True, text=True, timeout=60
    )
    wrong = [line for line in verified.stderr.splitlines() if "is not executable" not in line]
    assert wrong == []

    rated = subprocess.run(
        ["systemd-analyze", "security", "--offline=true", "--threshold=20", unit],
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert rated.returncode == 0, rated.stdout[-2000:]


# --- metrics ------------------------------------------------------------------------------------


def test_prometheus_reads_the_metrics_with_a_token_that_may_do_nothing_else(server: Server) -> None:
    text = (DEPLOY / "prometheus.yaml").read_text(encoding="utf-8")
    (job,) = yaml.safe_load(text)["scrape_configs"]
    (command,) = re.findall(r"deniably (token new .+)", text)
    with closing(Store(str(server.database))) as store:
        role = shlex.split(command)[3]
        token = new_token(store, role)  # type: ignore[arg-type]

    assert role == "monitor"
    assert set(job) == {"job_name", "scrape_interval", "authorization", "static_configs"}
    assert set(job["authorization"]) == {"credentials_file"}, "Bearer unless said otherwise"
    headers = {"Authorization": f"Bearer {token}"}
    found = requests.get(f"{server.url}/metrics", headers=headers, timeout=30)
    assert found.status_code == 200
    refused = requests.get(f"{server.url}/api/tokens", headers=headers, timeout=30)
    assert refused.status_code == 403


# --- proxies ------------------------------------------------------------------------------------


def replaced(text: str, old: str, new: str) -> str:
    assert text.count(old) == 1, old
    return text.replace(old, new)


class Address(str):
    """Of a proxy, and which process that is."""

    process: int


@contextmanager
def running(address: str, *command: object) -> Iterator[Address]:
    found = Address(address)
    with subprocess.Popen([str(part) for part in command], stderr=subprocess.DEVNULL) as process:
        found.process = process.pid
        try:
            yield found
        finally:
            process.terminate()


def _certificate(folder: Path) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "survey.example.org")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
        .serial_number(1).not_valid_before(now).not_valid_after(now + datetime.timedelta(days=1))
        .sign(key, hashes.SHA256())
    )  # fmt: skip
    pem = serialization.Encoding.PEM
    (folder / "fullchain.pem").write_bytes(made.public_bytes(pem))
    private = key.private_bytes(
        pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    (folder / "privkey.pem").write_bytes(private)


@contextmanager
def _nginx(server: Server, folder: Path, by_address: bool = False) -> Iterator[Address]:
    """nginx with our file; only its ports and folders are this test's. ``by_address``: as its
    comment says where the server is to limit reports by address."""
    port, plain = free_port(), free_port()
    _certificate(folder)
    text = (DEPLOY / "nginx.conf").read_text(encoding="utf-8")
    if by_address:
        text = replaced(text, 'X-Forwarded-For "";', "X-Forwarded-For $remote_addr;")
    text = re.sub(r"    listen \[::\].*\n", "", text)
    text = text.replace("listen 443", f"listen 127.0.0.1:{port}")
    text = text.replace("listen 80;", f"listen 127.0.0.1:{plain};")
    text = text.replace("127.0.0.1:8000", f"127.0.0.1:{server.port}")
    text = text.replace("/etc/ssl/deniably", str(folder))
    temporary = "".join(
        f"{kind}_temp_path {folder}/{kind};\n"
        for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    whole = folder / "nginx.conf"
    whole.write_text(
        f"daemon off; master_process off; pid {folder}/pid; error_log /dev/null;\n"
        f"events {{}}\nhttp {{\naccess_log off;\n{temporary}{text}}}\n"
    )
    tried = subprocess.run(["nginx", "-t", "-c", whole], capture_output=True, text=True)
    assert tried.returncode == 0, tried.stderr
    with running(f"https://127.0.0.1:{port}", "nginx", "-c", whole) as address:
        yield address


@contextmanager
def _caddy(server: Server, folder: Path, by_address: bool = False) -> Iterator[Address]:
    """Caddy with our file; without HTTPS, for which it would ask the world."""
    port = free_port()
    text = (DEPLOY / "Caddyfile").read_text(encoding="utf-8")
    if by_address:
        text = replaced(text, "-X-Forwarded-For\n", "X-Forwarded-For {remote_host}\n")
    text = text.replace("\nsurvey.example.org {", f"\nhttp://127.0.0.1:{port} {{")
    text = text.replace("127.0.0.1:8000", f"127.0.0.1:{server.port}")
    whole = folder / "Caddyfile"
    whole.write_text(text.replace("{\n\t# It logs", "{\n\tadmin off\n\t# It logs", 1))
    command = ("caddy", "run", "--adapter", "caddyfile", "--config", whole)
    with running(f"http://127.0.0.1:{port}", *command) as address:
        yield address


BEHIND_EACH = pytest.mark.parametrize(
    "proxy",
    [
        pytest.param(_nginx, marks=needs("nginx"), id="nginx"),
        pytest.param(_caddy, marks=needs("caddy"), id="caddy"),
    ],
)
INSECURE = pytest.mark.filterwarnings("ignore::urllib3.exceptions.InsecureRequestWarning")


@pytest.mark.slow
@INSECURE
@BEHIND_EACH
def test_respondents_get_through_the_proxy_and_slow_ones_stay_there(
    server: Server, tmp_path: Path, proxy: Any
) -> None:
    survey = survey_named()
    server.publish(survey)
    with proxy(server, tmp_path) as url:
        form = _when_it_answers(f"{url}/s/workplace")
        assert form.status_code == 200
        assert "max-age=31536000" in form.headers["Strict-Transport-Security"]
        report = f"{url}/api/surveys/workplace/reports"

        half = threading.Event()

        def slowly() -> Iterator[bytes]:
            yield b"{"
            half.set()
            done.wait(60)
            yield b"}"

        done = threading.Event()
        kind = {"Content-Type": "application/json"}
        slow = threading.Thread(
            target=requests.post,
            args=(report, slowly()),
            kwargs={"headers": kind, "verify": False, "timeout": 60},
        )
        slow.start()
        half.wait(60)
        body = a_report(survey).canonical
        sent = requests.post(report, body, headers=kind, verify=False, timeout=60)
        done.set()
        slow.join()

    assert sent.status_code == 201
    server.stop()
    # What came late had been taken in by the proxy first: no read of the server waited for it.
    waited = re.findall(r"reports 422 (\d+) ms", server.log)
    assert waited
    assert all(int(each) < 10_000 for each in waited)


@INSECURE
@BEHIND_EACH
@pytest.mark.parametrize("by_address", [False, True])
def test_nobody_behind_a_proxy_gives_an_address_of_their_own_making(
    tmp_path: Path, proxy: Any, by_address: bool
) -> None:
    """Who could would have no limit, and could spend that of others."""
    names = ("X-Forwarded-For", "X-Forwarded_For", "X_Forwarded_For", "x_forwarded-for")
    with recorder() as (upstream, heads), proxy(upstream, tmp_path, by_address) as url:
        _when_it_answers(url)
        heads.clear()
        for name in names:
            requests.get(url, headers={name: "203.0.113.7"}, verify=False, timeout=30)

    assert len(heads) == len(names)
    said = [
        [value for name, value in head if name.upper().replace("-", "_") == "X_FORWARDED_FOR"]
        for head in heads
    ]
    assert said == [["127.0.0.1"] if by_address else []] * len(names)


@INSECURE
@BEHIND_EACH
@pytest.mark.parametrize("said", [True, False], ids=["its length said", "in chunks"])
@pytest.mark.thorough
def test_what_is_far_too_long_for_a_report_is_refused_and_kept_nowhere(
    server: Server, tmp_path: Path, proxy: Any, said: bool
) -> None:
    with proxy(server, tmp_path) as url:
        _when_it_answers(f"{url}/healthz")
        before = peak_of(url.process)
        sent = requests.post(
            f"{url}/api/surveys/workplace/reports",
            b"x" * LARGE if said else (b"x" * (1 << 16) for _ in range(LARGE >> 16)),
            headers={"Content-Type": "application/json"},
            verify=False,
            timeout=30,
        )

        assert sent.status_code == 413
        assert peak_of(url.process) - before < LITTLE


@INSECURE
@BEHIND_EACH
@pytest.mark.thorough
def test_many_reports_pass_through_the_proxy_while_they_are_sent(
    server: Server, tmp_path: Path, proxy: Any
) -> None:
    """And are kept nowhere on the way."""
    survey = survey_named()
    server.publish(survey)
    line = a_report(survey).canonical + b"\n"
    part = line * ((1 << 20) // len(line))

    def arrived() -> bool:
        with closing(Store(str(server.database))) as store:
            return store.tally("workplace")["stolen"].n == 1

    def slowly() -> Iterator[bytes]:
        for number in range(LARGE >> 20):
            if number == 6:  # the server stores 4 MiB at a time
                assert within(20, arrived), "nothing goes further before all has come"
            yield part

    with proxy(server, tmp_path) as url:
        _when_it_answers(f"{url}/healthz")
        before = peak_of(url.process)
        sent = requests.post(
            f"{url}/api/surveys/workplace/batches",
            slowly(),
            headers=lines_headers(server.token),
            verify=False,
            timeout=60,
        )

        assert sent.json()["read"] == (LARGE >> 20) * (len(part) // len(line))
        assert peak_of(url.process) - before < LITTLE


LARGE, LITTLE = 48 << 20, 24 << 20


def peak_of(process: int) -> int:
    """The most memory that a process ever had, in bytes."""
    status = Path(f"/proc/{process}/status").read_text()
    return int(re.findall(r"VmHWM:\s+(\d+) kB", status)[0]) << 10


def within(seconds: float, happened: Callable[[], bool]) -> bool:
    """Whether it happens in time."""
    until = time.monotonic() + seconds
    while not (found := happened()) and time.monotonic() < until:
        time.sleep(0.1)
    return found


@contextmanager
def recorder() -> Iterator[tuple[Any, list[list[tuple[str, str]]]]]:
    """A server that says yes to everything, and the headers of each request that reached it."""
    heads: list[list[tuple[str, str]]] = []

    class Recorder(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            heads.append(self.headers.items())
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Recorder) as server:
        server.port = server.server_port  # type: ignore[attr-defined]
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server, heads
        finally:
            server.shutdown()
            thread.join()


def _when_it_answers(url: str) -> requests.Response:
    for _ in range(100):
        try:
            return requests.get(url, verify=False, timeout=30)
        except requests.ConnectionError:
            threading.Event().wait(0.1)
    pytest.fail(f"no answer from {url}")
