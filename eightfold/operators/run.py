"""Run operators and whole graphs in numpy, one inference or many, with all checks.

`explain_element` has the arithmetic of one element, in lines of text, `count_macs` what an operator
multiplies. What an operator's constants fix is derived once, in a `PreparedGraph`. Several
inferences are computed as one where every operator allows it: their tensors lie one after the other
along axis 0.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import cast
from weakref import WeakKeyDictionary

import numpy as np

from eightfold.common.errors import InputError
from eightfold.golden.errors import SpecError, UndefinedError
from eightfold.golden.quantization import Reference
from eightfold.model.graph import Arrays, Graph, Operator, Tensor
from eightfold.operators.call import OperatorCall
from eightfold.operators.definition import Element, Index, Without
from eightfold.operators.gate import difference, open_operands, unsupported
from eightfold.operators.registry import OPERATORS
from eightfold.operators.stacks import Stacks

SUPPORTED: frozenset[str] = frozenset(OPERATORS)
"""Names of the operators that `run_operator` runs."""


class UndefinedResult(InputError):  # noqa: N818 (says what happened)
    """The reference kernels run the operator, but what they compute is no number to agree with."""


@contextmanager
def named_errors(operator: Operator) -> Iterator[None]:
    """Within it, errors of golden, numpy's arithmetic and memory are one line, with the operator.

    It is an `UndefinedResult` for golden's `UndefinedError`, else an `InputError`.
    """
    try:
        with np.errstate(divide="raise", over="raise", invalid="raise"):
            yield
    except UndefinedError as error:
        raise UndefinedResult(f"{operator}: {error}") from None
    except (SpecError, InputError, ArithmeticError) as error:
        raise InputError(f"{operator}: {error}") from None
    except MemoryError:
        raise InputError(f"{operator}: there is not enough memory; use a smaller model") from None


def require_supported(graph: Graph, operators: Iterable[Operator]) -> None:
    """Raise `InputError` with all operators that golden does not run, each with the reason."""
    reasons = ((operator, unsupported(graph.tensors, operator)) for operator in operators)
    if unfit := [f"{operator}: {reason}" for operator, reason in reasons if reason]:
        raise InputError("; ".join(unfit))


def run_operator(
    graph: Graph, operator: Operator, values: Arrays, reference: str = "litert"
) -> list[np.ndarray]:
    """Return the outputs of an operator, in its order.

    Raises `InputError` if the operator is not supported, its tensors do not fit, or the reference
    kernels would reject it, abort, or compute what C++ leaves undefined. Names index and operator.

    ``operator``: of ``graph``, from `eightfold.operators.load_model`, which has its constants.
    ``values``: the other tensors by index; shapes come from them, not from the graph.
    ``reference``: ``litert`` or ``tflm``: whose kernels to equal where they differ.
    """
    if reference not in ("litert", "tflm"):
        raise InputError(f"reference must be litert or tflm, not {reference!r}")
    require_supported(graph, [operator])
    with named_errors(operator):
        call = OperatorCall(graph, operator, values, cast(Reference, reference))
        results = OPERATORS[operator.name].run(call)
    # Copies may be views, and a result without dimensions a scalar.
    return [np.asarray(array, order="C") for array in results]


def count_macs(graph: Graph, operator: Operator) -> int:
    """Return the multiply-accumulates, padding taps included; 0 of what has none, or is not run."""
    definition = OPERATORS.get(operator.name)
    if definition is None or isinstance(definition.macs, Without) or not operator.outputs:
        return 0
    return definition.macs(OperatorCall(graph, operator))


def explain_element(
    graph: Graph,
    operator: Operator,
    values: Arrays,
    output: int,
    index: Sequence[int],
    reference: str = "litert",
) -> list[str]:
    """Return the arithmetic of one element of an operator's output, step by step.

    Lines ``formula = value``, after one that names the element; the last value is the element's.
    Raises `InputError` if there is no such element, or as `eightfold.operators.run_operator`.

    ``values``: inputs and golden's tensors by index: at least what the operator reads.
    ``output``, ``index``: position among the operator's outputs, and the element's place in it.
    """
    place = _place(graph, operator, values, output, index)
    title = f"{operator}, output {output}, element {list(place)}:"
    require_supported(graph, [operator])
    with named_errors(operator):
        call = OperatorCall(graph, operator, values, cast(Reference, reference))
        definition = OPERATORS[operator.name]
        return [title, *definition.explain(Element(definition, call, output, place))]


def _place(
    graph: Graph, operator: Operator, values: Arrays, output: int, index: Sequence[int]
) -> Index:
    """Return an index as plain integers, which the output must have."""
    if not 0 <= output < len(operator.outputs):
        raise InputError(f"{operator} has {len(operator.outputs)} outputs, none of number {output}")
    tensor = graph.tensors[operator.outputs[output]]
    # Arrays may have other shapes than the graph says, where these are open.
    shape = values[tensor.index].shape if tensor.index in values else tensor.shape
    place = tuple(map(int, index))
    inside = (0 <= at < size for at, size in zip(place, shape, strict=False))
    if len(place) != len(shape) or not all(inside):
        raise InputError(f"{operator}: {tensor} of shape {shape} has no element {list(place)}")
    return place


Signature = list[tuple[tuple[int, ...], np.dtype]]


class PreparedGraph:
    """Runs a graph, operator by operator; what comes again, faster.

    The first inference calls `run_operator` everywhere, with all its checks. A second one with
    inputs of the same shapes and dtypes prepares what can be prepared; so a single
    inference does not pay for it. The graph itself is not held.

    ``graph``, ``reference``: as `run_graph` takes them.
    ``stacked``: inferences that are stacked along axis 0 of every tensor that is no constant; more
        than 1 only for a graph that is `stackable`.
    """

    def __init__(self, graph: Graph, reference: str, stacked: int = 1) -> None:
        self.steps = {
            operator.index: _Step(graph, operator, reference, stacked)
            for operator in graph.operators
        }
        self._unused = graph.unused()

    def run(
        self, graph: Graph, inputs: Arrays, operators: Sequence[Operator] | None = None
    ) -> dict[int, np.ndarray]:
        """Return the inputs and every tensor that the operators compute; see `run_graph`.

        Where no output comes from an operator and its result is no number, it is left out, and so
        are the results of operators that read it: the kernels run all the same.
        """
        values = dict(inputs)
        if operators is None:
            values = graph.initial_state() | values
        steps = [
            self.steps[op.index] for op in (graph.operators if operators is None else operators)
        ]
        if unfit := [step.unfit for step in steps if step.unfit]:
            raise InputError("; ".join(unfit))
        undefined: set[int] = set()
        for step in steps:
            operator = step.operator
            try:
                if undefined.isdisjoint(operator.inputs):
                    step.run(graph, values)
                    continue
            except UndefinedResult:
                if operator.index not in self._unused:
                    raise
            undefined.update(operator.outputs)
        return values


class _Step:
    """One operator, and the function of its inputs that are no constants once it is prepared."""

    def __init__(self, graph: Graph, operator: Operator, reference: str, stacked: int) -> None:
        self.operator = operator
        self._reference = reference
        self._inputs = [i for i in operator.inputs if i >= 0 and graph.tensors[i].data is None]
        self._accepted: Signature | None = None
        self._tried = False
        self.prepared: Callable[..., np.ndarray] | None = None
        self._shape: tuple[int, ...] | None = None
        unfit = unsupported(graph.tensors, operator)
        self.unfit = f"{operator}: {unfit}" if unfit else None
        # Inputs may have other shapes than the graph says; what they decide is compared alone.
        self._open = stacked == 1 and bool(open_operands(graph.tensors, operator))
        rule = _stacks_of(operator)
        if stacked > 1 and rule is not None and rule.reshapes:
            # The operator's own shape is that of one inference.
            self._shape = _stacked_shape(graph.tensors[operator.outputs[0]], stacked)

    def run(self, graph: Graph, values: dict[int, np.ndarray]) -> None:
        """Add the outputs to ``values``."""
        operator = self.operator
        if self._shape is not None:
            values[operator.outputs[0]] = values[operator.inputs[0]].reshape(self._shape)
            return
        arrays = [values[index] for index in self._inputs if index in values]
        signature = [(array.shape, array.dtype) for array in arrays]
        if signature == self._accepted:
            if not self._tried:
                self._tried = True
                self.prepared = self._prepare(graph, values)
            if self.prepared is not None:
                with named_errors(operator):
                    # A result without dimensions is a scalar, which cannot be written into.
                    values[operator.outputs[0]] = np.asarray(self.prepared(*arrays))
                return
        outputs = run_operator(graph, operator, values, self._reference)
        if self._open:
            self._check_shapes(graph, outputs)
        values.update(zip(operator.outputs, outputs, strict=True))
        if signature != self._accepted:
            self._accepted = signature
            self._tried = False
            self.prepared = None

    def _check_shapes(self, graph: Graph, outputs: Sequence[np.ndarray]) -> None:
        """Refuse results whose shape an operand decides, and otherwise than the graph states."""
        for index, array in zip(self.operator.outputs, outputs, strict=True):
            tensor = graph.tensors[index]
            if array.shape != tensor.shape:
                raise InputError(
                    f"{self.operator}: {tensor}: {difference(tensor, array.shape)}; give inputs "
                    "that lead to the declared shape, or a model that declares the computed one"
                )

    def _prepare(self, graph: Graph, values: Arrays) -> Callable[..., np.ndarray] | None:
        definition = OPERATORS[self.operator.name]
        if isinstance(definition.prepare, Without) or not self._inputs:
            return None
        call = OperatorCall(graph, self.operator, values, cast(Reference, self._reference))
        try:
            with named_errors(self.operator):
                return definition.prepare(definition, call)
        except InputError:
            return None  # such as a table that has entries for codes that are refused


def stackable(graph: Graph) -> bool:
    """Return whether every operator of the graph is known to work on stacks, and keeps no state."""
    if graph.variables:
        return False
    tensors = [graph.tensors[index] for index in graph.inputs]
    tensors += [graph.tensors[index] for op in graph.operators for index in op.outputs]
    return all(len(tensor.shape) > 0 for tensor in tensors) and all(
        _computes_stacks(OperatorCall(graph, operator)) for operator in graph.operators
    )


def _computes_stacks(call: OperatorCall) -> bool:
    rule = _stacks_of(call.operator)
    complete = call.tensor(0) is not None and bool(call.outputs)
    return rule is not None and complete and rule.holds(call)


def _stacks_of(operator: Operator) -> Stacks | None:
    definition = OPERATORS.get(operator.name)
    stacks = definition and definition.stacks
    return stacks if isinstance(stacks, Stacks) else None


def _stacked_shape(tensor: Tensor, stacked: int) -> tuple[int, ...]:
    """Return the shape of the stack of ``stacked`` tensors."""
    return (stacked * tensor.shape[0], *tensor.shape[1:])


def stack(graph: Graph, batch: Sequence[Arrays]) -> dict[int, np.ndarray] | None:
    """Return the inputs as stacks; None if one is missing, or not as the graph declares it."""
    stacks = {}
    for index in graph.inputs:
        tensor = graph.tensors[index]
        arrays = [inputs.get(index) for inputs in batch]
        fit = [a for a in arrays if a is not None and a.shape == tensor.shape]
        if len(fit) < len(arrays) or any(array.dtype != tensor.dtype for array in fit):
            return None
        stacks[index] = np.concatenate(fit)
    return stacks


def unstack(graph: Graph, values: Arrays, stacked: int) -> list[dict[int, np.ndarray]] | None:
    """Return each inference's tensors, views of the stacks; None if a shape is not as declared."""
    results: list[dict[int, np.ndarray]] = [{} for _ in range(stacked)]
    for index, array in values.items():
        tensor = graph.tensors[index]
        if array.shape != _stacked_shape(tensor, stacked):
            return None
        for result, part in zip(results, array.reshape(stacked, *tensor.shape), strict=True):
            result[index] = part
    return results


_STACKED = 16
"""Inferences computed at a time: more gain little, and every tensor of all of them is kept."""

_PREPARED: WeakKeyDictionary[Graph, dict[tuple[str, int], PreparedGraph]] = WeakKeyDictionary()


def run_graph(
    graph: Graph,
    inputs: Arrays,
    reference: str = "litert",
    operators: Sequence[Operator] | None = None,
) -> dict[int, np.ndarray]:
    """Return the inputs and every tensor that the graph's operators compute, by index.

    Not there is what no output of the graph comes from, if no number is the result. Raises
    `InputError` as `eightfold.operators.run_operator`, which takes ``graph`` and ``reference`` too.

    ``inputs``: the graph's inputs by index; with ``operators``, every tensor that these read. The
        values of variables before the inference too, see `eightfold.model.Graph.initial_state`:
        those that are left out are initial.
    ``operators``: run only these operators of the graph, in this order; all of them if None.
    """
    return _prepared(graph, reference, 1).run(graph, inputs, operators)


def run_graphs(
    graph: Graph, batch: Sequence[Arrays], reference: str = "litert"
) -> list[dict[int, np.ndarray]]:
    """Return `run_graph` of each entry of ``batch``, as stacks where the graph allows it.

    Those of a graph with variables are one after another, from what the first entry has of them:
    each entry begins with the state that the one before has left.
    Raises `InputError` as `eightfold.operators.run_operator`, for the first entry that is refused.
    """
    results: list[dict[int, np.ndarray]] = []
    if graph.variables:
        state: dict[int, np.ndarray] = {}
        for inputs in batch:
            results.append(run_graph(graph, {**inputs, **state}, reference))
            state = graph.next_state(results[-1])
        return results
    for start in range(0, len(batch), _STACKED):
        part = batch[start : start + _STACKED]
        results += _stacked(graph, part, reference) or [
            run_graph(graph, inputs, reference) for inputs in part
        ]
    return results


def _stacked(
    graph: Graph, batch: Sequence[Arrays], reference: str
) -> list[dict[int, np.ndarray]] | None:
    """Return the results of one run on the stack; None if it has to be one by one."""
    if len(batch) == 1 or not stackable(graph):
        return None
    inputs = stack(graph, batch)
    if inputs is None:
        return None
    try:
        values = _prepared(graph, reference, len(batch)).run(graph, inputs)
    except InputError:
        return None  # one of them is refused: which one, and why, turns out one by one
    return unstack(graph, values, len(batch))


def _prepared(graph: Graph, reference: str, stacked: int) -> PreparedGraph:
    known = _PREPARED.setdefault(graph, {})
    if (reference, stacked) not in known:
        known[reference, stacked] = PreparedGraph(graph, reference, stacked)
    return known[reference, stacked]
