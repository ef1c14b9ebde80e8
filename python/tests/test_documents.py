"""The examples of docstrings and pages are run."""

import doctest
import inspect
import os
from pathlib import Path

import pytest

import nearkin as nk
import nearkin.polars
from nearkin import _dedup, _nearkin

ROOT = Path(os.environ.get("NEARKIN_PAGES", Path(__file__).parents[2]))
GUIDE = ROOT / "docs" / "guide"
PAGES = [ROOT / "python" / "README.md", GUIDE / "PYTHON.md", GUIDE / "RECIPES.md"]


def run(text, name, globs):
    test = doctest.DocTestParser().get_doctest(text, globs, name, name, 0)
    failures, tried = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test)
    assert failures == 0, name
    return tried


def test_docstrings():
    tried = run(nk.__doc__, "nearkin", {}) + run(nk.aio.__doc__, "nearkin.aio", {})
    tried += run(_dedup.dedup.__doc__, "dedup", {})
    assert run(nk.polars.__doc__, "nearkin.polars", {}) > 3
    for name, kind in vars(_nearkin).items():
        if not inspect.isclass(kind):
            continue
        assert kind.__doc__ or name.startswith("_"), f"{name} says nothing"
        tried += run(kind.__doc__, name, {})
        for member, function in vars(kind).items():
            if not member.startswith("_"):
                assert function.__doc__, f"{name}.{member} says nothing"
                tried += run(function.__doc__, f"{name}.{member}", {})
    assert tried > 10


def fenced(text):
    """The blocks of Python of a page."""
    parts = text.split("```python\n")[1:]
    return [part.split("```")[0] for part in parts]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages(page, tmp_path, monkeypatch):
    if not page.exists():
        pytest.skip(f"{page} is not here")
    monkeypatch.chdir(tmp_path)
    globs: dict[str, object] = {}
    blocks = fenced(page.read_text())
    assert blocks
    tried = 0
    for number, block in enumerate(blocks):
        name = f"{page.name}, block {number}"
        if ">>>" in block:
            test = doctest.DocTestParser().get_doctest(block, globs, name, name, 0)
            runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
            # The names that a block makes are there for the next.
            failures, count = runner.run(test, clear_globs=False)
            globs.update(test.globs)
            assert failures == 0, name
            tried += count
        else:
            exec(compile(block, name, "exec"), globs)
            tried += 1
    assert tried
