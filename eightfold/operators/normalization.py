"""Operators along rows, which are the last axis: softmax, its logarithm, and the unit vector."""

from collections.abc import Callable
from typing import Any

from eightfold.golden.normalization import l2_normalization, log_softmax
from eightfold.golden.softmax import softmax
from eightfold.operators.call import OperatorCall
from eightfold.operators.definition import (
    Arguments,
    Definition,
    Function,
    Index,
    Operand,
    Without,
)
from eightfold.operators.elementwise import same_shape, unary_arguments
from eightfold.operators.lines import value_text, values_text
from eightfold.operators.rules import FixedQuantization, SpecEntry
from eightfold.operators.stacks import ROWS


def _explain(definition: Definition, call: OperatorCall, output: int, index: Index) -> list[str]:
    """Return the element's row, and golden's function of it alone."""
    row = call.codes(0)[index[:-1]]
    shape = (*(1 for _ in index[:-1]), len(row))
    result = definition.run(call.substituted(row.reshape(shape)))[output].ravel()[index[-1]]
    return [
        f"row {list(index[:-1])} of {call.input(0)} = {values_text(row)}",
        f"{definition.golden_name} of the row, element {index[-1]} = {value_text(result)}",
    ]


def _rows(
    golden: Function,
    arguments: Callable[[OperatorCall], Arguments],
    *dtypes: str,
    **fields: Any,
) -> Definition:
    """Return the record of an operator on rows of int8 and of other types."""
    return Definition(
        shapes=same_shape,
        operands=(Operand(("int8", *dtypes), ranks=(1, 32)),),
        golden=golden,
        arguments=arguments,
        explain=_explain,
        stacks=ROWS,
        prepare=Without("an element depends on its whole row, so that no table has the results"),
        **fields,
    )


NORMALIZATION: dict[str, Definition] = {
    "L2_NORMALIZATION": _rows(
        l2_normalization,
        unary_arguments(fused=True),
        activations=frozenset({"NONE"}),
        spec=SpecEntry(7, output=FixedQuantization(1.0, 128.0, 0)),
    ),
    "LOG_SOFTMAX": _rows(
        log_softmax,
        unary_arguments(),
        "float32",
        spec=SpecEntry(25, output=FixedQuantization(16.0, 256.0, 127)),
    ),
    "SOFTMAX": _rows(
        softmax,
        unary_arguments("beta"),
        "float32",
        spec=SpecEntry(13, output=FixedQuantization(1.0, 256.0, -128)),
    ),
}
"""Operators of which an element depends on its row; float32 stands behind a DEQUANTIZE."""
