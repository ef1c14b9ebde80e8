"""Forms that are filled in anew stay, as `nearkin.dedup` keeps them: whatever the partitions."""

import random
import warnings

import pytest
from corpora import CORPORA, WORDS, of_given_bands

import nearkin as nk

nks = pytest.importorskip("nearkin.spark", reason="no pyspark (pip install 'nearkin[spark]')")
SEED = 20_291
SHORT = nk.Params.preset("short")


def word(text):
    """A word without digits, which would make it a number."""
    return text.translate(str.maketrans("0123456789", "abcdefghij"))


def form(rng, names, values):
    """A text of a form, and a function that fills it in."""
    frame = [word(f"{rng.choice(names)}{at}") for at in range(values * 24)]

    def filled():
        words = [*frame]
        for at in range(values):
            words[at * 24 + 5] = rng.choice([f"{rng.randrange(10**6)}", word(f"name{rng.randrange(10**5)}")])
        return words

    return filled


def made(seed):
    """Invoices and letters, some sent again as they are, or with a typing error, or twice; a page
    mirrored often with edits; prose with near copies; and rows without a text."""
    print(f"seed {seed}")
    rng = random.Random(seed)
    texts, again = [], []
    for at, count in enumerate([70, 50, 30, 6]):
        filled = form(rng, [f"form{at}", f"word{at}x"], 4 + 2 * at)
        for number in range(count):
            words = filled()
            texts.append(" ".join(words))
            for _ in range(rng.choice([0, 0, 0, 0, 1, 2, 5])):
                copy = [*words]
                if number % 2:
                    copy[rng.randrange(len(copy))] = word(f"typo{rng.randrange(90)}")
                again.append(" ".join(copy))
    page = [word(f"page{at}") for at in range(150)]
    for _ in range(40):
        copy = [*page]
        for _ in range(rng.randrange(4)):
            copy[rng.randrange(150)] = word(f"edit{rng.randrange(10**6)}")
        texts.append(" ".join(copy))
    for story in range(60):
        words = [word(f"s{story}w{rng.randrange(200)}") for _ in range(rng.randrange(30, 120))]
        for _ in range(rng.randrange(1, 4)):
            some = [*words]
            for _ in range(rng.randrange(4)):
                some[rng.randrange(len(some))] = word(f"x{rng.randrange(50)}")
            texts.append(" ".join(some))
    texts += [*again, None, "", " . "]
    keys = rng.sample(range(10**6), len(texts))
    return [(f"k{key:06}", text) for key, text in zip(keys, texts, strict=True)]


ROWS = made(SEED)
WORLDS = {"forms": (ROWS, WORDS), "short": (ROWS[::3], SHORT), **{n: CORPORA[n][:2] for n in ("spdx", "crowds")}}


def told_of(rows, params, keep="first", **how):
    return nk.dedup([text for _, text in rows], params=params, keep=keep, annotate=True, **how)


@pytest.mark.parametrize(
    ("name", "keep", "partitions", "how"),
    [
        ("forms", "first", 1, {}),
        ("forms", "last", 3, {"guard": "numbers"}),
        ("forms", "longest", 5, {"exact": True, "guard": "rare"}),
        ("forms", "first", 4, {"guard": "none"}),
        ("short", "longest", 3, {}),
        ("spdx", "longest", 7, {}),
        ("spdx", "last", 2, {"exact": True}),
        ("crowds", "longest", 3, {"guard": "agree", "threshold": 0.5}),
        ("crowds", "last", 2, {}),
    ],
)
def test_the_guard_keeps_what_one_machine_keeps(spark, name, keep, partitions, how):
    rows, params = WORLDS[name]
    params, rows = of_given_bands(params) if name == "crowds" else params, sorted(rows)
    told = told_of(rows, params, keep, **how)
    expected = [row for row, of in zip(rows, told, strict=True) if of.kept]
    apart = sum(of.apart is not None for of in told)
    print(f"{name} {keep} {how}: {len(rows)} rows, {len(expected)} kept, {apart} of them apart")
    df = spark.createDataFrame(rows, "id string, text string").repartition(partitions)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always", UserWarning)
        found = nks.dedup(df, params, keep=keep, partitions=partitions, block=7, **how)
    assert sorted((tuple(row) for row in found.collect()), key=str) == sorted(expected, key=str)
    assert found.schema == df.schema
    warned = [str(one.message) for one in warned if "guard=" in str(one.message)]
    assert [one.split(" row")[0] for one in warned] == ([str(apart)] if apart and "guard" not in how else [])
    if name == "forms" and not how:
        assert apart > 100
        assert len(expected) < len(rows) - 80


def test_forms_stay_and_what_was_sent_again_goes(spark):
    """Judged by how the rows were made, and not by another program."""
    rng = random.Random(SEED + 1)
    filled = form(rng, ["bill"], 8)
    rows = [(f"a{at:03}", " ".join(filled())) for at in range(120)]
    sent = [(f"b{at:03}", text.replace("billh ", "bilh ")) for at, (_, text) in enumerate(rows[::8])]
    equal = [(f"c{at:03}", text) for at, (_, text) in enumerate(rows[::10] + sent[::4])]
    df = spark.createDataFrame(rows + sent + equal, "id string, text string").repartition(3)
    params = nk.Params(0.7)
    with pytest.warns(UserWarning, match="119 rows differ"):
        kept = sorted(row["id"] for row in nks.dedup(df, params).collect())
    assert kept == [key for key, _ in rows]
    assert nks.dedup(df, params, guard="none").count() == 1


def test_keys_of_bytes_and_integers_are_judged(spark):
    text = "pay {} euros for the lessons of march to the school of music in the old town before may"
    params = nk.Params(0.6)
    for kind, keys in [("binary", [b"\xff", b"a", b"\x80"]), ("long", [10, 9, 8])]:
        rows = list(zip(keys, [text.format(40), text.format(55), text.format(40)], strict=True))
        df = spark.createDataFrame(rows, f"id {kind}, text string")
        order = sorted(rows, key=lambda row: str(row[0]).encode() if kind != "binary" else row[0])
        told = told_of(order, params)
        expected = sorted(row[0] for row, of in zip(order, told, strict=True) if of.kept)
        assert len(expected) == 2
        kept = nks.dedup(df, params, guard="rare").collect()
        assert sorted(row["id"] for row in kept) == expected


def test_what_cannot_be_guarded_is_refused(spark):
    df = spark.createDataFrame([("a", "one two three", ["x"])], "id string, text string, bag array<string>")
    made = nks.sketch(df, WORDS, shingle_count="n")
    sets = nk.Params(shingles="items")
    for call, message in [
        (lambda: nks.dedup(df, WORDS, guard="rare", contained=0.8), "nothing with contained="),
        (lambda: nks.dedup(df, WORDS, guard="rare", estimate=True), "nothing with estimate=True"),
        (lambda: nks.dedup(df, sets, guard="agree", items="bag"), "nothing with items="),
        (lambda: nks.dedup(made, WORDS, guard="rare", signature="signature"), "nothing with signature="),
        (lambda: nks.dedup(df, WORDS, guard="best"), "a guard is none, numbers, rare or agree, not `best`"),
        (lambda: nks.dedup(df, WORDS, exact=True, estimate=True), "exclude each other"),
    ]:
        with pytest.raises(nk.InvalidError, match=message):
            call()
