"""``--reference tflm`` in RTL: operators whose results differ from LiteRT's, side by side."""

import numpy as np
import pytest

from eightfold.cases.networks import combined
from eightfold.compiler import compile_network
from eightfold.operators import load_model, run_graph
from eightfold.run.simulate import simulate_network
from tests.support.hardware.twins import TWINS
from tests.support.models.tflite_micro import variants


@pytest.mark.slow
def test_the_variants_equal_golden() -> None:
    graph, inputs = combined([(load_model(model), given) for model, given in variants().values()])
    network = compile_network(graph, TWINS["small"], "tflm", keep=True)
    (run,) = simulate_network(
        graph, network, [inputs], simulator="verilator", reference="tflm", stall=0.1
    )
    expected = run_graph(graph, inputs, "tflm")
    litert = run_graph(graph, inputs, "litert")
    for operator in graph.operators:
        (output,) = operator.outputs
        np.testing.assert_array_equal(run.tensors[output], expected[output], err_msg=str(operator))
        assert np.any(expected[output] != litert[output]), operator
