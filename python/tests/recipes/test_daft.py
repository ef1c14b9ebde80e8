"""The recipe for Daft says what one machine says."""

import functools

import pytest
from conftest import sorted_rows

import nearkin as nk

daft = pytest.importorskip("daft", reason="no daft (pip install daft)")


def frame(rows, parts):
    frames = []
    for first in range(parts):
        keys, texts = zip(*rows[first::parts], strict=True)
        frames.append(daft.from_pydict({"id": list(keys), "text": list(texts)}))
    return functools.reduce(daft.DataFrame.concat, frames)


@pytest.mark.parametrize(("parts", "slots"), [(1, 1), (5, 16)])
def test_daft_says_what_one_machine_says(world, parts, slots):
    import daft_frames as recipe

    df, how = frame(world.rows, parts), {"threshold": world.params.threshold, "slots": slots}
    found = recipe.pairs(df, world.params, **how).to_pylist()
    assert sorted_rows(found, ["a", "b", "similarity"]) == world.pairs
    found = recipe.clusters(df, world.params, **how).to_pylist()
    assert sorted_rows(found, ["node", "component"]) == world.clusters
    found = recipe.dedup(df, world.params, **how).to_pylist()
    assert sorted_rows(found, ["id", "text"]) == world.kept


@pytest.mark.parametrize("other", ["a text of a few words", " "])
@pytest.mark.parametrize("bad", ["a", None])
def test_daft_refuses_keys_that_name_no_row(bad, other):
    import daft_frames as recipe

    text = "a text of a few words"
    df = frame([("a", text), (bad, other), ("c", text)], 1)
    with pytest.raises(ValueError, match="null or occur twice"):
        recipe.pairs(df, nk.Params(), 0.7)
