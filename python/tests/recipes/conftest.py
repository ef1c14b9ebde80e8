"""What one machine says of the corpora: the recipes have to say the same."""

import os
import sys
from pathlib import Path

import pytest
from corpora import CORPORA, of_given_bands

import nearkin as nk

RECIPES = Path(os.environ.get("NEARKIN_PAGES", Path(__file__).parents[3])) / "python" / "recipes"
sys.path.insert(0, str(RECIPES))


class World:
    """A corpus, and what one index and `nearkin.dedup` say of it."""

    def __init__(self, name, folder):
        self.rows, self.params, _ = CORPORA[name]
        with nk.Index(folder, self.params) as index:
            index.add([key for key, _ in self.rows], [text for _, text in self.rows])
            self.pairs = sorted(row[:3] for row in index.pairs().read_all().rows())
            table = index.clusters().read_all()
        members = {}
        for cluster, key in zip(table["cluster"], table["key"], strict=True):
            members.setdefault(cluster, []).append(key)
        self.clusters = sorted((key, min(keys)) for keys in members.values() for key in keys)
        self.kept = self.kept_of(sorted(self.rows))
        assert len(self.pairs) > 50 and len(members) > 5 and len(self.kept) < len(self.rows) - 20

    def kept_of(self, rows):
        """The rows that stay, if they are decided in this order."""
        texts = [text for _, text in rows]
        told = nk.dedup(texts, params=of_given_bands(self.params), estimate=True, annotate=True)
        return sorted((row for row, of in zip(rows, told, strict=True) if of.kept), key=str)


@pytest.fixture(scope="module", params=CORPORA)
def world(request, tmp_path_factory):
    return World(request.param, tmp_path_factory.mktemp("one") / "ix")


def sorted_rows(rows, names):
    return sorted((tuple(row[name] for name in names) for row in rows), key=str)
