"""The fewest things that still fail; part of a model computes what it does in the whole."""

from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest

from eightfold.cases.networks import network_rng, random_network
from eightfold.model.builder import ModelBuilder
from eightfold.operators import load_model, run_graph
from lab.suites.shrink import Budget, part_of, shrink


def needing(*needed: int) -> Callable[[list[int]], bool]:
    return lambda items: set(needed) <= set(items)


@pytest.mark.parametrize("seed", range(20))
def test_nothing_that_a_failure_does_not_need_stays(seed: int) -> None:
    rng = np.random.default_rng(seed)
    items = rng.permutation(int(rng.integers(1, 60))).tolist()
    needed = rng.choice(items, int(rng.integers(1, min(len(items), 5) + 1)), replace=False)
    found = shrink(items, needing(*needed.tolist()), Budget())
    assert found == [item for item in items if item in needed]


def test_no_item_of_what_is_found_can_go() -> None:
    """Any two of the items that are next to each other fail: no single set is the least."""

    def fails(items: list[int]) -> bool:
        return any(b - a == 1 for a, b in pairwise(items))

    found = shrink(range(0, 40), fails, Budget())
    assert len(found) == 2
    assert fails(found)


def test_what_fails_without_any_item_is_empty() -> None:
    assert shrink([1, 2, 3], lambda items: True, Budget()) == []
    assert shrink([], lambda items: pytest.fail("asked for all"), Budget()) == []


def test_no_set_is_asked_for_twice_and_all_items_never() -> None:
    asked: list[tuple[int, ...]] = []

    def fails(items: list[int]) -> bool:
        asked.append(tuple(items))
        return needing(3, 17)(items)

    assert shrink(range(24), fails, Budget()) == [3, 17]
    assert len(set(asked)) == len(asked) < 60
    assert tuple(range(24)) not in asked


@pytest.mark.parametrize("trials", [0, 1, 2, 5, 9])
def test_trials_are_limited(trials: int) -> None:
    asked: list[list[int]] = []

    def fails(items: list[int]) -> bool:
        asked.append(items)
        return needing(3, 17)(items)

    found = shrink(range(24), fails, Budget(trials=trials))
    assert len(asked) == trials
    assert needing(3, 17)(found), "what is returned has failed"


def test_no_trial_begins_after_its_time() -> None:
    assert shrink([1, 2], lambda items: pytest.fail("late"), Budget(seconds=0)) == [1, 2]


def test_failures_share_a_budget() -> None:
    budget = Budget(trials=20)
    assert shrink(range(8), needing(2), budget) == [2]
    assert len(shrink(range(64), needing(2, 40), budget)) > 2, "what is left is not enough"


def test_items_need_not_be_hashable() -> None:
    arrays = [np.full(3, value) for value in range(5)]
    found = shrink(arrays, lambda items: any(array[0] == 4 for array in items), Budget())
    assert [array.tolist() for array in found] == [[4, 4, 4]]


def test_what_still_fails_raises_passes() -> None:
    def fails(items: list[int]) -> bool:
        raise ValueError("no such subset")

    with pytest.raises(ValueError, match="no such subset"):
        shrink([1, 2], fails, Budget())


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
