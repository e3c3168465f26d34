"""Adapters that come with the kit: LiteRT's kernels, TFLite Micro's, golden, our accelerator."""

from collections.abc import Mapping, Sequence
from typing import ClassVar, Literal

import numpy as np

from eightfold.conformance.adapters.adapter import ModelRunner
from eightfold.conformance.adapters.model import ModelAdapter, Refused
from eightfold.conformance.answers import ModelAnswer
from eightfold.errors import InputError
from eightfold.extras import needs_extra, require_module

Inputs = Mapping[int, np.ndarray]


class _Runtime(ModelAdapter):
    """A runtime of `eightfold.reference.runtimes`, which the child alone loads."""

    module: ClassVar[str]

    def answer(self, model: bytes, inputs: Inputs) -> ModelAnswer:
        with needs_extra("compare", type(self).__name__):
            require_module(self.module)
        return super().answer(model, inputs)


class LiteRT(_Runtime):
    """LiteRT's reference kernels: the operator resolver ``BUILTIN_REF``."""

    module = "ai_edge_litert"
    resolver: ClassVar[str] = "BUILTIN_REF"
    keep: ClassVar[bool] = True

    def run(self, model: bytes, inputs: Inputs) -> dict[int, np.ndarray]:
        from eightfold.reference import runtimes

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

    module = "tflite_micro"

    def run(self, model: bytes, inputs: Inputs) -> dict[int, np.ndarray]:
        from eightfold.reference import runtimes

        try:
            return runtimes.TFLiteMicro(model).run(inputs)
        except (ValueError, RuntimeError):
            raise Refused from None  # the reason has been printed


class Golden(ModelRunner):
    """Golden, in this process: what all others are held against."""

    def answer(self, model: bytes, inputs: Inputs) -> ModelAnswer:
        from eightfold.execute import run_graph
        from eightfold.model import load_model

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

    simulator: ClassVar[Literal["verilator", "icarus"]] = "verilator"
    config: ClassVar[str] = "base"

    def answer(self, model: bytes, inputs: Inputs) -> ModelAnswer:
        return self.answer_all([(model, inputs)])[0]

    def answer_all(self, cases: Sequence[tuple[bytes, Inputs]]) -> list[ModelAnswer]:
        with needs_extra("rtl", "the accelerator in RTL"):
            from eightfold.conformance.adapters import accelerator

            chunks = range(0, len(cases), TOGETHER)
            return [
                answer
                for start in chunks
                for answer in accelerator.answers(
                    cases[start : start + TOGETHER], self.config, self.simulator
                )
            ]


class OnIcarus(OnVerilator):
    """As `OnVerilator`, on Icarus, which takes a hundred times as long."""

    simulator = "icarus"
