"""Rows of the operators that copy codes; most also work on the integers of shapes."""

from collections.abc import Callable

import numpy as np

from eightfold.errors import InputError
from eightfold.execute.call import OperatorCall
from eightfold.execute.runners import stacks
from eightfold.execute.runners.runner import Arguments, Results, Runner
from eightfold.execute.runners.stacks import Stacks
from eightfold.golden import blocks, indexing, joining, movement, resize
from eightfold.golden.errors import UndefinedError

_INDEX = (np.int32, np.int64)
_COPIED = (np.int8, np.int32, np.int64)


def _inputs(call: OperatorCall) -> list[np.ndarray]:
    arrays = [call.copied(position) for position in range(len(call.inputs))]
    if not arrays:
        raise InputError("has no inputs")
    return arrays


def _concatenation(call: OperatorCall) -> Arguments:
    return Arguments(
        _inputs(call),
        call.options["axis"],
        quantizations=call.every_quantization(),
        activation=call.activation(),
    )


def _pack(call: OperatorCall) -> Arguments:
    arrays = _inputs(call)
    count = call.options["values_count"]
    if len(arrays) != count:
        raise InputError(f"has {len(arrays)} inputs, but values_count {count}")
    return Arguments(arrays, call.options["axis"], quantizations=call.every_quantization())


def _split(call: OperatorCall) -> Arguments:
    x = call.copied(1)
    count = call.options["num_splits"]
    _check_count(call, count, "num_splits")
    return Arguments(x, call.integer(0, np.int32), count)


def _unpack(call: OperatorCall) -> Arguments:
    x = call.copied(0)
    count = call.options["num"]
    _check_count(call, count, "num")
    return Arguments(x, call.options["axis"], count, quantizations=call.every_quantization())


def _check_count(call: OperatorCall, count: int, option: str) -> None:
    if len(call.outputs) != count:
        raise InputError(f"has {len(call.outputs)} outputs, but {option} {count}")


def _reshape(call: OperatorCall) -> Arguments:
    # A second input counts instead of the option, but only as an int32 vector.
    given = call.optional(1)
    if given is not None and given.ndim == 1 and given.dtype == np.int32:
        return Arguments(call.copied(0), given.tolist())
    shape = list(call.options["new_shape"])
    # Old converters wrote the shape of a scalar as [0].
    return Arguments(call.copied(0), [] if shape == [0] else shape)


def _prepare_reshape(call: OperatorCall) -> Callable[..., np.ndarray] | None:
    if call.is_constant(0) or call.is_computed(1):
        return None
    (result,) = RESHAPE.run(call)
    return lambda x: x.reshape(result.shape)


RESHAPE = Runner(
    golden=movement.reshape,
    arguments=_reshape,
    stacks=stacks.SHAPES,
    outputs=_COPIED,
    prepare=_prepare_reshape,
)


def _squeeze(call: OperatorCall) -> Arguments:
    return Arguments(call.copied(0), call.options["squeeze_dims"])


def _expand_dims(call: OperatorCall) -> Arguments:
    return Arguments(
        call.copied(0),
        call.integer(1, *_INDEX),
        input_quantization=call.quantization_if_any(0),
        output_quantization=call.every_quantization()[-1],
    )


def _pad(call: OperatorCall) -> Arguments:
    return Arguments(
        call.int8(0),
        call.integers(1, *_INDEX),
        output_quantization=call.output_quantization(),
    )


def _padv2(call: OperatorCall) -> Arguments:
    return Arguments(
        call.int8(0),
        call.integers(1, *_INDEX),
        call.int8(2),
        value_quantization=call.quantization(2),
        output_quantization=call.output_quantization(),
    )


def _strided_slice(call: OperatorCall) -> Arguments:
    options = call.options
    if options["offset"] and call.is_constant(3) and not call.is_constant(2):
        raise UndefinedError(
            "LiteRT ends if end counts from begin and is computed, strides are not"
        )
    masks = {name: options[f"{name}_mask"] for name in ("begin", "end", "ellipsis", "new_axis")}
    return Arguments(
        call.copied(0),
        *(call.vector(position, np.int32) for position in (1, 2, 3)),
        masks=indexing.Masks(
            **masks, shrink_axis=options["shrink_axis_mask"], offset=options["offset"]
        ),
    )


def _slice(call: OperatorCall) -> Arguments:
    return Arguments(call.copied(0), call.vector(1, *_INDEX), call.vector(2, *_INDEX))


def _gather(call: OperatorCall) -> Arguments:
    indices = call.integers(1, np.int16, *_INDEX)
    return Arguments(call.copied(0), indices, call.options["axis"], call.options["batch_dims"])


def _transpose(call: OperatorCall) -> Arguments:
    return Arguments(call.copied(0), call.vector(1, np.int32))


def _shape(call: OperatorCall) -> Arguments:
    return Arguments(call.array(0), dtype=call.option_dtype("out_type"))


def _copy(
    golden: Callable[..., Results],
    arguments: Callable[[OperatorCall], Arguments],
    *,
    stacks: Stacks | None,
    several: bool = False,
) -> Runner:
    """Return the row of what copies elements of any of the types that shapes and indices have."""
    return Runner(
        golden=golden, arguments=arguments, stacks=stacks, outputs=_COPIED, several=several
    )


def _block(golden: Callable[..., np.ndarray]) -> Runner:
    return Runner(
        golden=golden,
        arguments=lambda call: Arguments(call.int8(0), call.options["block_size"]),
        stacks=stacks.IMAGES,
    )


def _batches(golden: Callable[..., np.ndarray], *, variants: bool) -> Runner:
    def arguments(call: OperatorCall) -> Arguments:
        return Arguments(
            call.int8(0),
            call.vector(1, np.int32),
            call.integers(2, np.int32),
            input_quantization=call.quantization(0),
            output_quantization=call.output_quantization(),
            **({"reference": call.reference} if variants else {}),
        )

    return Runner(golden=golden, arguments=arguments, stacks=None)


def _resize(golden: Callable[..., np.ndarray]) -> Runner:
    def arguments(call: OperatorCall) -> Arguments:
        return Arguments(
            call.int8(0),
            call.vector(1, np.int32),
            align_corners=call.options["align_corners"],
            half_pixel_centers=call.options["half_pixel_centers"],
        )

    return Runner(golden=golden, arguments=arguments, stacks=stacks.IMAGES)


MOVEMENT: dict[str, Runner] = {
    "BATCH_TO_SPACE_ND": _batches(blocks.batch_to_space_nd, variants=False),
    "CONCATENATION": _copy(joining.concatenation, _concatenation, stacks=stacks.JOINED_BEHIND),
    "DEPTH_TO_SPACE": _block(blocks.depth_to_space),
    "EXPAND_DIMS": _copy(movement.expand_dims, _expand_dims, stacks=stacks.SHAPES),
    "GATHER": _copy(indexing.gather, _gather, stacks=None),
    "PACK": _copy(joining.pack, _pack, stacks=None),
    "PAD": Runner(golden=movement.pad, arguments=_pad, stacks=stacks.PADDED),
    "PADV2": Runner(golden=movement.padv2, arguments=_padv2, stacks=stacks.PADDED),
    "RESHAPE": RESHAPE,
    "RESIZE_BILINEAR": _resize(resize.resize_bilinear),
    "RESIZE_NEAREST_NEIGHBOR": _resize(resize.resize_nearest_neighbor),
    "SHAPE": Runner(golden=movement.shape, arguments=_shape, stacks=None, outputs=_INDEX),
    "SLICE": _copy(indexing.slice, _slice, stacks=None),
    "SPACE_TO_BATCH_ND": _batches(blocks.space_to_batch_nd, variants=True),
    "SPACE_TO_DEPTH": _block(blocks.space_to_depth),
    "SPLIT": _copy(joining.split, _split, stacks=None, several=True),
    "SQUEEZE": _copy(movement.squeeze, _squeeze, stacks=stacks.SHAPES),
    "STRIDED_SLICE": _copy(indexing.strided_slice, _strided_slice, stacks=None),
    "TRANSPOSE": _copy(movement.transpose, _transpose, stacks=stacks.FIRST_STAYS),
    "UNPACK": _copy(joining.unpack, _unpack, stacks=None, several=True),
}
"""Operators that move codes, and the two that interpolate between pixels."""
