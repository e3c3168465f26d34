"""The estimate of cycles: what each command must cost, and whose constants it uses."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from eightfold import isa
from eightfold.cases.networks import network_rng, random_network
from eightfold.compiler import compile_network
from eightfold.compiler.emit.emitter import Emitter, Loop
from eightfold.estimate import moves, timing
from eightfold.estimate.cost import LATENCY, MATRIX_APART, MOVE_COMMAND, quick
from eightfold.estimate.estimate import estimate_network, estimate_stream
from eightfold.hw.array.mac_array import latency
from eightfold.isa import Engine, Space, shares
from eightfold.isa.issued import Interval, Stream
from eightfold.operators import load_model
from eightfold.target.config import PRESETS, AcceleratorConfig
from eightfold.target.memory import IDEAL, MemoryTiming
from examples.digits.network import MODEL_FILE as DIGITS

CONFIGS = {
    **PRESETS,
    "6x5": AcceleratorConfig(
        lanes=6, width=5, port=4, scratchpad=4096, psum_depth=32, line_depth=32, vector_lanes=2
    ),
    "9x4": AcceleratorConfig(
        lanes=9, width=4, port=32, scratchpad=8192, weight_buffer=1024, vector_lanes=1
    ),
}
"""Words narrower than the port, as wide, and wider."""


def ended(emitter: Emitter, memory: MemoryTiming = IDEAL) -> tuple[dict[int, int], int]:
    """End a stream; return when its commands are done, and when it ends."""
    emitter.end()
    return estimate_stream(emitter.config, emitter.issued, memory)


def end_of(emitter: Emitter) -> int:
    return ended(emitter)[1]


def begun(config: str) -> Emitter:
    emitter = Emitter(CONFIGS[config])
    emitter.begin()
    return emitter


def local(start: int, stop: int) -> Interval:
    return Interval(Space.SCRATCHPAD, start, stop)


def emit_dense(
    emitter: Emitter,
    *,
    vectors: int,
    groups: int = 1,
    passes: int = 1,
    lanes: int | None = None,
    reads: int = 0,
    writes: int = 1024,
) -> None:
    """Emit a dense layer of equal vectors; all groups have as many lanes as the last one."""
    config = emitter.config
    lanes = lanes or config.lanes
    rng = np.random.default_rng(0)
    shape = (lanes, config.width)
    emitter.weights(rng.integers(-128, 128, shape, dtype=np.int8) for _ in range(groups * passes))
    channels = {name: np.zeros(groups * lanes, dtype=int) for name in ("bias", "left", "right")}
    channels |= dict.fromkeys(("rounding", "zero_point", "low", "single"), channels["left"])
    channels |= {"multiplier": channels["left"] + (1 << 30), "high": channels["left"] + 127}
    emitter.parameters(channels)
    command = isa.Matrix(
        groups=groups, kc=passes, x=vectors, last_lanes=lanes,
        base=reads, columns=config.width, rows=1, target=writes,
    )  # fmt: skip
    emitter.matrix(command, local(reads, reads + 512), local(writes, writes + 512))


def dense_end(config: str, **layer: int) -> int:
    """Return when a stream of one dense layer ends, see `emit_dense`."""
    emitter = begun(config)
    emit_dense(emitter, **layer)
    return end_of(emitter)


def move_end(config: str, source: Space, target: Space, run: int, *loops: Loop) -> int:
    """Return when a stream of one MOVE ends."""
    emitter = begun(config)
    emitter.move((source, 0), (target, 0), run, loops)
    return end_of(emitter)


def emit_vector(emitter: Emitter, run: int, rows: int = 1, **fields: Any) -> None:
    usual: dict[str, Any] = {"run": run, "count0": rows, "source_a": 0, "target": 2048}
    command = isa.Vector(**usual | fields)
    emitter.vector(command, [local(0, 2048)], local(2048, 4096))


@pytest.mark.parametrize("config", CONFIGS)
def test_a_pass_takes_a_cycle_for_each_vector(config: str) -> None:
    layers = ((2, 200), (3, 200), (2, 207))
    ends = [dense_end(config, passes=passes, vectors=vectors) for passes, vectors in layers]
    assert ends[1] - ends[0] == 200
    assert ends[2] - ends[0] == 7 + 7 * CONFIGS[config].turns


@pytest.mark.parametrize("lanes", [8, 3])
def test_a_pass_of_one_vector_takes_a_cycle_for_each_word_of_the_next_buffer(lanes: int) -> None:
    ends = [dense_end("small", vectors=1, passes=passes, lanes=lanes) for passes in (100, 140)]
    # Sums of one position are at least REVISIT cycles apart.
    assert ends[1] - ends[0] == 40 * max(lanes, timing.REVISIT)


def test_weights_come_at_the_rate_of_the_port() -> None:
    """Words of 8 bytes through a port of 4, more than are fetched ahead."""
    ends = [dense_end("6x5", vectors=1, passes=passes) for passes in (200, 300)]
    assert ends[1] - ends[0] == pytest.approx(100 * 6 * 2, rel=0.01)


@pytest.mark.parametrize("config", PRESETS)
def test_a_layer_waits_for_the_last_result_of_the_one_it_reads(config: str) -> None:
    done = {}
    for source in (1024, 0):  # what the first layer writes, and something else
        emitter = begun(config)
        emit_dense(emitter, vectors=300)
        emit_dense(emitter, vectors=300, reads=source, writes=2048)
        ends = ended(emitter)[0]
        done[source] = ends[6] - ends[3]
    # What was read ahead hides the walk's pause.
    turns = CONFIGS[config].turns
    assert 300 * turns <= done[0] <= 300 * turns + timing.MATRIX_WALK
    # Reads, the array and the write, see `eightfold.hw.matrix.engine`; measured by its bench.
    fill = timing.MATRIX_LOCATE + timing.MATRIX_READ
    assert done[1024] == 299 * turns + 1 + fill + latency(CONFIGS[config])


@pytest.mark.parametrize("config", PRESETS)
def test_the_mover_takes_a_cycle_for_each_beat_and_each_short_run(config: str) -> None:
    port = CONFIGS[config].port
    ends = [
        move_end(config, Space.ARENA, Space.SCRATCHPAD, run, (runs, port, 3))
        for runs, run in ((1, 64 * port), (1, 192 * port), (64, 2), (192, 2))
    ]
    assert ends[1] - ends[0] == 128
    assert ends[3] - ends[2] == pytest.approx(128, rel=0.05)


@pytest.mark.parametrize("config", PRESETS)
def test_tables_take_a_cycle_for_each_entry(config: str) -> None:
    ends = [move_end(config, Space.MODEL, Space.TABLES, size) for size in (256, 1024)]
    assert ends[1] - ends[0] == 768 // timing.TABLE_ENTRY


def test_what_goes_to_memory_is_done_when_it_is_answered() -> None:
    targets = (Space.SCRATCHPAD, Space.ARENA)
    ends = [move_end("small", Space.SCRATCHPAD, target, 8) for target in targets]
    assert ends[1] - ends[0] > IDEAL.latency


@pytest.mark.parametrize(
    ("fields", "cycles"),
    [
        ({}, 1000 / 4),
        ({"combine": isa.Combine.ADD}, 1000 / 4),
        ({"combine": isa.Combine.ADD, "run": 8, "count0": 3, "count1": 7}, 21 * 2),
        ({"combine": isa.Combine.ADD, "run": 1, "count0": 3, "count1": 7}, 21 * 2),
        ({"run": 9, "count0": 3, "count1": 7}, 21 * 3),
        ({"reduce": isa.Reduce.SUM, "window0": 3, "window1": 2}, 6 * 1000 / 4),
    ],
)
def test_a_vector_command_takes_a_cycle_for_each_step_of_its_lanes(
    fields: dict[str, Any], cycles: float
) -> None:
    """Preset small: 4 lanes, chunks of 8 bytes, a read per cycle and operand."""
    ends = []
    for repeats in (1, 3):
        emitter = begun("small")
        run = fields.get("run", 1000)
        emit_vector(emitter, **{**fields, "run": run, "count2": repeats})
        ends.append(end_of(emitter))
    assert (ends[1] - ends[0]) / 2 == pytest.approx(cycles, abs=1)


def test_a_row_of_softmax_takes_three_passes_and_a_reciprocal() -> None:
    ends = []
    for rows in (1, 2):
        emitter = begun("small")
        emit_vector(emitter, 40, rows, row=isa.Row.RECIPROCAL, relative=1)
        ends.append(end_of(emitter))
    least = 3 * 10 + timing.ROW_FUNCTIONS[isa.Row.RECIPROCAL]
    assert least < ends[1] - ends[0] < least + 40


def test_the_mover_waits_for_results_at_the_scratchpad() -> None:
    """A layer whose results are as many as its vectors, beside FILL, which writes every cycle."""
    done = []
    for moved in (8, 8000):
        emitter = begun("small")
        emitter.move((Space.FILL, 0), (Space.SCRATCHPAD, 8192), moved)
        emit_dense(emitter, vectors=800)
        done.append(ended(emitter)[0])
    assert done[1][4] == done[0][4]
    assert done[1][1] - done[0][1] == 999 + 800


def test_weights_and_moves_share_the_port() -> None:
    emitter = begun("small")
    emitter.move((Space.ARENA, 0), (Space.SCRATCHPAD, 8192), 8 * 2000)
    emit_dense(emitter, vectors=1, passes=250)
    assert end_of(emitter) > 2000 + 250 * 8


def test_weights_are_fetched_ahead_as_far_as_their_buffer_allows() -> None:
    """While a FILL of its operands is under way, from a memory that takes 8 cycles for a beat."""
    fill, beats = 9000, 250 * 8
    emitter = begun("small")
    emitter.move((Space.FILL, 0), (Space.SCRATCHPAD, 0), 8 * fill)
    emit_dense(emitter, vectors=1, passes=250)
    end = ended(emitter, MemoryTiming.load("shared=1,bytes_per_cycle=1"))[1]
    ahead = CONFIGS["small"].weight_buffer // 8
    assert abs(end - (fill + 8 * (beats - ahead))) < 400


def test_weights_hold_back_while_the_mover_reads() -> None:
    emitter = begun("small")
    emit_dense(emitter, vectors=64, passes=250)
    emitter.move((Space.ARENA, 0), (Space.SCRATCHPAD, 8192), 8 * 100)
    moved = ended(emitter)[0][4]
    assert moved < 100 + 300  # the commands, 48 beats, and what is needed meanwhile


def test_commands_wait_behind_those_of_a_full_queue() -> None:
    emitter = begun("small")
    for _ in range(12):
        emitter.move((Space.FILL, 0), (Space.SCRATCHPAD, 8192), 8 * 500)
    emit_dense(emitter, vectors=10)
    done = ended(emitter)[0]
    # A queue of four commands, one that is put together, and three that the mover holds, at most.
    assert done[15] > done[12 - 4 - 1 - 3]


@pytest.mark.slow
@pytest.mark.parametrize("config", CONFIGS)
def test_every_operator_of_the_accelerator_has_cycles_that_add_up_to_the_end(config: str) -> None:
    network = compile_network(load_model(DIGITS), CONFIGS[config], fallback=True)
    cycles = estimate_network(network.streams)
    streams = network.streams
    assert sorted(cycles) == sorted(index for stream in streams for index in stream.operators)
    assert set(cycles) & set(network.reasons) == set()
    ends = [estimate_stream(stream.config, stream.issued)[1] for stream in streams]
    assert sum(cycles.values()) == sum(ends)
    assert min(cycles.values()) >= 0


def floor(stream: Stream) -> int:
    """Return cycles that a stream cannot go below: of the MAC array, or of the port."""
    config = stream.config
    beats = 0
    for command in stream.issued:
        if isinstance(weights := command.instruction, isa.Weights):
            beats += weights.words(config.lanes) * config.weight_word // config.port
    return max(sum(map(shares.vectors, stream.issued)), beats)


@pytest.mark.slow
@pytest.mark.parametrize("config", CONFIGS)
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.usual(count=8)
def test_no_network_is_faster_than_its_vectors_and_its_weights(seed: int, config: str) -> None:
    graph = load_model(random_network(network_rng(seed))[0])
    network = compile_network(graph, CONFIGS[config], fallback=True)
    for stream in network.streams:
        assert sum(estimate_network([stream]).values()) >= floor(stream)


def test_operators_without_commands_take_no_time() -> None:
    emitter = begun("small")
    emit_dense(emitter, vectors=100)
    total = end_of(emitter)
    issued = tuple(emitter.issued)
    # The last operator of a stream has the time from its last command to the end.
    stream = Stream(config=emitter.config, issued=issued, operators=(0, 1))
    assert estimate_network([stream]) == {0: total - timing.END, 1: timing.END}


@pytest.mark.slow
@pytest.mark.parametrize("most", [1, 1000])
def test_a_program_of_very_many_runs_is_sampled(monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    def end() -> int:
        emitter = begun("nano")
        for _ in range(8):
            emitter.move((Space.ARENA, 0), (Space.SCRATCHPAD, 0), 2, [(2000, 34, 2)])
        return end_of(emitter)

    every = end()
    monkeypatch.setattr(moves, "ALL", most)
    sampled = end()
    assert sampled != every  # some have been left out
    assert abs(sampled - every) < every / 25


NANO = PRESETS["nano"]

SIZE = 4096
"""Bytes of each command's result, which the next one reads."""


def emit_bytes(emitter: Emitter, source: int, target: int) -> None:
    command = isa.Vector(run=SIZE, source_a=source, target=target)
    emitter.vector(command, [local(source, source + SIZE)], local(target, target + SIZE))


def emit_move(emitter: Emitter, source: int, target: int) -> None:
    emitter.move((Space.SCRATCHPAD, source), (Space.SCRATCHPAD, target), SIZE)


def emit_matrix(emitter: Emitter, source: int, target: int) -> None:
    emit_dense(emitter, vectors=SIZE // NANO.lanes, reads=source, writes=target)


EMIT = {Engine.VECTOR: emit_bytes, Engine.MOVER: emit_move, Engine.MATRIX: emit_matrix}


def ends(commands: Sequence[Callable[[Emitter], None]]) -> tuple[list[int], int]:
    """Return when the engines' commands are done, and what the last one costs quickly."""
    emitter = begun("nano")
    for emit in commands:
        emit(emitter)
    done, _ = ended(emitter)
    return sorted(done.values()), quick(emitter.issued[-2].instruction, NANO).cycles


@pytest.mark.parametrize("engine", [Engine.MATRIX, Engine.VECTOR])
def test_a_command_that_waits_begins_a_latency_later(engine: Engine) -> None:
    emit = EMIT[engine]
    done, alone = ends([lambda e: emit(e, 0, SIZE), lambda e: emit(e, SIZE, 2 * SIZE)])
    assert abs(done[1] - done[0] - alone - LATENCY[engine]) <= 4


def test_what_waits_for_a_load_begins_a_latency_later() -> None:
    load = ((Space.ARENA, 0), (Space.SCRATCHPAD, 0), SIZE)
    done, alone = ends([lambda e: e.move(*load), lambda e: emit_bytes(e, 0, SIZE)])
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
