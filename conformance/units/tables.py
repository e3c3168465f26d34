"""Byte tables: LOGISTIC, TANH and QUANTIZE of int8, each result for each of 256 codes."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from eightfold.conformance.profile import Profile
from eightfold.conformance.units.unit import Column, Level, UnitCases, UnitKind, columns_of
from eightfold.golden.errors import RejectedError, SpecError
from eightfold.golden.fixed_point import multiply_by_quantized_multiplier, quantize_multiplier
from eightfold.golden.quantization import Quantization, clamp
from eightfold.golden.unary import CODES, logistic, quantize, tanh

OPERATORS = ("LOGISTIC", "TANH", "QUANTIZE")
"""In the order of the column ``operator``'s values."""

INPUTS = (
    Column("operator", 8, False, "0 LOGISTIC, 1 TANH, 2 QUANTIZE"),
    Column("input_scale", 32, False, "float32, its bits"),
    Column("input_zero_point", 8, True, "of the input"),
    Column("output_scale", 32, False, "float32, its bits"),
    Column("output_zero_point", 8, True, "of the output"),
)
RESULTS = (Column("result", 8, True, "of the codes -128 to 127, in that order", 256),)

COUNTS: dict[Level, int] = {"smoke": 40, "standard": 2000, "full": 40000}
"""Tables of each operator."""


def table_cases(profile: Profile, level: Level, rng: np.random.Generator) -> UnitCases:
    """Return tables of drawn scales and zero points, by the reference of the profile."""
    rows = []
    tables = []
    kinds = []
    undefined = 0
    for number, operator in enumerate(OPERATORS):
        for case in range(COUNTS[level]):
            kind, (scale, zero_point, out_scale, out_zero) = _drawn(profile, operator, case, rng)
            try:
                pair = _quantization(scale, zero_point), _quantization(out_scale, out_zero)
                table = _table(profile, operator, *pair)
            except SpecError:
                undefined += 1
                continue
            bits, out_bits = scale.view(np.uint32), out_scale.view(np.uint32)
            rows.append((number, bits, zero_point, out_bits, out_zero))
            tables.append(table)
            kinds.append(kind)
    results = {"result": np.array(tables)}
    left_out = {"without a result": undefined}
    return UnitCases(columns_of(INPUTS, rows), results, np.array(kinds), left_out)


def _drawn(
    profile: Profile, operator: str, case: int, rng: np.random.Generator
) -> tuple[str, tuple[np.float32, int, np.float32, int]]:
    """Return why a table is there, and its input's and output's scale and zero point."""
    spread = float(rng.uniform(-8, 1))
    power = case % 4 == 0
    scale = np.float32(2.0 ** round(spread) if power else 2.0**spread)
    zero_point, out_zero = _zero_point(profile, case, rng), _zero_point(profile, case + 1, rng)
    kind = "power of two" if power else "random"
    if operator != "QUANTIZE":
        steps, out_zero = (256, -128) if operator == "LOGISTIC" else (128, 0)
        return kind, (scale, zero_point, np.float32(1 / steps), out_zero)
    if case % 4 == 1:  # a ratio of odd over a power of two has exact ties
        ratio = (2 * int(rng.integers(1, 64)) + 1) / 2.0 ** int(rng.integers(1, 9))
        return "ties", (np.float32(scale * ratio), zero_point, scale, out_zero)
    ratio = 2.0 ** float(rng.uniform(-3, 3))
    ratio = 2.0 ** round(np.log2(ratio)) if power else ratio
    return kind, (scale, zero_point, np.float32(scale * ratio), out_zero)


def _zero_point(profile: Profile, case: int, rng: np.random.Generator) -> int:
    zero_points = profile.limits.zero_points
    if zero_points != "any":
        return int(rng.choice(np.array(zero_points)))
    return int(rng.choice([-128, 0, 127])) if case % 3 == 0 else int(rng.integers(-128, 128))


def _quantization(scale: np.float32, zero_point: int) -> Quantization:
    return Quantization(np.array([scale]), np.array([zero_point]))


def _table(
    profile: Profile, operator: str, inputs: Quantization, output: Quantization
) -> NDArray[np.int8]:
    quantizations = {"input_quantization": inputs, "output_quantization": output}
    codes = CODES.astype(np.int8)
    if operator == "QUANTIZE":
        if profile.rounding == "double":
            return quantize(codes, input_quantization=inputs, output_quantization=output)
        (scale, zero_point), (out_scale, out_zero) = inputs.per_tensor(), output.per_tensor()
        pair = quantize_multiplier(float(scale) / float(out_scale))
        scaled = multiply_by_quantized_multiplier(CODES - zero_point, *pair, single=True)
        return clamp(scaled + out_zero)
    if profile.rounding == "single" and profile.reference == "tflm":
        raise RejectedError(f"golden has no {operator} in fixed point with one rounding")
    function: Callable[..., NDArray[np.int8]] = logistic if operator == "LOGISTIC" else tanh
    return function(codes, **quantizations, reference=profile.reference)


UNIT = UnitKind("tables", INPUTS, RESULTS, table_cases)
