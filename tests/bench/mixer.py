"""A mixer: what sealing costs a slow phone, how many envelopes it takes, how long a batch takes."""

from __future__ import annotations

import http.client
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from functools import partial
from http.server import ThreadingHTTPServer
from pathlib import Path
from statistics import median
from threading import Thread

from sheet import Sheet, duration, rate, seconds_of

from browser import ARGUMENTS, WEB, _Files, chromium
from deniably.trust.envelope import open_outer
from deniably_server.mixing.batches import finish
from deniably_server.storage.mixer_store import MixerStore

sys.path.insert(0, str(Path(__file__).parents[1]))

from support.mixing import OCTETS, Parties, parties, questions

QUESTIONS, BLANKS, PEOPLE = 6, 220, 1000
GOAL_PHONE = 0.05
SLOWDOWN = 4  # of the processor
CONNECTIONS = 16

_SEAL = """
async ([mix, rounds]) => {
  const { sealForMixer, sealReports } = await import("/device/to_mixer.js");
  const { digest, reports, ...mixer } = mix;
  const durations = [];
  for (let round = 0; round <= rounds; round++) {
    const start = performance.now();
    const inner = await sealReports({ mixer }, digest, reports);
    await sealForMixer({ mixer }, digest, inner, "");
    durations.push(performance.now() - start);
  }
  return durations.slice(1);  // the first round warms up
}
"""


def measure(sheet: Sheet) -> None:
    sheet.section(f"A mixer: {QUESTIONS} questions, {BLANKS} blanks each")
    mix = parties(questions=questions(QUESTIONS), blanks=BLANKS)
    phone(sheet, mix)
    people = 20 if sheet.quick else PEOPLE
    sealed = [mix.outer() for _ in range(people)]
    sheet.figure("Python seals one person's answers", duration(seconds_of(mix.outer, 20)))
    terms = (mix.survey.digest, sealed[0], mix.survey.length, QUESTIONS)
    one = seconds_of(lambda: open_outer(mix.mixer.opening, *terms), 20)
    sheet.figure("a mixer opens one person's envelope", duration(one))
    with tempfile.TemporaryDirectory() as folder:
        database = str(Path(folder) / "mixer.db")
        with closing(MixerStore(database)) as store:
            mix.accept(store)
        with serving(database) as port:
            start = time.perf_counter()
            parts = [sealed[place::CONNECTIONS] for place in range(CONNECTIONS)]
            with ThreadPoolExecutor(CONNECTIONS) as threads:
                list(threads.map(partial(send, mix, port), parts))
            per_second = people / (time.perf_counter() - start)
        sheet.figure(f"envelopes taken, {CONNECTIONS} connections", rate(per_second))
        with closing(MixerStore(database)) as store:
            store.close_survey(mix.survey.digest)
            start = time.perf_counter()
            finish(store, mix.survey.digest)
            took = duration(time.perf_counter() - start)
            sheet.figure(f"the batch of {people:,} people is made", took)


def phone(sheet: Sheet, mix: Parties) -> None:
    """Chromium, throttled to an old phone."""
    from playwright.sync_api import sync_playwright

    path = chromium(sheet.quick)
    if path is None:
        sheet.note("Chromium: not measured, it is not installed")
        return
    survey = mix.survey
    given = {"open": survey.open, "key": survey.key, "digest": survey.digest}
    given |= {"length": survey.length, "reports": ["x" * 137] * QUESTIONS}
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Files, directory=str(WEB)))
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=path, args=list(ARGUMENTS))
            page = browser.new_page()
            page.goto(f"http://127.0.0.1:{server.server_port}/")
            line = page.context.new_cdp_session(page)
            line.send("Emulation.setCPUThrottlingRate", {"rate": SLOWDOWN})
            took = median(page.evaluate(_SEAL, [given, 3 if sheet.quick else 15])) / 1000
            browser.close()
    finally:
        server.shutdown()
        server.server_close()
    goal = duration(GOAL_PHONE)
    sheet.figure("Chromium, 4 times slower, seals them", duration(took), goal, took < GOAL_PHONE)


@contextmanager
def serving(database: str) -> Iterator[int]:
    """The port of a mixer in a process of its own."""
    command = ["-m", "deniably_client", "mix", "serve", "--database", database, "--port", "0"]
    process = subprocess.Popen(
        [sys.executable, *command, "--log", "off"], stdout=subprocess.PIPE, text=True
    )
    with process:
        try:
            assert process.stdout
            found = re.search(r":(\d+)$", process.stdout.readline().strip())
            assert found, "it says where it listens"
            yield int(found[1])
        finally:
            process.terminate()


def send(mix: Parties, port: int, sealed: list[bytes]) -> None:
    """One connection, one envelope after the other."""
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=60)) as line:
        for each in sealed:
            line.request("POST", f"/mix/{mix.survey.digest}", each, OCTETS)
            answer = line.getresponse()
            answer.read()
            assert answer.status == 201
