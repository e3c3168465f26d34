"""A compiled network on the accelerator's model in numpy."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from eightfold.compiler import Compiled, CompiledNetwork
from eightfold.compiler.passes import Prepared
from eightfold.compiler.rewrite import run_operators
from eightfold.golden.quantization import Reference
from eightfold.model import Graph, Tensor
from eightfold.run.session import Session
from eightfold.run.simulate import InGolden, NetworkRun
from eightfold.sim.machine.machine import Machine, check_tokens


def run_compiled(
    compiled: Compiled, graph: Graph, inputs: Mapping[int, np.ndarray], seed: int = 0
) -> dict[int, np.ndarray]:
    """Return what a stream leaves in the arena, after a proof that its tokens suffice.

    Parameters
    ----------
    compiled
        The only stream of a network, or one whose inputs are all in ``inputs``.
    graph
        What it was compiled from.
    inputs
        Arrays by tensor index.
    seed
        Of the order in which the engines take their turns.
    """
    check_tokens(compiled.config, compiled.words)
    base = len(compiled.model)
    memory = np.zeros(base + compiled.arena, dtype=np.uint8)
    memory[:base] = np.frombuffer(compiled.model, dtype=np.uint8)
    for tensor, offset in compiled.inputs.items():
        content = inputs[tensor].reshape(-1).view(np.uint8)
        memory[base + offset : base + offset + content.size] = content
    machine = Machine(compiled.config, memory, (0, base), (base, compiled.arena), seed=seed)
    machine.run(compiled.words)
    return {
        tensor: _tensor(memory, base + offset, graph.tensors[tensor])
        for tensor, offset in compiled.outputs.items()
    }


def run_prepared(
    prepared: Prepared,
    inputs: Mapping[int, np.ndarray],
    reference: Reference = "litert",
    seed: int = 0,
) -> dict[int, np.ndarray]:
    """Return the inputs and what a network's streams leave, by tensors of the rewritten graph.

    Golden computes what the accelerator does not take. ``seed``: as `run_compiled` takes it.
    """
    rewritten = prepared.rewritten
    return _run(
        rewritten.graph,
        prepared.network,
        inputs,
        lambda values, operators: run_operators(rewritten, values, operators, reference),
        seed,
    )


def _run(
    graph: Graph,
    network: CompiledNetwork,
    inputs: Mapping[int, np.ndarray],
    in_golden: InGolden,
    seed: int = 0,
) -> dict[int, np.ndarray]:
    values = dict(inputs)
    for segment in network.segments:
        if segment.compiled is None:
            values = in_golden(values, segment.operators)
        else:
            values |= run_compiled(segment.compiled, graph, values, seed=seed)
    return values


class MachineSession(Session):
    """A session on hardware, as `eightfold run` has it, whose commands run in numpy.

    Parameters
    ----------
    options
        As `eightfold.Session` takes them, without a backend.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__("verilator", **options)

    def _network_runs(
        self,
        graph: Graph,
        network: CompiledNetwork,
        batch: Sequence[Mapping[int, np.ndarray]],
        *,
        in_golden: InGolden,
        **_: Any,
    ) -> list[NetworkRun]:
        return [NetworkRun(tensors=_run(graph, network, each, in_golden)) for each in batch]

    def _simulator_version(self) -> str:
        return "machine model"


def _tensor(memory: np.ndarray, start: int, tensor: Tensor) -> np.ndarray:
    size = int(np.prod(tensor.shape, dtype=int)) * tensor.dtype.itemsize
    return memory[start : start + size].view(tensor.dtype).reshape(tensor.shape)
