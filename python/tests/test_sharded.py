"""Sealed segments and sharded indexes, against one index of the same documents."""

import pickle
import random

import pyarrow as pa
import pytest

import nearkin as nk
from nearkin import shards

PARAMS = nk.Params(0.7, shingles="words:1", hashes=64, bands=(16, 4))
SKETCHER = nk.Sketcher(PARAMS)


def text_of(at, version=0):
    rng = random.Random(at * 31 + version)
    words = [f"f{at % 20}w{word}" for word in range(25)]
    for _ in range(rng.choice([0, 1, 3])):
        words[rng.randrange(25)] = f"x{rng.randrange(60)}"
    return " ".join(words)


def seal_all(lake, job, rows, folder):
    """Seals and places (key, text) rows, a segment a shard, as tasks do."""
    by_shard = {}
    keys = [key for key, _ in rows]
    for row, shard in zip(rows, shards.shard_of(keys, lake.shards)["shard"], strict=True):
        by_shard.setdefault(shard, []).append(row)
    sealed = []
    for shard, some in by_shard.items():
        path = folder / f"part-{job}-{shard}"
        columns = [key for key, _ in some], [text for _, text in some]
        made = shards.seal(lake.params, *columns, lake.ticket(job, shard), path)
        lake.place(path, made)
        assert not path.exists()
        sealed.append((shard, made))
    return sealed


def all_of(readable):
    """All that an index says."""
    documents = sorted((key, readable[key].signature.to_bytes()) for key in readable.keys())
    found = sorted(readable.query_many([text_of(at) for at in range(40)], threshold=0.5).rows())
    pairs = sorted(readable.pairs(0.6).read_all().rows())
    members = {}
    for cluster, key, *_ in readable.clusters(0.6).read_all().rows():
        members.setdefault(cluster, []).append(key)
    assert len(pairs) > 20
    return documents, found, pairs, sorted(map(sorted, members.values()))


@pytest.mark.parametrize("count", [1, 2, 7])
def test_any_number_of_shards_says_what_one_index_says(tmp_path, count):
    lake = shards.Shards.create(tmp_path / "lake", PARAMS, count)
    assert (lake.shards, lake.generation, lake.note, lake.params) == (count, 1, b"", PARAMS)
    reader = nk.Reader(tmp_path / "lake")
    with nk.Index(tmp_path / "ix", PARAMS) as plain:

        def check(what):
            reader.refresh()
            assert all_of(reader) == all_of(plain), what
            assert reader.verify().ok and len(reader) == len(plain)

        rows = [(f"k{at}", text_of(at)) for at in range(150)]
        done = lake.append(seal_all(lake, 1, rows, tmp_path))
        assert done == nk.Imported(150, 0, 0)
        plain.add(*zip(*rows, strict=True))
        check("appended")
        newer = [(f"k{at}", text_of(at, 1)) for at in range(130, 170)]
        with pytest.raises(nk.ExistsError, match="k1[34]"):
            lake.append(seal_all(lake, 2, newer, tmp_path))
        done = lake.append(seal_all(lake, 3, newer, tmp_path), "replace", note=b"batch 3")
        assert done == nk.Imported(20, 20, 0) and lake.note == b"batch 3"
        plain.add(*zip(*newer, strict=True))
        check("replaced")
        gone = [f"k{at}" for at in range(100, 135)]
        assert lake.remove(pa.array([*gone, "never there"])) == plain.remove(gone) == 35
        check("removed")
        assert all(lake.compact(shard) for shard in range(count))
        assert not any(lake.compact(shard) for shard in range(count))
        check("compacted")
        assert reader.stats().segments == count and lake.sweep() > 0
        check("swept")
        other = nk.Index.create(tmp_path / "other", PARAMS)
        other.import_from(tmp_path / "lake")
        assert all_of(other) == all_of(plain)
        other.close()
    again = pickle.loads(pickle.dumps(lake))
    assert (again.path, again.generation) == (lake.path, lake.generation)


def test_a_sealed_file_is_a_pure_function_of_its_documents(tmp_path):
    ticket = pickle.loads(pickle.dumps(shards.Ticket(bytes(range(16)), 5)))
    assert (ticket.uuid, ticket.number) == (bytes(range(16)), 5)
    keys, texts = ["b", "a", "c"], [text_of(1), text_of(2), text_of(3)]
    payloads, times = [b"x", None, b"z"], [7, 8, None]

    def sealed(name, order, documents):
        columns = [[column[at] for at in order] for column in (keys, payloads, times)]
        return shards.seal(
            PARAMS, columns[0], documents, ticket, tmp_path / name,
            payloads=columns[1], times=columns[2],
        )

    one = sealed("one", [0, 1, 2], texts)
    other = sealed("other", [2, 0, 1], SKETCHER.texts([texts[at] for at in (2, 0, 1)]))
    assert one == other == shards.Sealed.from_bytes(bytes(one)) == pickle.loads(pickle.dumps(one))
    data = (tmp_path / "one").read_bytes()
    assert data == (tmp_path / "other").read_bytes()
    assert (one.number, one.documents, one.file_bytes) == (5, 3, len(data))
    with nk.Index(tmp_path / "ix", PARAMS) as index:
        assert index.adopt([tmp_path / "one"]) == nk.Imported(3, 0, 0)
        found = {key: (index[key].payload, index[key].time_ms) for key in index}
        assert found == {"b": (b"x", 7), "a": (b"", 8), "c": (b"z", 0)}
        assert index.query(texts[2]).keys == ["c"] and index["a"].signature.shingle_count > 10
        with pytest.raises(nk.ExistsError, match="is live already"):
            index.adopt([tmp_path / "one"], "refuse")
        assert index.adopt([tmp_path / "one", tmp_path / "other"], "replace").replaced == 3
        assert len(index) == 3 and index.verify().ok


def test_of_two_commits_on_one_generation_one_wins(tmp_path):
    one = shards.Shards.create(tmp_path / "lake", PARAMS, 2)
    other = shards.Shards(tmp_path / "lake")
    ones = seal_all(one, 1, [("a", text_of(1))], tmp_path)
    others = seal_all(other, 2, [("b", text_of(2))], tmp_path)
    one.append(ones)
    with pytest.raises(nk.UnsettledError, match="another commit was first"):
        other.append(others)
    assert list(nk.Reader(tmp_path / "lake")) == ["a"]
    other.refresh()
    other.append(others)
    assert sorted(nk.Reader(tmp_path / "lake")) == ["a", "b"] and other.generation == 3


def test_a_second_attempt_changes_nothing(tmp_path):
    lake = shards.Shards.create(tmp_path / "lake", PARAMS, 1)
    ticket = lake.ticket(9, 0)
    attempts = [tmp_path / "first", tmp_path / "second", tmp_path / "other"]
    texts = [text_of(1), text_of(1), text_of(2)]
    made = [shards.seal(PARAMS, ["a"], [t], ticket, p) for t, p in zip(texts, attempts, strict=True)]
    lake.place(attempts[0], made[0])
    lake.place(attempts[1], made[1])
    assert not attempts[1].exists() and made[0] == made[1]
    with pytest.raises(nk.ExistsError, match="a different file exists there"):
        lake.place(attempts[2], made[2])
    with pytest.raises(nk.InvalidError, match="not the file that was sealed"):
        lake.place(attempts[2], made[0])
    lake.append([(0, made[0])])
    with pytest.raises(nk.InvalidError, match="listed"):
        lake.append([(0, made[1])])
    assert list(nk.Reader(tmp_path / "lake")) == ["a"]


def test_seal_refuses_invalid_columns(tmp_path):
    ticket = shards.Ticket(bytes(16), 1)

    def seal(*columns, name="part", params=PARAMS, **how):
        return shards.seal(params, *columns, ticket, tmp_path / name, **how)

    with pytest.raises(nk.EmptyError, match="documents.1. has nothing to compare"):
        seal(["a", "b"], ["text", None])
    with pytest.raises(nk.InvalidError, match="keys.0. is null"):
        seal([None], ["text"])
    with pytest.raises(nk.InvalidError, match="two documents have the key a"):
        seal(["a", "b", "a"], ["text", "text", "text"])
    with pytest.raises(ValueError, match="2 documents, but 1 keys"):
        seal(["a"], ["text", "text"])
    with pytest.raises(nk.MismatchError):
        seal(["a"], nk.Sketcher(nk.Params(shingles="words:2")).texts(["some text"]))
    assert not list(tmp_path.iterdir())
    seal(["a"], ["text"])
    with pytest.raises(nk.ExistsError, match="seal to a new path"):
        seal(["a"], ["text"])
    with pytest.raises(nk.InvalidError, match="is not below"):
        shards.Ticket(bytes(16), 1 << 62)
    with pytest.raises(nk.InvalidError, match="do not describe"):
        shards.Sealed.from_bytes(bytes(72))
    with pytest.raises(nk.NotFoundError):
        shards.Shards(tmp_path / "none")
    lake = shards.Shards.create(tmp_path / "lake", PARAMS, 1)
    with pytest.raises(nk.ExistsError):
        shards.Shards.create(tmp_path / "lake", PARAMS, 1)
    with pytest.raises(ValueError, match="'refuse' or 'replace'"):
        lake.append([], "either")
    with pytest.raises(nk.InvalidError, match="keys.1. is null"):
        lake.remove(["a", None])
    with nk.Index(tmp_path / "ix", nk.Params(shingles="words:3")) as index:
        with pytest.raises(nk.MismatchError, match="other parameters"):
            index.adopt([tmp_path / "part"])
