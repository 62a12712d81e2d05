"""Make a release: python .ci/release.py VERSION (``make release VERSION=1.2.0``).

The changelog's part "Unreleased" becomes this version. Then wheel, source distribution and
container file are built into dist/, the wheel is installed in an environment that has nothing
else, and the demonstration is run from it. Where all of that holds it is committed and tagged, and
else everything is put back. Nothing is sent anywhere.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
import venv
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DIST = ROOT / "dist"
CHANGELOG, PROJECT = ROOT / "CHANGELOG.md", ROOT / "pyproject.toml"
CONTAINER = ROOT / "server/deploy/Containerfile"

_VERSION = re.compile(r"(?:0|[1-9][0-9]*)(?:\.(?:0|[1-9][0-9]*)){2}")
_UNRELEASED = re.compile(r"^## Unreleased\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
_SOURCES = re.compile(r"^COPY pyproject\.toml.*?(?=^RUN python)", re.MULTILINE | re.DOTALL)


class NoRelease(Exception):
    """Why no release is made, and what to do about it."""


def cut(changelog: str, version: str, day: str) -> str:
    """The changelog with what is unreleased under the version, and an empty "Unreleased" above.

    Raises NoRelease where the version is none or is there already, or nothing is unreleased.
    """
    if not _VERSION.fullmatch(version):
        raise NoRelease(f"{version!r} is no version; one looks like 1.2.0")
    if re.search(rf"^## {re.escape(version)} ", changelog, re.MULTILINE):
        raise NoRelease(f"the changelog has {version} already; take the next number")
    found = _UNRELEASED.search(changelog)
    if not found or not found[1].strip():
        raise NoRelease("the changelog has nothing under “## Unreleased” that could be released")
    parts = f"## Unreleased\n\n## {version} - {day}\n{found[1]}"
    return changelog[: found.start()] + parts + changelog[found.end() :]


def with_version(project: str, version: str) -> str:
    """The text of pyproject.toml with this version."""
    return re.sub(r'^version = ".*"$', f'version = "{version}"', project, count=1, flags=re.M)


def container_of(containerfile: str, wheel: str) -> str:
    """The container file that installs a wheel which lies beside it, and not the sources."""
    text, found = _SOURCES.subn(f"COPY {wheel} constraints.txt ./\n", containerfile)
    text, installs = re.subn(r'"\.\[(.*?)\]"', rf'"./{wheel}[\1]"', text)
    text, builds = re.subn(
        r"in the repository's folder with\n.*\n", "in this folder with\n"
        "#   podman build --format docker --file Containerfile --tag deniably .\n", text
    )  # fmt: skip
    if not found == installs == builds == 1:
        raise NoRelease(f"{CONTAINER} is not what .ci/release.py expects")
    return text


def run(*command: object, cwd: Path = ROOT) -> str:
    """A command's output. Raises NoRelease with it where the command fails."""
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, capture_output=True, text=True, check=False
    )
    if done.returncode:
        said = (done.stdout + done.stderr)[-4000:]
        raise NoRelease(f"{' '.join(map(str, command))} failed:\n{said}")
    return done.stdout


def build() -> Path:
    """Wheel, source distribution and container file, in an empty dist/. The wheel."""
    shutil.rmtree(DIST, ignore_errors=True)
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", DIST)
    (wheel,) = DIST.glob("*.whl")
    container = container_of(CONTAINER.read_text(encoding="utf-8"), wheel.name)
    (DIST / "Containerfile").write_text(container, encoding="utf-8")
    shutil.copy(ROOT / "constraints.txt", DIST)
    return wheel


def try_out(wheel: Path) -> str:
    """Run the demonstration from the wheel, in an environment and a folder that have nothing else;
    what the check of its figures says."""
    with tempfile.TemporaryDirectory(prefix="deniably-release-") as name:
        folder = Path(name)
        venv.create(folder / "env", with_pip=True)
        pip = (folder / "env/bin/python", "-m", "pip", "--disable-pip-version-check", "install")
        run(*pip, "--quiet", "-c", ROOT / "constraints.txt", f"{wheel}[server]", cwd=folder)
        demo = (folder / "env/bin/deniably", "demo", "--exit", "--port", "0")
        (folder / "demo.txt").write_text(run(*demo, cwd=folder), encoding="utf-8")
        return run(sys.executable, ROOT / ".ci/check_demo.py", folder / "demo.txt").strip()


def release(version: str) -> str:
    """Make the release; what was done. Raises NoRelease, with everything as it was."""
    if run("git", "status", "--porcelain").strip():
        raise NoRelease("there are changes that are not committed; commit them first")
    if run("git", "tag", "--list", f"v{version}").strip():
        raise NoRelease(f"the tag v{version} is there already; take the next number")
    before = {path: path.read_text(encoding="utf-8") for path in (CHANGELOG, PROJECT)}
    day = datetime.now(UTC).date().isoformat()
    after = {CHANGELOG: cut(before[CHANGELOG], version, day),
             PROJECT: with_version(before[PROJECT], version)}  # fmt: skip
    try:
        for path, text in after.items():
            path.write_text(text, encoding="utf-8")
        said = try_out(build())
        run("git", "commit", "--all", "--quiet", "--message", f"Release {version}")
        run("git", "tag", f"v{version}")
    except BaseException:
        for path, text in before.items():
            path.write_text(text, encoding="utf-8")
        raise
    files = "\n".join(f"  dist/{path.name}" for path in sorted(DIST.iterdir()))
    return (
        f"{said}\n{files}\nRelease {version} is committed and tagged v{version}; nothing was sent."
    )


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: make release VERSION=1.2.0")
    try:
        sys.stdout.write(f"{release(sys.argv[1])}\n")
    except NoRelease as error:
        sys.exit(f"no release was made: {error}")
