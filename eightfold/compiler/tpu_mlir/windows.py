"""TPU-MLIR's Convolution, InnerProduct and AvgPool as steps of the matrix engine."""

from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eightfold.common.errors import InputError
from eightfold.compiler.steps.axis import Axis
from eightfold.compiler.steps.channelwise import DepthwiseConvolution
from eightfold.compiler.steps.convolution import Convolution, widened
from eightfold.compiler.tpu_mlir.lower import per_channel
from eightfold.compiler.tpu_mlir.pool import pool
from eightfold.compiler.tpu_mlir.step_list import Operand, Shape, StepList
from eightfold.golden.tpu_mlir.windows import NO_PADS, Pads, Pair
from eightfold.golden.windows import Window
from eightfold.target.config import AcceleratorConfig


def convolution(
    steps: StepList,
    config: AcceleratorConfig,
    source: Operand,
    weights: NDArray[np.int8],
    bias: ArrayLike | None,
    fields: Mapping[str, Any],
    *,
    input_zero_point: int = 0,
    stride: Pair = (1, 1),
    dilation: Pair = (1, 1),
    pads: Pads = NO_PADS,
) -> Shape:
    """Add a Convolution of NHWC with a filter OIHW; return the result's shape."""
    _check_int8("the filter", weights)
    if weights.ndim != 4:
        raise InputError(f"the filter has the shape {weights.shape}; it needs rank 4, OIHW")
    outputs, depth, height, width = weights.shape
    window = Window((height, width), stride, dilation)
    geometry = _geometry(source, window, pads, input_zero_point, outputs)
    inputs = geometry["source_shape"][3]
    if inputs % depth or outputs % (inputs // depth):
        raise InputError(f"a filter of the shape {weights.shape} does not fit {inputs} channels")
    target = steps.temporary(prod(geometry["target_shape"]))
    common = geometry | {"target": target, "parameters": _parameters(fields, outputs, bias)}
    if depth == 1 < inputs == outputs:
        taps = np.asarray(weights[:, 0].transpose(1, 2, 0), order="C")
        steps.steps.append(DepthwiseConvolution(**common, weights=taps))
    else:
        taps = np.asarray(weights.transpose(0, 2, 3, 1), order="C")
        steps.steps.append(widened(Convolution(**common, weights=taps), config))
    return geometry["target_shape"]


def inner_product(
    steps: StepList,
    source: Operand,
    weights: NDArray[np.int8],
    bias: ArrayLike | None,
    fields: Mapping[str, Any],
) -> Shape:
    """Add an InnerProduct of (n, k) with weights (oc, k); return the result's shape."""
    tensor, shape = source
    _check_int8("the weights", weights)
    if len(shape) != 2 or weights.ndim != 2 or shape[1] != weights.shape[1]:
        raise InputError(f"weights of the shape {weights.shape} do not fit an input of {shape}")
    rows, size = shape
    outputs = len(weights)
    product = Convolution(
        source=tensor,
        target=steps.temporary(rows * outputs),
        source_shape=(1, 1, rows, size),
        target_shape=(1, 1, rows, outputs),
        rows=Axis(size=1, outputs=1),
        columns=Axis(size=rows, outputs=rows),
        weights=weights.reshape(outputs, 1, 1, size),
        parameters=_parameters(fields, outputs, bias),
        fill=0,
    )
    steps.steps.append(product)
    return rows, outputs


def avg_pool(
    steps: StepList,
    source: Operand,
    *,
    kernel: Pair,
    scale: float | np.float32,
    offset: float | np.float32,
    stride: Pair = (1, 1),
    pads: Pads = NO_PADS,
    input_zero_point: int = 0,
    rounding: str = "half_away",
) -> Shape:
    """Add an AvgPool of NHWC; return the result's shape."""
    depth = source[1][-1]
    geometry = _geometry(source, Window(kernel, stride), pads, input_zero_point, depth)
    shape = geometry["target_shape"]
    found = pool(kernel, float(scale), float(offset), rounding)

    def sums(parameters: Mapping[str, int]) -> Operand:
        target = steps.temporary(prod(shape))
        step = DepthwiseConvolution(
            **geometry,
            target=target,
            weights=np.full((*kernel, depth), found.weight, dtype=np.int8),
            parameters={name: np.full(depth, value) for name, value in parameters.items()},
        )
        steps.steps.append(step)
        return target, shape

    if found.parameters is not None:
        return sums(found.parameters)[1]
    total: Operand | None = None
    for part in found.parts:
        part_sum = steps.two_bytes(part.function, sums(part.high), sums(part.low), shape)
        total = part_sum if total is None else steps.pointwise(part.join, (total, part_sum), shape)
    return shape


def _check_int8(name: str, weights: NDArray[np.int8]) -> None:
    if weights.dtype != np.int8:
        raise InputError(f"{name} must be int8, not {weights.dtype}")


def _parameters(
    fields: Mapping[str, Any], outputs: int, bias: ArrayLike | None
) -> dict[str, NDArray[np.int64]]:
    """Return the requantization of each output channel."""
    return per_channel(fields if bias is None else {**fields, "bias": bias}, outputs)


def _geometry(
    source: Operand, window: Window, pads: Pads, fill: int, outputs: int
) -> dict[str, Any]:
    """Return the fields of a step, but for its weights, parameters and target."""
    tensor, shape = source
    if len(shape) != 4:
        raise InputError(f"the input has the shape {shape}; it needs rank 4, NHWC")
    if not -128 <= fill <= 127 or min(*pads[0], *pads[1]) < 0:
        raise InputError(f"padding {pads} with {fill} does not exist")
    axes = [
        Axis(
            size=shape[1 + i],
            kernel=window.kernel[i],
            stride=window.stride[i],
            dilation=window.dilation[i],
            before=pads[i][0],
            outputs=window.output_size(i, shape[1 + i] + sum(pads[i])),
        )
        for i in range(2)
    ]
    return {
        "source": tensor,
        "source_shape": shape,
        "target_shape": (shape[0], axes[0].outputs, axes[1].outputs, outputs),
        "rows": axes[0],
        "columns": axes[1],
        "fill": fill,
    }
