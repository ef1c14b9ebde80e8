"""A sharded index on an object store: fetched whole, checked, and then read as any other."""

import pytest
from s3_server import s3_server
from test_remote import PARAMS, place

import nearkin as nk
from nearkin import shards

pytest.importorskip("fsspec")
ROWS = [(f"k{at}", f"some text of the number {at % 7} and {at}") for at in range(60)]


@pytest.fixture
def lake(tmp_path):
    lake = shards.Shards.create(tmp_path / "lake", PARAMS, 3)
    lake.append(place(lake, 1, ROWS[:40], tmp_path))
    lake.remove(["k3", "k4"])
    return lake


def all_of(path):
    reader = nk.Reader(path)
    assert reader.verify().ok
    return sorted(reader), sorted(reader.query_many([text for _, text in ROWS]).rows())


def check(lake, address, folder, put, options):
    """Fetches, goes on to a newer generation, and meets damage."""
    assert shards.fetch(address, folder, **options) == lake.generation == 3
    assert all_of(folder) == all_of(lake.path) and "k3" not in all_of(folder)[0]
    times = {path: path.stat().st_mtime_ns for path in (folder / "segments").iterdir()}
    reader = nk.Reader(folder)
    lake.append(place(lake, 2, ROWS[40:], lake.path.parent), note=b"day 2")
    put()
    assert shards.fetch(address, folder, **options) == 4
    assert reader.refresh() and len(reader) == 58 and all_of(folder) == all_of(lake.path)
    assert all(path.stat().st_mtime_ns == time for path, time in times.items()), "fetched again"
    manifest = shards.Manifest((folder / "manifest/0000000004.manifest").read_bytes())
    assert (manifest.generation, manifest.shards, manifest.note) == (4, 3, b"day 2")
    assert manifest.params == PARAMS and manifest.path.name == "0000000004.manifest"
    assert set(manifest.files()["shard"]) == {0, 1, 2}
    # A damaged file is found before the manifest that lists it is there.
    lake.remove(["k5"])
    put()
    victim = lake.path.parent / "damaged"
    path = manifest.files()["path"][0]
    (victim / path).parent.mkdir(parents=True)
    data = bytearray((folder / path).read_bytes())
    data[len(data) // 2] ^= 1
    (victim / path).write_bytes(data)
    with pytest.raises(nk.CorruptError, match=path):
        shards.fetch(address, victim, **options)
    assert not (victim / "manifest").exists()
    with pytest.raises(nk.CorruptError):
        nk.Reader(victim)
    (victim / path).unlink()
    assert shards.fetch(address, victim, **options) == 5
    assert all_of(victim) == all_of(lake.path)
    assert sum(map(len, all_of(victim))) and "k5" not in all_of(victim)[0]


def put_all(files, lake, bucket="bucket"):
    for path in lake.path.rglob("*"):
        if path.is_file():
            files.pipe_file(f"{bucket}/lake/{path.relative_to(lake.path)}", path.read_bytes())


def test_an_index_in_a_store_of_fsspec(lake, tmp_path):
    import fsspec

    files = fsspec.filesystem("memory")

    def put():
        put_all(files, lake)

    put()
    check(lake, "memory://bucket/lake", tmp_path / "local", put, {})
    with pytest.raises(nk.NotFoundError, match="there is no sharded index"):
        shards.fetch("memory://bucket/none", tmp_path / "none")


def test_an_index_in_s3(lake, tmp_path, monkeypatch):
    with s3_server(monkeypatch) as (bucket, options):
        import fsspec

        files = fsspec.filesystem("s3", **options)

        def put():
            put_all(files, lake, bucket)

        put()
        check(lake, f"{bucket}/lake", tmp_path / "local", put, options)
