"""Rows of the operators that copy elements, and of the two that interpolate between pixels."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from eightfold.golden.blocks import (
    batch_to_space_shape,
    depth_to_space,
    space_to_batch_shape,
    space_to_depth,
)
from eightfold.golden.errors import RejectedError, UndefinedError
from eightfold.golden.indexing import Masks, gathered_shape, strided_slice
from eightfold.golden.indexing import slice as sliced
from eightfold.golden.movement import expand_dims, padded_shape, reshape, squeeze, transpose
from eightfold.golden.resize import new_size
from eightfold.model.graph import Operator, Quantization
from eightfold.model.prepare.hollow import COPIED, hollow
from eightfold.model.prepare.node import Node
from eightfold.model.prepare.row import Operand, Row, Shape

_INT8 = Operand()
_INT32 = Operand(("int32",), values=False)
_INDEX = Operand(("int32", "int64"), values=False)


def reshape_operand(node: Node) -> bool:
    """Return whether RESHAPE's second input counts instead of its option: as an int32 vector."""
    tensor = node.tensor(1)
    return tensor is not None and len(tensor.shape) == 1 and tensor.dtype == np.int32


def reshape_option(operator: Operator) -> list[int]:
    """Return the shape that RESHAPE's option says."""
    shape = list(operator.options["new_shape"])
    # Old converters wrote the shape of a scalar as [0].
    return [] if shape == [0] else shape


def _reshape(node: Node) -> Sequence[Shape]:
    if not reshape_operand(node):
        return [reshape(hollow(node.shape(0)), reshape_option(node.operator)).shape]
    sizes = node.known_vector(1)
    if sizes is None:
        return [(None,) * node.shape(1)[0]]
    return [reshape(hollow(node.shape(0)), sizes).shape]


def _squeeze(node: Node) -> Sequence[Shape]:
    return [squeeze(hollow(node.shape(0)), node.options["squeeze_dims"]).shape]


def _expand_dims(node: Node) -> Sequence[Shape]:
    if not _same(node.input(0).quantization, node.output.quantization):
        raise RejectedError("input and output must have the same scale and zero point")
    axis, shape = node.known_integer(1), node.shape(0)
    if axis is None:
        return [(None,) * (len(shape) + 1)]
    return [expand_dims(hollow(shape), axis).shape]


def _same(first: Quantization | None, second: Quantization | None) -> bool:
    if first is None or second is None:
        return first is second
    return np.array_equal(first.scale, second.scale) and np.array_equal(
        first.zero_point, second.zero_point
    )


def _transpose(node: Node) -> Sequence[Shape]:
    order, shape = node.known_vector(1), node.shape(0)
    if order is None:
        return [(None,) * len(shape)]
    return [transpose(hollow(shape), order).shape]


def _shape(node: Node) -> Sequence[Shape]:
    return [(len(node.shape(0)),)]


def _pad(node: Node) -> Sequence[Shape]:
    shape, paddings = node.shape(0), node.known(1)
    if paddings is None:
        padded_shape(shape, np.zeros(node.shape(1), np.int64))
        return [(None,) * len(shape)]
    return [padded_shape(shape, paddings)]


def _padv2(node: Node) -> Sequence[Shape]:
    if (elements := int(np.prod(node.shape(2)))) != 1:
        raise RejectedError(f"the value of PADV2 must be one element, not {elements}")
    return _pad(node)


def _slice(node: Node) -> Sequence[Shape]:
    begin, size, shape = node.known_vector(1), node.known_vector(2), node.shape(0)
    lengths = [node.shape(1)[0], node.shape(2)[0]]
    if lengths != [len(shape)] * 2:
        raise RejectedError(f"SLICE needs {len(shape)} numbers for begin and for size")
    if node.input(1).dtype != node.input(2).dtype:
        raise RejectedError(f"begin is {node.input(1).dtype}, size {node.input(2).dtype}")
    if begin is None or size is None:
        return [(None,) * len(shape)]
    return [sliced(hollow(shape), begin, size).shape]


def masks_of(operator: Operator) -> Masks:
    """Return the masks that the options of STRIDED_SLICE hold."""
    names = ("begin", "end", "ellipsis", "new_axis", "shrink_axis")
    masks = {name: operator.options[f"{name}_mask"] for name in names}
    return Masks(**masks, offset=operator.options["offset"])


def _strided_slice(node: Node) -> Sequence[Shape]:
    if node.options["offset"] and node.is_constant(3) and not node.is_constant(2):
        raise UndefinedError(
            "LiteRT ends if end counts from begin and is computed, strides are not"
        )
    begin, end, strides = (node.known_vector(position) for position in (1, 2, 3))
    if begin is None or end is None or strides is None:
        if len({node.shape(position) for position in (1, 2, 3)}) > 1:
            raise RejectedError("begin, end and strides must have as many entries")
        return [None]
    x = hollow(node.shape(0))
    return [strided_slice(x, begin, end, strides, masks_of(node.operator)).shape]


def _gather(node: Node) -> Sequence[Shape]:
    options = node.options
    arguments = (node.shape(0), node.shape(1), options["axis"], options["batch_dims"])
    return [gathered_shape(*arguments, node.known(1))]


def _blocks(
    rearranged: Callable[[np.ndarray, int], np.ndarray],
) -> Callable[[Node], Sequence[Shape]]:
    def shapes(node: Node) -> Sequence[Shape]:
        return [rearranged(hollow(node.shape(0)), node.options["block_size"]).shape]

    return shapes


def _batches(
    shape_of: Callable[[tuple[int, ...], Sequence[int], np.ndarray], tuple[int, ...]],
) -> Callable[[Node], Sequence[Shape]]:
    def shapes(node: Node) -> Sequence[Shape]:
        block, margins = node.known_vector(1), node.known(2)
        if block is None or margins is None:
            return [(None,) * len(node.shape(0))]
        return [shape_of(node.shape(0), block, margins)]

    return shapes


def _resize(least: int) -> Callable[[Node], Sequence[Shape]]:
    def shapes(node: Node) -> Sequence[Shape]:
        size, shape = node.known_vector(1), node.shape(0)
        unknown = [least] * node.shape(1)[0]
        height, width = new_size(shape, unknown if size is None else size, least)
        if size is None:
            return [(shape[0], None, None, shape[3])]
        return [(shape[0], height, width, shape[3])]

    return shapes


def _resize_bilinear(node: Node) -> Sequence[Shape]:
    if node.options["align_corners"] and node.options["half_pixel_centers"]:
        raise RejectedError("RESIZE_BILINEAR takes align_corners or half_pixel_centers, not both")
    return _resize(least=1)(node)


_BATCHES = (_INT8, _INT32, _INT32)

MOVEMENT: dict[str, Row] = {
    "BATCH_TO_SPACE_ND": Row(shapes=_batches(batch_to_space_shape), operands=_BATCHES),
    "DEPTH_TO_SPACE": Row(shapes=_blocks(depth_to_space)),
    "EXPAND_DIMS": Row(shapes=_expand_dims, operands=(COPIED, _INDEX)),
    "GATHER": Row(
        shapes=_gather,
        operands=(COPIED, Operand(("int16", "int32", "int64"), values=False)),
    ),
    "PAD": Row(shapes=_pad, operands=(_INT8, _INDEX)),
    "PADV2": Row(shapes=_padv2, operands=(_INT8, _INDEX, _INT8), alike=True),
    "RESHAPE": Row(shapes=_reshape, operands=(COPIED, Operand((), values=False, optional=True))),
    "RESIZE_BILINEAR": Row(shapes=_resize_bilinear, operands=(_INT8, _INT32)),
    "RESIZE_NEAREST_NEIGHBOR": Row(shapes=_resize(least=0), operands=(_INT8, _INT32)),
    "SHAPE": Row(shapes=_shape, operands=(Operand(()),), dtype_option="out_type"),
    "SLICE": Row(shapes=_slice, operands=(COPIED, _INDEX, _INDEX)),
    "SPACE_TO_BATCH_ND": Row(shapes=_batches(space_to_batch_shape), operands=_BATCHES),
    "SPACE_TO_DEPTH": Row(shapes=_blocks(space_to_depth)),
    "SQUEEZE": Row(shapes=_squeeze, operands=(COPIED,)),
    "STRIDED_SLICE": Row(shapes=_strided_slice, operands=(COPIED, _INT32, _INT32, _INT32)),
    # Of a scalar the kernel reads beyond the permutation, and ends.
    "TRANSPOSE": Row(shapes=_transpose, operands=(replace(COPIED, ranks=(1, 32)), _INT32)),
}
"""Operators that move elements."""
