"""PAD and PADV2 become the padding of the convolutions behind them.

A window reads the same codes, at the same places: those inside from the image, and around it the
one code that the operator would have written. Where a convolution adds padding of its own, that
has its input's zero point, and goes together with the first only if that is the same code. Pools
do not count their padding, and stay as they are.
"""

from dataclasses import replace

from eightfold.compiler.rewrite.draft import Draft
from eightfold.compiler.rewrite.elements import runs, same_quantization
from eightfold.model import Operator
from eightfold.model.prepare import Node

WINDOWS = frozenset({"CONV_2D", "DEPTHWISE_CONV_2D"})
"""Operators that take an image's surroundings as they are told."""


def pad(draft: Draft) -> None:
    """Let convolutions pad for the PAD and PADV2 in front of them."""
    for operator in draft.each(backwards=True):
        code = _code(draft, operator)
        (target,) = operator.outputs[:1] or (-1,)
        if code is None or target in draft.outputs():
            continue
        readers = draft.readers(target)
        windows = [_padded(draft, reader, operator, code) for reader in readers]
        found = [window for window in windows if window is not None]
        if len(found) < len(windows):
            continue
        for reader, window in zip(readers, found, strict=True):
            draft.replace(reader, window)
            draft.say("padding", [operator.index, reader.index], f"{reader.name} pads")
        draft.remove(operator)


def _code(draft: Draft, operator: Operator) -> int | None:
    """Return the code that an operator puts around rows and columns; None if it does more."""
    node = Node(draft.tensors, operator)
    if operator.name not in ("PAD", "PADV2") or not runs(draft.graph, operator):
        return None
    source, target = node.input(0), node.output
    if source.data is not None or len(source.shape) != 4 or not node.is_constant(1):
        return None
    if node.constant(1)[[0, 3]].any() or (node.constant(1) < 0).any():
        return None
    if target.quantization is None or not same_quantization(source, target):
        return None
    if operator.name == "PAD":
        return int(target.quantization.zero_point[0])
    return int(node.constant(2).item()) if node.is_constant(2) else None


def _padded(draft: Draft, reader: Operator, padding: Operator, code: int) -> Operator | None:
    """Return a convolution that pads for another operator too; None if it cannot."""
    if reader.name not in WINDOWS or not runs(draft.graph, reader):
        return None
    node, image = Node(draft.tensors, reader), Node(draft.tensors, padding)
    quantization = node.input(0).quantization
    if reader.inputs[0] != image.output.index or reader.inputs.count(reader.inputs[0]) > 1:
        return None
    if quantization is None or node.is_computed(1):
        return None
    window = node.filter_window()
    own = [window.pads(axis, node.shape()[1 + axis]) for axis in (0, 1)]
    known = reader.options.get("fill", int(quantization.zero_point[0]))
    if any(map(any, own)) and known != code:
        return None
    before = image.constant(1)[1:3].tolist()
    around = tuple(
        (outer[0] + inner[0], outer[1] + inner[1]) for outer, inner in zip(before, own, strict=True)
    )
    options = {**reader.options, "padding": "EXPLICIT", "around": around, "fill": code}
    inputs = (padding.inputs[0], *reader.inputs[1:])
    return replace(reader, inputs=inputs, options=options)
