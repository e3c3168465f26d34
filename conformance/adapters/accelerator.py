"""Our accelerator as an adapter computes: many models in one simulation, none outside of it."""

from collections.abc import Sequence
from pathlib import Path
from typing import cast

import numpy as np

from eightfold.cases.networks import combined
from eightfold.common.child import one_line
from eightfold.common.errors import HardwareError, InputError
from eightfold.compiler import compile_network
from eightfold.compiler.tpu_mlir.network import TpuMlirNetwork
from eightfold.conformance.adapters.adapter import Inputs, UnitAdapter
from eightfold.conformance.answers import Columns, ModelAnswer, UnitAnswers
from eightfold.conformance.units.tpu_mlir import Case, operands_of, options_of, rows_of
from eightfold.golden.tpu_mlir.numbers import code_of, from_int8, requantizer, to_int8
from eightfold.model import Graph
from eightfold.operators import load_model
from eightfold.run.simulate import simulate_network
from eightfold.sim.simulator.runner import BenchFailed
from eightfold.sim.simulator.toolchain import Simulator
from eightfold.target.config import AcceleratorConfig

AT_ONCE = 60
"""Cases of a form in one simulation."""


Held = dict[int, np.ndarray]
"""Tensors by index."""


class FormsOnAccelerator(UnitAdapter):
    """Answers cases of TPU-MLIR's forms: each case a form, side by side in a stream of commands.

    A requantizer's case is a channel of an InnerProduct, whose bias is the accumulator.
    """

    def __init__(self, unit: str, config: str) -> None:
        self.unit = unit
        self.config = AcceleratorConfig.load(config)

    def answer(
        self, cases: Columns, *, simulator: str, seed: int = 0, trace: Path | None = None
    ) -> UnitAnswers:
        """Return the answers; raises as `eightfold.run.simulate.simulate_network`."""
        count = len(next(iter(cases.values())))
        whole = self.unit == "requantizer"
        step, add = (count, self._requantizer) if whole else (AT_ONCE, self._forms)
        results = []
        for start in range(0, count, step):
            network, inputs = TpuMlirNetwork(self.config), {}
            some = {name: values[start : start + step] for name, values in cases.items()}
            codes = add(network, inputs, some)
            (run,) = simulate_network(
                network.graph,
                network.compile(),
                [inputs],
                simulator=cast(Simulator, simulator),
                seed=seed,
                trace=trace,
            )
            for index in codes:
                # The first of a Pad is what pads, or what is padded.
                held = run.tensors[index].reshape(-1)[: None if whole else 1]
                results.append(from_int8(held, network.code(index)).astype(np.int64))
        return UnitAnswers(results={"result": np.concatenate(results)})

    def _requantizer(self, network: TpuMlirNetwork, inputs: Held, cases: Case) -> list[int]:
        each = {name: values.astype(np.int64) for name, values in cases.items()}
        fields = requantizer(each["multiplier"], each["shift"])
        fields |= {name: each[name] for name in ("zero_point", "low", "high")}
        x = network.input(1, 1)
        inputs[x] = np.zeros((1, 1), np.int8)
        weights = np.zeros((len(each["shift"]), 1), np.int8)
        return [network.inner_product(x, weights, each["accumulator"], fields)]

    def _forms(self, network: TpuMlirNetwork, inputs: Held, cases: Case) -> list[int]:
        found = []
        for case in rows_of(cases):
            tensors = []
            for operand in operands_of(self.unit, case):
                x = operand.transpose(0, 2, 3, 1) if operand.ndim == 4 else operand
                tensors.append(network.input(*x.shape, code=code_of(x)))
                inputs[tensors[-1]] = to_int8(x)
            result = getattr(network, self.unit)(*tensors, **options_of(self.unit, case))
            found.append(result)
        return found


Part = tuple[Graph, Held]


def answers(
    cases: Sequence[tuple[bytes, Inputs]], config: str, simulator: Simulator
) -> list[ModelAnswer]:
    """Return what the accelerator makes of models, side by side in one stream of commands.

    A model is refused that is not computed by the accelerator alone, from the first operator to the
    last.
    """
    setup = AcceleratorConfig.load(config)
    found: dict[int, ModelAnswer] = {}
    taken: dict[int, Part] = {}
    for number, (model, inputs) in enumerate(cases):
        try:
            graph = load_model(model)
            _compiled(graph, setup)
        except InputError as error:
            found[number] = ModelAnswer(ending="refused", message=one_line(error))
        else:
            taken[number] = graph, dict(inputs)
    computed = _simulated([*taken.values()], setup, simulator)
    found |= dict(zip(taken, computed, strict=True))
    return [found[number] for number in range(len(cases))]


def _compiled(graph: Graph, config: AcceleratorConfig):
    network = compile_network(graph, config, keep=True)
    if any(segment.compiled is None for segment in network.segments):
        raise InputError("some operators are not computed by the accelerator")
    return network


def _simulated(
    parts: Sequence[Part], config: AcceleratorConfig, simulator: Simulator
) -> list[ModelAnswer]:
    """Return the answers of models; where one spoils the run of all, each runs alone."""
    if not parts:
        return []
    graph, inputs = combined(parts)
    try:
        (ran,) = simulate_network(graph, _compiled(graph, config), [inputs], simulator=simulator)
    except (HardwareError, BenchFailed, InputError) as error:
        if len(parts) > 1:
            return [answer for part in parts for answer in _simulated([part], config, simulator)]
        return [ModelAnswer(ending="crashed", message=one_line(error))]
    found = []
    base = 0
    for part, _ in parts:
        mine = range(base, base + len(part.tensors))
        base = mine.stop
        tensors = {index - mine.start: ran.tensors[index] for index in mine if index in ran.tensors}
        found.append(ModelAnswer(ending="computed", tensors=tensors))
    return found
