"""Programs that pick slices of tensors by index, as the compiler may emit them."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from eightfold import isa
from eightfold.compiler.emit.emitter import Emitter
from eightfold.isa import Space
from eightfold.isa.issued import encode
from eightfold.target.config import AcceleratorConfig

DTYPES = (np.int8, np.int16, np.int32, np.int64)


@dataclass
class GatherProgram:
    """Gathers one after the other; operator i of the stream is the i-th.

    ``inputs`` are bytes by their offset in the arena, ``results`` what must be there in the end.
    """

    emitter: Emitter
    arena: int = 0
    inputs: dict[int, bytes] = field(default_factory=dict)
    results: dict[int, NDArray[np.int8]] = field(default_factory=dict)

    def words(self) -> NDArray[np.uint32]:
        """Return the stream."""
        return encode(self.emitter.config, self.emitter.issued)

    def take(
        self,
        x: NDArray[np.int8],
        indices: NDArray[np.signedinteger],
        spaces: tuple[Space, Space] = (Space.SCRATCHPAD, Space.SCRATCHPAD),
    ) -> None:
        """Add ``result[b, o, k] = x[b, o, indices[b, k]]``, as TFLite's GATHER computes it.

        ``x`` has shape (batches, outer, limit, inner), ``indices`` (batches, n); ``spaces`` are
        where the command finds ``x``, and where it writes.
        """
        batches, outer, limit, inner = x.shape
        count = indices.shape[1]
        picked = indices[:, None, :, None].astype(np.int64)
        result = np.take_along_axis(x, picked, axis=2)
        self.emitter.operator = len(self.results)
        # Nothing is aligned.
        local = (3, 3 + x.size + 5, 3 + x.size + 5 + result.size + 2)
        self._load(indices.tobytes(), local[2])
        if spaces[0] == Space.MODEL:
            source = self.emitter.image.add(x.tobytes() + b"\0")
        elif spaces[0] == Space.SCRATCHPAD:
            source = local[0]
            self._load(x.tobytes(), source)
        else:
            source = self._place(x.tobytes())
        out = self._reserve(result.size)
        target = out if spaces[1] == Space.ARENA else local[1]
        width = indices.itemsize
        self.emitter.gather(
            (spaces[0], source),
            (spaces[1], target),
            inner,
            [
                (batches, outer * limit * inner, outer * count * inner, count * width),
                (outer, limit * inner, count * inner, 0),
                (count, 0, inner, width),
            ],
            indices=local[2],
            index_bytes=width,
            limit=limit,
            step=inner,
        )
        if spaces[1] == Space.SCRATCHPAD:
            self.emitter.move((Space.SCRATCHPAD, target), (Space.ARENA, out), result.size)
        self.results[out] = result.ravel()

    def _load(self, content: bytes, target: int) -> None:
        self.emitter.move(
            (Space.ARENA, self._place(content)), (Space.SCRATCHPAD, target), len(content)
        )

    def _place(self, content: bytes) -> int:
        offset = self._reserve(len(content))
        self.inputs[offset] = content
        return offset

    def _reserve(self, size: int) -> int:
        offset = self.arena
        self.arena = self.arena + size + 1
        return offset

    def check(self, arena: NDArray[np.uint8]) -> None:
        """Compare the results in an arena."""
        for offset, result in self.results.items():
            found = arena[offset : offset + len(result)].view(np.int8)
            np.testing.assert_array_equal(found, result)


SPACES = isa.SPACES[isa.Opcode.GATHER]
"""Where a GATHER may find its tensor, and write its result."""


def new_program(config: AcceleratorConfig) -> GatherProgram:
    """Return a program that has begun."""
    emitter = Emitter(config)
    emitter.begin()
    return GatherProgram(emitter)


def random_tensor(rng: np.random.Generator, *shape: int) -> NDArray[np.int8]:
    """Return int8 over its whole range."""
    return rng.integers(-128, 128, shape, dtype=np.int8)
