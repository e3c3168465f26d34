"""Command words wait at their engine, and become commands that have their tokens."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.fifo import SyncFIFO
from amaranth.lib.wiring import In, Out

from eightfold.config import AcceleratorConfig
from eightfold.isa import Command
from hw.credit import CreditQueue
from hw.tokens import MASK


class CommandAssembler(wiring.Component):
    """Queue the 32-bit words of one opcode's commands, and put them together.

    Timing
    ------
    One word per cycle. A command is on ``o`` 3 cycles after its last word was accepted, if it was
    not stalled; the words of the next one are taken from the queue after ``o`` has transferred.
    All outputs come from registers.

    Parameters
    ----------
    config
        ``command_queue``: words that wait, besides those of the command on ``o``.
    command
        What its words are: always ``command.words`` of them.

    Members
    -------
    words : ``In(stream.Signature(32))``
    o : ``Out(stream.Signature(command.layout))``
    """

    words: stream.Interface
    o: stream.Interface

    def __init__(self, config: AcceleratorConfig, command: Command) -> None:
        self.config, self.command = config, command
        super().__init__(
            {
                "words": In(stream.Signature(unsigned(32))),
                "o": Out(stream.Signature(command.layout)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.queue = queue = CreditQueue(unsigned(32), self.config.command_queue)
        left = Signal(range(self.command.words), init=self.command.words - 1)
        # Words move down as they come, so that none needs an address.
        assembled, complete = Signal(32 * self.command.words, reset_less=True), Signal()
        push, move = self.words.valid & self.words.ready, queue.o.valid & queue.o.ready
        m.d.comb += [
            self.words.ready.eq(queue.available),
            queue.take.eq(push),
            queue.push.eq(push),
            queue.push_data.eq(self.words.payload),
            queue.o.ready.eq(~complete),
            self.o.valid.eq(complete),
            Value.cast(self.o.payload).eq(assembled),
        ]
        with m.If(complete & self.o.ready):
            m.d.sync += complete.eq(0)
        with m.If(move):
            m.d.sync += [
                assembled.eq(Cat(assembled[32:], queue.o.payload)),
                left.eq(Mux(left == 0, self.command.words - 1, left - 1)),
                complete.eq(left == 0),
            ]
        return m


class CommandQueue(wiring.Component):
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
    command
        The command that the engine executes.

    Members
    -------
    words : ``In(stream.Signature(32))``
    last : ``In(1)``
        With a word: it completes a command.
    engine : ``Out(stream.Signature(command.layout))``
    done : ``In(1)``
        The engine's oldest command is done.
    wait, request, grant
        Towards `hw.tokens.Tokens`.
    give : ``Out(MASK)``
        Tokens of the command that is done; 0 in other cycles.
    index : ``Out(16)``
        Of the oldest command that is not done.
    busy : ``Out(1)``
        There is a command that has its tokens and is not done.
    waiting : ``Out(1)``
        There is none, and the next one waits for tokens.
    idle : ``Out(1)``
        Every command of which a word was accepted is done. From a register, 1 cycle later.
    """

    FLIGHT = 4
    """Commands that have their tokens and are not done; further ones wait."""

    words: stream.Interface
    last: Signal
    engine: stream.Interface
    done: Signal
    wait: Signal
    request: Signal
    grant: Signal
    give: Signal
    index: Signal
    busy: Signal
    waiting: Signal
    idle: Signal

    def __init__(self, config: AcceleratorConfig, command: Command) -> None:
        self.config, self.command = config, command
        super().__init__(
            {
                "words": In(stream.Signature(unsigned(32))),
                "last": In(1),
                "engine": Out(stream.Signature(command.layout)),
                "done": In(1),
                "wait": Out(MASK),
                "request": Out(1),
                "grant": In(1),
                "give": Out(MASK),
                "index": Out(16),
                "busy": Out(1),
                "waiting": Out(1),
                "idle": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.assembler = assembler = CommandAssembler(self.config, self.command)
        wiring.connect(m, wiring.flipped(self.words), assembler.words)
        following, offered, room = assembler.o.payload, Signal(), self._flight(m, assembler)
        m.d.comb += [
            self.wait.eq(following.wait),
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
        m.submodules.flight = flight = SyncFIFO(width=shape.size, depth=self.FLIGHT)
        oldest, new = data.View(shape, flight.r_data), data.View(shape, flight.w_data)
        m.d.comb += [
            flight.w_en.eq(self.grant),
            new.signal.eq(assembler.o.payload.signal),
            new.index.eq(assembler.o.payload.index),
            flight.r_en.eq(self.done),
            self.busy.eq(flight.r_rdy),
            self.index.eq(oldest.index),
            self.give.eq(Mux(self.done, oldest.signal, 0)),
        ]
        return flight.w_rdy

    def _count(self, m: Module) -> None:
        """Count the commands from the cycle after their last word to their end."""
        unfinished = Signal(range(self.config.command_queue + self.FLIGHT + 2))
        more, idle, partial = Signal(), Signal(init=1), Signal()
        accepted = self.words.valid & self.words.ready
        m.d.comb += self.idle.eq(idle & ~partial & ~more)
        m.d.sync += more.eq(accepted & self.last)  # counted a cycle later, for the clock's sake
        with m.If(accepted):
            m.d.sync += partial.eq(~self.last)
        with m.If(more & ~self.done):
            m.d.sync += [unfinished.eq(unfinished + 1), idle.eq(0)]
        with m.Elif(self.done & ~more):
            m.d.sync += [unfinished.eq(unfinished - 1), idle.eq(unfinished == 1)]
