"""A release: the changelog is cut, what is built is tried out, and a failure leaves no trace.

That a built wheel works in a clean environment is shown by test_wheel.
"""

from __future__ import annotations

import importlib.util
import re
import subprocess
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]

CHANGELOG = """# Changelog

## Unreleased

### Added

- A thing.

## 0.1.0 - 2026-01-02

- The first.
"""


@pytest.fixture(scope="module")
def release() -> ModuleType:
    spec = importlib.util.spec_from_file_location("release", ROOT / ".ci/release.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def checkout(release: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository of its own with what a release changes."""
    (tmp_path / "CHANGELOG.md").write_text(CHANGELOG, encoding="utf-8")
    (tmp_path / "pyproject.toml").write_text('[project]\nversion = "0.1.0"\n', encoding="utf-8")
    (tmp_path / ".gitignore").write_text("dist/\n", encoding="utf-8")
    for command in (
        ("init", "--quiet"),
        ("config", "user.email", "nobody@example.org"),
        ("config", "user.name", "Nobody"),
        ("add", "--all"),
        ("commit", "--quiet", "--message", "Begin"),
    ):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    monkeypatch.setattr(release, "ROOT", tmp_path)
    monkeypatch.setattr(release, "DIST", tmp_path / "dist")
    monkeypatch.setattr(release, "CHANGELOG", tmp_path / "CHANGELOG.md")
    monkeypatch.setattr(release, "PROJECT", tmp_path / "pyproject.toml")
    run = release.run
    monkeypatch.setattr(release, "run", lambda *command, cwd=tmp_path: run(*command, cwd=cwd))
    return tmp_path


def built(release: ModuleType) -> Path:
    release.DIST.mkdir()
    wheel = Path(release.DIST / "deniably-0.2.0-py3-none-any.whl")
    wheel.write_bytes(b"")
    return wheel


def git(folder: Path, *command: str) -> str:
    return subprocess.run(
        ["git", *command], cwd=folder, check=True, capture_output=True, text=True
    ).stdout


def test_what_is_unreleased_becomes_the_version(release: ModuleType) -> None:
    text = release.cut(CHANGELOG, "0.2.0", "2026-11-22")

    assert "## Unreleased\n\n## 0.2.0 - 2026-11-22\n\n### Added\n\n- A thing.\n\n## 0.1.0" in text
    assert text.endswith(CHANGELOG[-20:])
    with pytest.raises(release.NoRelease, match="nothing under"):
        release.cut(text, "0.3.0", "2026-11-23")


@pytest.mark.parametrize("version", ["", "1", "1.2", "v1.2.0", "1.2.0\n", "01.2.0", "1.2.0rc1"])
def test_a_version_has_three_numbers(release: ModuleType, version: str) -> None:
    with pytest.raises(release.NoRelease, match=r"one looks like 1\.2\.0"):
        release.cut(CHANGELOG, version, "2026-11-22")


def test_no_version_is_released_twice(release: ModuleType) -> None:
    with pytest.raises(release.NoRelease, match=r"has 0\.1\.0 already"):
        release.cut(CHANGELOG, "0.1.0", "2026-11-22")


def test_our_own_files_are_what_it_expects(release: ModuleType) -> None:
    text = (ROOT / "server/deploy/Containerfile").read_text(encoding="utf-8")
    container = release.container_of(text, "deniably-9.8.7-py3-none-any.whl")
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")

    assert (
        "COPY deniably-9.8.7-py3-none-any.whl constraints.txt ./\nRUN python -m venv" in container
    )
    assert '"./deniably-9.8.7-py3-none-any.whl[server,postgres]"' in container
    assert not re.search(r"COPY (shared|client|server|pyproject)", container)
    assert 'version = "9.8.7"' in release.with_version(project, "9.8.7")


def test_a_release_is_committed_and_tagged(
    release: ModuleType, checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(release, "build", lambda: built(release))
    monkeypatch.setattr(release, "try_out", lambda _: "the figures are right")

    said = release.release("0.2.0")

    assert "the figures are right\n  dist/deniably-0.2.0-py3-none-any.whl" in said
    assert git(checkout, "tag").split() == ["v0.2.0"]
    assert git(checkout, "log", "-1", "--format=%s").strip() == "Release 0.2.0"
    assert git(checkout, "status", "--porcelain") == ""
    assert 'version = "0.2.0"' in (checkout / "pyproject.toml").read_text()


def test_what_fails_leaves_everything_as_it_was(
    release: ModuleType, checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(_: Path) -> str:
        raise release.NoRelease("the figures are wrong")

    monkeypatch.setattr(release, "build", lambda: built(release))
    monkeypatch.setattr(release, "try_out", fails)

    with pytest.raises(release.NoRelease, match="the figures are wrong"):
        release.release("0.2.0")

    assert git(checkout, "status", "--porcelain") == ""
    assert git(checkout, "tag") == ""
    (checkout / "CHANGELOG.md").write_text("changed", encoding="utf-8")
    with pytest.raises(release.NoRelease, match="not committed"):
        release.release("0.2.0")


def test_a_tag_that_is_there_stops_a_release_before_anything_is_changed(
    release: ModuleType, checkout: Path
) -> None:
    git(checkout, "tag", "v0.2.0")

    with pytest.raises(release.NoRelease, match=r"the tag v0\.2\.0 is there already"):
        release.release("0.2.0")

    assert git(checkout, "status", "--porcelain") == ""


def test_a_command_that_fails_says_what_it_said(release: ModuleType) -> None:
    with pytest.raises(release.NoRelease, match=r"git no-such failed:\n.*no-such"):
        release.run("git", "no-such")
