"""The types of the library's names, as a type checker sees them (``make lint``); nothing runs."""

from pathlib import Path
from typing import TYPE_CHECKING, assert_type

import deniably as dn

if TYPE_CHECKING:
    import pandas as pd

    from deniably.audit.survey_audit import Audited
    from deniably.authoring.checking import Checked
    from deniably.design.plan_table import Planned
    from deniably.estimation.tally import Tally
    from deniably.exhibits.tabular import Findings
    from deniably.results.drawing.paper_figure import Svg
    from deniably.results.drawing.png import Png
    from deniably.survey.report import Report
    from deniably.workbench.findings import Passage, Subgroups

    survey = dn.load_survey("workplace.yaml")
    people = dn.simulate_people(survey, 1000)
    results = dn.estimate(survey, dn.tally(dn.randomise(people)), confidence=0.9, smooth=True)

    assert_type(survey, dn.Survey)
    assert_type(people, dn.People)
    assert_type(dn.read_people(survey, "people.csv"), dn.People)
    assert_type(dn.read_people(survey, people.to_frame()), dn.People)
    assert_type(dn.randomise(people), dn.Reports)
    assert_type(dn.randomise_answers(survey, {"stolen": "no"}), Report)
    assert_type(dn.tally(dn.randomise(people)), dict[str, Tally])
    assert_type(results, dn.Results)
    assert_type(results.to_frame(), pd.DataFrame)
    assert_type(results.figure("stolen", width=180), Svg)
    study = dn.open("https://example.org/s/workplace", token="...")
    assert_type(study, dn.Study)
    assert_type(dn.open(Path("workplace-data")), dn.Study)
    assert_type(dn.open((survey, dn.randomise(people))).estimate("stolen"), dn.Results)
    assert_type(study.mean("hours").estimate, float)
    assert_type(study.crosstab("stolen", "often").to_frame(), pd.DataFrame)
    assert_type(study.difference("often", other=study), Findings)
    assert_type(study.regress("stolen ~ often"), dn.Regression)
    assert_type(study.figure("stolen", width=180), Svg)
    assert_type(study.figure("stolen", "png"), Png)
    assert_type(study.estimate("stolen", by="site"), Subgroups)
    assert_type(study.estimate("stolen", weights=study.rake({"site": {"north": 1}})), Findings)
    assert_type(study.methods(), Passage)
    assert_type(dn.check_survey({"name": "workplace"}), Checked)
    assert_type(dn.plan_survey(survey, n=1000), Planned)
    assert_type(dn.audit_survey(survey, trials=1000).passed, bool)
    assert_type(dn.audit_survey(survey), Audited)
    funnel = dn.lab.noise_averages_out(truth="1/2", n=[10, 100, 100_000], share=0.5, seed=1)
    assert_type(funnel, dn.lab.Experiment)
    assert_type(funnel.to_frame(), pd.DataFrame)
    assert_type(dn.lab.of_survey(survey), list[dn.lab.Experiment])
    model = dn.regress("affair ~ age", {"affair": [0, 1]}, designs={"affair": (0.75, "1/4")})
    assert_type(model, dn.Regression)
    assert_type(model.to_frame(), pd.DataFrame)
    assert_type(dn.Design.k_ary(5, "3/5"), dn.Design)
    power = dn.workbench.plan_power(survey, difference=0.1, power=0.8)
    assert_type(power, dn.workbench.Powered)
    assert_type(power.to_frame(), pd.DataFrame)
