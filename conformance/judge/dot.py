"""Dot products as subjects: of two lists at once, and of tiles, step by step.

Cases are the columns of `eightfold.conformance.units.dot`, in int64. What a step gives depends on
the steps before it: a subject is made of all steps of its simulations.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from eightfold.conformance.judge.arithmetic import kept, wrap
from eightfold.conformance.judge.rules import Features, Mask, bounds, wide
from eightfold.conformance.judge.subject import Cases, Steps, Subject, Table, bits, named, shown
from eightfold.conformance.units.dot import LENGTH, differences, tile_sums
from eightfold.golden.fixed_point import Integers, wrap32


@dataclass(frozen=True)
class DotArithmetic:
    """How a dot product computes; each field is a name out of a table of this module, or what a
    register keeps: of a difference of an operand and its zero point, a product, the sum.

    The defaults are those of the reference::

        sum = wrap32(bias + sum over i < length of (x[i] - zx) * (w[i] - zw))
    """

    zero_points: str = "own"
    input_zero_point: str = "subtracted"
    weight_zero_point: str = "subtracted"
    input: str = "signed"
    weight: str = "signed"
    input_difference: str = "whole"
    weight_difference: str = "whole"
    cross_term: str = "whole"
    length: str = "exact"
    product: str = "whole"
    accumulator: str = "wraps_32"
    bias: str = "first"


OPERANDS: dict[str, Callable[[Integers], Integers]] = {
    "signed": lambda x: x,
    "unsigned": lambda x: x & 0xFF,
    "offset": lambda x: x + 128,
    "magnitude": np.abs,
    "symmetric": lambda x: np.maximum(x, -127),
}
"""How an int8 operand is read (``input``, ``weight``)."""

ZERO_POINTS: dict[str, Callable[[Integers, Integers], Integers]] = {
    "subtracted": lambda x, zero: x - zero,
    "added": lambda x, zero: x + zero,
    "missing": lambda x, zero: x + 0 * zero,
    "unsigned": lambda x, zero: x - (zero & 0xFF),
}
"""An operand and its zero point (``input_zero_point``, ``weight_zero_point``)."""

LENGTHS: dict[str, Callable[[Integers], tuple[Any, Any]]] = {
    "exact": lambda n: (0, n),
    "last_missing": lambda n: (0, n - 1),
    "first_missing": lambda n: (1, n),
    "multiple_of_2": lambda n: (0, n - n % 2),
    "multiple_of_4": lambda n: (0, n - n % 4),
    "multiple_of_8": lambda n: (0, n - n % 8),
    "multiple_of_16": lambda n: (0, n - n % 16),
}
"""First and end of the elements that are summed (``length``)."""

CROSS_TERMS: dict[str, Callable[[Integers, Integers, Integers], Integers]] = {
    "whole": lambda n, zx, zw: np.zeros_like(n),
    "missing": lambda n, zx, zw: -n * zx * zw,
    "full_length": lambda n, zx, zw: (LENGTH - n) * zx * zw,
}
"""What is wrong with ``length * zx * zw``, if the product of differences is expanded
(``cross_term``)."""

BIASES: dict[str, Callable[[Integers], tuple[Any, Any]]] = {
    "first": lambda bias: (bias, 0),
    "last": lambda bias: (0, bias),
    "missing": lambda bias: (0, 0),
    "subtracted": lambda bias: (-bias, 0),
    "twice": lambda bias: (2 * bias, 0),
    "wraps_16": lambda bias: (wrap(bias, 16), 0),
}
"""What is added before the products, and after them (``bias``)."""


def compute(arithmetic: DotArithmetic, cases: Cases) -> Integers:
    """Return the int32 results of dot products that compute as ``arithmetic`` says, shape (n,)."""
    a = arithmetic
    n, zx, zw = (cases[name] for name in ("length", "input_zero_point", "weight_zero_point"))
    if a.zero_points == "swapped":
        zx, zw = zw, zx
    x = ZERO_POINTS[a.input_zero_point](OPERANDS[a.input](cases["inputs"]), zx[:, None])
    w = ZERO_POINTS[a.weight_zero_point](OPERANDS[a.weight](cases["weights"]), zw[:, None])
    products = kept(x, a.input_difference) * kept(w, a.weight_difference)
    products = kept(products, a.product)
    # What is beyond the length is not summed, whatever a mistake makes of it.
    first, end = LENGTHS[a.length](n[:, None])
    place = np.arange(LENGTH)
    products = np.where((place >= first) & (place < end), products, 0)
    before, after = BIASES[a.bias](cases["bias"])
    cross = CROSS_TERMS[a.cross_term](n, zx, zw)
    return wrap32(_accumulate(a.accumulator, before, products, cross + after))


def _accumulate(how: str, before: Any, products: Integers, after: Integers) -> Integers:
    """Return the sum in a register, which saturates with every addition; ``ends_``: at the end."""
    if not how.startswith("saturates"):  # wherever it wraps, the result is the same
        return kept(before + products.sum(axis=1) + after, how.removeprefix("ends_"))
    sum_ = kept(np.broadcast_to(np.asarray(before, np.int64), after.shape), how)
    for element in products.T:
        sum_ = kept(sum_ + element, how)
    return kept(sum_ + after, how)


def _of_operand(field: str, one: str, other: str) -> Table:
    point, zero = f"{field}_zero_point", f"The zero point of the {one}"
    register, difference = f"{field}_difference", f"The difference of {other} and its zero point"
    return {
        (f"{point}_missing", point, "missing"): f"{zero} is not subtracted.",
        (f"{point}_added", point, "added"): f"{zero} is added, not subtracted.",
        (f"{point}_unsigned", point, "unsigned"): f"{zero} is read without a sign: -128 counts as "
        "128.",
        (f"{field}_unsigned", field, "unsigned"): f"The {one} are read without a sign: -1 counts "
        "as 255 (`$signed` is missing, or they are `uint8`).",
        (f"{field}_offset", field, "offset"): f"The {one} have 128 added to them, as uint8 with a "
        "zero point of 128 has, and their zero point is left as it is.",
        (f"{field}_magnitude", field, "magnitude"): f"The {one} have lost their sign.",
        (f"{field}_symmetric", field, "symmetric"): f"Where one of the {one} is -128, it counts as "
        "-127.",
        (f"{register}_8_wraps", register, "wraps_8"): f"{difference} is kept in 8 bits, and wraps; "
        "it needs 9.",
        (f"{register}_8_saturates", register, "saturates_8"): f"{difference} saturates to 8 bits; "
        "it needs 9.",
        (f"{register}_unsigned", register, "unsigned_9"): f"{difference} is multiplied without its "
        "sign, as an unsigned word of 9 bits.",
    }


def _of_accumulators() -> dict[tuple[Any, ...], str]:
    found: dict[tuple[Any, ...], str] = {
        (f"accumulator_{width}_wraps", "accumulator", f"wraps_{width}"): f"The accumulator has "
        f"{width} bits, and wraps."
        for width in (16, 18, 20, 24)
    }
    for width in (16, 24, 32):
        name, saturates = f"accumulator_{width}_saturates", f"saturates_{width}"
        wraps = " where the reference wraps" if width == 32 else ""
        text = f"The accumulator saturates at {width} bits with every addition{wraps}"
        found[name, "accumulator", saturates] = f"{text}; it begins with the bias."
        if width == 16:  # products alone do not leave 24 bits: then only the end saturates
            key = f"{name}_bias_last", "accumulator bias", f"{saturates} last"
            found[key] = f"{text}; the bias is added after the products."
        found[f"sum_{width}_saturates", "accumulator", f"ends_saturates_{width}"] = (
            f"The sum of products is whole, and with the bias it saturates to {width} bits{wraps}."
        )
    return found


_TABLE: Table = {
    **_of_operand("input", "inputs", "an input"),
    **_of_operand("weight", "weights", "a weight"),
    ("zero_points_swapped", "zero_points", "swapped"): "The zero points are swapped: that of the "
    "weights is subtracted from the inputs, and the other way round.",
    ("zero_points_missing", "input_zero_point weight_zero_point", "missing missing"): "Neither "
    "zero point is subtracted.",
    ("zero_points_added", "input_zero_point weight_zero_point", "added added"): "Both zero points "
    "are added, not subtracted.",
    ("operands_unsigned", "input weight", "unsigned unsigned"): "Inputs and weights are both read "
    "without a sign.",
    ("cross_term_missing", "cross_term", "missing"): "The product of differences is expanded, and "
    "the term length * zx * zw is missing.",
    ("cross_term_of_64", "cross_term", "full_length"): "The product of differences is expanded, "
    "and its last term is 64 * zx * zw, whatever the length.",
    ("last_missing", "length", "last_missing"): "The last element is left out.",
    ("first_missing", "length", "first_missing"): "The first element is left out.",
    **{
        (f"length_of_{lanes}", "length", f"multiple_of_{lanes}"): f"Elements come in groups of "
        f"{lanes}, and what is left of the length is left out."
        for lanes in (2, 4, 8, 16)
    },
    ("product_16_wraps", "product", "wraps_16"): "A product is kept in 16 bits, and wraps; that of "
    "two differences needs 18.",
    ("product_16_saturates", "product", "saturates_16"): "A product saturates to 16 bits.",
    ("product_unsigned", "product", "unsigned_16"): "A product of 16 bits is added without its "
    "sign.",
    **_of_accumulators(),
    ("bias_missing", "bias", "missing"): "There is no bias.",
    ("bias_subtracted", "bias", "subtracted"): "The bias is subtracted.",
    ("bias_twice", "bias", "twice"): "The bias is added twice.",
    ("bias_16", "bias", "wraps_16"): "The bias is cut to its lower 16 bits.",
}


def features(cases: Cases, meant: Mask) -> Features:
    n, zx, zw = (cases[name] for name in ("length", "input_zero_point", "weight_zero_point"))
    x, w = differences(cases)
    products = x * w
    inside = np.arange(LENGTH) < n[:, None]
    sums = np.cumsum(products, axis=1)
    total = sums[:, -1] + cases["bias"]
    table: dict[str, Any] = {
        "a zero point of the inputs other than 0": zx != 0,
        "a zero point of the weights other than 0": zw != 0,
        "a zero point of the inputs of -128": zx == -128,
        "a zero point of the weights of -128": zw == -128,
        "a negative zero point of the inputs": zx < 0,
        "a negative zero point of the weights": zw < 0,
        "an input of -128": ((cases["inputs"] == -128) & inside).any(axis=1),
        "a weight of -128": ((cases["weights"] == -128) & inside).any(axis=1),
        "a negative input": ((cases["inputs"] < 0) & inside).any(axis=1),
        "a negative weight": ((cases["weights"] < 0) & inside).any(axis=1),
        "a negative bias": cases["bias"] < 0,
        "a positive bias": cases["bias"] > 0,
        "a bias of 0": cases["bias"] == 0,
        "an odd length": n % 2 == 1,
        "a length that is no multiple of 4": n % 4 != 0,
        "a length that is no multiple of 8": n % 8 != 0,
        "a sum with the bias that wraps": total != wrap32(total),
        "a negative sum": total < 0,
        "a positive sum": total > 0,
    }
    largest = np.where(
        np.abs(sums.max(axis=1)) > np.abs(sums.min(axis=1)), sums.max(axis=1), sums.min(axis=1)
    )
    table |= wide("a product", _furthest(products)) | wide("a sum of products", largest)
    table |= wide("a sum", total) | wide("a bias", cases["bias"])
    table |= wide("a difference of an input and its zero point", _furthest(x))
    table |= wide("a difference of a weight and its zero point", _furthest(w))
    numbers = {"a length": n, "a zero point of the inputs": zx, "a zero point of the weights": zw}
    for name, values in (numbers | {"a case number": np.arange(len(n))}).items():
        table |= bounds(name, values, meant)
    return table


def _furthest(values: Integers) -> Integers:
    """Return the value of each row that needs most bits."""
    low, high = values.min(axis=1), values.max(axis=1)
    return np.where(-low > high, low, high)


def sizes(cases: Cases) -> Integers:
    inside = np.arange(LENGTH) < cases["length"][:, None]
    lists = (bits(cases["inputs"]) + bits(cases["weights"]) + 2) * inside
    others = ("length", "input_zero_point", "weight_zero_point", "bias")
    return np.sum([lists.sum(axis=1), *(bits(cases[name]) for name in others)], axis=0)


def _shown(cases: Cases, index: int, place: int) -> Mapping[str, Any]:
    fields = shown((), cases, index, place)
    return fields | {name: fields[name][: fields["length"]] for name in ("inputs", "weights")}


def _steps(cases: Cases, index: int, place: int) -> Steps:
    case = _shown(cases, index, place)
    zx, zw, total = case["input_zero_point"], case["weight_zero_point"], case["bias"]
    found: list[tuple[str, Any]] = []
    for x, w in zip(case["inputs"], case["weights"], strict=True):
        text = f"{total} + ({x} - zx {zx}) * ({w} - zw {zw})"
        total += (x - zx) * (w - zw)
        found.append((text, total))
    return [*found, (f"wrap32({total})", int(wrap32(total)))]


DOT = Subject(
    name="dot",
    mistakes=named(_TABLE),
    choices=DotArithmetic(),
    arithmetic=compute,
    features=features,
    sizes=sizes,
    shown=_shown,
    steps=_steps,
)


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

STEP_MISTAKES = OF_TILES + tuple(
    each
    for each in DOT.mistakes
    if each.changes.keys() <= {"input", "weight", "input_zero_point", "accumulator"}
    and not str(each.changes.get("accumulator", "")).startswith("ends_")
    and each.changes.get("weight") != "symmetric"  # no case has a weight of -128
)
"""These, and what a dot product does with its operands and its accumulator."""


def compute_steps(a: StepArithmetic, cases: Cases, begins: Sequence[int]) -> Integers:
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


def _step_features(cases: Cases, meant: Mask) -> Features:
    before, own = tile_sums(cases)
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


def steps_of(columns: Cases, begins: Sequence[int]) -> tuple[Subject, Cases]:
    """Return the subject of these steps, and its cases; ``begins``: see `compute_steps`."""

    @cache
    def whole(a: StepArithmetic) -> Integers:
        return compute_steps(a, columns, begins)

    def own(cases: Cases, index: int, place: int) -> dict[str, Any]:
        return shown((), columns, int(cases["place"][index]), place)

    def steps(cases: Cases, index: int, place: int) -> Steps:
        case = own(cases, index, place)
        at, right = int(cases["place"][index]), whole(StepArithmetic())
        total = case["bias"] if case["clear"] else int(right[at - 1])
        found = [("bias" if case["clear"] else "the result before", total)]
        zx = case["input_zero_point"]
        for x, w in zip(case["inputs"], case["weights"], strict=True):
            text = f"{total} + ({x} - zx {zx}) * {w}"
            total += (x - zx) * w
            found.append((text, total))
        return [*found, (f"wrap32({total})", int(right[at]))]

    subject = Subject(
        name="sequence",
        mistakes=STEP_MISTAKES,
        choices=StepArithmetic(),
        arithmetic=lambda a, cases: whole(a)[cases["place"]],
        features=_step_features,
        sizes=lambda cases: bits(np.abs(cases["inputs"]).max(axis=1)) + bits(cases["bias"]),
        shown=own,
        steps=steps,
    )
    return subject, {**columns, "place": np.arange(len(columns["clear"]))}
