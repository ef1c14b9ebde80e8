"""Forks, spawned processes, and a process that is killed."""

import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import textwrap
import time
import warnings

import pytest

import nearkin as nk
from conftest import made_text

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")


def keys_like(reader, text):
    return [m.key for m in reader.query(text)]


@pytest.fixture
def path(tmp_path, params):
    with nk.Index(tmp_path / "a", params) as ix:
        ix.add([f"k{n}" for n in range(20)], [made_text(n) for n in range(20)])
    return tmp_path / "a"


@pytest.mark.parametrize("how", ["spawn", "fork", "forkserver"])
def test_readers_go_to_other_processes(path, how):
    if how not in multiprocessing.get_all_start_methods():
        pytest.skip(f"no {how} here")
    with nk.Reader(path) as reader, warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        with multiprocessing.get_context(how).Pool(2) as pool:
            asked = [(reader, made_text(n)) for n in range(8)]
            assert pool.starmap(keys_like, asked) == [[f"k{n}"] for n in range(8)]


@pytest.mark.parametrize("how", ["spawn", "fork"])
def test_sketchers_go_to_other_processes(how):
    sketcher = nk.Sketcher(nk.Params(shingles="words:2"))
    columns = [[made_text(n) for n in range(50)] for _ in range(4)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        with multiprocessing.get_context(how).Pool(2) as pool:
            assert pool.map(sketcher.texts, columns) == [sketcher.texts(columns[0])] * 4


def in_child(work):
    """What `work` returns in a forked child."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        receiving, sending = os.pipe()
        child = os.fork()
    if child == 0:
        try:
            said = work()
        except BaseException as error:
            said = f"{type(error).__name__}: {error}"
        os.write(sending, str(said).encode())
        os._exit(0)
    os.close(sending)
    with os.fdopen(receiving) as pipe:
        said = pipe.read()
    assert os.waitpid(child, 0)[1] == 0
    return said


@needs_fork
def test_the_child_of_a_fork_has_no_index_but_readers(path):
    ix = nk.Index(path)
    reader = nk.Reader(path)
    keys = ix.keys()
    assert "ClosedError: opened before a fork" in in_child(lambda: len(ix))
    assert "ClosedError: opened before a fork" in in_child(lambda: ix.add(["a"], ["one two"]))
    assert "ClosedError: opened before a fork" in in_child(ix.close)
    assert "ClosedError" in in_child(lambda: next(keys))
    assert in_child(lambda: keys_like(reader, made_text(3))) == "['k3']"
    assert in_child(lambda: nk.Sketcher(ix.params).texts([made_text(3)] * 300)) != ""

    # What the child drops does not touch the parent's.
    holder = [ix]
    del ix

    def drop():
        holder.clear()
        return "dropped"

    assert in_child(drop) == "dropped"
    holder[0]["new"] = made_text(99)
    assert len(holder[0]) == 21
    holder[0].close()


@needs_fork
def test_a_fork_while_threads_work(path):
    import threading

    stop = threading.Event()
    sketcher = nk.Sketcher(nk.Params(), threads=2)
    reader = nk.Reader(path)

    def work():
        while not stop.is_set():
            sketcher.texts([made_text(n) for n in range(300)])
            reader.query(made_text(3))
            reader.refresh()

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(10):
            assert in_child(lambda: len(sketcher.texts([made_text(1)] * 300))) == "300"
            assert in_child(lambda: keys_like(reader, made_text(3))) == "['k3']"
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def test_an_index_is_not_pickled_but_a_reader_is(path):
    with nk.Index(path) as ix:
        with pytest.raises(TypeError, match="pass nearkin.Reader"):
            pickle.dumps(ix)
    reader = pickle.loads(pickle.dumps(nk.Reader(path, keys="bytes")))
    assert sorted(reader.keys())[0] == b"k0" and reader.path == path


def run(code, *arguments):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )


WRITER = """
    import sys, nearkin as nk
    sys.path.insert(0, sys.argv[2])
    from conftest import made_text
    ix = nk.Index(sys.argv[1], nk.Params(threshold=0.6, shingles="words:2"))
    for n in range(100_000):
        ix[f"{n}"] = made_text(n % 500)
        print(n, flush=True)
"""


def test_acknowledged_writes_survive_a_kill(tmp_path):
    for round_ in range(3):
        child = run(WRITER, tmp_path / f"a{round_}", os.path.dirname(__file__))
        said = [child.stdout.readline() for _ in range(50 + 40 * round_)]
        child.kill()
        rest = child.stdout.read().splitlines()
        child.communicate()
        last = int(([said[-1], *[line for line in rest if line]])[-1])
        with nk.Index(tmp_path / f"a{round_}") as ix:
            # The one under way when it was killed may be there, too.
            assert len(ix) in (last + 1, last + 2)
            assert all(f"{n}" in ix for n in range(last + 1))
            assert ix.verify().ok


def test_a_second_writer_is_told(path):
    with nk.Index(path):
        code = "import sys, nearkin as nk\nnk.Index(sys.argv[1])"
        child = run(code, path)
        _, error = child.communicate()
        assert "LockedError" in error
        with pytest.raises(nk.LockedError):
            nk.Index(path)


INTERRUPTED = """
    import sys, time, nearkin as nk
    sys.path.insert(0, sys.argv[2])
    from conftest import made_text
    texts = [made_text(n) for n in range(2_000)]
    what = sys.argv[3]
    ix = nk.Index(sys.argv[1], nk.Params(threshold=0.6, shingles="words:2"), durability="os")
    if what in ("pairs", "query"):
        ix.add([f"{n}" for n in range(2_000)], texts)
    work = {
        "texts": lambda: ix.sketcher.texts(texts * 20),
        "add": lambda: ix.add([f"{n}" for n in range(40_000)], texts * 20),
        "admit": lambda: ix.admit([f"{n}" for n in range(40_000)], texts * 20),
        "query": lambda: ix.query_many(texts * 20),
        "dedup": lambda: nk.dedup(texts * 20),
        "exact": lambda: nk.dedup(texts * 20, exact=True),
        "judged": lambda: nk.dedup([f"{at} {texts[0]}" for at in range(20_000)], guard="rare"),
        "pairs": lambda: [ix.pairs(0.0).read_all() for _ in range(50)],
    }[what]
    print("started", flush=True)
    try:
        while True:
            work()
    except KeyboardInterrupt:
        print("interrupted", flush=True)
    ix.close()
    print("closed", len(nk.Index(sys.argv[1])) >= 0, flush=True)
"""


@pytest.mark.skipif(os.name == "nt", reason="signals of Unix")
@pytest.mark.parametrize("what", ["texts", "add", "admit", "query", "dedup", "exact", "judged", "pairs"])
def test_long_calls_are_interrupted(tmp_path, what):
    child = run(INTERRUPTED, tmp_path / "a", os.path.dirname(__file__), what)
    assert child.stdout.readline() == "started\n"
    time.sleep(0.3)
    child.send_signal(signal.SIGINT)
    begun = time.monotonic()
    out, error = child.communicate(timeout=60)
    assert out == "interrupted\nclosed True\n", error
    # Far less than the call would take; much, because tests share the machine.
    assert time.monotonic() - begun < 30


def test_a_lock_that_this_process_holds_is_named(tmp_path):
    index = nk.Index(tmp_path / "ix", nk.Params())
    with pytest.raises(nk.LockedError, match="this process has the index open already; close"):
        nk.Index(tmp_path / "ix")
    index.close()
    nk.Index(tmp_path / "ix").close()
