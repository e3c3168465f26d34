"""Golden equals LiteRT's reference kernels on every tensor of random networks.

``EIGHTFOLD_CASES`` sets the number of networks (100), ``EIGHTFOLD_SEED`` the seed of the first (0).
"""

import os
from collections.abc import Iterator

import numpy as np
import pytest

from eightfold import Session
from eightfold.compiler import HARDWARE
from eightfold.conformance.networks.random import DRAWN, EXTENSIONS, network_rng, random_network
from eightfold.execute import SUPPORTED
from eightfold.execute.macs import count_macs
from eightfold.model import load_model
from eightfold.reference.deviations import litert_tensors
from eightfold.reference.oracle import Oracle

FIRST = int(os.environ.get("EIGHTFOLD_SEED", "0"))
CASES = int(os.environ.get("EIGHTFOLD_CASES", "100"))
CHUNK = 20
CHUNKS = [
    range(start, min(start + CHUNK, FIRST + CASES)) for start in range(FIRST, FIRST + CASES, CHUNK)
]
SHAPES_SEEN = range(60)


@pytest.fixture(scope="module")
def oracle() -> Iterator[Oracle]:
    with Oracle() as oracle:
        yield oracle


def assert_equals_litert(oracle: Oracle, seed: int) -> None:
    """Compare shape, dtype and every element of every result, in the order of the operators."""
    test = f"tests/eightfold/execute/test_random_networks.py::test_equals_litert[{seed}..{seed}]"
    repeat = f"repeat: EIGHTFOLD_SEED={seed} EIGHTFOLD_CASES=1 python -m pytest '{test}'"
    try:
        model, inputs = random_network(network_rng(seed))
        graph = load_model(model)
        got = Session().run(model, inputs, all_tensors=True).tensors
        expected = litert_tensors(oracle, model, graph, inputs, got)
    except Exception as error:
        error.add_note(f"network {seed}; {repeat}")
        raise
    for operator in graph.operators:
        index = operator.outputs[0]
        place = f"network {seed}, {operator}, {graph.tensors[index]}"
        assert index in expected, f"{place}: LiteRT did not keep it\n{repeat}"
        result, reference = got[index], expected[index]
        kinds = f"{result.dtype} {result.shape}, LiteRT {reference.dtype} {reference.shape}"
        assert result.dtype == reference.dtype, f"{place}: golden {kinds}\n{repeat}"
        assert result.shape == reference.shape, f"{place}: golden {kinds}\n{repeat}"
        different = np.argwhere(result != reference)
        if len(different):
            first = tuple(different[0].tolist())
            pytest.fail(
                f"{place}: {len(different)} of {result.size} differ, first at {list(first)}: "
                f"golden {result[first]}, LiteRT {reference[first]}\n"
                f"inputs {operator.inputs}, options {operator.options}\n{repeat}"
            )


@pytest.mark.parametrize("seeds", CHUNKS, ids=lambda seeds: f"{seeds[0]}..{seeds[-1]}")
def test_equals_litert(oracle: Oracle, seeds: range) -> None:
    for seed in seeds:
        assert_equals_litert(oracle, seed)


def test_every_operator_that_has_an_entry_and_is_supported_occurs() -> None:
    graphs = [load_model(random_network(network_rng(seed))[0]) for seed in SHAPES_SEEN]
    seen = {operator.name for graph in graphs for operator in graph.operators}
    assert seen == DRAWN
    assert set(EXTENSIONS) & SUPPORTED == DRAWN


def test_networks_grow_by_every_operator_of_the_accelerator() -> None:
    assert HARDWARE <= DRAWN


def test_networks_branch_and_have_several_inputs_and_outputs() -> None:
    several_inputs = several_outputs = read_twice = output_read = input_as_output = 0
    for seed in SHAPES_SEEN:
        graph = load_model(random_network(network_rng(seed))[0])
        assert len(graph.operators) >= 5
        read = [i for o in graph.operators for i in set(o.inputs) if graph.tensors[i].data is None]
        several_inputs += len(graph.inputs) > 1
        several_outputs += len(graph.outputs) > 1
        read_twice += len(read) > len(set(read))
        output_read += bool(set(graph.outputs) & set(read))
        input_as_output += bool(set(graph.outputs) & set(graph.inputs))
    counts = [several_inputs, several_outputs, read_twice, output_read, input_as_output]
    assert min(counts) > 0, counts


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
