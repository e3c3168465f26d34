"""One operator that has run, what a point of it is, and points that many operators have."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from eightfold.golden.quantization import Quantization
from eightfold.golden.windows import Window
from eightfold.model import Graph, Operator
from eightfold.model.graph import Arrays
from eightfold.operators import OperatorCall
from eightfold.target.config import AcceleratorConfig
from lab.coverage.requantizations import PAIR_SHIFTS, SATURATIONS, TIES, Labels


class Sample(OperatorCall):
    """An operator with the values it worked on.

    ``values``: inputs and results by tensor, constants left out.
    ``labels``: bins of the requantizations of the accelerator, and of the reference, as
        `lab.coverage.requantizations` returns them.
    """

    def __init__(
        self,
        graph: Graph,
        operator: Operator,
        values: Arrays,
        config: AcceleratorConfig,
        labels: Mapping[str, Labels],
    ) -> None:
        super().__init__(graph, operator, values)
        self.config = config
        self.labels = labels
        self.results = [values[index] for index in operator.outputs]

    @property
    def result(self) -> np.ndarray:
        """The value of the first result."""
        return self.results[0]


@dataclass(frozen=True)
class Point:
    """Bins by a name, and the function that says which of them a sample shows."""

    name: str
    bins: tuple[str, ...]
    observe: Callable[[Sample], Iterable[str]]

    def seen(self, sample: Sample) -> frozenset[str]:
        """Return the bins a sample shows."""
        seen = frozenset(self.observe(sample))
        if unknown := seen - set(self.bins):
            raise ValueError(f"{sample.operator}: point {self.name} has no bin {sorted(unknown)}")
        return seen


def flags(name: str, **bins: Callable[[Sample], object]) -> Point:
    """Return a point whose bins, by their names with spaces as underscores, have a condition."""
    conditions = {each.replace("_", " "): condition for each, condition in bins.items()}
    return Point(
        name,
        tuple(conditions),
        lambda sample: (each for each, condition in conditions.items() if condition(sample)),
    )


def one_of(name: str, bins: Iterable[object], value: Callable[[Sample], object]) -> Point:
    """Return a point with a bin per value; what is none of them is an error."""
    return Point(name, tuple(str(each) for each in bins), lambda sample: (str(value(sample)),))


def either(name: str, yes: str, no: str, condition: Callable[[Sample], object]) -> Point:
    """Return a point of two bins: the first where a condition holds, else the second."""
    return one_of(name, (yes, no), lambda sample: yes if condition(sample) else no)


OUTCOME = flags("outcome", true=lambda s: s.result.any(), false=lambda s: not s.result.all())
"""Which truth values a result has."""

RESULT_TYPE = one_of("result type", ("int32", "int64"), lambda s: s.result.dtype)
"""The type of a result of integers."""


def constant(name: str, position: int) -> Point:
    """Return whether an operand is a constant of the model."""
    return either(name, "constant", "computed", lambda s: s.is_constant(position))


ZERO_POINTS = ("-128", "0", "127", "between")


def zero_points(*positions: int, output: bool = True) -> list[Point]:
    """Return the zero points of inputs and of the result: at both ends, 0 and between."""

    def point(name: str, quantization: Callable[[Sample], Quantization]) -> Point:
        def value(s: Sample) -> str:
            code = str(quantization(s).per_tensor()[1])
            return code if code in ZERO_POINTS else "between"

        return one_of(name, ZERO_POINTS, value)

    points = [
        point(f"zero point of input {p}", lambda s, p=p: s.quantization(p)) for p in positions
    ]
    return [*points, point("zero point", Sample.output_quantization)] if output else points


def codes(position: int = 0, *, output: bool = True) -> list[Point]:
    """Return whether the extreme codes occur in an input and in the result."""
    ends = {"lowest": -128, "highest": 127}

    def point(name: str, array: Callable[[Sample], np.ndarray]) -> Point:
        def seen(s: Sample) -> Iterable[str]:
            return (end for end, code in ends.items() if np.any(array(s) == code))

        return Point(name, tuple(ends), seen)

    points = [point("codes", lambda s: s.array(position))]
    return [*points, point("result codes", lambda s: s.result)] if output else points


def rank(ranks: Iterable[int], position: int = 0) -> Point:
    return one_of("rank", ranks, lambda s: len(s.shape(position)))


def traced(name: str, bins: Sequence[str], source: str = "accelerator") -> Point:
    """Return a point of the requantizations, see `lab.coverage.requantizations`."""
    return Point(name, tuple(bins), lambda s: s.labels[source][name])


def requantized(source: str = "accelerator") -> list[Point]:
    """Return what requantizers, or the ``reference``'s roundings, have met."""
    points = {
        "pair shift": PAIR_SHIFTS,
        "multiplier": ("0", "a power of two", "another"),
        "product tie": TIES,
        "tie": TIES,
        "saturation": SATURATIONS,
    }
    return [traced(name, bins, source) for name, bins in points.items()]


ACTIVATIONS = ("NONE", "RELU", "RELU6", "RELU_N1_TO_1")


ACTIVATION = one_of("activation", ACTIVATIONS, lambda s: s.options["fused_activation_function"])


def tail(count: int, unit: int) -> str:
    """Return how a number of channels or bytes fills units of the hardware."""
    if count == 1:
        return "1"
    if count % unit == 0:
        return "whole"
    return "less than one" if count < unit else "a tail"


TAILS = ("1", "less than one", "whole", "a tail")


def channels(name: str, position: int | None, unit: str) -> Point:
    """Return how the channels of an input, or of the result, fill lanes or width."""

    def value(s: Sample) -> str:
        shape = s.output.shape if position is None else s.shape(position)
        return tail(shape[-1], getattr(s.config, unit))

    return one_of(name, TAILS, value)


ELEMENTS = one_of("elements", TAILS, lambda s: tail(prod(s.output.shape), s.config.lanes))
"""How many elements the result has, against the lanes."""


def row_length() -> Point:
    """Return the length of the last dimension."""

    def value(s: Sample) -> str:
        length = s.shape()[-1]
        if length in (1, 2):
            return str(length)
        return "longer than 256" if length > 256 else "odd" if length % 2 else "even"

    return one_of("row length", ("1", "2", "odd", "even", "longer than 256"), value)


def batch(position: int = 0) -> Point:
    """Return whether there are several images."""
    return either("batch", "one", "several", lambda s: s.shape(position)[0] == 1)


def quantized_alike(first: Quantization, second: Quantization) -> bool:
    """Return whether scales and zero points are the same."""
    return first.per_tensor() == second.per_tensor()


KEPT = either(
    "quantization",
    "equal",
    "not rescaled",
    lambda s: quantized_alike(s.quantization(), s.output_quantization()),
)
"""Whether the result has the input's scale and zero point, or is not rescaled to its."""


def sides() -> Point:
    """Return the sides of the zero point that occur."""

    def differences(s: Sample) -> np.ndarray:
        return s.array().astype(np.int64) - s.quantization().per_tensor()[1]

    return flags(
        "side of the zero point",
        below=lambda s: (differences(s) < 0).any(),
        at=lambda s: (differences(s) == 0).any(),
        above=lambda s: (differences(s) > 0).any(),
    )


PLACES = ("first", "between", "last", "counted from the end")


def axis_place(value: Callable[[Sample], int], more: int = 0, position: int = 0) -> Point:
    """Return where an axis of an input lies; ``more`` axes of the result than of the input."""

    def places(s: Sample) -> set[str]:
        axis = value(s)
        last = len(s.shape(position)) + more - 1
        place = axis % (last + 1)
        names = {"counted from the end"} if axis < 0 else set()
        names |= {"first"} if place == 0 else {"between"} if place < last else set()
        return names | ({"last"} if place == last else set())

    return Point("axis", PLACES, places)


def given_axis(position: int) -> Callable[[Sample], int]:
    """Return a function of a sample that reads an axis from an operand."""
    return lambda s: int(s.array(position).reshape(-1)[0])


def operand_type(position: int) -> Point:
    """Return the type of an operand that says what to do."""
    return one_of("operand type", ("int32", "int64"), lambda s: s.array(position).dtype)


def copied(ranks, position: int = 0, kept: bool = True) -> list[Point]:
    """Return what operators that copy have; ``kept``: they take results with other scales."""
    quantization = [KEPT] if kept else []
    return [*codes(position, output=False), rank(ranks, position), *quantization]


def windows(window: Callable[[Sample], Window], *, dilated: bool = False) -> list[Point]:
    """Return strides, sizes, and padding on each side of a window over height and width."""
    sides = ("top", "bottom", "left", "right")

    def padded(s: Sample) -> Iterable[str]:
        amounts = [k for axis in (0, 1) for k in window(s).pads(axis, s.shape()[1 + axis])]
        return [n for n, k in zip(sides, amounts, strict=True) if k] or ["none"]

    points = [
        Point("padding", (*sides, "none"), padded),
        one_of("padding kind", ("SAME", "VALID"), lambda s: window(s).padding),
        one_of("stride of rows", (1, 2, 3), lambda s: window(s).stride[0]),
        one_of("stride of columns", (1, 2, 3), lambda s: window(s).stride[1]),
        flags(
            "window",
            one_pixel=lambda s: window(s).kernel == (1, 1),
            square=lambda s: window(s).kernel[0] == window(s).kernel[1] > 1,
            wide=lambda s: window(s).kernel[0] < window(s).kernel[1],
            high=lambda s: window(s).kernel[0] > window(s).kernel[1],
            larger_than_the_image=lambda s: any(
                window(s).extent(a) > s.shape()[1 + a] for a in (0, 1)
            ),
            pixels_between_windows=lambda s: any(
                window(s).stride[a] > window(s).extent(a) for a in (0, 1)
            ),
        ),
        flags(
            "result size",
            one_pixel=lambda s: s.output.shape[1:3] == (1, 1),
            one_row=lambda s: s.output.shape[1] == 1 < s.output.shape[2],
            one_column=lambda s: s.output.shape[2] == 1 < s.output.shape[1],
            several=lambda s: min(s.output.shape[1:3]) > 1,
        ),
    ]
    if dilated:
        points += [
            one_of("dilation of rows", (1, 2, 3), lambda s: window(s).dilation[0]),
            one_of("dilation of columns", (1, 2, 3), lambda s: window(s).dilation[1]),
        ]
    return points
