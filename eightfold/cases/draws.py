"""What random cases are drawn from: codes, scales, zero points, shapes, windows.

`SingleOperator` collects a model of one operator, `GrowingNetwork` one that grows operator by
operator: the tensors that it has, and what may still be added. A `Maker` draws both.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from math import prod
from typing import Any

import numpy as np

from eightfold.cases.builder import NetworkBuilder, Quantized, Value
from eightfold.golden.errors import SpecError
from eightfold.model import Operator
from eightfold.operators import window_of

Case = tuple[bytes, dict[int, np.ndarray]]
Random = np.random.Generator

ACTIVATIONS = ("NONE", "RELU", "RELU6", "RELU_N1_TO_1")


def random_codes(rng: Random, shape: Sequence[int], low: int = -128) -> np.ndarray:
    """Return int8 codes in [low, 127]: mostly uniform, sometimes only the ends or all equal."""
    kind = rng.integers(8)
    if kind == 0:
        return rng.choice([low, 127], shape).astype(np.int8)
    if kind == 1:
        return np.full(shape, rng.choice([low, 127, 0, -1, 1]), dtype=np.int8)
    return rng.integers(low, 127, shape, dtype=np.int8, endpoint=True)


def random_truths(rng: Random, shape: Sequence[int]) -> np.ndarray:
    """Return truth values: mostly as many of both, sometimes few of one, or none."""
    return rng.random(shape) < rng.choice([0.5, 0.5, 0.5, 0.05, 0.95, 0.0, 1.0])


def every_code(rng: Random) -> np.ndarray:
    """Return the 256 int8 codes in random order."""
    return rng.permutation(np.arange(-128, 128)).astype(np.int8)


def some_or_every_code(rng: Random) -> np.ndarray:
    """Return all codes in a shape that has them, or in a quarter of the cases any shape."""
    if rng.integers(4):
        return every_code(rng).reshape([(256,), (1, 256), (4, 64), (2, 4, 4, 8)][rng.integers(4)])
    return random_codes(rng, random_shape(rng))


def random_zero_point(rng: Random) -> int:
    """Return -128, 127, 0 or any int8."""
    ends = -128, 127, 0
    return bounded(
        rng,
        "zero_point",
        lambda: int(rng.choice([*ends, int(rng.integers(-128, 127, endpoint=True))])),
    )


def random_shape(rng: Random, ranks: Sequence[int] = (1, 2, 3, 4), limit: int = 6) -> list[int]:
    """Return a shape of a rank of ``ranks``, sizes 1..limit."""
    sizes = rng.integers(1, limit, rng.choice(ranks), endpoint=True).tolist()
    return [bounded(rng, "size", lambda size=size: size) for size in sizes]


def random_activation(rng: Random) -> dict[str, str]:
    name = bounded(rng, "activation", lambda: str(rng.choice(ACTIVATIONS)))
    return {"fused_activation_function": name}


def broadcast_shapes(rng: Random) -> list[list[int]]:
    """Return two equal shapes, or two that broadcast, to rank 8 in a quarter of the cases."""
    wide = rng.integers(4) == 0
    return broadcasting(rng, range(5, 9) if wide else (1, 2, 3, 4), 2 if wide else 6)


def broadcasting(rng: Random, ranks: Sequence[int], limit: int) -> list[list[int]]:
    """Return two equal shapes, or two that broadcast, of ranks and sizes as `random_shape`."""
    full = random_shape(rng, ranks, limit)
    shapes = [list(full), list(full)]
    if rng.integers(2):
        for shape in shapes:
            ones = rng.integers(3, size=len(shape)) == 0
            shape[:] = [1 if one else size for one, size in zip(ones, shape, strict=True)]
        shorter = shapes[rng.integers(2)]
        del shorter[: rng.integers(len(shorter))]
    return shapes


def index_dtype(rng: Random) -> type[np.signedinteger]:
    """Return int32 or int64."""
    return np.int32 if rng.integers(2) else np.int64


def choose(rng: Random, *sizes: int) -> int:
    return int(rng.choice(sizes))


@dataclass
class Bounds:
    """What models of one operator are drawn within; without any, all that the kernels take.

    ``spec``: whether nothing is drawn that a row of the spec forbids, or whose arithmetic C++
        leaves undefined.
    ``constants``: whether what says how to move or reduce is a constant.
    ``values``: by feature, such as ``kernel`` or ``batch``, those that are drawn.
    ``left``: set where a model leaves the spec.
    """

    spec: bool = False
    constants: bool = False
    values: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    left: bool = False


_WITHOUT = Bounds()

_BOUNDS = ContextVar("what models are drawn within", default=_WITHOUT)


@contextmanager
def bounded_by(bounds: Bounds) -> Iterator[None]:
    """Let models be drawn within bounds."""
    token = _BOUNDS.set(bounds)
    try:
        yield
    finally:
        _BOUNDS.reset(token)


def within_spec() -> bool:
    """Return whether nothing beyond the spec is drawn."""
    return _BOUNDS.get().spec


def beyond(rng: Random, one_in: int) -> bool:
    """Return whether a model leaves the spec here: one of so many, none within its bounds."""
    bounds = _BOUNDS.get()
    leaves = rng.integers(one_in) == 0 and not bounds.spec
    bounds.left |= leaves
    return bool(leaves)


def bounded(rng: Random, feature: str, draw: Callable[[], Any]) -> Any:
    """Return what ``draw`` does, or if a feature is bounded one of its values, half of them any."""
    values = _BOUNDS.get().values.get(feature)
    drawn = draw()
    if values is None:
        return drawn
    if rng.integers(2):
        for _ in range(20):
            if drawn in values:
                return drawn
            drawn = draw()
    return values[int(rng.integers(len(values)))]


def random_size(rng: Random, feature: str, *sizes: int) -> int:
    """Return one of the sizes, or where the feature is bounded one of its values."""
    return bounded(rng, feature, lambda: choose(rng, *sizes))


def random_kernel(rng: Random, most: int) -> list[int]:
    """Return height and width of a window, 1..most each."""
    pair = bounded(rng, "kernel", lambda: tuple(rng.integers(1, most, 2, endpoint=True).tolist()))
    return list(pair)


def is_constant(rng: Random, mostly: bool) -> bool:
    """Return whether an operand is a constant: in three quarters of the models, or in one."""
    kind = bounded(
        rng, "operands", lambda: "constant" if bool(rng.integers(4)) is mostly else "computed"
    )
    return kind == "constant"


class SingleOperator(NetworkBuilder):
    """A model of one operator with what all cases share: int8 inputs, their codes, scales.

    In a quarter of the models all scales are powers of two, so that products end in exact ties.
    """

    def __init__(self, rng: Random) -> None:
        super().__init__()
        self.rng = rng
        self.inputs: dict[int, np.ndarray] = {}
        self._powers = rng.integers(4) == 0

    def scale(self, near: float = 0.1, spread: float = 2.0) -> float:
        """Return a float32 within 2^-spread..2^spread of ``near``; often a power of two."""
        exponent = np.log2(near) + self.rng.uniform(-spread, spread)
        power = self._powers or self.rng.integers(4) == 0
        return float(np.float32(2.0 ** (round(exponent) if power else exponent)))

    def output_scale(
        self, suited: float, unit: float, far: tuple[float, float] = (-33.0, 29.0), bits: int = 24
    ) -> float:
        """Return a scale near ``suited``; in one of 8 models a far one, for other shifts.

        ``unit``: the scale that makes the multiplier 1.
        ``far``: least and most exponent of the multiplier where it is far. The scale stays above
            2^-27, so that the bounds of activations stay in int32.
        ``bits``: of what is multiplied: a left shift of it beyond int32 is not within the spec.
        """
        if self.rng.integers(8):
            return self.scale(suited)
        low, high = far
        defined = 29.0 - bits
        high = min(high, defined) if within_spec() else high
        between = (e for e in (-31.5, -20.0, -11.5, -4.0, -0.5, 4.0) if low < e < high)
        exponent = self.rng.choice([low, high, *between])
        _BOUNDS.get().left |= bool(exponent > defined)
        return max(self.scale(unit * 2.0**-exponent, 0.0), 2.0**-27)

    def operand(self, codes: np.ndarray, scale: float, zero_point: int) -> int:
        """Add an input of these codes, int8 or uint8; return its index."""
        index = self.input(codes.shape, scale=scale, zero_point=zero_point, dtype=codes.dtype)
        self.inputs[index] = codes
        return index

    def coded(self, codes: np.ndarray, scale: float, zero_point: int, constant: bool) -> int:
        """Add a constant or an input of these codes; return its index."""
        if constant:
            return self.constant(codes, scale=scale, zero_point=zero_point)
        return self.operand(codes, scale, zero_point)

    def unquantized(self, array: np.ndarray) -> int:
        """Add an input that is not quantized, such as axes; return its index."""
        index = self.input(array.shape, dtype=array.dtype)
        self.inputs[index] = array
        self.assume(index, array)
        return index

    def truths(self, shape: Sequence[int]) -> int:
        """Add random truth values: mostly an input, sometimes a constant; return their index."""
        array = np.asarray(random_truths(self.rng, shape))
        return self.unquantized(array) if self.rng.integers(4) else self.constant(array)

    def given(self, array: np.ndarray) -> int:
        """Return an operand such as axes: mostly a constant, always if the `Bounds` say so."""
        if _BOUNDS.get().constants or is_constant(self.rng, mostly=True):
            return self.constant(array)
        return self.unquantized(array)

    def finish(
        self,
        operator: str,
        inputs: Sequence[int],
        quantization: tuple[float, int] | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> Case:
        """Add the operator, and return the model and its inputs."""
        for result in self.add_several(operator, inputs, quantization, options):
            self.output(result.index)
        return self.build(), self.inputs


def random_window(rng: Random, kernel: tuple[int, int], dilated: bool) -> tuple[dict, list[int]]:
    """Return the options of a window, and input sizes that it fits."""
    strides = bounded(rng, "stride", lambda: tuple(rng.integers(1, 3, 2, endpoint=True).tolist()))
    dilations = (1, 1)
    if dilated:
        dilations = bounded(rng, "dilation", lambda: tuple(rng.choice([1, 1, 2, 3], 2).tolist()))
    padding = bounded(rng, "padding", lambda: str(rng.choice(["SAME", "VALID"])))
    options = {"padding": padding, "stride_h": strides[0], "stride_w": strides[1]}
    if dilated:
        options |= {"dilation_h_factor": dilations[0], "dilation_w_factor": dilations[1]}
    least = [
        (k - 1) * d + 1 if padding == "VALID" else 1 for k, d in zip(kernel, dilations, strict=True)
    ]
    sizes = [bounded(rng, "size", lambda n=n: n + int(rng.integers(0, 7))) for n in least]
    return options, np.maximum(sizes, least).tolist()


def output_shape(x: Sequence[int], kernel: Sequence[int], options: dict, depth: int) -> list[int]:
    """Return the shape of what a window makes of ``x``; raises `SpecError` if it does not fit."""
    window = window_of(Operator(0, "", (), (), options), (kernel[0], kernel[1]))
    return [x[0], *window.output_sizes(tuple(x)), depth]


SCALES = (2.0**-16, 2.0**6)
"""Scales of activations stay in this range: a chain of MULs squares them again and again."""


def any_rank(value: Value) -> bool:
    """Return true: also a scalar suits."""
    return True


def has_axes(value: Value) -> bool:
    """Return whether a tensor is no scalar."""
    return len(value.shape) > 0


def is_image(value: Value) -> bool:
    """Return whether a tensor has rank 4."""
    return len(value.shape) == 4


class UnsuitableError(Exception):
    """No tensor of the network suits the operator, or its result would exceed the limits."""


class GrowingNetwork(SingleOperator):
    """Draws inputs of operators from the tensors there are, and adds the operators.

    ``rng``: source of every choice.
    ``operators``: names that may be added.
    ``max_elements``: most elements of a tensor.
    ``max_macs``: most multiply-accumulates of the whole network, padding taps included.
    """

    def __init__(
        self, rng: Random, operators: frozenset[str], max_elements: int, max_macs: int
    ) -> None:
        super().__init__(rng)
        self.operators = operators
        self.length = 0
        self._max_elements = max_elements
        self._macs = max_macs
        self._values: list[Value] = []
        self._truths: list[Value] = []
        self._graph_inputs: set[int] = set()
        self._read: set[int] = set()
        self._results: list[int] = []

    def graph_input(self, shape: Sequence[int], scale: float | None = None) -> Value:
        """Add an input of the graph, and return its int8 codes.

        If there may be a QUANTIZE some are uint8 and, if a DEQUANTIZE too, float32 in front of one.
        """
        self._need_room(shape)
        scale, zero_point = self.scale() if scale is None else scale, random_zero_point(self.rng)
        codes = np.asarray(random_codes(self.rng, shape))
        kind = self.rng.integers(8) if "QUANTIZE" in self.operators else 0
        if kind == 1:
            above = (codes.astype(np.int16) + 128).astype(np.uint8)
            source = self.operand(above, scale, random_zero_point(self.rng) + 128)
        elif kind == 2 and "DEQUANTIZE" in self.operators:
            steps = codes.astype(np.float32) - self.rng.integers(3, size=shape) / np.float32(2)
            source = self.unquantized((steps * np.float32(scale)).astype(np.float32))
        else:
            source = self.operand(codes, scale, zero_point)
        self._graph_inputs.add(source)
        index = source
        if self.inputs[source].dtype != np.int8:
            index = self.quantized(source, shape, np.int8, scale, zero_point)
        value = Value(index, tuple(shape), scale, zero_point)
        self._values.append(value)
        return value

    def quantized(
        self, source: int, shape: Sequence[int], dtype: type, scale: float, zero_point: int
    ) -> int:
        """Return the result of a QUANTIZE to int8 or uint8, which operators need not read."""
        result = self.tensor(shape, scale=scale, zero_point=zero_point, dtype=dtype)
        self.operator("QUANTIZE", [source], [result])
        self.length += 1
        self._read.add(source)
        self._results.append(result)
        return result

    def pick(self, suits: Callable[[Value], bool] = has_axes) -> Value:
        """Return one of the tensors that suit; the newest ones often, so that chains form."""
        suitable = [value for value in self._values if suits(value)]
        if not suitable:
            raise UnsuitableError
        if self.rng.integers(2):
            suitable = suitable[-2:]
        return suitable[self.rng.integers(len(suitable))]

    def truth(self, suits: Callable[[Value], bool], shape: Sequence[int]) -> Value:
        """Return truth values that suit: of a comparison, or if there are none an input's."""
        if not (found := [value for value in self._truths if suits(value)]):
            self._need_room(shape)
            array = np.asarray(random_truths(self.rng, shape))
            found = [Value(self.unquantized(array), tuple(shape))]
            self._truths += found
        return found[self.rng.integers(len(found))]

    def kernel(self, shape: Sequence[int], most: int) -> list[int]:
        """Return height and width of a window for an input of a shape, usually ``most`` at most."""
        return random_kernel(self.rng, most)

    def window(
        self, shape: Sequence[int], kernel: Sequence[int], *, dilated: bool
    ) -> dict[str, Any]:
        """Return the options of a window that fits an input."""
        options, _ = random_window(self.rng, (kernel[0], kernel[1]), dilated)
        try:
            output_shape(shape, kernel, options, 1)
        except SpecError:
            options["padding"] = "SAME"
        return options

    def rescaled(self, near: float, spread: float = 2.0) -> tuple[float, int]:
        """Return a scale near another, and any zero point."""
        return self.scale(near, spread), random_zero_point(self.rng)

    def kept(self, value: Value) -> tuple[float, int]:
        """Return the value's quantization; sometimes another: accepted, and not rescaled."""
        if not beyond(self.rng, 4):
            return value.scale, value.zero_point
        return self.rescaled(0.1)

    def need(self, operator: str) -> None:
        """Raise `UnsuitableError` if an operator may not be added."""
        if operator not in self.operators:
            raise UnsuitableError

    def equalized(self, value: Value, like: Value) -> Value:
        """Return the value with the quantization of ``like``, by a QUANTIZE if need be."""
        if (value.scale, value.zero_point) == (like.scale, like.zero_point):
            return value
        self.need("QUANTIZE")
        return self.add("QUANTIZE", [value], like)

    def add_several(
        self,
        operator: str,
        inputs: Sequence[Value | int],
        quantization: Quantized | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> list[Value]:
        """Add an operator; later ones may read int8 results.

        `UnsuitableError`: multiply-accumulates, elements or the results' scale leave their limits.
        """
        assert operator in self.operators
        shapes, dtype = self.results(operator, inputs, options)
        macs = self.count_macs(operator, inputs, shapes)
        if macs > self._macs:
            raise UnsuitableError
        if isinstance(quantization, tuple) and not SCALES[0] <= quantization[0] <= SCALES[1]:
            raise UnsuitableError
        for shape in shapes:
            self._need_room(shape)
        values = super().add_several(operator, inputs, quantization, options)
        self.length += 1
        self._macs -= macs
        self._read.update(each if isinstance(each, int) else each.index for each in inputs)
        self._results += [value.index for value in values]
        self._values += values if dtype == np.int8 else []
        self._truths += values if dtype == np.bool_ else []
        return values

    def assign(self, handle: int, value: Value) -> None:
        """Add ASSIGN_VARIABLE, which has no result."""
        self.operator("ASSIGN_VARIABLE", [handle, value.index], [])
        self.length += 1
        self._read.add(value.index)

    def finish_network(self) -> Case:
        """Return model and inputs; outputs are what nothing reads, some others, maybe an input."""
        outputs = [
            index for index in self._results if index not in self._read or not self.rng.integers(6)
        ]
        if self.rng.integers(8) == 0:
            outputs.append(int(self.rng.choice(sorted(self._graph_inputs))))
        for index in self.rng.permutation(outputs):
            self.output(int(index))
        return self.build(), self.inputs

    def _need_room(self, shape: Sequence[int]) -> None:
        if prod(shape) > self._max_elements:
            raise UnsuitableError


Extension = Callable[[GrowingNetwork], object]
"""Adds an operator to a network, with operands of those that are there."""


@dataclass(frozen=True)
class Maker:
    """How models with an operator are drawn.

    ``single``: makes a model of it alone.
    ``extend``: makes a network grow by it; None: networks do not have it.
    """

    single: Callable[[Random], Case]
    extend: Extension | None


def makers(
    single: Callable[[str, Random], Case],
    extend: Callable[[str, GrowingNetwork], object],
    *operators: str,
) -> dict[str, Maker]:
    """Return the makers of operators that are drawn alike, by functions of the name first."""
    return {name: Maker(partial(single, name), partial(extend, name)) for name in operators}
