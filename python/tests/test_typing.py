"""The stubs: complete, and of the types that people use."""

import inspect
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import nearkin as nk

ROOT = Path(__file__).parents[1]

USE = '''
import datetime
from pathlib import Path
import nearkin as nk

p: nk.Params = nk.Params(0.7, shingles="words:3", bands=(16, 8))
s = nk.Sketcher(p)
sigs: nk.Signatures = s.texts(["a", None])
one: nk.Signature = s.text("a b c")
x: float = one.similarity(one)
with nk.Index(Path("a"), p, durability="sync", ttl=datetime.timedelta(days=1)) as ix:
    added: nk.Added = ix.add(["k"], ["text"], times=datetime.datetime.now(), progress="always")
    n: int = added.inserted
    ix["k"] = "text"
    d: nk.Document | None = ix.get("k")
    for m in ix.query("text", threshold=0.5, limit=10, prefix=b"a/", deadline=0.5):
        y: float = m.similarity
    t: nk.Table = ix.query_many(sigs)
    st: nk.Stream = ix.pairs(0.8, after=datetime.datetime.now(), filter=lambda d: d.time_ms > 5)
    floor: int = ix.stats().floor
    what: str = nk.LockedError.advice
    ok: bool = ix.verify().ok
    kept: list[str] = nk.dedup(["a"], against=ix, keep="longest")
    ix.backup(Path("b"))

async def main() -> None:
    async with await nk.aio.Index.open("a", p) as a:
        b: nk.Answer = await a.query("x")
'''

WRONG = '''
import nearkin as nk
nk.Params(threshold="high")
nk.Index("a").add(5, 6)
nk.Index("a").admit([], [], keep="best")
x: str = nk.Index("a").stats().documents
nk.Index("a").query("a", prefixes="b")
nk.Index("a").admit([], [], limit=3)
nk.Index("a").clusters(filter=lambda d: d.keys)
'''


def mypy(code, tmp_path):
    pytest.importorskip("mypy")
    file = tmp_path / "use.py"
    file.write_text(code)
    command = [sys.executable, "-m", "mypy", "--strict", str(file)]
    return subprocess.run(command, capture_output=True, text=True, cwd=tmp_path).stdout


def test_the_stubs_have_the_types_that_people_use(tmp_path):
    assert "Success" in mypy(USE, tmp_path)


def test_wrong_types_are_found(tmp_path):
    said = mypy(WRONG, tmp_path)
    assert all(f"use.py:{line}:" in said for line in range(3, 10)), said


def test_the_package_itself_is_typed(tmp_path):
    # A copy: in site-packages other packages would seem to shadow the standard library's.
    folder = tmp_path / "nearkin"
    shutil.copytree(Path(nk.__file__).parent, folder)
    modules = ["_columns", "_containers", "_dedup", "_errors", "_fetch", "_progress", "_tables", "_types", "aio"]
    modules += ["_alike", "polars"]
    files = [str(folder / f"{module}.py") for module in modules] + [str(folder / "spark")]
    command = [sys.executable, "-m", "mypy", "--strict", "--ignore-missing-imports", *files]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert "Success" in done.stdout, done.stdout


def test_every_class_of_the_extension_has_a_stub():
    from nearkin import _nearkin

    stub = (Path(nk.__file__).parent / "_nearkin.pyi").read_text()
    hidden = {"__new__", "__doc__", "__module__", "__repr__", "__reduce__", "__slots__", "__getattr__"}
    compared = {"__ge__", "__gt__", "__le__", "__lt__", "__ne__"}
    for name, kind in vars(_nearkin).items():
        if name.startswith("_") or not inspect.isclass(kind):
            continue
        begin = stub.index(f"class {name}")
        end = stub.find("\nclass ", begin)
        body = stub[begin:end]
        for member in vars(kind):
            is_private = member.startswith("_") and not member.startswith("__")
            is_inherited = member == "__hash__" and "__hash__" not in body
            if is_private or is_inherited or member in hidden | compared:
                continue
            assert f"def {member}(" in body, f"{name}.{member}"
