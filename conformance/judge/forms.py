"""The forms of requantization that a unit can claim: golden's results and arithmetic of each."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eightfold.golden.fixed_point import (
    INT32_MAX,
    Integers,
    multiply_by_quantized_multiplier,
    wrap32,
)
from eightfold.golden.requantize import requantize
from eightfold.golden.steps import (
    Step,
    explain_multiplication,
    explain_offset_and_clamp,
    explain_requantize,
)
from eightfold.golden.tpu_mlir.numbers import requantizer

Cases = Mapping[str, NDArray[np.int64]]
"""Cases of a requantizer: int64 of shape (n,) each.

``acc`` int32; ``multiplier`` 0..2^31-1; ``shift``, positive to the left, -31..31 (single rounding:
-31..30; TPU-MLIR: minus its rshift, -62..32); ``zero_point``, ``low``, ``high`` int8, ``low <=
high``; and where the unit adds one, ``bias`` int32. TFLite's single rounding asserts that its
scaled value is an int32: other cases have no result to hold anything against.
"""

FIELDS = ("acc", "multiplier", "shift", "zero_point", "low", "high")
"""What every case has."""

_UNSCALED = ("acc", "bias", "zero_point", "low", "high")
"""What is the same in golden's terms."""


@dataclass(frozen=True)
class Form:
    """A form of requantization, by golden's functions."""

    name: str
    what: str
    roundings: int
    """2, or 1 of the whole product."""
    fraction_bits: int = 31
    """The multiplier's fraction bits: one is ``acc * multiplier * 2^(shift - fraction_bits)``. They
    are 31 of TFLite, and 0 of TPU-MLIR."""

    def results(self, cases: Cases) -> Integers:
        """Return golden's results of cases, shape (n,)."""
        if not self.fraction_bits:
            fields = requantizer(cases["multiplier"], -cases["shift"])
            given = {name: cases[name] for name in _UNSCALED if name in cases}
            return requantize(**fields | given).astype(np.int64)
        scaled = multiply_by_quantized_multiplier(
            operand(cases), cases["multiplier"], cases["shift"], single=self.roundings == 1
        )
        return np.clip(wrap32(scaled + cases["zero_point"]), cases["low"], cases["high"])

    def steps(self, case: dict[str, int]) -> list[Step]:
        """Return golden's arithmetic of one case; the last value is the result."""
        found: list[Step] = []
        if not self.fraction_bits:
            fields = requantizer(case["multiplier"], -case["shift"])
            factor, right = int(fields["multiplier"]), int(fields["right"])
            if case["shift"] > 0:
                text = f"min({case['multiplier']} << {case['shift']}, {INT32_MAX})"
                found.append((text, factor))
            given = {name: case[name] for name in _UNSCALED if name in case}
            given |= {"multiplier": factor, "right": right, "single": 1}
            return found + explain_requantize(**given, rounding="half_up")
        x = case["acc"]
        if "bias" in case:
            x = int(wrap32(x + case["bias"]))
            found.append((f"wrap32({case['acc']} + bias {case['bias']})", x))
        single = self.roundings == 1
        found += explain_multiplication(x, case["multiplier"], case["shift"], single=single)
        bounds = (case["low"], case["high"])
        return found + explain_offset_and_clamp(found[-1][1], case["zero_point"], bounds)


def operand(cases: Cases) -> Integers:
    return wrap32(cases["acc"] + cases["bias"]) if "bias" in cases else cases["acc"]


def cases_of(form: str, columns: Mapping[str, NDArray[Any]]) -> dict[str, Integers]:
    """Return cases from columns of integers in the spec's own terms.

    These call ``acc`` ``accumulator``, and TPU-MLIR's ``shift`` is its rshift, positive to the
    right. Columns that are no field are left out.
    """
    named = {"acc": columns["accumulator"]} | {
        name: columns[name] for name in (*FIELDS, "bias") if name in columns
    }
    cases = {name: np.asarray(values).astype(np.int64) for name, values in named.items()}
    return cases if FORMS[form].fraction_bits else cases | {"shift": -cases["shift"]}


def take(cases: Cases, index: int) -> dict[str, int]:
    """Return one of the cases as Python integers."""
    return {name: int(values[index]) for name, values in cases.items()}


_OF_TPU_MLIR = "TPU-MLIR's multiplier of {} bits and rshift: one rounding, ties up"

FORMS = {
    form.name: form
    for form in (
        Form(
            "tflite",
            "TFLite's two roundings: the high multiply, ties up, then the right shift, ties away "
            "from zero",
            roundings=2,
        ),
        Form(
            "tflite_single",
            "TFLite built with single rounding: the 64-bit product shifted once, ties up",
            roundings=1,
        ),
        Form("tpu_mlir_8", _OF_TPU_MLIR.format(8), roundings=1, fraction_bits=0),
        Form("tpu_mlir_32", _OF_TPU_MLIR.format(32), roundings=1, fraction_bits=0),
    )
}


def form_of(name: str) -> Form:
    """Return a form by its name. Raises ValueError if there is none."""
    if name not in FORMS:
        raise ValueError(f"the form must be one of {', '.join(FORMS)}, not {name!r}")
    return FORMS[name]
