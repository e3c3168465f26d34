"""The constants of quick costs are about what the estimate has, for streams of few commands."""

from collections.abc import Callable, Sequence

import pytest

from eightfold import isa
from eightfold.compiler.emit.emitter import Emitter
from eightfold.estimate.cost import LATENCY, MATRIX_APART, MOVE_COMMAND, quick
from eightfold.estimate.estimate import estimate_commands
from eightfold.isa import Engine, Space
from eightfold.isa.issued import Interval, Stream
from eightfold.target.config import PRESETS
from tests.eightfold.estimate.test_estimate import emit_dense

NANO = PRESETS["nano"]

SIZE = 4096
"""Bytes of each command's result, which the next one reads."""


def local(start: int, stop: int) -> Interval:
    return Interval(Space.SCRATCHPAD, start, stop)


def emit_vector(emitter: Emitter, source: int, target: int) -> None:
    command = isa.Vector(run=SIZE, source_a=source, target=target)
    emitter.vector(command, [local(source, source + SIZE)], local(target, target + SIZE))


def emit_move(emitter: Emitter, source: int, target: int) -> None:
    emitter.move((Space.SCRATCHPAD, source), (Space.SCRATCHPAD, target), SIZE)


def emit_matrix(emitter: Emitter, source: int, target: int) -> None:
    emit_dense(emitter, vectors=SIZE // NANO.lanes, reads=source, writes=target)


EMIT = {Engine.VECTOR: emit_vector, Engine.MOVER: emit_move, Engine.MATRIX: emit_matrix}


def ends(commands: Sequence[Callable[[Emitter], None]]) -> tuple[list[int], int]:
    """Return when the engines' commands are done, and what the last one costs quickly."""
    emitter = Emitter(NANO)
    emitter.begin()
    for emit in commands:
        emit(emitter)
    emitter.end()
    stream = Stream(config=NANO, issued=tuple(emitter.issued), operators=(0,))
    done, _ = estimate_commands(stream)
    return sorted(done.values()), quick(emitter.issued[-2].instruction, NANO).cycles


@pytest.mark.parametrize("engine", [Engine.MATRIX, Engine.VECTOR])
def test_a_command_that_waits_begins_a_latency_later(engine: Engine) -> None:
    emit = EMIT[engine]
    done, alone = ends([lambda e: emit(e, 0, SIZE), lambda e: emit(e, SIZE, 2 * SIZE)])
    assert abs(done[1] - done[0] - alone - LATENCY[engine]) <= 4


def test_what_waits_for_a_load_begins_a_latency_later() -> None:
    load = ((Space.ARENA, 0), (Space.SCRATCHPAD, 0), SIZE)
    done, alone = ends([lambda e: e.move(*load), lambda e: emit_vector(e, 0, SIZE)])
    assert abs(done[1] - done[0] - alone - LATENCY[Engine.MOVER]) <= 6


@pytest.mark.parametrize("engine", [Engine.MATRIX, Engine.MOVER])
def test_long_commands_that_wait_for_nothing_follow_each_other(engine: Engine) -> None:
    """Their quick costs are what they take, but for the part that the ones before hide."""
    emit = EMIT[engine]
    done, alone = ends([lambda e: emit(e, 0, SIZE), lambda e: emit(e, 0, 2 * SIZE)])
    assert 0 <= alone - (done[1] - done[0]) <= max(MOVE_COMMAND, MATRIX_APART)


def test_a_short_move_takes_more_than_its_run() -> None:
    runs = [((Space.SCRATCHPAD, 0), (Space.SCRATCHPAD, 1024 + 64 * i), 8) for i in range(24)]
    done, alone = ends([lambda e, run=run: e.move(*run) for run in runs])
    apart = (done[-1] - done[3]) / 20
    assert MOVE_COMMAND < alone <= apart <= alone + MOVE_COMMAND
