"""The exceptions of nearkin: one hierarchy, which also derives from Python's own classes."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import NoReturn

from ._nearkin import _advice

__all__ = [
    "BugError",
    "CancelledError",
    "ClosedError",
    "CorruptError",
    "EmptyError",
    "Error",
    "ExistsError",
    "InvalidError",
    "LockedError",
    "MismatchError",
    "MissingKeyError",
    "NotFoundError",
    "PoisonedError",
    "StorageError",
    "UnknownOutcomeError",
    "UnsettledError",
    "UnsupportedError",
]


class Error(Exception):
    """Base class of all exceptions of nearkin, except ``TypeError``."""

    #: What to do about an exception of this class, in one line.
    advice: str


class InvalidError(Error, ValueError):
    """An argument is out of its range. Nothing was written."""


class EmptyError(Error, ValueError):
    """The text is blank, or the set has no items, so there is nothing to compare."""


class NotFoundError(Error, FileNotFoundError):
    """There is no index at this path."""


class ExistsError(Error, FileExistsError):
    """An index exists at this path."""


class MissingKeyError(Error, KeyError):
    """No document has this key."""

    def __str__(self) -> str:
        # KeyError would show the message in quotes.
        return Exception.__str__(self)


class MismatchError(Error, ValueError):
    """The parameters of the index, or of a signature, differ from the given ones."""


class LockedError(Error, OSError):
    """Another handle, in this process or another, has the index open for writing."""


class UnsettledError(Error):
    """A writer kept changing the index while it was being opened. In a sharded index, another
    commit came first and this one changed nothing: refresh, then commit again."""


class UnsupportedError(Error):
    """The files were written by a newer version of nearkin."""


class CorruptError(Error, OSError):
    """Bytes on disk are damaged. ``nearkin.salvage`` copies the rest."""


class StorageError(Error, OSError):
    """The operating system refused (often a full disk). The change was not written."""


class UnknownOutcomeError(Error, OSError):
    """A sync failed: the change may or may not survive power loss."""


class PoisonedError(Error, OSError):
    """An earlier sync failed, so this handle refuses all writes."""


class CancelledError(Error):
    """The progress callback returned ``False``, or the ``deadline`` has passed."""


class ClosedError(Error, ValueError):
    """The index was closed, has lost its folder or lock, or was opened before a fork."""


class BugError(Error, RuntimeError):
    """A failed check inside nearkin."""

    advice = "report this bug with its message"


#: What people call a name that is here.
_SAID = {
    "query": "search find similar lookup nearest neighbors neighbours most_similar",
    "query_many": "search_many find_many batch_query query_batch",
    "add": "append extend put update upsert insert_many add_many index fit build",
    "insert": "put set upsert add",
    "discard": "delete drop pop erase",
    "remove": "delete drop remove_many",
    "pairs": "duplicates dups similar_pairs all_pairs",
    "clusters": "groups components cluster",
    "keys": "ids list items",
    "admit": "add_unique insert_unique",
    "compact": "optimize optimise vacuum merge",
    "stats": "info describe size count",
    "key": "id doc_id name document",
    "similarity": "score jaccard sim distance",
    "to_pandas": "df to_df to_frame dataframe",
    "read_all": "to_list collect fetchall",
    "threshold": "min_similarity cutoff threshhold",
    "limit": "top_k k n topk max_results",
    "hashes": "num_perm num_hashes permutations",
    "shingles": "shingle ngram ngrams shingle_size",
}


def closest(name: str, known: Iterable[str]) -> str:
    """The known name that an unknown one may mean, as the end of a message."""
    known = [one for one in known if not one.startswith("_")]
    found = [one for one, words in _SAID.items() if one in known and name in words.split()]
    found = found or difflib.get_close_matches(name, known, 1, 0.7)
    return f"; did you mean {found[0]!r}?" if found else ""


def missing(self: object, name: str) -> NoReturn:
    """``__getattr__`` of the classes: called for attributes that there are not."""
    message = f"{type(self).__name__!r} object has no attribute {name!r}"
    raise AttributeError(message + closest(name, dir(type(self))))


for _name, _text in _advice():
    globals()[_name].advice = _text
