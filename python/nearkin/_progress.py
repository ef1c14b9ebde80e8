"""Progress of long operations: a bar, or the caller's own function."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

Report = Callable[[int, int], object]


def reporter(asked: Any, label: str) -> Report | None:
    """The callback for (done, total): ``asked`` itself, or for ``True`` a bar on stderr."""
    if asked is False or asked is None:
        return None
    if asked is True:
        return _Line(label)
    if callable(asked):
        report: Report = asked
        return report
    kind = type(asked).__name__
    raise TypeError(f"progress must be a bool or a function of (done, total), not {kind}")


class _Line:
    """One line on stderr, rewritten in place."""

    def __init__(self, label: str) -> None:
        self._label = label
        self._begun = time.monotonic()

    def __call__(self, done: int, total: int) -> None:
        spent = max(time.monotonic() - self._begun, 1e-9)
        # The total of a stream is not known.
        of = f" of {total:,} ({100 * done // total} %)" if total else ""
        end = "\n" if done >= total and total else ""
        print(
            f"\r{self._label}: {done:,}{of}, {done / spent:,.0f}/s",
            end=end,
            file=sys.stderr,
            flush=True,
        )
