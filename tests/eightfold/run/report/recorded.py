"""Runs with records, made without a simulator: commands take the cycles that are estimated."""

from functools import cache

import numpy as np

from eightfold import Session, isa
from eightfold.compiler import CompiledNetwork, compile_network
from eightfold.compiler.passes import Prepared
from eightfold.compiler.rewrite import rewrite
from eightfold.estimate.estimate import estimate, estimate_commands
from eightfold.isa.shares import Work
from eightfold.model import Graph
from eightfold.operators import load_model
from eightfold.run.report import RunResult
from eightfold.run.report.result import Record, StreamRecord, hardware_reports
from eightfold.run.simulate import command_spans
from eightfold.target.config import PRESETS
from examples.digits.network import MODEL_FILE as DIGITS

NAMES = [name for name, _ in isa.COUNTERS]


def golden(model: bytes | None = None, *, compare: bool = False) -> RunResult:
    """Return a run on golden with its record, of the digits or another model."""
    with Session(config="nano") as session:
        return session.run(model or DIGITS, record=True, compare=compare)


def simulated(model: bytes | None = None, streams: int = 1) -> RunResult:
    """Return a run as a simulation would leave it: once the whole model, or several times.

    Each operator's counters are its index, but for the port's: a read each second cycle.
    """
    result = golden(model)
    result.backend = "verilator"
    assert result.record is not None
    graph, network = _compiled(model)
    (segment,) = network.segments
    compiled = segment.compiled
    assert compiled is not None
    done, end = estimate_commands(compiled)
    rows = []
    for index, cycle in sorted(done.items(), key=lambda item: item[1]):
        engine = compiled.issued[index].engine
        assert engine is not None
        rows.append([engine.value, index, *_counts(cycle)])
    rows.append([-1, 0, *_counts(end)])
    events = np.array(rows, np.int64)
    record = StreamRecord(
        compiled=compiled, spans=command_spans(compiled, events), counts=events[:, 2:]
    )
    result.record = Record(
        streams=[record] * streams, tensors=result.record.tensors, names=result.record.names
    )
    found = estimate(network.streams)
    cycles = {index: streams * taken for index, taken in found.cycles.items()}
    work = {
        index: Work(streams * worked.engines, streams * worked.multipliers)
        for index, worked in found.work.items()
    }
    prepared = Prepared(rewrite(graph, without=["all"]), network)
    result.operators = hardware_reports(graph, prepared, PRESETS["nano"], cycles, work)
    for operator in result.operators:
        operator.counters = _named(operator.index, operator.cycles or 0)
    return result


@cache
def _compiled(model: bytes | None) -> tuple[Graph, CompiledNetwork]:
    graph = load_model(model or DIGITS)
    return graph, compile_network(graph, PRESETS["nano"])


def _counts(cycle: int) -> list[int]:
    """Return counters after a cycle: one cycle in four goes to each state of an engine."""
    return [cycle if name == "CYCLES" else cycle // 4 for name in NAMES]


def _named(index: int, cycles: int) -> dict[str, int]:
    beats = {"READ_BEATS": cycles // 2, "WRITE_BEATS": cycles // 4}
    return {name: beats.get(name, index) for name in NAMES if name != "CYCLES"}
