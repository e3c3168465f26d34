"""The fewest things that still fail."""

from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest

from lab.suites.shrink import Budget, shrink


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


def test_one_item_is_the_least() -> None:
    assert shrink([7], needing(7), Budget()) == [7]


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
