"""Operators that copy elements, join tensors or take one apart: codes, and most also integers."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from eightfold.golden import blocks, indexing, joining, movement
from eightfold.golden.errors import RejectedError, UndefinedError
from eightfold.model.graph import Operator
from eightfold.operators import stacks
from eightfold.operators.call import Node, OperatorCall
from eightfold.operators.definition import (
    COPIED,
    INDEX,
    INDEX_VECTOR,
    INT8,
    INT32,
    INT32_VECTOR,
    Definition,
    Element,
    Function,
    Operand,
    Shape,
    Without,
    hollow,
)
from eightfold.operators.elementwise import of_two, same_shape
from eightfold.operators.lines import value_text
from eightfold.operators.rules import OTHER_INT8, SpecEntry, unquantized


def reshape_operand(node: Node) -> bool:
    """Return whether RESHAPE's second input counts instead of its option: as an int32 vector."""
    tensor = node.tensor(1)
    return tensor is not None and len(tensor.shape) == 1 and tensor.dtype == np.int32


def reshape_option(operator: Operator) -> list[int]:
    """Return the shape that RESHAPE's option says."""
    shape = list(operator.options["new_shape"])
    # Old converters wrote the shape of a scalar as [0].
    return [] if shape == [0] else shape


def _known(shape_of: Callable[..., Shape], rank: int, *known: Any) -> Sequence[Shape]:
    """Return the shape that operands decide; of a rank and open if one of them is computed."""
    return [(None,) * rank if any(each is None for each in known) else shape_of(*known)]


def _reshape_shapes(node: Node) -> Sequence[Shape]:
    x = hollow(node.shape(0))
    if not reshape_operand(node):
        return [movement.reshape(x, reshape_option(node.operator)).shape]
    sizes = node.known_vector(1)
    return _known(lambda sizes: movement.reshape(x, sizes).shape, node.shape(1)[0], sizes)


def _expand_dims_shapes(node: Node) -> Sequence[Shape]:
    _check_same(node)
    x = hollow(node.shape(0))
    return _known(lambda at: movement.expand_dims(x, at).shape, x.ndim + 1, node.known_integer(1))


def _check_same(node: Node) -> None:
    first, second = node.input(0).quantization, node.output.quantization
    if first is None or second is None:
        same = first is second
    else:
        same = np.array_equal(first.scale, second.scale) and np.array_equal(
            first.zero_point, second.zero_point
        )
    if not same:
        raise RejectedError("input and output must have the same scale and zero point")


def _squeeze_shapes(node: Node) -> Sequence[Shape]:
    return [movement.squeeze(hollow(node.shape(0)), node.options["squeeze_dims"]).shape]


def _transpose_shapes(node: Node) -> Sequence[Shape]:
    x = hollow(node.shape(0))
    return _known(lambda order: movement.transpose(x, order).shape, x.ndim, node.known_vector(1))


def _pad_shapes(node: Node) -> Sequence[Shape]:
    shape, paddings = node.shape(0), node.input(1).data
    if paddings is None:
        movement.padded_shape(shape, np.zeros(node.shape(1), np.int64))
    return _known(partial(movement.padded_shape, shape), len(shape), paddings)


def _padv2_shapes(node: Node) -> Sequence[Shape]:
    if (elements := int(np.prod(node.shape(2)))) != 1:
        raise RejectedError(f"the value of PADV2 must be one element, not {elements}")
    return _pad_shapes(node)


def _mirror_pad_shapes(node: Node) -> Sequence[Shape]:
    _check_same(node)
    shape, mode = node.shape(0), node.options["mode"]
    if node.input(1).data is None:
        movement.mirrored_shape(shape, np.zeros(node.shape(1), np.int64), "SYMMETRIC")
    return _known(
        lambda pads: movement.mirrored_shape(shape, pads, mode), len(shape), node.input(1).data
    )


def _tile_shapes(node: Node) -> Sequence[Shape]:
    shape, multiples = node.shape(0), node.known_vector(1)
    if multiples is None:
        movement.tiled_shape(shape, [1] * node.shape(1)[0])
    return _known(lambda counts: movement.tiled_shape(shape, counts), len(shape), multiples)


def _broadcast_to_shapes(node: Node) -> Sequence[Shape]:
    x, sizes = hollow(node.shape(0)), node.known_vector(1)
    return _known(lambda sizes: movement.broadcast_to(x, sizes).shape, node.shape(1)[0], sizes)


def _reverse_shapes(node: Node) -> Sequence[Shape]:
    axes = node.known_vector(1)
    if axes is not None:
        movement.reverse(hollow(node.shape(0)), axes)
    return [node.shape(0)]


def _scatter_nd_shapes(node: Node) -> Sequence[Shape]:
    shapes, sizes = (node.shape(0), node.shape(1)), node.known_vector(2)
    return _known(lambda sizes: indexing.scattered_shape(*shapes, sizes), node.shape(2)[0], sizes)


def _update_shapes(node: Node) -> Sequence[Shape]:
    starts = node.shape(2)
    indexing.check_update(node.shape(0), node.shape(1), starts[0] if len(starts) == 1 else 0)
    return [node.shape(0)]


def _slice_shapes(node: Node) -> Sequence[Shape]:
    begin, size, shape = node.known_vector(1), node.known_vector(2), node.shape(0)
    lengths = [node.shape(1)[0], node.shape(2)[0]]
    if lengths != [len(shape)] * 2:
        raise RejectedError(f"SLICE needs {len(shape)} numbers for begin and for size")
    if node.input(1).dtype != node.input(2).dtype:
        raise RejectedError(f"begin is {node.input(1).dtype}, size {node.input(2).dtype}")
    if begin is None or size is None:
        return [(None,) * len(shape)]
    return [indexing.slice(hollow(shape), begin, size).shape]


def masks_of(operator: Operator) -> indexing.Masks:
    """Return the masks that the options of STRIDED_SLICE hold."""
    names = ("begin", "end", "ellipsis", "new_axis", "shrink_axis")
    masks = {name: operator.options[f"{name}_mask"] for name in names}
    return indexing.Masks(**masks, offset=operator.options["offset"])


def _strided_slice_shapes(node: Node) -> Sequence[Shape]:
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
    return [indexing.strided_slice(x, begin, end, strides, masks_of(node.operator)).shape]


def _gather_shapes(node: Node) -> Sequence[Shape]:
    options = node.options
    arguments = (node.shape(0), node.shape(1), options["axis"], options["batch_dims"])
    return [indexing.gathered_shape(*arguments, node.input(1).data)]


def _input_shapes(node: Node) -> list[tuple[int, ...]]:
    return [node.shape(position) for position in range(len(node.inputs))]


def _pack_shapes(node: Node) -> Sequence[Shape]:
    count = node.options["values_count"]
    if len(node.inputs) != count:
        raise RejectedError(f"has {len(node.inputs)} inputs, but values_count {count}")
    return [joining.packed_shape(_input_shapes(node), node.options["axis"])]


def _split_shapes(node: Node) -> Sequence[Shape]:
    axis = node.known_integer(0)
    if axis is None:
        return [(None,) * len(node.shape(1))] * len(node.outputs)
    return [part.shape for part in joining.split(hollow(node.shape(1)), axis, len(node.outputs))]


def _split_v_shapes(node: Node) -> Sequence[Shape]:
    sizes, axis = node.known_vector(1), node.known_integer(2)
    if node.shape(1)[0] != len(node.outputs):
        raise RejectedError(f"has {len(node.outputs)} outputs, but {node.shape(1)[0]} sizes")
    if sizes is None or axis is None:
        return [(None,) * len(node.shape(0))] * len(node.outputs)
    return [part.shape for part in joining.split_v(hollow(node.shape(0)), sizes, axis)]


def _unpack_shapes(node: Node) -> Sequence[Shape]:
    x = hollow(node.shape(0))
    return [part.shape for part in joining.unpack(x, node.options["axis"], len(node.outputs))]


def _reshape_operands(call: OperatorCall) -> Sequence[Any]:
    shape = call.vector(1) if reshape_operand(call) else reshape_option(call.operator)
    return [call.codes(0), shape]


def _pad_operands(call: OperatorCall) -> Sequence[Any]:
    call.quantization(0)  # where it has none, LiteRT fills with 0 and not with the zero point
    return [call.codes(0), call.array(1)]


BASE = 128
"""The base of the digits that number the elements: an int8 holds one."""


def explain_copy(element: Element) -> list[str]:
    """Return where the element comes from, or that it is a fill.

    The operator itself tells: it copies the numbers of the elements, digit by digit, in place of
    the codes. A second time all digits are replaced by their complements: what has not changed
    with them is a fill.
    """
    call, definition = element.call, element.definition
    output, index = element.output, element.index
    positions = _copied(definition, call)
    arrays = [call.array(position) for position in positions]
    sizes = [array.size for array in arrays]
    numbers = np.arange(sum(sizes))
    number = 0
    scale = 1
    is_copy = True
    while scale == 1 or scale < sum(sizes):
        digits = numbers // scale % BASE
        seen = []
        for plane in (digits, BASE - 1 - digits):
            parts = np.split(plane.astype(np.int8), np.cumsum(sizes)[:-1])
            planes = [part.reshape(a.shape) for part, a in zip(parts, arrays, strict=True)]
            numbered = call.substituted(*map(call.array, range(positions[0])), *planes)
            seen.append(int(definition.run(numbered)[output][index]))
        is_copy = is_copy and sum(seen) == BASE - 1
        number += scale * seen[0]
        scale *= BASE
    value = value_text(definition.run(call)[output][index])
    if not is_copy:
        return [f"no element of the input: a fill = {value}"]
    part = int(np.searchsorted(np.cumsum(sizes), number, side="right"))
    place = np.unravel_index(number - sum(sizes[:part]), arrays[part].shape)
    source = call.input(positions[part])
    where = [int(at) for at in place]
    return [f"copy of input {positions[part]}, {source}, element {where} = {value}"]


def _copied(definition: Definition, call: OperatorCall) -> list[int]:
    """Return the positions of the inputs that are copied from."""
    if definition.variadic:
        return list(range(len(call.inputs)))
    values = [operand.values for operand in definition.operands]
    first = values.index(True)
    return list(range(first, [*values, False].index(False, first)))


def _explain_scatter(element: Element) -> list[str]:
    """Return the updates of the element, and their sum."""
    call, index = element.call, element.index
    indices, updates = call.array(0), call.array(1)
    count = indices.shape[-1]
    found = np.argwhere(np.all(indices == np.array(index[:count]), axis=-1)).tolist()
    places = [(*each, *index[count:]) for each in found]
    terms = [f"update {[*map(int, p)]} of {call.input(1)} = {int(updates[p])}" for p in places]
    total = int(element.of(call)[index])
    return [*terms, f"sum of {len(terms)} updates, which wraps around = {total}"]


def _prepare_reshape(definition: Definition, call: OperatorCall) -> Function | None:
    if call.is_constant(0) or call.is_computed(1):
        return None
    (result,) = definition.run(call)
    return lambda x: x.reshape(result.shape)


def _explain_shape(element: Element) -> list[str]:
    call, index = element.call, element.index
    sizes = list(call.array(0).shape)
    return [f"size {index[0]} of the shape {sizes} of {call.input(0)} = {sizes[index[0]]}"]


UNPREPARED = Without("a copy takes as long with its places known")


_copy = partial(Definition, explain=explain_copy, prepare=UNPREPARED, empty=True)
"""Returns the record of a copy, where nothing else is said."""


def _block(golden: Callable[[np.ndarray, int], np.ndarray], **spec: Any) -> Definition:
    def shapes(node: Node) -> Sequence[Shape]:
        return [golden(hollow(node.shape(0)), node.options["block_size"]).shape]

    return _copy(golden, shapes=shapes, operands=(INT8,), stacks=stacks.IMAGES, **spec)


def _batches(
    golden: Function,
    shape_of: Callable[[tuple[int, ...], Sequence[int], np.ndarray], tuple[int, ...]],
    number: int,
) -> Definition:
    def shapes(node: Node) -> Sequence[Shape]:
        x = node.shape(0)
        return _known(partial(shape_of, x), len(x), node.known_vector(1), node.input(2).data)

    return _copy(
        golden,
        shapes=shapes,
        operands=(INT8, INT32_VECTOR, INT32),
        stacks=Without("it moves elements between the slices along axis 0"),
        spec=SpecEntry(number, same=True),
    )


# The graph has the handle no more: `eightfold.model.variables`.
_VARIABLE = _copy(
    movement.copy,
    shapes=same_shape,
    operands=(COPIED,),
    stacks=Without("each inference begins with what the one before has left"),
)

_POSITIONS = Without("its positions count along the axis 0 of one inference")

MOVEMENT: dict[str, Definition] = {
    "ASSIGN_VARIABLE": _VARIABLE,
    "BATCH_TO_SPACE_ND": _batches(blocks.batch_to_space_nd, blocks.batch_to_space_shape, 18),
    "BROADCAST_TO": _copy(
        movement.broadcast_to,
        shapes=_broadcast_to_shapes,
        operands=(COPIED, INDEX_VECTOR),
        stacks=Without("its sizes count the axis 0 of one inference"),
    ),
    "CONCATENATION": _copy(
        joining.concatenation,
        shapes=lambda node: [joining.concatenated_shape(_input_shapes(node), node.options["axis"])],
        operands=(COPIED,),
        variadic=True,
        alike=True,
        activations=frozenset({"NONE"}),
        stacks=stacks.JOINED_BEHIND,
        spec=SpecEntry(3, same=True),
    ),
    "DEPTH_TO_SPACE": _block(blocks.depth_to_space),
    "DYNAMIC_UPDATE_SLICE": _copy(
        indexing.dynamic_update_slice,
        shapes=_update_shapes,
        operands=(COPIED, COPIED, INDEX_VECTOR),
        alike=True,
        stacks=_POSITIONS,
    ),
    "EXPAND_DIMS": _copy(
        movement.expand_dims,
        shapes=_expand_dims_shapes,
        operands=(COPIED, replace(INDEX, taken_as="integer")),
        named={
            "input_quantization": lambda call: call.quantization_if_any(0),
            "output_quantization": lambda call: call.every_quantization()[-1],
        },
        stacks=stacks.SHAPES,
    ),
    "GATHER": _copy(
        indexing.gather,
        shapes=_gather_shapes,
        operands=(COPIED, Operand(("int16", "int32", "int64"), values=False)),
        stacks=_POSITIONS,
        spec=SpecEntry(17, same=True),
    ),
    "GATHER_ND": _copy(
        indexing.gather_nd,
        shapes=of_two(indexing.gathered_nd_shape),
        operands=(COPIED, Operand(("int16", "int32", "int64"), values=False)),
        empty=False,  # LiteRT refuses to pick from nothing
        stacks=_POSITIONS,
    ),
    "MIRROR_PAD": _copy(
        movement.mirror_pad,
        shapes=_mirror_pad_shapes,
        operands=(INT8, INDEX),
        named={"quantizations": lambda call: call.every_quantization()[::2]},
        stacks=stacks.PADDED,
    ),
    "PACK": _copy(
        joining.pack,
        shapes=_pack_shapes,
        operands=(COPIED,),
        variadic=True,
        alike=True,
        stacks=Without("its result's axis 0 may be the new one"),
    ),
    "PAD": _copy(
        movement.pad,
        shapes=_pad_shapes,
        operands=(INT8, INDEX),
        operands_of=_pad_operands,
        stacks=stacks.PADDED,
        spec=SpecEntry(16, same=True),
    ),
    "PADV2": _copy(
        movement.padv2,
        shapes=_padv2_shapes,
        operands=(INT8, INDEX, Operand(listed=OTHER_INT8)),
        alike=True,
        stacks=stacks.PADDED,
        spec=SpecEntry(30, same=True),
    ),
    "READ_VARIABLE": _VARIABLE,
    "RESHAPE": _copy(
        movement.reshape,
        shapes=_reshape_shapes,
        operands=(
            COPIED,
            # What is no int32 vector does not count: see `reshape_operand`.
            Operand((), values=False, optional=True, listed=unquantized("int32", optional=True)),
        ),
        operands_of=_reshape_operands,
        stacks=stacks.SHAPES,
        prepare=_prepare_reshape,
        spec=SpecEntry(11, same=True),
    ),
    "REVERSE_V2": _copy(
        movement.reverse,
        shapes=_reverse_shapes,
        operands=(COPIED, INT32_VECTOR),
        stacks=stacks.AXES_BEHIND,
    ),
    "SCATTER_ND": _copy(
        indexing.scatter_nd,
        shapes=_scatter_nd_shapes,
        operands=(INT32, COPIED, INT32_VECTOR),
        explain=_explain_scatter,
        stacks=Without("its sizes count the axis 0 of one inference"),
    ),
    "SHAPE": _copy(
        movement.shape,
        shapes=lambda node: [(len(node.shape(0)),)],
        operands=(Operand(()),),
        dtype_option="out_type",
        explain=_explain_shape,
        stacks=Without("its result has the size of axis 0"),
        spec=SpecEntry(37),
    ),
    "SLICE": _copy(
        indexing.slice,
        shapes=_slice_shapes,
        operands=(COPIED, INDEX_VECTOR, INDEX_VECTOR),
        stacks=_POSITIONS,
        spec=SpecEntry(34, same=True),
    ),
    "SPACE_TO_BATCH_ND": _batches(blocks.space_to_batch_nd, blocks.space_to_batch_shape, 19),
    "SPACE_TO_DEPTH": _block(blocks.space_to_depth, spec=SpecEntry(14, same=True)),
    "SPLIT": _copy(
        joining.split,
        shapes=_split_shapes,
        operands=(INT32, COPIED),
        results="num_splits",
        operands_of=lambda call: [call.codes(1), call.integer(0)],
        stacks=Without("its first input is the axis, which all inferences share"),
    ),
    "SPLIT_V": _copy(
        joining.split_v,
        shapes=_split_v_shapes,
        operands=(COPIED, INDEX_VECTOR, replace(INT32, taken_as="integer")),
        results="num_splits",
        stacks=Without("it may take axis 0 apart"),
    ),
    "SQUEEZE": _copy(
        movement.squeeze,
        shapes=_squeeze_shapes,
        operands=(COPIED,),
        named={"dims": lambda call: call.options["squeeze_dims"]},
        stacks=stacks.SHAPES,
        spec=SpecEntry(24, same=True),
    ),
    "STRIDED_SLICE": _copy(
        indexing.strided_slice,
        shapes=_strided_slice_shapes,
        operands=(COPIED, INT32_VECTOR, INT32_VECTOR, INT32_VECTOR),
        named={"masks": lambda call: masks_of(call.operator)},
        stacks=_POSITIONS,
    ),
    "TILE": _copy(
        movement.tile,
        shapes=_tile_shapes,
        operands=(COPIED, INDEX_VECTOR),
        stacks=Without("it may repeat the inferences along axis 0"),
    ),
    "TRANSPOSE": _copy(
        movement.transpose,
        shapes=_transpose_shapes,
        # Of a scalar the kernel reads beyond the permutation, and ends.
        operands=(replace(COPIED, ranks=(1, 32)), INT32_VECTOR),
        stacks=stacks.FIRST_STAYS,
        spec=SpecEntry(20, same=True),
    ),
    "UNPACK": _copy(
        joining.unpack,
        shapes=_unpack_shapes,
        operands=(COPIED,),
        results="num",
        empty=False,
        stacks=Without("it may take axis 0 away"),
    ),
}
"""Operators that move elements."""
