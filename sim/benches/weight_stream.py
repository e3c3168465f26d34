"""Benches of `eightfold.hw.matrix.weight_stream.WeightStream` against the buffers in memory.

Parameter: ``config``, the fields of the configuration.
"""

from typing import Any

import cocotb
import numpy as np

from eightfold.hw.matrix.weight_stream import WeightCommands
from eightfold.isa import WEIGHTS
from eightfold.sim.bench.memory_port import STALLS, Command, CommandBench
from eightfold.sim.bench.support import clock_cycles, rng
from eightfold.target.config import AcceleratorConfig

BASE = 1024
SIZE = 1 << 16
"""The model's place in memory, and its bytes."""


class WeightBench(CommandBench):
    """A weight stream with a model of random bytes in memory."""

    def __init__(self, dut: Any, idle: float, stall: float, latency: int = 8) -> None:
        super().__init__(dut, WEIGHTS, "weights", BASE, SIZE, idle, stall, latency)

    def bytes(self, command: Command) -> int:
        partial = command["partial"] * command["partial_lanes"]
        return (command["full"] * self.config.lanes + partial) * self.config.weight_word

    def bad(self, command: Command) -> bool:
        lanes = not 1 <= command["partial_lanes"] <= self.config.lanes
        unaligned = command["address"] % self.config.port != 0
        return super().bad(command) or unaligned or (lanes and command["partial"] > 0)

    def words(self, command: Command) -> list[int]:
        place = BASE + command["address"]
        words = []
        sizes = [self.config.lanes] * command["full"]
        for size in sizes + [command["partial_lanes"]] * command["partial"]:
            for lane in range(size):
                taps = int.from_bytes(self.contents[place : place + self.config.width], "little")
                words.append(taps | (lane == size - 1) << 8 * self.config.width)
                place += self.config.weight_word
        return words


def pick(generator: np.random.Generator, corners: list[int], most: int) -> int:
    """Return one of some corners, or a number from 0 to ``most``."""
    return int(generator.choice([*corners, int(generator.integers(0, most + 1))]))


def random_command(generator: np.random.Generator, config: AcceleratorConfig, most: int) -> Command:
    """Return a command with up to ``most`` buffers of each kind, whose region has room for it."""
    full, partial = (pick(generator, [0, 0, 1, 2], most) for _ in range(2))
    lanes = max(1, pick(generator, [1, config.lanes], config.lanes))
    size = (full * config.lanes + partial * lanes) * config.weight_word
    beats = (SIZE - size) // config.port
    address = config.port * pick(generator, [0, beats], beats)
    tokens = {"wait": 15, "signal": 15, "index": int(generator.integers(0, 1 << 16))}
    return {"address": address, "full": full, "partial": partial, "partial_lanes": lanes} | tokens


@cocotb.test()
@cocotb.parametrize(STALLS)
async def every_word_of_every_buffer(dut: Any, idle: float, stall: float, latency: int) -> None:
    """Random commands give their buffers in order, with `last` at the end of each."""
    bench = WeightBench(dut, idle, stall, latency)
    generator = rng(1)
    await bench.run([random_command(generator, bench.config, 5) for _ in range(30)])
    assert bench.faults == 0


@cocotb.test()
async def a_word_per_cycle_from_command_to_command(dut: Any) -> None:
    """Behind a latency of 24 cycles words flow as fast as the port brings them."""
    bench = WeightBench(dut, 0.0, 0.0, 24)
    lanes, word, port = bench.config.lanes, bench.config.weight_word, bench.config.port
    buffers = 64 // lanes + 1
    commands = [
        {"address": port * 7, "full": buffers, "partial": 0, "partial_lanes": 0},
        {"address": port * 16, "full": buffers, "partial": 16, "partial_lanes": 1},
        {"address": 0, "full": 0, "partial": buffers, "partial_lanes": lanes},
    ]
    await bench.run(commands)
    spent = bench.cycles[-1] - bench.cycles[0] + 1
    assert spent <= (len(bench.cycles) - 1) * max(1, word // port) + 1


@cocotb.test()
async def a_command_every_eleven_cycles(dut: Any) -> None:
    """Commands of one word each flow at the stated rate."""
    bench = WeightBench(dut, 0.0, 0.0)
    command = {"address": 0, "full": 0, "partial": 1, "partial_lanes": 1}
    await bench.run([command] * 20)
    assert bench.cycles[-1] - bench.cycles[-11] <= 10 * WeightCommands.CYCLES


@cocotb.test()
async def little_is_fetched_ahead_while_it_yields(dut: Any) -> None:
    """While the output waits less is requested than otherwise, and the rest later."""
    bench = WeightBench(dut, 0.0, 1.0)
    dut.yields.value = 1
    beats = bench.config.weight_buffer // bench.config.port
    size = bench.config.lanes * bench.config.weight_word
    buffers = -(-beats * bench.config.port // size)
    await bench.start([{"address": 0, "full": buffers, "partial": 0, "partial_lanes": 0}] * 2)
    await bench.expect_little_ahead()


@cocotb.test()
async def commands_are_fetched_while_the_output_waits(dut: Any) -> None:
    """The next commands' weights are requested before the first one's are consumed."""
    bench = WeightBench(dut, 0.0, 0.99)
    buffers = max(1, bench.config.port // bench.config.weight_word)
    size = buffers * bench.config.lanes * bench.config.weight_word
    many = min(4, bench.config.weight_buffer // size)
    await bench.start([{"address": 0, "full": buffers, "partial": 0, "partial_lanes": 0}] * many)
    await clock_cycles(dut, 100 + many * size // bench.config.port)
    assert len(bench.cycles) < buffers * bench.config.lanes
    assert bench.memory.beats == many * size // bench.config.port
    await bench.release()


@cocotb.test()
async def bad_commands_are_ignored_with_a_fault(dut: Any) -> None:
    """At, and one beyond every limit; the largest products; good commands in between."""
    bench = WeightBench(dut, 0.0, 0.2)
    generator = rng(2)
    config = bench.config
    port, lanes, word = config.port, config.lanes, config.weight_word
    limit = SIZE - -(-lanes * word // port) * port
    at = {"address": limit, "full": 1, "partial": 0, "partial_lanes": 0}
    largest = {"full": (1 << 32) - 1, "partial": (1 << 24) - 1, "partial_lanes": lanes}
    commands = [
        at,
        at | {"address": limit + port},
        at | {"address": limit - 1},
        at | {"address": SIZE},
        at | {"address": SIZE, "full": 0},
        at | {"address": SIZE + port, "full": 0},
        at | {"address": (1 << 32) - port},
        at | {"address": 0, "full": -(-(1 << 32) // (lanes * word))},
        at | {"address": 0, "full": 0, "partial": (1 << 24) - 1, "partial_lanes": lanes},
        {"address": 0} | largest,
        {"address": (1 << 32) - port} | largest,
        {"address": 0, "full": 0, "partial": 1, "partial_lanes": 0},
        {"address": 0, "full": 1, "partial": 1, "partial_lanes": lanes + 1},
        {"address": 0, "full": 1, "partial": 1, "partial_lanes": 255},
        {"address": 0, "full": 1, "partial": 0, "partial_lanes": 255},
    ]
    between = [random_command(generator, config, 3) for _ in commands]
    await bench.run([command for pair in zip(commands, between, strict=True) for command in pair])
    assert bench.faults
