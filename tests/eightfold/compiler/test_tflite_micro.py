"""``--reference tflm`` on the machine model: TFLite Micro's variants, where they differ."""

import numpy as np
import pytest

from eightfold.cases.operators import accelerator_case, case_rng
from eightfold.common.errors import InputError
from eightfold.compiler import HARDWARE, compile_network
from eightfold.operators import load_model, run_graph
from eightfold.target.config import PRESETS
from tests.support.models.single import one_operator
from tests.support.models.tflite_micro import variants
from tests.support.networks.machine_run import expect_golden

VARIANTS = variants()
OPERATORS = sorted({name.split()[0] for name in VARIANTS})


def test_every_variant_is_of_the_hardware() -> None:
    assert set(OPERATORS) <= HARDWARE


@pytest.mark.parametrize("name", VARIANTS)
def test_a_variant_is_compiled(name: str) -> None:
    model, inputs = VARIANTS[name]
    graph = load_model(model)
    expect_golden(graph, inputs, PRESETS["small"], reference="tflm")
    (output,) = graph.outputs
    runs = [run_graph(graph, inputs, reference)[output] for reference in ("tflm", "litert")]
    assert np.any(runs[0] != runs[1])


@pytest.mark.slow
@pytest.mark.parametrize("operator", OPERATORS)
def test_random_models_are_compiled(operator: str) -> None:
    for seed in range(20):
        model, inputs = accelerator_case(operator, case_rng(operator, seed))
        graph = load_model(model)
        if all(len(tensor.shape) <= 5 for tensor in graph.tensors):
            expect_golden(graph, inputs, PRESETS["nano"], reference="tflm")


def test_shapes_that_tflite_micro_does_not_hold_are_refused() -> None:
    graph = load_model(one_operator("RELU6", [(1,) * 6], (1,) * 6))
    compile_network(graph, PRESETS["nano"], "litert")
    with pytest.raises(InputError, match="has rank 6; TFLite Micro's kernels are undefined beyond"):
        compile_network(graph, PRESETS["nano"], "tflm")
