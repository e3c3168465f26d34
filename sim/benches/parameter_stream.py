"""Benches of `eightfold.hw.matrix.parameter_stream.ParameterStream` against the records in memory.

Parameter: ``config``, the fields of the configuration.
"""

from typing import Any

import cocotb
import numpy as np

from eightfold.isa import PARAMETERS, REQUANTIZE_LAYOUT
from eightfold.isa.instructions import BIAS, RECORD
from eightfold.sim.bench.memory_port import STALLS, Command, CommandBench
from eightfold.sim.bench.support import clock_cycles, rng

BASE = 4096 - 64
SIZE = (1 << 14) + BIAS
"""The model's place in memory, and its bytes."""

RECORD_BITS = REQUANTIZE_LAYOUT.size


class ParameterBench(CommandBench):
    """A parameter stream with a model of random bytes in memory."""

    def __init__(
        self, dut: Any, idle: float, stall: float, latency: int = 8, size: int = SIZE
    ) -> None:
        super().__init__(dut, PARAMETERS, "parameters", BASE, size, idle, stall, latency)
        self.alignment = max(RECORD, self.config.port)

    def bytes(self, command: Command) -> int:
        if command["shared"]:
            return RECORD + BIAS * command["channels"]
        return RECORD * command["channels"]

    def bad(self, command: Command) -> bool:
        unaligned = command["address"] % self.alignment != 0
        return super().bad(command) or unaligned or command["channels"] == 0

    def words(self, command: Command) -> list[int]:
        words = []
        count = command["channels"]
        lanes = self.config.lanes
        for channel in range(count):
            number = 0 if command["shared"] else channel
            record = self.number(command["address"] + RECORD * number, RECORD)
            if command["shared"]:
                bias = self.number(command["address"] + RECORD + BIAS * channel, BIAS)
                record = record >> 8 * BIAS << 8 * BIAS | bias
            last = channel == count - 1 or channel % lanes == lanes - 1
            words.append(record & ((1 << RECORD_BITS) - 1) | last << RECORD_BITS)
        return words

    def number(self, offset: int, length: int) -> int:
        """Return bytes of the model as a number."""
        return int.from_bytes(self.contents[BASE + offset : BASE + offset + length], "little")

    def random_command(self, generator: np.random.Generator, most: int) -> Command:
        """Return a command with up to ``most`` channels, whose region has room for it."""
        lanes = self.config.lanes
        channels = [1, 2, lanes, lanes + 1, 2 * lanes, int(generator.integers(1, most + 1))]
        command = {
            "channels": min(most, int(generator.choice(channels))),
            "shared": int(generator.integers(0, 2)),
        }
        places = (self.size - self.bytes(command)) // self.alignment
        place = int(generator.choice([0, places, int(generator.integers(0, places + 1))]))
        return command | {"address": place * self.alignment, "wait": 15, "index": 0xFFFF}


@cocotb.test()
@cocotb.parametrize(STALLS)
async def every_channel_of_every_bank(dut: Any, idle: float, stall: float, latency: int) -> None:
    """Random commands of both kinds give their channels in order, `last` at the end of a bank."""
    bench = ParameterBench(dut, idle, stall, latency)
    generator = rng(1)
    await bench.run([bench.random_command(generator, 40) for _ in range(25)])
    assert bench.faults == 0


@cocotb.test()
@cocotb.parametrize(shared=[0, 1])
async def channels_flow_at_the_stated_rate(dut: Any, shared: int) -> None:
    """Behind a latency of 24 cycles, from command to command."""
    bench = ParameterBench(dut, 0.0, 0.0, 24)
    count = 100
    parts = max(1, RECORD // bench.config.port)
    # From a multiple of BURST beats: a burst of one beat or two is over before the next one comes.
    command = {"address": 4096 - BASE, "channels": count, "shared": shared}
    await bench.run([command] * 3)
    spent = bench.cycles[-1] - bench.cycles[0] + 1
    if shared:
        assert spent == 3 * count + 2 * parts
    else:
        assert spent == (3 * count - 1) * parts + 1


@cocotb.test()
async def little_is_fetched_ahead_while_it_yields(dut: Any) -> None:
    """While the output waits less is requested than otherwise, and the rest later."""
    bench = ParameterBench(dut, 0.0, 1.0)
    dut.yields.value = 1
    await bench.start([{"address": 0, "channels": SIZE // RECORD, "shared": 0}])
    await bench.expect_little_ahead()


@cocotb.test()
async def commands_are_fetched_while_the_output_waits(dut: Any) -> None:
    """The next commands' records are requested before the first one's are consumed."""
    bench = ParameterBench(dut, 0.0, 0.99)
    commands = [{"address": 0, "channels": 8, "shared": shared} for shared in (0, 1)]
    await bench.start(commands)
    await clock_cycles(dut, 100)
    assert len(bench.cycles) < 8
    assert bench.memory.beats == sum(bench.beats(command) for command in commands)
    await bench.release()


@cocotb.test()
@cocotb.parametrize(tail=[0, BIAS - 1])
async def bad_commands_are_ignored_with_a_fault(dut: Any, tail: int) -> None:
    """At, and one beyond every limit; the largest counts; good commands in between."""
    bench = ParameterBench(dut, 0.0, 0.2, size=SIZE + tail)
    generator = rng(2)
    step = bench.alignment
    end = SIZE // step * step
    records = (SIZE - (end - 2 * step)) // RECORD
    at = {"address": end - 2 * step, "channels": records, "shared": 0}
    biases = {"address": end - step, "channels": (SIZE - end + step - RECORD) // BIAS, "shared": 1}
    commands = [
        at,
        at | {"channels": records + 1},
        at | {"address": end - step},
        at | {"address": end - 2 * step - RECORD // 2},
        at | {"address": end - 2 * step - RECORD},
        at | {"channels": 0},
        at | {"channels": (1 << 24) - 1},
        at | {"address": (1 << 32) - step},
        biases,
        biases | {"channels": biases["channels"] + 1},
        biases | {"channels": (1 << 24) - 1},
        biases | {"channels": 0},
    ]
    between = [bench.random_command(generator, 20) for _ in commands]
    await bench.run([command for pair in zip(commands, between, strict=True) for command in pair])
    assert bench.faults
