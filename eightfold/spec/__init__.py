"""The TFLite 8-bit quantization spec as data, and the checks made from it.

`rows.ROWS` holds one `Row` per operator, in the spec's order: what its inputs and outputs must be.
`check_model` holds a model against the rows, ``docs/operators.md`` is generated from them;
`check_prepared` says as findings what `eightfold.model.prepare` refuses.

To add a row:

1. Write it in `rows.ROWS`. An operand that the spec's table lists takes its words; an operand
   that only the reference kernels define, such as the axes of MEAN, has the source ``KERNELS``.
2. ``make documents`` brings ``docs/operators.md`` up to date.
3. Add a conforming model to ``tests/support/models/spec.py``.

The checks follow from the fields of the row; a new kind of restriction is a new class or member
in `row` and its check in `tensors` (about one tensor) or `operators` (between tensors).
"""

from eightfold.spec.check import check_model
from eightfold.spec.finding import Finding, findings_as_json, has_violation, render
from eightfold.spec.gate import check_prepared
from eightfold.spec.row import Row, TensorRule
from eightfold.spec.rows import ROWS, row_of

__all__ = [
    "ROWS",
    "Finding",
    "Row",
    "TensorRule",
    "check_model",
    "check_prepared",
    "findings_as_json",
    "has_violation",
    "render",
    "row_of",
]
