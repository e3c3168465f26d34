"""Our accelerator as an adapter computes: many models in one simulation, none outside of it."""

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np

from eightfold.cases.networks import combined
from eightfold.common.child import one_line
from eightfold.common.errors import HardwareError, InputError
from eightfold.compiler import compile_network
from eightfold.conformance.answers import ModelAnswer
from eightfold.model import Graph
from eightfold.operators import load_model
from eightfold.run.simulate import simulate_network
from eightfold.sim.simulator.runner import BenchFailed
from eightfold.target.config import AcceleratorConfig

Part = tuple[Graph, dict[int, np.ndarray]]


def answers(
    cases: Sequence[tuple[bytes, Mapping[int, np.ndarray]]],
    config: str,
    simulator: Literal["verilator", "icarus"],
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
    parts: Sequence[Part], config: AcceleratorConfig, simulator: Literal["verilator", "icarus"]
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
