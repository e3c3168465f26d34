"""Tolerances of the spec's rows: how far established runtimes are from the reference's kernels.

The spec allows that a result deviates, and promises tolerances per operator that nobody has
published. These were measured, by ``python -m lab.measure.tolerances``, and lie beside this file.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("tolerances.json")

VOTERS = ("litert-optimized", "xnnpack", "tflm", "tosa", "openvino-float")
"""Adapters of the runtimes that tolerances are of. What OpenVINO's kernels of int8 compute depends
on the processor, so that OpenVINO counts as it computes in float32."""

ROUNDED = frozenset(
    {"ADD", "AVERAGE_POOL_2D", "CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "MEAN", "MUL"}
    | {"L2_NORMALIZATION", "LOGISTIC", "LOG_SOFTMAX", "SOFTMAX", "TANH"}
    | {"QUANTIZE", "RESIZE_BILINEAR", "SUB", "SUM"}
)
"""Rows whose results are rounded. The others move, compare or count codes: nothing but the right
result makes sense there, and T is 0 whatever was measured."""


@dataclass(frozen=True, kw_only=True)
class Deviation:
    """How far a runtime is from the reference in models of one row.

    Attributes
    ----------
    models, computed
        How many were asked, and of how many there are results of the right shapes and types.
    elements, deviating
        Of the outputs of those, and how many of them are not the reference's.
    largest
        The largest difference: of codes, of integers, of booleans as 0 and 1.
    """

    models: int
    computed: int
    elements: int
    deviating: int
    largest: int


@dataclass(frozen=True, kw_only=True)
class Measured:
    """What was measured, with what.

    Attributes
    ----------
    kit, level, count, seed
        What the models were drawn by: the first ``count`` of a level.
    processor
        Instruction sets that runtimes choose kernels by.
    versions
        Of packages by name.
    rows
        By operator, and then by adapter.
    """

    kit: str
    level: str
    count: int
    seed: int
    processor: str
    versions: Mapping[str, str]
    rows: Mapping[str, Mapping[str, Deviation]]

    def text(self) -> str:
        """Return the file's content."""
        return json.dumps(asdict(self), indent=1) + "\n"

    @classmethod
    def from_dict(cls, facts: Mapping[str, Any]) -> "Measured":
        """Return what the content of a file says."""
        rows = {
            operator: {name: Deviation(**each) for name, each in row.items()}
            for operator, row in facts["rows"].items()
        }
        return cls(**{**facts, "rows": rows})

    def tolerance(self, operator: str) -> int | None:
        """Return T: the second largest of the largest deviations of `VOTERS`.

        So far is more than one of them from the reference; what one does alone may be its fault.
        0 of a row that is not `ROUNDED`; None where fewer than three compute any model of the row.
        """
        if operator in self.rows and operator not in ROUNDED:
            return 0
        row = self.rows.get(operator, {})
        far = sorted(row[name].largest for name in VOTERS if name in row and row[name].computed)
        return far[-2] if len(far) >= 3 else None


@cache
def measured() -> Measured:
    """Return what was measured."""
    return Measured.from_dict(json.loads(FILE.read_text(encoding="utf-8")))
