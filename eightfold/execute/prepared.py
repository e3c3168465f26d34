"""A graph prepared for many inferences: what an operator's constants fix is derived once."""

from collections.abc import Callable, Mapping, Sequence
from typing import cast

import numpy as np

from eightfold.common.errors import InputError
from eightfold.execute.call import OperatorCall
from eightfold.execute.operator import UndefinedResult, named_errors, run_operator
from eightfold.execute.runners import RUNNERS
from eightfold.execute.stacking import reshapes, stacked_shape
from eightfold.golden.quantization import Reference
from eightfold.model.graph import Graph, Operator
from eightfold.model.prepare import difference, open_operands, unsupported

Signature = list[tuple[tuple[int, ...], np.dtype]]


class PreparedGraph:
    """Runs a graph, operator by operator; what comes again, faster.

    The first inference calls `run_operator` everywhere, with all its checks. A second one with
    inputs of the same shapes and dtypes prepares what its runner can prepare; so a single
    inference does not pay for it. The graph itself is not held.

    Parameters
    ----------
    graph, reference
        As `eightfold.execute.run_graph` takes them.
    stacked
        Inferences that are stacked along axis 0 of every tensor that is no constant; more than 1
        only for a graph that is `eightfold.execute.stacking.stackable`.
    """

    def __init__(self, graph: Graph, reference: str, stacked: int = 1) -> None:
        self._steps = [_Step(graph, operator, reference, stacked) for operator in graph.operators]
        self._unused = graph.unused()

    @property
    def prepared(self) -> int:
        """Return the number of operators that have a prepared function by now."""
        return sum(step.is_prepared for step in self._steps)

    def run(
        self,
        graph: Graph,
        inputs: Mapping[int, np.ndarray],
        operators: Sequence[Operator] | None = None,
    ) -> dict[int, np.ndarray]:
        """Return the inputs and every tensor that the operators compute, by index.

        All operators of the graph if None are given; see `eightfold.execute.run_graph`. Where no
        output comes from an operator, and no number is its result, its results are left out, and
        so are those of operators that read them: the kernels run all the same.
        """
        values = dict(inputs)
        steps = [
            self._steps[op.index] for op in (graph.operators if operators is None else operators)
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
        self.operator, self._reference = operator, reference
        self._inputs = [i for i in operator.inputs if i >= 0 and graph.tensors[i].data is None]
        self._accepted: Signature | None = None
        self._tried = False
        self._prepared: Callable[..., np.ndarray] | None = None
        self._shape: tuple[int, ...] | None = None
        unfit = unsupported(graph.tensors, operator)
        self.unfit = f"{operator}: {unfit}" if unfit else None
        # Inputs may have other shapes than the graph says; what they decide is compared alone.
        self._open = stacked == 1 and bool(open_operands(graph.tensors, operator))
        if stacked > 1 and reshapes(operator):
            # The operator's own shape is that of one inference.
            self._shape = stacked_shape(graph.tensors[operator.outputs[0]], stacked)

    @property
    def is_prepared(self) -> bool:
        """Return whether there is a prepared function by now."""
        return self._prepared is not None

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
                self._prepared = self._prepare(graph, values)
            if self._prepared is not None:
                with named_errors(operator):
                    values[operator.outputs[0]] = self._prepared(*arrays)
                return
        outputs = run_operator(graph, operator, values, self._reference)
        if self._open:
            self._check_shapes(graph, outputs)
        values.update(zip(operator.outputs, outputs, strict=True))
        if signature != self._accepted:
            self._accepted = signature
            self._tried = False
            self._prepared = None

    def _check_shapes(self, graph: Graph, outputs: Sequence[np.ndarray]) -> None:
        """Refuse results whose shape an operand decides, and otherwise than the graph states."""
        for index, array in zip(self.operator.outputs, outputs, strict=True):
            tensor = graph.tensors[index]
            if array.shape != tensor.shape:
                raise InputError(
                    f"{self.operator}: {tensor}: {difference(tensor, array.shape)}; give inputs "
                    "that lead to the declared shape, or a model that declares the computed one"
                )

    def _prepare(
        self, graph: Graph, values: Mapping[int, np.ndarray]
    ) -> Callable[..., np.ndarray] | None:
        prepare = RUNNERS[self.operator.name].prepare
        if prepare is None or not self._inputs:
            return None
        call = OperatorCall(graph, self.operator, values, cast(Reference, self._reference))
        try:
            with named_errors(self.operator):
                return prepare(call)
        except InputError:
            return None  # such as a table that has entries for codes that are refused
