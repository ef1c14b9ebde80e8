"""Several processes write to one index by turns."""

import multiprocessing
import os

import nearkin as nk
import pytest

PARAMS = nk.Params(threshold=0.7)


def write(path, number, documents):
    with nk.Index(path, PARAMS, shared=True) as ix:
        for at in range(documents):
            ix[f"{number}-{at}"] = f"document {number} of process {at} says {number * 7 + at}"


def test_processes_write_by_turns(tmp_path):
    path = tmp_path / "index"
    context = multiprocessing.get_context("spawn")
    with nk.Index(path, PARAMS, shared=True, lock_wait=30) as ix:
        processes = [context.Process(target=write, args=(path, at, 25)) for at in range(3)]
        for process in processes:
            process.start()
        for at in range(25):
            ix[f"own-{at}"] = f"an own document that says {at}"
        for process in processes:
            process.join()
            assert process.exitcode == 0
        ix.refresh()
        assert len(ix) == 100
        assert not ix.refresh()
    assert len(nk.Reader(path)) == 100


def test_an_ordinary_handle_keeps_others_out(tmp_path):
    path = tmp_path / os.fsdecode("index")
    with nk.Index(path, PARAMS), pytest.raises(nk.LockedError):
        nk.Index.open(path, shared=False, lock_wait=0.01)
