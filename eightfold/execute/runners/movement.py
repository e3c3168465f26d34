"""Rows of the operators that copy codes; most also work on the integers of shapes."""

from collections.abc import Callable

import numpy as np

from eightfold.execute.call import OperatorCall
from eightfold.execute.runners import stacks
from eightfold.execute.runners.runner import Arguments, Runner
from eightfold.golden import blocks, indexing, joining, movement, resize
from eightfold.model.prepare.movement import masks_of, reshape_operand, reshape_option


def _inputs(call: OperatorCall) -> list[np.ndarray]:
    return [call.codes(position) for position in range(len(call.inputs))]


def _concatenation(call: OperatorCall) -> Arguments:
    return Arguments(
        _inputs(call),
        call.options["axis"],
        quantizations=call.every_quantization(),
        activation=call.activation(),
    )


def _pack(call: OperatorCall) -> Arguments:
    quantizations = call.every_quantization()
    return Arguments(_inputs(call), call.options["axis"], quantizations=quantizations)


def _split(call: OperatorCall) -> Arguments:
    return Arguments(call.codes(1), call.integer(0), len(call.outputs))


def _unpack(call: OperatorCall) -> Arguments:
    quantizations = call.every_quantization()
    axis, count = call.options["axis"], len(call.outputs)
    return Arguments(call.codes(0), axis, count, quantizations=quantizations)


def _reshape(call: OperatorCall) -> Arguments:
    shape = call.vector(1) if reshape_operand(call) else reshape_option(call.operator)
    return Arguments(call.codes(0), shape)


def _prepare_reshape(call: OperatorCall) -> Callable[..., np.ndarray] | None:
    if call.is_constant(0) or call.is_computed(1):
        return None
    (result,) = RESHAPE.run(call)
    return lambda x: x.reshape(result.shape)


RESHAPE = Runner(
    golden=movement.reshape,
    arguments=_reshape,
    stacks=stacks.SHAPES,
    prepare=_prepare_reshape,
)


def _squeeze(call: OperatorCall) -> Arguments:
    return Arguments(call.codes(0), call.options["squeeze_dims"])


def _expand_dims(call: OperatorCall) -> Arguments:
    return Arguments(
        call.codes(0),
        call.integer(1),
        input_quantization=call.quantization_if_any(0),
        output_quantization=call.every_quantization()[-1],
    )


def _pad(call: OperatorCall) -> Arguments:
    call.quantization(0)  # where it has none, LiteRT fills with 0 and not with the zero point
    return Arguments(
        call.codes(0),
        call.array(1),
        output_quantization=call.output_quantization(),
    )


def _padv2(call: OperatorCall) -> Arguments:
    return Arguments(
        call.codes(0),
        call.array(1),
        call.codes(2),
        value_quantization=call.quantization(2),
        output_quantization=call.output_quantization(),
    )


def _strided_slice(call: OperatorCall) -> Arguments:
    entries = [call.vector(position) for position in (1, 2, 3)]
    return Arguments(call.codes(0), *entries, masks=masks_of(call.operator))


def _slice(call: OperatorCall) -> Arguments:
    return Arguments(call.codes(0), call.vector(1), call.vector(2))


def _gather(call: OperatorCall) -> Arguments:
    return Arguments(call.codes(0), call.array(1), call.options["axis"], call.options["batch_dims"])


def _transpose(call: OperatorCall) -> Arguments:
    return Arguments(call.codes(0), call.vector(1))


def _shape(call: OperatorCall) -> Arguments:
    return Arguments(call.array(0), dtype=call.output.dtype.type)


def _block(golden: Callable[..., np.ndarray]) -> Runner:
    return Runner(
        golden=golden,
        arguments=lambda call: Arguments(call.codes(0), call.options["block_size"]),
        stacks=stacks.IMAGES,
    )


def _batches(golden: Callable[..., np.ndarray], *, variants: bool) -> Runner:
    def arguments(call: OperatorCall) -> Arguments:
        return Arguments(
            call.codes(0),
            call.vector(1),
            call.array(2),
            input_quantization=call.quantization(0),
            output_quantization=call.output_quantization(),
            **({"reference": call.reference} if variants else {}),
        )

    return Runner(golden=golden, arguments=arguments, stacks=None)


def _resize(golden: Callable[..., np.ndarray]) -> Runner:
    def arguments(call: OperatorCall) -> Arguments:
        return Arguments(
            call.codes(0),
            call.vector(1),
            align_corners=call.options["align_corners"],
            half_pixel_centers=call.options["half_pixel_centers"],
        )

    return Runner(golden=golden, arguments=arguments, stacks=stacks.IMAGES)


MOVEMENT: dict[str, Runner] = {
    "BATCH_TO_SPACE_ND": _batches(blocks.batch_to_space_nd, variants=False),
    "CONCATENATION": Runner(
        golden=joining.concatenation, arguments=_concatenation, stacks=stacks.JOINED_BEHIND
    ),
    "DEPTH_TO_SPACE": _block(blocks.depth_to_space),
    "EXPAND_DIMS": Runner(
        golden=movement.expand_dims, arguments=_expand_dims, stacks=stacks.SHAPES
    ),
    "GATHER": Runner(golden=indexing.gather, arguments=_gather, stacks=None),
    "PACK": Runner(golden=joining.pack, arguments=_pack, stacks=None),
    "PAD": Runner(golden=movement.pad, arguments=_pad, stacks=stacks.PADDED),
    "PADV2": Runner(golden=movement.padv2, arguments=_padv2, stacks=stacks.PADDED),
    "RESHAPE": RESHAPE,
    "RESIZE_BILINEAR": _resize(resize.resize_bilinear),
    "RESIZE_NEAREST_NEIGHBOR": _resize(resize.resize_nearest_neighbor),
    "SHAPE": Runner(golden=movement.shape, arguments=_shape, stacks=None),
    "SLICE": Runner(golden=indexing.slice, arguments=_slice, stacks=None),
    "SPACE_TO_BATCH_ND": _batches(blocks.space_to_batch_nd, variants=True),
    "SPACE_TO_DEPTH": _block(blocks.space_to_depth),
    "SPLIT": Runner(golden=joining.split, arguments=_split, stacks=None),
    "SQUEEZE": Runner(golden=movement.squeeze, arguments=_squeeze, stacks=stacks.SHAPES),
    "STRIDED_SLICE": Runner(golden=indexing.strided_slice, arguments=_strided_slice, stacks=None),
    "TRANSPOSE": Runner(golden=movement.transpose, arguments=_transpose, stacks=stacks.FIRST_STAYS),
    "UNPACK": Runner(golden=joining.unpack, arguments=_unpack, stacks=None),
}
"""Operators that move codes, and the two that interpolate between pixels."""
