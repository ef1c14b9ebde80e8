"""docs/guide/RECIPES.md shows the recipes as they are. `NEARKIN_WRITE_RECIPES=1` writes them there."""

import os
import re
from pathlib import Path

import pytest

ROOT = Path(os.environ.get("NEARKIN_PAGES", Path(__file__).parents[2]))
PAGE = ROOT / "docs" / "guide" / "RECIPES.md"
#: A fenced block that is a file.
FILE = re.compile(r"^```(\w+) file=(\S+)\n(.*?)^```$", re.M | re.S)
#: On other pages.
ELSEWHERE = {"ray_datasets.py", "daft_frames.py", "uploads_wsgi.py"}


def shown(page):
    """The page with the files that it names."""

    def block(found):
        return f"```{found[1]} file={found[2]}\n{(ROOT / found[2]).read_text(encoding='utf-8')}```"

    return FILE.sub(block, page)


def test_the_page_shows_the_recipes_as_they_are():
    if not PAGE.exists():
        pytest.skip(f"{PAGE} is not here")
    page = PAGE.read_text(encoding="utf-8")
    if os.environ.get("NEARKIN_WRITE_RECIPES"):
        PAGE.write_text(shown(page), encoding="utf-8")
        page = PAGE.read_text(encoding="utf-8")
    assert page == shown(page), "NEARKIN_WRITE_RECIPES=1 writes the page"
    named = {Path(name).name for _, name, _ in FILE.findall(page)}
    assert named | ELSEWHERE == {path.name for path in (ROOT / "python" / "recipes").iterdir() if path.is_file()}
