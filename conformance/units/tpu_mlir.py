"""TPU-MLIR's forms, one result at a time: a window of Convolution, a pair of Add, a code of Pad.

Results are those of `eightfold.golden.tpu_mlir`; docs/other-specs.md has the formulas. Codes are
int8 or uint8, as the column ``uint8`` says; those of a window outside of the image are not read.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eightfold.conformance.profile import Profile
from eightfold.conformance.units.unit import Column, Level, UnitCases, UnitKind
from eightfold.golden.quantization import Quantization
from eightfold.golden.tpu_mlir import elementwise, numbers, windows

TAPS = 9
"""Of a window, 3 by 3, or inputs of a sum."""

COUNTS: dict[Level, int] = {"smoke": 120, "standard": 4000, "full": 40_000}
"""Cases of each form."""

Case = Mapping[str, Any]
"""One case: numbers, and lists as arrays."""


TEXTS: dict[str, tuple[int, bool, str]] = {
    "uint8": (8, False, "1 if codes are uint8, 0 if int8"),
    "x": (16, True, "the code"),
    "y": (16, True, "the other code"),
    "inputs": (16, True, "codes"),
    "inside": (16, False, "bit i is 1 if code i is in the image; what is not, pads"),
    "input_zero_point": (16, True, "of the input"),
    "other_zero_point": (16, True, "of the other input"),
    "zero_point": (16, True, "of the result"),
    "weights": (8, True, "int8, one of each code"),
    "alpha": (8, True, "the slope's code"),
    "bias": (32, True, "b_i32"),
    "factor": (32, True, "M_i32, never negative; of 8 bits where the profile's is"),
    "multiplier": (8, True, "M_i8"),
    "other_multiplier": (8, True, "M_i8 of the other code"),
    "rshift": (8, True, "a right shift"),
    "input_scale": (32, False, "float32, its bits: of the input"),
    "other_scale": (32, False, "float32, its bits: of the other input"),
    "scale": (32, False, "float32, its bits: of the result, or AvgPool's factor"),
    "offset": (32, False, "float32, its bits: AvgPool's Offset"),
    "value": (32, False, "float32, its bits: what pads"),
}
"""Columns: bits, whether they have a sign, and what they are."""

FIELDS: dict[str, str] = {
    "convolution": "uint8 inputs inside input_zero_point weights bias factor rshift zero_point",
    "inner_product": "uint8 inputs weights bias factor rshift zero_point",
    "add_symmetric": "uint8 x y multiplier other_multiplier rshift",
    "add_asymmetric": "uint8 x y input_scale input_zero_point other_scale other_zero_point scale "
    "zero_point",
    "avg_pool": "uint8 inputs inside input_zero_point scale offset",
    "leaky_relu": "uint8 x input_zero_point multiplier rshift zero_point",
    "prelu": "uint8 x input_zero_point alpha multiplier rshift zero_point",
    "pad": "uint8 x inside value input_zero_point scale zero_point",
}
"""The columns of each form's cases."""

COLUMNS: dict[str, tuple[Column, ...]] = {
    unit: tuple(
        Column(name, *TEXTS[name], TAPS if name in ("inputs", "weights") else 1)  # pyright: ignore
        for name in names.split()
    )
    for unit, names in FIELDS.items()
}

RESULTS = (Column("result", 16, True, "the code"),)


def drawn(
    name: str, shape: tuple[int, ...], before: Mapping[str, NDArray[Any]], rng: np.random.Generator
) -> NDArray[Any]:
    """Return values of a column: both types, the ends often, and a third that is mostly at ties.

    Of floats another third is at ties of float32 alone: what float64 makes of them is beside.
    """
    n, often = shape[0], rng.random(shape) < 0.25
    tied = (np.arange(n) % 3 == 0).reshape(n, *[1] * (len(shape) - 1))
    power = np.arange(n) // 3 % 6
    if name == "uint8":
        return rng.integers(0, 2, n)
    if name == "inside":
        return rng.integers(0, 1 << TAPS, n)
    if name == "bias":
        return rng.choice([0, 1, -1], n) * rng.integers(0, np.where(tied, 64, 1 << 12), n)
    if name in ("weights", "alpha"):
        free = np.where(often, rng.choice([127, -127], shape), rng.integers(-30, 31, shape))
        few = [1, -1] if name == "alpha" else [1, -1, 0, 0]  # sums that are not saturated
        return np.where(tied, rng.choice(few, shape), free)
    if name in ("multiplier", "other_multiplier"):
        # Of a slope also negative ones: what is below zero times them is above it, at a tie too.
        one = 1 << power if "y" in before else rng.choice([1, -1], n) << power
        return np.where(tied, one, rng.integers(0 if "y" in before else -127, 128, n))
    if name == "factor":
        large, small = rng.integers(1 << 30, (1 << 31) - 1, n), rng.integers(1, 127, n)
        return np.where(tied, 1 << power, np.where(rng.random(n) < 0.5, large, small))
    if name == "rshift":
        size = np.abs(before.get("factor", before.get("multiplier", 1)))
        size = size * np.abs(before.get("alpha", 32 if "factor" in before else 1)) + 1
        free = np.maximum(np.log2(size).astype(np.int64) + rng.integers(-1, 5, n), 1)
        return np.where(tied, power + rng.choice([1, 1, 1, 2, 3], n), free)
    single, half = np.arange(n) % 3 == 1, rng.integers(0, 60, n) + 0.5
    if name == "value":
        return np.where(
            tied, rng.choice([1, -1], n) * half * 0.5 ** (power % 3), rng.normal(0, 60, n)
        )
    if name == "offset":
        free = np.where(tied, rng.integers(-200, 200, n) / 4, rng.normal(0, 60, n))
        return np.where(single, _sums(before) - rng.choice([1, -1], n) * half, free)
    if name.endswith("scale"):
        free = np.exp(rng.uniform(-1, 1, n)) / (9 if "inputs" in before else 1)
        twos = power % 3 if "value" in before else rng.integers(0, 3, n)
        free = np.where(tied, 0.5**twos, free)
        if name == "scale" and "y" in before:
            total = np.abs(_sums(before))
            free = np.where(single & (total > 0), total / half.astype(np.float32), free)
        return free
    held = np.where(often, rng.choice([-128, 127, 0], shape), rng.integers(-128, 128, shape))
    return held + 128 * before["uint8"].reshape(-1, *[1] * (len(shape) - 1))


def seen(cases: Mapping[str, NDArray[Any]], fill: NDArray[Any]) -> NDArray[Any]:
    """Return the codes of windows, a row each, or of one, with ``fill`` outside of the image."""
    inside = (cases["inside"][..., None] >> np.arange(TAPS)) & 1
    return np.where(inside, cases["inputs"], fill[..., None])


def _sums(before: Mapping[str, NDArray[Any]]) -> NDArray[np.float32]:
    """Return what is rounded, but for AvgPool's Offset and the scale of an asymmetric Add."""
    if "inside" in before:
        codes = seen(before, before["input_zero_point"])
        return before["scale"].view(np.float32) * codes.sum(axis=1).astype(np.float32)
    one, other = (
        before[scale].view(np.float32) * (before[x] - before[zero]).astype(np.float32)
        for x, scale, zero in (
            ("x", "input_scale", "input_zero_point"),
            ("y", "other_scale", "other_zero_point"),
        )
    )
    return np.add(one, other, dtype=np.float32)


def quantization(scale: int, zero_point: int) -> Quantization:
    """Return that of a scale's bits."""
    return Quantization(np.array([scale], np.uint32).view(np.float32), np.array([zero_point]))


def options_of(unit: str, case: Case) -> dict[str, Any]:
    """Return a case's options of the form, by golden's names, without what it reads."""
    code = "uint8" if case["uint8"] else "int8"
    if unit == "add_symmetric":
        both = int(case["multiplier"]), int(case["other_multiplier"])
        return {"code": code, "multipliers": both, "rshift": int(case["rshift"])}
    zero = int(case.get("input_zero_point", 0))
    target = int(case.get("zero_point", 0))
    if unit in ("convolution", "inner_product"):
        fields = numbers.requantizer(case["factor"], case["rshift"], zero_point=target)
        found = {"code": code, "fields": fields, "bias": np.array([case["bias"]], np.int32)}
        weights = case["weights"].astype(np.int8)
        if unit == "inner_product":
            return found | {"weights": weights[None]}
        return found | {"weights": weights.reshape(1, 1, 3, 3), "input_zero_point": zero}
    if unit == "avg_pool":
        bits = np.array([case["scale"], case["offset"]], np.uint32).view(np.float32)
        return {"code": code, "kernel": (3, 3), "scale": bits[0], "offset": bits[1]}
    if unit in ("leaky_relu", "prelu"):
        factors = {"multiplier": int(case["multiplier"]), "rshift": int(case["rshift"])}
        zeros = {"input_zero_point": zero, "output_zero_point": target}
        alpha = {"alpha": np.array([case["alpha"]], np.int8)} if unit == "prelu" else {}
        return {"code": code, **factors, **zeros, **alpha}
    output = quantization(case["scale"], target)
    if unit == "add_asymmetric":
        a = quantization(case["input_scale"], zero)
        b = quantization(case["other_scale"], int(case["other_zero_point"]))
        three = {"a_quantization": a, "b_quantization": b, "output_quantization": output}
        return {"code": code, **three}
    value = float(np.uint32(case["value"]).view(np.float32))
    zeros = {"input_zero_point": zero, "output_quantization": output}
    return {"code": code, "value": value, "paddings": [[int(not case["inside"] & 1), 0]], **zeros}


def operands_of(unit: str, case: Case) -> list[NDArray[Any]]:
    """Return what a form reads, NCHW: the padding of a window is in it."""
    kind = np.uint8 if case["uint8"] else np.int8
    if unit in ("add_symmetric", "add_asymmetric"):
        return [np.array([case[name]]).astype(kind) for name in ("x", "y")]
    if "inputs" not in case:
        return [np.array([case["x"]]).astype(kind).reshape((1, 1) if unit == "prelu" else (1,))]
    x = case["inputs"]
    if "inside" in case:
        x = seen(case, case["input_zero_point"])
    return [x.astype(kind).reshape((1, TAPS) if unit == "inner_product" else (1, 1, 3, 3))]


GOLDEN: dict[str, Callable[..., NDArray[Any]]] = {
    **{name: getattr(windows, name) for name in ("convolution", "inner_product", "avg_pool")},
    **{
        name: getattr(elementwise, name)
        for name in ("add_symmetric", "add_asymmetric", "leaky_relu", "prelu", "pad")
    },
}
"""Golden's function of each form."""


def form_cases(unit: str, profile: Profile, level: Level, rng: np.random.Generator) -> UnitCases:
    """Return random cases of a form."""
    inputs: dict[str, NDArray[Any]] = {}
    for column in COLUMNS[unit]:
        values = drawn(column.name, column.shape(COUNTS[level]), inputs, rng)
        if column.name == "factor" and profile.limits.multiplier_bits == 8:
            values = values % 127
        real = column.text.startswith("float32")
        inputs[column.name] = values.astype(np.float32).view(np.uint32) if real else values
    results = [
        GOLDEN[unit](*operands_of(unit, case), **options_of(unit, case)).flat[0]
        for case in rows_of(inputs)
    ]
    kinds = np.where(inputs["uint8"] == 1, "uint8", "int8")
    return UnitCases(inputs, {"result": np.array(results, np.int64)}, kinds, {})


def rows_of(columns: Mapping[str, NDArray[Any]]) -> list[Case]:
    """Return cases one by one."""
    count = len(columns["uint8"])
    return [{name: values[row] for name, values in columns.items()} for row in range(count)]


FORM_KINDS: tuple[UnitKind, ...] = tuple(
    UnitKind(name, columns, RESULTS, partial(form_cases, name)) for name, columns in COLUMNS.items()
)
