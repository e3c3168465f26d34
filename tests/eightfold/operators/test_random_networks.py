"""Golden equals LiteRT's reference kernels on every tensor of random networks.

``eightfold campaign run networks --cases N --seed S`` asks for more, and for others.
"""

import numpy as np
import pytest

from eightfold.campaign.records import Unit
from eightfold.cases.networks import DRAWN, EXTENSIONS, network_rng, random_network
from eightfold.compiler import HARDWARE
from eightfold.model import Graph
from eightfold.operators import SUPPORTED, count_macs, load_model
from tests.support.campaign.units import expect_passed, unit_parameters


@pytest.fixture(scope="module")
def graphs() -> list[Graph]:
    """A hundred and twenty random networks: each of so many operators is in few of them."""
    return [load_model(random_network(network_rng(seed))[0]) for seed in range(120)]


@pytest.mark.slow
@pytest.mark.parametrize("unit", unit_parameters("networks", cases=100))
@pytest.mark.usual(count=2)
def test_equals_litert(unit: Unit) -> None:
    expect_passed(unit)


@pytest.mark.slow
def test_every_operator_that_has_an_entry_and_is_supported_occurs(graphs: list[Graph]) -> None:
    seen = {operator.name for graph in graphs for operator in graph.operators}
    assert seen == DRAWN
    assert set(EXTENSIONS) & SUPPORTED == DRAWN


def test_networks_grow_by_every_operator_of_the_accelerator() -> None:
    assert HARDWARE <= DRAWN


@pytest.mark.slow
def test_networks_branch_and_have_several_inputs_and_outputs(graphs: list[Graph]) -> None:
    several_inputs = several_outputs = read_twice = output_read = input_as_output = 0
    for graph in graphs:
        assert len(graph.operators) >= 5
        read = [i for o in graph.operators for i in set(o.inputs) if graph.tensors[i].data is None]
        several_inputs += len(graph.inputs) > 1
        several_outputs += len(graph.outputs) > 1
        read_twice += len(read) > len(set(read))
        output_read += bool(set(graph.outputs) & set(read))
        input_as_output += bool(set(graph.outputs) & set(graph.inputs))
    counts = [several_inputs, several_outputs, read_twice, output_read, input_as_output]
    assert min(counts) > 0, counts


@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
def test_networks_have_other_types_at_their_edges(graphs: list[Graph], dtype: type) -> None:
    for side in ("inputs", "outputs"):
        edges = [[graph.tensors[i].dtype for i in getattr(graph, side)] for graph in graphs]
        assert 4 < sum(dtype in edge for edge in edges) < len(graphs) - 4


def test_networks_make_and_read_scalars_and_shapes(graphs: list[Graph]) -> None:
    codes = integers = shapes = 0
    for graph in graphs:
        read = [
            graph.tensors[index]
            for operator in graph.operators
            for index in operator.inputs
            if index >= 0 and graph.tensors[index].data is None
        ]
        codes += any(tensor.shape == () and tensor.dtype == np.int8 for tensor in read)
        integers += any(tensor.shape == () and tensor.dtype == np.int32 for tensor in read)
        shapes += any(
            operator.name == "RESHAPE"
            and graph.tensors[operator.inputs[-1]].dtype == np.int32
            and graph.tensors[operator.inputs[-1]].data is None
            for operator in graph.operators
        )
    assert min(codes, integers, shapes) > 2, (codes, integers, shapes)


def test_the_same_seed_gives_the_same_network() -> None:
    first, second = (random_network(network_rng(7)) for _ in range(2))
    assert first[0] == second[0]
    assert first[1].keys() == second[1].keys()
    for index, array in first[1].items():
        np.testing.assert_array_equal(array, second[1][index])


@pytest.mark.parametrize("seed", range(10))
def test_stays_within_the_limits(seed: int) -> None:
    allowed = {"CONV_2D", "DEPTHWISE_CONV_2D", "RELU", "ADD"}
    model, _ = random_network(
        network_rng(seed), operators=allowed, max_elements=300, max_macs=5000, lengths=(3, 8)
    )
    graph = load_model(model)
    assert {operator.name for operator in graph.operators} <= allowed
    assert len(graph.operators) <= 8
    assert sum(count_macs(graph, operator) for operator in graph.operators) <= 5000
    for operator in graph.operators:
        assert np.prod(graph.tensors[operator.outputs[0]].shape) <= 300


def test_an_unknown_operator_is_refused() -> None:
    with pytest.raises(KeyError, match="LSTM"):
        random_network(network_rng(0), operators=["LSTM"])
