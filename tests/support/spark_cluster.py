"""Spark as real processes on this machine: a standalone cluster, and a service of Spark Connect."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import time
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

_CONNECTED = r"Spark Connect server started at: (\S+:\d+)"
_PATIENCE = 90  # seconds until a process says that it is there


@dataclass(frozen=True)
class Cluster:
    """``master`` is its address; ``workers`` are processes, each the first of a group."""

    master: str
    workers: tuple[subprocess.Popen[bytes], ...]

    def kill(self, number: int) -> None:
        """End a worker and its executor, as a machine that loses its power."""
        os.killpg(self.workers[number].pid, signal.SIGKILL)
        self.workers[number].wait()


@contextmanager
def cluster(folder: Path) -> Generator[Cluster]:
    """A master and two workers of one core each, whose logs are in ``folder``."""
    port = _free_port()
    master = f"spark://127.0.0.1:{port}"
    with ExitStack() as stack:
        stack.enter_context(
            _started(
                folder / "master.log", "I have been elected leader",
                "org.apache.spark.deploy.master.Master", "--host", "127.0.0.1",
                "--port", str(port), "--webui-port", "0",
            )
        )  # fmt: skip
        workers = [
            stack.enter_context(
                _started(
                    folder / f"worker-{number}.log", "Successfully registered with master",
                    "org.apache.spark.deploy.worker.Worker", "--host", "127.0.0.1",
                    "--cores", "1", "--memory", "1g", "--webui-port", "0",
                    "--work-dir", str(folder / f"work-{number}"), master,
                )
            )
            for number in range(2)
        ]  # fmt: skip
        yield Cluster(master, tuple(workers))


@contextmanager
def service(folder: Path) -> Generator[str]:
    """The address of a service of Spark Connect, whose log is in ``folder``."""
    log = folder / "connect.log"
    with _started(
        log, _CONNECTED, "org.apache.spark.deploy.SparkSubmit",
        "--class", "org.apache.spark.sql.connect.service.SparkConnectServer",
        "--master", "local[2]", "--conf", "spark.ui.enabled=false",
        "--conf", "spark.connect.grpc.binding.address=127.0.0.1",
        "--conf", "spark.connect.grpc.binding.port=0", "spark-internal",
    ):  # fmt: skip
        [found] = re.findall(_CONNECTED, log.read_text(errors="replace"))
        yield f"sc://{found}"


@contextmanager
def _started(log: Path, ready: str, *arguments: str) -> Generator[subprocess.Popen[bytes]]:
    spec = find_spec("pyspark")
    assert spec is not None
    assert spec.origin is not None
    home = Path(spec.origin).parent
    environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_HOME": str(home)}
    with log.open("wb") as output:
        process = subprocess.Popen(
            [str(home / "bin" / "spark-class"), *arguments],
            stdout=output, stderr=subprocess.STDOUT, env=environment, start_new_session=True,
        )  # fmt: skip
    try:
        until = time.monotonic() + _PATIENCE
        while not re.search(ready, log.read_text(errors="replace")):
            assert process.poll() is None, log.read_text(errors="replace")
            assert time.monotonic() < until, log.read_text(errors="replace")
            time.sleep(0.05)
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])
