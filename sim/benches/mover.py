"""Benches of MOVE commands on the mover, with the scratchpad, against numpy.

Design and parameters are those of `eightfold.sim.benches.mover_harness`.
"""

from typing import Any

import cocotb
import numpy as np

from eightfold.isa import ErrorCode, Space
from eightfold.sim.bench.support import parameters, report, rng
from eightfold.sim.benches.mover_harness import MoverBench, area, areas, measure, single_run
from eightfold.sim.stimuli.copies import MOVES, Move, carry_out, random_move, runs


@cocotb.test()
@cocotb.parametrize(
    (("latency", "stall", "busy"), [(1, 0.0, 0.0), (20, 0.0, 0.0), (9, 0.3, 0.3), (4, 0.6, 0.9)])
)
async def commands_one_after_the_other(dut: Any, latency: int, stall: float, busy: float) -> None:
    """When a command is done, all that it wrote is there; the next one may read it."""
    bench = MoverBench(dut, latency, stall, busy)
    generator = rng(1)
    await bench.start(generator)
    for number in range(parameters()["moves"]):
        pair = MOVES[number % len(MOVES)]
        half = int(generator.integers(2))
        whole = (area(bench, pair[0], None), area(bench, pair[1], None))
        places = areas(bench, pair, half) if pair[0] == pair[1] else whole
        move = random_move(generator, pair, places)
        bench.expect(move)
        await bench.run(number + 1)
        target = pair[1]
        if target == Space.SCRATCHPAD:
            # At once, where the last run was written.
            last = list(runs(move))[-1][1]
            got = await bench.read_scratchpad(range(last, last + 1))
            content = bench.spaces[target]
            content[:] = bench.expected[target]
            content[(last + np.arange(bench.vector)) % len(content)] = got
        bench.check_space(target)
        assert bench.memory.idle
    await bench.check()


@cocotb.test()
@cocotb.parametrize(
    (("latency", "stall", "busy"), [(1, 0.0, 0.0), (20, 0.0, 0.3), (9, 0.3, 0.0), (30, 0.5, 0.8)])
)
async def commands_that_overlap(dut: Any, latency: int, stall: float, busy: float) -> None:
    """Commands that read one half of each space and write the other, as fast as they are taken."""
    bench = MoverBench(dut, latency, stall, busy)
    generator = rng(2)
    await bench.start(generator)
    for _ in range(2 * parameters()["moves"]):
        pair = MOVES[generator.integers(len(MOVES))]
        longest = int(generator.choice([8, 64, 300]))
        bench.expect(random_move(generator, pair, areas(bench, pair), longest))
    await bench.finish()


FAULTS = (
    *("memory_to_memory", "fill_to_tables", "from_tables", "from_nowhere", "to_model", "to_fill"),
    *("to_nowhere", "no_bytes", "source_ends", "source_begins", "target_ends", "target_begins"),
    *("target_far", "odd_source", "odd_target", "odd_run"),
)
"""What can be wrong with a command."""


def spoil(bench: MoverBench, generator: np.random.Generator, kind: str) -> Move:
    """Return a command with one fault, often in a late run."""
    pairs = [pair for pair in MOVES if pair[0] != Space.FILL or not kind.startswith("source")]
    pair = pairs[generator.integers(len(pairs))]
    if kind.startswith("odd"):
        pair = (Space.SCRATCHPAD if generator.random() < 0.5 else Space.MODEL, Space.TABLES)
    move = random_move(generator, pair, areas(bench, pair), 40)
    spaces = {
        "memory_to_memory": (generator.integers(2), 1),
        "fill_to_tables": (3, 4),
        "from_tables": (4, generator.integers(1, 5)),
        "from_nowhere": (generator.integers(5, 8), 2),
        "to_model": (2, 0),
        "to_fill": (2, 3),
        "to_nowhere": (2, generator.integers(5, 8)),
    }
    if kind in spaces:
        source, target = spaces[kind]
        # Words with spaces that do not exist; the fields of a command are numbers.
        return move | {"source_space": int(source), "target_space": int(target)}
    if kind == "no_bytes":
        return move | {"run": 0}
    if kind.startswith("odd"):
        name = kind.split("_")[1]
        return move | {name: move[name] + int(generator.integers(1, 4))}
    name, what = kind.split("_")
    space = pair[0] if name == "source" else pair[1]
    size = len(bench.spaces[space])
    run = move["run"]
    offsets = [one[name == "target"] for one in runs(move)]
    shift = {
        "ends": size - run - max(offsets) + int(generator.choice([1, 2, 4, 8])),
        "begins": -min(offsets) - int(generator.choice([1, 2, 4, 8])),
        "far": 1 << 31,
    }[what]
    if pair[1] == Space.TABLES:
        shift += -shift % 4 if what == "ends" else -(shift % 4)
    return move | {name: (move[name] + shift) % (1 << 32)}


@cocotb.test()
@cocotb.parametrize(kind=FAULTS, stall=(0.0, 0.4))
async def a_fault_stops_the_writing(dut: Any, kind: str, stall: float) -> None:
    """The runs before the fault are written, none behind; one pulse, after what is done is done."""
    bench = MoverBench(dut, 7, stall)
    generator = rng(100 + FAULTS.index(kind))
    await bench.start(generator)
    count = int(generator.integers(3))
    for _ in range(count):
        pair = MOVES[generator.integers(len(MOVES))]
        bench.expect(random_move(generator, pair, areas(bench, pair), 40))
    wrong = spoil(bench, generator, kind)
    assert carry_out(wrong, bench.expected) == ErrorCode.ADDRESS
    out = (Space.SCRATCHPAD, Space.ARENA)
    behind = random_move(generator, out, areas(bench, out))
    bench.send(wrong)
    bench.send(behind)
    await bench.fail(count, ErrorCode.ADDRESS)


def contiguous(source: Space, target: Space, run: int, /, **fields: int) -> Move:
    """Return a command of one loop; not aligned to anything unless ``fields`` say so."""
    return single_run(source, target, run, **({"source": 3, "target": 5} | fields))


IM2COL = {
    **{"count0": 12, "count1": 10, "count2": 3, "target": 2048},
    **{"source_stride0": 4, "source_stride1": 52, "source_stride2": 52},
    **{"target_stride0": 4, "target_stride1": 48, "target_stride2": 480},
}
"""Loops over rows that overlap, in runs of 4 bytes."""


def rate_cases(port: int, vector: int, size: int) -> dict[str, tuple[Move, int]]:
    """Return typical commands, and the least cycles that the slowest port needs."""
    model, arena, scratchpad = Space.MODEL, Space.ARENA, Space.SCRATCHPAD
    apart = {"count0": 128, "source": 4, "target": 4}
    gather = apart | {"source_stride0": 12, "target_stride0": 4}
    scatter = apart | {"source_stride0": 4, "target_stride0": 12}
    half = size // 2
    return {
        "memory_to_scratchpad": (contiguous(model, scratchpad, half), half // port),
        "scratchpad_to_memory": (contiguous(scratchpad, arena, half), half // port),
        "within_scratchpad": (
            contiguous(scratchpad, scratchpad, half // 2, target=half),
            half // 2 // vector,
        ),
        "fill": (contiguous(Space.FILL, scratchpad, half), half // vector),
        "im2col_4_bytes": (contiguous(scratchpad, scratchpad, 4, **IM2COL), 360),
        "gather_4_bytes": (contiguous(arena, scratchpad, 4, **gather), 128),
        "scatter_4_bytes": (contiguous(scratchpad, arena, 4, **scatter), 128),
        "tables": (contiguous(model, Space.TABLES, 1024, source=4, target=0), 256),
    }


@cocotb.test()
@cocotb.parametrize(case=list(rate_cases(4, 4, 4096)))
async def rate(dut: Any, case: str) -> None:
    """Cycles of a typical command, from its transfer to done, with 20 cycles of latency."""
    port, vector = parameters()["port"], parameters()["vector"]
    move, least = rate_cases(port, vector, parameters()["scratchpad"])[case]
    bench = await measure(dut, [move], rng(3))
    cycles = bench.done[0] - bench.taken[0]
    report({f"rate of {case}": cycles})
    assert cycles <= least + 45, (case, cycles, least)
    spent = bench.reads[-1] - bench.reads[0] + 1 if bench.reads else 0
    # It may pause before the last request comes out of its queue.
    assert spent <= len(bench.reads) + 3, "says in between that it does not read"
    assert bool(spent) == (Space(move["source_space"]) in (Space.MODEL, Space.ARENA))


@cocotb.test()
async def commands_follow_each_other(dut: Any) -> None:
    """Between the beats of two reads from memory pass few cycles."""
    size = 480
    moves = [
        contiguous(Space.MODEL, Space.SCRATCHPAD, size, source=k * size, target=k * size)
        for k in range(6)
    ]
    bench = await measure(dut, moves, rng(3))
    cycles = [cycle for cycle, _ in bench.memory.beats_read]
    idle = cycles[-1] - cycles[0] + 1 - len(cycles)
    report({"idle": idle / 5})
    assert idle <= 5 * 8
