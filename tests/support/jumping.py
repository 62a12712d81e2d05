"""A clock on the wall that jumps by decades at every look, in the process that calls this."""

from __future__ import annotations

import random
import sys
import time
from datetime import date, datetime, tzinfo

_YEAR = 365 * 24 * 3600
_JUMPS = (-30 * _YEAR, -3600, 0, 3600, 30 * _YEAR)


def jump() -> None:
    """From now on, for ``time`` and for every module of Deniably."""
    real, chance = time.time, random.Random(7)

    def jumping() -> float:
        return real() + chance.choice(_JUMPS)

    class Moment(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> Moment:
            return cls.fromtimestamp(jumping(), tz)

    class Day(date):
        @classmethod
        def today(cls) -> Day:
            return cls.fromtimestamp(jumping())

    assert {Moment.now().year for _ in range(99)} > {datetime.now().year}
    time.time, time.time_ns = jumping, lambda: int(jumping() * 1e9)
    instead = {datetime: Moment, date: Day, real: jumping}
    for name, module in list(sys.modules.items()):
        if name.startswith("deniably"):
            for key, value in list(vars(module).items()):
                if isinstance(value, type | type(real)) and value in instead:
                    setattr(module, key, instead[value])
