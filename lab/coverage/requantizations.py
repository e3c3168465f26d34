"""What a requantization shows: its shift, its ties, what it saturates.

Of every operator: the accelerator's, and of functions that it looks up the reference's.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any
from unittest.mock import patch

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eightfold.compiler import Compiled
from eightfold.golden import rectifiers, unary
from eightfold.golden.fixed_point import srdhm, wrap32
from eightfold.golden.quantization import clamp, saturate
from eightfold.golden.requantize import requantize
from eightfold.golden.rounding import round_half_away, rounding_shift
from eightfold.isa import Space
from eightfold.isa.decode import Decoded
from eightfold.model import Graph, Operator
from eightfold.model.graph import Arrays
from eightfold.operators import run_operator
from eightfold.sim.machine import matrix as matrix_model
from eightfold.sim.machine import vector as vector_model
from eightfold.sim.machine.machine import Machine
from lab.hostile.subject import run_on

Labels = defaultdict[str, set[str]]
"""Bins by the name of the point that has them."""


PAIR_SHIFTS = (
    "left 8..30",
    "left 1..7",
    "none",
    "right 1..7",
    "right 8..15",
    "right 16..30",
    "right 31",
)
"""Shifts of TFLite's pair: the right one is the second, after the doubling high multiply."""

SINGLE_SHIFTS = ("right 0..30", "right 31..38", "right 39..46", "right 47..62")
"""Shifts of the 64-bit product with one rounding."""

SATURATIONS = ("below", "within", "above")
TIES = ("positive", "negative")
_PAIR_EDGES, _SINGLE_EDGES = (-7, 0, 1, 8, 16, 31), (31, 39, 47)


def requantization(values: ArrayLike, parameters: Mapping[str, ArrayLike]) -> Labels:
    """Return the bins of a `eightfold.golden.requantize.requantize` with these arguments.

    ``pair shift`` and ``single shift``. ``tie``: the right shift drops exactly half of a number of
    this sign. ``product tie``: the doubling high multiply does. ``saturation``: the code before the
    clamp is below, within or above its bounds. ``multiplier``: 0, a power of two or another.
    ``overflow``: of the bias, or of the left shift.
    """
    names = ("bias", "left", "right", "multiplier", "single", "zero_point", "low", "high")
    given = {name: np.asarray(parameters.get(name, 0), np.int64) for name in names}
    rounding = np.asarray(parameters.get("rounding", 0), np.int64)
    shape = np.broadcast_shapes(np.shape(values), *(g.shape for g in given.values()))
    acc, mode = (np.broadcast_to(np.asarray(a, np.int64), shape) for a in (values, rounding))
    bias, left, right, multiplier, single, zero_point, low, high = (
        np.broadcast_to(given[name], shape) for name in names
    )
    labels: Labels = defaultdict(set)
    if not acc.size:
        return labels
    total = acc + bias
    biased = wrap32(total)
    shifted = wrap32(biased << left)
    product = shifted * multiplier
    one = single.astype(bool)
    scaled = np.where(one, product, srdhm(shifted, multiplier))
    code = rounding_shift(scaled, right, mode) + zero_point
    half = (right > 0) & (2 * (scaled & ((1 << right) - 1)) == 1 << right)
    power = (multiplier & (multiplier - 1)) == 0
    tie = ~one & ((product & (2**31 - 1)) == 2**30)
    conditions = {
        "overflow": {"bias": total != biased, "left shift": shifted != biased << left},
        "tie": {"positive": half & (scaled > 0), "negative": half & (scaled < 0)},
        "product tie": {"positive": tie & (product > 0), "negative": tie & (product < 0)},
        "saturation": {
            "below": code < low,
            "above": code > high,
            "within": (code >= low) & (code <= high),
        },
        "multiplier": {
            "0": multiplier == 0,
            "a power of two": power & (multiplier > 0),
            "another": ~power,
        },
    }
    for point, names in conditions.items():
        if found := {name for name, seen in names.items() if seen.any()}:
            labels[point] = found
    labels["pair shift"] = _classes((right - left)[~one], _PAIR_EDGES, PAIR_SHIFTS)
    labels["single shift"] = _classes(right[one], _SINGLE_EDGES, SINGLE_SHIFTS)
    return labels


def _classes(shifts: NDArray[np.int64], edges: tuple[int, ...], names: tuple[str, ...]) -> set[str]:
    """Return the classes of right shifts, negative ones being left shifts."""
    return {names[place] for place in np.searchsorted(edges, np.unique(shifts), side="right")}


def join(labels: Labels, more: Mapping[str, set[str]]) -> None:
    """Add bins to others, in place."""
    for point, names in more.items():
        labels[point] |= names


class _Traced(Machine):
    """A machine that notes the requantizations of every operator, the owner of each command."""

    def __init__(self, owners: Sequence[int], *args: Any) -> None:
        super().__init__(*args)
        self.labels: defaultdict[int, Labels] = defaultdict(lambda: defaultdict(set))
        self._owners = owners

    def execute(self, command: Decoded) -> None:
        """Do a command, and note what it requantizes."""
        labels = self.labels[self._owners[command.number]]

        def noted(values: np.ndarray, **parameters: Any) -> np.ndarray:
            join(labels, requantization(values, parameters))
            return requantize(values, **parameters)

        with (
            patch.object(matrix_model, "requantize", noted),
            patch.object(vector_model, "requantize", noted),
        ):
            super().execute(command)


def accelerator_labels(compiled: Compiled, inputs: Arrays, results: Arrays) -> dict[int, Labels]:
    """Return the bins of the requantizations of each operator, by its index.

    The commands run on the machine in numpy, and must leave the ``results`` there that the
    accelerator has left.
    """
    owners = [issued.operator for issued in compiled.issued]
    machine = run_on(partial(_Traced, owners), compiled, inputs)
    for tensor, offset in compiled.outputs.items():
        content = np.asarray(results[tensor], order="C").reshape(-1).view(np.uint8)
        computed = machine.spaces[Space.ARENA][offset : offset + content.size]
        np.testing.assert_array_equal(computed, content, err_msg=f"tensor {tensor}")
    return machine.labels


def reference_labels(graph: Graph, operator: Operator, values: Arrays) -> Labels:
    """Return the bins of what the reference rounds and clamps of a function of one byte."""
    labels: Labels = defaultdict(set)
    with _noting(labels):
        run_operator(graph, operator, values)
    return labels


@contextmanager
def _noting(labels: Labels) -> Iterator[None]:
    """Note multiplications, shifts, roundings and clamps of the functions of one byte."""

    def multiplied(x: Any, multiplier: Any, shift: Any) -> Any:
        pair = {
            "multiplier": multiplier,
            "left": np.maximum(shift, 0),
            "right": np.maximum(-np.asarray(shift), 0),
        }
        seen = requantization(x, pair)
        seen.pop("saturation", None)  # it clamps nothing
        join(labels, seen)
        return multiply(x, multiplier, shift)

    def rounded(x: Any) -> Any:
        ties = np.abs(x - np.trunc(x)) == 0.5
        for name, side in (("positive", x > 0), ("negative", x < 0)):
            if np.any(ties & side):
                labels["tie"].add(name)
        return round_half_away(x)

    def shifted(x: Any, e: Any, rounding: Any) -> Any:
        parameters = {"single": 1, "multiplier": 1, "right": e}
        join(labels, {"tie": requantization(x, parameters)["tie"]})
        return shift_right(x, e, rounding)

    def bounded(codes: Any, low: int, high: int) -> None:
        parameters = {"single": 1, "multiplier": 1, "low": low, "high": high}
        join(labels, {"saturation": requantization(codes, parameters)["saturation"]})

    def clamped(codes: Any, bounds: tuple[int, int] = (-128, 127)) -> Any:
        bounded(codes, *bounds)
        return clamp(codes, bounds)

    def saturated(codes: Any, dtype: Any) -> Any:
        bounded(codes, np.iinfo(dtype).min, np.iinfo(dtype).max)
        return saturate(codes, dtype)

    multiply, shift_right = unary.multiply_by_quantized_multiplier, rectifiers.rounding_shift
    changes: tuple[tuple[Any, str, Callable], ...] = (
        (unary, "multiply_by_quantized_multiplier", multiplied),
        (unary, "round_half_away", rounded),
        (unary, "clamp", clamped),
        (unary, "saturate", saturated),
        (rectifiers, "multiply_by_quantized_multiplier", multiplied),
        (rectifiers, "rounding_shift", shifted),
        (rectifiers, "clamp", clamped),
    )
    with ExitStack() as stack:
        for module, name, function in changes:
            stack.enter_context(patch.object(module, name, function))
        yield
