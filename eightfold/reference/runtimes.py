"""The runtimes that an oracle may run, each as the child process prepares and asks it.

Both keep every tensor of a run, so that a comparison sees intermediate tensors too. Their packages
are loaded in the child only.
"""

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from typing import Protocol

import numpy as np
import tflite


class Interpreter(Protocol):
    """One model, prepared for the kernels of a runtime."""

    def run(self, inputs: Mapping[int, np.ndarray]) -> dict[int, np.ndarray]:
        """Return the tensors of subgraph 0 after a run, by index; inputs by index as well."""
        ...


@dataclass(frozen=True)
class Runtime:
    """A runtime whose kernels Eightfold equals."""

    title: str
    """What reports call it."""

    package: str
    """The package that brings it."""

    module: str
    """The module that the child imports."""

    prepare: Callable[[bytes], Interpreter]
    """Takes the bytes of a model; raises whatever the binding raises if the runtime refuses it."""

    prints: bool = False
    """Whether it prints the reason of a refusal, rather than raising it."""

    released: bool = True
    """Whether its versions are releases. Arithmetic may change from one development version to the
    next, so that a result is nothing without the version."""

    @property
    def version(self) -> str:
        """The version of its package."""
        return version(self.package)

    @property
    def kernels(self) -> str:
        """What reports call its kernels."""
        if self.released:
            return f"{self.title}'s reference kernels"
        return f"{self.title}'s kernels ({self.package} {self.version})"


class _LiteRT:
    """LiteRT with the ``BUILTIN_REF`` operator resolver, single-threaded, without delegates."""

    def __init__(self, model: bytes) -> None:
        from ai_edge_litert import interpreter

        self._interpreter = interpreter.Interpreter(
            model_content=model,
            experimental_op_resolver_type=interpreter.OpResolverType.BUILTIN_REF,
            experimental_preserve_all_tensors=True,
            num_threads=1,
        )
        self._interpreter.allocate_tensors()
        # Kernels append scratch tensors of their own, which are no tensors of the model.
        self._count = _subgraph(model).TensorsLength()

    def run(self, inputs: Mapping[int, np.ndarray]) -> dict[int, np.ndarray]:
        for index, array in inputs.items():
            self._interpreter.set_tensor(index, array)
        self._interpreter.invoke()
        tensors = {}
        for index in range(self._count):
            with contextlib.suppress(ValueError):  # no data: not used, or not kept
                tensors[index] = self._interpreter.get_tensor(index)
        return tensors


class _TFLiteMicro:
    """TFLite Micro with all its operators, in an arena that keeps every tensor."""

    ARENA = 2**30
    """Bytes of address space: pages that nothing is written to take no memory."""

    def __init__(self, model: bytes) -> None:
        from tflite_micro.python.tflite_micro import runtime

        subgraph = _subgraph(model)
        self._count = subgraph.TensorsLength()
        self._places = {subgraph.Inputs(place): place for place in range(subgraph.InputsLength())}
        self._interpreter = runtime.Interpreter.from_bytes(
            model,
            arena_size=self.ARENA,
            intrepreter_config=runtime.InterpreterConfig.kPreserveAllTensors,
        )

    def run(self, inputs: Mapping[int, np.ndarray]) -> dict[int, np.ndarray]:
        for index, array in inputs.items():
            self._interpreter.set_input(array, self._places[index])
        self._interpreter.invoke()
        return {
            index: self._interpreter.GetTensor(index, 0)["tensor_data"]
            for index in range(self._count)
        }


def _subgraph(model: bytes) -> tflite.SubGraph:
    packed = tflite.Model.GetRootAs(model).Subgraphs(0)
    assert packed is not None, "the model has no subgraph"
    return packed


RUNTIMES = {
    "litert": Runtime(
        title="LiteRT",
        package="ai-edge-litert",
        module="ai_edge_litert",
        prepare=_LiteRT,
    ),
    "tflm": Runtime(
        title="TFLite Micro",
        package="tflite-micro",
        module="tflite_micro",
        prepare=_TFLiteMicro,
        prints=True,
        released=False,
    ),
}
"""The runtimes by the names that ``reference`` has everywhere."""
