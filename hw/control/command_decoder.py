"""The command stream is checked, and its words find their way to the queues."""

from typing import Annotated

from amaranth.hdl import Cat, Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from eightfold.hw.blocks.component import Component
from eightfold.hw.blocks.layouts import hdl
from eightfold.hw.control.command_rules import QUEUES, word_rules
from eightfold.isa import COMMANDS, END, ErrorCode, Opcode
from eightfold.target.config import AcceleratorConfig

OPCODES = tuple(COMMANDS)

PLACE = range(max(command.words for command in COMMANDS.values()))

PLACED_LAYOUT = data.StructLayout(
    {
        "word": unsigned(32),
        "command": unsigned(len(OPCODES)),  # bit i: word of command OPCODES[i]; none if unknown
        "place": PLACE,  # its number in the command
        "header": unsigned(1),
        "last": unsigned(1),
    }
)
"""A word of the stream, and where it belongs."""

ERROR_LAYOUT = data.StructLayout(
    {"valid": unsigned(1), "code": hdl(ErrorCode), "index": unsigned(16)}
)
"""What is wrong with the stream, and with which of its commands."""


class WordPlacer(Component):
    """Find the headers in the stream, and tell which command each word belongs to.

    Timing
    ------
    One word per cycle, one cycle after it was accepted; ``i.ready`` follows ``o.ready``
    combinationally. Behind an unknown opcode everything is undefined.
    """

    i: Annotated[stream.Interface, In(stream.Signature(unsigned(32)))]
    """The stream."""
    o: Annotated[stream.Interface, Out(stream.Signature(PLACED_LAYOUT))]
    """Its words, and where they belong."""
    between: Annotated[Signal, Out(1)]
    """The word that was accepted last, if any, completes a command."""

    def elaborate(self, platform: object) -> Module:
        m = Module()
        word = self.i.payload
        placed = Signal(PLACED_LAYOUT, reset_less=True)
        valid = Signal()
        m.d.comb += [
            self.o.payload.eq(placed),
            self.o.valid.eq(valid),
            self.i.ready.eq(self.o.ready | ~valid),
        ]
        between = Signal(init=1)
        known = Signal(len(OPCODES))
        length = Signal(PLACE)
        m.d.comb += self.between.eq(between)
        for number, opcode in enumerate(OPCODES):
            m.d.comb += known[number].eq(word[:8] == opcode.value)
            with m.If(known[number]):
                m.d.comb += length.eq(COMMANDS[opcode].words - 1)
        left = Signal(PLACE, reset_less=True)
        following = Signal(PLACE)
        m.d.comb += following.eq(Mux(between, length, left - 1))
        with m.If(self.i.ready):
            m.d.sync += valid.eq(self.i.valid)
        with m.If(self.i.ready & self.i.valid):
            m.d.sync += [
                left.eq(following),
                between.eq(following == 0),
                placed.word.eq(word),
                placed.command.eq(Mux(between, known, placed.command)),
                placed.place.eq(Mux(between, 0, placed.place + 1)),
                placed.header.eq(between),
                placed.last.eq(following == 0),
            ]
        return m


class CommandDecoder(Component):
    """Check the words of a stream, and send those of each command to its queue.

    A command's words go to its queue as they come, but none from the first one on that breaks a
    rule: an illegal command never arrives as a whole. After an error or END nothing more is taken.

    Timing
    ------
    One word per cycle, 3 cycles from ``words`` to a queue. ``words.ready`` depends on the queues'
    ``ready`` combinationally; the other outputs come from registers, ``valid`` with a gate behind.

    Parameters
    ----------
    config
        What BEGIN must state.
    """

    words: Annotated[stream.Interface, In(stream.Signature(unsigned(32)))]
    """The stream."""
    exhausted: Annotated[Signal, In(1)]
    """No further words will come."""
    queues: Annotated[
        list[stream.Interface], Out(stream.Signature(unsigned(32))).array(len(QUEUES))
    ]
    """In the order of `eightfold.hw.control.command_rules.QUEUES`."""
    last: Annotated[Signal, Out(1)]
    """With a word on one of ``queues``: it completes a command."""
    number: Annotated[Signal, Out(16)]
    """The number of the command that was checked last; before the first one, of that."""
    ended: Annotated[Signal, Out(1)]
    """END was reached; stays."""
    error: Annotated[data.View, Out(ERROR_LAYOUT)]
    """VERSION or ILLEGAL_COMMAND; stays."""

    def __init__(self, config: AcceleratorConfig) -> None:
        self.config = config
        super().__init__()
        self.proceed = Signal()
        """The words in the two registers behind the placer move on."""
        self.ruled, self.checked = (
            Signal(PLACED_LAYOUT, name=name, reset_less=True) for name in ("ruled", "checked")
        )
        self.ruled_valid, self.checked_valid = Signal(), Signal()

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.placer = placer = WordPlacer()
        wiring.connect(m, wiring.flipped(self.words), placer.i)
        m.d.comb += placer.o.ready.eq(self.proceed)
        with m.If(self.proceed):
            m.d.sync += [
                self.ruled.eq(placer.o.payload),
                self.ruled_valid.eq(placer.o.valid),
                self.checked.eq(self.ruled),
                self.checked_valid.eq(self.ruled_valid),
            ]
        started, first = self._count(m, placer)
        broken, version = self._check(m, first, *self._rule(m, placer))
        self._send(m, broken)
        following = self.number + (placer.between & started)
        self._report(m, placer.o.valid, following, broken, version)
        return m

    def _count(self, m: Module, placer: WordPlacer) -> tuple[Signal, Signal]:
        """Number the commands as they enter ``ruled``.

        Return whether there is or was one, and whether the one in ``ruled`` is the first.
        """
        started, first = Signal(), Signal()
        with m.If(self.proceed & placer.o.valid & placer.o.payload.header):
            m.d.sync += [started.eq(1), first.eq(~started), self.number.eq(self.number + started)]
        return started, first

    def _rule(self, m: Module, placer: WordPlacer) -> tuple[Signal, Signal]:
        """Register what the word must be and in which bits, together with ``ruled``."""
        placed = placer.o.payload
        expected, mask = (Signal(32, name=n, reset_less=True) for n in ("expected", "mask"))
        with m.If(self.proceed):
            m.d.sync += [expected.eq(0), mask.eq(0)]
            for bit, (opcode, rules) in enumerate(word_rules(self.config).items()):
                assert opcode == OPCODES[bit]
                with m.If(placed.command[bit]), m.Switch(placed.place):
                    for place, rule in enumerate(rules):
                        with m.Case(place):
                            m.d.sync += [expected.eq(rule.expected), mask.eq(rule.mask)]
        return expected, mask

    def _check(
        self, m: Module, first: Signal, expected: Signal, mask: Signal
    ) -> tuple[Value, Signal]:
        """Return whether the word in ``checked`` is illegal, and whether BEGIN is the reason."""
        ruled = self.ruled
        begin = self.ruled.command[OPCODES.index(Opcode.BEGIN)]
        index = data.View(hdl(END.layout), ruled.word).index
        broken = Signal(4, reset_less=True)  # registered apart: each is a wide comparison
        version = Signal(reset_less=True)
        with m.If(self.proceed):
            m.d.sync += [
                broken.eq(
                    Cat(
                        ((ruled.word ^ expected) & mask).any(),
                        ruled.header & (index != self.number),
                        ~ruled.command.any(),
                        begin ^ first,
                    )
                ),
                version.eq(first & ~(begin & ruled.header)),
            ]
        return broken.any(), version

    def _send(self, m: Module, broken: Value) -> None:
        """Offer the word in ``checked`` to its queue; BEGIN has none, END stays."""
        begin, end = (OPCODES.index(opcode) for opcode in (Opcode.BEGIN, Opcode.END))
        legal = self.checked_valid & ~broken
        taken = Signal(len(QUEUES))
        for number, (queue, opcodes) in enumerate(zip(self.queues, QUEUES, strict=True)):
            mine = Cat(self.checked.command[OPCODES.index(opcode)] for opcode in opcodes).any()
            m.d.comb += [
                queue.valid.eq(legal & mine),
                queue.payload.eq(self.checked.word),
                taken[number].eq(mine & queue.ready),
            ]
        passes = self.checked.command[begin] | taken.any()
        m.d.comb += [
            self.last.eq(self.checked.last),
            self.proceed.eq(~self.checked_valid | (passes & ~broken)),
        ]
        m.d.sync += self.ended.eq(legal & self.checked.command[end])

    def _report(
        self, m: Module, placed: Value, following: Value, broken: Value, version: Signal
    ) -> None:
        """Report the word that holds up everything behind it, or that no more come."""
        number = Signal(16, reset_less=True)
        truncated = Signal()
        with m.If(self.proceed):
            m.d.sync += number.eq(self.number)
        m.d.sync += [
            # END would stay in ``checked``.
            truncated.eq(
                self.exhausted
                & ~(self.words.valid | placed | self.ruled_valid | self.checked_valid)
            ),
            self.error.valid.eq(truncated | (self.checked_valid & broken)),
            self.error.code.eq(ErrorCode.ILLEGAL_COMMAND),
            self.error.index.eq(Mux(truncated, following, number)),
        ]
        with m.If(version & ~truncated):
            m.d.sync += self.error.code.eq(ErrorCode.VERSION)
