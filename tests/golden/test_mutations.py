"""The comparison with LiteRT is not vacuous: each wrong variant of golden is caught."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pytest

from eightfold.cases.operators import case_rng, random_case
from eightfold.common.errors import InputError
from eightfold.golden import (
    binary,
    comparison,
    convolution,
    fixed_point,
    floats,
    fully_connected,
    indexing,
    normalization,
    pooling,
    rectifiers,
    recurrent,
    reduction,
    resize,
    softmax,
    unary,
    windows,
)
from eightfold.golden.fixed_point import multiply_by_quantized_multiplier
from eightfold.golden.quantization import effective_scales
from eightfold.golden.rounding import rounding_shift
from eightfold.operators import load_model, run_operator
from eightfold.run.reference.oracle import Oracle, deviates, litert_outputs, with_state

SEEDS = range(2000)

VARIANTS = (
    "CAST",
    "DEQUANTIZE",
    "ELU",
    "FULLY_CONNECTED",
    "LOGISTIC",
    "MUL",
    "RELU6",
    "SPACE_TO_BATCH_ND",
    "SVDF",
    "TANH",
    "UNIDIRECTIONAL_SEQUENCE_LSTM",
)
"""Operators of which TFLite Micro has another variant; that of PRELU needs chosen scales, which
`tests/eightfold/compiler/test_operators.py` has."""


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


def nearest_root(x: Any) -> tuple[Any, Any]:
    """Return 1/sqrt(x) rounded once instead of after five Newton steps."""
    multiplier, shift = fixed_point.quantize_multiplier(1 / np.sqrt(np.maximum(x, 1)))
    return np.minimum(multiplier, 2**31 - 1), shift


def nearest_log(x: Any, integer_bits: int, output_bits: int) -> Any:
    """Return log(x) rounded once, to fewer bits than the fixed-point one."""
    real = np.log(np.asarray(x) / 2.0 ** (31 - integer_bits))
    return np.round(real * 2.0 ** (31 - output_bits)).astype(np.int64) >> 21 << 21


def without_quirk(x: Any, e: int) -> Any:
    """Return the int16 shift as it would be without the int16 mask."""
    return rounding_shift(x, min(e, 31))


def table_of_int32(function: Callable[..., Any], integer_bits: int) -> Any:
    """Return a function of int16 as the upper half of that of int32."""
    codes = np.arange(-32768, 32768) << 16
    return (function(codes, integer_bits) >> 16).astype(np.int16)


ORIGINAL_PADS = windows.Window.pads
ORIGINAL_FLAT = indexing.flat_indices

ONE_ROUNDING = {
    "ABS": unary,
    "SQUARED_DIFFERENCE": binary,
    "QUANTIZE": unary,
    "CONV_2D": convolution,
    "ADD": binary,
    "MEAN": reduction,
    "LEAKY_RELU": rectifiers,
    "PRELU": rectifiers,
    "SUM": reduction,
    "SVDF": recurrent,
    "UNIDIRECTIONAL_SEQUENCE_LSTM": recurrent,
}
"""Operators whose module is made to round once."""

MUTATIONS = {
    **{
        f"one rounding in {operator}": Mutation(
            operator, module, "multiply_by_quantized_multiplier", single
        )
        for operator, module in ONE_ROUNDING.items()
    },
    **{
        f"half up in the shift of {operator}": Mutation(
            operator, fixed_point, "rounding_divide_by_pot", half_up
        )
        for operator in ("QUANTIZE", "DEPTHWISE_CONV_2D", "RELU_N1_TO_1")
    },
    **{
        f"odd padding before in {operator}": Mutation(
            operator, windows.Window, "pads", padded_before
        )
        for operator in ("MAX_POOL_2D", "CONV_2D", "TRANSPOSE_CONV")
    },
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
    "normalized multiplier in MEAN": Mutation("MEAN", reduction, "mean_multiplier", whole_mean),
    "fewer bits of the sum in SOFTMAX": Mutation("SOFTMAX", softmax, "SUM_BITS", 13),
    "scales in double precision in BATCH_MATMUL": Mutation(
        "BATCH_MATMUL",
        fully_connected,
        "integer_multipliers",
        lambda *quantizations: fixed_point.quantize_multiplier(effective_scales(*quantizations)),
    ),
    "ties up in FULLY_CONNECTED": Mutation(
        "FULLY_CONNECTED", fully_connected, "round_half_away", lambda x: np.floor(x + 0.5)
    ),
    "whole int16 shift in HARD_SWISH": Mutation(
        "HARD_SWISH", rectifiers, "_shift16", without_quirk
    ),
    "truncation in EXP": Mutation("EXP", unary, "round_half_away", np.trunc),
    "tanh without being asked in GELU": Mutation("GELU", unary, "_gelu", unary._gelu_of_tanh),
    "-128 out of reach in LOG": Mutation("LOG", unary, "clamp", lambda x: np.clip(x, -127, 127)),
    "saturation in NEG": Mutation("NEG", np, "negative", lambda x: -np.maximum(x, -127)),
    "fewer bits of the root in RSQRT": Mutation("RSQRT", unary, "ROOT_FRACTION", 12),
    "float64 in SQRT": Mutation("SQRT", np, "sqrt", lambda x: np.asarray(x, np.float64) ** 0.5),
    "one bit more in LESS": Mutation("LESS", comparison, "COMPARISON_LEFT_SHIFT", 9),
    "one bit less in EQUAL": Mutation("EQUAL", comparison, "COMPARISON_LEFT_SHIFT", 7),
    "exact root in L2_NORMALIZATION": Mutation(
        "L2_NORMALIZATION", normalization, "inverse_square_root", nearest_root
    ),
    "coarse logarithm in LOG_SOFTMAX": Mutation("LOG_SOFTMAX", normalization, "log", nearest_log),
    "upper tap too far in RESIZE_BILINEAR": Mutation(
        "RESIZE_BILINEAR", resize, "_truncated", lambda u: (np.maximum(u, 0) + 1) >> 10
    ),
    "floored corners in RESIZE_NEAREST_NEIGHBOR": Mutation(
        "RESIZE_NEAREST_NEIGHBOR", resize, "round_half_away", np.floor
    ),
    "ties to even in QUANTIZE of float": Mutation("QUANTIZE", floats, "round_half_away", np.round),
    "shifts of DIV that end at 31": Mutation(
        "DIV",
        binary,
        "_shifted",
        lambda x, e: fixed_point.rounding_divide_by_pot(x, np.clip(e, 0, 31)),
    ),
    "coordinates in reverse in GATHER_ND": Mutation(
        "GATHER_ND", indexing, "flat_indices", lambda shape, i: ORIGINAL_FLAT(shape, i[..., ::-1])
    ),
    "starts are not clamped in DYNAMIC_UPDATE_SLICE": Mutation(
        "DYNAMIC_UPDATE_SLICE", indexing, "_clamped", lambda first, whole, size: slice(0, size)
    ),
    "half up in the cell state of an LSTM": Mutation(
        "UNIDIRECTIONAL_SEQUENCE_LSTM", recurrent, "rounding_divide_by_pot", half_up
    ),
    "tanh of int32 in an LSTM": Mutation(
        "UNIDIRECTIONAL_SEQUENCE_LSTM", recurrent, "_fixed_point_table", table_of_int32
    ),
    "no activation in SUB": Mutation("SUB", binary, "fused_bounds", lambda *_: (-128, 127)),
}


def differs(oracle: Oracle, operator: str, seed: int, reference: str = "litert") -> bool:
    """Return whether golden's outputs of a random case are others than LiteRT's."""
    model, inputs = random_case(operator, case_rng(operator, seed))
    graph = load_model(model)
    if deviates(graph):
        expected = litert_outputs(oracle, graph, graph.operators[0], inputs)
    else:
        every = with_state(graph, oracle.run(model, inputs))
        expected = [every[index] for index in graph.operators[0].outputs]
    got = run_operator(graph, graph.operators[0], graph.initial_state() | inputs, reference)
    return not all(map(np.array_equal, got, expected))


def differing(oracle: Oracle, operator: str, reference: str = "litert") -> Iterator[int]:
    """Yield the seeds at which golden differs from LiteRT, or refuses what LiteRT computes."""
    for seed in SEEDS:
        try:
            found = differs(oracle, operator, seed, reference)
        except InputError:
            found = True
        if found:
            yield seed


@pytest.mark.slow
@pytest.mark.parametrize("name", MUTATIONS)
@pytest.mark.usual(count=30)
def test_a_wrong_variant_is_caught(
    oracle: Oracle, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    mutation = MUTATIONS[name]
    monkeypatch.setattr(mutation.module, mutation.name, mutation.wrong)
    seed = next(differing(oracle, mutation.operator), None)
    assert seed is not None, f"no difference in {len(SEEDS)} models"
    monkeypatch.undo()
    assert not differs(oracle, mutation.operator, seed)


@pytest.mark.slow
@pytest.mark.parametrize("operator", VARIANTS)
def test_the_variants_of_tflite_micro_are_told_apart(oracle: Oracle, operator: str) -> None:
    assert next(differing(oracle, operator, "tflm"), None) is not None
