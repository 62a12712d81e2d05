"""Renders counts in the text format of Prometheus, with people's activity rounded to tens."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.metrics_core import Metric

from deniably_server.watching.coarse_counts import tens
from deniably_server.watching.request_facts import STEPS

MEDIA_TYPE = CONTENT_TYPE_LATEST

Counts = Counter[tuple[str, ...]]
"""Counts, by (name, label value, ...); for a histogram the label is the step in milliseconds."""

_COUNTERS = (
    ("requests", "Answers, by class of status.", ("route", "status")),
    ("reports", "Reports, by what a commit made of them.", ("outcome",)),
    ("batch_lines", "Lines of batches, by what became of them.", ("outcome",)),
    (
        "computations",
        "Requests for something that is computed, by lane and by what became of them.",
        ("lane", "outcome"),
    ),
    ("commit_failures", "Transactions that failed.", ()),
)
_HISTOGRAMS = (
    ("ingest", "Seconds to the answer, of requests whose reports were taken."),
    ("commit", "Seconds of transactions that stored reports."),
)


def exposed(counts: Counts, register_room: float) -> bytes:
    """Returns the page at ``/metrics``, in UTF-8. ``register_room`` is the share of the register
    that is free, from 0 to 1."""
    registry = CollectorRegistry()
    registry.register(_Coarse(counts))
    registry.register(_Room(register_room))
    return generate_latest(registry)


class _Coarse:
    """A collector of ``prometheus_client`` that rounds counts."""

    def __init__(self, counts: Counts) -> None:
        self._counts = counts

    def collect(self) -> Iterable[Metric]:
        """Every metric, rounded; failures of the server stay exact."""
        for name, help_, labels in _COUNTERS:
            family = CounterMetricFamily(f"deniably_{name}", help_, labels=labels)
            for values, count in self._of(name):
                exact = name == "commit_failures" or "5xx" in values
                family.add_metric(values, count if exact else tens(count))
            yield family
        for name, help_ in _HISTOGRAMS:
            buckets = _buckets(self._of(name))
            yield HistogramMetricFamily(f"deniably_{name}_seconds", help_, buckets=buckets)
        waiting = sum(count for _, count in self._of("waiting"))
        help_ = "Reports and batches that wait for a commit."
        yield GaugeMetricFamily("deniably_queue_length", help_, value=tens(waiting))

        computing = GaugeMetricFamily(
            "deniably_computations_waiting",
            "Requests that wait for a computation, by lane.",
            labels=("lane",),
        )
        for lane, count in self._of("computing"):
            computing.add_metric(lane, tens(count))
        yield computing

    def _of(self, name: str) -> list[tuple[tuple[str, ...], int]]:
        return sorted((key[1:], count) for key, count in self._counts.items() if key[0] == name)


class _Room:
    """A collector of the share of the register that is left."""

    def __init__(self, room: float) -> None:
        self._room = room

    def collect(self) -> Iterable[Metric]:
        """One gauge."""
        help_ = "Share of the register that is left for surveys; it has at most 64 MiB."
        yield GaugeMetricFamily("deniably_register_room_ratio", help_, value=self._room)


def _buckets(counts: Iterable[tuple[Sequence[str], int]]) -> list[tuple[str, float]]:
    """Cumulative histogram buckets: how many took at most each step, in seconds."""
    took = {int(step): count for (step,), count in counts}
    total, buckets = 0, list[tuple[str, float]]()
    for step in STEPS:
        total += took.get(step, 0)
        buckets.append((str(step / 1000), tens(total)))
    return [*buckets, ("+Inf", tens(total))]
