"""Near-duplicates in text and sets: a durable MinHash index, and deduplication.

>>> import nearkin as nk, tempfile, pathlib
>>> folder = pathlib.Path(tempfile.mkdtemp())
>>> with nk.Index(folder / "news", nk.Params(threshold=0.7, shingles="words:2")) as ix:
...     added = ix.add(["a", "b"], ["the ferry was cancelled on monday", "a recipe for bread"])
...     [m.key for m in ix.query("The ferry was cancelled on Monday!")]
['a']
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from . import _errors
from ._dedup import Row, dedup
from ._alike import clusters, pairs
from ._audit import Audited, audit
from ._errors import *
from ._nearkin import (
    Answer,
    Contained,
    Document,
    DocumentView,
    Index,
    Match,
    Params,
    PassageAnswer,
    PassageIndex,
    PassageMatch,
    PassagePair,
    QuestionFound,
    Questions,
    Readable,
    Reader,
    Signature,
    Signatures,
    Sketcher,
    Snapshot,
    Stream,
    Table,
    __version__,
    exists,
    learn_common,
    rebuild,
    salvage,
    similarity,
)
from ._types import Added, Imported, Stats, Verification

__all__ = [
    "Added",
    "Answer",
    "Audited",
    "Contained",
    "Document",
    "DocumentView",
    "Imported",
    "Index",
    "Match",
    "Params",
    "PassageAnswer",
    "PassageIndex",
    "PassageMatch",
    "PassagePair",
    "QuestionFound",
    "Questions",
    "Readable",
    "Reader",
    "Row",
    "Signature",
    "Signatures",
    "Sketcher",
    "Snapshot",
    "Stats",
    "Stream",
    "Table",
    "Verification",
    "__version__",
    "aio",
    "audit",
    "clusters",
    "dedup",
    "exists",
    "import_datasketch",
    "learn_common",
    "pairs",
    "rebuild",
    "salvage",
    "similarity",
]
__all__ += _errors.__all__


for _class in (Answer, Document, Index, Match, Params, PassageIndex, Reader, Snapshot, Stream, Table):
    setattr(_class, "__getattr__", _errors.missing)

if TYPE_CHECKING:
    from . import aio as aio


def __dir__() -> list[str]:
    return sorted(__all__)


def __getattr__(name: str) -> Any:
    # Imported only on access: it takes most of the time, for asyncio.
    if name == "aio":
        return importlib.import_module(".aio", __name__)
    # It needs numpy.
    if name == "import_datasketch":
        from .datasketch._migrate import import_datasketch

        return import_datasketch
    meant = _errors.closest(name, __all__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}{meant}")
