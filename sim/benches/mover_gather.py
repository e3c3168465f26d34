"""Benches of GATHER commands on the mover, between MOVEs, with the scratchpad, against numpy.

Design and parameters are those of `eightfold.sim.benches.mover`.
"""

from typing import Any

import cocotb
import numpy as np
from numpy.typing import NDArray

from eightfold.isa import ErrorCode, Space
from eightfold.sim.bench.support import parameters
from eightfold.sim.benches.mover import MoverBench, measure, single_run
from eightfold.sim.stimuli.copies import GATHERS, Move, addresses, indices, put, random_gather

MODEL, ARENA, SCRATCHPAD = Space.MODEL, Space.ARENA, Space.SCRATCHPAD


class Gathers:
    """Draws the commands of a bench; their indices come into its scratchpad."""

    def __init__(self, bench: MoverBench) -> None:
        self.bench = bench
        self.taken = np.zeros(len(bench.spaces[SCRATCHPAD]), dtype=np.bool_)

    def draw(
        self,
        content: NDArray[np.uint8],
        pair: tuple[Space, Space] | None = None,
        half: int = 0,
        sizes: tuple[int, ...] = (0, 1, 2, 3),
    ) -> Move:
        """Return one that reads one half of each space, its indices too, and writes the other."""
        generator = self.bench.generator
        pair = pair or GATHERS[generator.integers(len(GATHERS))]
        areas = (*self.bench.areas(pair, half), self.bench.area(SCRATCHPAD, half))
        return random_gather(generator, pair, areas, content, self.taken, sizes)


@cocotb.test()
@cocotb.parametrize(
    (("latency", "stall", "busy"), [(1, 0.0, 0.0), (20, 0.0, 0.3), (9, 0.3, 0.0), (4, 0.6, 0.9)])
)
async def indices_are_read_when_the_command_runs(
    dut: Any, latency: int, stall: float, busy: float
) -> None:
    """A MOVE loads a command's indices, which it finds at once."""
    bench = MoverBench(dut, 10, latency, stall, busy)
    await bench.start()
    for number in range(parameters()["moves"]):
        gathers = Gathers(bench)
        content = bench.expected[SCRATCHPAD].copy()
        half = int(bench.generator.integers(2))
        gather = gathers.draw(content, GATHERS[number % len(GATHERS)], half)
        low, high = np.flatnonzero(gathers.taken)[[0, -1]].tolist()
        start = int(bench.generator.integers(len(bench.expected[MODEL]) - (high - low)))
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
    bench = MoverBench(dut, 11, latency, stall, busy)
    gathers = Gathers(bench)
    commands: list[Move] = []

    def prepare() -> None:
        for _ in range(parameters()["moves"]):
            commands.append(gathers.draw(bench.spaces[SCRATCHPAD]))
            if bench.generator.random() < 0.5:
                commands.append(bench.random_move(longest=40))

    await bench.start(prepare)
    for command in commands:
        bench.expect(command)
    await bench.finish()


@cocotb.test()
async def a_reset_of_a_cycle_forgets_all(dut: Any) -> None:
    """What was under way in any part leaves nothing to the command behind the reset."""
    bench = MoverBench(dut, 15)
    gather = contiguous(SCRATCHPAD, SCRATCHPAD, 4, 2, 60)
    behind = gather | {"indices": gather["indices"] + 4 * gather["count0"], "target": 3000}

    def prepare() -> None:
        for command in (gather, behind):
            for run in range(len(addresses(command))):
                n = int(bench.generator.integers(command["limit"]))
                put(command, run, n, bench.spaces[SCRATCHPAD])

    await bench.start(prepare)
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
    bench = MoverBench(dut, 200 + list(FAULTS).index(kind), 7, stall)
    gathers = Gathers(bench)
    commands: list[Move] = []

    def prepare() -> None:
        content = bench.spaces[SCRATCHPAD]
        count = int(bench.generator.integers(1, 4))
        sizes = SIZES.get(kind, (0, 1, 2, 3))
        commands.extend(gathers.draw(content, sizes=sizes) for _ in range(count))
        commands[-1] = spoil(bench.generator, commands[-1], kind, content)

    await bench.start(prepare)
    for command in commands[:-1]:
        bench.expect(command)
    await bench.fail(commands[-1], FAULTS[kind])


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

    def prepare(bench: MoverBench) -> None:
        for run in range(len(addresses(gather))):
            n = int(bench.generator.integers(gather["limit"]))
            put(gather, run, n, bench.spaces[SCRATCHPAD])

    bench = await measure(dut, [gather], prepare)
    cycles = bench.done[0] - bench.taken[0]
    assert cycles <= least + 55, (case, cycles, least)
