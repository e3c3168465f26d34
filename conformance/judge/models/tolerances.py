"""Tolerances of the spec's rows: how far established runtimes are from the reference's kernels.

The spec allows that a result deviates, and promises tolerances per operator that nobody has
published. These were measured, by ``python -m lab.measure.tolerances``, and lie beside this file.
"""

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("tolerances.json")
"""How and with what was measured; and in ``rows``, by operator and then by adapter, what
`lab.measure.tolerances.deviation` returns."""

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

Rows = Mapping[str, Mapping[str, Mapping[str, int]]]


@cache
def measured() -> dict[str, Any]:
    return json.loads(FILE.read_text(encoding="utf-8"))


def tolerance_of(operator: str, rows: Rows) -> int | None:
    """Return T: the second largest of the largest deviations of `VOTERS`.

    So far is more than one of them from the reference; what one does alone may be its fault. 0 of a
    row that is not `ROUNDED`; None where fewer than three compute any model of the row.
    """
    if operator in rows and operator not in ROUNDED:
        return 0
    row = rows.get(operator, {})
    far = sorted(row[each]["largest"] for each in VOTERS if each in row and row[each]["computed"])
    return far[-2] if len(far) >= 3 else None
