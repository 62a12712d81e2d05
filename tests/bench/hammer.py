"""Ask one server for the same few addresses, over and over: python hammer.py PORT SECONDS
CONNECTIONS PATH... (a process of its own, which imports next to nothing)
"""

from __future__ import annotations

import http.client
import random
import sys
import time
from collections import Counter
from contextlib import closing
from threading import Thread


def main() -> None:
    port, seconds, connections = int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])
    paths, found = sys.argv[4:], Counter[object]()
    until = time.monotonic() + seconds

    def hammer() -> None:
        with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=120)) as connection:
            more = True  # each asks once at least
            while more:
                try:
                    connection.request("GET", random.choice(paths))
                    answer = connection.getresponse()
                    answer.read()
                    found[answer.status] += 1
                except OSError as error:
                    found[type(error).__name__] += 1
                    connection.close()
                more = time.monotonic() < until

    threads = [Thread(target=hammer, daemon=True) for _ in range(connections)]
    for thread in threads:
        thread.start()
    for thread in threads:  # those who wait for long are not waited for, but one is
        thread.join(max(0.0, until + 1 - time.monotonic()))
    while not found and time.monotonic() < until + 60:
        time.sleep(0.05)
    print(", ".join(f"{count:,} times {status}" for status, count in found.items()) or "no answer")


if __name__ == "__main__":
    main()
