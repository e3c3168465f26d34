"""When each command ran, from what the monitor saw; the counters of operators."""

import numpy as np
import pytest

from eightfold import Session, isa
from eightfold.isa import COUNTERS, WORK, Engine
from eightfold.run.simulate import command_spans
from eightfold.sim.simulator import memory_image
from eightfold.sim.simulator.toolchain import Simulator
from eightfold.target.config import PRESETS
from examples.digits.network import MODEL_FILE as DIGITS
from tests.support.networks.machine_run import compile_stream

NAMES = [name for name, _ in COUNTERS]


def event(engine: int, number: int, cycle: int) -> list[int]:
    return [engine, number, cycle, *[0] * (len(COUNTERS) - 1)]


def test_a_command_begins_with_the_work_or_where_the_one_before_ends() -> None:
    compiled = compile_stream(DIGITS, PRESETS["nano"])
    mover, vector = (
        [index for index, issued in enumerate(compiled.issued) if issued.engine is engine]
        for engine in (Engine.MOVER, Engine.VECTOR)
    )
    events = [
        event(memory_image.WORK, Engine.MOVER.value, 11),
        event(memory_image.SAMPLE, 0, 16),
        event(Engine.MOVER.value, mover[0] & 0xFFFF, 20),
        event(memory_image.WORK, Engine.VECTOR.value, 22),
        event(Engine.MOVER.value, mover[1] & 0xFFFF, 25),
        event(Engine.VECTOR.value, vector[0] & 0xFFFF, 30),
        event(memory_image.WORK, Engine.MOVER.value, 41),
        event(Engine.MOVER.value, mover[2] & 0xFFFF, 50),
        event(memory_image.END, 0, 60),
    ]
    assert command_spans(compiled, np.array(events)).tolist() == [
        [mover[0], 10, 20],
        [mover[1], 20, 25],
        [vector[0], 21, 30],
        [mover[2], 40, 50],
    ]


def test_work_is_of_counters_that_exist() -> None:
    assert set(WORK) == set(Engine)
    assert {name for names in WORK.values() for name in names} < set(NAMES)


@pytest.mark.slow
@pytest.mark.usual(names=["verilator"])
def test_commands_take_the_cycles_that_are_counted(simulator: Simulator) -> None:
    with Session(simulator, "nano") as session:
        result = session.run(DIGITS, record=True)
        assert session.run(DIGITS).record is None
    assert result.record is not None
    (recorded,) = result.record.streams
    issued = recorded.compiled.issued
    assert recorded.cycles == result.cycles
    assert (np.diff(recorded.counts, axis=0) >= 0).all()
    assert np.diff(recorded.counts[:, 0]).max() <= 64  # samples are dense enough
    ends = {}
    for index, begin, end in recorded.spans.tolist():
        assert ends.get(issued[index].engine, 0) <= begin < end <= recorded.cycles
        ends[issued[index].engine] = end
    done = sorted(index for index, _, _ in recorded.spans.tolist())
    assert done == [index for index, command in enumerate(issued) if command.engine is not None]
    for engine in Engine:
        spans = [s for s in recorded.spans.tolist() if issued[s[0]].engine is engine]
        counted = sum(int(recorded.counts[-1, NAMES.index(name)]) for name in isa.WORK[engine])
        worked = sum(end - begin for _, begin, end in spans)
        if engine is Engine.MATRIX:  # its last result is on its way in the cycle of its done
            assert 0 <= counted - worked <= len(spans)
        else:
            assert worked == counted
