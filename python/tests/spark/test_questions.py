"""Test questions are kept out of training data, as by nearkin.dedup and Questions.find."""

import random

import pytest

import nearkin as nk

nks = pytest.importorskip("nearkin.spark", reason="no pyspark (pip install 'nearkin[spark]')")
PARAMS = nk.Params(0.7, shingles="words:3")
FIELDS = ("question", "words", "shared", "longest", "word", "passage", "questions")


def made(seed):
    """300 rows, 40 of which contain one of 12 questions: whole, cut or with a word replaced."""
    rng = random.Random(seed)
    word = lambda: f"w{rng.randrange(3000)}"  # noqa: E731
    questions = [" ".join(word() for _ in range(rng.randrange(5, 30))) for _ in range(12)]
    rows = []
    for at in range(300):
        words = [word() for _ in range(40)]
        if at % 8 == 0:
            part = rng.choice(questions).split()
            if at % 16 == 0 and len(part) > 10:
                part[len(part) // 2] = "replaced"
            words[20:20] = part[: rng.choice([len(part), len(part) * 3 // 4])]
        rows.append((f"k{at:03}", "" if at == 7 else None if at == 9 else " ".join(words)))
    # Copies, so that there is something to drop besides.
    rows += [(f"m{at}", rows[at + 1][1]) for at in range(0, 100, 10)]
    rng.shuffle(rows)
    return questions, rows


def test_the_same_rows_stay_and_the_same_evidence_is_told(spark):
    questions, rows = made(651)
    df = spark.createDataFrame(rows, "id string, text string").repartition(3)
    texts = dict(rows)
    marked = {row["id"]: row["question"] for row in nks.questions(df, [*questions, None]).collect()}
    assert marked.keys() == texts.keys()
    found = nk.Questions([*questions, None]).find([text for _, text in rows])
    assert sum(one is not None for one in found) > 20
    for (key, _), one in zip(rows, found, strict=True):
        expected = one and tuple(getattr(one, name) for name in FIELDS)
        assert (marked[key] and tuple(marked[key])) == expected, key
    kept = nks.dedup(df, PARAMS, without=questions, guard="none").collect()
    in_order = sorted(rows)
    params = {"params": PARAMS, "estimate": True}
    expected = nk.dedup([{"id": k, "t": t} for k, t in in_order], on="t", without=questions, **params)
    assert sorted(row["id"] for row in kept) == [row["id"] for row in expected]
    assert len(expected) < 280
    # Of other settings, and in a column of another name.
    strict = nks.questions(df, questions, PARAMS, share=1.0, words=500, column="asked")
    expected = nk.Questions(questions, share=1.0, words=500, params=PARAMS).find([t for _, t in rows])
    assert strict.where("asked is not null").count() == sum(one is not None for one in expected)
    with pytest.raises(nk.InvalidError):
        nks.questions(df, questions, share=7.0)
