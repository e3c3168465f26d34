"""The comparison with LiteRT is not vacuous: each wrong variant of golden is caught."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pytest

from eightfold.execute import run_operator
from eightfold.oracle import Oracle
from golden import (
    binary,
    convolution,
    fixed_point,
    fully_connected,
    pooling,
    reduction,
    softmax,
    unary,
    windows,
)
from golden.fixed_point import multiply_by_quantized_multiplier
from golden.rounding import rounding_shift
from tests.golden import comparison
from tests.golden.comparison import assert_equals_litert

SEEDS = range(400)


@dataclass(frozen=True)
class Mutation:
    """``module.name`` replaced by ``wrong``, seen by the comparison of ``operator``."""

    operator: str
    module: Any
    name: str
    wrong: Any


def once(original: Callable[..., Any]) -> Callable[..., Any]:
    """Return the multiplication with one rounding instead of two, where it is defined."""

    def multiply(x: Any, multiplier: Any, shift: Any) -> Any:
        return original(x, multiplier, shift, single=bool(np.all(np.asarray(shift) <= 30)))

    return multiply


single = once(multiply_by_quantized_multiplier)
half_up = partial(rounding_shift, rounding="half_up")


def padded_before(self: windows.Window, axis: int, size: int) -> tuple[int, int]:
    """Return the pads with the odd position before instead of after."""
    before, after = ORIGINAL_PADS(self, axis, size)
    return after, before


def whole_mean(count: int, *quantizations: Any) -> tuple[int, int]:
    """Return the multiplier of the whole quotient instead of the truncated integer one."""
    inputs, output = (q.per_tensor()[0] for q in quantizations)
    pair = fixed_point.quantize_multiplier(float(inputs) / float(output) / count)
    return int(pair[0]), int(pair[1])


ORIGINAL_PADS = windows.Window.pads

MUTATIONS = {
    "one rounding in QUANTIZE": Mutation(
        "QUANTIZE", unary, "multiply_by_quantized_multiplier", single
    ),
    "one rounding in CONV_2D": Mutation(
        "CONV_2D", convolution, "multiply_by_quantized_multiplier", single
    ),
    "one rounding in ADD": Mutation("ADD", binary, "multiply_by_quantized_multiplier", single),
    "one rounding in MEAN": Mutation("MEAN", reduction, "multiply_by_quantized_multiplier", single),
    "half up in the shift of QUANTIZE": Mutation(
        "QUANTIZE", fixed_point, "rounding_divide_by_pot", half_up
    ),
    "half up in the shift of DEPTHWISE_CONV_2D": Mutation(
        "DEPTHWISE_CONV_2D", fixed_point, "rounding_divide_by_pot", half_up
    ),
    "half up in the shift of RELU_N1_TO_1": Mutation(
        "RELU_N1_TO_1", fixed_point, "rounding_divide_by_pot", half_up
    ),
    "float64 multipliers in MUL": Mutation(
        "MUL",
        binary,
        "multiplication_scale",
        lambda a, b, output, reference: float(a) * float(b) / float(output),
    ),
    "one bit less in ADD": Mutation("ADD", binary, "ADD_LEFT_SHIFT", 19),
    "-128 out of reach in AVERAGE_POOL_2D": Mutation(
        "AVERAGE_POOL_2D", pooling, "fused_bounds", lambda *_: (-127, 127)
    ),
    "odd padding before in MAX_POOL_2D": Mutation(
        "MAX_POOL_2D", windows.Window, "pads", padded_before
    ),
    "odd padding before in CONV_2D": Mutation("CONV_2D", windows.Window, "pads", padded_before),
    "normalized multiplier in MEAN": Mutation("MEAN", reduction, "mean_multiplier", whole_mean),
    "fewer bits of the sum in SOFTMAX": Mutation("SOFTMAX", softmax, "SUM_BITS", 13),
    "ties up in FULLY_CONNECTED": Mutation(
        "FULLY_CONNECTED", fully_connected, "round_half_away", lambda x: np.floor(x + 0.5)
    ),
    "no activation in SUB": Mutation("SUB", binary, "fused_bounds", lambda *_: (-128, 127)),
}


def differing(oracle: Oracle, operator: str, reference: str = "litert") -> Iterator[int]:
    """Yield the seeds at which golden differs from LiteRT."""
    for seed in SEEDS:
        _, got, expected = comparison.run_case(oracle, operator, seed, reference)
        if got.shape != expected.shape or np.any(got != expected):
            yield seed


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_wrong_variant_is_caught(
    oracle: Oracle, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    mutation = MUTATIONS[name]
    monkeypatch.setattr(mutation.module, mutation.name, mutation.wrong)
    seed = next(differing(oracle, mutation.operator), None)
    assert seed is not None, f"no difference in {len(SEEDS)} models"
    monkeypatch.undo()
    assert_equals_litert(oracle, mutation.operator, seed)


@pytest.mark.parametrize("operator", ["FULLY_CONNECTED", "LOGISTIC", "TANH", "MUL"])
def test_the_variants_of_tflite_micro_are_told_apart(oracle: Oracle, operator: str) -> None:
    assert next(differing(oracle, operator, "tflm"), None) is not None


def test_a_difference_is_reported_with_the_command_that_repeats_it(
    oracle: Oracle, monkeypatch: pytest.MonkeyPatch
) -> None:
    def wrong(*arguments: Any) -> list[np.ndarray]:
        result = run_operator(*arguments)[0].copy()
        result.flat[-1] ^= 1
        return [result]

    monkeypatch.setattr(comparison, "run_operator", wrong)
    with pytest.raises(AssertionError) as raised:
        assert_equals_litert(oracle, "ADD", 7)
    message = str(raised.value)
    for part in (
        "ADD, seed 7",
        "scale [",
        "zero point [",
        "fused_activation_function",
        "first at (",
        "EIGHTFOLD_SEED=7 EIGHTFOLD_CASES=1 python -m pytest "
        "'tests/golden/test_against_litert.py::test_equals_litert[ADD-7..7]'",
    ):
        assert part in message
