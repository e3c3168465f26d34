"""Benches of registers and sequencer with engines that do nothing, but take their time.

Parameters: ``config``, fields of the configuration; ``commands``, length of the random streams.
"""

import random
from collections import Counter, defaultdict, deque
from typing import Any

import cocotb
import numpy as np
from numpy.typing import NDArray

from eightfold import isa
from eightfold.hw.control.control import READ_CLIENTS
from eightfold.hw.control.run_control import PARAMETERS, SEQUENCER, WEIGHTS
from eightfold.hw.ports import TRACE_LAYOUT
from eightfold.isa import ErrorCode
from eightfold.isa.decode import CommandError, read_stream
from eightfold.sim.bench import support
from eightfold.sim.bench.memory_port import burst_addresses
from eightfold.sim.bench.registers import AxiLite, Registers
from eightfold.sim.stimuli.commands import RandomCommand, join, random_stream, round_robin, spoil

BASE = 0x4000_0000
"""Address of the command stream."""


class Log:
    """What happened in a run by port, in order: cycle and index of commands, and their words."""

    def __init__(self) -> None:
        self.started: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
        self.done: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
        self.payloads: defaultdict[str, list[int]] = defaultdict(list)


class Stubs:
    """What is around the control: an engine is ready at random, and done after a random time.

    ``dut``: `eightfold.hw.control.control.Control`. ``port``: bytes of the memory port. ``pace``:
    how slow they are: the mean of a command's cycles. ``stall``: probability of not being ready.

    - ``words``: the command stream in memory; elsewhere memory has random words.
    - ``log``: of the current run.
    - ``fault``: number of a command at which its engine or fetcher faults instead of being done.
    - ``code``: what engines say that a fault was.
    - ``hang``: whether engines never finish.
    - ``cycle``: number of the clock cycle.
    - ``pulse``: bits that ``status`` has for one cycle.
    - ``flight``: index and remaining cycles of the commands taken and not done, by engine.
    - ``outstanding``: beats that memory has taken requests for.
    """

    ENGINES = ("mover", "matrix", "vector")
    FETCHERS = ("weights", "parameters")
    DEPTH = 6
    """Commands that an engine takes before the first one is done."""

    def __init__(self, dut: Any, port: int, pace: float = 20, stall: float = 0.3) -> None:
        self._dut, self._port, self.pace, self.stall = dut, port, pace, stall
        self._rng: random.Random = support.stall_rng("stubs")
        self.words: NDArray[np.uint32] = np.zeros(0, np.uint32)
        self.log = Log()
        self.fault: int | None = None
        self.code = ErrorCode.ADDRESS
        self.hang = False
        self.cycle = self.outstanding = self.pulse = 0
        self.flight: defaultdict[str, deque[list[int]]] = defaultdict(deque)
        self._ready: dict[str, bool] = {}
        self._beats: deque[int] = deque()
        self._request_ready = False
        for name in ("events", "moving", "status"):
            getattr(dut, name).value = 0
        dut.memory__valid.value = 0
        for name in (*self.ENGINES, *self.FETCHERS):
            self._fault_port(name).value = 0
        for name in self.ENGINES:
            getattr(dut, f"{name}__done").value = 0

    def step(self) -> None:
        """Play the parts for a cycle."""
        self.cycle += 1
        reset = str(self._dut.rst.value) != "0" or bool(self._dut.reset.value)
        assert not reset or not self.outstanding, "reset while memory has to answer"
        for name in (*self.ENGINES, *self.FETCHERS):
            self._serve(name, reset)
        self._memory(reset)

    def _fault_port(self, name: str) -> Any:
        return getattr(self._dut, f"{name}{'__' if name in self.ENGINES else '_'}fault")

    def _stream(self, name: str, part: str) -> Any:
        middle = "__command__" if name in self.ENGINES else "__"
        return getattr(self._dut, f"{name}{middle}{part}")

    def _serve(self, name: str, reset: bool) -> None:
        """Take a command, and finish the oldest one."""
        flight = self.flight[name]
        done = fault = 0
        if reset:
            flight.clear()
        else:
            if self._ready.get(name) and self._stream(name, "valid").value:
                payload = int(self._stream(name, "payload").value)
                index = payload >> 16 & 0xFFFF
                self.log.started[name].append((self.cycle, index))
                self.log.payloads[name].append(payload)
                flight.append([index, int(self._rng.expovariate(1 / self.pace))])
            if flight:
                done, fault = self._finish(name, flight)
        if name in self.ENGINES:
            getattr(self._dut, f"{name}__done").value = done
            getattr(self._dut, f"{name}__code").value = self.code.value
        self._fault_port(name).value = fault
        room = len(flight) < (self.DEPTH if name in self.ENGINES else 1)
        self._ready[name] = not reset and room and self._rng.random() >= self.stall
        self._stream(name, "ready").value = int(self._ready[name])

    def _finish(self, name: str, flight: deque[list[int]]) -> tuple[int, int]:
        """Return whether the oldest command is done, or faults, after this cycle."""
        flight[0][1] -= 1
        if flight[0][1] >= 0 or self.hang:
            return 0, 0
        index = flight[0][0]
        if index == self.fault:
            self.fault = None
            flight[0][1] = 1 << 30
            return 0, 1
        flight.popleft()
        self.log.done[name].append((self.cycle + 1, index))
        return 1, 0

    def _memory(self, reset: bool) -> None:
        """Answer the requests, a beat at a time, unless ``stop`` keeps new ones away."""
        dut = self._dut
        if self._request_ready and dut.memory__request__valid.value:
            request = int(dut.memory__request__payload.value)
            self._beats += burst_addresses(request, self._port)
        send = bool(self._beats) and self._rng.random() >= self.stall / 2
        dut.memory__valid.value = int(send)
        if send:
            dut.memory__data.value = self._beat(self._beats.popleft() - BASE)
        stop = bool(dut.stop.value)
        self._request_ready = not reset and not stop and self._rng.random() >= self.stall
        dut.memory__request__ready.value = int(self._request_ready)
        dut.status.value = int(not self._beats and not send) | self.pulse
        self.pulse = 0
        self.outstanding = len(self._beats) + send

    def _beat(self, offset: int) -> int:
        place = range(offset // 4, (offset + self._port) // 4)
        inside = place.start >= 0
        words = [int(word) for word in self.words[place.start : place.stop]] if inside else []
        words += [self._rng.getrandbits(32) for _ in range(len(place) - len(words))]
        return sum(word << 32 * i for i, word in enumerate(words))


LIMIT = 20_000
"""Cycles within which every run of these benches ends."""

NAMES = {isa.Opcode.WEIGHTS: "weights", isa.Opcode.PARAMETERS: "parameters"} | {
    opcode: engine.name.lower() for opcode, engine in isa.ENGINES.items()
}
"""Ports of the commands."""


class SequencerBench:
    """The control with stubs around it, and a record of its trace.

    ``trace``: cycle, engine and index of every command that the trace says is done, in this run.
    ``totals``: how often the trace says that each counter counts.
    """

    def __init__(self, dut: Any, stream: int, pace: float = 20, stall: float = 0.3) -> None:
        self.dut = dut
        self.config = support.configuration()
        self.rng = support.rng(stream)
        self.count: int = support.parameters()["commands"]
        self.stubs = Stubs(dut, self.config.port, pace, stall)
        self.registers = Registers(dut, AxiLite(dut))
        self.trace: list[tuple[int, int]] = []
        self.totals: Counter[str] = Counter()
        self._done: list[tuple[int, int]] = []  # in the cycle before, as what counts

    def random_stream(self, count: int) -> list[RandomCommand]:
        """Return a random stream of so many commands; see `eightfold.sim.stimuli.commands`."""
        return random_stream(self.config, self.rng, count)

    def watch(self) -> None:
        """Note what the trace says in a cycle."""
        if str(self.dut.rst.value) != "0":
            return
        trace = TRACE_LAYOUT.from_bits(int(self.dut.monitor.value))
        count, done = int(trace["count"]), int(trace["done"])
        if count & 1:
            counters = enumerate(isa.COUNTERS)
            self.totals.update(name for bit, (name, _) in counters if count >> bit & 1)
            self.trace += self._done
        ended = (engine for engine in range(len(isa.Engine)) if done >> engine & 1)
        self._done = [(engine, int(trace["index"][engine])) for engine in ended]

    async def begin(self, words: NDArray[np.uint32], *, timeout: int = 0) -> None:
        """Ring the doorbell for a stream."""
        self.stubs.log = Log()
        self.trace = []
        self.totals = Counter()
        self.stubs.words = words
        stream = {"COMMAND_ADDRESS": BASE, "COMMAND_LENGTH": 4 * len(words)}
        await self.registers.start(stream | {"TIMEOUT": timeout})

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
            done = [index for _, index in self.stubs.log.done[engine.name.lower()]]
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
        await support.clock_cycles(self.dut, 20)
        assert await self.registers.fields("ERROR") == error
        assert not (await self.registers.fields("STATUS"))["busy"], "runs in spite of the error"
        await self.registers.soft_reset()


async def running(dut: Any, stream: int, **speed: float) -> SequencerBench:
    """Return a bench with random numbers of its own, its clock and everything around running."""
    bench = SequencerBench(dut, stream, **speed)
    support.each_cycle(dut, bench.stubs.step)
    support.each_cycle(dut, bench.watch)
    await support.start_clock_and_reset(dut)
    return bench


def check_order(commands: list[RandomCommand], stubs: Stubs) -> None:
    """Check that every port saw its commands, in order, and no engine's before its tokens."""
    by_port: dict[str, list[tuple[int, RandomCommand]]] = {name: [] for name in NAMES.values()}
    for number, command in enumerate(commands):
        if command.opcode in NAMES:
            by_port[NAMES[command.opcode]].append((number, command))
    log = stubs.log
    for name, expected in by_port.items():
        payloads = [int.from_bytes(command.words.tobytes(), "little") for _, command in expected]
        seen = log.payloads[name]
        assert len(seen) <= len(payloads), name
        # Behind a command there may be words of one before it that was longer.
        masks = ((1 << 32 * len(command.words)) - 1 for _, command in expected)
        seen = [payload & mask for payload, mask in zip(seen, masks, strict=False)]
        complete = name in Stubs.ENGINES
        assert seen == payloads if complete else seen == payloads[: len(seen)], name
        if complete:
            assert [index for _, index in log.done[name]] == [n for n, _ in expected]
    given = {
        (giver, taker): [
            cycle
            for (cycle, _), (_, command) in zip(log.done[giver], by_port[giver], strict=True)
            if command.signal >> taker & 1
        ]
        for giver in Stubs.ENGINES
        for taker in range(len(Stubs.ENGINES))
    }
    taken: Counter[tuple[str, int]] = Counter()
    for taker, name in enumerate(Stubs.ENGINES):
        for (cycle, index), (_, command) in zip(log.started[name], by_port[name], strict=True):
            for bit, giver in enumerate(Stubs.ENGINES):
                if command.wait >> bit & 1:
                    token = given[giver, taker][taken[giver, taker]]
                    taken[giver, taker] += 1
                    assert token < cycle, f"command {index} of {name} started before its token"


@cocotb.test()
@cocotb.parametrize((("pace", "stall"), [(20, 0.3), (3, 0.0), (60, 0.7)]))
async def commands_start_in_order_and_with_their_tokens(
    dut: Any, pace: float, stall: float
) -> None:
    """Random streams, one after the other without a reset, with all tokens and words checked."""
    bench = await running(dut, 1, pace=pace, stall=stall)
    for _ in range(2):
        await bench.succeed(bench.random_stream(bench.count))


@cocotb.test()
async def the_stream_is_a_word_per_cycle(dut: Any) -> None:
    """Words for queues that are emptied at once pass without a pause."""
    bench = await running(dut, 2, pace=0.01, stall=0.0)
    commands = round_robin(bench.config, 100)
    await bench.succeed(commands)
    assert bench.totals["CYCLES"] <= len(join(commands)) + 60


@cocotb.test()
@cocotb.parametrize(
    kind=[
        *("opcode", "index", "unused", "second_begin", "begin"),
        *("no_begin", "cut", "cut_command", "empty"),
    ]
)
async def illegal_streams_stop_it(dut: Any, kind: str) -> None:
    """Each kind of illegal stream gives its error, and the next stream runs."""
    bench = await running(dut, 3, pace=5)
    for _ in range(4):
        commands = bench.random_stream(12)
        words = spoil(bench.config, commands, bench.rng, kind)
        try:
            read_stream(bench.config, words)
        except CommandError as error:
            code, index = error.code, error.index
        else:
            raise AssertionError(f"{kind} is legal")
        await bench.begin(words)
        await bench.fail(code, SEQUENCER, index)
        for starts in bench.stubs.log.started.values():
            assert all(started < index for _, started in starts), "started an illegal command"
    await bench.succeed(bench.random_stream(20))


@cocotb.test()
@cocotb.parametrize(name=["mover", "matrix", "vector", "weights", "parameters"])
async def faults_name_engine_and_command(dut: Any, name: str) -> None:
    """A fault is an error of the engine's or fetcher's oldest command, if no other an ADDRESS."""
    bench = await running(dut, 4, pace=5)
    numbers = {"weights": WEIGHTS, "parameters": PARAMETERS}
    for _ in range(2):
        commands = bench.random_stream(30)
        victims = [n for n, command in enumerate(commands) if NAMES.get(command.opcode) == name]
        bench.stubs.fault = int(bench.rng.choice(victims))
        if name in numbers:  # the engines wait, so that the run does not end before
            bench.stubs.hang = True
            bench.stubs.fault = victims[0]
        index = bench.stubs.fault
        bench.stubs.code = isa.ErrorCode(int(bench.rng.integers(1, len(isa.ErrorCode))))
        await bench.begin(join(commands))
        bench.stubs.hang = False
        if name in numbers:
            await bench.fail(isa.ErrorCode.ADDRESS, numbers[name], index)
        else:
            await bench.fail(bench.stubs.code, isa.Engine[name.upper()].value, index)
    await bench.succeed(bench.random_stream(20))


@cocotb.test()
@cocotb.parametrize(client=[*READ_CLIENTS, "write"])
async def bus_errors_name_who_asked(dut: Any, client: str) -> None:
    """An error response is charged to the command that its client is at."""
    bench = await running(dut, 5, pace=5)
    bench.stubs.hang = True
    await bench.begin(join(round_robin(bench.config, 20)))
    await support.clock_cycles(dut, 1500)
    started = bench.stubs.log.started
    engine, index = {
        "commands": (SEQUENCER, 21),
        "parameters": (PARAMETERS, started["parameters"][-1][1]),
        "weights": (WEIGHTS, started["weights"][-1][1]),
        "mover": (isa.Engine.MOVER.value, started["mover"][0][1]),
        "write": (isa.Engine.MOVER.value, started["mover"][0][1]),
    }[client]
    if client == "write":
        bench.stubs.pulse = 1 << 4
        code = isa.ErrorCode.AXI_WRITE
    else:
        bench.stubs.pulse = 1 << 1 | READ_CLIENTS.index(client) << 2
        code = isa.ErrorCode.AXI_READ
    await bench.fail(code, engine, index)
    bench.stubs.hang = False
    await bench.succeed(bench.random_stream(20))


@cocotb.test()
async def addresses_must_be_aligned(dut: Any) -> None:
    """A base address that no burst can start at is an ADDRESS error before any command."""
    bench = await running(dut, 6)
    for name in ("COMMAND_ADDRESS", "MODEL_BASE", "ARENA_BASE"):
        offset = int(bench.rng.integers(1, bench.config.port))
        bench.stubs.words = join(bench.random_stream(5))
        values = {"COMMAND_ADDRESS": BASE, "COMMAND_LENGTH": 4 * len(bench.stubs.words)}
        values[name] = values.get(name, 0) + offset
        await bench.registers.start(values)
        await bench.fail(isa.ErrorCode.ADDRESS, SEQUENCER, 0)
        await bench.registers.write(name, 0)
    await bench.succeed(bench.random_stream(20))


@cocotb.test()
async def a_run_without_progress_times_out(dut: Any) -> None:
    """A command that waits for ever is a TIMEOUT if that is set, and only then."""
    bench = await running(dut, 7, pace=5)
    stuck = round_robin(bench.config, 1)
    stuck[1].words = isa.WEIGHTS.encode(index=1)
    wait = 1 << isa.Engine.VECTOR.value
    stuck.insert(2, RandomCommand(isa.Opcode.MOVE, wait, 0, isa.MOVE.encode(index=2, wait=wait)))
    stuck[-1].words = isa.END.encode(index=3)
    await bench.begin(join(stuck), timeout=0)
    await support.clock_cycles(dut, 3000)
    status = await bench.registers.fields("STATUS")
    assert status == {"busy": 1, "done": 0, "error": 0, "interrupt": 0}
    assert await bench.registers.read("MOVER_WAIT") > 2500
    await bench.registers.soft_reset()
    await bench.begin(join(stuck), timeout=500)
    await bench.fail(isa.ErrorCode.TIMEOUT, SEQUENCER, 3)
    assert 500 <= bench.totals["CYCLES"] < 700
    await bench.begin(join(stuck), timeout=100)
    for _ in range(20):
        await support.clock_cycles(dut, 80)
        dut.moving.value = 1
        await support.clock_cycles(dut, 1)
        dut.moving.value = 0
    assert not (await bench.registers.fields("STATUS"))["error"], "timed out in spite of progress"
    await bench.fail(isa.ErrorCode.TIMEOUT, SEQUENCER, 3)
    await bench.succeed(bench.random_stream(20), timeout=2000)


@cocotb.test()
async def a_soft_reset_at_any_time_leaves_nothing_behind(dut: Any) -> None:
    """Reset in the middle of a run, wait for memory, and run another stream."""
    bench = await running(dut, 8, pace=10)
    for _ in range(12):
        await bench.begin(join(bench.random_stream(bench.count)))
        await support.clock_cycles(dut, int(bench.rng.integers(1, 400)))
        await bench.registers.soft_reset()
        assert not bench.stubs.outstanding
        await bench.succeed(bench.random_stream(10))


@cocotb.test()
async def a_doorbell_while_busy_is_ignored(dut: Any) -> None:
    """The run goes on as if it had not been rung."""
    bench = await running(dut, 9, pace=30)
    commands = bench.random_stream(bench.count)
    await bench.begin(join(commands))
    for _ in range(5):
        await bench.registers.write("CONTROL", 1)
    await bench.registers.interrupt(LIMIT)
    assert (await bench.registers.fields("STATUS"))["done"]
    check_order(commands, bench.stubs)


@cocotb.test()
async def the_interrupt_follows_its_enable(dut: Any) -> None:
    """A pending interrupt is a level while it is enabled, until it is cleared."""
    bench = await running(dut, 10, pace=1, stall=0.0)
    await bench.begin(join(bench.random_stream(3)))
    await bench.registers.write("INTERRUPT_ENABLE", 0)
    while not (await bench.registers.fields("STATUS"))["interrupt"]:
        assert not dut.interrupt.value
    assert not dut.interrupt.value
    await bench.registers.write("INTERRUPT_ENABLE", 1)
    assert dut.interrupt.value
    await bench.registers.write("INTERRUPT_CLEAR", 0)
    assert dut.interrupt.value
    await bench.registers.acknowledge()
