"""What a run keeps beside its result, so that a page can show how it came about."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from eightfold.compiler import Compiled


@dataclass(frozen=True, kw_only=True)
class StreamRecord:
    """One command stream in simulation.

    Attributes
    ----------
    compiled
        Its commands, and where its tensors lie.
    spans
        int64, shape (n, 3): of each completed command of an engine its index, and the cycles from
        the doorbell in which its engine began and ended to work at it alone: the commands of an
        engine follow each other, though it prepares the next one meanwhile.
    counts
        int64, shape (m, counters): `eightfold.isa.COUNTERS` at times in order, the last one at the
        end of the run.
    """

    compiled: "Compiled"
    spans: NDArray[np.int64]
    counts: NDArray[np.int64]

    @property
    def cycles(self) -> int:
        """Cycles from doorbell to done."""
        return int(self.counts[-1, 0])


@dataclass(kw_only=True)
class TensorRecord:
    """A computed tensor, and how it compares.

    Attributes
    ----------
    operator
        The one that computes it, by index.
    compared
        Whether the reference had it.
    different
        Elements that differ from the reference's.
    first
        Index of the first of them, got and expected.
    """

    index: int
    name: str
    shape: tuple[int, ...]
    dtype: str
    operator: int
    compared: bool = False
    different: int = 0
    first: tuple[tuple[int, ...], str, str] | None = None


@dataclass(frozen=True, kw_only=True)
class Record:
    """Of one run: its command streams, none on golden, and the tensors that it computed.

    ``names`` are those of all tensors of the model, by index.
    """

    streams: Sequence[StreamRecord] = ()
    tensors: list[TensorRecord] = field(default_factory=list)
    names: Mapping[int, str] = field(default_factory=dict)
