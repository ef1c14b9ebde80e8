"""The recipe for Ray Data says what one machine says."""

import os

import pytest
from conftest import sorted_rows

ray = pytest.importorskip("ray.data", reason="no ray (pip install 'ray[data]')")


@pytest.fixture(scope="module", autouse=True)
def cluster():
    import ray

    # Beside other work, workers of niceness 15 would not get a turn.
    os.environ["RAY_worker_niceness"] = "0"
    ray.init(num_cpus=2, include_dashboard=False, logging_level="error", log_to_driver=False)
    ray.data.DataContext.get_current().enable_progress_bars = False
    yield
    ray.shutdown()


def dataset(rows, blocks):
    return ray.from_items([{"id": key, "text": text} for key, text in rows]).repartition(blocks)


def test_ray_says_what_one_machine_says(world):
    import ray_datasets as recipe

    slots = 3
    ds = dataset(world.rows, blocks=5)
    found = recipe.pairs(ds, world.params, slots=slots).take_all()
    assert sorted_rows(found, ["a", "b", "similarity"]) == world.pairs
    found = recipe.clusters(ds, world.params, slots=slots).take_all()
    assert sorted_rows(found, ["node", "component"]) == world.clusters
    found = recipe.dedup(ds, world.params, slots=slots)
    assert sorted_rows(found.take_all(), ["id", "text"]) == world.kept


@pytest.mark.parametrize("other", ["a text of a few words", " "])
@pytest.mark.parametrize("bad", ["a", None])
def test_ray_refuses_keys_that_name_no_row(bad, other):
    import ray_datasets as recipe

    import nearkin as nk

    text = "a text of a few words"
    ds = dataset([("a", text), (bad, other), ("c", text)], 2)
    with pytest.raises(ValueError, match="keys are null or occur twice: (None|'a')"):
        recipe.pairs(ds, nk.Params())
