"""A sharded index that is written on an object store: equal to one in a folder, whatever fails."""

import os
import random
import signal
import subprocess
import sys
import time

import pytest
from s3_server import s3_server

import nearkin as nk
from nearkin import shards
from nearkin.shards import RemoteShards, Shards

fsspec = pytest.importorskip("fsspec")
PARAMS = nk.Params(0.7, shingles="words:1")
MEMORY = "memory://bucket/lake"


def row(at):
    return f"k{at}", f"some text of the number {at % 7} and {at}"


def place(lake, job, rows, folder):
    """Seals rows, shard by shard, and places them."""
    sealed = []
    of_shard = shards.shard_of([key for key, _ in rows], lake.shards)["shard"]
    for shard in sorted(set(of_shard)):
        some = [one for one, of in zip(rows, of_shard, strict=True) if of == shard]
        path = folder / f"part-{job}-{shard}"
        made = shards.seal(PARAMS, *zip(*some, strict=True), lake.ticket(job, shard), path)
        lake.place(path, made)
        sealed.append((shard, made))
    return sealed


def said(path):
    reader = nk.Reader(path)
    assert reader.verify().ok
    documents = sorted((key, reader[key].signature.to_bytes()) for key in reader)
    return documents, sorted(reader.pairs(0.5).read_all().rows())


def said_by(lake, folder):
    shards.fetch(lake.address, folder, **lake._store.options)
    return said(folder)


@pytest.fixture
def memory():
    files = fsspec.filesystem("memory")
    files.store.clear()
    yield files
    files.store.clear()


@pytest.fixture
def s3(monkeypatch):
    with s3_server(monkeypatch) as (bucket, options):
        yield f"{bucket}/lake", options


def operate(lake, twin, number, state, tmp_path):
    """One random operation on both."""
    kind = state.choice(["append", "append", "remove", "compact", "sweep"])
    if kind == "append":
        rows = [row(at) for at in sorted(state.sample(range(80), state.randint(1, 12)))]
        note = f"batch {number}".encode()
        told = [
            one.append(place(one, number, rows, tmp_path), "replace", note) for one in (lake, twin)
        ]
        assert told[0] == told[1] and lake.note == twin.note == note
    elif kind == "remove":
        keys = [row(at)[0] for at in state.sample(range(80), state.randint(1, 6))]
        assert lake.remove(keys) == twin.remove(keys)
    elif kind == "compact":
        shard = state.randrange(lake.shards)
        assert lake.compact(shard) == twin.compact(shard)
    else:
        lake.sweep()
        twin.sweep()
    assert lake.generation == twin.generation


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_random_changes_give_what_a_folder_gives(memory, tmp_path, seed):
    print("seed", seed)
    state = random.Random(seed)
    lake = RemoteShards.create(MEMORY, PARAMS, 3)
    twin = Shards.create(tmp_path / "twin", PARAMS, 3)
    for number in range(25):
        operate(lake, twin, number, state, tmp_path)
        if number % 5 == 4:
            # A new process: it has the manifest, and no file.
            lake = RemoteShards(MEMORY, tmp_path)
        if number % 8 == 7:
            assert said_by(lake, tmp_path / "fetched") == said(twin.path)
    lake.sweep()
    twin.sweep()
    assert said_by(lake, tmp_path / "fetched") == said(twin.path)
    # Only what is listed is left.
    assert len(memory.ls("/bucket/lake/segments")) == len(list((twin.path / "segments").iterdir()))


def test_the_same_on_s3(s3, tmp_path):
    address, options = s3
    state = random.Random(4)
    lake = RemoteShards.create(address, PARAMS, 2, **options)
    twin = Shards.create(tmp_path / "twin", PARAMS, 2)
    for number in range(10):
        operate(lake, twin, number, state, tmp_path)
    assert said_by(RemoteShards(address, **options), tmp_path / "fetched") == said(twin.path)
    with pytest.raises(nk.ExistsError, match="there is a sharded index already"):
        RemoteShards.create(address, PARAMS, 2, **options)
    with pytest.raises(nk.NotFoundError, match="none: there is no sharded index"):
        RemoteShards(f"{address}/none", **options)


@pytest.mark.parametrize("kind", ["append", "remove", "compact"])
def test_of_two_commits_on_one_generation_one_succeeds(memory, tmp_path, kind):
    lake = RemoteShards.create(MEMORY, PARAMS, 1)
    lake.append(place(lake, 1, [row(at) for at in range(20)], tmp_path))
    lake.append(place(lake, 2, [row(at) for at in range(15, 30)], tmp_path), "replace")
    late = RemoteShards(MEMORY)
    coming = place(late, 3, [row(50)], tmp_path)
    lake.remove(["k1"])
    before = sorted(memory.find("/bucket/lake"))
    change = {
        "append": lambda: late.append(coming),
        "remove": lambda: late.remove(["k1", "k2"]),
        "compact": lambda: late.compact(0),
    }[kind]
    with pytest.raises(nk.UnsettledError, match="refresh"):
        change()
    assert sorted(memory.find("/bucket/lake")) == before, "an object of the commit that failed stays"
    assert late.generation == 3
    late.refresh()
    change()
    keys = {key for key, _ in said_by(late, tmp_path / "fetched")[0]}
    assert late.generation == 5 and "k1" not in keys
    assert ("k50" in keys, "k2" not in keys) == (kind == "append", kind == "remove")


def test_files_that_were_swept_meanwhile_are_another_commit(memory, tmp_path):
    lake = RemoteShards.create(MEMORY, PARAMS, 1)
    lake.append(place(lake, 1, [row(at) for at in range(9)], tmp_path))
    late = RemoteShards(MEMORY)
    lake.append(place(lake, 2, [row(20)], tmp_path))
    assert lake.compact(0) and lake.sweep() == 2
    with pytest.raises(nk.UnsettledError):
        late.remove(["k1"])
    late.refresh()
    assert late.remove(["k1"]) == 1
    assert len(list((late.path / "segments").iterdir())) == 2, "files of older generations stay"
    # A segment that nobody placed.
    made = shards.seal(PARAMS, ["k30"], ["text"], late.ticket(9, 0), tmp_path / "part")
    with pytest.raises(nk.InvalidError, match="place the segment first"):
        late.append([(0, made)])


def test_a_second_attempt_may_place_only_the_same_file(memory, tmp_path):
    lake, other = RemoteShards.create(MEMORY, PARAMS, 1), RemoteShards(MEMORY)
    [(_, first)] = place(lake, 1, [row(1), row(2)], tmp_path)
    assert place(other, 1, [row(2), row(1)], tmp_path) == [(0, first)]
    with pytest.raises(nk.ExistsError, match="a different file exists there"):
        place(RemoteShards(MEMORY), 1, [row(3)], tmp_path)
    assert lake.append([(0, first)]).inserted == 2


class Failing:
    """A file system whose requests for manifests fail."""

    def __init__(self, files, before=0, after=0, reads=0):
        self.files, self.before, self.after, self.reads = files, before, after, reads
        self.was_asked = False

    def __getattr__(self, name):
        return getattr(self.files, name)

    def pipe_file(self, path, data, **options):
        if not path.endswith(".manifest"):
            return self.files.pipe_file(path, data, **options)
        self.was_asked = True
        if self.before:
            self.before -= 1
            raise OSError("refused")
        self.files.pipe_file(path, data, **options)
        if self.after:
            self.after -= 1
            raise OSError("the answer was lost")

    def cat_file(self, path):
        if self.reads and self.was_asked:
            self.reads -= 1
            raise OSError("no answer")
        return self.files.cat_file(path)


def test_requests_that_fail_are_looked_at(memory, tmp_path):
    lake = RemoteShards.create(MEMORY, PARAMS, 1)
    lake.append(place(lake, 1, [row(1), row(2)], tmp_path))
    files = lake._store._files
    # The answer was lost, the manifest is there.
    lake._store._files = Failing(files, after=1)
    assert lake.remove(["k1"]) == 1 and lake.generation == 3
    # Nothing was put, however often it was tried.
    lake._store._files = Failing(files, before=3)
    with pytest.raises(OSError, match="refused"):
        lake.remove(["k2"])
    assert lake.generation == 3 and lake._store.generation() == 3
    # Two puts met, as S3 says by 409, and the other one won, or none.
    other = RemoteShards(MEMORY)

    class Meeting(Failing):
        def pipe_file(self, path, data, **options):
            if path.endswith(".manifest") and self.before:
                other.append(place(other, 8, [row(8)], tmp_path))
            super().pipe_file(path, data, **options)

    lake._store._files = Meeting(files, before=1)
    with pytest.raises(nk.UnsettledError):
        lake.remove(["k2"])
    lake._store._files = Failing(files, before=1)
    lake.refresh()
    assert lake.remove(["k8"]) == 1 and lake.generation == 5
    # Nobody knows. The object is at the old generation until it is refreshed.
    lake._store._files = Failing(files, after=1, reads=1)
    with pytest.raises(nk.UnknownOutcomeError, match="0000000006.manifest"):
        lake.remove(["k2"])
    assert lake.generation == 5
    lake.refresh()
    assert lake.generation == 6 and said_by(lake, tmp_path / "fetched")[0] == []


class MeetingItself(Failing):
    """The client repeats a request whose answer was lost, and finds the name taken: by itself."""

    def pipe_file(self, path, data, **options):
        super().pipe_file(path, data, **options)
        if path.endswith(".manifest"):
            super().pipe_file(path, data, **options)


def test_a_put_that_meets_itself_is_looked_at(memory, tmp_path):
    lake = RemoteShards.create(MEMORY, PARAMS, 1)
    lake.append(place(lake, 1, [row(at) for at in range(4)], tmp_path))
    files = lake._store._files
    lake._store._files = MeetingItself(files)
    assert lake.remove(["k1"]) == 1 and lake.generation == 3
    # The look fails, so nobody knows; an error of the store alone would say that it failed.
    lake._store._files = MeetingItself(files, reads=1)
    with pytest.raises(nk.UnknownOutcomeError, match="0000000004.manifest.*no answer"):
        lake.remove(["k2"])
    assert lake.generation == 3
    lake.refresh()
    assert lake.generation == 4

    # The same after an attempt that failed without an answer, and was repeated here.
    class Late(Failing):
        def pipe_file(self, path, data, **options):
            if path.endswith(".manifest") and self.after:
                self.was_asked = True
                self.after -= 1
                self.coming = data
                raise OSError("the answer was lost")
            if path.endswith(".manifest"):
                # The first request arrives after all.
                self.files.pipe_file(path, self.coming)
                self.reads = 1
            super().pipe_file(path, data, **options)

    lake._store._files = Late(files, after=1)
    with pytest.raises(nk.UnknownOutcomeError, match="0000000005.manifest"):
        lake.remove(["k3"])

    # The object is gone when it is looked for.
    class Deleting(MeetingItself):
        def cat_file(self, path):
            if self.was_asked:
                raise FileNotFoundError(path)
            return self.files.cat_file(path)

    lake._store._files = files
    lake.refresh()
    lake._store._files = Deleting(files)
    with pytest.raises(nk.UnknownOutcomeError, match="deleted meanwhile"):
        lake.remove(["k0"])
    lake._store._files = files
    lake.refresh()
    assert said_by(lake, tmp_path / "fetched")[0] == []


def test_a_sweep_keeps_the_files_of_a_generation_that_others_committed(memory, tmp_path):
    lake = RemoteShards.create(MEMORY, PARAMS, 1)
    other = RemoteShards(MEMORY)
    lake.append(place(lake, 1, [row(1)], tmp_path))
    # The other object is still at the generation without segments.
    assert other.generation == 1 and other.sweep() == 0
    assert other.generation == 2
    assert [key for key, _ in said_by(RemoteShards(MEMORY), tmp_path / "fetched")[0]] == ["k1"]


def test_an_index_made_anew_is_not_mixed_with_the_old_one(memory, tmp_path):
    old = RemoteShards.create(MEMORY, PARAMS, 1)
    for at in range(3):
        old.append(place(old, at, [row(at)], tmp_path))
    shards.fetch(MEMORY, tmp_path / "fetched")
    memory.rm("/bucket/lake", recursive=True)
    with pytest.raises(nk.NotFoundError, match="open it again"):
        old.remove(["k1"])
    new = RemoteShards.create(MEMORY, PARAMS, 1)
    new.append(place(new, 77, [row(70)], tmp_path))
    with pytest.raises(nk.NotFoundError, match="open it again"):
        old.remove(["k1"])
    for at in (71, 72):
        new.append(place(new, at, [row(at)], tmp_path))
    # Now there is a generation with the number of the old one.
    for change in (lambda: old.remove(["k1"]), old.refresh):
        with pytest.raises(nk.MismatchError, match="another index is here"):
            change()
    with pytest.raises(nk.MismatchError, match="holds another index"):
        shards.fetch(MEMORY, tmp_path / "fetched")
    assert len(nk.Reader(tmp_path / "fetched")) == 3
    assert [key for key, _ in said_by(new, tmp_path / "new")[0]] == ["k70", "k71", "k72"]


def test_a_commit_lists_only_stored_segments(memory, tmp_path):
    lake = RemoteShards.create(MEMORY, PARAMS, 1)
    files = lake._store._files

    class Refusing(Failing):
        def put_file(self, *arguments, **options):
            raise OSError("no")

    path = tmp_path / "part"
    made = shards.seal(PARAMS, ["k1"], ["text"], lake.ticket(1, 0), path)
    lake._store._files = Refusing(files)
    with pytest.raises(OSError, match="no"):
        lake.place(path, made)
    with pytest.raises(nk.InvalidError, match="place the segment first"):
        lake.append([(0, made)])
    lake._store._files = files
    lake.place(path, made)
    # Swept, by someone who should not have.
    assert RemoteShards(MEMORY).sweep() == 1
    with pytest.raises(nk.InvalidError, match="place the segment first"):
        lake.append([(0, made)])
    # Another file has the name that this one wanted.
    other = RemoteShards(MEMORY)
    [(_, first)] = place(lake, 2, [("k1", "one two three four")], tmp_path)
    with pytest.raises(nk.ExistsError):
        place(other, 2, [("k2", "five six seven eight")], tmp_path)
    assert other.append([(0, first)]).inserted == 1
    assert [key for key, _ in said_by(other, tmp_path / "fetched")[0]] == ["k1"]


def test_a_client_without_delete_permission_commits(memory, tmp_path):
    lake = RemoteShards.create(MEMORY, PARAMS, 1)

    class Keeping(Failing):
        def rm_file(self, path):
            raise PermissionError(path)

    lake._store._files = Keeping(lake._store._files)
    lake._is_checked = False
    assert lake.append(place(lake, 1, [row(1), row(3)], tmp_path)).inserted == 2
    late = RemoteShards(MEMORY)
    late._store._files = Keeping(late._store._files)
    lake.append(place(lake, 2, [row(2)], tmp_path))
    with pytest.raises(nk.UnsettledError):
        late.remove(["k1"])
    # Both probes and a dead file are left.
    assert RemoteShards(MEMORY).sweep() == 3
    for bad in ("memory://", "s3://"):
        with pytest.raises(nk.InvalidError, match="an address with a path"):
            RemoteShards(bad)


def test_a_store_without_conditional_puts_is_refused(memory, tmp_path):
    lake = RemoteShards.create(MEMORY, PARAMS, 1)
    before = sorted(memory.find("/bucket/lake"))

    class Overwriting(Failing):
        def pipe_file(self, path, data, **options):
            self.files.pipe_file(path, data)

    class Old(Failing):
        def pipe_file(self, path, data):
            self.files.pipe_file(path, data)

    for kind in (Overwriting, Old):
        lake = RemoteShards(MEMORY)
        coming = place(lake, 1, [row(1)], tmp_path)
        lake._store._files = kind(lake._store._files)
        with pytest.raises(nk.InvalidError, match="no conditional put"):
            lake.append(coming)
        assert lake.generation == 1
        memory.rm("/bucket/lake/segments", recursive=True)
        assert sorted(memory.find("/bucket/lake")) == before
    # The file system of fsspec that looks first and then writes.
    local = tmp_path / "local"
    local.mkdir()
    with pytest.raises(nk.InvalidError, match="no conditional put"):
        RemoteShards.create(f"local://{local}/lake", PARAMS, 1, auto_mkdir=True)
    with pytest.raises(nk.InvalidError, match="no conditional put"):
        RemoteShards.create(f"dir::local://{local}/lake", PARAMS, 1, local={"auto_mkdir": True})
    assert not list(local.rglob("*.manifest"))


COMMITTER = """
import pathlib, sys, tempfile
from test_remote import RemoteShards, nk, place, row
address, endpoint, first, count = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
lake = RemoteShards(address, key="test", secret="test", client_kwargs={"endpoint_url": endpoint})
folder = pathlib.Path(tempfile.mkdtemp())
for at in range(first, first + count):
    coming = place(lake, 1000 + at, [row(at), row(at + 5000)], folder)
    while True:
        try:
            lake.append(coming)
            break
        except nk.UnsettledError:
            lake.refresh()
    print(at, flush=True)
"""


def committer(address, options, first, count):
    endpoint = options["client_kwargs"]["endpoint_url"]
    arguments = [address, endpoint, str(first), str(count)]
    return subprocess.Popen(
        [sys.executable, "-c", COMMITTER, *arguments],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([os.path.dirname(__file__), *sys.path])},
    )


def test_two_processes_commit_at_once_and_none_is_lost(s3, tmp_path):
    address, options = s3
    lake = RemoteShards.create(address, PARAMS, 2, **options)
    both = [committer(address, options, first, 8) for first in (0, 100)]
    assert [one.wait(timeout=300) for one in both] == [0, 0]
    lake.refresh()
    assert lake.generation == 17
    keys = [key for key, _ in said_by(lake, tmp_path / "fetched")[0]]
    added = [at + more for first in (0, 100) for at in range(first, first + 8) for more in (0, 5000)]
    assert keys == sorted(row(at)[0] for at in added)


@pytest.mark.skipif(os.name == "nt", reason="SIGKILL")
def test_a_committer_that_is_killed_leaves_whole_batches(s3, tmp_path):
    address, options = s3
    RemoteShards.create(address, PARAMS, 2, **options)
    state, first = random.Random(11), 0
    for round_ in range(4):
        one = committer(address, options, first, 100)
        acknowledged = [int(one.stdout.readline())]
        time.sleep(state.random() * 0.4)
        one.send_signal(signal.SIGKILL)
        acknowledged += [int(line) for line in one.stdout.read().splitlines()]
        one.wait()
        lake = RemoteShards(address, **options)
        keys = {key for key, _ in said_by(lake, tmp_path / f"fetched-{round_}")[0]}
        last = acknowledged[-1]
        whole = {row(at + more)[0] for at in range(last + 1) for more in (0, 5000)}
        next_one = {row(last + 1 + more)[0] for more in (0, 5000)}
        assert keys in (whole, whole | next_one)
        first = lake.generation - 1
        lake.sweep()
