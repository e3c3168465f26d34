"""What random cases are drawn from: codes, scales, zero points, shapes, windows."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from eightfold.cases.builder import NetworkBuilder

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


_BOUNDS: ContextVar[Bounds | None] = ContextVar("what models are drawn within", default=None)

_WITHOUT = Bounds()


def _bounds() -> Bounds:
    return _BOUNDS.get() or _WITHOUT


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
    return _bounds().spec


def beyond(rng: Random, one_in: int) -> bool:
    """Return whether a model leaves the spec here: one of so many, none within its bounds."""
    bounds = _bounds()
    leaves = rng.integers(one_in) == 0 and not bounds.spec
    bounds.left |= leaves
    return bool(leaves)


def bounded(rng: Random, feature: str, draw: Callable[[], Any]) -> Any:
    """Return what ``draw`` does, or where a feature is bounded one of its values.

    Half of these come from ``draw``, as often as it does give them; the others are any, among them
    those that it never gives.
    """
    values = _bounds().values.get(feature)
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
        _bounds().left |= bool(exponent > defined)
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
        """Return an operand such as axes: mostly a constant, sometimes an input.

        Always a constant where the `Bounds` say so.
        """
        if _bounds().constants or is_constant(self.rng, mostly=True):
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


def _output_size(options: dict, axis: int, size: int, kernel: int) -> int:
    letter = "hw"[axis]
    stride = options[f"stride_{letter}"]
    dilation = options.get(f"dilation_{letter}_factor", 1)
    extent = (kernel - 1) * dilation + 1 if options["padding"] == "VALID" else 1
    return (size - extent) // stride + 1


def output_shape(
    x: Sequence[int], kernel: Sequence[int], options: dict, channels: int
) -> list[int]:
    return [
        x[0],
        *(_output_size(options, axis, x[1 + axis], kernel[axis]) for axis in (0, 1)),
        channels,
    ]
