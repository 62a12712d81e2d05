"""What is published is what is here: the wheel, in an environment that has nothing else."""

import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

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
    for path in ("/s/w", "/web/form/form.js", "/surveys/w", "/api/surveys/w/results"):
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


@pytest.mark.slow
def test_the_wheel_holds_every_file_and_works_in_a_clean_environment(tmp_path: Path) -> None:
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

    venv.create(tmp_path / "env")
    python = tmp_path / "env/bin/python"
    deniably = tmp_path / "env/bin/deniably"
    # Our own pip installs there, and compiles nothing that is not imported.
    pip = (sys.executable, "-m", "pip", "--python", python, "--disable-pip-version-check")
    pip += ("install", "--quiet", "--no-compile")
    run(*pip, wheel, cwd=tmp_path)
    assert "deniably[server]" in run(deniably, "serve", cwd=tmp_path, check=False)
    assert "Answer the survey at URL" in run(deniably, "answer", "--help", cwd=tmp_path)
    assert "No module named 'numpy'" in run(python, "-c", "import numpy", cwd=tmp_path, check=False)

    run(*pip, f"{wheel}[server]", cwd=tmp_path)
    (tmp_path / "w.yaml").write_text(SURVEY)
    (tmp_path / "use.py").write_text(USE)
    output = run(python, "use.py", cwd=tmp_path)

    for path in ("/s/w", "/web/form/form.js", "/surveys/w", "/api/surveys/w/results"):
        assert f"{path} 200" in output
