"""Plans the machines for a survey from what one form and one report cost.

The costs are measured on two cores (``unit_costs``); the rest is arithmetic. So a plan is right to
within a factor of two on how many machines, disks and dollars it takes. It also says which part of
a machine is too small first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor, log10

from deniably.core.table import Cell, Table
from deniably.design.unit_costs import MEASURED, QUESTIONS, UnitCosts

HALF = 0.5
"""The fraction of a machine that is in use at the peak: the other half is for what nobody
planned."""
CORES = 2
"""The cores of a collector: as many as the machine had on which the costs were measured."""
MEMORY = 8.0
"""Gigabytes of a collector. Ids are random, so every report goes to another place of the database;
what does not fit into memory is read from the disk and written back for each."""
LINE = 1000.0
"""Megabits a second that a machine sends at most."""

_DAY, _MONTH = 86_400, 30
_LISTED = 126
"""The largest number of other entries whose hashes a listing has (SPEC 10.2)."""


@dataclass(frozen=True)
class Prices:
    """Prices in dollars: of an hour of a core, of a month of a gigabyte on disk, of a gigabyte
    sent.

    The defaults were assumed in November 2026, between cheap and expensive offers; replace them by
    your own.
    """

    core_hour: float = 0.05
    gb_month: float = 0.10
    gb_sent: float = 0.05


@dataclass(frozen=True)
class Fieldwork:
    """The plan of when people answer: in ``waves``, each of which lasts ``days``.

    In the busiest hour there are ``peak`` times as many reports as on average. With ``form``,
    people open the web form, and nothing of it is in the cache of their browser. Without it,
    devices send reports by themselves. Files are kept for ``months``.
    """

    name: str
    waves: int = 1
    days: float = 7
    peak: float = 10
    form: bool = True
    months: float = 12


CENSUS = Fieldwork("Census: everybody in a week")
PANEL = Fieldwork("Panel: a week in each of 40 quarters", waves=40, months=120)
TELEMETRY = Fieldwork("Telemetry: daily for a year", waves=365, days=1, peak=3, form=False)
FIELDWORK = {"census": CENSUS, "panel": PANEL, "telemetry": TELEMETRY}


@dataclass(frozen=True)
class Machines:
    """The plan of the machines for ``people`` who answer three questions in a ``fieldwork``."""

    people: int
    fieldwork: Fieldwork
    costs: UnitCosts = MEASURED
    prices: Prices = Prices()

    @property
    def reports(self) -> int:
        """The number of reports over all waves."""
        return self.people * self.fieldwork.waves

    @property
    def average(self) -> float:
        """The average number of reports a second."""
        return self.people / (self.fieldwork.days * _DAY)

    @property
    def peak(self) -> float:
        """The number of reports a second at the busiest hour."""
        return self.average * self.fieldwork.peak

    @property
    def cores(self) -> float:
        """The number of cores for proxies and servers at the peak, if half of them are in use."""
        costs = self.costs
        read = costs.form if self.fieldwork.form else costs.device
        each = costs.connection.value + read.value + costs.report.value
        return self.peak * each / 1000 / HALF

    @property
    def collectors(self) -> int:
        """The number of servers, each with a database and two cores."""
        return ceil(max(self.strain.values()))

    @property
    def sent(self) -> float:
        """The number of gigabytes that people read over all waves."""
        # The register grows by a survey a wave: on average half of them are in it.
        return self.reports * self._read((self.fieldwork.waves + 1) / 2) / 1e9

    @property
    def line(self) -> float:
        """The number of megabits a second that are sent at the peak of the last wave."""
        return self.peak * self._read(self.fieldwork.waves) * 8 / 1e6

    def _read(self, surveys: float) -> float:
        """Bytes that a person reads where the register has so many surveys: of the last 127 entries
        a listing has the hashes (SPEC 10.2), of those before a few bytes."""
        costs = self.costs
        size = costs.form_size if self.fieldwork.form else costs.device_size
        return 1000 * size.value + min(surveys - 1, _LISTED) * costs.entry.value

    @property
    def database(self) -> float:
        """The size of one wave's databases in gigabytes, over all collectors."""
        return self.people * self.costs.stored.value / 1e9

    @property
    def disks(self) -> float:
        """The size of the disks for a wave in gigabytes: five times that of the databases.

        They hold the databases, free space of twice their size for closing the survey, and two
        backups.
        """
        return 5 * self.database

    @property
    def parquet(self) -> float:
        """The size of the Parquet files of all waves in gigabytes, at most."""
        return self.reports * QUESTIONS * self.costs.parquet.value / 1e9

    @property
    def closing(self) -> float:
        """The number of seconds until a collector has closed a wave and exported its reports."""
        each = self.costs.closing.value + self.costs.export.value
        return self.people / self.collectors * each / 1e6

    @property
    def tally(self) -> float:
        """The number of seconds in which DuckDB counts a wave on two cores."""
        return self.people * QUESTIONS * self.costs.duckdb.value / 1e9 / CORES

    @property
    def money(self) -> tuple[float, float, float]:
        """The cost in dollars of the cores, of the disks, and of the gigabytes that are sent."""
        work, prices = self.fieldwork, self.prices
        hours = work.waves * work.days * 24
        months = work.waves * work.days / _MONTH + 1
        kept = self.disks * months + self.parquet * work.months
        cores = CORES * self.collectors * hours
        return cores * prices.core_hour, kept * prices.gb_month, self.sent * prices.gb_sent

    @property
    def strain(self) -> dict[str, float]:
        """The needs of the survey by name, as multiples of what one collector has.

        The names are cores, line and memory. The largest value, rounded up, is the number of
        collectors.
        """
        return {
            "cores": self.cores / CORES,
            "line": self.line / LINE / HALF,
            "memory": self.database / MEMORY,
        }


def plan_machines(
    fieldwork: Fieldwork,
    people: Sequence[int],
    prices: Prices = Prices(),
    costs: UnitCosts = MEASURED,
) -> Table:
    """Returns a table of the machines for each number of ``people``, in a column of its own.

    Each row has ``people``, ``reports`` over all waves, reports a second on ``average`` and at the
    ``peak``, ``cores``, ``collectors``, gigabytes ``sent``, of a wave in a ``database``, on
    ``disks`` and in ``parquet``, seconds of the ``closing`` and of the ``tally``, dollars for
    ``core_hours``, ``gb_months`` and ``gb_sent``; and ``alone_...``, the need for cores, line or
    memory as a multiple of what one collector has.

    >>> from deniably.design.capacity import CENSUS, plan_machines
    >>> plan_machines(CENSUS, [1_000_000]).rows[0]["collectors"]
    1
    """
    plans = [Machines(n, fieldwork, costs, prices) for n in people]
    columns = [list(_texts(plan).values()) for plan in plans]
    names = list(_texts(plans[0]))
    return Table(
        f"{fieldwork.name}, three questions",
        [_cells(plan) for plan in plans],
        list(zip(names, *columns, strict=True)),
        1,
        [
            "Good to a factor of two. The prices are assumed:",
            f"{prices.core_hour:.2f} an hour of a core, {prices.gb_month:.2f} a month of a GB,"
            f" {prices.gb_sent:.2f} a GB sent.",
        ],
    )


def _cells(plan: Machines) -> dict[str, Cell]:
    cores, disks, sent = plan.money
    return {
        "people": plan.people,
        "reports": plan.reports,
        "average": plan.average,
        "peak": plan.peak,
        "cores": plan.cores,
        "collectors": plan.collectors,
        "sent": plan.sent,
        "database": plan.database,
        "disks": plan.disks,
        "parquet": plan.parquet,
        "closing": plan.closing,
        "tally": plan.tally,
        "core_hours": cores,
        "gb_months": disks,
        "gb_sent": sent,
        **{f"alone_{what.replace(' ', '_')}": times for what, times in plan.strain.items()},
    }


def _texts(plan: Machines) -> dict[str, str]:
    """The lines of a column, by their names."""
    cores, disks, sent = map(two_digits, plan.money)
    return {
        "people": f"{plan.people:,}",
        "reports, over all waves": f"{plan.reports:,}",
        "reports/s, on average": two_digits(plan.average),
        "  at the busiest hour": two_digits(plan.peak),
        "cores, half used then": two_digits(plan.cores),
        "collectors of two cores": f"{plan.collectors:,}",
        "database of a wave": f"{two_digits(plan.database)} GB",
        "  disks, with backups": f"{two_digits(plan.disks)} GB",
        "report sets, at most": f"{two_digits(plan.parquet)} GB",
        "read by all, in all": f"{two_digits(plan.sent)} GB",
        "closing and export": _lasting(plan.closing),
        "  counted by DuckDB": _lasting(plan.tally),
        "dollars for cores": cores,
        "  for disks": disks,
        "  for what is sent": sent,
        **{
            f"{'  its' if place else 'alone, times its'} {what}": two_digits(times)
            for place, (what, times) in enumerate(plan.strain.items())
        },
    }


def two_digits(value: float) -> str:
    """Returns a number as text with two significant digits.

    >>> two_digits(1653.4), two_digits(0.01653), two_digits(0)
    ('1,700', '0.017', '0')
    """
    if not value:
        return "0"
    rounded = float(f"{value:.1e}")
    return f"{rounded:,.{max(1 - floor(log10(rounded)), 0)}f}"


def _lasting(seconds: float) -> str:
    size, unit = next((each for each in _TIMES if seconds >= each[0]), _TIMES[-1])
    return f"{two_digits(seconds / size)} {unit}"


_TIMES = ((_DAY, "days"), (3600.0, "h"), (60.0, "min"), (1.0, "s"))
