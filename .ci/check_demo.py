"""Check what ``make demo EXIT=1`` printed: python .ci/check_demo.py OUTPUT.

Every estimate must lie within six standard errors of the truth. Eleven normal deviates stray
further with a probability below 3e-8, so a failure is a fault and not bad luck.
"""

import re
import sys
from pathlib import Path

ROW = re.compile(
    r"^  (?P<label>\S.*?) +(?P<truth>[\d.]+)% +(?P<estimate>-?[\d.]+)% "
    r"+(?P<low>[\d.]+)% to (?P<high>[\d.]+)% +(?:holds|misses) the truth$"
)
SIX_ERRORS = 6 / 1.96
ROUNDING = 0.2

output = Path(sys.argv[1]).read_text(encoding="utf-8")
rows = [found for line in output.splitlines() if (found := ROW.match(line))]

assert len(rows) == 11, f"expected 11 rows of truth and estimate, found {len(rows)}"
assert rows[0]["label"] == "Yes"
assert rows[0]["truth"] == "32.2", "the share of Fair 1978 who had an affair"
for row in rows:
    truth, estimate, low, high = (float(row[key]) for key in ("truth", "estimate", "low", "high"))
    # Of an interval that was cut at 0 or 1, the other side still tells the standard error.
    margin = max(high - estimate, estimate - low)
    assert abs(estimate - truth) <= SIX_ERRORS * margin + ROUNDING, row[0]
assert "6366 people answered in" in output
assert re.search(r"^Dashboard  http://127\.0\.0\.1:\d+/surveys/marriage$", output, re.MULTILINE)
sys.stdout.write("the demonstration's figures are right: 11 rows within six standard errors\n")
