"""The notebook: run again, its cells say what the page shows."""

import os
from pathlib import Path

import pytest

ROOT = Path(os.environ.get("NEARKIN_PAGES", Path(__file__).parents[2]))
NOTEBOOK = ROOT / "python" / "notebooks" / "licences.ipynb"


def told(notebook):
    """What each cell printed or returned; of pictures, that there is one."""
    cells = []
    for cell in notebook.cells:
        outputs = [] if cell.cell_type != "code" else cell.outputs
        texts = []
        for output in outputs:
            data = output.get("data", {})
            texts.append("a picture" if "image/png" in data else
                         output.get("text") or data.get("text/plain"))
        cells.append([text.split() for text in texts])
    return cells


def test_the_notebook_shows_what_its_cells_say(monkeypatch):
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    for package in ("ipykernel", "matplotlib", "pandas"):
        pytest.importorskip(package)
    if not NOTEBOOK.exists():
        pytest.skip(f"{NOTEBOOK} is not here: the notebook is not tested")
    monkeypatch.setenv("NEARKIN_TEST_DATA", str(ROOT / "tests" / "data"))
    shown = nbformat.read(NOTEBOOK, 4)
    run = nbformat.read(NOTEBOOK, 4)
    for cell in run.cells:
        if cell.cell_type == "code":
            cell.outputs = []
    nbclient.NotebookClient(run, timeout=300, kernel_name="python3").execute()
    assert told(run) == told(shown)
    assert ["a", "picture"] in [text for cell in told(shown) for text in cell]
