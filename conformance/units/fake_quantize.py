"""Ranges of OpenVINO's FakeQuantize as int8 scale and zero point, or the finding that none exists.

`eightfold.golden.fake_quantize.to_int8` is the rule; docs/other-specs.md has its formulas.
"""

import numpy as np

from eightfold.conformance.profile import Profile
from eightfold.conformance.units.unit import Column, Level, UnitCases, UnitKind, columns_of
from eightfold.golden.fake_quantize import NoInt8Error, from_int8, to_int8
from eightfold.golden.quantization import Quantization

LIMITS = ("input_low", "input_high", "output_low", "output_high")

INPUTS = (
    *(Column(name, 32, False, "float32, its bits") for name in LIMITS),
    Column("levels", 16, False, "256 of an activation, 255 of a weight; others have no int8"),
)
RESULTS = (
    Column("valid", 8, False, "1 if there is a scale and zero point, else 0 as all that follows"),
    Column("scale", 32, False, "float32, its bits"),
    Column("zero_point", 8, True, "of the int8 codes"),
)

COUNTS: dict[Level, int] = {"smoke": 100, "standard": 10000, "full": 40000}
"""Cases of each kind."""


def fake_quantize_cases(profile: Profile, level: Level, rng: np.random.Generator) -> UnitCases:
    """Return ranges that come from codes, neighbours of such, and ranges that have no codes."""
    rows, results, kinds = [], [], []
    for kind, draw in KINDS.items():
        for _ in range(COUNTS[level]):
            limits, levels = draw(rng)
            rows.append((*(int(limit.view(np.uint32)) for limit in limits), levels))
            results.append(_result(limits, levels))
            kinds.append(kind)
    return UnitCases(columns_of(INPUTS, rows), columns_of(RESULTS, results), np.array(kinds), {})


Range = tuple[np.float32, np.float32, np.float32, np.float32]
Drawn = tuple[Range, int]


def _result(limits: Range, levels: int) -> tuple[int, int, int]:
    try:
        scale, zero_point = to_int8(*limits, levels=levels).per_tensor()
    except NoInt8Error:
        return 0, 0, 0
    return 1, int(scale.view(np.uint32)), zero_point


def _from_codes(rng: np.random.Generator) -> Drawn:
    """Draw a scale and a zero point, and return their range."""
    levels = 256 if rng.random() < 0.7 else 255
    zero_point = (
        int(rng.choice([-128, 0, 127, int(rng.integers(-128, 128))])) if levels == 256 else 0
    )
    scale = np.array([2.0 ** rng.uniform(-20, 10)], dtype=np.float32)
    limits = from_int8(Quantization(scale, np.array([zero_point])), levels)
    low, high = np.float32(limits.input_low), np.float32(limits.input_high)
    return (low, high, low, high), levels


def _neighbour(rng: np.random.Generator) -> Drawn:
    """Move one end of a range, in input and output alike, by some float32 steps."""
    (low, high, _, _), levels = _from_codes(rng)
    steps = int(rng.choice([-40, -3, -1, 1, 3, 40]))
    if rng.random() < 0.5:
        low = _moved(low, steps)
    else:
        high = _moved(high, steps)
    return (low, high, low, high), levels


def _illegal(rng: np.random.Generator) -> Drawn:
    """Break one of the rules of a range that has codes."""
    (low, high, _, _), levels = _from_codes(rng)
    width = np.float32(high - low)
    broken: list[Drawn] = [
        ((low, high, low, high), int(rng.choice([2, 16, 254, 257, 65535]))),
        ((high, low, high, low), levels),
        ((low, low, low, low), levels),
        ((low, high, low, np.float32(high * 2 + 1)), levels),
        ((width, np.float32(3 * width), width, np.float32(3 * width)), levels),
        ((np.float32(-np.inf), high, np.float32(-np.inf), high), levels),
        ((low, np.float32(np.nan), low, np.float32(np.nan)), levels),
    ]
    return broken[int(rng.integers(len(broken)))]


def _moved(value: np.float32, steps: int) -> np.float32:
    for _ in range(abs(steps)):
        value = np.nextafter(value, np.float32(np.copysign(np.inf, steps)))
    return value


KINDS = {"codes": _from_codes, "neighbour": _neighbour, "illegal": _illegal}

UNIT = UnitKind("fake_quantize", INPUTS, RESULTS, fake_quantize_cases)
