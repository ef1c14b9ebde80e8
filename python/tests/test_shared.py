"""Several processes write to one index by turns."""

import datetime
import importlib.util
import io
import multiprocessing
import os
import shutil
import subprocess
import time
from pathlib import Path
from wsgiref.util import setup_testing_defaults

import nearkin as nk
import pytest

RECIPES = Path(os.environ.get("NEARKIN_PAGES", Path(__file__).parents[2])) / "python" / "recipes"
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
        assert ix.refresh_until(100, 10)
        assert len(ix) == 100
        assert not ix.refresh()
        assert not ix.refresh_until(101, datetime.timedelta(milliseconds=1))
    assert len(nk.Reader(path)) == 100


def test_an_ordinary_handle_keeps_others_out(tmp_path):
    path = tmp_path / os.fsdecode("index")
    with nk.Index(path, PARAMS), pytest.raises(nk.LockedError):
        nk.Index.open(path, shared=False, lock_wait=0.01)


def put_in_a_worker(app, key, text):
    """What a worker of a server that forks answers to a request: the status."""
    environ = {"REQUEST_METHOD": "PUT", "PATH_INFO": f"/{key}", "CONTENT_LENGTH": str(len(text))}
    setup_testing_defaults(environ)
    environ["wsgi.input"] = io.BytesIO(text.encode())
    told = []
    app(environ, lambda status, _: told.append(status))
    return told[0]


def recipe_of_uploads(tmp_path, monkeypatch):
    monkeypatch.setenv("NEARKIN_INDEX", str(tmp_path / "index"))
    spec = importlib.util.spec_from_file_location("uploads_wsgi", RECIPES / "uploads_wsgi.py")
    recipe = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(recipe)
    return recipe


def test_an_upload_is_answered_by_what_became_of_it(tmp_path, monkeypatch):
    recipe = recipe_of_uploads(tmp_path, monkeypatch)
    told = [
        put_in_a_worker(recipe.app, key, text)
        for key, text in [("a", "one text of words"), ("a", "one text of words"), ("a", "another, longer text"),
                          ("b", "Another, longer text!"), ("c", " \n"), ("d", "")]
    ]  # fmt: skip
    assert [status[:3] for status in told] == ["201", "200", "200", "409", "422", "422"]
    recipe.index_of(os.getpid()).close()
    assert list(nk.Reader(tmp_path / "index")) == ["a"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_workers_that_are_forked_accept_each_text_once(tmp_path, monkeypatch):
    recipe = recipe_of_uploads(tmp_path, monkeypatch)  # as with --preload: before the workers are forked
    pipes = []
    for worker in range(3):
        read, write = os.pipe()
        if os.fork() == 0:
            try:
                told = [
                    put_in_a_worker(recipe.app, f"{at}-{worker}", f"the text {at * 7919} of {at * 31}")
                    for at in range(20)
                ]
                recipe.index_of(os.getpid()).close()
                os.write(write, ",".join(told).encode())
            finally:
                os._exit(0)
        os.close(write)
        pipes.append(read)
    told = [os.read(read, 10_000).decode().split(",") for read in pipes]
    for _ in pipes:
        os.wait()
    for statuses in zip(*told, strict=True):
        assert sorted(statuses) == ["201 Created", "409 Conflict", "409 Conflict"]
    assert len(nk.Reader(tmp_path / "index")) == 20


@pytest.mark.skipif(shutil.which("gunicorn") is None, reason="gunicorn is not installed")
def test_workers_of_gunicorn_accept_each_text_once(tmp_path):
    environment = os.environ | {"NEARKIN_INDEX": str(tmp_path / "index")}
    server = subprocess.Popen(
        ["gunicorn", "--workers", "3", "--preload", "-b", f"unix:{tmp_path}/socket", "uploads_wsgi:app"],
        cwd=RECIPES, env=environment,
    )  # fmt: skip
    try:
        latest = time.monotonic() + 60
        while not (tmp_path / "socket").exists():
            assert server.poll() is None and time.monotonic() < latest
            time.sleep(0.05)
        curl = ["curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", "--unix-socket"]
        put = [*curl, str(tmp_path / "socket"), "-X", "PUT", "--data"]
        started = [
            subprocess.Popen(
                [*put, f"the text {at * 7919} of {at * 31}", f"http://localhost/{at}-{copy}"],
                stdout=subprocess.PIPE,
            )
            for at in range(8)
            for copy in range(3)
        ]
        told = [process.communicate()[0].decode() for process in started]
        assert sorted(told) == ["201"] * 8 + ["409"] * 16
    finally:
        server.terminate()
        server.wait(timeout=60)
