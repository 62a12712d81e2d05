"""What is published is what is here: the wheel, in an environment that has nothing else."""

import subprocess
import sys
import venv
import zipfile
from collections.abc import Callable, Iterator, Set
from importlib.metadata import Distribution, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from support.soak import soak

ROOT = Path(__file__).parents[2]
PACKAGES = ("shared/deniably", "client/deniably_client", "server/deniably_server")

USE = """
import re, subprocess, sys, time, urllib.request
from deniably_client import Device

server = subprocess.Popen(
    [sys.executable, "-m", "deniably_client", "serve", "--database", "w.db", "--port", "0"],
    stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
try:
    text = ""
    while not (url := re.search(r"http://127[.]0[.]0[.]1:[0-9]+", text)):
        line = server.stdout.readline()
        assert line, text
        text += line
    url = url[0]
    for _ in range(100):
        try:
            urllib.request.urlopen(url)
            break
        except OSError:
            time.sleep(0.1)
    token = subprocess.run(
        [sys.executable, "-m", "deniably_client", "token", "new", "--database", "w.db"],
        capture_output=True, text=True, check=True).stdout.split()[-1]
    print(subprocess.run(
        [sys.executable, "-m", "deniably_client", "publish", "w.yaml", "--server", url,
         "--token", token], capture_output=True, text=True, check=True).stdout)
    print(Device(f"{url}/s/w").answer({"q": "yes"}))
    for path in ("/s/w", "/web/form/form.js", "/handbook/respondents", "/surveys/w",
                 "/api/surveys/w/results"):
        print(path, urllib.request.urlopen(url + path).status)
finally:
    server.terminate()
    server.wait()
"""

SURVEY = """
name: w
title: From the wheel
results: {minimum: 1, while_open: true}
questions: [{name: q, type: yes_no, label: Does it work, epsilon: 1}]
"""


def run(*command: object, cwd: Path, check: bool = True) -> str:
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0 or not check, done.stdout + done.stderr
    return done.stdout + done.stderr


def by_pip(environment: Path, wheel: Path, extra: str = "", *options: str) -> None:
    """As a user does it. Our own pip installs there, and compiles nothing that is not imported."""
    run(
        sys.executable, "-m", "pip", "--python", environment / "bin/python",
        "--disable-pip-version-check", "install", "--quiet", "--no-compile", *options,
        f"{wheel}[{extra}]" if extra else wheel,
        cwd=environment,
    )  # fmt: skip


def by_links(environment: Path, wheel: Path, extra: str = "") -> None:
    """The wheel alone by pip, and links to what it asks for, and to what that asks for, as we have
    it ourselves: to unpack and compile numpy and scipy anew takes a quarter of a minute."""
    if not extra:
        by_pip(environment, wheel, "", "--no-deps", "--no-index")
    (site,) = environment.glob("lib/*/site-packages")
    (installed,) = site.glob("deniably-*.dist-info")
    asked = list(required(Distribution.at(installed), {extra}))
    seen = set[str]()
    while asked:
        wanted = asked.pop()
        found = distribution(wanted.name)
        assert wanted.specifier.contains(found.version), wanted
        if str(wanted) not in seen:
            seen.add(str(wanted))
            link(found, site)
            asked += required(found, wanted.extras)


def required(found: Distribution, extras: Set[str]) -> Iterator[Requirement]:
    """What a distribution asks for with these extras."""
    for each in map(Requirement, found.requires or ()):
        marker = each.marker
        if marker is None or any(marker.evaluate({"extra": extra}) for extra in {"", *extras}):
            yield each


def link(found: Distribution, site: Path) -> None:
    for part in {file.parts[0] for file in found.files or ()} - {"..", "__pycache__"}:
        if not (site / part).exists():
            (site / part).symlink_to(Path(str(found.locate_file(part))))


@pytest.mark.slow
@pytest.mark.parametrize("install", [by_links, soak(by_pip)])
@pytest.mark.thorough
def test_the_wheel_holds_every_file_and_works_in_a_clean_environment(
    tmp_path: Path, install: Callable[..., None]
) -> None:
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", tmp_path, cwd=ROOT)
    (wheel,) = tmp_path.glob("*.whl")
    ours = {
        str(path.relative_to((ROOT / package).parent))
        for package in PACKAGES
        for path in (ROOT / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    packed = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    assert packed == ours

    environment = tmp_path / "env"
    venv.create(environment)
    python, deniably = (environment / "bin" / name for name in ("python", "deniably"))
    install(environment, wheel)
    missing = run(deniably, "serve", cwd=tmp_path, check=False)
    assert f"{python} -m pip install 'deniably[server]'" in missing
    assert "Answer the survey at URL" in run(deniably, "answer", "--help", cwd=tmp_path)
    assert "No module named 'numpy'" in run(python, "-c", "import numpy", cwd=tmp_path, check=False)

    install(environment, wheel, "server")
    # What that error says: pip takes what is installed, and looks for Deniably on no index. Of
    # what is linked the requirements were read already; to have pip read them takes it seconds.
    run(
        sys.executable, "-m", "pip", "--python", python, "--disable-pip-version-check", "install",
        "--no-index", *(["--no-deps"] if install is by_links else []), "deniably[server]",
        cwd=tmp_path,
    )  # fmt: skip
    (tmp_path / "w.yaml").write_text(SURVEY)
    (tmp_path / "use.py").write_text(USE)
    output = run(python, "use.py", cwd=tmp_path)

    for path in (
        "/s/w",
        "/web/form/form.js",
        "/handbook/respondents",
        "/surveys/w",
        "/api/surveys/w/results",
    ):
        assert f"{path} 200" in output
