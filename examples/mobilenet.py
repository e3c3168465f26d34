"""MobileNetV2 at any width and image size, with random weights.

``python -m examples.mobilenet FILE`` writes it.

Inverted residual blocks: a 1x1 convolution to six times the channels, a depthwise 3x3, a 1x1
convolution back, and an ADD where the block keeps the image's size and channels (Sandler et al.,
arXiv:1801.04381, table 2).
"""

from pathlib import Path

import click

from eightfold.cases.builder import SeededNetwork, Value
from eightfold.common.files import write_file
from eightfold.common.program import number_option, one_line_errors

BLOCKS = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1))
LAST_BLOCKS = ((6, 160, 3, 2), (6, 320, 1, 1))
"""Expansion, channels at width 1, repetitions, stride of the first."""

SEED = 224

SCALE = 0.05
"""The scale of all results between the first layer and the last."""


def mobilenet_model(width: float, size: int, classes: int = 10, *, explicit: bool = False) -> bytes:
    """Return the model, the same bytes each time.

    ``width``: multiplier of all channels, which are rounded to multiples of 8. ``size``: rows and
    columns of the image, a multiple of 32. ``classes``: of the SOFTMAX. ``explicit``: as converters
    from PyTorch write it: a TRANSPOSE of an image (1, 3, size, size) in front, and a PAD before
    each 3x3 window. Else the image is scaled by MUL and SUB, and windows are SAME.
    """
    net = SeededNetwork(f"MobileNetV2 {width} at {size} with random weights", SEED)
    x = _image(net, size, explicit)
    x = _window(net, x, _channels(32, width), 2, explicit)
    for expansion, channels, count, stride in BLOCKS + LAST_BLOCKS:
        for number in range(count):
            step = stride if number == 0 else 1
            x = _block(net, x, expansion, _channels(channels, width), step, explicit)
    x = _pointwise(net, x, max(1280, _channels(1280, width)), active=True)
    x = net.add("MEAN", [x, net.integers([1, 2])], (SCALE, -128), {"keep_dims": False})
    x = net.weighted("FULLY_CONNECTED", x, (classes, x.shape[1]), {}, SCALE)
    net.add("SOFTMAX", [x], options={"beta": 1.0})
    return net.build()


def blocks_model(operators: int, size: int) -> bytes:
    """Return inverted residual blocks of 24 channels alone, ``operators`` in all.

    Each has four operators and expands to 144 channels; the last one ends where there are enough.

    ``size``: rows and columns of every tensor.
    """
    net = SeededNetwork(
        f"{operators} operators of inverted residual blocks with random weights", SEED
    )
    x = before = net.graph_input((1, size, size, 24), SCALE, 2)
    for number in range(operators):
        match number % 4:
            case 0:
                before = x
                x = _pointwise(net, x, 6 * x.shape[3], active=True)
            case 1:
                x = _window(net, x, 0, 1, explicit=False)
            case 2:
                x = _pointwise(net, x, before.shape[3], active=False)
            case _:
                x = net.add("ADD", [before, x], (SCALE, 2))
    return net.build()


def _channels(channels: int, width: float) -> int:
    """Return a layer's channels: to the nearest multiple of 8, but not below nine tenths."""
    rounded = max(8, int(channels * width + 4) // 8 * 8)
    return rounded + 8 if rounded < 0.9 * channels * width else rounded


def _image(net: SeededNetwork, size: int, explicit: bool) -> Value:
    if explicit:
        x = net.graph_input((1, 3, size, size), 1 / 64, 0)
        return net.add("TRANSPOSE", [x, net.integers([0, 2, 3, 1])], x)
    x = net.graph_input((1, size, size, 3), 1 / 255, -128)
    x = net.add("MUL", [x, net.code(127, 2 / 127)], (2 / 255, -128))
    return net.add("SUB", [x, net.code(127, 1 / 127)], (1 / 127, 0))


def _block(
    net: SeededNetwork, x: Value, expansion: int, channels: int, stride: int, explicit: bool
) -> Value:
    before = x
    if expansion > 1:
        x = _pointwise(net, x, expansion * x.shape[3], active=True)
    x = _window(net, x, 0, stride, explicit)
    x = _pointwise(net, x, channels, active=False)
    if x.shape == before.shape:
        x = net.add("ADD", [before, x], (SCALE, 2))
    return x


def _pointwise(net: SeededNetwork, x: Value, channels: int, *, active: bool) -> Value:
    options = {"padding": "VALID", "stride_h": 1, "stride_w": 1}
    if active:
        options["fused_activation_function"] = "RELU6"
    return net.weighted("CONV_2D", x, (channels, 1, 1, x.shape[3]), options, SCALE)


def _window(net: SeededNetwork, x: Value, channels: int, stride: int, explicit: bool) -> Value:
    """Add a 3x3 window: a convolution to some channels, or of 0 a depthwise one."""
    depth = x.shape[3]
    if explicit:
        x = net.add("PAD", [x, net.integers([[0, 0], [1, 1], [1, 1], [0, 0]])], x)
    options = {
        "padding": "VALID" if explicit else "SAME",
        "stride_h": stride,
        "stride_w": stride,
        "fused_activation_function": "RELU6",
    }
    if channels:
        return net.weighted("CONV_2D", x, (channels, 3, 3, depth), options, SCALE)
    options["depth_multiplier"] = 1
    return net.weighted("DEPTHWISE_CONV_2D", x, (1, 3, 3, depth), options, SCALE)


@click.command()
@click.argument("file", type=click.Path(path_type=Path), default=Path("build/mobilenet.tflite"))
@click.option("--width", default=0.35, show_default=True, help="Multiplier of all channels.")
@click.option("--size", default=160, show_default=True, help="Rows and columns of the image.")
@click.option("--classes", default=10, show_default=True, help="Results of the last layer.")
@click.option("--explicit", is_flag=True, help="TRANSPOSE and PADs, as PyTorch's converters write.")
@number_option(
    "--blocks", help="N operators of blocks of 24 channels alone, all as large as --size."
)
def write(
    file: Path, width: float, size: int, classes: int, explicit: bool, blocks: int | None
) -> None:
    """Write MobileNetV2 to FILE, build/mobilenet.tflite if it is not given."""
    if blocks:
        model = blocks_model(blocks, size)
    else:
        model = mobilenet_model(width, size, classes, explicit=explicit)
    write_file(file, model)
    click.echo(file)


if __name__ == "__main__":
    one_line_errors(write)
