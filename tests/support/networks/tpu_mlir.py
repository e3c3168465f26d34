"""Random tensors and parameters of TPU-MLIR's forms, and golden's results."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eightfold.compiler.tpu_mlir.network import TpuMlirNetwork
from eightfold.golden.quantization import Quantization
from eightfold.golden.rounding import ROUNDINGS
from eightfold.golden.tpu_mlir import elementwise, windows
from eightfold.golden.tpu_mlir import numbers as tpu_mlir
from eightfold.target.config import AcceleratorConfig
from tests.support.models.exact_arithmetic import per_tensor

CODES = np.arange(-128, 128).astype(np.int8)
ENDS = (-128, 127)


@dataclass
class Cases:
    """A network of forms side by side: ``inputs`` and golden's ``results`` by tensor, as held.

    ``codes``: how many codes of a the Adds have with every code of b, the ends among them.
    """

    config: AcceleratorConfig
    rng: np.random.Generator
    codes: int = 256
    network: TpuMlirNetwork = field(init=False)
    inputs: dict[int, NDArray[np.int8]] = field(default_factory=dict)
    results: dict[int, NDArray[np.int8]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.network = TpuMlirNetwork(self.config)

    def given(self, x: NDArray) -> int:
        """Add an input with these values, of int8 or uint8."""
        tensor = self.network.input(*x.shape, code=tpu_mlir.code_of(x))
        self.inputs[tensor] = tpu_mlir.to_int8(x)
        return tensor

    def expect(self, result: int, expected: NDArray) -> None:
        """Note golden's result."""
        assert self.network.code(result) == expected.dtype
        self.results[result] = tpu_mlir.to_int8(expected)

    def code(self) -> tpu_mlir.Code:
        """Return a type."""
        return "int8" if self.rng.random() < 0.5 else "uint8"

    def two_codes(self) -> tuple[tpu_mlir.Code, tpu_mlir.Code]:
        """Return two types."""
        return self.code(), self.code()

    def drawn(self, code: tpu_mlir.Code, *shape: int) -> NDArray:
        """Return random codes, the ends often."""
        return tpu_mlir.from_int8(self.int8(*shape), code)

    def int8(self, *shape: int) -> NDArray[np.int8]:
        """Return random codes, the ends often."""
        codes = self.rng.integers(-128, 128, shape)
        return np.where(self.rng.random(shape) < 0.2, self.rng.choice(ENDS, shape), codes).astype(
            np.int8
        )

    def zero_point(self, code: tpu_mlir.Code = "int8") -> int:
        """Return 0, an end or any code."""
        offset = tpu_mlir.OFFSETS[code]
        held = self.rng.choice(np.array([-offset, *ENDS, self.rng.integers(-128, 128)]))
        return int(held) + offset

    def rounding(self) -> str:
        """Return a mode."""
        return str(self.rng.choice(ROUNDINGS))

    def multiplier(self) -> int:
        """Return a multiplier of 8 bits, the ends often."""
        return int(self.rng.choice(np.array([-127, -1, 0, 1, 127, self.rng.integers(-127, 128)])))

    def rshift(self) -> int:
        """Return a shift of the full range, mostly one that leaves something."""
        return int(self.rng.choice([-32, -1, 0, 62, *self.rng.integers(-4, 24, 5)]))

    def quantization(self, code: tpu_mlir.Code = "int8") -> Quantization:
        """Return one as a calibration may find it."""
        return per_tensor(float(np.exp(self.rng.uniform(-4, 1))), self.zero_point(code))

    def size(self, low: int, high: int) -> int:
        """Return a size, ``high`` included."""
        return int(self.rng.integers(low, high + 1))


def nchw(x: NDArray) -> NDArray:
    """Return NHWC in golden's layout."""
    return x.transpose(0, 3, 1, 2)


def nhwc(x: NDArray) -> NDArray:
    """Return golden's layout in the accelerator's."""
    return np.asarray(x.transpose(0, 2, 3, 1), order="C")


def requantizer(cases: Cases, outputs: int, code: tpu_mlir.Code) -> dict[str, Any]:
    """Return fields of any mode, per tensor or per channel, with multipliers of 8 or 32 bits."""
    rng = cases.rng
    count = int(rng.choice([1, outputs]))
    mode: Any = rng.choice(["multiplier_shift", "multiplier_shift", "shift", "tflite"])
    top = int(rng.choice([127, 2**31 - 1]))
    multiplier = rng.integers(0, top + 1, count)
    multiplier = np.where(rng.random(count) < 0.3, rng.choice([0, 1, top], count), multiplier)
    usual = {127: 14, 2**31 - 1: 38}[top] if mode != "shift" else 7
    low, high = (-31, 30) if mode == "tflite" else (-32, 62)
    rshift = rng.integers(-12, 4, count) if mode == "tflite" else usual + rng.integers(-5, 6, count)
    extreme = rng.integers(low, high + 1, count)
    rshift = np.where(rng.random(count) < 0.3, extreme, rshift)
    return tpu_mlir.requantizer(
        multiplier, rshift, mode=mode, rounding=cases.rounding(), zero_point=cases.zero_point(code)
    )


def window(
    cases: Cases, kernel: tuple[int, int], code: tpu_mlir.Code, dilated: bool
) -> dict[str, Any]:
    """Return stride, dilation and pads of a window, and the zero point that pads."""
    rng = cases.rng
    found: dict[str, Any] = {
        "stride": tuple(rng.integers(1, 4, 2).tolist()),
        "pads": tuple(tuple(rng.integers(0, k + 1, 2).tolist()) for k in kernel),
        "input_zero_point": cases.zero_point(code),
    }
    return found | ({"dilation": tuple(rng.integers(1, 3, 2).tolist())} if dilated else {})


def convolution(cases: Cases) -> None:
    """Add a Convolution: dense, depthwise or in groups."""
    rng = cases.rng
    kernel = (cases.size(1, 4), cases.size(1, 4))
    shapes = [(1, 3, 5), (1, 16, 9), (7, 1, 1), (2, 3, 4), (5, 1, 2)]
    groups, depth, each = rng.choice(shapes).tolist()
    outputs = groups * each
    sizes = (cases.size(8, 12), cases.size(8, 12))
    x_code, code = cases.two_codes()
    x = cases.drawn(x_code, cases.size(1, 2), *sizes, groups * depth)
    weights = cases.int8(outputs, depth, *kernel)
    top = int(rng.choice([100, 2**14, 2**31 - 1]))
    bias = None if rng.random() < 0.2 else rng.integers(-top, top + 1, outputs).astype(np.int32)
    fields = requantizer(cases, outputs, code)
    options: Any = window(cases, kernel, x_code, dilated=True) | {"code": code}
    result = cases.network.convolution(cases.given(x), weights, bias, fields, **options)
    expected = windows.convolution(nchw(x), weights, bias, fields, **options)
    cases.expect(result, nhwc(expected))


def inner_product(cases: Cases) -> None:
    """Add an InnerProduct."""
    outputs, size = cases.size(1, 20), cases.size(1, 70)
    code = cases.code()
    x = cases.drawn(cases.code(), cases.size(1, 4), size)
    weights = cases.int8(outputs, size)
    bias = cases.rng.integers(-(2**16), 2**16, outputs).astype(np.int32)
    fields = requantizer(cases, outputs, code)
    result = cases.network.inner_product(cases.given(x), weights, bias, fields, code=code)
    expected = windows.inner_product(x, weights, bias, fields, code=code)
    cases.expect(result, expected)


def avg_pool(cases: Cases) -> None:
    """Add an AvgPool: scales of a calibration, equal ones (with near ties), or any factors."""
    rng = cases.rng
    kernel = (cases.size(1, 5), cases.size(1, 6))
    x_code, code = cases.two_codes()
    x_q, y_q = cases.quantization(x_code), cases.quantization(code)
    if rng.random() < 0.5:
        y_q = per_tensor(float(x_q.scale[0]) * cases.size(1, 2), cases.zero_point(code))
    scale, offset = windows.avg_pool_factors(x_q, y_q, kernel)
    if rng.random() < 0.2:
        scale = np.float32(rng.choice([-1, 0, 1]) * rng.choice(np.array([scale, 1e-30, 1e30, 200])))
    options = {
        "kernel": kernel,
        "scale": scale,
        "offset": offset,
        "rounding": str(rng.choice(["half_away", cases.rounding()])),
        "code": code,
        **window(cases, kernel, x_code, dilated=False),
    }
    x = cases.drawn(x_code, 1, cases.size(6, 9), cases.size(6, 9), cases.size(1, 11))
    result = cases.network.avg_pool(cases.given(x), **options)
    cases.expect(result, nhwc(windows.avg_pool(nchw(x), **options)))


def every_pair(cases: Cases, codes: Sequence[tpu_mlir.Code]) -> tuple[NDArray, NDArray]:
    """Return operands that broadcast to pairs of codes, in any order: all if there is time."""
    a = np.concatenate([ENDS, cases.rng.permutation(CODES[1:-1])]).astype(np.int8)
    held = a[: cases.codes, None], cases.rng.permutation(CODES)
    first, second = (tpu_mlir.from_int8(*pair) for pair in zip(held, codes[:2], strict=True))
    return first, second


def add_symmetric(cases: Cases) -> None:
    """Add a symmetric Add of every pair of codes."""
    a, b = every_pair(cases, cases.two_codes())
    options: Any = {
        "code": cases.code(),
        "multipliers": (cases.multiplier(), cases.multiplier()),
        "rshift": cases.rshift(),
        "rounding": cases.rounding(),
    }
    result = cases.network.add_symmetric(cases.given(a), cases.given(b), **options)
    cases.expect(result, elementwise.add_symmetric(a, b, **options))


def add_asymmetric(cases: Cases) -> None:
    """Add an asymmetric Add of every pair of codes."""
    codes = (*cases.two_codes(), cases.code())
    add_quantized(cases, [cases.quantization(code) for code in codes], codes)


def nearly_tied(cases: Cases) -> list[Quantization]:
    """Return scales whose ratios are those of small integers."""
    scale = float(np.exp(cases.rng.uniform(-4, 1)))
    return [per_tensor(scale * r, cases.zero_point()) for r in cases.rng.integers(1, 6, 3)]


def much_finer(cases: Cases) -> list[Quantization]:
    """Return scales of any magnitude, the output's much finer than those of a and b, or not.

    Where it is, sums within its range are what is left of large operands: float32 has few bits.
    """
    unit = 2.0 ** cases.rng.uniform(-60, 18)
    ratios = 2.0 ** np.array([*cases.rng.uniform(0, 2, 2), cases.rng.uniform(-24, 6)])
    return [per_tensor(unit * ratio, cases.zero_point()) for ratio in ratios]


def add_quantized(
    cases: Cases, quantizations: list[Quantization], codes: Sequence[tpu_mlir.Code] = ("int8",) * 3
) -> None:
    """Add an asymmetric Add."""
    a, b = every_pair(cases, codes)
    names = ("a_quantization", "b_quantization", "output_quantization")
    options: Any = dict(zip(names, quantizations, strict=True))
    options["rounding"] = str(cases.rng.choice(["half_away", cases.rounding()]))
    options["code"] = codes[-1]
    result = cases.network.add_asymmetric(cases.given(a), cases.given(b), **options)
    cases.expect(result, elementwise.add_asymmetric(a, b, **options))


def slopes(cases: Cases, x_code: tpu_mlir.Code) -> dict[str, Any]:
    """Return what LeakyReLU and PReLU share."""
    code = cases.code()
    return {
        "code": code,
        "rshift": cases.rshift(),
        "input_zero_point": cases.zero_point(x_code),
        "output_zero_point": cases.zero_point(code),
        "rounding": cases.rounding(),
    }


def leaky_relu(cases: Cases) -> None:
    """Add a LeakyReLU of every code."""
    x_code = cases.code()
    held = np.tile(cases.rng.permutation(CODES), 2)[: 256 + cases.size(0, 9)]
    x = tpu_mlir.from_int8(held, x_code)
    options: dict[str, Any] = slopes(cases, x_code) | {"multiplier": cases.multiplier()}
    result = cases.network.leaky_relu(cases.given(x), **options)
    cases.expect(result, elementwise.leaky_relu(x, **options))


def prelu(cases: Cases) -> None:
    """Add a PReLU of every code in every channel; some have more slopes than a table."""
    channels = int(cases.rng.choice([1, 3, 9, 300]))
    x = np.stack([cases.rng.permutation(CODES) for _ in range(channels)], axis=-1)
    x_code = cases.code()
    x = tpu_mlir.from_int8(x[None, : 40 if channels == 300 else 256], x_code)
    several = cases.rng.random() < 0.6 or channels == 300
    multiplier: Any = cases.multiplier()
    if several:
        multiplier = cases.rng.integers(-127, 128, channels)
    alpha = cases.int8(1 if cases.rng.random() < 0.2 else channels)
    options = slopes(cases, x_code) | {"multiplier": multiplier}
    result = cases.network.prelu(cases.given(x), alpha, **options)
    expected = elementwise.prelu(x.transpose(0, 2, 1), alpha, **options)
    cases.expect(result, expected.transpose(0, 2, 1))


def pad(cases: Cases) -> None:
    """Add a Pad of any rank, sides without padding too."""
    rank = cases.size(1, 4)
    x_code, code = cases.two_codes()
    x = cases.drawn(x_code, *cases.rng.integers(1, 6, rank).tolist())
    output = cases.quantization(code)
    same = int(np.clip(output.zero_point[0], *tpu_mlir.RANGES[x_code]))
    options: Any = {
        "paddings": cases.rng.integers(0, 4, (rank, 2)),
        "value": float(cases.rng.choice([0, 1e9, -np.inf, cases.rng.normal()])),
        "input_zero_point": int(cases.rng.choice([same, cases.zero_point(x_code)])),
        "code": code,
        "output_quantization": output,
    }
    result = cases.network.pad(cases.given(x), **options)
    cases.expect(result, elementwise.pad(x, **options))


FORMS: dict[str, Callable[[Cases], None]] = {
    "convolution": convolution,
    "inner_product": inner_product,
    "avg_pool": avg_pool,
    "add_symmetric": add_symmetric,
    "add_asymmetric": add_asymmetric,
    "add_with_near_ties": lambda cases: add_quantized(cases, nearly_tied(cases)),
    "add_extreme": lambda cases: add_quantized(cases, much_finer(cases)),
    "leaky_relu": leaky_relu,
    "prelu": prelu,
    "pad": pad,
}
"""What adds a form with random parameters to a network."""


def random_cases(
    form: str, config: AcceleratorConfig, seed: int, count: int, codes: int = 256
) -> Cases:
    """Return a network with ``count`` forms of a kind."""
    cases = Cases(config, np.random.default_rng([seed, *form.encode()]), codes)
    for _ in range(count):
        FORMS[form](cases)
    return cases
