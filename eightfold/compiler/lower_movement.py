"""PAD and CONCATENATION as copies of the mover."""

from collections.abc import Sequence
from math import prod

from eightfold.compiler.call import Call
from eightfold.compiler.movement import Copy, Movement


def padded(
    source: int,
    target: int,
    shape: tuple[int, ...],
    paddings: Sequence[Sequence[int]],
    fill: int,
) -> Movement:
    """Return PAD: the whole result filled, then the input copied into it."""
    result = [size + before + after for size, (before, after) in zip(shape, paddings, strict=True)]
    target_steps, source_steps = _steps(result), _steps(shape)
    offset = sum(before * step for (before, _), step in zip(paddings, target_steps, strict=True))
    loops = tuple(zip(shape[:-1], source_steps[:-1], target_steps[:-1], strict=True))
    copies = [Copy(source, 0, offset, shape[-1], loops)]
    if any(before or after for before, after in paddings):
        copies.insert(0, Copy(None, 0, 0, prod(result), (), fill))
    return Movement(target=target, copies=tuple(copies))


def joined(
    sources: Sequence[int], shapes: Sequence[tuple[int, ...]], target: int, axis: int
) -> Movement:
    """Return CONCATENATION along ``axis``: a copy per input, a run per outer index."""
    outer = prod(shapes[0][:axis])
    runs = [prod(shape[axis:]) for shape in shapes]
    copies, start = [], 0
    for source, run in zip(sources, runs, strict=True):
        copies.append(Copy(source, 0, start, run, ((outer, run, sum(runs)),)))
        start += run
    return Movement(target=target, copies=tuple(copies))


def _steps(shape: Sequence[int]) -> list[int]:
    return [prod(shape[axis + 1 :]) for axis in range(len(shape))]


def pad(call: Call) -> Movement:
    """Lower PAD."""
    call.check_int8(0)
    source, paddings = call.input(0), call.constant(1)
    fill = call.zero_point(call.output)
    return padded(source.index, call.output.index, source.shape, paddings.tolist(), fill)


def concatenation(call: Call) -> Movement:
    """Lower CONCATENATION."""
    count = len(call.operator.inputs)
    call.check_int8(*range(count))
    sources = [call.input(position) for position in range(count)]
    axis = call.operator.options["axis"] % len(call.output.shape)
    indices, shapes = [s.index for s in sources], [s.shape for s in sources]
    return joined(indices, shapes, call.output.index, axis)
