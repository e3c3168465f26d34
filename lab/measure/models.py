"""Models of one operator of three sizes, and what an operator's entry says of them.

An operator's operands come from another operator, or from memory.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from eightfold.cases.builder import NetworkBuilder, dictated
from eightfold.model import Graph, Operator
from eightfold.operators import count_macs, load_model

SCALE, ZERO_POINT = 0.05, 3
"""The quantization of an activation, where the operator does not dictate it."""

LEAD = 16
"""Elements of an operand's source that are not copied: without them the copy would be a name."""


@dataclass(frozen=True)
class Size:
    """A size of the measurements: an image of ``height`` x ``width`` pixels."""

    name: str
    height: int
    width: int

    depth = 16
    """Channels, the same at each size: only the number of pixels grows."""

    @property
    def image(self) -> tuple[int, int, int, int]:
        return (1, self.height, self.width, self.depth)

    @property
    def pixels(self) -> int:
        return self.height * self.width

    @property
    def elements(self) -> int:
        return self.pixels * self.depth


SIZES = (Size("small", 4, 4), Size("medium", 16, 16), Size("large", 32, 64))
"""256, 4,096 and 32,768 elements: two operands and a result of the last fit `base`'s scratchpad."""

QUARTER = Size("large", 16, 32)
"""The last one where the operator has more operands, wider results or temporaries beside them."""


@dataclass(frozen=True)
class Workload:
    """What a model asks of its operator, in figures.

    ``elements``: what the operator's throughput counts. ``units``: what its cycles grow with
    besides, such as rows; None if with nothing.
    """

    elements: int
    units: int | None = None


class MeasuredModel(NetworkBuilder):
    """Collects the model of one operator, the subject.

    ``inside``: whether each operand is copied within the accelerator right before the operator, as
    if an operator before had computed it. Otherwise it is an input of the model.
    """

    def __init__(self, inside: bool) -> None:
        super().__init__()
        self._inside = inside
        self._subject = ""

    def operand(
        self,
        shape: Sequence[int],
        dtype: type[np.generic] = np.int8,
        name: str = "input",
        zero_point: int = ZERO_POINT,
    ) -> int:
        """Add an operand that is no constant; truth values come from a comparison of codes."""
        if dtype == np.bool_ and self._inside:
            truth = self.tensor(shape, dtype=dtype, name=name)
            code = self.constant(np.zeros(1, np.int8), scale=SCALE, zero_point=0)
            super().operator("GREATER", [self.operand(shape), code], [truth])
            return truth
        kind: dict[str, Any] = {"dtype": dtype}
        if dtype == np.int8:
            kind |= {"scale": SCALE, "zero_point": zero_point}
        if not self._inside:
            return self.input(shape, name=name, **kind)
        size = prod(shape)
        source = self.input((size + LEAD,), **kind)
        copied = self.tensor((size,), **kind)
        result = self.tensor(shape, name=name, **kind)
        starts = [self.integers([LEAD], "begin"), self.integers([size], "size")]
        super().operator("SLICE", [source, *starts], [copied])
        super().operator("RESHAPE", [copied], [result], {"new_shape": list(shape)})
        return result

    def codes(self, shape: Sequence[int], name: str, **quantization: Any) -> int:
        """Add an int8 constant of codes in [-127, 127], the same ones each time."""
        codes = np.random.default_rng(prod(shape)).integers(-127, 128, shape, dtype=np.int8)
        return self.constant(codes, name=name, **{"scale": SCALE, **quantization})

    def subject(
        self,
        name: str,
        inputs: Sequence[int],
        quantization: tuple[float, int] | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        """Add the operator; several results are packed, so that each stays in the accelerator.

        Results have the quantization that the spec dictates, else this, or that of any activation.
        """
        self._subject = name
        quantization = quantization or dictated(name) or (SCALE, ZERO_POINT)
        results = self.add_several(name, inputs, quantization, options)
        if len(results) > 1:
            packing = {"values_count": len(results), "axis": 0}
            results = [self.add("PACK", results, results[0], packing)]
        self.output(results[0].index)

    def about(self, name: str) -> None:
        """Let the last operator of a name be the subject."""
        self._subject = name

    def finish(self, work: Workload) -> "MeasuredCase":
        graph = load_model(self.build())
        named = [op for op in graph.operators if op.name == self._subject]
        return MeasuredCase(graph, named[-1], work)


@dataclass(frozen=True)
class MeasuredCase:
    """A model, which of its operators is the subject, and what that has to do."""

    graph: Graph
    operator: Operator
    work: Workload

    @property
    def macs(self) -> int:
        return count_macs(self.graph, self.operator)

    def inputs(self, seed: int = 0) -> dict[int, np.ndarray]:
        """Return a value for each input: int8 over the whole range, others in [0, 8).

        And what variables are at first. Those of DIV are never 0.
        """
        rng = np.random.default_rng(seed)
        drawn = {
            tensor.index: rng.integers(-128, 128, tensor.shape, dtype=np.int8)
            if tensor.dtype == np.int8
            else rng.integers(0, 8, tensor.shape).astype(tensor.dtype)
            for tensor in (self.graph.tensors[index] for index in self.graph.inputs)
        }
        if self.operator.name == "DIV":
            for index, codes in drawn.items():
                quantization = self.graph.tensors[index].quantization
                assert quantization is not None
                codes += codes == quantization.zero_point[0]
        return self.graph.initial_state() | drawn


Build = Callable[[MeasuredModel, Size], Workload]
"""Adds the operator to a model, and says what it has to do."""

INPUTS, OUTPUTS, WEIGHTS = "input", "output", "weight"
"""What the elements of a series are."""


@dataclass(frozen=True)
class Series:
    """Models that differ in size alone.

    ``label``: what they have in common. ``counted``: what `Workload.elements` counts. ``unit``:
    what `Workload.units` counts, in the singular; empty if it is None. ``largest``: the last size,
    of which all that the operator touches fits `base`'s scratchpad.
    """

    label: str
    build: Build
    counted: str = OUTPUTS
    unit: str = ""
    largest: Size = SIZES[-1]

    @property
    def sizes(self) -> tuple[Size, ...]:
        return (*SIZES[:-1], self.largest)

    def case(self, size: Size, *, inside: bool = True) -> MeasuredCase:
        """Return the model of a size; ``inside`` as `MeasuredModel` takes it."""
        subject = MeasuredModel(inside)
        return subject.finish(self.build(subject, size))


@dataclass(frozen=True, eq=False)
class Requirement:
    """Elements per cycle that every series of some operators must reach at `base`.

    ``first_only``: just the first series of each.
    """

    title: str
    least: float
    first_only: bool = False


TWO_OPERANDS = Requirement("two-operand element-wise", 8)
TABLES = Requirement("tables", 8)
POOLS = Requirement("pools, input elements", 8)
REDUCTIONS = Requirement("reductions, input elements", 8)
CONTIGUOUS = Requirement("movement of contiguous runs, the port's width", 16, first_only=True)
"""What operators reach whose first series copies runs of 16 bytes or more."""

SOFTMAX = Requirement("SOFTMAX", 1)

REQUIREMENTS = (TWO_OPERANDS, TABLES, POOLS, REDUCTIONS, CONTIGUOUS, SOFTMAX)
"""What the project asks of the operators' throughput."""


@dataclass(frozen=True)
class CatalogueEntry:
    """What the code does not say of an operator, and `eightfold ops` shows.

    - ``series``: what is measured; the first one is what the operator's throughput is read from.
    - ``requirement``: what its throughput must reach; None: nothing is asked.
    - ``limit``: what the compiler refuses besides what `lab.measure` finds by asking, or what
      a run does not accept; empty if nothing. tests/lab/measure/test_limits.py shows each.
    """

    series: tuple[Series, ...]
    requirement: Requirement | None
    limit: str = ""
