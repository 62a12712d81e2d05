"""What make installs is written down, version by version, and may be passed on with ours."""

from __future__ import annotations

import os
import re
import subprocess
from importlib.metadata import Distribution, distributions, requires
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parents[2]
TOOLS = {"deniably", "pip", "setuptools", "wheel"}
"""Ours, and what Python brings along itself."""
SPARK = {
    "googleapis-common-protos",
    "grpcio",
    "grpcio-status",
    "protobuf",
    "py4j",
    "pyspark",
    "zstandard",
}
"""What ``make test-spark`` alone installs: 460 MB."""
MUTANTS = {
    "coverage",
    "libcst",
    "linkify-it-py",
    "mdit-py-plugins",
    "mutmut",
    "setproctitle",
    "textual",
}
"""What ``make mutants`` alone installs."""
APART = SPARK | MUTANTS
FREE = re.compile(
    r"\b(MIT|BSD|0BSD|Apache|ISC|PSF|Python Software Foundation|MPL|Mozilla|LGPL|Unlicense|Zlib"
    r"|Public Domain|CC0|Permission is hereby granted, free of charge)",  # as MIT begins
    re.IGNORECASE,
)


def locked() -> dict[str, str]:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pairs = [line.split("==") for line in lines if not line.startswith("#")]
    return {canonicalize_name(name): version for name, version in pairs}


def installed() -> dict[str, Distribution]:
    found = {canonicalize_name(each.metadata["Name"]): each for each in distributions()}
    return {name: each for name, each in found.items() if name not in TOOLS}


def test_every_package_is_here_in_the_version_that_is_written_down() -> None:
    found = {name: each.version for name, each in installed().items()}

    assert {name: found[name] for name in set(found) - APART} == {
        name: version for name, version in locked().items() if name not in APART
    }


def test_whatever_we_ask_for_is_written_down() -> None:
    asked = {canonicalize_name(Requirement(text).name) for text in requires("deniably") or ()}

    assert asked - {"deniably"} <= set(locked())


def test_the_versions_are_exact_and_come_from_nowhere_in_particular() -> None:
    text = (ROOT / "constraints.txt").read_text(encoding="utf-8")

    assert "@" not in text
    assert "://" not in text
    assert all(re.fullmatch(r"[\w.+!-]+", version) for version in locked().values())


def test_make_and_the_container_install_these_versions() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    container = (ROOT / "server/deploy/Containerfile").read_text(encoding="utf-8")

    for install in re.findall(r"^\t\$\(BIN\)/pip install.*$", makefile, re.MULTILINE):
        apart = "--target $(NEXT)" in install  # beside the environment, to try a newer release
        assert apart or "--constraint constraints.txt" in install
    assert "--constraint constraints.txt" in container


def test_no_uvicorn_is_installed_that_its_subclass_was_not_tried_with() -> None:
    """``wire/patience.py`` builds on the inside of its protocol, which any release may change."""
    named = [
        each for each in map(Requirement, requires("deniably") or ()) if each.name == "uvicorn"
    ]
    here = Version(locked()["uvicorn"])

    assert named
    for each in named:
        assert each.specifier.contains(here)
        assert not each.specifier.contains(f"{here.major}.{here.minor + 1}.0")


def test_the_next_uvicorn_is_tried_and_its_failure_is_a_warning(tmp_path: Path) -> None:
    """The script of CI, with a make of which that one target fails."""
    make = tmp_path / "make"
    make.write_text('#!/bin/sh\necho "$@" >> "$0.log"\n[ "$1" != test-next-uvicorn ]\n')
    make.chmod(0o755)
    script = (ROOT / ".ci/run").read_text(encoding="utf-8").partition("\noutput=")[0]
    copy = tmp_path / "ci" / "run"
    copy.parent.mkdir()
    copy.write_text(script, encoding="utf-8")
    paths = os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"}

    done = subprocess.run(["bash", copy], env=paths, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    assert "test-next-uvicorn" in (tmp_path / "make.log").read_text().splitlines()
    assert "Warning: the server does not pass its tests on the newest uvicorn" in done.stderr
    assert "\ntest-next-uvicorn: $(VENV)/.dev\n" in (ROOT / "Makefile").read_text(encoding="utf-8")


def test_every_licence_lets_us_ship_under_ours() -> None:
    unclear = {name: _licence(each) for name, each in installed().items()}
    unclear = {name: text for name, text in unclear.items() if not FREE.search(text)}

    assert unclear == {}


def _licence(each: Distribution) -> str:
    meta = each.metadata
    said = [meta.get("License-Expression"), meta.get("License"), *meta.get_all("Classifier", [])]
    text = "\n".join(line for line in said if line and ("License" in line or "::" not in line))
    files = [file for file in each.files or () if "LICENSE" in str(file).upper()]
    return text or "\n".join(file.read_text()[:200] for file in files[:1])
