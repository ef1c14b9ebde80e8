"""The condition of a pair, and how its candidates are searched."""

from __future__ import annotations

from typing import Any, NamedTuple

from .. import InvalidError, Params, Signatures, shards


class Alike(NamedTuple):
    """A minimum similarity, and perhaps a minimum containment."""

    threshold: float
    contained: float | None = None
    #: Whether candidates are compared by all their shingles, and not by the estimate.
    exact: bool = False
    #: Whether shingles confirm what the estimate finds.
    confirmed: bool = False

    @property
    def by_shingles(self) -> bool:
        """Whether the shingles of documents are needed."""
        return self.exact or self.confirmed

    @property
    def search(self) -> dict[str, Any]:
        """The keywords of the functions that search candidates: for exact comparison, from three
        standard errors below the minima."""
        return {"contained": self.contained, "for_verification": self.exact}

    @property
    def estimates(self) -> list[str]:
        """The columns of estimates besides the similarity."""
        return [] if self.contained is None else ["contained"]


def alike_of(
    params: Params,
    threshold: float | None,
    contained: float | None = None,
    exact: bool = False,
    signature: str | None = None,
    shingle_count: str | None = None,
    confirmed: bool = False,
) -> Alike:
    """The condition. As on one machine, the threshold is 0 by default if there is a containment.
    An invalid argument fails here with a clear message, and not in a task."""
    if exact and signature is not None:
        raise InvalidError(
            "exact=True compares the documents, not their signatures: give text= or items= instead of"
            " signature="
        )
    if contained is not None and signature is not None and shingle_count is None:
        raise InvalidError(
            "contained= with signatures: shingle_count= must name their counts of shingles"
        )
    default = params.threshold if contained is None else 0.0
    alike = Alike(default if threshold is None else threshold, contained, exact, confirmed)
    nothing = Signatures.from_bytes(params, b"")
    shards.verify(params, [], nothing, nothing, alike.threshold, **alike.search)
    if alike.by_shingles:
        # Refuses signatures that another program makes.
        shards.shingles(params, [])
    return alike
