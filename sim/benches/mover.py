"""Benches of MOVE commands on the mover, with everything around it, against numpy.

The design is a mover on the ports behind the first of a scratchpad, whose first ones, ``reader``
and ``writer``, are the bench's. Parameters: ``port``, ``vector``, ``scratchpad`` and ``tables``,
its sizes; ``moves``, the length of the random runs.
"""

from collections import deque
from collections.abc import Callable
from typing import Any

import cocotb
import numpy as np
from cocotb.triggers import RisingEdge
from numpy.typing import NDArray

from eightfold.hw.memory.scratchpad import Scratchpad
from eightfold.isa import GATHER, MOVE, ErrorCode, Space
from eightfold.sim.bench.memory_port import burst_addresses
from eightfold.sim.bench.scoreboard import assert_equal_bytes
from eightfold.sim.bench.support import parameters, report, rng, stall_rng, start_clock_and_reset
from eightfold.sim.machine.accesses import copied_to
from eightfold.sim.stimuli.copies import MOVES, Move, carry_out, random_move, runs


class MemoryStub:
    """Regions behind the ports ``read`` and ``write`` of a design, played once per cycle.

    ``regions``: contents by address, uint8; the last one may be written, when the answer is given.
    ``latency``: cycles from a request, or a burst's last beat, to the first answer. ``stall``:
    probability of a pause, at each place that can have one.
    """

    def __init__(
        self, dut: Any, regions: dict[int, NDArray[np.uint8]], latency: int, stall: float
    ) -> None:
        self.dut, self.regions, self.latency, self.stall = dut, regions, latency, stall
        self.port: int = parameters()["port"]
        self.cycle = 0
        self.beats_read: list[tuple[int, int]] = []
        """Cycle and address of each beat that was read."""
        self._rng = stall_rng("memory")
        self._reads: deque[tuple[int, int]] = deque()
        self._writes: deque[list[int]] = deque()
        self._words: deque[int] = deque()
        self._open: list[tuple[int, int, int]] = []
        self._answers: deque[tuple[int, list[tuple[int, int, int]]]] = deque()
        self._ready = {"read__request": False, "write__request": False, "write__beats": False}
        for name in self._ready:
            getattr(dut, f"{name}__ready").value = 0
        dut.read__valid.value = dut.write__answered.value = 0

    def before_edge(self) -> None:
        """Drive this cycle's inputs."""
        for name in self._ready:
            self._ready[name] = self._goes()
            getattr(self.dut, f"{name}__ready").value = int(self._ready[name])
        beat = bool(self._reads) and self._reads[0][0] <= self.cycle and self._goes()
        self.dut.read__valid.value = int(beat)
        if beat:
            address = self._reads.popleft()[1]
            self.dut.read__data.value = self._beat(address)
            self.beats_read.append((self.cycle, address))
        answer = bool(self._answers) and self._answers[0][0] <= self.cycle and self._goes()
        self.dut.write__answered.value = int(answer)
        if answer:
            for address, word, strobe in self._answers.popleft()[1]:
                self._store(address, word, strobe)

    def after_edge(self) -> None:
        """Take what was transferred in the cycle that has ended."""
        for request in self._transfer("read__request"):
            addresses = burst_addresses(request, self.port)
            self._reads.extend((self.cycle + self.latency, one) for one in addresses)
        for request in self._transfer("write__request"):
            self._writes.append(burst_addresses(request, self.port))
        self._words.extend(self._transfer("write__beats"))
        while self._words and self._writes:
            self._write_beat(self._words.popleft())
        self.cycle += 1

    @property
    def idle(self) -> bool:
        """Whether nothing is asked for that has not been answered."""
        return not (self._reads or self._writes or self._words or self._answers)

    def _goes(self) -> bool:
        return not self.stall or self._rng.random() >= self.stall

    def _transfer(self, name: str) -> list[int]:
        """Return the word that a stream has transferred, if it has."""
        transferred = self._ready[name] and int(getattr(self.dut, f"{name}__valid").value)
        return [int(getattr(self.dut, f"{name}__payload").value)] if transferred else []

    def _write_beat(self, payload: int) -> None:
        address = self._writes[0].pop(0)
        word = payload & ((1 << 8 * self.port) - 1)
        strobe = payload >> 8 * self.port
        assert strobe, f"nothing is written at {address:#x}"
        self._open.append((address, word, strobe))
        if not self._writes[0]:
            self._writes.popleft()
            self._answers.append((self.cycle + self.latency, self._open))
            self._open = []

    def _beat(self, address: int) -> int:
        for base, region in self.regions.items():
            if base <= address < base + len(region):
                part = region[address - base : address - base + self.port].tobytes()
                return int.from_bytes(part.ljust(self.port, b"\xa5"), "little")
        raise AssertionError(f"read at {address:#x}, outside the regions")

    def _store(self, address: int, word: int, strobe: int) -> None:
        base, region = list(self.regions.items())[-1]
        for at, byte in enumerate(word.to_bytes(self.port, "little"), address - base):
            if strobe >> (at + base - address) & 1:
                assert 0 <= at < len(region), f"write at {at + base:#x}, outside"
                region[at] = byte


BASES = {Space.MODEL: 0x0001_2340, Space.ARENA: 0xFFFF_E000}
SIZES = {Space.MODEL: 4801, Space.ARENA: 6003}

PAYLOAD = 32 * max(MOVE.words, GATHER.words)
"""Bits of the port for commands."""


class MoverBench:
    """Sends commands, plays everything around the mover, and keeps what it wrote.

    ``spaces``: what the spaces hold now; of the scratchpad, what it held when last written or read
    back. ``expected``: what they should hold. ``done``, ``fault``, ``reads``: cycles in which they
    were 1. ``code``: what it was, of the last fault. ``sent``: commands queued so far.
    """

    def __init__(
        self, dut: Any, stream: int, latency: int = 5, stall: float = 0.0, busy: float = 0.0
    ) -> None:
        self.dut, self.stall, self.busy = dut, stall, busy
        sizes = parameters()
        self.port, self.vector = sizes["port"], sizes["vector"]
        self.spaces = {
            space: np.zeros(size, dtype=np.uint8)
            for space, size in (
                *SIZES.items(),
                (Space.SCRATCHPAD, sizes["scratchpad"]),
                (Space.TABLES, 1024 * sizes["tables"]),
            )
        }
        regions = {base: self.spaces[space] for space, base in BASES.items()}
        self.memory = MemoryStub(dut, regions, latency, stall)
        self.expected = copies(self.spaces)
        self.done: list[int] = []
        self.fault: list[int] = []
        self.code = ErrorCode.NONE
        self.taken: list[int] = []
        self.sent: list[Move] = []
        self.reads: list[int] = []
        self.still = self._asks = 0
        self.generator = rng(stream)
        self._rng, self._leftovers = stall_rng("bench"), stall_rng("leftovers")
        self._commands: deque[int] = deque()
        self._edge = RisingEdge(dut.clk)

    @property
    def cycle(self) -> int:
        """Cycles so far."""
        return self.memory.cycle

    async def start(self, prepare: Callable[[], None] = lambda: None) -> None:
        """Reset, and put random bytes everywhere, and what ``prepare`` makes of them."""
        for name in ("engine__command__valid", "tables__ready", "writer__valid"):
            getattr(self.dut, name).value = 0
        self.dut.reader__request__valid.value = 0
        for name, space in (("model", Space.MODEL), ("arena", Space.ARENA)):
            getattr(self.dut, name).value = BASES[space] | SIZES[space] << 32
        await start_clock_and_reset(self.dut)
        for content in self.spaces.values():
            content[:] = self.generator.integers(0, 256, len(content), dtype=np.uint8)
        prepare()
        self.expected = copies(self.spaces)
        content = self.spaces[Space.SCRATCHPAD]
        bits = (len(content) - 1).bit_length()
        self.dut.writer__valid.value = 1
        for address in range(0, len(content), self.vector):
            word = int.from_bytes(content[address : address + self.vector].tobytes(), "little")
            mask = (1 << self.vector) - 1
            self.dut.writer__payload.value = address | (mask | word << self.vector) << bits
            await self._edge
        self.dut.writer__valid.value = 0

    async def read_scratchpad(self, addresses: range) -> NDArray[np.uint8]:
        """Return the vectors at some addresses, one after the other."""
        vectors: list[bytes] = []
        latency = Scratchpad.READ_LATENCY  # answers to accesses before these come earlier
        for step in range(len(addresses) + latency):
            self.dut.reader__request__valid.value = int(step < len(addresses))
            if step < len(addresses):
                self.dut.reader__request__payload.value = addresses[step]
            await self._edge
            if step >= latency:
                vectors.append(int(self.dut.reader__data.value).to_bytes(self.vector, "little"))
        return np.frombuffer(b"".join(vectors), dtype=np.uint8)

    async def _read_back(self) -> None:
        content = self.spaces[Space.SCRATCHPAD]
        content[:] = await self.read_scratchpad(range(0, len(content), self.vector))

    async def check(self) -> None:
        """Compare every space."""
        await self._read_back()
        for space in self.expected:
            self.check_space(space)

    def check_space(self, space: Space) -> None:
        """Compare what a space holds here; says which command writes the first wrong byte."""

        def explain(offset: int) -> list[str]:
            for number, move in reversed(list(enumerate(self.sent))):
                if found := copied_to(move, space, offset, self.expected[Space.SCRATCHPAD]):
                    run, start = found
                    name = Space(move["source_space"]).name
                    what = f"fill {move['fill']}" if name == "FILL" else f"byte {start}"
                    command = f"command {number} of {len(self.sent)}"
                    return [command, f"run {run} of {move}", f"copies {name}'s {what}"]
            return ["no command writes it"]

        assert_equal_bytes(f"{space.name}: byte", self.spaces[space], self.expected[space], explain)

    def expect(self, command: Move) -> None:
        """Queue a command that is right, and do it in ``expected``."""
        assert carry_out(command, self.expected) == ErrorCode.NONE
        self.send(command)

    def send(self, move: Move) -> None:
        """Queue a command; behind a short one is what the port had before."""
        self.sent.append(move)
        command = GATHER if "limit" in move else MOVE
        size = 32 * command.words
        bits = self._leftovers.getrandbits(PAYLOAD) >> size << size
        self._commands.append(bits | command.packed(move))

    async def step(self) -> None:
        """Play one cycle."""
        dut = self.dut
        send = bool(self._commands) and not self._pauses(self.stall)
        dut.engine__command__valid.value = int(send)
        if send:
            dut.engine__command__payload.value = self._commands[0]
        # The bench's own accesses come first, and hold the mover up; they write nothing.
        dut.reader__request__valid.value = int(self._pauses(self.busy))
        dut.writer__valid.value = int(self._pauses(self.busy))
        dut.writer__payload.value = 0
        entry = not self._pauses(self.stall)
        dut.tables__ready.value = int(entry)
        self.memory.before_edge()
        await self._edge
        self.memory.after_edge()
        if send and int(dut.engine__command__ready.value):
            self._commands.popleft()
            self.taken.append(self.cycle)
        if int(dut.engine__done.value):
            self.done.append(self.cycle)
        if int(dut.engine__fault.value):
            self.fault.append(self.cycle)
            self.code = ErrorCode(int(dut.engine__code.value))
        if entry and int(dut.tables__valid.value):
            self._store_entry(int(dut.tables__payload.value))
        self.still = 0 if int(dut.moving.value) else self.still + 1
        assert int(dut.reads.value) >= self._asks, "asks memory without saying so"
        if int(dut.reads.value):
            self.reads.append(self.cycle)
        self._asks = int(dut.read__request__valid.value)

    async def reset(self) -> None:
        """Reset for one cycle; nothing is asked of memory. Commands that were queued are gone."""
        self._commands.clear()
        self.dut.rst.value = 1
        await self.step()
        self.dut.rst.value = 0
        self.sent.clear()
        self.done.clear()
        for name in ("engine__command__valid", "writer__valid"):
            getattr(self.dut, name).value = 0
        await self._read_back()
        self.expected = copies(self.spaces)

    async def run(self, until: int, limit: int = 3000) -> None:
        """Play until so many commands are done."""
        while len(self.done) < until:
            await self.step()
            if self.fault or self.still > limit:
                raise TimeoutError(f"fault={self.fault}, done={len(self.done)} of {until}")

    async def finish(self) -> None:
        """Play until all commands are done, and a little longer, and compare every space."""
        await self.run(len(self.sent))
        for _ in range(50):
            await self.step()
        assert len(self.done) == len(self.sent)
        assert self.memory.idle
        await self.check()

    async def fail(self, wrong: Move, code: ErrorCode) -> None:
        """Play a command that ends in a fault, and one behind it; compare every space."""
        done = len(self.sent)
        assert carry_out(wrong, self.expected) == code
        self.send(wrong)
        out = (Space.SCRATCHPAD, Space.ARENA)
        self.send(self.random_move(out))
        while not self.fault:
            await self.step()
            assert self.still < 1000, "no fault"
        for _ in range(100):
            await self.step()
        assert (len(self.done), len(self.fault), self.code) == (done, 1, code)
        await self.check()

    def area(self, space: Space, half: int | None) -> tuple[int, int]:
        """Return a half of a space, or all of it where commands only read or only write it."""
        if space == Space.FILL:
            return 0, 1 << 31
        size = len(self.spaces[space])
        if half is None or space in (Space.MODEL, Space.TABLES):
            return 0, size
        return (half * size) // 2, ((half + 1) * size) // 2

    def areas(
        self, pair: tuple[Space, Space], half: int = 0
    ) -> tuple[tuple[int, int], tuple[int, int]]:
        """Return what commands read, in one half of each space, and write, in the other."""
        return self.area(pair[0], half), self.area(pair[1], 1 - half)

    def random_move(self, pair: tuple[Space, Space] | None = None, longest: int = 300) -> Move:
        """Return a MOVE from one half of each space to the other; without a pair, between any."""
        pair = pair or MOVES[self.generator.integers(len(MOVES))]
        return random_move(self.generator, pair, self.areas(pair), longest)

    def _pauses(self, probability: float) -> bool:
        return bool(probability) and self._rng.random() < probability

    def _store_entry(self, word: int) -> None:
        bits = (len(self.spaces[Space.TABLES]) // 4 - 1).bit_length()
        index = word & ((1 << bits) - 1)
        value = word >> bits
        entry = np.frombuffer(value.to_bytes(4, "little"), dtype=np.uint8)
        self.spaces[Space.TABLES][4 * index : 4 * index + 4] = entry


def copies(spaces: dict[Space, NDArray[np.uint8]]) -> dict[Space, NDArray[np.uint8]]:
    """Return the spaces' content, to be changed."""
    return {space: content.copy() for space, content in spaces.items()}


async def measure(
    dut: Any, commands: list[Move], prepare: Callable[[MoverBench], None] = lambda bench: None
) -> MoverBench:
    """Run commands without stalls, with 20 cycles of memory latency."""
    bench = MoverBench(dut, 3, 20)
    await bench.start(lambda: prepare(bench))
    for command in commands:
        bench.expect(command)
    await bench.run(len(commands))
    await bench.check()
    return bench


def single_run(source: Space, target: Space, run: int, /, **fields: int) -> Move:
    """Return a MOVE of one run, unless ``fields`` say more."""
    spaces = {"source_space": source.value, "target_space": target.value}
    once = {f"count{k}": 1 for k in range(4)}
    still = {f"{name}_stride{k}": 0 for name in ("source", "target") for k in range(4)}
    return spaces | {"run": run, "fill": 165} | once | still | fields


@cocotb.test()
@cocotb.parametrize(
    (("latency", "stall", "busy"), [(1, 0.0, 0.0), (20, 0.0, 0.0), (9, 0.3, 0.3), (4, 0.6, 0.9)])
)
async def commands_one_after_the_other(dut: Any, latency: int, stall: float, busy: float) -> None:
    """When a command is done, all that it wrote is there; the next one may read it."""
    bench = MoverBench(dut, 1, latency, stall, busy)
    await bench.start()
    for number in range(parameters()["moves"]):
        pair = MOVES[number % len(MOVES)]
        half = int(bench.generator.integers(2))
        whole = (bench.area(pair[0], None), bench.area(pair[1], None))
        places = bench.areas(pair, half) if pair[0] == pair[1] else whole
        move = random_move(bench.generator, pair, places)
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
    bench = MoverBench(dut, 2, latency, stall, busy)
    await bench.start()
    for _ in range(2 * parameters()["moves"]):
        bench.expect(bench.random_move(longest=int(bench.generator.choice([8, 64, 300]))))
    await bench.finish()


FAULTS = (
    *("memory_to_memory", "fill_to_tables", "from_tables", "from_nowhere", "to_model", "to_fill"),
    *("to_nowhere", "no_bytes", "source_ends", "source_begins", "target_ends", "target_begins"),
    *("target_far", "odd_source", "odd_target", "odd_run"),
)
"""What can be wrong with a command."""


def spoil(bench: MoverBench, kind: str) -> Move:
    """Return a command with one fault, often in a late run."""
    generator = bench.generator
    pairs = [pair for pair in MOVES if pair[0] != Space.FILL or not kind.startswith("source")]
    pair = pairs[generator.integers(len(pairs))]
    if kind.startswith("odd"):
        pair = (Space.SCRATCHPAD if generator.random() < 0.5 else Space.MODEL, Space.TABLES)
    move = bench.random_move(pair, 40)
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
    bench = MoverBench(dut, 100 + FAULTS.index(kind), 7, stall)
    await bench.start()
    for _ in range(int(bench.generator.integers(3))):
        bench.expect(bench.random_move(longest=40))
    await bench.fail(spoil(bench, kind), ErrorCode.ADDRESS)


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
    bench = await measure(dut, [move])
    cycles = bench.done[0] - bench.taken[0]
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
    bench = await measure(dut, moves)
    cycles = [cycle for cycle, _ in bench.memory.beats_read]
    idle = cycles[-1] - cycles[0] + 1 - len(cycles)
    report({"idle": idle / 5})
    assert idle <= 5 * 8
