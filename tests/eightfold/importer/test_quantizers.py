"""Float networks that NNCF and onnxruntime have quantized: every tensor's difference explained."""

import warnings
from pathlib import Path

import numpy as np
import pytest

from eightfold.importer import Imported, import_model
from eightfold.model.inputs import random_inputs
from eightfold.operators import check_model, load_int8, run_graph
from eightfold.run.session import Session
from tests.support.float_networks import NETWORKS, QUANTIZERS, float_network, samples


def imported(quantizer: str, name: str, folder: Path) -> Imported:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the packages, about themselves
        path = QUANTIZERS[quantizer](float_network(name, folder))
        return import_model(path, {"x": samples(20)})


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("quantizer", QUANTIZERS)
def test_every_difference_is_explained(quantizer: str, name: str, tmp_path: Path) -> None:
    found = imported(quantizer, name, tmp_path)
    graph = load_int8(found.model)
    assert not [each for each in check_model(graph) if each.severity == "violation"]
    comparison = found.compared()
    assert comparison.explained, comparison.verdict()
    assert comparison.samples == 20
    # Alone, every operator is as near as two roundings of one number can be, or as its operand is.
    for tensor in comparison.tensors:
        between = tensor.causes["an operand between codes"] + tensor.causes["a merged range"]
        assert tensor.own_largest <= 1 or between
    assert all(same >= 18 for same in comparison.classes.values()), comparison.classes


@pytest.mark.parametrize("config", ["nano", pytest.param("base", marks=pytest.mark.long)])
@pytest.mark.parametrize("quantizer", ["nncf", "onnxruntime"])
@pytest.mark.slow
def test_the_accelerator_computes_what_is_imported(
    quantizer: str, config: str, tmp_path: Path
) -> None:
    with Session("verilator", config) as session:
        for name in NETWORKS:
            model = imported(quantizer, name, tmp_path).model
            result = session.run(model, compare=True)
            assert result.mismatches == 0
            graph = load_int8(model)
            wanted = run_graph(graph, random_inputs(graph, 0))
            for index, array in result.outputs.items():
                np.testing.assert_array_equal(array, wanted[index])
