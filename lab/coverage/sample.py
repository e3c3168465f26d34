"""One operator that has run, and points that say which bins it shows."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from eightfold.model import Graph, Operator, Tensor
from eightfold.target.config import AcceleratorConfig
from lab.coverage.requantizations import Labels


@dataclass(frozen=True)
class Sample:
    """An operator with the values it worked on.

    Attributes
    ----------
    values
        Inputs and results by tensor, constants left out.
    accelerator, reference
        Bins of the requantizations, as `lab.coverage.traces` returns them.
    """

    graph: Graph
    operator: Operator
    config: AcceleratorConfig
    values: Mapping[int, np.ndarray]
    accelerator: Labels
    reference: Labels

    def tensor(self, position: int) -> Tensor | None:
        """Return an input's tensor; None if it is absent."""
        inputs = self.operator.inputs
        index = inputs[position] if position < len(inputs) else -1
        return self.graph.tensors[index] if index >= 0 else None

    def input(self, position: int = 0) -> Tensor:
        """Return the tensor of an input that is there."""
        tensor = self.tensor(position)
        assert tensor is not None
        return tensor

    def output(self) -> Tensor:
        """Return the first result's tensor."""
        return self.graph.tensors[self.operator.outputs[0]]

    def array(self, position: int = 0) -> np.ndarray:
        """Return the value of an input."""
        tensor = self.input(position)
        return self.values[tensor.index] if tensor.data is None else tensor.data

    def result(self, number: int = 0) -> np.ndarray:
        """Return a result's value."""
        return self.values[self.operator.outputs[number]]

    def option(self, name: str):
        """Return an option of the operator."""
        return self.operator.options[name]


@dataclass(frozen=True)
class Point:
    """Bins by a name, and the function that says which of them a sample shows."""

    name: str
    bins: tuple[str, ...]
    observe: Callable[[Sample], Iterable[str]]

    def seen(self, sample: Sample) -> frozenset[str]:
        """Return the bins a sample shows.

        Raises
        ------
        ValueError
            If one of them is not in the point's list: the list is wrong.
        """
        found = frozenset(self.observe(sample))
        if unknown := found - set(self.bins):
            raise ValueError(f"{sample.operator}: point {self.name} has no bin {sorted(unknown)}")
        return found


def flags(name: str, **bins: Callable[[Sample], object]) -> Point:
    """Return a point whose bins, by their names with spaces as underscores, have a condition."""
    conditions = {each.replace("_", " "): condition for each, condition in bins.items()}
    return Point(
        name,
        tuple(conditions),
        lambda sample: (each for each, condition in conditions.items() if condition(sample)),
    )


def one_of(name: str, bins: Iterable[object], value: Callable[[Sample], object]) -> Point:
    """Return a point with a bin per value; what is none of them is an error."""
    return Point(name, tuple(str(each) for each in bins), lambda sample: (str(value(sample)),))
