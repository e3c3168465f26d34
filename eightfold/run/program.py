"""Run a network of TPU-MLIR's forms: in golden, and on the simulated accelerator."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from eightfold.common.errors import InputError
from eightfold.common.progress import OnProgress
from eightfold.compiler.tpu_mlir.program import Program
from eightfold.golden.tpu_mlir.numbers import from_int8, to_int8
from eightfold.run.simulate import simulate_network
from eightfold.sim.simulator.toolchain import checked_simulator
from eightfold.target.config import AcceleratorConfig


@dataclass(frozen=True, eq=False)
class ProgramRun:
    """Real values of the outputs, as the source has them; how it ran in words; and how many codes
    of a simulation are not golden's."""

    outputs: dict[str, NDArray[np.float32]]
    lines: tuple[str, ...]
    wrong: int = 0


def run_program(
    path: Path,
    inputs: Mapping[str, NDArray] | None,
    backend: str,
    config: str,
    seed: int = 0,
    progress: OnProgress | None = None,
) -> ProgramRun:
    """Run a file of `eightfold.compiler.tpu_mlir.program`.

    Raises `InputError` if the file or the inputs are bad, a tool is missing, or the network does
    not fit.

    ``inputs``: real values by name, as the source has them; None draws codes with ``seed``.
    ``backend``: ``golden``, ``verilator`` or ``icarus``.
    """
    program = Program.load(path)
    rng = np.random.default_rng(seed)
    given = inputs or {
        value.name: value.real(
            from_int8(rng.integers(-128, 128, value.shape).astype(np.int8), value.code)
        )
        for value in program.values[: program.inputs]
    }
    codes = program.run(given)
    results = {program.values[index].name: index for index in program.outputs}
    outputs = {name: program.values[index].real(codes[index]) for name, index in results.items()}
    if backend == "golden":
        return ProgramRun(outputs, (f"{len(program.forms)} forms in golden",))
    if backend not in ("verilator", "icarus"):
        raise InputError(
            f"--backend {backend}: a network of TPU-MLIR runs in golden or a simulator"
        )
    checked_simulator(backend)
    network = program.network(AcceleratorConfig.load(config))
    compiled = network.compile(keep=not set(program.outputs) <= set(network.graph.outputs))
    held = {index: to_int8(codes[index]) for index in range(program.inputs)}
    (run,) = simulate_network(
        network.graph, compiled, [held], simulator=backend, seed=seed, on_progress=progress
    )
    wrong = {
        name: int(np.sum(run.tensors[index] != to_int8(codes[index])))
        for name, index in results.items()
    }
    sizes = {name: codes[index].size for name, index in results.items()}
    lines = [
        f"{name}: {wrong[name]} of {sizes[name]} codes are not golden's"
        if wrong[name]
        else f"{name}: all {sizes[name]} codes equal golden"
        for name in results
    ]
    summary = f"{len(program.forms)} forms on {config}, {run.cycles:,} cycles in {backend}"
    return ProgramRun(outputs, (summary, *lines), sum(wrong.values()))
