"""Run a compiled network on the accelerator, what is left to golden in this process.

`run_program` does so with a network of TPU-MLIR's forms, and compares it with golden.
`eightfold.Session` compiles, calls `simulate_network`, or `board_runs` for an FPGA, and makes
`eightfold.run.report` of its runs. Simulators and boards know streams and memory, not networks:
this is where the two meet.
"""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from eightfold import isa
from eightfold.common.errors import HardwareError, InputError
from eightfold.common.progress import OnProgress
from eightfold.compiler import Compiled, CompiledNetwork
from eightfold.compiler.tpu_mlir.network import Program
from eightfold.golden.tpu_mlir.numbers import from_int8, to_int8
from eightfold.isa.shares import Work, shares, work
from eightfold.model import Graph, Operator
from eightfold.operators import run_graph
from eightfold.run.report.result import StreamRecord
from eightfold.sim.simulator.memory_image import WORK
from eightfold.sim.simulator.sources import AcceleratorSource
from eightfold.sim.simulator.system import Run, RunResult, run_system
from eightfold.sim.simulator.toolchain import Simulator, checked_simulator
from eightfold.target.config import AcceleratorConfig
from eightfold.target.memory import IDEAL, MemoryTiming

Tensors = dict[int, np.ndarray]

InGolden = Callable[[Tensors, Sequence[Operator]], Tensors]
"""Adds to tensors what operators that are left to golden compute from them."""

COUNTERS = [name for name, _ in isa.COUNTERS]


@dataclass(kw_only=True)
class NetworkRun:
    """One inference of a compiled network.

    ``tensors`` has the inputs and every tensor that was kept or computed in golden. Per operator of
    the accelerator: ``counters``, what each counter of `eightfold.isa.COUNTERS` counted from the
    end of the operator before to this one's; CYCLES adds up to ``cycles``, which are those from
    doorbell to done of all streams; and ``work``, how long engines worked for it, earlier too.
    ``streams``: when the commands of each ran, if it was kept.
    """

    tensors: dict[int, np.ndarray]
    cycles: int = 0
    counters: dict[int, dict[str, int]] = field(default_factory=dict)
    work: dict[int, Work] = field(default_factory=dict)
    streams: list[StreamRecord] = field(default_factory=list)


def simulate_network(
    graph: Graph,
    network: CompiledNetwork,
    batch: Sequence[Mapping[int, np.ndarray]],
    *,
    simulator: Simulator,
    reference: str = "litert",
    stall: float = 0.0,
    memory: MemoryTiming = IDEAL,
    seed: int = 0,
    source: AcceleratorSource | None = None,
    trace: Path | None = None,
    on_progress: OnProgress | None = None,
    record: bool = False,
    in_golden: InGolden | None = None,
) -> list[NetworkRun]:
    """Run a compiled network once for each input of ``batch``: one simulation per stream.

    Runs of a network with variables follow each other: each begins with the state that the one
    before has left, in memory. Of several streams each run then has simulations of its own. Raises
    `HardwareError` if the accelerator stops with an error; `InputError` from operators in golden,
    or if a tool is missing; `eightfold.sim.simulator.runner.BenchFailed` if a run does not end, or
    a rule of the buses is broken.

    ``graph``, ``network``: a model, and what `eightfold.compiler.compile_network` has made of it;
    ``batch``: input tensors by index, for each inference; the values of variables for the first
    one, where they are not initial. ``reference``: ``litert`` or ``tflm``, whose kernels operators
    in golden equal, as the network's; ``in_golden``: computes these; None:
    `eightfold.operators.run_graph`, which takes graphs that were not rewritten. ``source``: what is
    simulated in place of the accelerator's RTL; ``trace``: file for the simulation's waves;
    ``on_progress``: called while a simulation is built and runs; ``record``: keep when the commands
    of each stream ran; ``memory``: how long the simulated memory takes; ``stall``, ``seed``: as
    `eightfold.sim.simulator.system.run_system` takes them.
    """
    compute = in_golden or (lambda tensors, ops: run_graph(graph, tensors, reference, ops))

    def simulate(compiled: Compiled, runs: Sequence[NetworkRun]) -> None:
        results = run_system(
            compiled.config,
            simulator,
            words=compiled.words,
            model=compiled.model,
            arena_bytes=compiled.arena,
            runs=_jobs(graph, compiled, runs),
            stall=stall,
            timing=memory,
            seed=seed,
            accelerator=source.of(compiled.config) if source else None,
            trace=trace,
            on_progress=on_progress,
        )
        for run, result in zip(runs, results, strict=True):
            _take(graph, compiled, run, result)
            spans = command_spans(compiled, result.events)
            run.work |= work(compiled.issued, spans.tolist())
            if record:
                counts = result.events[:, 2:]
                run.streams.append(StreamRecord(compiled=compiled, spans=spans, counts=counts))

    together = not graph.variables or len(network.segments) == 1
    return [*network_runs(graph, network, batch, simulate, compute, together=together)]


def board_runs(
    port: str,
    baud: int,
    patience: float,
    graph: Graph,
    network: CompiledNetwork,
    batch: Sequence[Mapping[int, np.ndarray]],
    *,
    in_golden: InGolden,
    **_: Any,
) -> list[NetworkRun]:
    """Run a network once for each input on a board at a serial port, as `simulate_network` does.

    The host keeps the state of a network, and writes all inputs before each run: the memory of a
    board holds one stream at a time. Cycles of operators are not known. Raises `InputError` as
    `eightfold.boards.host.open_board` and `eightfold.boards.host.Loaded`. Raises `HardwareError` as
    the latter's `run`.
    """
    from eightfold.boards.host import Loaded, open_board

    with open_board(port, baud, patience) as board:
        loaded: tuple[object, Loaded] | None = None

        def compute(stream: Compiled, runs: Sequence[NetworkRun]) -> None:
            nonlocal loaded
            if loaded is None or loaded[0] is not stream:
                loaded = stream, Loaded(board, stream, stream.config)
            sizes = {tensor: graph.tensors[tensor].nbytes for tensor in stream.outputs}
            for run in runs:
                given = {tensor: run.tensors[tensor] for tensor in stream.inputs}
                result = loaded[1].run(given, sizes)
                run.cycles += result.cycles
                for tensor, found in result.outputs.items():
                    kind = graph.tensors[tensor]
                    run.tensors[tensor] = np.frombuffer(found, kind.dtype).reshape(kind.shape)

        runs = []
        for run in network_runs(graph, network, batch, compute, in_golden, together=False):
            runs.append(run)
            told = run.cycles, 1e3 * run.cycles / board.clock, board.clock / 1e6
            logging.getLogger(__name__).warning(
                "eightfold: %s", "board: {:,} cycles, {:.3f} ms at {:g} MHz".format(*told)
            )
    return runs


def network_runs(
    graph: Graph,
    network: CompiledNetwork,
    batch: Sequence[Mapping[int, np.ndarray]],
    on_accelerator: Callable[[Compiled, Sequence[NetworkRun]], None],
    in_golden: InGolden,
    *,
    together: bool,
) -> Iterator[NetworkRun]:
    """Yield the runs of a batch: all of it stream by stream, or each from the state of the last.

    ``on_accelerator`` adds what a stream leaves to the tensors of some runs.
    """
    runs = [NetworkRun(tensors={**graph.initial_state(), **inputs}) for inputs in batch]
    previous: NetworkRun | None = None
    for group in [runs] if together else [[run] for run in runs]:
        if previous is not None:
            group[0].tensors |= graph.next_state(previous.tensors)
        for segment in network.segments:
            if segment.compiled is not None:
                on_accelerator(segment.compiled, group)
                continue
            for run in group:
                run.tensors = in_golden(run.tensors, segment.operators)
        for run, following in pairwise(group):
            following.tensors |= graph.next_state(run.tensors)
        yield from group
        previous = group[-1]


def _jobs(graph: Graph, compiled: Compiled, runs: Sequence[NetworkRun]) -> list[Run]:
    """Return what a stream runs on: the state is put into memory once, and stays there."""
    kept = []
    for tensor in compiled.state:
        start = compiled.inputs[tensor]
        kept.append((start, start + graph.tensors[tensor].nbytes))
    jobs = []
    for run in runs:
        places = compiled.inputs.items()
        given = {o: run.tensors[t] for t, o in places if not jobs or t not in compiled.state}
        jobs.append(Run(inputs=given, kept=kept if jobs else ()))
    return jobs


def _take(graph: Graph, compiled: Compiled, run: NetworkRun, result: RunResult) -> None:
    """Add a stream's results to its inference."""
    if not result.done:
        operator = graph.operator(compiled.issued[result.index].operator)
        raise HardwareError(
            f"{operator}: the accelerator stopped with error {result.error.name} at command "
            f"{result.index} (engine {result.engine})"
        )
    for tensor, offset in compiled.outputs.items():
        kind = graph.tensors[tensor]
        run.tensors[tensor] = result.tensor(offset, kind.shape, kind.dtype)
    run.cycles += result.cycles
    run.counters |= operator_counters(compiled, result)


def command_spans(compiled: Compiled, events: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return index, begin and end of each command that an engine has completed.

    They are int64, shape (n, 3), in the order in which they end; begin and end in cycles from the
    doorbell. A command begins when the engine begins to work, or where the one before has ended.
    ``events`` are those of `eightfold.sim.simulator.system.RunResult`.
    """
    left = _commands(compiled)
    begins = dict.fromkeys(left, 0)
    spans = []
    for engine, number, cycle in events[:, :3].tolist():
        if engine == WORK:
            begins[number] = max(begins[number], cycle - 1)
        elif engine >= 0:
            spans.append((next(left[engine]), begins[engine], cycle))
            begins[engine] = cycle
    return np.array(spans, dtype=np.int64).reshape(-1, 3)


def _commands(compiled: Compiled) -> dict[int, Iterator[int]]:
    """Return the indices of each engine's commands, which it completes in this order.

    Events have them modulo 2^16 only.
    """
    engines = [issued.engine for issued in compiled.issued]
    return {
        engine.value: iter([index for index, of in enumerate(engines) if of is engine])
        for engine in isa.Engine
    }


def operator_counters(compiled: Compiled, result: RunResult) -> dict[int, dict[str, int]]:
    """Return what the counters counted during each operator; see `shares`."""
    left = _commands(compiled)
    done = [
        (next(left[engine]), np.array(counters))
        for engine, _, *counters in result.events.tolist()
        if engine >= 0
    ]
    total = np.array([result.counters[name] for name in COUNTERS])
    found = shares(compiled.issued, compiled.operators, done, total)
    return {
        operator: dict(zip(COUNTERS, counted.tolist(), strict=True))
        for operator, counted in found.items()
    }


class ProgramRun(NamedTuple):
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
    """Run a file of `eightfold.compiler.tpu_mlir.network`.

    Raises `InputError` if the file or the inputs are bad, a tool is missing, or the network does
    not fit.

    ``inputs``: real values by name, as the source has them; None draws codes with ``seed``.
    ``backend``: ``golden``, ``verilator`` or ``icarus``.
    """
    sizes = AcceleratorConfig.load(config)
    program = Program.load(path)
    if inputs is None:
        rng = np.random.default_rng(seed)
        inputs = {
            value.name: value.real(
                from_int8(rng.integers(-128, 128, value.shape).astype(np.int8), value.code)
            )
            for value in program.values[: program.inputs]
        }
    codes = program.run(inputs)
    results = {program.values[index].name: index for index in program.outputs}
    outputs = {name: program.values[index].real(codes[index]) for name, index in results.items()}
    if backend == "golden":
        return ProgramRun(outputs, (f"{len(program.forms)} forms in golden",))
    if backend not in ("verilator", "icarus"):
        raise InputError(
            f"--backend {backend}: a network of TPU-MLIR runs in golden or a simulator"
        )
    checked_simulator(backend)
    network = program.network(sizes)
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
