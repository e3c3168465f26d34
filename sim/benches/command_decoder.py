"""Benches of `eightfold.hw.control.command_decoder.CommandDecoder`: every word that is legal and
every one that is not, by `eightfold.isa.decode`.

Parameters: ``config``, fields of the configuration.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import cocotb
import numpy as np
from cocotb.triggers import RisingEdge

from eightfold import isa
from eightfold.hw.control.command_decoder import ERROR_LAYOUT
from eightfold.isa.decode import CommandError, read_stream
from eightfold.sim.bench.support import configuration, report, rng, stall_rng, start_clock_and_reset
from eightfold.sim.stimuli import commands
from eightfold.target.config import AcceleratorConfig

LATENCY = 3
"""Cycles from ``words`` to a queue."""

QUIET = 8
"""Cycles after an error or END in which nothing may come."""

HELD = LATENCY
"""Words that may be taken behind the one at which the decoder stops: one for each register."""

CONSTANTS = (isa.Opcode.WEIGHTS, isa.Opcode.PARAMETERS)

QUEUE = {opcode: engine.value for opcode, engine in isa.ENGINES.items()} | {
    opcode: len(isa.Engine) + place for place, opcode in enumerate(CONSTANTS)
}
"""Where each command goes: the engines' queues come first."""

QUEUES = len(isa.Engine) + len(CONSTANTS)

Taken = tuple[int, int, bool]
"""A word on a queue: the queue's number, the word, and whether it completes a command."""


@dataclass
class Stream:
    """Words, and the number of the first one that is not as it should be, if any."""

    words: list[int]
    wrong: int | None = None


@dataclass
class Outcome:
    """What the decoder made of a stream."""

    taken: list[Taken]
    accepted: int
    error: tuple[int, int] | None  # code and index
    ended: bool
    number: int


class DecoderBench:
    """The decoder, a source of words with pauses, and queues that stall."""

    def __init__(self, dut: Any) -> None:
        self.dut = dut
        self.config = configuration()
        self.rng = rng(0)
        self._pauses = stall_rng("decoder")
        self._edge = RisingEdge(dut.clk)
        self._queues = [
            tuple(getattr(dut, f"queues__{number}__{name}") for name in ("valid", "payload"))
            for number in range(QUEUES)
        ]
        self._ready = [getattr(dut, f"queues__{number}__ready") for number in range(QUEUES)]
        self.dut.words__valid.value = 0
        self.dut.exhausted.value = 0

    async def decode(self, words: Sequence[int], stall: float = 0.0) -> Outcome:
        """Reset the decoder, and have it decode a stream; pauses are as likely as stalls."""
        dut, edge = self.dut, self._edge
        dut.rst.value = 1
        dut.words__valid.value = 0
        dut.exhausted.value = 0
        await edge
        dut.rst.value = 0
        accepted = 0
        offered = False
        quiet = 0
        ready = [False] * QUEUES
        taken: list[Taken] = []
        held: tuple[int, int] | None = None
        verdict: tuple[int, int] | None = None  # which stays
        for _ in range(200 + 20 * len(words)):
            if not offered and accepted < len(words) and self._pauses.random() >= stall:
                offered = True
                dut.words__payload.value = words[accepted]
            dut.words__valid.value = int(offered)
            dut.exhausted.value = int(accepted == len(words))
            for number, signal in enumerate(self._ready):
                ready[number] = self._pauses.random() >= stall
                signal.value = int(ready[number])
            await edge
            if offered and dut.words__ready.value:
                accepted, offered = accepted + 1, False
            held = self._take(ready, held, taken)
            now = (int(dut.ended.value), int(dut.error.value))
            assert verdict in (None, now), f"(ended, error) {verdict} became {now}"
            if now[0] or now[1] & 1:
                verdict = now
                quiet += 1
                if quiet > QUIET:
                    return self._outcome(taken, accepted)
        raise AssertionError(f"neither END nor an error after {accepted} of {len(words)} words")

    def _take(
        self, ready: list[bool], held: tuple[int, int] | None, taken: list[Taken]
    ) -> tuple[int, int] | None:
        """Add the word that a queue takes in this cycle; return the one that is refused."""
        offers = [
            (number, int(payload.value))
            for number, (valid, payload) in enumerate(self._queues)
            if valid.value
        ]
        assert len(offers) <= 1, f"on more queues than one: {offers}"
        offer = offers[0] if offers else None
        assert held in (None, offer), f"did not stay: {held} became {offer}"
        if offer is None or not ready[offer[0]]:
            return offer
        taken.append((*offer, bool(self.dut.last.value)))
        return None

    def _outcome(self, taken: list[Taken], accepted: int) -> Outcome:
        error = ERROR_LAYOUT.from_bits(int(self.dut.error.value))
        found = (int(error.code), error.index) if error.valid else None
        return Outcome(
            taken, accepted, found, bool(self.dut.ended.value), int(self.dut.number.value)
        )

    async def check(self, stream: Stream, stall: float = 0.0) -> bool:
        """Decode a stream, and compare with the instruction set; return whether it is legal."""
        outcome = await self.decode(stream.words, stall)
        words = " ".join(f"{word:08x}" for word in stream.words)
        expected = None
        legal = True
        try:
            last = read_stream(self.config, np.array(stream.words, np.uint32))[-1].number
            assert outcome.number == last % (1 << 16), f"number {outcome.number}: {words}"
        except CommandError as error:
            expected = (error.code.value, error.index)
            legal = False
        assert outcome.error == expected, f"{outcome.error} is not {expected}: {words}"
        assert outcome.ended == legal, f"ended {outcome.ended}: {words}"
        wrong = len(stream.words) if stream.wrong is None else stream.wrong
        assert legal or stream.wrong is not None, f"nothing should be wrong: {words}"
        good = destinations(stream.words[: len(stream.words) if legal else wrong])
        assert outcome.taken == good, f"{outcome.taken} is not {good}: {words}"
        if not legal:
            assert outcome.accepted <= wrong + 1 + HELD, f"goes on behind word {wrong}: {words}"
        return legal


def destinations(words: Sequence[int]) -> list[Taken]:
    """Return where the words of a stream go that has no errors, but may be cut."""
    taken = []
    place = 0
    while place < len(words):
        opcode = isa.Opcode(words[place] & 0xFF)
        length = isa.COMMANDS[opcode].words
        part = words[place : place + length]
        if opcode in QUEUE:
            taken += [(QUEUE[opcode], word, i == length - 1) for i, word in enumerate(part)]
        place += length
    return taken


def joined(parts: Iterable[Iterable[int]]) -> list[int]:
    """Return the words of commands."""
    return [int(word) for part in parts for word in part]


def flips(words: Sequence[int], begin: int, bits: Iterable[int]) -> Iterator[Stream]:
    """Yield the stream with each of some bits changed; bit 0 is in word ``begin``."""
    for bit in bits:
        changed = list(words)
        changed[begin + bit // 32] ^= 1 << bit % 32
        yield Stream(changed, begin + bit // 32)


class Streams:
    """Draws streams of few commands."""

    def __init__(self, config: AcceleratorConfig, generator: np.random.Generator) -> None:
        self.config, self.rng = config, generator
        self.begin = commands.begin_command(config).words
        self.inner = tuple(o for o in commands.INNER if config.gather or o != isa.Opcode.GATHER)

    def command(self, index: int, opcode: isa.Opcode | None = None) -> np.ndarray:
        """Return a command with arbitrary fields and tokens."""
        chosen = opcode or self.inner[int(self.rng.integers(len(self.inner)))]
        return commands.any_command(self.config, self.rng, chosen, index).words

    def many(self, count: int) -> list[int]:
        """Return BEGIN and commands of few words, ``count`` in all."""
        short = min(self.inner, key=lambda opcode: isa.COMMANDS[opcode].words)
        inner = np.tile(self.command(0, short), (count - 1, 1))
        index = (np.arange(1, count) % (1 << 16) << 16).astype(np.uint32)
        inner[:, 0] = inner[:, 0] & 0xFFFF | index
        return joined([self.begin, inner.ravel()])

    def around(self, opcode: isa.Opcode) -> tuple[list[int], int]:
        """Return a stream with such a command, or END, after another one; and where it begins."""
        before = joined([self.begin, self.command(1)])
        if opcode == isa.Opcode.END:
            return [*before, *joined([commands.end_command(2).words])], len(before)
        behind = [self.command(2, opcode), self.command(3), commands.end_command(4).words]
        return [*before, *joined(behind)], len(before)

    def complemented(self, opcode: isa.Opcode) -> list[int]:
        """Return a stream in which each bit that a field of the command uses is 0 and 1."""
        first = self.command(1, opcode)
        used = commands.used_words(opcode, self.config).copy()
        used[0] &= 0xFF00  # neither opcode nor index
        second = first ^ used
        second[0] = second[0] & 0xFFFF | 2 << 16
        return joined([self.begin, first, second, commands.end_command(3).words])


async def decoder(dut: Any) -> tuple[DecoderBench, Streams]:
    """Return a bench whose clock runs, and streams for it."""
    bench = DecoderBench(dut)
    await start_clock_and_reset(dut)
    return bench, Streams(bench.config, bench.rng)


@cocotb.test()
@cocotb.parametrize(stall=[0.0, 0.5])
async def every_opcode_as_a_header(dut: Any, stall: float) -> None:
    """The opcodes of the instruction set are decoded, the others of the 256 refused."""
    bench, streams = await decoder(dut)
    legal = []
    for opcode in range(256):
        known = next((o for o in commands.INNER if o.value == opcode), None)
        before = joined([streams.begin, streams.command(1)])
        if known is not None:
            words = joined([before, streams.command(2, known), commands.end_command(3).words])
        else:
            rest = bench.rng.integers(0, 1 << 32, QUIET).tolist()
            words = [*before, opcode | 2 << 16]
            words += [] if opcode == isa.Opcode.END.value else rest
        if await bench.check(Stream(words, len(before)), stall):
            legal.append(opcode)
    report({"opcodes": legal})
    assert set(legal) == {o.value for o in (*streams.inner, isa.Opcode.END)}


@cocotb.test()
async def only_begin_begins(dut: Any) -> None:
    """BEGIN alone of the 256 opcodes may come first, and it may come nowhere else."""
    bench, streams = await decoder(dut)
    legal = []
    for opcode in range(256):
        words = joined([streams.begin, streams.command(1), commands.end_command(2).words])
        words[0] ^= (words[0] & 0xFF) ^ opcode
        if await bench.check(Stream(words, 0)):
            legal.append(opcode)
    assert legal == [isa.Opcode.BEGIN.value]
    for count in range(4):
        inner = joined(streams.command(1 + number) for number in range(count))
        again = [int(streams.begin[0]) | count + 1 << 16, *streams.begin[1:].tolist()]
        words = [*joined([streams.begin, inner]), *again]
        assert not await bench.check(Stream(words, len(words) - len(again)))


@cocotb.test()
async def every_bit_of_begin(dut: Any) -> None:
    """A bit of BEGIN that is not as the hardware is: VERSION, or ILLEGAL_COMMAND in its header."""
    bench, streams = await decoder(dut)
    words = joined([streams.begin, streams.command(1), commands.end_command(2).words])
    assert await bench.check(Stream(words))
    for stream in flips(words, 0, range(32 * len(streams.begin))):
        assert not await bench.check(stream)


@cocotb.test()
@cocotb.parametrize(stall=[0.0, 0.3])
async def every_unused_bit(dut: Any, stall: float) -> None:
    """A bit that no field uses must be 0, in whatever word of whatever command it is."""
    bench, streams = await decoder(dut)
    count = 0
    for opcode in (*streams.inner, isa.Opcode.END):
        bits = commands.unused_bits(opcode, bench.config)
        count += len(bits)
        for bit in bits:
            words, begin = streams.around(opcode)
            for stream in flips(words, begin, [bit]):
                assert not await bench.check(stream, stall)
    report({"unused": count})


@cocotb.test()
async def every_used_bit(dut: Any) -> None:
    """A bit of a field may be 0 or 1."""
    bench, streams = await decoder(dut)
    for opcode, stall in product(streams.inner, (0.0, 0.6)):
        assert await bench.check(Stream(streams.complemented(opcode)), stall)


@cocotb.test()
async def every_bit_of_the_index(dut: Any) -> None:
    """A command must have its number in the stream."""
    bench, streams = await decoder(dut)
    for opcode in (*streams.inner, isa.Opcode.END):
        words, begin = streams.around(opcode)
        for stream in flips(words, begin, range(16, 32)):
            assert not await bench.check(stream)


@cocotb.test()
async def every_place_to_end_at(dut: Any) -> None:
    """Words that end before END are an illegal command, wherever that is."""
    bench, streams = await decoder(dut)
    assert not await bench.check(Stream([], 0))
    for opcode in streams.inner:
        words, begin = streams.around(opcode)
        for length in range(1 if opcode == streams.inner[0] else begin, len(words) - 1):
            assert not await bench.check(Stream(words[:length], length), 0.2)


@cocotb.test()
async def what_is_behind_end_is_ignored(dut: Any) -> None:
    """Words behind END change nothing, and are not taken but for those in the registers."""
    bench, streams = await decoder(dut)
    for stall in (0.0, 0.4):
        words, _ = streams.around(streams.inner[0])
        behind = bench.rng.integers(0, 1 << 32, 4 * QUIET).tolist()
        outcome = await bench.decode([*words, *behind], stall)
        assert outcome.ended and outcome.error is None
        assert outcome.taken == destinations(words)
        assert outcome.accepted <= len(words) + HELD


@cocotb.test()
async def a_word_per_cycle_at_the_stated_latency(dut: Any) -> None:
    """Words pass without a pause, and a queue has each after the stated cycles."""
    _, streams = await decoder(dut)
    words = joined([streams.begin, *(streams.command(1 + i) for i in range(20))])
    sent, came = await feed(dut, words)
    assert sent == list(range(len(words)))
    assert came == [cycle + LATENCY for cycle in sent[len(streams.begin) :]]


@cocotb.test()
async def the_index_counts_modulo_its_width(dut: Any) -> None:
    """The 65,537th command has the index of the first one."""
    bench, streams = await decoder(dut)
    count = (1 << 16) + 2
    words = joined([streams.many(count), commands.end_command(count).words])
    for signal in bench.dut.words__valid, *(q for q in bench._ready):
        signal.value = 1
    edge = RisingEdge(dut.clk)
    for word in words:
        dut.words__payload.value = word
        await edge
    dut.words__valid.value = 0
    for _ in range(QUIET):
        await edge
    assert dut.ended.value == 1
    assert not int(dut.error.value) & 1
    assert int(dut.number.value) == count % (1 << 16)


async def feed(dut: Any, words: Sequence[int]) -> tuple[list[int], list[int]]:
    """Offer words without pauses to queues that are ready; return the cycles in which they are
    taken, and in which they come."""
    edge = RisingEdge(dut.clk)
    sent, came = [], []
    dut.words__valid.value = 1
    for number in range(QUEUES):
        getattr(dut, f"queues__{number}__ready").value = 1
    for cycle in range(len(words) + 2 * LATENCY):
        dut.words__valid.value = int(len(sent) < len(words))
        dut.words__payload.value = words[min(len(sent), len(words) - 1)]
        await edge
        if len(sent) < len(words) and dut.words__ready.value:
            sent.append(cycle)
        if any(getattr(dut, f"queues__{number}__valid").value for number in range(QUEUES)):
            came.append(cycle)
    return sent, came


@cocotb.test()
async def an_error_far_behind_the_begin(dut: Any) -> None:
    """An error says all 16 bits of its command's index."""
    bench, streams = await decoder(dut)
    count = (1 << 15) + int(bench.rng.integers(1, 100))
    before = streams.many(count)
    unknown = 0xFF | count << 16
    assert not await bench.check(Stream([*before, unknown], len(before)))
