"""The demonstration's true answers are those of a real survey, recounted here."""

from collections import Counter

from deniably.authoring.compiling import publish_text
from deniably_client.demo import HERE, respondents

RATINGS = ["very_poor", "poor", "fair", "good", "very_good"]
RELIGIOUS = ["not", "mildly", "fairly", "strongly"]


def test_the_committed_table_is_that_of_fair_1978() -> None:
    from statsmodels import datasets  # imports for a second

    data = datasets.fair.load_pandas().data
    theirs = Counter(
        ("yes" if affairs > 0 else "no", RATINGS[int(rating) - 1], RELIGIOUS[int(faith) - 1])
        for affairs, rating, faith in zip(
            data.affairs, data.rate_marriage, data.religious, strict=True
        )
    )

    ours = Counter((p["affair"], p["marriage"], p["religious"]) for p in respondents())

    assert ours == theirs
    assert ours.total() == 6366


def test_every_respondent_answers_the_questions_that_are_asked() -> None:
    survey = publish_text((HERE / "fair1978.yaml").read_text(encoding="utf-8"))
    choices = {q.name: {choice.name for choice in q.choices} for q in survey.questions}

    assert choices == {
        name: {person[name] for person in respondents()}
        for name in ("affair", "marriage", "religious")
    }
