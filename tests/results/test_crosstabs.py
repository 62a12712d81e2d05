"""The cross-table of two questions is that of the answers, whatever a report says of an option."""

from __future__ import annotations

import pytest

from deniably.authoring.compiling import compile_survey
from deniably.mechanisms import SampledTicks
from deniably.results.crosstabs import crosstab_result
from deniably.survey.report import randomise_answers
from support.seeded import seeded_coins

CHOICES = ["C0", "C1"]


@pytest.mark.parametrize("mechanism", ["sampled_ticks", "rappor", "set_response"])
def test_what_all_ticked_is_in_their_cell(mechanism: str) -> None:
    """Sampled ticks, too, where a device reports all options: a report then names a cell for each,
    whether it is ticked or not."""
    both = [
        {"name": name, "type": "select_multiple", "label": name, "choices": CHOICES, "epsilon": 10}
        | ({"mechanism": mechanism} if mechanism != "set_response" else {"most": 1})
        for name in ("a", "b")
    ]
    survey = compile_survey({"name": "s", "title": "S", "questions": both})
    if mechanism == "sampled_ticks":
        assert all(
            isinstance(question.mechanism, SampledTicks)
            and question.mechanism.s == question.mechanism.k
            for question in survey.questions
        )
    coins = seeded_coins(1)
    answers = {"a": ["C0"], "b": ["C1"]}
    reports = [randomise_answers(survey, answers, coins) for _ in range(300)]
    rows = [[report.values.get(name) for name in answers] for report in reports]

    table = crosstab_result(survey, [0, 1], [rows], 0.95)

    shares = [[cell.estimate for cell in line] for line in table["cells"]]
    assert shares[0] == pytest.approx([0, 1], abs=0.15)
    assert shares[1] == pytest.approx([0, 0], abs=0.15)
