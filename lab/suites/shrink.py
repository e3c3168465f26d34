"""What a failure needs: the fewest of the things that it is made of, found by leaving others out.

Delta debugging, Zeller and Hildebrandt, "Simplifying and isolating failure-inducing input", 2002.
"""

import time
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TypeVar

Item = TypeVar("Item")


class Budget:
    """What shrinking may take; all failures of a unit share one, so that the unit ends in time.

    ``trials``: how often it may be asked whether fewer things still fail. ``seconds``: of
    wall-clock time, after which no more trial begins.
    """

    def __init__(self, trials: int = 300, seconds: float = 120.0) -> None:
        self._trials = trials
        self._deadline = time.monotonic() + seconds

    def take(self) -> bool:
        """Take one trial; return whether there was one left, and time for it."""
        self._trials -= 1
        return self._trials >= 0 and time.monotonic() < self._deadline


def shrink(
    items: Sequence[Item], still_fails: Callable[[list[Item]], bool], budget: Budget
) -> list[Item]:
    """Return as few of the items as still fail, in their order.

    - ``items``: what together fails: mutations, operators, commands. None of them is changed, and
      none need be hashable.
    - ``still_fails``: whether fewer of them, in the same order, fail in the same way. Its answer
      for the same items must be the same each time, and False for what makes no sense without the
      others. It may be asked for no items at all, never for all of them; its exceptions pass.
    - ``budget``: what it may take. A trial takes from it, one that was asked before does not.

    Returns the fewest of them for which ``still_fails`` was true, or all. If the budget was
    enough, what is left does not fail without any one of its items, and is the same for the same
    arguments; if it was not, more is left.
    """
    kept = list(range(len(items)))
    asked: dict[tuple[int, ...], bool] = {}

    def fails(places: list[int]) -> bool:
        key = tuple(places)
        if key not in asked:
            asked[key] = budget.take() and still_fails([items[place] for place in places])
        return asked[key]

    if kept and fails([]):
        return []
    parts = 2
    while len(kept) > 1:
        bounds = [number * len(kept) // parts for number in range(parts + 1)]
        for start, stop in pairwise(bounds):
            if fails(fewer := kept[:start] + kept[stop:]):
                kept, parts = fewer, max(parts - 1, 2)
                break
        else:
            if parts == len(kept):
                break
            parts = min(2 * parts, len(kept))
    return [items[place] for place in kept]
