"""Operators that become parameters of their neighbour: clamps behind it, padding in front of it.

A function of one byte goes into the requantizer before it if it only clamps. Whether it does is
checked for every code that the operator before can give (`intervals`): there the function must
leave codes as they are between two bounds, and give the bounds beyond. RELU, RELU6, MINIMUM and
MAXIMUM with a constant, and a QUANTIZE that changes nothing are such functions. One that leaves all
these codes as they are goes whatever is in front.

PAD and PADV2 become the padding of the convolutions behind them. A window reads the same codes, at
the same places: those inside from the image, and around it the one code that the operator would
have written. Where a convolution adds padding of its own, that has its input's zero point, and goes
together with the first only if that is the same code. Pools do not count their padding, and stay as
they are.
"""

from dataclasses import replace

import numpy as np

from eightfold.compiler.rewrite.draft import Draft
from eightfold.compiler.rewrite.elements import function_of, runs, same_quantization
from eightfold.compiler.rewrite.intervals import Interval, Intervals
from eightfold.model import Operator
from eightfold.operators import Node

CLAMPING = frozenset(
    {"ADD", "AVERAGE_POOL_2D", "CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED"}
    | {"MAX_POOL_2D", "MUL", "SUB"}
)
"""Operators that clamp what they compute in any case."""


def clamp(draft: Draft) -> None:
    """Let operators clamp for the functions behind them, and drop functions that change nothing."""
    known = Intervals(draft.graph, draft.reference)
    for operator in draft.each():
        graph = draft.graph
        function = function_of(graph, operator, draft.reference)
        if function is None:
            continue
        source, (target,) = function.source, operator.outputs
        if not same_quantization(graph.tensors[source], graph.tensors[target]):
            continue
        bounds = clamping(function.table, known[source])
        if bounds is None:
            continue
        if bounds == reach(known[source]) and target not in draft.outputs():
            draft.remove(operator)
            draft.stand_in(target, source)
            draft.say("clamps", [operator.index], "it changes no code that there is")
        elif (first := draft.producer(source)) and first.name in CLAMPING:
            options = {**first.options, "clamp": inner(bounds, first.options.get("clamp"))}
            merged = replace(first, index=operator.index, outputs=(target,), options=options)
            text = f"{first.name} clamps to {bounds[0]} to {bounds[1]}"
            draft.merge("clamps", first, merged, text)


def reach(interval: Interval) -> tuple[int, int]:
    """Return the least and the greatest code of a tensor."""
    return int(interval.low.min()), int(interval.high.max())


def clamping(table: np.ndarray, interval: Interval) -> tuple[int, int] | None:
    """Return the bounds between which a table leaves a tensor's codes as they are.

    None if it does something else to one of them.
    """
    low, high = reach(interval)
    entries = table[low + 128 : high + 129].astype(np.int64)
    floor, ceiling = int(entries[0]), int(entries[-1])
    if floor > ceiling or np.any(entries != np.clip(np.arange(low, high + 1), floor, ceiling)):
        return None
    return floor, ceiling


def inner(bounds: tuple[int, int], before: tuple[int, int] | None) -> tuple[int, int]:
    """Return the one clamp that is as one before and then ``bounds``."""
    low, high = np.clip(before or (-128, 127), *bounds).tolist()
    return low, high


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
    source = node.input(0)
    target = node.output
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
    return replace(reader, inputs=(padding.inputs[0], *reader.inputs[1:]), options=options)
