"""Steps of a processing element as a subject: an accumulator, and tiles that are added to it.

Cases are the columns of `eightfold.conformance.units.sequence`, in int64. What a step gives depends
on the steps before it, so that a subject is made of all steps of its simulations.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from eightfold.conformance.judge.dot import DOT, OPERANDS, ZERO_POINTS
from eightfold.conformance.judge.requantizer import bits
from eightfold.conformance.judge.rules import Features, Mask, bounds, wide
from eightfold.conformance.judge.subject import Cases, Steps, Subject, Table, named
from eightfold.conformance.units.sequence import sums
from eightfold.golden.fixed_point import Integers


@dataclass(frozen=True)
class StepArithmetic:
    """How a processing element computes; the defaults are those of the reference::

    accumulator = wrap32((bias if clear, else accumulator) + sum of (x - zx) * w)
    """

    input: str = "signed"
    weight: str = "signed"
    input_zero_point: str = "subtracted"
    clear: str = "exact"
    """``kept``: the bias is added to what there is; ``ignored``; ``late``: a step later;
    ``one_less`` and ``one_more``: by a count of the tiles."""
    bias: str = "first"
    """``each``: with each tile; ``missing``."""
    tile: str = "whole"
    """What is added: ``first_missing``, ``last_missing``, ``last_twice``."""
    accumulator: str = "wraps_32"


_OF_TILES: Table = {
    ("accumulator_not_cleared", "clear", "kept"): "The accumulator is not cleared: a sum and its "
    "bias are added to the sum before it.",
    ("clear_ignored", "clear", "ignored"): "The signal to clear has no effect: all tiles are added "
    "up, and no bias.",
    ("clear_late", "clear", "late"): "The accumulator is cleared a step late: the first tile is "
    "added to the sum before.",
    ("tiles_one_less", "clear", "one_less"): "The tiles are counted, and one too few: the last one "
    "begins a sum of its own.",
    ("tiles_one_more", "clear", "one_more"): "The tiles are counted, and one too many: the first "
    "of the next sum is added as well.",
    ("first_tile_missing", "tile", "first_missing"): "The first tile is left out: `clear ? bias : "
    "accumulator + products`.",
    ("last_tile_missing", "tile", "last_missing"): "The last tile is left out.",
    ("last_tile_twice", "tile", "last_twice"): "The last tile is added twice.",
    ("bias_per_tile", "bias", "each"): "The bias is added with each tile, not once a sum.",
    ("bias_missing", "bias", "missing"): "There is no bias.",
}

OF_TILES = named(_OF_TILES)
"""What processing elements do with tiles in place of the reference."""

MISTAKES = OF_TILES + tuple(
    each
    for each in DOT.mistakes
    if each.changes.keys() <= {"input", "weight", "input_zero_point", "accumulator"}
    and not str(each.changes.get("accumulator", "")).startswith("ends_")
    and each.changes.get("weight") != "symmetric"  # no case has a weight of -128
)
"""These, and what a dot product does with its operands and its accumulator."""


def compute(a: StepArithmetic, cases: Cases, begins: Sequence[int]) -> Integers:
    """Return the accumulator after each step, int64 of shape (n,). ``begins``: the first steps of
    simulations, in which the accumulator is 0 before."""
    zero = cases["input_zero_point"][:, None]
    x = ZERO_POINTS[a.input_zero_point](OPERANDS[a.input](cases["inputs"]), zero)
    own = (x * OPERANDS[a.weight](cases["weights"])).sum(axis=1)
    if a.tile != "whole":
        where, factor = {
            "first_missing": ("clear", 0),
            "last_missing": ("last", 0),
            "last_twice": ("last", 2),
        }[a.tile]
        own = np.where(cases[where] != 0, factor * own, own)
    resets = set(begins)
    clears = _clears(a.clear, cases, resets)
    how, _, width = a.accumulator.rpartition("_")
    half = 1 << (int(width) - 1)
    found, accumulator = [], 0
    lists = (clears, cases["bias"].tolist(), own.tolist())
    for place, (clear, bias, products) in enumerate(zip(*lists, strict=True)):
        if place in resets:
            accumulator = 0
        if clear and a.clear != "kept":
            accumulator = 0
        if a.bias == "each" or (clear and a.bias == "first"):
            accumulator += bias
        accumulator += products
        if how == "wraps":
            accumulator = (accumulator + half) % (2 * half) - half
        else:
            accumulator = min(max(accumulator, -half), half - 1)
        found.append(accumulator)
    return np.array(found, np.int64)


def _clears(how: str, cases: Cases, begins: set[int]) -> list[bool]:
    """Return in which steps the accumulator is cleared."""
    given = (cases["clear"] != 0).tolist()
    if how == "ignored":
        return [False] * len(given)
    if how == "late":
        return [place not in begins and given[place - 1] for place in range(len(given))]
    if how not in ("one_less", "one_more"):
        return given
    found, left = [], 0
    for place, tiles in enumerate(cases["tiles"].tolist()):
        left = 0 if place in begins else left
        found.append(left == 0)
        if left == 0:
            left = max(1, tiles - 1) if how == "one_less" else tiles + 1
        left -= 1
    return found


def features(cases: Cases, meant: Mask) -> Features:
    """Return the features of steps: of their fields and the sum."""
    before, own = sums(cases)
    total = cases["bias"] + before + own
    place = np.arange(len(own))
    index = place - np.maximum.accumulate(np.where(cases["clear"] != 0, place, 0))
    table: dict[str, Any] = {
        "a first step": cases["clear"] != 0,
        "a last step": cases["last"] != 0,
        "a step that is not the first": cases["clear"] == 0,
        "a sum of one step": cases["tiles"] == 1,
        "a bias of 0": cases["bias"] == 0,
        "a negative bias": cases["bias"] < 0,
        "a negative sum": total < 0,
        "a zero point other than 0": cases["input_zero_point"] != 0,
        "a negative input": (cases["inputs"] < 0).any(axis=1),
        "a negative weight": (cases["weights"] < 0).any(axis=1),
    }
    table |= wide("a sum", total) | wide("a bias", cases["bias"])
    for name, values in (("a step number", index), ("a case number", place)):
        table |= bounds(name, values, meant)
    return table


def _shown(cases: Cases, index: int, place: int) -> Mapping[str, Any]:
    return {name: values[index].tolist() for name, values in cases.items() if name != "place"}


def steps_of(columns: Cases, begins: Sequence[int]) -> tuple[Subject, Cases]:
    """Return the subject of these steps, and its cases; ``begins``: see `compute`."""

    @cache
    def whole(a: StepArithmetic) -> Integers:
        return compute(a, columns, begins)

    def steps(cases: Cases, index: int, place: int) -> Steps:
        case = _shown(cases, index, place)
        at, right = int(cases["place"][index]), whole(StepArithmetic())
        total = case["bias"] if case["clear"] else int(right[at - 1])
        found = [("bias" if case["clear"] else "the result before", total)]
        for x, w in zip(case["inputs"], case["weights"], strict=True):
            product = (x - case["input_zero_point"]) * w
            found.append(
                (f"{total} + ({x} - zx {case['input_zero_point']}) * {w}", total + product)
            )
            total += product
        return [*found, (f"wrap32({total})", int(right[at]))]

    subject = Subject(
        name="sequence",
        mistakes=MISTAKES,
        choices=StepArithmetic(),
        arithmetic=lambda a, cases: whole(a)[cases["place"]],
        features=features,
        sizes=lambda cases: np.sum(
            [bits(np.abs(cases["inputs"]).max(axis=1)), bits(cases["bias"])], axis=0
        ),
        shown=_shown,
        steps=steps,
    )
    return subject, {**columns, "place": np.arange(len(columns["clear"]))}
