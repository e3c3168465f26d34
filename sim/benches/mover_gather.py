"""Benches of GATHER commands on the mover, between MOVEs, with the scratchpad, against numpy.

Design and parameters are those of `eightfold.sim.benches.mover`.
"""

from typing import Any

import cocotb
import numpy as np
from numpy.typing import NDArray

from eightfold.isa import ErrorCode, Space
from eightfold.sim.bench.support import parameters, report, rng
from eightfold.sim.benches.mover import MoverBench, area, areas, measure, single_run
from eightfold.sim.stimuli.copies import (
    GATHERS,
    MOVES,
    Move,
    addresses,
    indices,
    put,
    random_gather,
    random_move,
)

MODEL, ARENA, SCRATCHPAD = Space.MODEL, Space.ARENA, Space.SCRATCHPAD


def with_indices(bench: MoverBench, pair: tuple[Space, Space], half: int) -> Any:
    """Return what a GATHER reads, in one half of each space, what it writes, and its indices."""
    return *areas(bench, pair, half), area(bench, SCRATCHPAD, half)


@cocotb.test()
@cocotb.parametrize(
    (("latency", "stall", "busy"), [(1, 0.0, 0.0), (20, 0.0, 0.3), (9, 0.3, 0.0), (4, 0.6, 0.9)])
)
async def indices_are_read_when_the_command_runs(
    dut: Any, latency: int, stall: float, busy: float
) -> None:
    """A MOVE loads a command's indices, which it finds at once."""
    bench = MoverBench(dut, latency, stall, busy)
    generator = rng(10)
    await bench.start(generator)
    for number in range(parameters()["moves"]):
        pair = GATHERS[number % len(GATHERS)]
        places = with_indices(bench, pair, int(generator.integers(2)))
        content = bench.expected[SCRATCHPAD].copy()
        taken = np.zeros(len(content), dtype=np.bool_)
        gather = random_gather(generator, pair, places, content, taken)
        low, high = np.flatnonzero(taken)[[0, -1]].tolist()
        start = int(generator.integers(len(bench.expected[MODEL]) - (high - low)))
        for spaces in (bench.expected, bench.spaces):
            spaces[MODEL][start : start + high - low + 1] = content[low : high + 1]
        load = single_run(MODEL, SCRATCHPAD, high - low + 1, source=start, target=low)
        for count, command in enumerate((load, gather), 2 * number + 1):
            bench.expect(command)
            await bench.run(count)
        assert bench.memory.idle
    await bench.check()


@cocotb.test()
@cocotb.parametrize(
    (("latency", "stall", "busy"), [(1, 0.0, 0.0), (20, 0.0, 0.3), (9, 0.3, 0.0), (30, 0.5, 0.8)])
)
async def commands_that_overlap(dut: Any, latency: int, stall: float, busy: float) -> None:
    """GATHER and MOVE, reading one half of each space, writing the other, as fast as taken."""
    bench = MoverBench(dut, latency, stall, busy)
    generator = rng(11)
    commands: list[Move] = []
    taken = np.zeros(len(bench.spaces[SCRATCHPAD]), dtype=np.bool_)

    def prepare() -> None:
        for _ in range(parameters()["moves"]):
            pair = GATHERS[generator.integers(len(GATHERS))]
            content = bench.spaces[SCRATCHPAD]
            places = with_indices(bench, pair, 0)
            commands.append(random_gather(generator, pair, places, content, taken))
            if generator.random() < 0.5:
                pair = MOVES[generator.integers(len(MOVES))]
                commands.append(random_move(generator, pair, areas(bench, pair), 40))

    await bench.start(generator, prepare)
    for command in commands:
        bench.expect(command)
    await bench.finish()


@cocotb.test()
async def a_reset_of_a_cycle_forgets_all(dut: Any) -> None:
    """What was under way in any part leaves nothing to the command behind the reset."""
    bench = MoverBench(dut)
    generator = rng(15)
    gather = contiguous(SCRATCHPAD, SCRATCHPAD, 4, 2, 60)
    behind = gather | {"indices": gather["indices"] + 4 * gather["count0"], "target": 3000}

    def prepare() -> None:
        for command in (gather, behind):
            for run in range(len(addresses(command))):
                n = int(generator.integers(command["limit"]))
                put(command, run, n, bench.spaces[SCRATCHPAD])

    await bench.start(generator, prepare)
    for cycles in range(8, 40, 3):
        bench.send(gather)
        for _ in range(cycles):
            await bench.step()
        await bench.reset()
        bench.expect(behind)
        await bench.run(1)
        await bench.check()


def spoil(
    generator: np.random.Generator, gather: Move, kind: str, scratchpad: NDArray[np.uint8]
) -> Move:
    """Return a command with one fault, often in a late run; its indices may change."""
    spaces = {
        "memory_to_memory": (Space.MODEL, Space.ARENA),
        "from_fill": (Space.FILL, Space.SCRATCHPAD),
        "from_tables": (Space.TABLES, Space.SCRATCHPAD),
        "to_tables": (Space.SCRATCHPAD, Space.TABLES),  # at multiples of 4, as MOVE may
        "to_model": (Space.SCRATCHPAD, Space.MODEL),
    }
    if kind in spaces:
        source, target = spaces[kind]
        aligned = {f"{name}_stride{k}": 4 * k for name in ("source", "target") for k in range(3)}
        aligned |= {"run": 4, "source": 40, "target": 80, "step": 0}
        return gather | aligned | {"source_space": source.value, "target_space": target.value}
    size = 1 << gather["index_size"]
    run = int(generator.integers(len(addresses(gather))))
    match kind:
        case "no_bytes":
            return gather | {"run": 0}
        case "index_begins" | "index_ends":
            # The second run's.
            edge = -1 if kind == "index_begins" else len(scratchpad) - size + 1
            wide = {"count0": 2, "index_stride0": edge - gather["indices"]}
            return gather | wide | {"count1": 1, "count2": 1}
        case "int16_ends" | "int32_ends" | "int64_ends":
            # The second run's has its first byte inside.
            wide = {"count0": 2, "index_stride0": len(scratchpad) - 1 - gather["indices"]}
            return gather | wide | {"count1": 1, "count2": 1}
        case "source_far":
            put(gather, run, 1, scratchpad)
            return gather | {"limit": (1 << 32) - 1, "step": 1 << 31}
        case "target_far" | "n_and_target":
            gather = gather | {"target": gather["target"] ^ 1 << 31}
    match kind:
        case "n_limit":
            return gather | {"limit": max(indices(gather, scratchpad))}
        case "n_and_target":
            return gather | {"limit": 0}
        case "n_negative":
            put(gather, run, -1, scratchpad)
        case "n_lowest":
            put(gather, run, -1 << 8 * size - 1, scratchpad)
        case "n_high":
            high = 1 << int(generator.integers(32, 64))
            put(gather, run, indices(gather, scratchpad)[run] + high, scratchpad)
    return gather


FAULTS = {
    **dict.fromkeys(("memory_to_memory", "from_fill", "from_tables"), ErrorCode.ADDRESS),
    **dict.fromkeys(("to_tables", "to_model", "no_bytes"), ErrorCode.ADDRESS),
    **dict.fromkeys(("index_begins", "index_ends", "source_far", "target_far"), ErrorCode.ADDRESS),
    **dict.fromkeys(
        ("n_limit", "n_negative", "n_lowest", "n_high", "n_and_target"), ErrorCode.INDEX
    ),
    **dict.fromkeys(("int16_ends", "int32_ends", "int64_ends"), ErrorCode.ADDRESS),
}
"""What can be wrong with a command, see `spoil`, and the error."""

SIZES = {"n_high": (3,), "int16_ends": (1,), "int32_ends": (2,), "int64_ends": (3,)}
"""The sizes of the indices of a fault that needs some."""


@cocotb.test()
@cocotb.parametrize(kind=list(FAULTS), stall=(0.0, 0.4))
async def a_fault_stops_the_writing(dut: Any, kind: str, stall: float) -> None:
    """The runs before the fault are written, none behind; one pulse that says what it was."""
    bench = MoverBench(dut, 7, stall)
    generator = rng(200 + list(FAULTS).index(kind))
    content = bench.spaces[SCRATCHPAD]
    taken = np.zeros(len(content), dtype=np.bool_)
    commands: list[Move] = []

    def prepare() -> None:
        sizes = SIZES.get(kind, (0, 1, 2, 3))
        for _ in range(int(generator.integers(1, 4))):
            pair = GATHERS[generator.integers(len(GATHERS))]
            places = with_indices(bench, pair, 0)
            commands.append(random_gather(generator, pair, places, content, taken, sizes))
        commands[-1] = spoil(generator, commands[-1], kind, content)

    await bench.start(generator, prepare)
    for command in commands[:-1]:
        bench.expect(command)
    await bench.fail(generator, commands[-1], FAULTS[kind])


def contiguous(source: Space, target: Space, run: int, size: int, count: int) -> Move:
    """Return a GATHER whose indices and results follow each other."""
    return {
        **{"source_space": source.value, "target_space": target.value, "index_size": size},
        **{"source": 4, "target": 2048, "run": run, "step": run, "limit": 6, "indices": 5},
        **{"count0": count, "count1": 1, "count2": 1},
        **{f"{name}_stride{k}": 0 for name in ("source", "target", "index") for k in range(3)},
        **{"index_stride0": 1 << size, "target_stride0": run},
    }


def rate_cases(port: int, vector: int) -> dict[str, tuple[Move, int]]:
    """Return typical commands, and the least cycles that they need."""

    def case(
        source: Space, target: Space, run: int, size: int, count: int, units: int
    ) -> tuple[Move, int]:
        """Return one whose runs have ``units`` each, besides the reads of its indices' windows."""
        reads = max(1, 8 // vector)
        windows = -(-(count << size) // (reads * vector))
        least = count + windows * (reads - 1)
        if source == SCRATCHPAD:
            least = max(least, count * units + windows * reads)
        return contiguous(source, target, run, size, count), max(least, count * units)

    return {
        "rows_of_64": case(MODEL, SCRATCHPAD, 64, 2, 20, 64 // port + 1),
        "from_memory_4_bytes": case(ARENA, SCRATCHPAD, 4, 2, 200, 1),
        "to_memory_4_bytes": case(SCRATCHPAD, ARENA, 4, 3, 200, 1),
        "local_1_byte_int16": case(SCRATCHPAD, SCRATCHPAD, 1, 1, 500, 1),
        "local_4_bytes": case(SCRATCHPAD, SCRATCHPAD, 4, 2, 200, 1),
        "local_2_bytes_int64": case(SCRATCHPAD, SCRATCHPAD, 2, 3, 100, 1),
        "local_256_bytes": case(SCRATCHPAD, SCRATCHPAD, 256, 2, 8, 256 // vector),
    }


@cocotb.test()
@cocotb.parametrize(case=list(rate_cases(4, 4)))
async def rate(dut: Any, case: str) -> None:
    """Cycles of a typical command."""
    port, vector = parameters()["port"], parameters()["vector"]
    gather, least = rate_cases(port, vector)[case]
    generator = rng(12)

    def prepare(bench: MoverBench) -> None:
        for run in range(len(addresses(gather))):
            put(gather, run, int(generator.integers(gather["limit"])), bench.spaces[SCRATCHPAD])

    bench = await measure(dut, [gather], generator, prepare)
    cycles = bench.done[0] - bench.taken[0]
    report({f"rate of {case}": (cycles, least)})
    assert cycles <= least + 55, (case, cycles, least)
