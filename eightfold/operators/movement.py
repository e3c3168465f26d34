"""Operators that copy elements: codes, and most also the integers of shapes."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from eightfold.golden import blocks, indexing, movement
from eightfold.golden.blocks import batch_to_space_shape, space_to_batch_shape
from eightfold.golden.errors import RejectedError, UndefinedError
from eightfold.golden.indexing import (
    Masks,
    check_update,
    gathered_nd_shape,
    gathered_shape,
    scattered_shape,
    strided_slice,
)
from eightfold.golden.movement import (
    broadcast_to,
    expand_dims,
    mirrored_shape,
    padded_shape,
    reshape,
    reverse,
    squeeze,
    tiled_shape,
    transpose,
)
from eightfold.model.graph import Operator
from eightfold.operators.call import Node, OperatorCall
from eightfold.operators.definition import (
    COPIED,
    INDEX,
    INT8,
    INT32,
    Arguments,
    Definition,
    Explain,
    Function,
    Index,
    Operand,
    Prepare,
    Shape,
    Shapes,
    Without,
    hollow,
)
from eightfold.operators.lines import value_text
from eightfold.operators.rules import OTHER_INT8, SpecEntry, unquantized
from eightfold.operators.stacks import AXES_BEHIND, FIRST_STAYS, IMAGES, PADDED, SHAPES, Stacks


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
        return [reshape(x, reshape_option(node.operator)).shape]
    sizes = node.known_vector(1)
    return _known(lambda sizes: reshape(x, sizes).shape, node.shape(1)[0], sizes)


def _squeeze_shapes(node: Node) -> Sequence[Shape]:
    return [squeeze(hollow(node.shape(0)), node.options["squeeze_dims"]).shape]


def _expand_dims_shapes(node: Node) -> Sequence[Shape]:
    _check_same(node)
    x = hollow(node.shape(0))
    return _known(lambda axis: expand_dims(x, axis).shape, x.ndim + 1, node.known_integer(1))


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


def _transpose_shapes(node: Node) -> Sequence[Shape]:
    x = hollow(node.shape(0))
    return _known(lambda order: transpose(x, order).shape, x.ndim, node.known_vector(1))


def _shape_shapes(node: Node) -> Sequence[Shape]:
    return [(len(node.shape(0)),)]


def _pad_shapes(node: Node) -> Sequence[Shape]:
    shape, paddings = node.shape(0), node.known(1)
    if paddings is None:
        padded_shape(shape, np.zeros(node.shape(1), np.int64))
        return [(None,) * len(shape)]
    return [padded_shape(shape, paddings)]


def _padv2_shapes(node: Node) -> Sequence[Shape]:
    if (elements := int(np.prod(node.shape(2)))) != 1:
        raise RejectedError(f"the value of PADV2 must be one element, not {elements}")
    return _pad_shapes(node)


def _mirror_pad_shapes(node: Node) -> Sequence[Shape]:
    _check_same(node)
    shape, mode = node.shape(0), node.options["mode"]
    if node.known(1) is None:
        mirrored_shape(shape, np.zeros(node.shape(1), np.int64), "SYMMETRIC")
    return _known(lambda pads: mirrored_shape(shape, pads, mode), len(shape), node.known(1))


def _tile_shapes(node: Node) -> Sequence[Shape]:
    shape, multiples = node.shape(0), node.known_vector(1)
    if multiples is None:
        tiled_shape(shape, [1] * node.shape(1)[0])
    return _known(lambda counts: tiled_shape(shape, counts), len(shape), multiples)


def _broadcast_to_shapes(node: Node) -> Sequence[Shape]:
    x, sizes = hollow(node.shape(0)), node.known_vector(1)
    return _known(lambda sizes: broadcast_to(x, sizes).shape, node.shape(1)[0], sizes)


def _reverse_shapes(node: Node) -> Sequence[Shape]:
    axes = node.known_vector(1)
    if axes is not None:
        reverse(hollow(node.shape(0)), axes)
    return [node.shape(0)]


def _gather_nd_shapes(node: Node) -> Sequence[Shape]:
    return [gathered_nd_shape(node.shape(0), node.shape(1))]


def _scatter_nd_shapes(node: Node) -> Sequence[Shape]:
    shapes, sizes = (node.shape(0), node.shape(1)), node.known_vector(2)
    return _known(lambda sizes: scattered_shape(*shapes, sizes), node.shape(2)[0], sizes)


def _update_shapes(node: Node) -> Sequence[Shape]:
    starts = node.shape(2)
    check_update(node.shape(0), node.shape(1), starts[0] if len(starts) == 1 else 0)
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


def masks_of(operator: Operator) -> Masks:
    """Return the masks that the options of STRIDED_SLICE hold."""
    names = ("begin", "end", "ellipsis", "new_axis", "shrink_axis")
    masks = {name: operator.options[f"{name}_mask"] for name in names}
    return Masks(**masks, offset=operator.options["offset"])


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
    return [strided_slice(x, begin, end, strides, masks_of(node.operator)).shape]


def _gather_shapes(node: Node) -> Sequence[Shape]:
    options = node.options
    arguments = (node.shape(0), node.shape(1), options["axis"], options["batch_dims"])
    return [gathered_shape(*arguments, node.known(1))]


def reader(*kinds: str) -> Callable[[OperatorCall], Arguments]:
    """Return what reads the inputs in order, each by a method of the call."""
    return lambda call: Arguments(*(getattr(call, kind)(i) for i, kind in enumerate(kinds)))


def _reshape_arguments(call: OperatorCall) -> Arguments:
    shape = call.vector(1) if reshape_operand(call) else reshape_option(call.operator)
    return Arguments(call.codes(0), shape)


def _squeeze_arguments(call: OperatorCall) -> Arguments:
    return Arguments(call.codes(0), call.options["squeeze_dims"])


def _expand_dims_arguments(call: OperatorCall) -> Arguments:
    return Arguments(
        call.codes(0),
        call.integer(1),
        input_quantization=call.quantization_if_any(0),
        output_quantization=call.every_quantization()[-1],
    )


def _pad_arguments(call: OperatorCall) -> Arguments:
    call.quantization(0)  # where it has none, LiteRT fills with 0 and not with the zero point
    return Arguments(
        call.codes(0),
        call.array(1),
        output_quantization=call.output_quantization(),
    )


def _mirror_pad_arguments(call: OperatorCall) -> Arguments:
    return Arguments(
        call.codes(0),
        call.array(1),
        call.options["mode"],
        quantizations=call.every_quantization()[::2],
    )


def _padv2_arguments(call: OperatorCall) -> Arguments:
    return Arguments(
        call.codes(0),
        call.array(1),
        call.codes(2),
        value_quantization=call.quantization(2),
        output_quantization=call.output_quantization(),
    )


def _strided_slice_arguments(call: OperatorCall) -> Arguments:
    entries = [call.vector(position) for position in (1, 2, 3)]
    return Arguments(call.codes(0), *entries, masks=masks_of(call.operator))


def _gather_arguments(call: OperatorCall) -> Arguments:
    return Arguments(call.codes(0), call.array(1), call.options["axis"], call.options["batch_dims"])


def _shape_arguments(call: OperatorCall) -> Arguments:
    return Arguments(call.array(0), dtype=call.output.dtype.type)


BASE = 128
"""The base of the digits that number the elements: an int8 holds one."""


def explain_copy(
    definition: Definition, call: OperatorCall, output: int, index: Index
) -> list[str]:
    """Return where the element comes from, or that it is a fill.

    The operator itself tells: it copies the numbers of the elements, digit by digit, in place of
    the codes. A second time all digits are replaced by their complements: what has not changed
    with them is a fill.
    """
    positions = _copied(definition, call)
    arrays = [call.codes(position) for position in positions]
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
            seen.append(int(definition.run(_replaced(call, positions[0], planes))[output][index]))
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


def _replaced(call: OperatorCall, first: int, planes: list[np.ndarray]) -> OperatorCall:
    return call.substituted(*map(call.array, range(first)), *planes)


def _explain_scatter(
    definition: Definition, call: OperatorCall, output: int, index: Index
) -> list[str]:
    """Return the updates of the element, and their sum."""
    indices, updates = call.array(0), call.array(1)
    count = indices.shape[-1]
    found = np.argwhere(np.all(indices == np.array(index[:count]), axis=-1)).tolist()
    places = [(*each, *index[count:]) for each in found]
    terms = [f"update {[*map(int, p)]} of {call.input(1)} = {int(updates[p])}" for p in places]
    total = int(definition.run(call)[output][index])
    return [*terms, f"sum of {len(terms)} updates, which wraps around = {total}"]


def _prepare_reshape(definition: Definition, call: OperatorCall) -> Function | None:
    if call.is_constant(0) or call.is_computed(1):
        return None
    (result,) = definition.run(call)
    return lambda x: x.reshape(result.shape)


def _explain_shape(
    definition: Definition, call: OperatorCall, output: int, index: Index
) -> list[str]:
    sizes = list(call.array(0).shape)
    return [f"size {index[0]} of the shape {sizes} of {call.input(0)} = {sizes[index[0]]}"]


UNPREPARED = Without("a copy takes as long with its places known")


def _copy(
    golden: Function,
    arguments: Callable[[OperatorCall], Arguments],
    shapes: Shapes,
    operands: tuple[Operand, ...],
    *,
    stacks: Stacks | Without,
    explain: Explain = explain_copy,
    prepare: Prepare | Without = UNPREPARED,
    **fields: Any,
) -> Definition:
    """Return the record of a copy."""
    return Definition(
        shapes=shapes,
        operands=operands,
        golden=golden,
        arguments=arguments,
        explain=explain,
        stacks=stacks,
        prepare=prepare,
        **{"empty": True, **fields},
    )


def _block(golden: Callable[[np.ndarray, int], np.ndarray], **spec: Any) -> Definition:
    def shapes(node: Node) -> Sequence[Shape]:
        return [golden(hollow(node.shape(0)), node.options["block_size"]).shape]

    def arguments(call: OperatorCall) -> Arguments:
        return Arguments(call.codes(0), call.options["block_size"])

    return _copy(golden, arguments, shapes, (INT8,), stacks=IMAGES, **spec)


def _batches(
    golden: Function,
    shape_of: Callable[[tuple[int, ...], Sequence[int], np.ndarray], tuple[int, ...]],
    number: int,
    *,
    variants: bool = False,
) -> Definition:
    def shapes(node: Node) -> Sequence[Shape]:
        shape = node.shape(0)
        return _known(partial(shape_of, shape), len(shape), node.known_vector(1), node.known(2))

    def arguments(call: OperatorCall) -> Arguments:
        return Arguments(
            call.codes(0),
            call.vector(1),
            call.array(2),
            input_quantization=call.quantization(0),
            output_quantization=call.output_quantization(),
            **({"reference": call.reference} if variants else {}),
        )

    return _copy(
        golden,
        arguments,
        shapes,
        (INT8, INT32, INT32),
        stacks=Without("it moves elements between the slices along axis 0"),
        spec=SpecEntry(number, same=True),
    )


def _copied_whole(node: Node) -> Sequence[Shape]:
    return [node.shape(0)]


def _whole_arguments(call: OperatorCall) -> Arguments:
    return Arguments(call.codes(0))


# The graph has the handle no more: `eightfold.model.variables`.
_VARIABLE = _copy(
    movement.copy,
    _whole_arguments,
    _copied_whole,
    (COPIED,),
    stacks=Without("each inference begins with what the one before has left"),
)

_POSITIONS = Without("its positions count along the axis 0 of one inference")

MOVEMENT: dict[str, Definition] = {
    "ASSIGN_VARIABLE": _VARIABLE,
    "BATCH_TO_SPACE_ND": _batches(blocks.batch_to_space_nd, batch_to_space_shape, 18),
    "BROADCAST_TO": _copy(
        broadcast_to,
        reader("codes", "vector"),
        _broadcast_to_shapes,
        (COPIED, INDEX),
        stacks=Without("its sizes count the axis 0 of one inference"),
    ),
    "DEPTH_TO_SPACE": _block(blocks.depth_to_space),
    "DYNAMIC_UPDATE_SLICE": _copy(
        indexing.dynamic_update_slice,
        reader("codes", "codes", "vector"),
        _update_shapes,
        (COPIED, COPIED, INDEX),
        alike=True,
        stacks=_POSITIONS,
    ),
    "EXPAND_DIMS": _copy(
        expand_dims,
        _expand_dims_arguments,
        _expand_dims_shapes,
        (COPIED, INDEX),
        stacks=SHAPES,
    ),
    "GATHER": _copy(
        indexing.gather,
        _gather_arguments,
        _gather_shapes,
        (COPIED, Operand(("int16", "int32", "int64"), values=False)),
        stacks=_POSITIONS,
        spec=SpecEntry(17, same=True),
    ),
    "GATHER_ND": _copy(
        indexing.gather_nd,
        reader("codes", "array"),
        _gather_nd_shapes,
        (COPIED, Operand(("int16", "int32", "int64"), values=False)),
        empty=False,  # LiteRT refuses to pick from nothing
        stacks=_POSITIONS,
    ),
    "MIRROR_PAD": _copy(
        movement.mirror_pad,
        _mirror_pad_arguments,
        _mirror_pad_shapes,
        (INT8, INDEX),
        stacks=PADDED,
    ),
    "PAD": _copy(
        movement.pad,
        _pad_arguments,
        _pad_shapes,
        (INT8, INDEX),
        stacks=PADDED,
        spec=SpecEntry(16, same=True),
    ),
    "PADV2": _copy(
        movement.padv2,
        _padv2_arguments,
        _padv2_shapes,
        (INT8, INDEX, Operand(listed=OTHER_INT8)),
        alike=True,
        stacks=PADDED,
        spec=SpecEntry(30, same=True),
    ),
    "READ_VARIABLE": _VARIABLE,
    "RESHAPE": _copy(
        reshape,
        _reshape_arguments,
        _reshape_shapes,
        (
            COPIED,
            # What is no int32 vector does not count: see `reshape_operand`.
            Operand((), values=False, optional=True, listed=unquantized("int32", optional=True)),
        ),
        stacks=SHAPES,
        prepare=_prepare_reshape,
        spec=SpecEntry(11, same=True),
    ),
    "REVERSE_V2": _copy(
        reverse,
        reader("codes", "vector"),
        _reverse_shapes,
        (COPIED, INT32),
        stacks=AXES_BEHIND,
    ),
    "SCATTER_ND": _copy(
        indexing.scatter_nd,
        reader("array", "codes", "vector"),
        _scatter_nd_shapes,
        (INT32, COPIED, INT32),
        explain=_explain_scatter,
        stacks=Without("its sizes count the axis 0 of one inference"),
    ),
    "SHAPE": _copy(
        movement.shape,
        _shape_arguments,
        _shape_shapes,
        (Operand(()),),
        dtype_option="out_type",
        explain=_explain_shape,
        stacks=Without("its result has the size of axis 0"),
        spec=SpecEntry(37),
    ),
    "SLICE": _copy(
        indexing.slice,
        reader("codes", "vector", "vector"),
        _slice_shapes,
        (COPIED, INDEX, INDEX),
        stacks=_POSITIONS,
        spec=SpecEntry(34, same=True),
    ),
    "SPACE_TO_BATCH_ND": _batches(
        blocks.space_to_batch_nd, space_to_batch_shape, 19, variants=True
    ),
    "SPACE_TO_DEPTH": _block(blocks.space_to_depth, spec=SpecEntry(14, same=True)),
    "SQUEEZE": _copy(
        squeeze,
        _squeeze_arguments,
        _squeeze_shapes,
        (COPIED,),
        stacks=SHAPES,
        spec=SpecEntry(24, same=True),
    ),
    "STRIDED_SLICE": _copy(
        strided_slice,
        _strided_slice_arguments,
        _strided_slice_shapes,
        (COPIED, INT32, INT32, INT32),
        stacks=_POSITIONS,
    ),
    "TILE": _copy(
        movement.tile,
        reader("codes", "vector"),
        _tile_shapes,
        (COPIED, INDEX),
        stacks=Without("it may repeat the inferences along axis 0"),
    ),
    "TRANSPOSE": _copy(
        transpose,
        reader("codes", "vector"),
        _transpose_shapes,
        # Of a scalar the kernel reads beyond the permutation, and ends.
        (replace(COPIED, ranks=(1, 32)), INT32),
        stacks=FIRST_STAYS,
        spec=SpecEntry(20, same=True),
    ),
}
"""Operators that move elements."""
