"""An index on an S3-like store is the one in a folder, whoever dies."""

import os
import threading

import pytest
from corpora import CORPORA, SMALL, crowds
from s3_server import s3_server
from test_commits import said, said_of_plain
from test_failures import kill_once
from test_stored import all_of, frame, queried, rows_of

import nearkin as nk
from nearkin import shards

nks = pytest.importorskip("nearkin.spark", reason="no pyspark (pip install 'nearkin[spark]')")
from nearkin.spark import _stored  # noqa: E402
from nearkin.spark._documents import Columns  # noqa: E402

ROWS = [row for row in crowds() if row[1] and row[1].strip(" .")]
OLD, NEW, THIRD = ROWS[:200], ROWS[150:350], ROWS[350:450]


@pytest.fixture
def s3(monkeypatch):
    with s3_server(monkeypatch) as (bucket, options):
        yield f"{bucket}/lake", {"storage_options": options}


def fetched(address, options, folder):
    shards.fetch(address, folder, **options["storage_options"])
    return folder


def test_an_index_on_s3_is_that_of_one_machine(spark, s3, tmp_path):
    address, options = s3
    rows, params, threshold = CORPORA["spdx"]
    first, new, asked = rows[:300], rows[280:], rows[::7]
    gone = [key for key, _ in rows[20:40]]
    df = frame(spark, asked)
    with nk.Index(tmp_path / "one", params) as plain:

        def check(what):
            with nk.Reader(fetched(address, options, tmp_path / "fetched")) as reader:
                assert all_of(reader, threshold) == all_of(plain, threshold), what
                assert reader.verify().ok
            found = nks.match(df, address, threshold=threshold, **options)
            expected = queried(plain, asked, threshold)
            assert rows_of(found) == expected and len(expected) > 50, what

        plain.add(*zip(*first, strict=True))
        done = nks.build(frame(spark, first), address, params, shards=2, partitions=2, **options)
        assert (done.inserted, done.generation) == (len(plain), 2)
        check("built")
        added = plain.add(*zip(*new, strict=True))
        done = nks.append(frame(spark, new), address, 7, partitions=2, **options)
        assert done.inserted == added.inserted and done.replaced == 20
        assert nks.append(frame(spark, new), address, 7, **options).is_replay
        check("appended")
        df_gone = spark.createDataFrame([(key,) for key in gone], "id string")
        assert nks.remove(df_gone, address, **options) == plain.remove(gone) == 20
        check("removed")
        assert nks.compact(address, sweep=True, **options) == 2
        check("compacted")
        store = shards.RemoteShards(address, **options["storage_options"])._store
        assert len(store.segments()) == 2
        kept = rows_of(nks.dedup(df, params, against=address, **options))
        folder = tmp_path / "fetched"
        assert kept == rows_of(nks.dedup(df, params, against=folder)) and len(kept) < len(asked)


@pytest.fixture
def built(spark, s3, tmp_path):
    address, options = s3
    nks.build(frame(spark, OLD), address, SMALL, shards=3, partitions=2, **options)
    return address, options


def with_all(tmp_path, *parts):
    with nk.Index(tmp_path / "plain", SMALL) as plain:
        for part in parts:
            plain.add(*zip(*part, strict=True))
        return said_of_plain(plain)


@pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="needs /proc")
@pytest.mark.parametrize("whole_executor", [False, True], ids=["a task", "an executor"])
def test_a_task_that_dies_after_its_object_is_put_puts_it_again(
    spark, built, tmp_path, whole_executor
):
    address, options = built
    at = _stored.lake_at(address, options["storage_options"])
    lake = _stored.opened(at)
    parts = _stored.parts_of(
        frame(spark, NEW), at, lake, _stored.new_job(), Columns("id", "text"), None, None, 2
    )
    marker = tmp_path / "died"
    dying = parts.mapInArrow(lambda batches: kill_once(batches, marker, whole_executor), parts.schema)
    collected = _stored.collected(dying)
    assert marker.exists(), "nothing died"
    assert said(fetched(address, options, tmp_path / "before")) == with_all(tmp_path, OLD)
    assert len(lake._store.segments()) == 6
    done = _stored.commit(lake, collected, "", None)
    assert (done.inserted, done.replaced) == (150, 50)
    assert said(fetched(address, options, tmp_path / "after")) == with_all(tmp_path, OLD, NEW)


def test_two_drivers_that_append_at_once_both_succeed(spark, built, tmp_path):
    address, options = built
    done, failed = [], []

    def append(rows):
        try:
            done.append(nks.append(frame(spark, rows), address, partitions=2, **options))
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=append, args=(rows,)) for rows in (NEW, THIRD)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed and sorted(one.generation for one in done) == [3, 4]
    assert said(fetched(address, options, tmp_path / "after")) == with_all(tmp_path, OLD, NEW, THIRD)
    with pytest.raises(nk.ExistsError, match="there is a sharded index already"):
        nks.build(frame(spark, NEW), address, SMALL, shards=3, **options)
