"""Cycles of every operator in RTL simulation, each result compared with golden.

Two figures for each model:

* ``cycles``: its operands are in the scratchpad, as another operator has left them, and its result
  stays there; its tables are loaded. From the ``done`` of the last command before to the ``done``
  of the operator's last command, as the accelerator's trace has them.
* ``from_memory``: a network of this operator alone, from doorbell to done.

Memory delivers a beat per cycle and answers a read after 20 cycles, without pauses. The figures do
not depend on what else runs: after each run everything but the scratchpad's bytes is reset.
"""

from collections.abc import Iterable, Iterator, Sequence
from math import prod

import numpy as np
from numpy.typing import NDArray

from eightfold.cli.operator_list import Figure
from eightfold.common.errors import HardwareError
from eightfold.common.progress import OnProgress
from eightfold.compiler import Compiled, compile_network
from eightfold.isa import COUNTERS, Engine, Space
from eightfold.isa.issued import Interval, Issued
from eightfold.operators import run_graph
from eightfold.sim.simulator.system import Run, RunResult, run_system
from eightfold.target.config import PRESETS
from eightfold.target.memory import MemoryTiming
from lab.measure.models import SIZES, MeasuredCase
from lab.measure.series import SERIES

PRESET = "base"
"""The configuration that the figures are of."""

LATENCY = 20
"""Cycles after which memory answers a read."""

_CYCLES = 2 + [name for name, _ in COUNTERS].index("CYCLES")
"""Column of an event."""


def compiled(case: MeasuredCase) -> Compiled:
    (stream,) = compile_network(case.graph, PRESETS[PRESET]).streams
    return stream


def work(case: MeasuredCase, stream: Compiled) -> dict[int, Issued]:
    """Return the engines' commands of the subject by their index in the stream.

    Without loads of tables, and without copies of the model's outputs to the arena.
    """
    outputs = [
        Interval(Space.ARENA, offset, offset + prod(tensor.shape) * tensor.dtype.itemsize)
        for tensor, offset in ((case.graph.tensors[t], o) for t, o in stream.outputs.items())
    ]
    return {
        index: issued
        for index, issued in enumerate(stream.issued)
        if issued.operator == case.operator.index
        and issued.engine is not None
        and not issued.loads_table
        and not any(write.overlaps(place) for write in issued.writes for place in outputs)
    }


def engines(case: MeasuredCase, stream: Compiled) -> tuple[Engine, ...]:
    """Return the engines that work on the subject, in the order of `Engine`."""
    used = {issued.engine for issued in work(case, stream).values()}
    return tuple(engine for engine in Engine if engine in used)


def measure(
    operators: Iterable[str] = tuple(SERIES),
    count: int = len(SIZES),
    on_progress: OnProgress | None = None,
) -> dict[str, dict[str, list[Figure]]]:
    """Measure operators with Verilator at ``count`` sizes, the smallest first, in one simulation.

    Raises HardwareError if a result is not golden's.
    """
    named = [
        (name, series, size)
        for name in operators
        for series in SERIES[name]
        for size in series.sizes[:count]
    ]
    cases = [(series.case(size), series.case(size, inside=False)) for _, series, size in named]
    results = _simulate([case for pair in cases for case in pair], on_progress)
    figures: dict[str, dict[str, list[Figure]]] = {name: {} for name in operators}
    for (name, series, _), (inside, _) in zip(named, cases, strict=True):
        (stream, kept), (_, outside) = next(results), next(results)
        figure = Figure(
            inside.work.elements,
            inside.work.units,
            inside.macs,
            operator_cycles(inside, stream, kept.events),
            outside.cycles,
        )
        figures[name].setdefault(series.label, []).append(figure)
    return figures


def _simulate(
    cases: Sequence[MeasuredCase], on_progress: OnProgress | None
) -> Iterator[tuple[Compiled, RunResult]]:
    """Run the models one after the other; yield the stream and the result, which is golden's."""
    streams = [compiled(case) for case in cases]
    runs = []
    for case, stream in zip(cases, streams, strict=True):
        given = case.inputs()
        inputs = {offset: given[tensor] for tensor, offset in stream.inputs.items()}
        runs.append(Run(inputs=inputs, words=stream.words, model=stream.model))
    results = run_system(
        PRESETS[PRESET],
        "verilator",
        words=streams[0].words,
        model=streams[0].model,
        arena_bytes=max(stream.arena for stream in streams),
        runs=runs,
        timing=MemoryTiming(latency=LATENCY),
        on_progress=on_progress,
    )
    for case, stream, result in zip(cases, streams, results, strict=True):
        _check(case, stream, result)
        yield stream, result


def _check(case: MeasuredCase, stream: Compiled, result: RunResult) -> None:
    name, tensors = case.operator.name, case.graph.tensors
    if not result.done:
        raise HardwareError(f"{name}: stopped with error {result.error.name}")
    expected = run_graph(case.graph, case.inputs())
    for tensor, offset in stream.outputs.items():
        kind = tensors[tensor]
        computed = result.tensor(offset, kind.shape, kind.dtype)
        if count := np.count_nonzero(computed != expected[tensor]):
            raise HardwareError(f"{name}: {count} elements of {kind} are not golden's")


def operator_cycles(case: MeasuredCase, stream: Compiled, events: NDArray[np.int64]) -> int:
    """Return the cycles until the operator's last command, from when operands and tables are there.

    ``events``: as `RunResult` has them.
    """
    ends = {int(row[1]): int(row[_CYCLES]) for row in events if row[0] >= 0}
    own = work(case, stream)
    if not own:
        return 0
    before = [
        end
        for index, end in ends.items()
        if stream.issued[index].operator < case.operator.index or stream.issued[index].loads_table
    ]
    return max(ends[index] for index in own) - max(before)
