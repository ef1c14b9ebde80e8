"""What the pages show is well typed: mypy and pyright find nothing in their code."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import nearkin as nk

PAGES = Path(os.environ.get("NEARKIN_PAGES", Path(__file__).parents[2]))
NAMES = ["README.md", "docs/guide/PYTHON.md", "python/README.md"]


def code_of(page: str) -> str:
    """The Python of a page, one block after the other, without prompts and answers."""
    blocks = re.findall(r"^```python\n(.*?)^```", (PAGES / page).read_text(), re.M | re.S)
    lines = []
    for block in blocks:
        shows = ">>> " in block
        for line in block.splitlines():
            if not shows or line.startswith((">>> ", "... ")):
                lines.append(line[4:] if shows else line)
            elif line == "...":
                lines.append("")
    return "\n".join(["import nearkin as nk", *lines, ""])


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    for number, name in enumerate(NAMES):
        if not (PAGES / name).exists():
            pytest.skip(f"{name} is not here")
        code = code_of(name)
        (folder / f"page{number}.py").write_text(code)
    assert sum(len(code_of(name).splitlines()) for name in NAMES) > 50
    return folder


def test_mypy_finds_nothing(pages):
    pytest.importorskip("mypy")
    options = ["--check-untyped-defs", "--ignore-missing-imports", "--allow-redefinition"]
    command = [sys.executable, "-m", "mypy", *options, *map(str, sorted(pages.glob("*.py")))]
    done = subprocess.run(command, capture_output=True, text=True, cwd=pages)
    assert "Success" in done.stdout, done.stdout


def test_pyright_finds_nothing(pages):
    pytest.importorskip("pyright")
    # It comes by npm at its first use.
    probe = [sys.executable, "-m", "pyright", "--version"]
    if subprocess.run(probe, capture_output=True).returncode != 0:
        pytest.skip("pyright cannot be had: it needs Node and npm's registry")
    command = [sys.executable, "-m", "pyright", "--pythonpath", sys.executable, str(pages)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=pages)
    assert done.returncode == 0 and "0 errors" in done.stdout, done.stdout


def test_a_wrong_use_is_found(tmp_path):
    pytest.importorskip("mypy")
    folder = tmp_path / "wrong"
    folder.mkdir()
    (folder / "page.py").write_text(
        "import nearkin as nk\n"
        "kept: list[str] = nk.dedup(['a'], annotate=True)\n"
        "row = nk.dedup(['a'], annotate=True)[0]\n"
        "print(row.cluster, row.clusters)\n"
    )
    command = [sys.executable, "-m", "mypy", "page.py"]
    said = subprocess.run(command, capture_output=True, text=True, cwd=folder).stdout
    assert "page.py:2" in said and "page.py:4" in said and "page.py:3" not in said, said
    assert nk.dedup(["a b c"], annotate=True)[0].cluster == 0
