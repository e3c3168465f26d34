"""From an operator of the graph to what the engines do."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from eightfold.common.errors import InputError
from eightfold.compiler.exact import CompileError
from eightfold.compiler.lower import movement as lower_movement
from eightfold.compiler.lower import pointwise as lower_pointwise
from eightfold.compiler.lower import reduction as lower_reduction
from eightfold.compiler.lower import windowed as lower_windowed
from eightfold.compiler.lower.call import Call
from eightfold.compiler.steps.movement import Movement
from eightfold.compiler.steps.step import Step, Temporary
from eightfold.golden.errors import SpecError
from eightfold.golden.quantization import Reference
from eightfold.model import Graph, Operator
from eightfold.operators import unsupported
from eightfold.operators.movement import MOVEMENT
from eightfold.target.config import AcceleratorConfig


@dataclass(frozen=True, kw_only=True)
class Lowered:
    """What an operator becomes.

    ``steps`` in order; ``temporaries``, the tensors between them, have numbers beyond the graph's;
    ``searched`` counts the channels whose requantization had to be searched and proved.
    """

    steps: tuple[Step, ...]
    temporaries: Mapping[int, Temporary]
    searched: int


METHODS: dict[str, Callable[[Call], Step | tuple[Step, ...]]] = {
    **dict.fromkeys(MOVEMENT, lower_movement.moved),  # unless it is below
    **dict.fromkeys(lower_pointwise.OF_ONE_BYTE, lower_pointwise.table),
    **dict.fromkeys(
        ("EQUAL", "GREATER", "GREATER_EQUAL", "LESS", "LESS_EQUAL", "NOT_EQUAL"),
        lower_pointwise.comparison,
    ),
    **dict.fromkeys(lower_reduction.EXTREMES, lower_reduction.extreme),
    **dict.fromkeys(("MEAN", "SUM"), lower_reduction.reduce_sum),
    **dict.fromkeys(lower_pointwise.EXTREMES, lower_pointwise.extreme),
    **dict.fromkeys(("ADD", "SUB"), lower_pointwise.add),
    **dict.fromkeys(("SELECT", "SELECT_V2"), lower_pointwise.select),
    **dict.fromkeys(("DIV", "SQUARED_DIFFERENCE"), lower_pointwise.of_two_bytes),
    **dict.fromkeys(("ARG_MAX", "ARG_MIN"), lower_reduction.place_of_extreme),
    "AVERAGE_POOL_2D": lower_windowed.average_pool_2d,
    "BATCH_MATMUL": lower_windowed.batch_matmul,
    "CAST": lower_pointwise.cast,
    "CONV_2D": lower_windowed.conv_2d,
    "DEPTHWISE_CONV_2D": lower_windowed.depthwise_conv_2d,
    "DYNAMIC_UPDATE_SLICE": lower_movement.dynamic_update_slice,
    "FULLY_CONNECTED": lower_windowed.fully_connected,
    "GATHER": lower_movement.gather,
    "GATHER_ND": lower_movement.gather_nd,
    "L2_NORMALIZATION": lower_reduction.l2_normalization,
    "LOG_SOFTMAX": lower_reduction.log_softmax,
    "LOGICAL_NOT": lower_pointwise.table,
    "MAX_POOL_2D": lower_windowed.max_pool_2d,
    "MUL": lower_pointwise.mul,
    "PADV2": lower_movement.padv2,
    "PRELU": lower_pointwise.prelu,
    "RESIZE_BILINEAR": lower_windowed.resize_bilinear,
    "RESIZE_NEAREST_NEIGHBOR": lower_movement.resize_nearest_neighbor,
    "SCATTER_ND": lower_movement.scatter_nd,
    "SHAPE": lower_movement.shape,
    "SOFTMAX": lower_reduction.softmax,
    "TRANSPOSE": lower_movement.transpose,
    "TRANSPOSE_CONV": lower_windowed.transpose_conv,
}
"""How an operator is lowered, by its name."""

OWN = {"TABLE": lower_pointwise.stated_table}
"""How an operator is lowered that no model has: `eightfold.compiler.rewrite` makes them."""

HARDWARE = frozenset(METHODS)
"""Operators that the accelerator computes."""

NEEDS = {
    **dict.fromkeys(("DIV", "GATHER", "GATHER_ND", "SQUARED_DIFFERENCE"), ("gather", "")),
    **dict.fromkeys(("L2_NORMALIZATION", "LOG_SOFTMAX", "SOFTMAX"), ("rows", "")),
    **dict.fromkeys(
        (*lower_reduction.EXTREMES, "ARG_MAX", "ARG_MIN", "MEAN", "SUM"),
        ("rows", "along the last axis"),
    ),
}
"""Operators that need one of `eightfold.target.config.FEATURES`: which, and of what arguments if
not of all. The steps of an operator decide; this is what is said of it beforehand."""


def computed(config: AcceleratorConfig) -> frozenset[str]:
    """Return the operators that a configuration computes, if perhaps not with all arguments."""
    left_out = {(name, "") for name in config.left_out}
    return frozenset(name for name in HARDWARE if NEEDS.get(name) not in left_out)


GOLDEN_ALONE = {
    "DEQUANTIZE": "its results are float32",
    **dict.fromkeys(("SVDF", "UNIDIRECTIONAL_SEQUENCE_LSTM"), "its state is int16"),
}
"""Operators that golden computes and the accelerator does not, and why."""


def lower(
    graph: Graph, operator: Operator, config: AcceleratorConfig, reference: Reference
) -> Lowered:
    """Return an operator's lowered form.

    Raises CompileError if the hardware does not compute it, or cannot be proved to do so exactly;
    or if the reference kernels would not compute it either.
    """
    method = (METHODS | OWN).get(operator.name)
    if method is None:
        reason = GOLDEN_ALONE.get(operator.name)
        why = f": {reason}" if reason else ""
        raise CompileError(f"the accelerator has no {operator.name}{why}")
    if operator.name not in OWN and (unfit := unsupported(graph.tensors, operator)):
        raise CompileError(unfit)
    try:
        call = Call(graph, operator, config, reference)
        call.refuse_floats()
        if all(0 in tensor.shape for tensor in call.outputs):  # nothing is computed
            steps = tuple(Movement(target=tensor.index, copies=()) for tensor in call.outputs)
        else:
            steps = method(call)
    except (SpecError, InputError) as error:
        raise CompileError(str(error)) from None
    steps = steps if isinstance(steps, tuple) else (steps,)
    if lacks := sorted({step.feature for step in steps} & {*config.left_out}):
        raise CompileError(
            f"needs {', '.join(lacks)}, which the configuration leaves out "
            f"({', '.join(f'{name} = false' for name in lacks)})"
        )
    return Lowered(steps=steps, temporaries=call.temporaries, searched=call.searched)
