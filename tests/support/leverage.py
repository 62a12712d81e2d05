"""What one fake report can do to the figures of a question."""

from deniably.estimation.figures import Buckets, groups
from deniably.results.poisoning import Leverage, of_group
from deniably.survey.questions import Question


def leverages(question: Question) -> list[Leverage | None]:
    """Over every group that the question is about: its shares, or where it is about means, each of
    these."""
    return [
        of_group(question.report_mechanism, group)
        for group in groups(question)
        if group.guarded and not isinstance(group, Buckets)
    ]
