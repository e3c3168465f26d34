"""The sequencer's bench: the control with stubs around it, and what must hold for every run."""

from collections import Counter
from typing import Any

import cocotb
import numpy as np
from numpy.typing import NDArray

from eightfold import isa
from eightfold.hw.ports import TRACE_LAYOUT
from eightfold.sim.bench.axi_lite import AxiLite
from eightfold.sim.bench.registers import Registers
from eightfold.sim.bench.support import clock_cycles, parameters, start_clock_and_reset
from eightfold.sim.benches.sequencer_stubs import BASE, Stubs
from eightfold.sim.stimuli.commands import RandomCommand, join
from eightfold.target.config import AcceleratorConfig

LIMIT = 20_000
"""Cycles within which every run of these benches ends."""

NAMES = {isa.Opcode.WEIGHTS: "weights", isa.Opcode.PARAMETERS: "parameters"} | {
    opcode: engine.name.lower() for opcode, engine in isa.ENGINES.items()
}
"""Ports of the commands."""


class SequencerBench:
    """The control with stubs around it, and a record of its trace.

    Attributes
    ----------
    trace
        Cycle, engine and index of every command that the trace says is done, in this run.
    totals
        How often the trace says that each counter counts.
    """

    def __init__(self, dut: Any, pace: float = 20, stall: float = 0.3) -> None:
        self.dut = dut
        self.config = AcceleratorConfig(**parameters()["config"])
        self.count: int = parameters()["commands"]
        self.stubs = Stubs(dut, self.config.port, pace, stall)
        self.registers = Registers(dut, AxiLite(dut))
        self.trace: list[tuple[int, int]] = []
        self.totals: Counter[str] = Counter()

    async def start(self) -> None:
        """Start the clock and everything around."""
        cocotb.start_soon(self.stubs.run())
        cocotb.start_soon(self._watch())
        await start_clock_and_reset(self.dut)

    async def begin(
        self, words: NDArray[np.uint32], *, timeout: int = 0, length: int | None = None
    ) -> None:
        """Ring the doorbell for a stream."""
        self.stubs.clear()
        self.trace = []
        self.totals = Counter()
        self.stubs.words = words
        await self.registers.start(
            {
                "COMMAND_ADDRESS": BASE,
                "COMMAND_LENGTH": 4 * len(words) if length is None else length,
                "TIMEOUT": timeout,
            }
        )

    async def succeed(self, commands: list[RandomCommand], **options: int) -> None:
        """Run a stream to its end, and check all that happened."""
        await self.begin(join(commands), **options)
        await self.registers.interrupt(LIMIT)
        outcome = await self.registers.outcome()
        assert outcome.status == {"busy": 0, "done": 1, "error": 0, "interrupt": 1}
        assert not any(outcome.error.values())
        await self.registers.acknowledge()
        check_order(commands, self.stubs)
        for engine in isa.Engine:
            done = [index for _, index in self.stubs.log.done.get(engine.name.lower(), [])]
            assert [index for number, index in self.trace if number == engine.value] == done
        assert {name: self.totals[name] for name, _ in isa.COUNTERS} == outcome.counters

    async def fail(self, code: isa.ErrorCode, engine: int, index: int) -> None:
        """Wait for the end of a run that must fail, and check that only a soft reset helps."""
        await self.registers.interrupt(LIMIT)
        status = await self.registers.fields("STATUS")
        error = await self.registers.fields("ERROR")
        assert (status["done"], status["error"], status["interrupt"]) == (0, 1, 1)
        assert error == {"code": code.value, "engine": engine, "index": index}
        while (await self.registers.fields("STATUS"))["busy"]:
            pass
        assert self.dut.reset.value == 1 and self.dut.stop.value == 1
        await self.registers.write("CONTROL", 1)
        await clock_cycles(self.dut, 20)
        assert await self.registers.fields("ERROR") == error
        assert not (await self.registers.fields("STATUS"))["busy"], "runs in spite of the error"
        await self.registers.soft_reset()

    async def _watch(self) -> None:
        names = [name for name, _ in isa.COUNTERS]
        while True:
            await clock_cycles(self.dut, 1)
            if str(self.dut.rst.value) != "0":
                continue
            trace = TRACE_LAYOUT.from_bits(int(self.dut.monitor.value))
            count = int(trace["count"])
            if count & 1:
                self.totals.update(name for bit, name in enumerate(names) if count >> bit & 1)
                for engine in range(len(isa.Engine)):
                    if int(trace["done"]) >> engine & 1:
                        self.trace.append((engine, int(trace["index"][engine])))


def check_order(commands: list[RandomCommand], stubs: Stubs) -> None:
    """Check that every port saw its commands, in order, and no engine's before its tokens."""
    by_port: dict[str, list[tuple[int, RandomCommand]]] = {name: [] for name in NAMES.values()}
    for number, command in enumerate(commands):
        if command.opcode in NAMES:
            by_port[NAMES[command.opcode]].append((number, command))
    log = stubs.log
    for name, expected in by_port.items():
        payloads = [int.from_bytes(command.words.tobytes(), "little") for _, command in expected]
        seen = log.payloads.get(name, [])
        assert len(seen) <= len(payloads), name
        # Behind a command there may be words of one before it that was longer.
        masks = ((1 << 32 * len(command.words)) - 1 for _, command in expected)
        seen = [payload & mask for payload, mask in zip(seen, masks, strict=False)]
        complete = name in Stubs.ENGINES
        assert seen == payloads if complete else seen == payloads[: len(seen)], name
        if complete:
            assert [index for _, index in log.done.get(name, [])] == [n for n, _ in expected]
    given = {
        (giver, taker): [
            cycle
            for (cycle, _), (_, command) in zip(
                log.done.get(giver, []), by_port[giver], strict=True
            )
            if command.signal >> taker & 1
        ]
        for giver in Stubs.ENGINES
        for taker in range(len(Stubs.ENGINES))
    }
    taken: Counter[tuple[str, int]] = Counter()
    for taker, name in enumerate(Stubs.ENGINES):
        for (cycle, index), (_, command) in zip(
            log.started.get(name, []), by_port[name], strict=True
        ):
            for bit, giver in enumerate(Stubs.ENGINES):
                if command.wait >> bit & 1:
                    token = given[giver, taker][taken[giver, taker]]
                    taken[giver, taker] += 1
                    assert token < cycle, f"command {index} of {name} started before its token"
