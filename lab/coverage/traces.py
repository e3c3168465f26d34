"""The requantizations of every operator: the accelerator's, and of tables the reference's."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np

from eightfold.compiler import Compiled
from eightfold.execute import run_operator
from eightfold.golden import rectifiers, unary
from eightfold.golden.quantization import clamp
from eightfold.golden.requantize import requantize
from eightfold.golden.rounding import round_half_away
from eightfold.isa.decode import Decoded
from eightfold.model import Graph, Operator
from eightfold.sim.machine import matrix as matrix_model
from eightfold.sim.machine import vector as vector_model
from eightfold.sim.machine.machine import Machine
from lab.coverage.requantizations import Labels, join, requantization

Tensors = Mapping[int, np.ndarray]


class _Traced(Machine):
    """A machine that notes the requantizations of every operator."""

    def __init__(self, compiled: Compiled, *args: Any) -> None:
        super().__init__(compiled.config, *args)
        self.labels: defaultdict[int, Labels] = defaultdict(lambda: defaultdict(set))
        self._owners = [issued.operator for issued in compiled.issued]

    def execute(self, command: Decoded) -> None:
        """Do a command, and note what it requantizes."""
        labels = self.labels[self._owners[command.number]]

        def noted(values: np.ndarray, **parameters: Any) -> np.ndarray:
            join(labels, requantization(values, parameters))
            return requantize(values, **parameters)

        with (
            patch.object(matrix_model, "requantize", noted),
            patch.object(vector_model, "requantize", noted),
        ):
            super().execute(command)


def accelerator_labels(compiled: Compiled, inputs: Tensors, results: Tensors) -> dict[int, Labels]:
    """Return the bins of the requantizations of each operator, by its index.

    The commands run on the machine in numpy, and must leave the ``results`` there that the
    accelerator has left.
    """
    base = len(compiled.model)
    memory = np.zeros(base + compiled.arena, dtype=np.uint8)
    memory[:base] = np.frombuffer(compiled.model, dtype=np.uint8)
    for tensor, offset in compiled.inputs.items():
        content = np.asarray(inputs[tensor], order="C").reshape(-1).view(np.uint8)
        memory[base + offset : base + offset + content.size] = content
    machine = _Traced(compiled, memory, (0, base), (base, compiled.arena))
    machine.run(compiled.words)
    for tensor, offset in compiled.outputs.items():
        content = np.asarray(results[tensor], order="C").reshape(-1).view(np.uint8)
        found = memory[base + offset : base + offset + content.size]
        np.testing.assert_array_equal(found, content, err_msg=f"tensor {tensor}")
    return machine.labels


def reference_labels(graph: Graph, operator: Operator, values: Tensors) -> Labels:
    """Return the bins of what the reference rounds and clamps of a function of one byte."""
    labels: Labels = defaultdict(set)
    with _noting(labels):
        run_operator(graph, operator, values)
    return labels


@contextmanager
def _noting(labels: Labels) -> Iterator[None]:
    """Note multiplications, shifts, roundings and clamps of the functions of one byte."""

    def multiplied(x: Any, multiplier: Any, shift: Any) -> Any:
        pair = {
            "multiplier": multiplier,
            "left": np.maximum(shift, 0),
            "right": np.maximum(-np.asarray(shift), 0),
        }
        seen = requantization(x, pair)
        seen.pop("saturation", None)  # it clamps nothing
        join(labels, seen)
        return multiply(x, multiplier, shift)

    def rounded(x: Any) -> Any:
        ties = np.abs(x - np.trunc(x)) == 0.5
        for name, side in (("positive", x > 0), ("negative", x < 0)):
            if np.any(ties & side):
                labels["tie"].add(name)
        return round_half_away(x)

    def shifted(x: Any, e: Any, rounding: Any) -> Any:
        parameters = {"single": 1, "multiplier": 1, "right": e}
        join(labels, {"tie": requantization(x, parameters)["tie"]})
        return shift_right(x, e, rounding)

    def clamped(codes: Any, bounds: tuple[int, int] = (-128, 127)) -> Any:
        parameters = {"single": 1, "multiplier": 1, "low": bounds[0], "high": bounds[1]}
        join(labels, {"saturation": requantization(codes, parameters)["saturation"]})
        return clamp(codes, bounds)

    multiply, shift_right = unary.multiply_by_quantized_multiplier, rectifiers.rounding_shift
    changes: tuple[tuple[Any, str, Callable], ...] = (
        (unary, "multiply_by_quantized_multiplier", multiplied),
        (unary, "round_half_away", rounded),
        (unary, "clamp", clamped),
        (rectifiers, "multiply_by_quantized_multiplier", multiplied),
        (rectifiers, "rounding_shift", shifted),
        (rectifiers, "clamp", clamped),
    )
    with ExitStack() as stack:
        for module, name, function in changes:
            stack.enter_context(patch.object(module, name, function))
        yield
