"""Judges what another program removed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from . import _containers as containers
from ._nearkin import Params, Table, audit_rows

if TYPE_CHECKING:
    from ._containers import On
    from ._dedup import Guard

__all__ = ["Audited", "audit"]


class Audited(NamedTuple):
    """What :func:`audit` found."""

    #: Number of rows that stay, and of removed rows, without those that have nothing to compare.
    kept: int
    removed: int
    #: By ascending thresholds: the number of removed rows without a kept row that is as similar.
    wrong_at: dict[float, int]
    #: Removed rows with the same shingles as a kept one.
    equal: int
    #: Removed rows below the threshold that are similar to another removed row.
    chained: int
    #: Removed rows that reach the threshold, and differ from the kept one in numbers, or in what is rare;
    #: None if ``guard`` does not look at that.
    in_numbers: int | None
    in_rare: int | None
    #: Rows of which a kept row may be more similar than the one that was found: too many candidates.
    unsettled: int
    #: Removed rows with nothing to compare, which were not judged.
    blank: int
    #: The threshold that was asked for, and the removed rows without a kept row that reaches it.
    threshold: float
    wrong: int
    #: A row for each judged one: ``row``, ``similarity``, ``kept_row``, ``shingles``, ``of_shingles``,
    #: ``shared``, ``apart``, ``chained_to``, ``chained_similarity`` and ``settled``.
    rows: Table


def audit(
    removed: Any,
    kept: Any,
    on: On | None = None,
    *,
    threshold: float | None = None,
    guard: Guard | None = None,
    params: Params | None = None,
    threads: int | None = None,
    folder: str | Path | None = None,
) -> Audited:
    """Judges what any program removed: the most similar kept row of each removed one, by all shingles.

    ``removed`` and ``kept`` are lists or tables as :func:`dedup` takes them; ``on`` names their column.
    ``params`` and ``threshold`` are those of :func:`dedup`. Each similarity is exact. A kept row of
    similarity 0.5 (or of the threshold, if that is lower) is missed with a probability below 0.001; below
    that, more often.

    ``guard`` says what may set similar rows apart, as for :func:`dedup`. ``apart`` is then ``"numbers"`` or
    ``"rare"``. During the call, ``folder`` holds about 600 bytes per row.

    >>> import nearkin as nk
    >>> found = nk.audit(["One two three four!", "five six seven eight"], ["one two three four"])
    >>> found.removed, found.wrong
    (2, 1)
    >>> found.rows["similarity"], found.rows["kept_row"]
    ([1.0, 0.0], [0, None])
    """
    params = Params() if params is None else params
    # Imported here: `import nearkin` is light.
    import tempfile

    removed_column, kept_column = (containers.column_of(containers.plain(side)[0], on) for side in (removed, kept))
    with tempfile.TemporaryDirectory(prefix="nearkin-", dir=folder) as scratch:
        work = str(Path(scratch) / "audit")
        rows, counts = audit_rows(removed_column, kept_column, params, threshold, guard, threads, work)
    kept_count, removed_count, wrong, equal, chained, in_numbers, in_rare, unsettled, blank = counts
    asked = params.threshold if threshold is None else threshold
    wrong_at = dict(wrong)
    found = (equal, chained, in_numbers, in_rare, unsettled, blank)
    return Audited(kept_count, removed_count, wrong_at, *found, asked, wrong_at[asked], rows)
