"""Runtimes that are golden but for one named mistake, or two, in the operators of one name.

A class for each is made when it is asked for: ``CONV_2D__padding_0`` of this module, or
``broken_runtimes.py:CONV_2D__padding_0`` at the command line; ``CONV_2D__right__`` makes none.
"""

from typing import Any, ClassVar

import numpy as np

from eightfold.common.errors import InputError
from eightfold.conformance.adapters.model import ModelAdapter, Refused
from eightfold.conformance.judge.models.mistakes import operator_mistakes
from eightfold.conformance.judge.models.subject import OperatorMistake, OperatorRun
from eightfold.operators import load_model, run_operator


class BrokenRuntime(ModelAdapter):
    """Golden with mistakes in one operator; every tensor is returned."""

    operator: ClassVar[str]
    mistakes: ClassVar[tuple[OperatorMistake, ...]]

    def run(self, model: bytes, inputs: dict[int, np.ndarray]) -> dict[int, np.ndarray]:
        try:
            graph = load_model(model)
        except InputError as error:
            raise Refused(error) from None
        values = dict(inputs)
        for operator in graph.operators:
            results = run_operator(graph, operator, values)
            if operator.name == self.operator:
                right = results
                for mistake in self.mistakes:
                    changed = mistake.results(OperatorRun(graph, operator, values, tuple(right)))
                    # Of two mistakes, the second one where the first changes nothing.
                    if not all(map(np.array_equal, changed, right)):
                        results = changed
                        break
            values.update(zip(operator.outputs, results, strict=True))
        return {index: values[index] for op in graph.operators for index in op.outputs}


def broken(operator: str, *names: str) -> type[BrokenRuntime]:
    """Return the runtime with mistakes of an operator."""
    mistakes = {each.name: each for each in operator_mistakes(operator)}
    chosen = tuple(mistakes[name] for name in names)
    title = "__".join((operator, *(names or ("right__",))))
    fields = {"operator": operator, "mistakes": chosen, "__module__": __name__}
    return type(title, (BrokenRuntime,), fields)


def __getattr__(name: str) -> Any:
    operator, _, mistakes = name.partition("__")
    if not mistakes or not operator.isupper():
        raise AttributeError(name)
    return broken(operator, *(part for part in mistakes.split("__") if part != "right" and part))
