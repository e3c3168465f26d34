"""Command words wait at their engine, and become commands that have their tokens."""

from functools import reduce
from operator import or_
from typing import Annotated

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from eightfold.hw.blocks.component import Component
from eightfold.hw.blocks.credit import CreditQueue
from eightfold.hw.blocks.fifo import Fifo
from eightfold.hw.blocks.layouts import hdl
from eightfold.hw.control.tokens import MASK
from eightfold.hw.ports import command_layout
from eightfold.isa import END, Command, used_bits
from eightfold.target.config import AcceleratorConfig


class CommandAssembler(Component):
    """Queue the 32-bit words of some opcodes' commands, and put them together.

    Timing
    ------
    One word per cycle. A command is on ``o`` 3 cycles after its last word was accepted, if it was
    not stalled; the words of the next one are taken from the queue after ``o`` has transferred.
    All outputs come from registers.

    Parameters
    ----------
    config
        ``command_queue``: words that wait, besides those of the command on ``o``.
    commands
        What the words are: whole commands of these.
    """

    words: Annotated[stream.Interface, In(stream.Signature(unsigned(32)))]
    """The words of commands, one after the other."""
    last: Annotated[Signal, In(1)]
    """With a word: it completes a command."""
    o: Annotated[
        stream.Interface, lambda self: Out(stream.Signature(command_layout(*self.commands)))
    ]
    """Behind a command's last word is what it was."""

    def __init__(self, config: AcceleratorConfig, *commands: Command) -> None:
        self.config, self.commands = config, commands
        super().__init__()

    def elaborate(self, platform: object) -> Module:
        m = Module()
        layout = data.StructLayout({"word": unsigned(32), "last": unsigned(1)})
        m.submodules.queue = queue = CreditQueue(layout, self.config.command_queue)
        word = queue.o.payload.word
        push = self.words.valid & self.words.ready
        move = Signal()
        complete = Signal()
        m.d.comb += [
            self.words.ready.eq(queue.available),
            queue.take.eq(push),
            queue.push.eq(push),
            queue.push_data.eq(Cat(self.words.payload, self.last)),
            queue.o.ready.eq(~complete),
            move.eq(queue.o.valid & queue.o.ready),
            self.o.valid.eq(complete),
        ]
        words = self._assemble(m, move, word, queue.o.payload.last)
        if self.config.left_out:
            # What is 0 in every command takes no part in anything behind.
            used = reduce(or_, (used_bits(command, self.config) for command in self.commands))
            words = words & Const(used, len(words))
        m.d.comb += Value.cast(self.o.payload).eq(words)
        with m.If(complete & self.o.ready):
            m.d.sync += complete.eq(0)
        with m.If(move):
            m.d.sync += complete.eq(queue.o.payload.last)
        return m

    def _assemble(self, m: Module, move: Value, word: Value, last: Value) -> Value:
        """Return the words so far, each in a register of its own: bits that nobody reads go."""
        count = max(command.words for command in self.commands)
        place = Signal(range(count))
        words = [Signal(32, name=f"word{number}", reset_less=True) for number in range(count)]
        with m.If(move):
            m.d.sync += place.eq(Mux(last, 0, place + 1))
        for number, kept in enumerate(words):
            with m.If(move & (place == number)):
                m.d.sync += kept.eq(word)
        return Cat(words)


class CommandQueue(Component):
    """Give an engine its commands, each when it has its tokens, and give tokens when it is done.

    Timing
    ------
    As `CommandAssembler`, and a command is on ``engine`` one cycle after its ``grant``, so that
    the next one is put together while the engine works. ``give`` and ``index`` belong to the cycle
    of ``done``; they and ``idle`` depend on registers and ``done`` only.

    Parameters
    ----------
    config
        ``command_queue``.
    commands
        Those that the engine executes.
    """

    FLIGHT = 4
    """Commands that have their tokens and are not done; further ones wait."""

    words: Annotated[stream.Interface, In(stream.Signature(unsigned(32)))]
    """The words of commands, one after the other."""
    last: Annotated[Signal, In(1)]
    """With a word: it completes a command."""
    engine: Annotated[
        stream.Interface, lambda self: Out(stream.Signature(command_layout(*self.commands)))
    ]
    """The next command that has its tokens."""
    done: Annotated[Signal, In(1)]
    """The engine's oldest command is done."""
    wait: Annotated[Signal, Out(MASK)]
    """The engines that the next command needs a token from."""
    request: Annotated[Signal, Out(1)]
    """It wants them, see `eightfold.hw.control.tokens.Tokens`."""
    grant: Annotated[Signal, In(1)]
    """It gets them in this cycle."""
    give: Annotated[Signal, Out(MASK)]
    """Tokens of the command that is done; 0 in other cycles."""
    index: Annotated[Signal, Out(16)]
    """The index of the oldest command that is not done."""
    busy: Annotated[Signal, Out(1)]
    """There is a command that has its tokens and is not done."""
    waiting: Annotated[Signal, Out(1)]
    """There is none, and the next one waits for tokens."""
    idle: Annotated[Signal, Out(1)]
    """Every command of which a word was accepted is done. From a register, 1 cycle later."""

    def __init__(self, config: AcceleratorConfig, *commands: Command) -> None:
        self.config, self.commands = config, commands
        super().__init__()

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.assembler = assembler = CommandAssembler(self.config, *self.commands)
        wiring.connect(m, wiring.flipped(self.words), assembler.words)
        m.d.comb += assembler.last.eq(self.last)
        following = assembler.o.payload
        offered = Signal()
        room = self._flight(m, assembler)
        m.d.comb += [
            self.wait.eq(self._header(assembler).wait),
            self.request.eq(assembler.o.valid & ~offered & room),
            self.waiting.eq(assembler.o.valid & ~offered & ~self.busy & ~self.grant),
            self.engine.valid.eq(offered),
            Value.cast(self.engine.payload).eq(Value.cast(following)),
            assembler.o.ready.eq(offered & self.engine.ready),
        ]
        with m.If(self.grant):
            m.d.sync += offered.eq(1)
        with m.Elif(self.engine.ready):
            m.d.sync += offered.eq(0)
        self._count(m)
        return m

    def _flight(self, m: Module, assembler: CommandAssembler) -> Value:
        """Remember what is left to do for commands that have started; return if one more may."""
        shape = data.StructLayout({"signal": MASK, "index": unsigned(16)})
        m.submodules.flight = flight = Fifo(shape, self.FLIGHT)
        oldest, new = flight.r_data, flight.w_data
        header = self._header(assembler)
        m.d.comb += [
            flight.w_en.eq(self.grant),
            new.signal.eq(header.signal),
            new.index.eq(header.index),
            flight.r_en.eq(self.done),
            self.busy.eq(flight.r_rdy),
            self.index.eq(oldest.index),
            self.give.eq(Mux(self.done, oldest.signal, 0)),
        ]
        return flight.w_rdy

    def _header(self, assembler: CommandAssembler) -> data.View:
        """Return the first word of the command that was put together, which is as END's."""
        return data.View(hdl(END.layout), Value.cast(assembler.o.payload)[: END.layout.size])

    def _count(self, m: Module) -> None:
        """Count the commands from the cycle after their last word to their end."""
        unfinished = Signal(range(self.config.command_queue + self.FLIGHT + 2))
        more = Signal()
        idle = Signal(init=1)
        partial = Signal()
        accepted = self.words.valid & self.words.ready
        m.d.comb += self.idle.eq(idle & ~partial & ~more)
        m.d.sync += more.eq(accepted & self.last)  # counted a cycle later, for the clock's sake
        with m.If(accepted):
            m.d.sync += partial.eq(~self.last)
        with m.If(more ^ self.done):
            m.d.sync += [
                unfinished.eq(unfinished + Mux(more, 1, -1)),
                idle.eq(~more & (unfinished == 1)),
            ]
