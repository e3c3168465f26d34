"""Operators with weights: convolutions, FULLY_CONNECTED, and BATCH_MATMUL, which may compute them.

Each is a sum of products, to which the bias is added, scaled by the multiplier of its channel, with
a zero point, clamped.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eightfold.golden import convolution
from eightfold.golden.errors import RejectedError
from eightfold.golden.fixed_point import wrap32
from eightfold.golden.fully_connected import (
    batch_matmul,
    batch_matmul_shape,
    fully_connected,
    fully_connected_shape,
    integer_multipliers,
    product_multipliers,
    scale_in_double,
)
from eightfold.golden.prepared import (
    prepare_conv_2d,
    prepare_depthwise_conv_2d,
    prepare_fully_connected,
)
from eightfold.golden.quantization import FUSED_ACTIVATIONS, effective_scales, fused_bounds
from eightfold.golden.steps import Step, step_lines
from eightfold.golden.transposed_convolution import check_shapes, transpose_conv
from eightfold.golden.windows import Window
from eightfold.operators.call import Node, OperatorCall
from eightfold.operators.definition import (
    WORK,
    Definition,
    Element,
    Function,
    Index,
    Operand,
    Shape,
    Shapes,
    Without,
    named_arguments,
    quantization,
)
from eightfold.operators.lines import SHOWN, Lines, own_index, total, values_text
from eightfold.operators.rules import (
    INT32_RANGE,
    WEIGHT_RANGE,
    Granularity,
    Restriction,
    Role,
    SpecEntry,
    TensorRule,
)
from eightfold.operators.stacks import IMAGES, MATRICES, WHOLE_ROWS

_MOST = 2**15 - 1
"""The most that LiteRT's 16 bits hold of a stride, dilation or padding."""


def _check_steps(window: Window) -> None:
    """Refuse strides and dilations that LiteRT does not take for operators with a filter."""
    for name in ("stride", "dilation"):
        if max(getattr(window, name)) > _MOST:
            raise RejectedError(f"{name} {getattr(window, name)} is above {_MOST}")


def check_padding(window: Window, shape: tuple[int, ...]) -> None:
    """Refuse windows that reach too far beyond an image of ``shape``."""
    for axis, direction in enumerate(("vertical", "horizontal")):
        if (padding := window.pads(axis, shape[1 + axis])[0]) > _MOST:
            raise RejectedError(f"the {direction} padding {padding} is above {_MOST}")


def _check_bias(node: Node, position: int, outputs: int) -> None:
    """Refuse a bias that has not one element per output channel, whatever its rank is."""
    bias = node.tensor(position)
    if bias is not None:
        convolution.check_bias(np.dtype(np.int32), prod(bias.shape), outputs)


def _convolution_shapes(
    shape_of: Callable[[tuple[int, ...], tuple[int, ...], Window], tuple[int, ...]],
    *,
    needs_bias: bool,
) -> Shapes:
    def shapes(node: Node) -> Sequence[Shape]:
        if needs_bias and node.input(0).dtype == np.int8 and node.tensor(2) is None:
            raise RejectedError(f"{node.operator.name} needs a bias")
        window = node.filter_window()
        _check_steps(window)
        shape = shape_of(node.shape(0), node.shape(1), window)
        check_padding(window, node.shape(0))
        _check_bias(node, 2, shape[3])
        return [shape]

    return shapes


def _fully_connected_shapes(node: Node) -> Sequence[Shape]:
    if node.options["weights_format"] != "DEFAULT":
        raise RejectedError(f"weights_format must be DEFAULT, not {node.options['weights_format']}")
    shape = fully_connected_shape(node.shape(0), node.shape(1), node.options["keep_num_dims"])
    _check_bias(node, 2, shape[-1])
    return [shape]


def _batch_matmul_shapes(node: Node) -> Sequence[Shape]:
    adjoints = node.options["adj_x"], node.options["adj_y"]
    return [batch_matmul_shape(node.shape(0), node.shape(1), *adjoints)]


def _transpose_conv_shapes(node: Node) -> Sequence[Shape]:
    sizes = node.known_vector(0)
    window = node.filter_window()
    _check_steps(window)
    _check_bias(node, 3, node.shape(1)[0])
    if sizes is None:
        return [(None,) * node.shape(0)[0]]
    check_shapes(node.shape(2), node.shape(1), sizes, window)
    return [tuple(sizes)]


def _window_work(node: Node) -> int:
    """Count the taps of every window at once, as float64 and in two orders; and what is summed."""
    taps = prod(node.output.shape[:3]) * prod(node.shape(1)[1:])
    return 16 * taps + WORK * prod(node.output.shape)


def _rows_work(node: Node) -> int:
    """Count input and filter as float64, and what is summed."""
    return 16 * (prod(node.shape(0)) + prod(node.shape(1))) + WORK * prod(node.output.shape)


def _filter_macs(call: OperatorCall) -> int:
    """Count output elements times the taps of a filter (output channels, ...)."""
    return prod(call.output.shape) * prod(call.input(1).shape[1:])


def _batch_matmul_macs(call: OperatorCall) -> int:
    """Count output elements times k, which the first operand's matrix has besides its rows."""
    return prod(call.output.shape) * prod(call.input(0).shape[-2:]) // call.output.shape[-2]


def _depthwise_macs(call: OperatorCall) -> int:
    """Count output elements times height and width of a kernel (1, height, width, channels)."""
    return prod(call.output.shape) * prod(call.input(1).shape[1:3])


def _transposed_macs(call: OperatorCall) -> int:
    """Count input elements times the taps of a filter per input channel, its last axis."""
    return prod(call.input(2).shape) * prod(call.input(1).shape[:3])


FEW = 8
"""Products that a line writes out."""


_Tap = tuple[str, NDArray[np.int64], NDArray[np.int64]]
"""Some products of the sum: which elements of input and filter they are of, and those elements."""


@dataclass(frozen=True)
class _Sum:
    """What is special about an operator; ``x``, ``bias``: their positions, the filter's is 1."""

    taps: Callable[[OperatorCall, Index], Iterator[_Tap]]
    x: int = 0
    bias: int = 2
    weight_zero_point: bool = False

    def explain(self, element: Element) -> list[str]:
        """Return the lines of one element."""
        call, index = element.call, element.index
        channel = index[-1]
        zero_point = call.quantization(self.x).per_tensor()[1]
        weights = call.quantization(1)
        honoured = self.weight_zero_point and weights.scale.size == 1
        offset = int(weights.zero_point[0]) if honoured else 0
        parts = [_products(tap, zero_point, offset) for tap in self.taps(call, index)]
        taps = (
            f"products of (w - {offset}) and (x - zero point {zero_point}), taps inside the input"
        )
        lines = Lines([f"{taps} = {len(parts)}"])
        lines += step_lines(parts[:SHOWN])
        if len(parts) > SHOWN:
            formula, rest = total(parts[SHOWN:])
            lines.steps((f"... {len(parts) - SHOWN} more taps, {formula}", rest))
        products = lines.steps(total(parts))
        bias = call.optional(self.bias)
        added = 0 if bias is None else int(bias[channel])
        acc = int(wrap32(products + added))
        lines.steps((f"wrap32({products} + bias {added})", acc))
        z = _scaled(lines, call, acc, channel, self.x)
        output = call.output_quantization()
        return lines.ended(z, output, fused_bounds(call.activation(), output))


def _products(tap: _Tap, zero_point: int, offset: int) -> Step:
    where, codes, weights = tap
    x, w = codes - zero_point, weights - offset
    value = int((w * x).sum())
    if len(x) <= FEW:
        pairs = zip(w.tolist(), x.tolist(), strict=True)
        return f"{where}: {' + '.join(f'{a}*{b}' for a, b in pairs)}", value
    return f"{where}: w {values_text(w)} by x {values_text(x)}", value


def _scaled(lines: Lines, call: OperatorCall, acc: int, channel: int, x: int) -> int:
    """Add the lines that scale an accumulator, and return the result."""
    quantizations = (call.quantization(x), call.quantization(1), call.output_quantization())
    scales = effective_scales(*quantizations)
    at = channel if scales.size > 1 else 0
    inputs, weights, output = (q.scale for q in quantizations)
    source = f"scale {inputs[0]} * {weights[at]} / {output[0]} = {float(scales[at])!r}"
    if call.operator.name not in ("BATCH_MATMUL", "FULLY_CONNECTED"):
        multiplier, shift = convolution.channel_multipliers(*quantizations)
    elif call.operator.name == "BATCH_MATMUL":
        multiplier, shift = product_multipliers(*quantizations, call.reference)
    elif call.reference == "tflm":
        multiplier, shift = integer_multipliers(*quantizations)
    else:
        scaled = int(scale_in_double(np.asarray([acc], np.int32), scales[at : at + 1])[0])
        formula = f"{acc} * {float(scales[at])!r} in float64, rounded, ties away from zero"
        lines.append(source)
        return lines.steps((formula, scaled))
    return lines.multiplied(acc, int(multiplier[at]), int(shift[at]), source)


def _inside(start: int, size: int, kernel: int, step: int) -> range:
    """Return the taps of one axis that lie inside an input of ``size``; the first is at start."""
    return range(max(0, -(start // step)), min(kernel, -((start - size) // step)))


def _positions(call: OperatorCall, index: Index) -> Iterator[tuple[int, int, int, int]]:
    """Return tap and place in the input, vertical and horizontal, of those inside the input."""
    window = call.filter_window()
    shape = call.array(0).shape
    starts = [
        index[1 + axis] * window.stride[axis] - window.pads(axis, shape[1 + axis])[0]
        for axis in (0, 1)
    ]
    rows, columns = (
        _inside(starts[axis], shape[1 + axis], window.kernel[axis], window.dilation[axis])
        for axis in (0, 1)
    )
    for ky in rows:
        for kx in columns:
            yield ky, starts[0] + ky * window.dilation[0], kx, starts[1] + kx * window.dilation[1]


def _conv_2d_taps(call: OperatorCall, index: Index) -> Iterator[_Tap]:
    x = call.array(0).astype(np.int64)
    weights = call.array(1).astype(np.int64)
    batch = index[0]
    channel = index[3]
    depth = weights.shape[3]
    groups = x.shape[3] // depth
    first = channel // (weights.shape[0] // groups) * depth
    for ky, y, kx, column in _positions(call, index):
        where = f"w[{channel}, {ky}, {kx}] by x[{batch}, {y}, {column}, {first}:{first + depth}]"
        yield where, x[batch, y, column, first : first + depth], weights[channel, ky, kx]


def _depthwise_conv_2d_taps(call: OperatorCall, index: Index) -> Iterator[_Tap]:
    x = call.array(0).astype(np.int64)
    weights = call.array(1).astype(np.int64)
    batch, channel = index[0], index[3]
    read = channel // (weights.shape[3] // x.shape[3])
    for ky, y, kx, column in _positions(call, index):
        where = f"w[0, {ky}, {kx}, {channel}] by x[{batch}, {y}, {column}, {read}]"
        one = slice(read, read + 1), slice(channel, channel + 1)
        yield where, x[batch, y, column, one[0]], weights[0, ky, kx, one[1]]


def _fully_connected_taps(call: OperatorCall, index: Index) -> Iterator[_Tap]:
    weights = call.array(1).astype(np.int64)
    outputs, size = weights.shape
    x = call.array(0)
    rows = x.reshape(-1, size).astype(np.int64)
    leading = x.shape[:-1] if len(index) != 2 else (len(rows),)
    row = int(np.ravel_multi_index(index, (*leading, outputs))) // outputs
    for first in range(0, size, FEW):
        part = slice(first, min(first + FEW, size))
        where = f"w[{index[-1]}, {first}:{part.stop}] by x[{row}, {first}:{part.stop}]"
        yield where, rows[row, part], weights[index[-1], part]


def _batch_matmul_taps(call: OperatorCall, index: Index) -> Iterator[_Tap]:
    x, y = (
        call.array(position).astype(np.int64).swapaxes(-1, -2 if adjoint else -1)
        for position, adjoint in ((0, call.options["adj_x"]), (1, not call.options["adj_y"]))
    )
    row = x[own_index(x.shape[:-2], index[:-2])][index[-2]]
    column = y[own_index(y.shape[:-2], index[:-2])][index[-1]]
    for first in range(0, len(row), FEW):
        part = slice(first, min(first + FEW, len(row)))
        where = f"column {index[-1]}, k {first}:{part.stop} by row {index[-2]}"
        yield where, row[part], column[part]


def _transpose_conv_taps(call: OperatorCall, index: Index) -> Iterator[_Tap]:
    x = call.array(2).astype(np.int64)
    weights = call.array(1).astype(np.int64)
    window, size = call.filter_window(), call.vector(0)
    batch, channel = index[0], index[3]
    # Input y meets output y * stride + tap - pad.
    reach = [index[1 + axis] + window.pads(axis, size[1 + axis])[0] for axis in (0, 1)]
    for ky, kx in np.ndindex(*window.kernel):
        (y, y_rest), (column, x_rest) = (
            divmod(at - k, window.stride[axis])
            for axis, (at, k) in enumerate(zip(reach, (ky, kx), strict=True))
        )
        if not (y_rest or x_rest) and 0 <= y < x.shape[1] and 0 <= column < x.shape[2]:
            where = f"w[{channel}, {ky}, {kx}] by x[{batch}, {y}, {column}, :]"
            yield where, x[batch, y, column], weights[channel, ky, kx]


def _weighted_operands(granularity: Granularity, axis: int, bias: Operand) -> tuple[Operand, ...]:
    """Return input, weights whose channels lie along ``axis``, and bias, as the spec has them."""
    weight_rule = TensorRule(
        range=WEIGHT_RANGE,
        granularity=granularity,
        axis=axis,
        restriction=Restriction.SYMMETRIC,
        role=Role.WEIGHT,
    )
    bias_rule = TensorRule(
        dtypes=("int32",),
        range=INT32_RANGE,
        granularity=granularity,
        restriction=Restriction.BIAS,
        role=Role.BIAS,
        optional=True,
    )
    return (Operand(), Operand(listed=weight_rule), replace(bias, listed=bias_rule))


def _weighted(
    golden: Function, prepare: Callable[..., Function | None], explained: "_Sum", **fields: Any
) -> Definition:
    """Return the record of input, weights and bias; prepared if the latter two are constants."""

    def prepared(definition: Definition, call: OperatorCall) -> Function | None:
        if call.is_constant(0) or call.is_computed(1) or call.is_computed(2):
            return None
        named = named_arguments(prepare, 3, call, definition.named)
        return prepare(call.array(0).shape, call.array(1), call.optional(2), **named)

    return Definition(**fields, golden=golden, explain=explained.explain, prepare=prepared)


_IMAGE = Operand(ranks=(4, 4))
_BIAS = Operand(("int32",), optional=True, absent=True)
_MATRICES = Operand(ranks=(2, 5))

CONVOLUTION: dict[str, Definition] = {
    "BATCH_MATMUL": Definition(
        shapes=_batch_matmul_shapes,
        operands=(_MATRICES, _MATRICES),
        alike=True,
        work=_rows_work,
        golden=batch_matmul,
        explain=_Sum(_batch_matmul_taps, weight_zero_point=True).explain,
        stacks=MATRICES,
        prepare=Without("golden prepares products with constant weights alone"),
        macs=_batch_matmul_macs,
    ),
    "CONV_2D": _weighted(
        convolution.conv_2d,
        prepare_conv_2d,
        _Sum(_conv_2d_taps),
        shapes=_convolution_shapes(convolution.conv_2d_shape, needs_bias=True),
        operands=_weighted_operands(Granularity.PER_AXIS, 0, _BIAS),
        work=_window_work,
        stacks=IMAGES,
        macs=_filter_macs,
        spec=SpecEntry(4),
    ),
    "DEPTHWISE_CONV_2D": _weighted(
        convolution.depthwise_conv_2d,
        prepare_depthwise_conv_2d,
        _Sum(_depthwise_conv_2d_taps),
        shapes=_convolution_shapes(convolution.depthwise_conv_2d_shape, needs_bias=False),
        # Prepare asks for a vector here, and of the other operators' biases only the elements.
        operands=_weighted_operands(
            Granularity.PER_AXIS, 3, Operand(("int32",), ranks=(1, 1), optional=True)
        ),
        stacks=IMAGES,
        macs=_depthwise_macs,
        spec=SpecEntry(5),
    ),
    "FULLY_CONNECTED": _weighted(
        fully_connected,
        prepare_fully_connected,
        _Sum(_fully_connected_taps, weight_zero_point=True),
        shapes=_fully_connected_shapes,
        operands=_weighted_operands(Granularity.PER_TENSOR, 0, _BIAS),
        activations=FUSED_ACTIVATIONS,
        work=_rows_work,
        stacks=WHOLE_ROWS,
        macs=_filter_macs,
        spec=SpecEntry(6),
    ),
    "TRANSPOSE_CONV": Definition(
        shapes=_transpose_conv_shapes,
        operands=(Operand(("int32",), values=False, ranks=(1, 1)), _IMAGE, _IMAGE, _BIAS),
        golden=transpose_conv,
        operands_of=lambda call: [call.optional(position) for position in (2, 1, 3)],
        named={
            "output_shape": lambda call: call.vector(0),
            "input_quantization": quantization(2),
            "bias_quantization": lambda call: call.quantization_if_any(3),
        },
        explain=_Sum(_transpose_conv_taps, x=2, bias=3).explain,
        stacks=Without("its first input is a shape, which one inference has"),
        prepare=Without("golden prepares the other convolutions alone, which most networks have"),
        macs=_transposed_macs,
    ),
}
"""Operators that multiply by weights."""
