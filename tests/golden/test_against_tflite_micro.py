"""Golden's ``tflm`` equals TFLite Micro on random models of every operator that it has.

Models are drawn until it has computed `CASES` of each operator; those that it refuses must be among
`REFUSED`, which docs/numerics.md tells; ``eightfold campaign run operators --reference tflm`` draws
more.
"""

import re

import numpy as np
import pytest

from eightfold.cases.operators import OPERATORS, accelerator_case, case_rng
from eightfold.common.errors import InputError
from eightfold.operators import load_model, run_operator
from eightfold.run.reference.oracle import Oracle, OracleRejected, with_state
from eightfold.run.reference.runtimes import RUNTIMES
from tests.support.models.tflite_micro import variants

CASES = 15
TRIES = 20
"""Models that are drawn for each that is to be computed, at most."""

MISSING = sorted(RUNTIMES["tflm"].lacks)
"""Operators that TFLite Micro does not have in int8."""

REFUSED = {
    "ARG_MAX": "Only int32_t are supported currently, got INT64",
    "ARG_MIN": "Only int32_t are supported currently, got INT64",
    "AVERAGE_POOL_2D": r"scale_diff <= 1.0e-6|input->params.zero_point == output->params",
    "CAST": "put type (UINT8|INT64)",
    "EXPAND_DIMS": "Axis type INT64",
    "GATHER": "Positions of type 'INT(16|64)' are not supported",
    "GATHER_ND": "Indices of type 'INT(16|64)' are not supported",
    "LOGISTIC": "output->params.zero_point != ",
    "MAX_POOL_2D": r"scale_diff <= 1.0e-6|input->params.zero_point == output->params",
    "PAD": "output_dim != expected_dim",
    "PADV2": "output_dim != expected_dim",
    "QUANTIZE": "scale->size == 1|output UINT8 not supported",
    "SELECT_V2": "other than int8.int16.float32",
    "SHAPE": "Output type INT64",
    "STRIDED_SLICE": "input dim should not exceed 4|stride value has to be non-zero"
    "|output_shape->data.* != dim_shape",
    "TRANSPOSE": "permutations array is out of bounds",
}
"""What TFLite Micro says of the models that it refuses, though LiteRT takes them. It refuses
operands that say how to move as inputs too; here they are constants."""

VARIANTS = variants()

pytestmark = pytest.mark.tflm


def agrees(oracle: Oracle, operator: str, seed: int) -> bool | None:
    """Return whether golden equals TFLite Micro on a random model; None if that refuses it.

    None as well if a shape is longer than it holds, where it may do anything.
    """
    model, inputs = accelerator_case(operator, case_rng(operator, seed))
    graph = load_model(model)
    if any(len(tensor.shape) > 5 for tensor in graph.tensors):
        with pytest.raises(InputError, match="kernels are undefined beyond 5"):
            run_operator(graph, graph.operators[0], inputs, "tflm")
        return None
    try:
        every = with_state(graph, oracle.run(model, inputs))
    except OracleRejected as error:
        if not re.search(REFUSED.get(operator, "$^"), str(error)):
            raise
        return None
    got = run_operator(graph, graph.operators[0], graph.initial_state() | inputs, "tflm")
    expected = [every[index] for index in graph.operators[0].outputs]
    for one, other in zip(got, expected, strict=True):
        assert one.dtype == other.dtype, f"seed {seed}"
    return all(map(np.array_equal, got, expected))


@pytest.mark.slow
@pytest.mark.parametrize("operator", [name for name in OPERATORS if name not in MISSING])
def test_equals_tflite_micro(micro: Oracle, operator: str) -> None:
    compared = 0
    for seed in range(TRIES * CASES):
        agreed = agrees(micro, operator, seed)
        assert agreed is not False, f"{operator}, seed {seed}"
        compared += agreed is True
        if compared == CASES:
            return
    pytest.fail(f"TFLite Micro has computed {compared} models of {TRIES * CASES}")


@pytest.mark.parametrize("name", VARIANTS)
def test_litert_is_told_apart(micro: Oracle, name: str) -> None:
    model, inputs = VARIANTS[name]
    graph = load_model(model)
    expected = micro.run(model, inputs)[graph.outputs[0]]
    (tflm,) = run_operator(graph, graph.operators[0], inputs, "tflm")
    (litert,) = run_operator(graph, graph.operators[0], inputs, "litert")
    np.testing.assert_array_equal(tflm, expected)
    assert np.any(litert != expected)


@pytest.mark.parametrize(
    ("operator", "seed"), [("BATCH_MATMUL", 1314), ("DIV", 1289), ("DIV", 1427)]
)
def test_a_multiplier_is_of_scales_in_float64(micro: Oracle, operator: str, seed: int) -> None:
    """Seldom another number than in float32, and seldom another result."""
    assert agrees(micro, operator, seed)
    model, inputs = accelerator_case(operator, case_rng(operator, seed))
    graph = load_model(model)
    (tflm,), (litert,) = (
        run_operator(graph, graph.operators[0], inputs, reference)
        for reference in ("tflm", "litert")
    )
    assert np.any(tflm != litert)


def test_dequantize_takes_the_first_scale_of_several(micro: Oracle) -> None:
    """A random model has several scales where its input is a constant."""
    different = 0
    for seed in range(30):
        model, inputs = accelerator_case("DEQUANTIZE", case_rng("DEQUANTIZE", seed))
        graph = load_model(model)
        expected = micro.run(model, inputs)[graph.outputs[0]]
        (litert,) = run_operator(graph, graph.operators[0], inputs, "litert")
        different += bool(np.any(litert != expected))
    assert different


@pytest.mark.parametrize("operator", MISSING)
def test_an_operator_that_is_missing_is_named(micro: Oracle, operator: str) -> None:
    float_alone = r"input->type != \w+ \(INT8 != FLOAT32\)|Type INT8 \(9\) not supported"
    absent = f"^Didn't find op for builtin opcode '{operator}'$"
    with pytest.raises(OracleRejected, match=f"{absent}|{float_alone}"):
        micro.run(*accelerator_case(operator, case_rng(operator, 0)))
