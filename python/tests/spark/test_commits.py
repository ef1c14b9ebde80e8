"""What dies, comes twice or is overtaken: a sharded index is the old one or the new one."""

import os
import threading

import pytest
from corpora import SMALL, crowds
from test_failures import kill_once

import nearkin as nk
from nearkin import shards as nk_shards

nks = pytest.importorskip("nearkin.spark", reason="no pyspark (pip install 'nearkin[spark]')")
from nearkin.spark import _stored  # noqa: E402
from nearkin.spark._documents import Columns  # noqa: E402

ROWS = [row for row in crowds() if row[1] and row[1].strip(" .")]
OLD, NEW = ROWS[:200], ROWS[150:350]
COLUMNS = Columns("id", "text")


def frame(spark, rows):
    return spark.createDataFrame(rows, "id string, text string").repartition(3)


def parts_of(df, lake, job):
    at = _stored.lake_at(lake.path, None)
    return _stored.parts_of(df, at, lake, job, COLUMNS, None, None, 2)


def said(path):
    reader = nk.Reader(path)
    assert reader.verify().ok
    documents = sorted((key, reader[key].signature.to_bytes()) for key in reader)
    return documents, sorted(row[:3] for row in reader.pairs(0.6).read_all().rows())


def segments(path):
    return sorted(file.name for file in (path / "segments").iterdir())


@pytest.fixture
def built(spark, tmp_path):
    """An index of OLD; what it says; and what it says with NEW, too."""
    path = tmp_path / "lake"
    nks.build(frame(spark, OLD), path, SMALL, shards=3, partitions=2)
    before = said(path)
    with nk.Index(tmp_path / "plain", SMALL) as plain:
        plain.add(*zip(*OLD, strict=True))
        plain.add(*zip(*NEW, strict=True))
        after = said_of_plain(plain)
    assert before != after
    return path, before, after


def said_of_plain(plain):
    documents = sorted((key, plain[key].signature.to_bytes()) for key in plain)
    return documents, sorted(row[:3] for row in plain.pairs(0.6).read_all().rows())


@pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="needs /proc")
@pytest.mark.parametrize("whole_executor", [False, True], ids=["a task", "an executor"])
def test_a_task_that_dies_after_placing_its_file_is_repeated(
    spark, built, tmp_path, whole_executor
):
    path, before, after = built
    lake, job = nk_shards.Shards(path), _stored.new_job()
    placed = parts_of(frame(spark, NEW), lake, job)
    marker = tmp_path / "died"
    dying = placed.mapInArrow(lambda batches: kill_once(batches, marker, whole_executor), placed.schema)
    parts = _stored.collected(dying)
    assert marker.exists(), "nothing died"
    assert said(path) == before
    done = _stored.commit(lake, parts, "", None)
    assert (done.inserted, done.replaced) == (150, 50) and said(path) == after
    # The first attempt's file is the second's: 3 old segments, 3 new ones, dead files of the old.
    assert len([name for name in segments(path) if name.endswith(".seg")]) == 6


def test_a_second_attempt_makes_the_same_files(spark, built):
    path, before, after = built
    lake, job = nk_shards.Shards(path), _stored.new_job()
    parts = parts_of(frame(spark, NEW), lake, job)
    first = _stored.collected(parts)
    there = segments(path)
    again = _stored.collected(parts_of(frame(spark, NEW[::-1]), lake, job))
    assert sorted(again.segments, key=lambda part: part[0]) == sorted(
        first.segments, key=lambda part: part[0]
    )
    assert segments(path) == there and said(path) == before
    _stored.commit(lake, first, "", None)
    assert said(path) == after
    # Other documents under the same job: no attempt overwrites what another one placed.
    from pyspark.errors import PythonException

    with pytest.raises(PythonException, match="a different file exists there"):
        _stored.collected(parts_of(frame(spark, OLD), lake, job))
    assert said(path) == after


class Dying:
    """A driver that dies when it commits."""

    def __init__(self, lake, before):
        self.lake, self.before = lake, before

    def __getattr__(self, name):
        return getattr(self.lake, name)

    def append(self, *arguments):
        if not self.before:
            self.lake.append(*arguments)
        raise KeyboardInterrupt


@pytest.mark.parametrize("before_commit", [True, False], ids=["before", "after"])
def test_a_driver_that_dies_and_comes_again_commits_a_batch_once(spark, built, before_commit):
    path, before, after = built
    lake = nk_shards.Shards(path)
    parts = _stored.collected(parts_of(frame(spark, NEW), lake, _stored.new_job()))
    with pytest.raises(KeyboardInterrupt):
        _stored.commit(Dying(lake, before_commit), parts, "day", 7)
    assert said(path) == (before if before_commit else after)
    done = nks.append(frame(spark, NEW), path, 7, stream="day", partitions=2)
    assert done.is_replay != before_commit and said(path) == after
    again = nks.append(frame(spark, OLD), path, 7, stream="day", partitions=2)
    assert again == (0, 0, 0, done.generation, True) and said(path) == after
    # What the dead driver's tasks left: three segments that nobody lists.
    swept = nk_shards.Shards(path).sweep()
    assert swept == (3 if before_commit else 0)
    assert said(path) == after
    # Another stream counts for itself.
    other = nks.append(frame(spark, NEW), path, 1, stream="other", partitions=2)
    assert not other.is_replay and other.replaced == 200
    assert nks.append(frame(spark, OLD), path, 6, stream="day").is_replay


def test_a_replayed_micro_batch_is_a_no_op(spark, built, tmp_path):
    path, before, after = built
    source, checkpoint = tmp_path / "source", tmp_path / "checkpoint"
    frame(spark, NEW).coalesce(1).write.parquet(str(source))
    told = []

    def run():
        stream = spark.readStream.schema("id string, text string").parquet(str(source))
        writer = stream.writeStream.option("checkpointLocation", str(checkpoint))
        writer = writer.foreachBatch(
            lambda df, batch: told.append(nks.append(df, path, batch, partitions=2))
        )
        writer.trigger(availableNow=True).start().awaitTermination()

    run()
    assert [done.is_replay for done in told] == [False] and said(path) == after
    # The driver died after our commit, before Spark noted that the batch is done.
    for file in (checkpoint / "commits").iterdir():
        file.unlink()
    run()
    assert [done.is_replay for done in told] == [False, True] and said(path) == after
    assert told[0].generation == told[1].generation


def test_two_committers_both_commit_and_neither_loses(spark, built):
    path, before, after = built
    lakes = [nk_shards.Shards(path), nk_shards.Shards(path)]
    rows = [NEW[:100], NEW[100:]]
    parts = [
        _stored.collected(parts_of(frame(spark, some), lake, _stored.new_job()))
        for some, lake in zip(rows, lakes, strict=True)
    ]
    together, done, failed = threading.Barrier(2), [], []

    def work(lake, part):
        together.wait()
        try:
            done.append(_stored.commit(lake, part, "", None))
        except nk.Error as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=both) for both in zip(lakes, parts, strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    # Both began at generation 2: one of them was second, and listed its files after the other's.
    assert sorted(one.generation for one in done) == [3, 4] and said(path) == after


def test_of_two_that_build_at_one_path_one_wins(spark, tmp_path):
    path = tmp_path / "lake"
    at = _stored.lake_at(path, None)
    lakes = [_stored.begun(at, SMALL, 2), _stored.begun(at, SMALL, 2)]
    parts = [
        _stored.collected(parts_of(frame(spark, rows), lake, _stored.new_job()))
        for rows, lake in zip([OLD, NEW], lakes, strict=True)
    ]
    _stored.commit_new(lakes[0], parts[0])
    before = said(path)
    with pytest.raises(nk.UnsettledError, match="another commit was first"):
        _stored.commit_new(lakes[1], parts[1])
    assert said(path) == before and nk_shards.Shards(path).sweep() == 2
    assert said(path) == before


def test_matches_are_those_of_one_generation(spark, built):
    path, _, _ = built
    found = nks.match(frame(spark, NEW), path, threshold=0.6)
    reader = nk.Reader(path)
    rows = reader.query_many([text for _, text in NEW], threshold=0.6).rows()
    expected = sorted((NEW[row][0], key, similarity) for row, key, similarity in rows)
    # No task has opened the index yet.
    nks.append(frame(spark, NEW), path, partitions=2)
    assert sorted(tuple(row) for row in found.collect()) == expected
    later = nks.match(frame(spark, NEW), path, threshold=0.6).count()
    assert later > len(expected) > 100
