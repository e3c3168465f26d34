"""From an operator of the graph to what the engines do."""

from collections.abc import Callable

from eightfold.compiler import lower_movement, lower_pointwise, lower_rows, lower_windowed
from eightfold.compiler.alias import Alias
from eightfold.compiler.call import Call
from eightfold.compiler.channels import CompileError
from eightfold.compiler.movement import Movement
from eightfold.compiler.pointwise import Pointwise
from eightfold.compiler.rows import ScaledRows
from eightfold.compiler.windowed import Windowed
from eightfold.config import AcceleratorConfig
from eightfold.model import Graph, Operator
from golden.quantization import Reference

Lowered = Alias | Windowed | Pointwise | ScaledRows | Movement
"""What an operator becomes."""

ALIASES = frozenset({"RESHAPE", "SQUEEZE", "EXPAND_DIMS"})
"""Operators that only rename a shape."""

ONE_BYTE = frozenset(
    {"LOGISTIC", "TANH", "QUANTIZE", "RELU", "RELU6", "RELU_N1_TO_1", "RELU_0_TO_1"}
)
"""Operators whose every output element is a function of one input element."""

METHODS: dict[str, Callable[[Call], Lowered]] = {
    "DEPTHWISE_CONV_2D": lower_windowed.depthwise_conv_2d,
    "FULLY_CONNECTED": lower_windowed.fully_connected,
    "AVERAGE_POOL_2D": lower_windowed.average_pool_2d,
    "MAX_POOL_2D": lower_windowed.max_pool_2d,
    "MEAN": lower_windowed.mean,
    "ADD": lower_pointwise.add,
    "SUB": lower_pointwise.sub,
    "MUL": lower_pointwise.mul,
    "SOFTMAX": lower_rows.softmax,
    "LOG_SOFTMAX": lower_rows.log_softmax,
    "L2_NORMALIZATION": lower_rows.l2_normalization,
    "PAD": lower_movement.pad,
    "CONCATENATION": lower_movement.concatenation,
}

HARDWARE = frozenset({"CONV_2D"}) | frozenset(METHODS) | ONE_BYTE | ALIASES
"""Operators that the accelerator computes."""


def lower(
    graph: Graph, operator: Operator, config: AcceleratorConfig, reference: Reference
) -> tuple[Lowered, int]:
    """Return an operator's lowered form, and how many channels needed a search.

    Raises
    ------
    CompileError
        If the hardware does not compute it, or cannot be proved to do so exactly.
    """
    call = Call(graph, operator, reference)
    name = operator.name
    if name in ALIASES:
        call.check_int8(0)
        return Alias(operator.inputs[0], operator.outputs[0]), 0
    if name == "CONV_2D":
        return lower_windowed.conv_2d(call, config), 0
    if name in ONE_BYTE:
        return lower_pointwise.table(call), 0
    if name not in METHODS:
        raise CompileError(f"the accelerator has no {name}")
    return METHODS[name](call), call.searched
