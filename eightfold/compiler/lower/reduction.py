"""SUM, MEAN, REDUCE_MAX, REDUCE_MIN, ARG_MAX, ARG_MIN: their axes and requantization."""

from math import prod

import numpy as np

from eightfold.compiler.exact.channels import CompileError, pair
from eightfold.compiler.lower.call import Call
from eightfold.compiler.steps.axis import Axis
from eightfold.compiler.steps.channelwise import SumPool
from eightfold.compiler.steps.movement import Copy, Movement
from eightfold.compiler.steps.reduction import Group, Reduction, grouped, is_direct
from eightfold.compiler.steps.strided import copies
from eightfold.golden.fixed_point import wrap32
from eightfold.golden.reduction import mean_multiplier, reduced_axes, sum_multiplier
from eightfold.isa import Reduce

Steps = tuple[Reduction | SumPool | Movement, ...]


def mean(call: Call) -> Steps:
    """Lower MEAN: a sum, the division folded into the multiplier."""
    return _sum(call, mean=True)


def reduce_sum(call: Call) -> Steps:
    """Lower SUM."""
    return _sum(call, mean=False)


def _sum(call: Call, mean: bool) -> Steps:
    """Lower a sum: of whole pixels a pool of one window per image, else a reduction."""
    axes = _axes(call)
    quantizations = call.quantization(0), call.output_quantization()
    count = prod(call.input(0).shape[axis] for axis in axes)
    if mean:
        multiplier, shift = mean_multiplier(count, *quantizations)
    else:
        multiplier, shift = sum_multiplier(*quantizations)
    fields = pair(np.array([multiplier]), np.array([shift]), 1)
    parameters = {name: int(values[0]) for name, values in fields.items()} | call.layer()
    parameters["bias"] = int(wrap32(-count * quantizations[0].per_tensor()[1]))
    groups = grouped(call.input(0).shape, axes)
    together = sum(group.reduced for group in groups) == 1
    if together and (not groups[-1].reduced or count > _longest(call)):
        return (_pool(call, axes, parameters),)
    return _reduced(call, axes, Reduce.SUM, parameters)


def _pool(call: Call, axes: tuple[int, ...], parameters: dict[str, int]) -> SumPool:
    """Return the sum over adjacent axes as a pool: height, width and what is behind them."""
    shape = call.input(0).shape
    axes = tuple(axis for axis in axes if shape[axis] > 1)
    images = prod(shape[: axes[0]])
    depth = prod(shape[axes[-1] + 1 :])
    sizes = [shape[axis] for axis in range(axes[0], axes[-1] + 1)]
    height, width = prod(sizes[:-1]), sizes[-1]
    return SumPool(
        source=call.input(0).index,
        target=call.output.index,
        source_shape=(images, height, width, depth),
        target_shape=(images, 1, 1, depth),
        rows=Axis(size=height, kernel=height, outputs=1),
        columns=Axis(size=width, kernel=width, outputs=1),
        parameters={height * width: parameters},
    )


def extreme(call: Call) -> Steps:
    """Lower REDUCE_MAX and REDUCE_MIN: the largest or smallest byte."""
    quantizations = call.quantization(0), call.output_quantization()
    if quantizations[0].per_tensor() != quantizations[1].per_tensor():
        raise CompileError("input and output must have the same scale and zero point")
    return _reduced(call, _axes(call), _REDUCE[call.operator.name])


_REDUCE = {
    "REDUCE_MAX": Reduce.MAXIMUM,
    "REDUCE_MIN": Reduce.MINIMUM,
    "ARG_MAX": Reduce.MAXIMUM,
    "ARG_MIN": Reduce.MINIMUM,
}


def place_of_extreme(call: Call) -> Steps:
    """Lower ARG_MAX and ARG_MIN: the number's bytes one by one, then spread out.

    A number fits two bytes; the others are 0.
    """
    source, target = call.input(0), call.output
    axes = _axes(call)
    length = source.shape[axes[0]]
    size = prod(target.shape)
    groups = grouped(source.shape, axes)
    item = target.dtype.itemsize
    steps: list[Reduction | Movement] = []
    found = [Copy(None, 0, 0, size * item, (), 0)]
    for byte in range(-(-(length - 1).bit_length() // 8)):
        temporary = call.temporary(size)
        steps.append(
            Reduction(
                source=source.index,
                target=temporary,
                groups=groups,
                reduce=_REDUCE[call.operator.name],
                byte=byte,
            )
        )
        found.append(Copy(temporary, 0, byte, 1, ((size, 1, item),)))
    return (*steps, Movement(target=target.index, copies=tuple(found)))


def _longest(call: Call) -> int:
    """Return the most bytes of a row that are reduced at once."""
    return call.config.scratchpad // 4


def _axes(call: Call) -> tuple[int, ...]:
    """Return the reduced axes."""
    return reduced_axes(call.constant(1), len(call.input(0).shape))


def _reduced(
    call: Call, axes: tuple[int, ...], reduce: Reduce, requantize: dict[str, int] | None = None
) -> Steps:
    """Return the reduction, of the reduced axes together where they would not fit otherwise.

    Where a command has too few loops for them, or where too much is reduced: rows go on from
    command to command.
    """
    source = call.input(0)
    groups = grouped(call.input(0).shape, axes)
    index = source.index
    first = ()
    long = prod(source.shape[axis] for axis in axes) > _longest(call)
    if not is_direct(groups) or (long and not groups[-1].reduced):
        kept = tuple(axis for axis in range(len(source.shape)) if axis not in axes)
        order = np.arange(prod(source.shape)).reshape(source.shape).transpose(kept + axes)
        index = call.temporary(order.size)
        moves = copies(order, source.index, source.shape, 1)
        first = (Movement(target=index, copies=tuple(moves)),)
        count = prod(source.shape[axis] for axis in axes)
        groups = (Group(order.size // count, False), Group(count, True))
    reduction = Reduction(
        source=index,
        target=call.output.index,
        groups=groups,
        reduce=reduce,
        requantize=requantize,
    )
    return (*first, reduction)
