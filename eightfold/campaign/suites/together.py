"""Many networks one after the other in one simulation: starting a simulator takes a second."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from eightfold.compiler import CompiledNetwork
from eightfold.model import Graph
from eightfold.run.simulate import accelerator_source
from eightfold.sim.simulator.system import Run, run_system
from eightfold.sim.simulator.toolchain import Simulator

Tensors = Mapping[int, np.ndarray]


@dataclass(frozen=True, kw_only=True)
class Job:
    """A network that is one stream, compiled for the accelerator of all others, and its inputs."""

    graph: Graph
    network: CompiledNetwork
    batch: Sequence[Tensors]


def simulate_together(
    jobs: Sequence[Job],
    simulator: Simulator,
    *,
    stall: float,
    seed: int,
    netlist: str = "",
    trace: Path | None = None,
) -> list[list[dict[int, np.ndarray]]]:
    """Return for each job, and each of its inputs, the tensors that the accelerator has kept."""
    streams = []
    for job in jobs:
        (segment,) = job.network.segments
        assert segment.compiled is not None
        streams.append(segment.compiled)
    runs = [
        Run(
            inputs={offset: given[tensor] for tensor, offset in stream.inputs.items()},
            words=stream.words,
            model=stream.model,
            registers={"ARENA_SIZE": stream.arena},
        )
        for job, stream in zip(jobs, streams, strict=True)
        for given in job.batch
    ]
    results = iter(
        run_system(
            streams[0].config,
            simulator,
            words=streams[0].words,
            model=streams[0].model,
            arena_bytes=max(stream.arena for stream in streams),
            runs=runs,
            stall=stall,
            seed=seed,
            accelerator=accelerator_source(streams[0].config, netlist),
            trace=trace,
        ).runs
    )
    found = []
    for job, stream in zip(jobs, streams, strict=True):
        found.append([])
        for _ in job.batch:
            result = next(results)
            assert result.done, (str(job.graph.operators), result.error, result.index)
            found[-1].append(
                {
                    tensor: result.tensor(
                        offset, job.graph.tensors[tensor].shape, job.graph.tensors[tensor].dtype
                    )
                    for tensor, offset in stream.outputs.items()
                }
            )
    return found
