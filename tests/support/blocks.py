"""Runs the blocks of code of a page of Markdown, as its reader would: from top to bottom, in a new
folder, against a real server.

| block | what happens |
| --- | --- |
| ``sh`` | each line is run; commands of ``deniably`` in this process, all others by bash |
| ``python`` | runs in one namespace for the whole page |
| ``pycon`` | an example with its results, as doctest has them, in the same namespace |
| ``yaml``, first line ``# name.yaml`` | becomes a file; a survey has to compile |
| ``text output`` | what the block before printed; ``…`` stands for anything |
| ``json`` | has to be JSON |
| ``text`` | a picture or a format; nothing happens |

``deniably mix serve`` runs a mixer, at mixer.example.net in the page. After ``deniably close`` the
reader waits until it has passed on the answers.

Words after the language: ``keys=1,2,y`` is typed into the command, ``not-run=REASON`` names one of
the reasons for which a block cannot run here. The addresses in pages are those of a server on this
machine or at example.org; both stand for the server of the page.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import click
import requests
import yaml
from markdown_it import MarkdownIt

from deniably.authoring.compiling import publish_text
from deniably.core.errors import DeniablyError
from deniably_client.cli import deniably
from support.commands import call
from support.crowd import until
from support.material import Server
from support.mixing import QUICK, MixerServer
from support.nursery import the_nursery

NOT_RUN = {
    "container": "needs podman and the network: no container runs in the tests, which check the"
    " steps of the files instead (tests/house/test_deploy.py)",
    "system": "needs root and systemd; tests/house/test_deploy.py checks the unit",
    "postgres": "needs a PostgreSQL of its own; tests/server/test_postgres.py runs the same",
    "network": "needs the network",
    "source": "needs the source; tests/client/test_example_device.py runs it",
    "make": "runs the suite, or is run by continuous integration",
}
"""Why a block cannot run on the machine of the tests."""

_COMMANDS = Path(sys.executable).parent
"""What pip installed, as in a reader's environment."""

PEOPLE = 60
"""So many made-up people at most answer; more would show the same, later."""
_LOCAL = "http://127.0.0.1:8000"
_MIXER = "https://mixer.example.net"
_ADDRESSES = re.compile(r"http://127\.0\.0\.1:8000|https://(?:[a-z]+\.)?example\.org")
_INSTEAD = re.compile(r"\$\((deniably .*)\)")
_ANYTHING = "…"


class Broken(AssertionError):
    """A block does not do what its page says."""


@dataclass(frozen=True)
class Block:
    """A block of code. ``line`` is where it begins in its page, counted from 1."""

    page: str
    line: int
    language: str
    words: Mapping[str, str]
    text: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line} ({self.language})"


def blocks(page: str, text: str) -> list[Block]:
    """The blocks of a page. Raises Broken for one that is only indented."""
    found: list[Block] = []
    for token in MarkdownIt("commonmark").parse(text):
        line = token.map[0] + 1 if token.map else 0
        if token.type == "code_block":
            raise Broken(f"{page}:{line} is indented; write ``` and its language")
        if token.type == "fence":
            language, *words = token.info.split() or [""]
            pairs = (word.partition("=") for word in words)
            named = {name: value for name, _, value in pairs}
            found.append(Block(page, line, language, named, token.content))
    return found


def commands(text: str) -> Iterator[str]:
    """The commands of a block, those over several lines as one."""
    for line in text.replace("\\\n", " ").splitlines():
        if line.strip() and not line.startswith("#"):
            yield line


@dataclass
class Reader:
    """Follows one page in ``folder``; sets what it needs in the environment ``environ``."""

    folder: Path
    output: str = ""
    names: dict[str, Any] = field(default_factory=lambda: {"__name__": "__main__"})
    started: Server | None = None
    mixer: MixerServer | None = None
    unread: dict[str, str] = field(default_factory=dict)
    """Surveys that no command has read yet."""

    def __post_init__(self) -> None:
        self.folder.mkdir(exist_ok=True)
        os.environ["DENIABLY_DATABASE"] = str(self.folder / "deniably.db")
        os.environ["DENIABLY_MIXER_DATABASE"] = str(self.folder / "mixer.db")
        for name, place in (("DENIABLY_HOME", "device"), ("XDG_CONFIG_HOME", "author")):
            os.environ[name] = str(self.folder / place)

    @property
    def server(self) -> Server:
        """The server of this page, started when it is first needed."""
        if self.started is None:
            self._serve()
        assert self.started is not None
        return self.started

    def close(self) -> None:
        """End the server, and the mixer."""
        for each in (self.started, self.mixer):
            if each is not None:
                each.kill()

    def finish(self) -> None:
        """Compile what no command has read. Raises Broken."""
        for name, text in self.unread.items():
            try:
                publish_text(text)
            except DeniablyError as error:
                raise Broken(f"{name}: {error}") from error

    def follow(self, block: Block) -> None:
        """Run one block. Raises Broken."""
        if reason := block.words.get("not-run"):
            if reason not in NOT_RUN:
                raise Broken(f"{block}: {reason} is no reason; there are {', '.join(NOT_RUN)}")
            return
        run = {
            "sh": self._shell,
            "python": self._python,
            "pycon": self._example,
            "yaml": self._yaml,
            "text": self._text,
            "json": self._json,
        }.get(block.language)
        if run is None:
            raise Broken(f"{block}: no such language is run here")
        with contextlib.chdir(self.folder):
            try:
                run(block)
            except Exception as error:
                raise Broken(f"{block}: {type(error).__name__}: {error}") from error

    # --- the languages --------------------------------------------------------------------------

    def _shell(self, block: Block) -> None:
        keys = "".join(f"{key}\n" for key in block.words.get("keys", "").split(",") if key)
        self.output = ""
        for line in commands(block.text):
            self.output += self._line(self._real(line), keys)

    def _python(self, block: Block) -> None:
        out = io.StringIO()
        code = compile(self._real(block.text), str(block), "exec")
        with contextlib.redirect_stdout(out):
            exec(code, self.names)
        self.output = out.getvalue()

    def _example(self, block: Block) -> None:
        test = doctest.DocTestParser().get_doctest(
            self._real(block.text), self.names, str(block), None, block.line
        )
        flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
        runner = doctest.DocTestRunner(verbose=False, optionflags=flags)
        said = io.StringIO()
        runner.run(test, out=said.write, clear_globs=False)
        if runner.failures:
            raise Broken(said.getvalue())
        self.names |= test.globs

    def _yaml(self, block: Block) -> None:
        found = yaml.safe_load(block.text)
        named = re.match(r"# (\S+)\n", block.text)
        if named:
            (self.folder / named[1]).write_text(block.text, encoding="utf-8")
        if isinstance(found, dict) and "questions" in found:
            if not named:
                raise Broken("a survey begins with the name of its file, # name.yaml")
            self.unread[named[1]] = block.text

    def _text(self, block: Block) -> None:
        if "output" not in block.words:
            return
        shown = self.output
        if self.started is not None:
            shown = shown.replace(self.started.url, _LOCAL)
        if self.mixer is not None:
            shown = shown.replace(self.mixer.url, _MIXER)
        if not pattern(block.text).fullmatch(_even(shown)):
            raise Broken(f"the block before prints something else:\n{shown}")

    def _json(self, block: Block) -> None:
        json.loads(block.text)
        self._text(block)

    # --- a line of the shell --------------------------------------------------------------------

    def _line(self, line: str, keys: str) -> str:
        words = shlex.split(line)
        for word in words:
            self.unread.pop(word, None)
        if words[0] == "export":
            name, _, value = line.removeprefix("export ").partition("=")
            inner = _INSTEAD.fullmatch(value)
            os.environ[name] = self._said(inner[1]) if inner else shlex.split(value)[0]
            return ""
        if words[0] != "deniably":
            done = subprocess.run(
                ["bash", "-euo", "pipefail", "-c", line],
                capture_output=True, text=True, timeout=60,
                env=os.environ | {"PATH": f"{_COMMANDS}:{os.environ['PATH']}"},
            )  # fmt: skip
            if done.returncode:
                raise Broken(f"{line}: {done.stdout}{done.stderr}")
            return done.stdout
        if words[1] == "serve":
            self._serve(*words[2:])
            return ""
        if words[1:] == ["mix", "serve"]:
            begin = partial(the_nursery().begin, **QUICK)
            self.mixer = MixerServer(self.folder / "mixer.db", begin=begin)
            return ""
        said = self._command(words[1:], keys)
        if words[1] == "close" and self.mixer is not None:
            self._await_batch(words[2])
        return said

    def _await_batch(self, survey: str) -> None:
        """Until the mixer has passed on the answers: in a page, a minute passes here."""
        taken = f"{self.server.url}/api/surveys/{survey}/mixed"
        until(lambda: requests.get(taken, timeout=30).ok)

    def _command(self, words: list[str], keys: str) -> str:
        into = None
        if ">" in words:
            *words, _, into = words
        words = _few(words)
        if _reaches_a_server(words):
            os.environ["DENIABLY_SERVER"] = self.server.url
        done = call(*words, keys=keys)
        if done.returncode:
            raise Broken(f"deniably {shlex.join(words)}: {done.stdout}{done.stderr}")
        if into is None:
            return done.stdout  # beside it progress is shown
        (self.folder / into).write_text(done.stdout, encoding="utf-8")
        return done.stderr

    def _said(self, line: str) -> str:
        """What a command of ours prints, as bash puts it in the place of ``$(…)``."""
        self.output = ""
        self._command([*shlex.split(line)[1:], ">", "said"], "")
        return (self.folder / "said").read_text(encoding="utf-8").strip()

    def _serve(self, *options: str) -> None:
        given = list(options)
        if "--port" in given:
            at = given.index("--port")
            del given[at : at + 2]
        if self.started is not None:
            self.started.kill()
        self.started = Server(self.folder / "deniably.db", *given)

    # --- what stands for something of this run --------------------------------------------------

    def _real(self, text: str) -> str:
        if self.mixer is not None:
            text = text.replace(_MIXER, self.mixer.url)
        return _ADDRESSES.sub(lambda _: self.server.url, text)


def pattern(expected: str) -> re.Pattern[str]:
    """What an output has to be like: ``…`` is anything, a line of it alone any lines."""
    parts = re.split(rf"(^{_ANYTHING}\n|{_ANYTHING})", _even(expected), flags=re.MULTILINE)
    known = {f"{_ANYTHING}\n": r"(?:.*\n)*?", _ANYTHING: r".*?"}
    return re.compile("".join(known.get(part, re.escape(part)) for part in parts))


def command_at(words: list[str]) -> tuple[click.Command, list[str]]:
    """The command that words call, and its arguments. Raises Broken."""
    found: click.Command = deniably
    rest = list(words)
    context = click.Context(deniably)
    while isinstance(found, click.Group) and rest and not rest[0].startswith("-"):
        inner = found.get_command(context, rest[0])
        if inner is None:
            raise Broken(f"deniably {shlex.join(words)}: there is no command {rest[0]}")
        found, rest = inner, rest[1:]
    return found, rest


def _reaches_a_server(words: list[str]) -> bool:
    found, _ = command_at(words)
    return any(
        parameter.name in ("server", "url", "address", "database") for parameter in found.params
    )


def _few(words: list[str]) -> list[str]:
    """With no more people than are needed here."""
    if "--people" not in words:
        return words
    at = words.index("--people") + 1
    return [*words[:at], str(min(int(words[at]), PEOPLE)), *words[at + 1 :]]


def _even(text: str) -> str:
    """Without blanks at the ends of lines and empty lines at the end."""
    return "\n".join(line.rstrip() for line in text.rstrip().splitlines()) + "\n"
