"""RESIZE_BILINEAR: windows of two by two pixels, each weighted by a word of its own."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import product

import numpy as np
from numpy.typing import NDArray

from eightfold.compiler.emit.emitter import Emitter, loop_fields
from eightfold.compiler.emit.regions import Nest, Tile, halvings, parts
from eightfold.compiler.emit.staging import Staging, fits
from eightfold.compiler.steps.elementwise import RUN
from eightfold.compiler.steps.movement import AffinePiece, affine_pieces
from eightfold.compiler.steps.step import UnaryStep
from eightfold.golden.resize import COORDINATE_BITS
from eightfold.isa import Combine, Operand, Reduce, Requantize, Space, Vector
from eightfold.isa.issued import Interval
from eightfold.target.config import AcceleratorConfig

_ONE = 1 << COORDINATE_BITS

LOOPS = 3
"""Loops over results that a command has."""

REQUANTIZE = Requantize(multiplier=1, right=2 * COORDINATE_BITS)
"""The weights of both axes are 1024ths; ties are rounded away from zero."""


@dataclass(frozen=True)
class Taps:
    """The taps of every output along an axis: the first one, and the 1024ths of the one behind it.

    0 is exact: the second tap is not read then.
    """

    first: NDArray[np.int64]
    fraction: NDArray[np.int64]

    @classmethod
    def of(cls, lower: NDArray, upper: NDArray, fraction: NDArray) -> "Taps":
        """Return the taps of `eightfold.golden.resize.bilinear_taps`; at the ends both are the same
        one."""
        return cls(lower, np.where(lower == upper, 0, fraction))

    def inputs(self, outputs: range) -> range:
        """Return the inputs from the first to the last tap of ``outputs``."""
        part = slice(outputs.start, outputs.stop)
        last = self.first[part] + (self.fraction[part] > 0)
        return range(int(self.first[part].min()), int(last.max()) + 1)

    def pieces(self, outputs: range) -> Iterator[tuple[AffinePiece, int]]:
        """Yield pieces of (output, first tap), and the number of taps, 1 or 2."""
        every = np.array(outputs)
        for count in (1, 2):
            some = every[(self.fraction[every] > 0) == (count == 2)]
            if some.size:
                for piece in affine_pieces(np.stack([some, self.first[some]], axis=1)):
                    yield piece, count

    def weights(self, piece: AffinePiece, count: int) -> NDArray[np.int64]:
        """Return the taps' weights, of shape (iterations of each loop, .., taps)."""
        fraction = self.fraction[piece.rows[:, 0]]
        weights = np.stack([_ONE - fraction, fraction][:count], axis=-1)
        return weights.reshape(*(loop[0] for loop in piece.loops), count)


@dataclass(frozen=True)
class Patch:
    """Outputs that one pair of pieces makes, and where their weights are."""

    rows: AffinePiece
    columns: AffinePiece
    taps: tuple[int, int]
    words: NDArray[np.int32]
    steps: tuple[int, ...]
    """Bytes between the weights along the loops of rows, of columns, and the window."""


@dataclass(frozen=True, kw_only=True)
class Bilinear(UnaryStep):
    """``target``: each output between four inputs, of tensors (N, H, W, C)."""

    source_shape: tuple[int, ...]
    target_shape: tuple[int, ...]
    rows: Taps
    columns: Taps

    def patches(self, rows: range) -> list[Patch]:
        """Return the patches of some output rows."""
        found = []
        for vertical, height in self.rows.pieces(rows):
            for horizontal, width in self.columns.pieces(range(self.target_shape[2])):
                y = self.rows.weights(vertical, height)
                products = np.multiply.outer(y, self.columns.weights(horizontal, width))
                # Loops of rows, loops of columns, then the window's rows and columns.
                products = np.moveaxis(products, y.ndim - 1, -2)
                words, steps = _without_repetition(products)
                found.append(Patch(vertical, horizontal, (height, width), words, steps))
        return found

    def room(self, config: AcceleratorConfig) -> int:
        """Return the room for weights if both tensors are in the scratchpad: of all, or of some."""
        words = sum(patch.words.size for patch in self.patches(range(self.outputs)))
        return min(fits([4 * words]), config.scratchpad // 4)

    @property
    def outputs(self) -> int:
        return self.target_shape[1]

    def emit(self, emitter: Emitter, staging: Staging) -> None:
        """Emit all commands, some rows and channels at a time."""
        height, depth = self._part(staging)
        images, row_parts = range(self.source_shape[0]), parts(range(self.outputs), height)
        for image, rows in product(images, row_parts):
            patches = self.patches(rows)
            words = np.concatenate([patch.words for patch in patches])
            for channels in parts(range(self.source_shape[3]), depth):
                staging.begin(self._size(staging, (len(rows), len(channels))))
                inputs = (self.rows.inputs(rows), range(self.source_shape[2]), channels)
                part = (rows, range(self.target_shape[2]), channels)
                tile = staging.load_tile(self.source, self.source_shape, image, inputs)
                target = staging.result_tile(self.target, self.target_shape, image, part)
                weights = staging.take(words.nbytes)
                content = emitter.image.add(words.astype("<i4").tobytes())
                emitter.move((Space.MODEL, content), (Space.SCRATCHPAD, weights), words.nbytes)
                for patch in patches:
                    _emit_patch(emitter, patch, tile.slice(channels), target, weights)
                    weights += 4 * patch.words.size
                staging.store_tile(self.target, self.target_shape, image, target)

    def _part(self, staging: Staging) -> tuple[int, int]:
        """Return the rows and channels of a part that fits."""
        whole = self.source_shape[3]
        channels = [size for size in halvings(whole) if size <= RUN]
        sizes = [*((h, channels[0]) for h in halvings(self.outputs)), *((1, c) for c in channels)]
        return staging.largest(sizes, partial(self._size, staging), (self.outputs, whole))

    def _size(self, staging: Staging, part: tuple[int, int]) -> int:
        """Return the room that the largest part takes."""
        height, depth = part
        sizes = []
        for rows in parts(range(self.outputs), height):
            words = 4 * sum(patch.words.size for patch in self.patches(rows))
            inputs = len(self.rows.inputs(rows)) * self.source_shape[2] * depth
            outputs = len(rows) * self.target_shape[2] * depth
            sizes.append(fits([words]) + staging.needed(self.uses, (inputs, outputs)))
        return max(sizes)


def _without_repetition(products: NDArray[np.int64]) -> tuple[NDArray[np.int32], tuple[int, ...]]:
    """Return the words, with axes along which nothing changes once, and the axes' steps."""
    steps: list[int] = []
    for axis in range(products.ndim):
        first = np.take(products, [0], axis=axis)
        if np.array_equal(products, np.broadcast_to(first, products.shape)):
            products = first
    size = 4
    for count in reversed(products.shape):
        steps.insert(0, size if count > 1 else 0)
        size *= count
    return products.reshape(-1).astype(np.int32), tuple(steps)


def _emit_patch(emitter: Emitter, patch: Patch, source: Tile, target: Tile, weights: int) -> None:
    loops = [
        (count, tap * source.row_pitch, output * target.row_pitch)
        for count, (output, tap) in patch.rows.loops
    ]
    loops += [
        (count, tap * source.pixel_pitch, output * target.pixel_pitch)
        for count, (output, tap) in patch.columns.loops
    ]
    (row, row_tap), (column, column_tap) = patch.rows.first, patch.columns.first
    nest = Nest(
        (source.at(row_tap, column_tap), target.at(row, column), weights),
        tuple((*loop, step) for loop, step in zip(loops, patch.steps, strict=False)),
    )
    _emit_loops(emitter, nest, patch, source)


def _emit_loops(emitter: Emitter, nest: Nest, patch: Patch, source: Tile) -> None:
    """Emit the commands of a patch's loops; those beyond a command's are unrolled."""
    if len(nest.loops) > LOOPS:
        for number in range(nest.loops[0][0]):
            _emit_loops(emitter, nest.index(0, number), patch, source)
        return
    run = len(source.channels)
    height, width = patch.taps
    taps, results, words = nest.starts
    command = Vector(
        combine=Combine.MULTIPLY,
        reduce=Reduce.SUM,
        operand_b=Operand.WORD,
        run=run,
        window1=height,
        window0=width,
        source_a=taps,
        a_window1=source.row_pitch,
        a_window0=source.pixel_pitch,
        source_b=words,
        b_window1=patch.steps[-2],
        b_window0=patch.steps[-1],
        target=results,
        requantize=REQUANTIZE,
        **loop_fields(nest.loops, "a_step", "target_step", "b_step"),
    )
    window = [(height, source.row_pitch), (width, source.pixel_pitch)]
    reads = [
        Interval.of_runs(taps, run, [*nest.axes(0), *window]),
        Interval.of_runs(words, 4 * patch.words.size, []),
    ]
    emitter.vector(command, reads, Interval.of_runs(results, run, nest.axes(1)))
