"""Operators on variables: what a model keeps from one inference to the next."""

import numpy as np

from eightfold.cases.builder import Value
from eightfold.cases.draws import Case, Random, random_codes, random_shape
from eightfold.cases.growing import GrowingNetwork, Maker, UnsuitableError
from eightfold.cases.movement import CopyModel

_READ, _ASSIGN = "READ_VARIABLE", "ASSIGN_VARIABLE"


def _variable(subject: str) -> Maker:
    """Return the maker of an operator that reads, or that assigns."""

    def single(rng: Random) -> Case:
        model = CopyModel(rng)
        shape = random_shape(rng, (0, 1, 2, 3, 4, 5))
        scale, zero_point = model.pair
        handle = model.variable(random_codes(rng, shape), scale=scale, zero_point=zero_point)
        model.other_pair()
        if subject == _READ:
            return model.copy(_READ, [handle])
        value = model.source(shape)[1]
        model.operator(_ASSIGN, [handle, value], [])
        model.output(value)
        return model.build(), model.inputs

    return Maker(single, _extend_stream if subject == _READ else _extend_delay)


def _extend_stream(net: GrowingNetwork) -> None:
    """Add what streaming networks do: the last rows of earlier inferences before those of this one.

    The rows that come last are kept for the next inference.
    """
    if not net.operators >= {_READ, _ASSIGN, "CONCATENATION", "STRIDED_SLICE"}:
        raise UnsuitableError
    x = net.pick(lambda value: 1 <= len(value.shape) <= 4)
    axis = int(net.rng.integers(len(x.shape)))
    past = list(x.shape)
    past[axis] = int(net.rng.integers(1, 6))
    handle, before = _read(net, x, past)
    joined = net.add("CONCATENATION", [before, x], x, {"axis": axis})
    begin = [0] * len(past)
    begin[axis] = x.shape[axis]
    bounds = [net.integers(part) for part in (begin, [0] * len(past), [1] * len(past))]
    masks = {"begin_mask": ((1 << len(past)) - 1) & ~(1 << axis), "end_mask": (1 << len(past)) - 1}
    net.assign(handle, net.add("STRIDED_SLICE", [joined, *bounds], x, masks))


def _extend_delay(net: GrowingNetwork) -> None:
    """Add a result of the inference before, and keep one of this, in either order."""
    if not net.operators >= {_READ, _ASSIGN}:
        raise UnsuitableError
    x = net.pick(lambda value: len(value.shape) <= 5)
    if net.rng.integers(4):
        handle, _ = _read(net, x, x.shape)
        net.assign(handle, x)
        return
    handle = _handle(net, x, x.shape)
    net.assign(handle, x)
    net.add(_READ, [handle], x)


def _handle(net: GrowingNetwork, like: Value, shape: tuple[int, ...] | list[int]) -> int:
    codes: np.ndarray = random_codes(net.rng, shape)
    return net.variable(codes, scale=like.scale, zero_point=like.zero_point)


def _read(
    net: GrowingNetwork, like: Value, shape: tuple[int, ...] | list[int]
) -> tuple[int, Value]:
    """Add a variable, and return its handle and what it holds."""
    handle = _handle(net, like, shape)
    return handle, net.add(_READ, [handle], like)


STATE: dict[str, Maker] = {name: _variable(name) for name in (_READ, _ASSIGN)}
"""By the operator's name."""
