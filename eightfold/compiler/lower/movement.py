"""Operators that copy bytes, as programs of the mover; GATHER.

What comes from where, golden itself says: it runs an operator that copies on positions in place of
values.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

from eightfold.compiler.exact import CompileError
from eightfold.compiler.lower.call import Call
from eightfold.compiler.steps.movement import (
    Copy,
    Gather,
    Movement,
    affine_pieces,
    copies,
    cycles,
    filled,
    rearranged,
)
from eightfold.compiler.steps.step import Alias
from eightfold.compiler.steps.transposition import Swap, Transposition, best_way, swapped
from eightfold.golden.indexing import checked_gather, flat_indices
from eightfold.golden.resize import nearest_taps
from eightfold.model import Tensor
from eightfold.operators import OPERATORS, OperatorCall
from eightfold.target.config import AcceleratorConfig

FIRST = 1 << 8
"""The first position: codes, such as those of padding, are below."""


@dataclass(frozen=True)
class Source:
    """An input of ``shape`` whose elements have the positions ``first`` and those that follow."""

    tensor: int
    first: int
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        """Elements."""
        return int(np.prod(self.shape, dtype=int))


class PositionCall(OperatorCall):
    """A call whose copied inputs have positions for values; the others must be constants.

    ``sources``: the inputs that are copied, by their place among the operator's.
    """

    def __init__(self, call: OperatorCall) -> None:
        super().__init__(call.graph, call.operator, reference=call.reference)
        self.sources: dict[int, Source] = {}
        self._next = FIRST

    def results(self) -> list[NDArray[np.int64]]:
        """Return for each output what its elements are: positions, or codes below `FIRST`.

        Raises as `eightfold.operators.run_operator`, without the operator's name; and if an operand
        such as an axis is not constant.
        """
        return OPERATORS[self.operator.name].run(self)

    def codes(self, position: int) -> np.ndarray:
        """Return the positions of an input that is copied."""
        tensor = self.input(position)
        if position not in self.sources:
            self.sources[position] = Source(tensor.index, self._next, tensor.shape)
            self._next += self.sources[position].size
        source = self.sources[position]
        return np.arange(source.first, source.first + source.size).reshape(tensor.shape)

    def optional(self, position: int) -> np.ndarray | None:
        """Return an input's array, which must be constant; None if it is absent."""
        return None if self.tensor(position) is None else self.constant(position)


Steps = tuple[Alias | Movement, ...]

SPREAD = 64
"""Bytes that a fill with a computed byte is made of: the widest access."""


def moved(call: Call) -> Steps:
    """Lower an operator whose every result consists of copies from its inputs, and of one code."""
    positions = PositionCall(call)
    results = positions.results()
    sources = list(positions.sources.values())
    return tuple(
        _picked(call, target, result, sources)
        for target, result in zip(call.outputs, results, strict=True)
    )


def transpose(call: Call) -> Steps:
    """Lower TRANSPOSE: copies, or where that takes fewer cycles the matrix engine."""
    (step,) = moved(call)
    source = call.input(0)
    axes = [axis % len(source.shape) for axis in call.constant(1).reshape(-1).tolist()]
    swap = swapped(source.shape, axes, source.dtype.itemsize)
    if not isinstance(step, Movement) or swap is None or source.data is not None:
        return (step,)
    return (_quicker(step, source.index, swap, call.config),)


def transposed(source: int, target: int, swap: Swap, config: AcceleratorConfig) -> Movement:
    """Return what gives ``target`` the matrices of bytes of ``source``, each transposed."""
    shape = (swap.outer, swap.rows, swap.columns)
    places = np.arange(prod(shape)).reshape(shape).swapaxes(1, 2)
    return _quicker(rearranged(target, places, source, shape), source, swap, config)


def _quicker(step: Movement, source: int, swap: Swap, config: AcceleratorConfig) -> Movement:
    """Return the transposition that the copies make, or they if it does not take fewer cycles."""
    way = best_way(swap, config)
    if way is None or way.cycles(swap) >= cycles(step.copies, config.vector):
        return step
    return Transposition(target=step.target, copies=step.copies, source=source, swap=swap, way=way)


def padv2(call: Call) -> Alias | Movement:
    """Lower PADV2: what surrounds the input is one byte, which may be computed."""
    positions = PositionCall(call)
    (result,) = positions.results()
    source = positions.sources[0]
    value = call.input(2)
    target = call.output
    if value.data is not None or result.size == source.size:
        code = 0 if value.data is None else int(value.data.item())
        around = result == positions.sources[2].first
        return _picked(call, target, np.where(around, code, result), [source])
    around = spread(value.index, target.index, result.size)
    return Movement(target=target.index, copies=(*around, *_from(call, source, result)))


def resize_nearest_neighbor(call: Call) -> Steps:
    """Lower RESIZE_NEAREST_NEIGHBOR: rows and columns at once, or first rows, if that is shorter.

    At once it takes a copy for each product of a piece of the rows and one of the columns.
    """
    PositionCall(call).results()  # checks the operator
    source, target = call.input(0), call.output
    options = call.options
    n, height, width, depth = source.shape
    sizes = target.shape[1:3]
    rows, columns = (
        nearest_taps(old, new, options["align_corners"], options["half_pixel_centers"])
        for old, new in zip((height, width), sizes, strict=True)
    )
    pieces = [len(affine_pieces(np.stack([t, np.arange(len(t))], 1))) for t in (rows, columns)]
    if prod(pieces) <= sum(pieces):
        return moved(call)
    between = (n, sizes[0], width, depth)
    whole = np.arange(prod(source.shape)).reshape(source.shape)
    middle = np.arange(prod(between)).reshape(between)
    temporary = call.temporary(prod(between))
    return (
        rearranged(temporary, whole[:, rows], source.index, source.shape),
        rearranged(target.index, middle[:, :, columns], temporary, between),
    )


def shape(call: Call) -> Movement:
    """Lower SHAPE: a constant."""
    sizes = call.golden(np.broadcast_to(np.int8(0), call.input(0).shape))
    if sizes.shape != call.output.shape:
        raise CompileError(f"{call.output} has the shape {call.output.shape}, not {sizes.shape}")
    constant = call.temporary(sizes.nbytes, sizes.tobytes())
    return Movement(target=call.output.index, copies=(Copy(constant, 0, 0, sizes.nbytes),))


def spread(source: int, target: int, size: int) -> list[Copy]:
    """Return copies of the one byte of ``source`` all over the ``size`` bytes of ``target``.

    The byte, then copies of it, then copies of these.
    """
    block = min(size, SPREAD)
    blocks, rest = divmod(size, block)
    return [
        Copy(source, 0, 0, 1),
        *([Copy(target, 0, 1, 1, ((block - 1, 0, 1),))] if block > 1 else []),
        *([Copy(target, 0, block, block, ((blocks - 1, 0, block),))] if blocks > 1 else []),
        *([Copy(target, 0, blocks * block, rest)] if rest else []),
    ]


def _whole(source: Tensor, target: Tensor) -> Alias | Movement:
    """Return what gives a tensor the bytes of another one."""
    if source.data is None:
        return Alias(source=source.index, target=target.index)
    return Movement(target=target.index, copies=(Copy(source.index, 0, 0, source.data.nbytes),))


def _picked(
    call: Call, target: Tensor, result: np.ndarray, sources: Sequence[Source]
) -> Alias | Movement:
    """Return what gives ``target`` the elements of ``result``."""
    for source in sources:
        if np.array_equal(result.reshape(-1), source.first + np.arange(source.size)):
            return _whole(call.graph.tensors[source.tensor], target)
    found = [copy for source in sources for copy in _from(call, source, result)]
    outside = result < FIRST
    codes = np.unique(result[outside])
    if codes.size:
        (code,) = codes.tolist()
        found = [*filled(np.atleast_1d(outside), code, call.config.vector), *found]
    return Movement(target=target.index, copies=tuple(found))


def _from(call: Call, source: Source, result: np.ndarray) -> list[Copy]:
    """Return the copies of what a result has from one input."""
    places = result - source.first
    inside = (places >= 0) & (places < source.size)
    if not inside.any():
        return []
    item = call.graph.tensors[source.tensor].dtype.itemsize
    return copies(np.where(inside, places, -1), source.tensor, source.shape, item)


def gather(call: Call) -> Gather:
    """Lower GATHER; indices that are computed are checked when the command runs."""
    source, indices = call.input(0), call.input(1)
    options = call.options
    axis, batch = checked_gather(
        source.shape, indices.shape, options["axis"], options["batch_dims"]
    )
    return Gather(
        source=source.index,
        indices=indices.index,
        target=call.output.index,
        batches=prod(source.shape[:batch]),
        outer=prod(source.shape[batch:axis]),
        length=source.shape[axis],
        chosen=prod(indices.shape[batch:]),
        run=prod(source.shape[axis + 1 :]) * source.dtype.itemsize,
        index_bytes=indices.dtype.itemsize,
    )


def gather_nd(call: Call) -> Gather:
    """Lower GATHER_ND: a GATHER along one axis in place of those that have coordinates.

    Constant coordinates become places along it. Computed ones must be of one axis already.
    """
    source, indices = call.input(0), call.input(1)
    count = indices.shape[-1]
    places, item = indices.index, indices.dtype.itemsize
    if indices.data is not None:
        flat = flat_indices(source.shape, indices.data).astype(np.int32)
        places, item = call.temporary(flat.nbytes, flat.tobytes()), flat.itemsize
    elif count != 1:
        raise CompileError(f"{indices} is computed, and has {count} coordinates rather than one")
    return Gather(
        source=source.index,
        indices=places,
        target=call.output.index,
        length=prod(source.shape[:count]),
        chosen=prod(indices.shape[:-1]),
        run=prod(source.shape[count:]) * source.dtype.itemsize,
        index_bytes=item,
    )


def scatter_nd(call: Call) -> Movement:
    """Lower SCATTER_ND: the updates' copies amid zeros, where none has the place of another."""
    updates = call.input(1)
    target = call.output
    indices = call.constant(0)
    places = flat_indices(target.shape, indices).reshape(-1)
    if np.unique(places).size < places.size:
        raise CompileError("indices name a place twice: the mover does not add updates")
    count = indices.shape[-1]
    run = prod(target.shape[count:])
    rows = np.full((prod(target.shape[:count]), 1), -1)
    rows[places, 0] = np.arange(places.size)
    picked = np.where(rows < 0, -1, rows * run + np.arange(run))
    item = updates.dtype.itemsize
    found = copies(picked, updates.index, (places.size, run), item) if places.size else []
    if np.any(outside := np.repeat(picked < 0, item, axis=1)):
        found = [*filled(outside, 0, call.config.vector), *found]
    return Movement(target=target.index, copies=tuple(found))


def dynamic_update_slice(call: Call) -> Alias | Movement:
    """Lower DYNAMIC_UPDATE_SLICE: a copy of the first input, and over it one of the second."""
    positions = PositionCall(call)
    (result,) = positions.results()
    source, update = positions.sources.values()
    if update.size == source.size:
        return _whole(call.input(1), call.output)
    size = source.size * call.input(0).dtype.itemsize
    over = _from(call, update, result)
    return Movement(target=call.output.index, copies=(Copy(source.tensor, 0, 0, size), *over))
