"""Adapters that come with the kit: LiteRT's kernels, other runtimes, golden, our accelerator."""

import contextlib
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, distribution
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import tflite

from eightfold.common.child import run_to_end
from eightfold.common.errors import InputError
from eightfold.common.extras import missing_package, needs_extra, require_module
from eightfold.conformance.adapters.adapter import Inputs, ModelRunner, UnitAdapter
from eightfold.conformance.adapters.model import ModelAdapter, Refused
from eightfold.conformance.answers import ModelAnswer
from eightfold.target.config import AcceleratorConfig

if TYPE_CHECKING:  # loads a simulator's toolchain
    from eightfold.sim.simulator.build import Design


class _Runtime(ModelAdapter):
    """A runtime of `eightfold.run.reference.runtimes`, which the child alone loads."""

    def answer(self, model: bytes, inputs: Inputs) -> ModelAnswer:
        from eightfold.run.reference.runtimes import RUNTIMES

        assert self.runtime is not None
        with needs_extra("compare", type(self).__name__):
            require_module(RUNTIMES[self.runtime].module)
        return super().answer(model, inputs)


class LiteRT(_Runtime):
    """LiteRT's reference kernels: the operator resolver ``BUILTIN_REF``."""

    runtime = "litert"
    resolver: ClassVar[str] = "BUILTIN_REF"
    keep: ClassVar[bool] = True

    def run(self, model: bytes, inputs: Inputs) -> dict[int, np.ndarray]:
        from eightfold.run.reference import runtimes

        try:
            return runtimes.LiteRT(model, self.resolver, keep=self.keep).run(inputs)
        except (ValueError, RuntimeError) as error:
            raise Refused(error) from None


class LiteRTOptimized(LiteRT):
    """LiteRT's optimized kernels: ``BUILTIN_WITHOUT_DEFAULT_DELEGATES``."""

    resolver = "BUILTIN_WITHOUT_DEFAULT_DELEGATES"


class XNNPACK(LiteRT):
    """LiteRT as it is by default: XNNPACK for what it takes, optimized kernels for the rest."""

    resolver = "AUTO"
    keep = False


class TFLiteMicro(_Runtime):
    """TFLite Micro, as PyPI's ``tflite-micro`` has it."""

    runtime = "tflm"

    def run(self, model: bytes, inputs: Inputs) -> dict[int, np.ndarray]:
        from eightfold.run.reference import runtimes

        try:
            return runtimes.TFLiteMicro(model).run(inputs)
        except (ValueError, RuntimeError):
            raise Refused from None  # the reason has been printed


class _Packaged(ModelAdapter):
    """What computes in packages of an extra, which the child alone loads.

    A run is of the packages as they are installed: of the lists of their files' digests.
    """

    extra: ClassVar[str]
    packages: ClassVar[Sequence[str]]

    def made_of(self) -> list[Path]:
        lists = []
        for package in self.packages:
            try:
                files = distribution(package).files or []
            except PackageNotFoundError:
                raise missing_package(type(self).__name__, package, self.extra) from None
            lists += [each for each in files if each.match("*.dist-info/RECORD")]
        return [Path(str(each.locate())) for each in lists]

    def answer(self, model: bytes, inputs: Inputs) -> ModelAnswer:
        self.made_of()  # which says what is missing
        return super().answer(model, inputs)


@contextlib.contextmanager
def _beside(model: bytes) -> Iterator[None]:
    """Within it, ``model.tflite`` is in the working folder, so that messages name no other one."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        Path("model.tflite").write_bytes(model)
        yield


class Tosa(_Packaged):
    """Arm's reference model of TOSA, of what Arm's converter makes of a ``.tflite`` file.

    A model is refused that the converter refuses, or converts in part only; and one whose result
    TOSA calls unpredictable.
    """

    extra = "tosa"
    packages = ("tosa-converter-for-tflite", "tosa-tools")

    def run(self, model: bytes, inputs: Inputs) -> list[np.ndarray]:
        import tosa_converter_for_tflite as converter  # pyright: ignore[reportMissingImports]
        import tosa_reference_model as reference  # pyright: ignore[reportMissingImports]

        if any(array.ndim > 6 for array in inputs.values()):
            # The reference model raises an error, or never ends.
            raise Refused("tensors of TOSA have six dimensions at most")
        with _beside(model):
            try:
                converter.tflite_flatbuffer_to_tosa_mlir("model.tflite", "model.mlirbc")
            except RuntimeError:
                raise Refused from None  # the reason has been printed
            program = distribution("tosa-tools").locate_file("bin/tosa-opt")
            words = ["--tosa-serialize", "--tosa-flatbuffer-filename=model.tosa", "model.mlirbc"]
            done = run_to_end([str(program), *words, "-o", "model.mlir"])
            if "dialect 'tfl' is unknown" in done.stderr:
                raise Refused("the converter leaves operators of TFLite as they are")
            if done.returncode:
                raise Refused(next(iter(done.stderr.splitlines()), "tosa-opt has failed"))
            graph = Path("model.tosa").read_bytes()
        outputs, status = reference.run(graph, [inputs[index] for index in _input_indices(model)])
        if status != reference.GraphStatus.TOSA_VALID:
            raise Refused(f"the reference model ends with {status.name}")
        return outputs


class OpenVINO(_Packaged):
    """OpenVINO on the processor, as it is by default but that float32 stays float32.

    It reads an int8 model as float32 operators between FakeQuantizes, and then computes those that
    it can in kernels of int8. On x86 processors without VNNI these add pairs of products in int16,
    which saturates: results depend on the processor.
    """

    extra = "openvino"
    packages = ("openvino",)
    properties: ClassVar[Mapping[str, Any]] = {}
    _core: Any = None

    def run(self, model: bytes, inputs: Inputs) -> list[np.ndarray]:
        import openvino

        from eightfold.importer.openvino_ir import FLOAT32

        properties = {**FLOAT32, "INFERENCE_NUM_THREADS": 1, **self.properties}
        with _beside(model):
            try:
                self._core = self._core or openvino.Core()
                compiled = self._core.compile_model("model.tflite", "CPU", properties)
                results = compiled([inputs[index] for index in _input_indices(model)])
            except RuntimeError as error:
                lines = [line for line in str(error).splitlines() if line]
                raise Refused(
                    next((line for line in lines if "src/" not in line), lines[0])
                ) from None
        return list(results.values())


class OpenVINOFloat(OpenVINO):
    """OpenVINO with int8 simulated: float32 operators between FakeQuantizes, on any processor."""

    properties: ClassVar[Mapping[str, Any]] = {"LP_TRANSFORMS_MODE": False}


def _input_indices(model: bytes) -> list[int]:
    graph = tflite.Model.GetRootAs(model).Subgraphs(0)
    assert graph is not None
    return [graph.Inputs(place) for place in range(graph.InputsLength())]


class Golden(ModelRunner):
    """Golden, in this process: what all others are held against."""

    def answer(self, model: bytes, inputs: Inputs) -> ModelAnswer:
        from eightfold.operators import load_model, run_graph

        try:
            graph = load_model(model)
            return ModelAnswer(ending="computed", tensors=run_graph(graph, inputs))
        except InputError as error:
            return ModelAnswer(ending="refused", message=str(error))


TOGETHER = 100
"""Models of a simulation, so that starting a simulator is a small share."""


class OnVerilator(ModelRunner):
    """Eightfold's accelerator, compiled to commands and simulated in RTL.

    A model that it does not compute entirely in hardware is refused.
    """

    simulator: Literal["verilator", "icarus"] | None = "verilator"
    config: ClassVar[str] = "base"

    def designs(self) -> Sequence["Design"]:
        from eightfold.sim.simulator.system import system_design

        return (system_design(AcceleratorConfig.load(self.config)),)

    def for_unit(self, unit: str, spec: str) -> "UnitAdapter | None":
        if spec != "tpu-mlir" or unit == "fake_quantize":
            return None
        with needs_extra("rtl", "the accelerator in RTL"):
            from eightfold.conformance.adapters.accelerator import FormsOnAccelerator

            return FormsOnAccelerator(unit, self.config)

    def answer(self, model: bytes, inputs: Inputs) -> ModelAnswer:
        return self.answer_all([(model, inputs)])[0]

    def answer_all(self, cases: Sequence[tuple[bytes, Inputs]]) -> list[ModelAnswer]:
        with needs_extra("rtl", "the accelerator in RTL"):
            from eightfold.conformance.adapters import accelerator
            from eightfold.sim.simulator.toolchain import checked_simulator

            simulator = self.simulator or "verilator"
            checked_simulator(simulator)
            chunks = (cases[start : start + TOGETHER] for start in range(0, len(cases), TOGETHER))
            found = (accelerator.answers(chunk, self.config, simulator) for chunk in chunks)
            return [*chain.from_iterable(found)]


class OnIcarus(OnVerilator):
    """As `OnVerilator`, on Icarus, which takes a hundred times as long."""

    simulator = "icarus"
