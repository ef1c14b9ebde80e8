"""Lost executors and repeated tasks change nothing."""

import os
import random
import signal

import pytest

import nearkin as nk

nks = pytest.importorskip("nearkin.spark", reason="no pyspark (pip install 'nearkin[spark]')")
PARAMS = nk.Params(0.7, shingles="words:1", hashes=64, bands=(16, 4))


def kill_once(batches, marker, whole_executor):
    """Lets the first task that comes here die: its Python, or the executor that started it."""
    for batch in batches:
        yield batch
        try:
            os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            continue
        if whole_executor:
            os.kill(executor_of(os.getpid()), signal.SIGKILL)
        os.kill(os.getpid(), signal.SIGKILL)


def executor_of(pid):
    """The executor's process: the first one upwards that is Java."""
    while pid > 1:
        with open(f"/proc/{pid}/stat") as file:
            name, _, rest = file.read().partition("(")[2].rpartition(")")
        if name == "java":
            return pid
        pid = int(rest.split()[1])
    raise AssertionError("no Java above this process")


@pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="needs /proc")
@pytest.mark.parametrize("whole_executor", [False, True], ids=["a task", "an executor"])
def test_repeated_tasks_return_the_same_rows(spark, tmp_path, whole_executor):
    rng = random.Random(9)
    rows = []
    for at in range(300):
        words = [f"f{at % 40}w{word}" for word in range(25)]
        for _ in range(rng.choice([0, 1, 3])):
            words[rng.randrange(25)] = f"x{rng.randrange(50)}"
        rows.append((f"k{at:03}", " ".join(words)))
    with nk.Index(tmp_path / "ix", PARAMS) as index:
        index.add([key for key, _ in rows], [text for _, text in rows])
        pairs = sorted(row[:3] for row in index.pairs().read_all().rows())
    assert len(pairs) > 100
    df = spark.createDataFrame(rows, "id string, text string").repartition(4)

    # While the signatures are made and stored.
    marker = tmp_path / "first"
    dying = df.mapInArrow(lambda batches: kill_once(batches, marker, whole_executor), df.schema)
    found = nks.pairs(dying, PARAMS, partitions=3)
    assert marker.exists(), "nothing died"
    # And while the pairs are read: what was shuffled on the lost executor is made again.
    second = tmp_path / "second"
    again = found.mapInArrow(lambda batches: kill_once(batches, second, whole_executor), found.schema)
    assert sorted(tuple(row) for row in again.collect()) == pairs
    assert second.exists(), "nothing died"
