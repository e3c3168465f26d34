"""TPU-MLIR's forms on the machine model equal golden, and are refused only where golden refuses."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eightfold.common.errors import InputError
from eightfold.compiler.lower.pointwise import EVERY_BYTE
from eightfold.compiler.steps.elementwise import Elementwise
from eightfold.compiler.tpu_mlir.lower import TwoBytes, asymmetric_sum, two_bytes
from eightfold.compiler.tpu_mlir.network import Form, Program, TpuMlirNetwork, Value
from eightfold.golden.quantization import Quantization
from eightfold.golden.requantize import requantize
from eightfold.golden.tpu_mlir import elementwise, windows
from eightfold.golden.tpu_mlir import numbers as tpu_mlir
from eightfold.isa import Combine
from eightfold.target.config import PRESETS
from lab.hostile.subject import run_compiled
from tests.eightfold.compiler.test_compiler import TIGHT
from tests.support.models.exact_arithmetic import per_tensor
from tests.support.networks.tpu_mlir import (
    CODES,
    FORMS,
    Cases,
    add_quantized,
    much_finer,
    nchw,
    nearly_tied,
    nhwc,
    random_cases,
)


def expect_golden(cases: Cases) -> list:
    """Compile, run and compare; return the commands."""
    (segment,) = cases.network.compile().segments
    assert segment.compiled is not None
    found = run_compiled(segment.compiled, cases.network.graph, cases.inputs)
    assert set(found) == set(cases.results)
    for tensor, expected in cases.results.items():
        np.testing.assert_array_equal(found[tensor], expected, err_msg=f"tensor {tensor}")
    return [issued.command for issued in segment.compiled.issued]


FEW_CODES = {"add_with_near_ties": 8, "add_extreme": 8}
"""Of operand a, in Adds of many commands; `test_an_add_has_every_pair` has all 256."""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("preset", "seed", "count"),
    [*(("small", seed, 3) for seed in range(2)), *(("base", seed, 5) for seed in range(20, 24))],
)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.usual("form", "preset")
def test_a_form_equals_golden(form: str, preset: str, seed: int, count: int) -> None:
    expect_golden(random_cases(form, PRESETS[preset], seed, count, FEW_CODES.get(form, 256)))


@pytest.mark.slow
@pytest.mark.parametrize("config", ["4x4", "6x5", "2x9"])
@pytest.mark.parametrize("form", ["convolution", "inner_product", "avg_pool", "prelu", "pad"])
@pytest.mark.usual("form")
def test_a_form_equals_golden_where_little_fits(form: str, config: str) -> None:
    expect_golden(random_cases(form, TIGHT[config], 10, 3))


def opcodes(cases: Cases) -> list[str]:
    """Compare with golden; return the commands that compute."""
    names = [command.opcode.name for command in expect_golden(cases)]
    return [name for name in names if name in ("MATRIX", "VECTOR")]


@pytest.mark.parametrize("seed", range(20))
def test_an_add_of_calibrated_scales_is_one_command(seed: int) -> None:
    cases = Cases(PRESETS["base"], np.random.default_rng([100 + seed, *b"add_asymmetric"]), codes=2)
    add_quantized(cases, [cases.quantization() for _ in range(3)])
    assert opcodes(cases) == ["VECTOR"]


def pooled(kernel: tuple[int, int], scale: float, offset: float, rounding: str) -> list[str]:
    """Return the commands of an AvgPool over a single window of every sum's kind."""
    cases = Cases(PRESETS["base"], np.random.default_rng(0))
    for x in (cases.int8(1, *kernel, 2), np.full((1, *kernel, 2), -128, np.int8)):
        options: Any = {"kernel": kernel, "scale": scale, "offset": offset, "rounding": rounding}
        result = cases.network.avg_pool(cases.given(x), **options)
        cases.results[result] = nhwc(windows.avg_pool(nchw(x), **options))
    return opcodes(cases)


def test_a_mean_is_one_command() -> None:
    assert pooled((7, 7), 0.713 / 49, -3.37, "half_away") == ["MATRIX"] * 2


def test_a_mean_with_near_ties_takes_the_sums_bytes() -> None:
    assert pooled((3, 5), 1 / 15, -11, "toward_zero")[:3] == ["MATRIX", "MATRIX", "VECTOR"]


def test_sums_of_more_than_two_bytes_are_computed_in_parts() -> None:
    assert pooled((16, 17), 1 / 272, 5, "half_even").count("MATRIX") == 8


def test_any_function_of_two_bytes_is_computed() -> None:
    cases = Cases(PRESETS["base"], np.random.default_rng(3))
    values = cases.int8(256, 256).astype(np.int64)
    function = two_bytes(values, (np.zeros(256), np.zeros(256)), "down")
    expect_every_pair(function, values)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("quantizations", [nearly_tied, much_finer])
def test_an_add_has_every_pair(
    quantizations: Callable[[Cases], list[Quantization]], seed: int
) -> None:
    cases = Cases(PRESETS["base"], np.random.default_rng([seed, 5]))
    a, b, output = quantizations(cases)
    rounding = cases.rounding()
    function = asymmetric_sum(("int8",) * 3, a, b, output, rounding)
    values = elementwise.add_asymmetric(
        EVERY_BYTE[:, None],
        EVERY_BYTE[None, :],
        a_quantization=a,
        b_quantization=b,
        output_quantization=output,
        rounding=rounding,
    )
    expect_every_pair(function, values)


def expect_every_pair(function: TwoBytes, values: np.ndarray) -> None:
    """Compare what the commands compute with ``values[a, b]``, by unsigned bytes."""
    a, b = CODES[:, None].astype(np.int64), CODES[None, :].astype(np.int64)
    result = run_elementwise(function.base, a, b)
    for correction in function.corrections:
        operands = (b, a) if function.swapped else (a, b)
        result = run_elementwise(function.join, result, run_elementwise(correction, *operands))
    np.testing.assert_array_equal(result, values[a & 255, b & 255])


def run_elementwise(operation: Elementwise, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return what a VECTOR command computes, in int64."""
    operands = [a, b]
    for side, table in enumerate(operation.tables):
        operands[side] = table[operands[side] & 255]
    first, second = operands
    if operation.combine == Combine.MULTIPLY:
        assert np.all(np.abs(first) < 2**15) and np.all(np.abs(second) < 2**21)
    functions = {Combine.ADD: np.add, Combine.SUBTRACT: np.subtract, Combine.MULTIPLY: np.multiply}
    combined = functions[operation.combine](first, second)
    return requantize(combined, **operation.requantize).astype(np.int64)


WEIGHTS = np.ones((4, 3, 2, 2), np.int8)
FIELDS = tpu_mlir.requantizer(1, 0)
UNIT = per_tensor(1.0, 0)


@pytest.mark.parametrize(
    ("add", "message"),
    [
        (lambda n, x: n.convolution(x, WEIGHTS[0], None, FIELDS), "Convolution: the filter has"),
        (lambda n, x: n.convolution(x, WEIGHTS * np.int16(200), None, FIELDS), "must be int8"),
        (lambda n, x: n.convolution(x, WEIGHTS[:, :2], None, FIELDS), "does not fit 3 channels"),
        (lambda n, x: n.convolution(x, WEIGHTS, None, FIELDS, stride=(0, 1)), "stride"),
        (lambda n, x: n.convolution(x, WEIGHTS, None, FIELDS | {"right": 63}), "right must be"),
        (lambda n, x: n.convolution(x, WEIGHTS, [2**31] * 4, FIELDS), "bias must be"),
        (lambda n, x: n.convolution(x, WEIGHTS, [1, 2, 3], FIELDS), "shape"),
        (lambda n, x: n.inner_product(x, WEIGHTS, None, FIELDS), "InnerProduct: weights of"),
        (lambda n, x: n.avg_pool(x, kernel=(9, 1), scale=1.0, offset=0.0), "does not fit into 4"),
        (lambda n, x: n.avg_pool(x, kernel=(1, 1), scale=np.inf, offset=0.0), "must be finite"),
        (
            lambda n, x: n.avg_pool(x, kernel=(1, 1), scale=1, offset=0, input_zero_point=128),
            "does not exist",
        ),
        (lambda n, x: n.add_symmetric(x, x, multipliers=(1, 128), rshift=0), "-127..127"),
        (lambda n, x: n.add_symmetric(x, x, multipliers=(1, 1), rshift=63), "-32..62"),
        (lambda n, x: n.add_symmetric(x, 7, multipliers=(1, 1), rshift=0), "no tensor 7"),
        (lambda n, x: n.leaky_relu(x, multiplier=-128, rshift=0), "LeakyReLU: the multiplier"),
        (
            lambda n, x: n.prelu(x, np.ones(2, np.int8), multiplier=1, rshift=0),
            "2 slopes do not fit 3",
        ),
        (
            lambda n, x: n.pad(x, [[1, 1]], 0.0, input_zero_point=0, output_quantization=UNIT),
            "4 pairs",
        ),
        (
            lambda n, x: n.pad(x, [[0, 0]], np.nan, input_zero_point=0, output_quantization=UNIT),
            "NaN",
        ),
        (
            lambda n, x: n.add_asymmetric(
                x,
                x,
                a_quantization=per_tensor(3e38, -128),
                b_quantization=per_tensor(3e38, 127),
                output_quantization=UNIT,
            ),
            "NaN",
        ),
        (lambda n, _: n.input(), "the shape"),
    ],
)
def test_what_golden_refuses_is_refused(
    add: Callable[[TpuMlirNetwork, int], int], message: str
) -> None:
    network = TpuMlirNetwork(PRESETS["small"])
    x = network.input(1, 4, 5, 3)
    with pytest.raises(InputError, match=message):
        add(network, x)


def test_an_empty_network_is_refused() -> None:
    with pytest.raises(InputError, match="no forms"):
        TpuMlirNetwork(PRESETS["small"]).compile()


@pytest.mark.parametrize("odd", [np.array([1j, 0]), np.array(["a", "b"])], ids=["complex", "text"])
def test_what_is_no_real_number_is_refused(odd: np.ndarray, tmp_path: Path) -> None:
    values = [Value(name=name, shape=(2,), code="int8", scale=0.5, zero_point=0) for name in "xy"]
    program = Program(tuple(values), 1, (1,), (Form("arrange", (0,), {"order": odd}),))
    with pytest.raises(InputError, match=r"input x: is .*; give real numbers"):
        program.run({"x": odd})
    (tmp_path / "n.npz").write_bytes(program.save())
    with pytest.raises(InputError, match="array_0 is .*, not of real numbers"):
        Program.load(tmp_path / "n.npz")


def test_forms_follow_each_other() -> None:
    cases = Cases(PRESETS["small"], np.random.default_rng(0))
    network = cases.network
    x = cases.int8(1, 6, 7, 5)
    weights = cases.int8(5, 5, 3, 3)
    fields = tpu_mlir.requantizer(90, 15)
    given = cases.given(x)
    inner = network.convolution(given, weights, None, fields, pads=((1, 1), (1, 1)))
    active = network.leaky_relu(inner, multiplier=51, rshift=9)
    result = network.add_symmetric(given, active, multipliers=(26, 51), rshift=6)
    expected = windows.convolution(nchw(x), weights, None, fields, pads=((1, 1), (1, 1)))
    expected = elementwise.leaky_relu(nhwc(expected), multiplier=51, rshift=9)
    cases.results[result] = elementwise.add_symmetric(x, expected, multipliers=(26, 51), rshift=6)
    assert opcodes(cases).count("VECTOR") == 2
