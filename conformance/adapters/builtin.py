"""Adapters that come with the kit: LiteRT's kernels, TFLite Micro's, golden, our accelerator."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from eightfold.common.errors import InputError
from eightfold.common.extras import needs_extra, require_module
from eightfold.conformance.adapters.adapter import ModelRunner
from eightfold.conformance.adapters.model import ModelAdapter, Refused
from eightfold.conformance.answers import ModelAnswer
from eightfold.target.config import AcceleratorConfig

if TYPE_CHECKING:  # loads a simulator's toolchain
    from eightfold.sim.simulator.build import Design

Inputs = Mapping[int, np.ndarray]


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

    def answer(self, model: bytes, inputs: Inputs) -> ModelAnswer:
        return self.answer_all([(model, inputs)])[0]

    def answer_all(self, cases: Sequence[tuple[bytes, Inputs]]) -> list[ModelAnswer]:
        with needs_extra("rtl", "the accelerator in RTL"):
            from eightfold.conformance.adapters import accelerator
            from eightfold.sim.simulator.toolchain import checked_simulator

            simulator = checked_simulator(str(self.simulator))
            chunks = range(0, len(cases), TOGETHER)
            return [
                answer
                for start in chunks
                for answer in accelerator.answers(
                    cases[start : start + TOGETHER], self.config, simulator
                )
            ]


class OnIcarus(OnVerilator):
    """As `OnVerilator`, on Icarus, which takes a hundred times as long."""

    simulator = "icarus"
