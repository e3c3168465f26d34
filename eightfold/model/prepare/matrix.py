"""Rows of the operators with weights, and of the pools."""

from collections.abc import Callable, Sequence
from math import prod

import numpy as np

from eightfold.golden.convolution import check_bias, conv_2d_shape, depthwise_conv_2d_shape
from eightfold.golden.errors import RejectedError
from eightfold.golden.fully_connected import fully_connected_shape
from eightfold.golden.pooling import pooled_shape
from eightfold.golden.quantization import FUSED_ACTIVATIONS
from eightfold.golden.transposed_convolution import check_shapes
from eightfold.golden.windows import Window
from eightfold.model.prepare.node import Node
from eightfold.model.prepare.row import WORK, Operand, Row, Shape

_INT8 = Operand()
_IMAGE = Operand(ranks=(4, 4))
_BIAS = Operand(("int32",), optional=True, absent=True)
_SIZES = Operand(("int32",), values=False, ranks=(1, 1))

_MOST = 2**15 - 1
"""Of strides, dilations and paddings, which LiteRT keeps in 16 bits."""


def _check_steps(window: Window) -> None:
    """Refuse strides and dilations that LiteRT does not take for operators with a filter."""
    for name in ("stride", "dilation"):
        if max(getattr(window, name)) > _MOST:
            raise RejectedError(f"{name} {getattr(window, name)} is above {_MOST}")


def _check_padding(window: Window, shape: tuple[int, ...]) -> None:
    """Refuse windows that reach too far beyond an image of ``shape``."""
    for axis, direction in enumerate(("vertical", "horizontal")):
        if (padding := window.pads(axis, shape[1 + axis])[0]) > _MOST:
            raise RejectedError(f"the {direction} padding {padding} is above {_MOST}")


def _check_bias(node: Node, position: int, outputs: int) -> None:
    """Refuse a bias that has not one element per output channel, whatever its rank is."""
    bias = node.tensor(position)
    if bias is not None:
        check_bias(np.dtype(np.int32), prod(bias.shape), outputs)


def _convolution(
    shape_of: Callable[[tuple[int, ...], tuple[int, ...], Window], tuple[int, ...]],
    *,
    needs_bias: bool,
) -> Callable[[Node], Sequence[Shape]]:
    def shapes(node: Node) -> Sequence[Shape]:
        if needs_bias and node.input(0).dtype == np.int8 and node.tensor(2) is None:
            raise RejectedError(f"{node.operator.name} needs a bias")
        window = node.filter_window()
        _check_steps(window)
        shape = shape_of(node.shape(0), node.shape(1), window)
        _check_padding(window, node.shape(0))
        _check_bias(node, 2, shape[3])
        return [shape]

    return shapes


def _fully_connected(node: Node) -> Sequence[Shape]:
    if node.options["weights_format"] != "DEFAULT":
        raise RejectedError(f"weights_format must be DEFAULT, not {node.options['weights_format']}")
    shape = fully_connected_shape(node.shape(0), node.shape(1), node.options["keep_num_dims"])
    _check_bias(node, 2, shape[-1])
    return [shape]


def _transpose_conv(node: Node) -> Sequence[Shape]:
    sizes = node.known_vector(0)
    window = node.filter_window()
    _check_steps(window)
    _check_bias(node, 3, node.shape(1)[0])
    if sizes is None:
        return [(None,) * node.shape(0)[0]]
    check_shapes(node.shape(2), node.shape(1), sizes, window)
    return [tuple(sizes)]


def _pool(node: Node) -> Sequence[Shape]:
    window = node.pool_window()
    shape = pooled_shape(node.shape(0), window)
    _check_padding(window, node.shape(0))
    return [shape]


def _window_work(node: Node) -> int:
    """Count the taps of every window at once, as float64 and in two orders; and what is summed."""
    taps = prod(node.output.shape[:3]) * prod(node.shape(1)[1:])
    return 16 * taps + WORK * prod(node.output.shape)


def _rows_work(node: Node) -> int:
    """Count input and filter as float64, and what is summed."""
    return 16 * (prod(node.shape(0)) + prod(node.shape(1))) + WORK * prod(node.output.shape)


MATRIX: dict[str, Row] = {
    "AVERAGE_POOL_2D": Row(shapes=_pool),
    "CONV_2D": Row(
        shapes=_convolution(conv_2d_shape, needs_bias=True),
        operands=(_INT8, _INT8, _BIAS),
        work=_window_work,
    ),
    "DEPTHWISE_CONV_2D": Row(
        shapes=_convolution(depthwise_conv_2d_shape, needs_bias=False),
        # Prepare asks for a vector here, and of the other operators' biases only the elements.
        operands=(_INT8, _INT8, Operand(("int32",), ranks=(1, 1), optional=True)),
    ),
    "FULLY_CONNECTED": Row(
        shapes=_fully_connected,
        operands=(_INT8, _INT8, _BIAS),
        activations=FUSED_ACTIVATIONS,
        work=_rows_work,
    ),
    "MAX_POOL_2D": Row(shapes=_pool),
    "TRANSPOSE_CONV": Row(shapes=_transpose_conv, operands=(_SIZES, _IMAGE, _IMAGE, _BIAS)),
}
"""Operators that move a window or multiply by a matrix."""
