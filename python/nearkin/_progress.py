"""Progress of long operations: a bar, or the caller's own function."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

Report = Callable[[int, int], object]

#: Seconds between two changes of the bar.
_PAUSE = 0.1


def reporter(asked: Any, label: str) -> Report | None:
    """The callback for (done, total): ``asked`` itself, or for ``True`` a bar on stderr, which is
    silent where no person looks; ``"always"`` shows it there, too."""
    if asked is False or asked is None:
        return None
    if asked is True or asked == "always":
        return _bar(label) if asked is not True or _is_seen() else None
    if callable(asked):
        report: Report = asked
        return report
    kind = type(asked).__name__
    raise TypeError(f"progress must be a bool, 'always' or a function of (done, total), not {kind}")


def _is_seen() -> bool:
    """Whether a person looks at stderr: at a terminal, or in a notebook."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    return hasattr(shell, "kernel") or bool(sys.stderr and sys.stderr.isatty())


def _bar(label: str) -> Report:
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return _Line(label)
    return _Tqdm(tqdm(desc=label, unit=" rows", mininterval=_PAUSE, leave=True))


class _Tqdm:
    """A bar of tqdm."""

    def __init__(self, bar: Any) -> None:
        self._bar = bar

    def __call__(self, done: int, total: int) -> None:
        # The total of a stream is not known.
        if total and self._bar.total != total:
            self._bar.reset(total)
        self._bar.update(done - self._bar.n)
        if total and done >= total:
            self._bar.close()

    def __del__(self) -> None:
        self._bar.close()


class _Line:
    """One line on stderr, rewritten in place."""

    def __init__(self, label: str) -> None:
        self._label = label
        self._begun = time.monotonic()
        self._shown = 0.0

    def __call__(self, done: int, total: int) -> None:
        now = time.monotonic()
        is_last = done >= total > 0
        if now - self._shown < _PAUSE and not is_last:
            return
        self._shown = now
        spent = max(now - self._begun, 1e-9)
        of = f" of {total:,} ({100 * done // total} %)" if total else ""
        print(
            f"\r{self._label}: {done:,}{of}, {done / spent:,.0f}/s",
            end="\n" if is_last else "",
            file=sys.stderr,
            flush=True,
        )
