"""What a model keeps from one inference to the next, as tensors of its graph.

A file has two ways to keep state. A resource variable has a name: VAR_HANDLE makes a handle of it,
READ_VARIABLE and ASSIGN_VARIABLE copy, and a subgraph that CALL_ONCE runs assigns its initial
value. A variable tensor is changed in place by the operators of `UPDATED`.

In the graph nothing changes in place. A variable is a tensor that is given when an inference begins
and one that is there when it ends. Whatever changes it computes a tensor of its own, beyond those
of the file, and who reads the variable reads the last one before. So operands say all about the
order of operators, and who runs a graph need only know that the two tensors are one place.
CALL_ONCE and VAR_HANDLE name variables and compute nothing: the graph is without them.
"""

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from eightfold.common.errors import InputError, Untaken
from eightfold.golden.errors import shortened
from eightfold.model.flatbuffer import CONVERT
from eightfold.model.graph import Graph, Operator, Tensor, Variable

UPDATED = {"SVDF": (4,), "UNIDIRECTIONAL_SEQUENCE_LSTM": (18, 19)}
"""Which inputs, variable tensors, an operator changes in place. In the graph their new values are
further results, in this order."""

CALL_ONCE = "CALL_ONCE"
_NAMING = {CALL_ONCE, "VAR_HANDLE"}
_OPERANDS = {"VAR_HANDLE": (0, 1), "READ_VARIABLE": (1, 1), "ASSIGN_VARIABLE": (2, 0)}
"""Numbers of inputs, the first a handle, and of outputs."""


@dataclass(frozen=True)
class Subgraph:
    """A subgraph as the file has it. Tensors that are ``handles`` have no element type."""

    tensors: tuple[Tensor, ...]
    operators: tuple[Operator, ...]
    handles: frozenset[int]
    variable: frozenset[int]


@dataclass
class _State:
    """A variable while operators pass: which tensor holds its value now."""

    before: int
    now: int
    initial: np.ndarray | None


def with_variables(
    graph: Graph, main: Subgraph, initial: Sequence[Mapping[Hashable, Tensor]]
) -> Graph:
    """Return a graph whose operators read and compute the values of variables as tensors.

    A variable without an initial value is no state: it is assigned before it is read.
    Raises `InputError` if one is read without a value, or changes its shape or element type; or if
    a handle is used for anything else.

    ``graph``, ``main``: of subgraph 0, as the file has it.
    ``initial``: `initial_values` of each subgraph that an operator of CALL_ONCE runs, in order.
    """
    return _Resolver(graph, main, {k: v for each in initial for k, v in each.items()}).graph()


class _Resolver:
    def __init__(self, graph: Graph, main: Subgraph, initial: Mapping[Hashable, Tensor]) -> None:
        self._graph, self._main = graph, main
        self._tensors = list(graph.tensors)
        self._states: dict[Hashable, _State] = {
            index: _State(index, index, _zero(self._tensors[index])) for index in main.variable
        }
        keys = _keys(main)
        for handle, key in keys.items():
            if key not in self._states:
                data = None
                if key in initial:
                    data = initial[key].data
                    self._become(handle, initial[key])
                self._states[key] = _State(handle, handle, data)
        self._key = keys | {index: index for index in main.variable}

    def _become(self, index: int, like: Tensor) -> None:
        """Give a tensor the shape and type of another one, and its quantization."""
        tensor = self._tensors[index]
        self._tensors[index] = replace(like, index=index, name=tensor.name, data=None, stated=True)

    def graph(self) -> Graph:
        """Return the graph."""
        for index in (*self._graph.inputs, *self._graph.outputs):
            if index in self._main.handles | self._main.variable:
                raise Untaken(
                    f"{self._tensors[index]} keeps state between runs, and is an input or output; "
                    "make it one or the other"
                )
        operators = [self._resolved(op) for op in self._main.operators if op.name not in _NAMING]
        variables = [
            Variable(self._tensors[state.before].name, state.before, state.now, state.initial)
            for state in self._states.values()
            if state.initial is not None
        ]
        return replace(
            self._graph,
            tensors=tuple(self._tensors),
            operators=tuple(operators),
            variables=tuple(variables),
        )

    def _resolved(self, operator: Operator) -> Operator:
        """Return an operator that reads what variables hold, and has what they are to hold."""
        if operator.name == "ASSIGN_VARIABLE":
            handle, value = operator.inputs
            return replace(operator, inputs=(value,), outputs=(self._assign(operator, handle),))
        for index in operator.outputs:
            if index in self._main.variable:
                raise Untaken(
                    f"{operator} computes {self._tensors[index]}, which keeps state between runs; "
                    f"only {', '.join(UPDATED)} change such a tensor"
                )
        inputs = tuple(self._now(operator, index) for index in operator.inputs)
        outputs = list(operator.outputs)
        for position in UPDATED.get(operator.name, ()):
            index = operator.inputs[position] if position < len(operator.inputs) else -1
            if index not in self._main.variable:
                raise InputError(f"{operator}: input {position} is no variable tensor; {CONVERT}")
            outputs.append(self._new(self._tensors[index], self._states[index]))
        return replace(operator, inputs=inputs, outputs=tuple(outputs))

    def _now(self, operator: Operator, index: int) -> int:
        """Return the tensor that an operator reads: for a variable the one that holds its value."""
        if index not in self._key:
            return index
        state = self._states[self._key[index]]
        if state.now != state.before:
            return state.now
        if state.initial is None:
            raise Untaken(
                f"{operator} reads {self._tensors[index]}, which nothing has assigned before; give "
                "it an initial value, by a subgraph that CALL_ONCE runs"
            )
        return state.before

    def _assign(self, operator: Operator, handle: int) -> int:
        value = self._tensors[operator.inputs[1]]
        state = self._states[self._key[handle]]
        held = self._tensors[state.now]
        known = state.initial is not None or state.now != state.before
        if known and (held.shape, held.dtype) != (value.shape, value.dtype):
            raise Untaken(
                f"{operator} assigns {value} of shape {shortened(value.shape)} and type "
                f"{value.dtype} to a variable of shape {shortened(held.shape)} and type "
                f"{held.dtype}; give it one shape and type"
            )
        return self._new(replace(value, name=self._tensors[handle].name), state)

    def _new(self, like: Tensor, state: _State) -> int:
        """Add a tensor that holds the value of a variable from now on."""
        state.now = len(self._tensors)
        self._tensors.append(replace(like, index=state.now, data=None, stated=True))
        return state.now


def _zero(tensor: Tensor) -> np.ndarray:
    """Return what a variable tensor holds at first: 0, or the zero point of int8."""
    code = 0
    if tensor.dtype == np.int8 and tensor.quantization is not None:
        code = int(tensor.quantization.zero_point[0])
    return np.broadcast_to(np.array(code, tensor.dtype), tensor.shape)  # takes no memory


def _keys(subgraph: Subgraph) -> dict[int, Hashable]:
    """Return which variable each handle is of; refuse handles that are anything else."""
    keys: dict[int, Hashable] = {}
    touched: Operator | None = None
    for operator in subgraph.operators:
        used = (*operator.inputs, *operator.outputs)
        expected = _OPERANDS.get(operator.name)
        if expected and (len(operator.inputs), len(operator.outputs)) != expected:
            raise InputError(
                f"{operator} has {len(operator.inputs)} inputs and {len(operator.outputs)} "
                f"outputs, not {expected[0]} and {expected[1]}; {CONVERT}"
            )
        if operator.name == CALL_ONCE and touched:
            raise InputError(f"{operator} comes after {touched}; put it before")
        if expected and operator.name not in _NAMING:
            touched = operator
        if expected and used[0] not in subgraph.handles:
            raise InputError(f"{operator}: {subgraph.tensors[used[0]]} is no handle; {CONVERT}")
        if expected and operator.name != "VAR_HANDLE":
            shape = subgraph.tensors[used[0]].shape
            if math.prod(shape) != 1:
                raise InputError(
                    f"{operator}: the handle {subgraph.tensors[used[0]]} has shape "
                    f"{shortened(shape)}, which is not one element; {CONVERT}"
                )
        if operator.name == "VAR_HANDLE":
            keys[used[0]] = (operator.options["container"], operator.options["shared_name"])
        for index in used[1:] if expected else used:
            if index in subgraph.handles:
                raise InputError(
                    f"{operator} works on {subgraph.tensors[index]}, a handle of state between "
                    "runs; make the state an input and an output"
                )
        if expected and used[0] not in keys:
            raise InputError(f"{operator}: no VAR_HANDLE before it makes its handle; {CONVERT}")
    return keys


def initial_values(subgraph: Subgraph) -> dict[Hashable, Tensor]:
    """Return the constants that a subgraph of CALL_ONCE assigns to variables; refuse all else."""
    keys = _keys(subgraph)
    found: dict[Hashable, Tensor] = {}
    for operator in subgraph.operators:
        if operator.name == "VAR_HANDLE":
            continue
        if operator.name != "ASSIGN_VARIABLE":
            raise InputError(f"{operator}: initial values are constants; compute them beforehand")
        value = subgraph.tensors[operator.inputs[1]]
        if value.data is None:
            raise InputError(f"{operator} assigns {value}, which is no constant; make it one")
        found[keys[operator.inputs[0]]] = value
    return found
