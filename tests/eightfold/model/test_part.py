"""Some operators of a model as a model: it computes what the whole computes there."""

import numpy as np
import pytest

from eightfold.cases.networks import network_rng, random_network
from eightfold.model.builder import ModelBuilder
from eightfold.model.part import part_of
from eightfold.operators import load_model, run_graph


def diamond() -> bytes:
    """Return a network: 0 reads the input, 1 and 2 its result, 3 adds theirs and a constant's."""
    b = ModelBuilder()
    x = b.input([4], scale=0.5)
    spare = b.input([2], scale=0.5)
    first, left, right, total, last = (b.tensor([4], scale=0.5) for _ in range(5))
    weights = b.constant(np.arange(4, dtype=np.int8), scale=0.5)
    b.operator("RELU", [x], [first])
    b.operator("RELU6", [first], [left])
    b.operator("TANH", [first], [right])
    b.operator("ADD", [left, right], [total])
    b.operator("MAXIMUM", [total, weights], [last])
    for output in (last, first, spare):
        b.output(output)
    return b.build()


@pytest.mark.parametrize(
    ("kept", "inputs", "outputs"),
    [
        ([0, 1, 2, 3, 4], [0, 1], [6, 2, 1]),
        ([0], [0, 1], [2, 1]),
        ([1], [1, 2], [1, 3]),
        ([3], [1, 3, 4], [1, 5]),
        ([1, 2, 3], [1, 2], [1, 5]),
        ([3, 4], [1, 3, 4], [6, 1]),
        ([0, 4], [0, 1, 5], [6, 2, 1]),
        ([], [1], [1]),
    ],
)
def test_cut_tensors_are_inputs_and_outputs(
    kept: list[int], inputs: list[int], outputs: list[int]
) -> None:
    names = [operator.name for operator in load_model(diamond()).operators]
    part = load_model(part_of(diamond(), kept))
    assert [operator.name for operator in part.operators] == [names[number] for number in kept]
    assert list(part.inputs) == inputs
    assert list(part.outputs) == outputs
    assert (part.tensors[7].data is None) == (4 not in kept), "data that nothing reads is left out"


@pytest.mark.parametrize("seed", range(20))
def test_computes_what_the_whole_does(seed: int) -> None:
    model, inputs = random_network(network_rng(seed), max_elements=512)
    whole = load_model(model)
    values = {**inputs, **run_graph(whole, inputs)}
    rng = np.random.default_rng(seed)
    kept = [o.index for o in whole.operators if rng.integers(2)]
    part = load_model(part_of(model, kept))
    found = run_graph(part, {index: values[index] for index in part.inputs})
    outputs = {operator.outputs for operator in part.operators}
    assert outputs >= {operator.outputs for operator in whole.operators if operator.index in kept}
    for tensors in outputs:
        for index in tensors:
            np.testing.assert_array_equal(found[index], values[index])


def test_an_input_that_is_an_output_stays_without_its_reader() -> None:
    b = ModelBuilder()
    x, y = (b.input([4], scale=0.5) for _ in range(2))
    first, second = (b.tensor([4], scale=0.5) for _ in range(2))
    b.operator("RELU", [x], [first])
    b.operator("TANH", [y], [second])
    for output in (x, first, second):
        b.output(output)
    part = load_model(part_of(b.build(), [1]))
    assert (list(part.inputs), list(part.outputs)) == ([x, y], [x, second])


def test_the_same_part_again_is_the_same_file() -> None:
    part = part_of(diamond(), [1, 2, 3])
    assert part_of(part, [0, 1, 2]) == part
