"""Operators with state between inferences: SVDF and UNIDIRECTIONAL_SEQUENCE_LSTM.

Their last results are what the variable tensors among their inputs hold from now on.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from math import prod
from typing import Any

from eightfold.golden.convolution import check_bias
from eightfold.golden.errors import RejectedError
from eightfold.golden.quantization import Quantization
from eightfold.golden.recurrent import GATES, Weights, lstm, svdf, svdf_shape
from eightfold.model.variables import UPDATED
from eightfold.operators.call import Node, OperatorCall, quantization_of
from eightfold.operators.definition import (
    WORK,
    Definition,
    Element,
    Operand,
    Shape,
    Without,
    quantization,
)
from eightfold.operators.lines import value_text, values_text

_LSTM = "UNIDIRECTIONAL_SEQUENCE_LSTM"

_VARIANTS = {
    "peephole weights": (9, 10, 11),
    "a projection": (16, 17),
    "layer normalization": (20, 21, 22, 23),
}
"""Variants of an LSTM by the inputs that they add. LiteRT computes them, TFLite Micro does not."""

_INPUT_GATE = (1, 5, 12)
"""Inputs without which LiteRT takes what the forget gate leaves for the input gate."""

_PARTS = {name: (1 + i, 5 + i, 12 + i) for i, name in enumerate(GATES)}
"""Where a gate's weights, recurrent weights and bias are among an LSTM's inputs."""

_HIDDEN, _CELL = UPDATED[_LSTM]


def _svdf_shapes(node: Node) -> Sequence[Shape]:
    x, feature, time, state = (node.shape(position) for position in (0, 1, 2, 4))
    shape = svdf_shape(x, feature, time, state, node.options["rank"])
    if (bias := node.tensor(3)) is not None:
        check_bias(bias.dtype, prod(bias.shape), shape[1])
    return [shape, state]


def _svdf_macs(call: OperatorCall) -> int:
    (batches, size), (filters, memory) = call.shape(), call.shape(2)
    return batches * filters * (size + memory)


def _check_variant(node: Node) -> None:
    found = [
        f"{name} (inputs {', '.join(map(str, there))})"
        for name, places in _VARIANTS.items()
        if (there := [place for place in places if node.tensor(place) is not None])
    ]
    if missing := [place for place in _INPUT_GATE if node.tensor(place) is None]:
        found.append(f"no input gate of its own (without input {', '.join(map(str, missing))})")
    if found:
        raise RejectedError(f"an LSTM with {' and '.join(found)} is not computed")


def _lstm_shapes(node: Node) -> Sequence[Shape]:
    if len(node.inputs) not in (20, 24):
        raise RejectedError(f"has {len(node.inputs)} inputs, not 20 or 24")
    for option in ("cell_clip", "proj_clip"):
        if not node.options[option] >= 0:  # nor NaN
            raise RejectedError(f"{option} {node.options[option]} is negative or no number")
    _check_variant(node)
    computed = [node.input(p) for places in _PARTS.values() for p in places if node.is_computed(p)]
    if computed:  # it adds zero points times weights to biases in its Prepare
        found = ", ".join(map(str, computed))
        raise RejectedError(f"{found}: LiteRT reads weights and biases first; make it constant")
    x, units = node.shape(), node.shape(_PARTS["output"][0])[0]
    states = node.shape(_HIDDEN), node.shape(_CELL)
    wanted = ((units, x[2]), (units, units), (units,))
    faults = [
        f"{node.tensor(place)} is {list(node.shape(place))}, not {list(shape)}"
        for places in _PARTS.values()
        for place, shape in zip(places, wanted, strict=True)
        if node.shape(place) != shape
    ]
    size = x[1 if node.options["time_major"] else 0] * units
    faults += [f"a state is {list(s)}, not of {size} elements" for s in states if prod(s) != size]
    if faults:
        raise RejectedError("; ".join(faults))
    return [(*x[:2], units), *states]


def _lstm_operands(call: OperatorCall) -> Sequence[Any]:
    if call.reference == "tflm" and len(call.inputs) != 24:
        raise RejectedError(f"TFLite Micro's LSTM has 24 inputs, not {len(call.inputs)}")
    gates = {
        name: (
            Weights(call.array(w), call.quantization(w), call.array(b)),
            Weights(call.array(r), call.quantization(r)),
        )
        for name, (w, r, b) in _PARTS.items()
    }
    return [call.array(0), gates, call.array(_HIDDEN), call.array(_CELL)]


def _result_quantization(call: OperatorCall) -> Quantization | None:
    between = call.intermediates[4:]
    return quantization_of(between[0]) if between else None


def _lstm_macs(call: OperatorCall) -> int:
    units, size = call.shape(1)
    return prod(call.shape()[:2]) * len(GATES) * units * (size + units)


def _lstm_work(node: Node) -> int:
    elements = sum(prod(tensor.shape) for tensor in (*node.inputs, *node.outputs) if tensor)
    # Four gates of all steps at a time, and tables of functions of int16.
    return WORK * (elements + 4 * prod(node.output.shape)) + 2**23


def _explain(element: Element) -> list[str]:
    """Return the state before, the state after, and golden's element."""
    call, definition = element.call, element.definition
    results = definition.run(call)
    states = zip(definition.updates, results[1:], strict=True)
    return [
        *(
            f"{call.input(position)}, before {values_text(call.array(position).ravel())}, after = "
            f"{values_text(after.ravel())}"
            for position, after in states
        ),
        f"{definition.golden_name}, element {list(element.index)} = "
        f"{value_text(results[element.output][element.index])}",
    ]


_EACH_OWN = Without("each inference begins with the state that the one before has left")
_recurrent = partial(Definition, explain=_explain, stacks=_EACH_OWN, prepare=_EACH_OWN)

_MATRIX = Operand(ranks=(2, 2))
_MEMORY = Operand(("int8", "int16"), ranks=(2, 2))
_BIAS = Operand(("int32",), absent=True)
_VARIANT = Operand((), absent=True)

RECURRENT: dict[str, Definition] = {
    "SVDF": _recurrent(
        svdf,
        shapes=_svdf_shapes,
        operands=(_MATRIX, _MATRIX, _MEMORY, _BIAS, _MEMORY),
        results=2,
        updates=UPDATED["SVDF"],
        named={
            "feature_quantization": quantization(1),
            "time_quantization": quantization(2),
            "bias_quantization": lambda call: call.quantization_if_any(3),
            "state_quantization": quantization(4),
        },
        macs=_svdf_macs,
    ),
    _LSTM: _recurrent(
        lstm,
        shapes=_lstm_shapes,
        operands=(
            Operand(ranks=(3, 3)),
            *(replace(_MATRIX, absent=place in _INPUT_GATE) for place in range(1, 9)),
            *(_VARIANT,) * 3,
            *(replace(_BIAS, absent=place in _INPUT_GATE) for place in range(12, 16)),
            *(_VARIANT,) * 2,
            Operand(),
            Operand(("int16",)),
            *(replace(_VARIANT, optional=True),) * 4,
        ),
        results=3,
        updates=UPDATED[_LSTM],
        activations=frozenset({"TANH"}),
        work=_lstm_work,
        operands_of=_lstm_operands,
        named={
            "hidden_quantization": quantization(_HIDDEN),
            "cell_quantization": quantization(_CELL),
            "result_quantization": _result_quantization,
        },
        macs=_lstm_macs,
    ),
}
"""Operators whose result depends on earlier inferences."""
