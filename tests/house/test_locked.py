"""What make installs is written down, version by version, and may be passed on with ours."""

from __future__ import annotations

import re
from importlib.metadata import Distribution, distributions, requires
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

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

    assert {name: found[name] for name in set(found) - SPARK} == {
        name: version for name, version in locked().items() if name not in SPARK
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
        assert "--constraint constraints.txt" in install
    assert "--constraint constraints.txt" in container


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
