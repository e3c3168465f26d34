"""The sequencer: the command stream from memory to the engines, in the order of the tokens."""

from typing import Annotated, Any

from amaranth.hdl import Cat, Module, Signal, Value, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from eightfold.hw.blocks.component import Component
from eightfold.hw.blocks.layouts import hdl
from eightfold.hw.control.command_decoder import CommandDecoder
from eightfold.hw.control.command_fetch import CommandFetch
from eightfold.hw.control.command_queue import CommandAssembler, CommandQueue
from eightfold.hw.control.command_rules import QUEUES
from eightfold.hw.control.run_control import FAULT_LAYOUT, SEQUENCER
from eightfold.hw.control.run_control import PARAMETERS as PARAMETERS_NUMBER
from eightfold.hw.control.run_control import WEIGHTS as WEIGHTS_NUMBER
from eightfold.hw.control.tokens import Tokens
from eightfold.hw.ports import engine_port, memory_read
from eightfold.isa import (
    ADDRESS_BITS,
    COMMANDS,
    GATHER,
    MATRIX,
    MOVE,
    PARAMETERS,
    VECTOR,
    WEIGHTS,
    Engine,
    ErrorCode,
)
from eightfold.target.config import AcceleratorConfig

FAULTS = 3 + len(Engine)
"""Faults that the sequencer reports: its own, the engines', of weights and of parameters."""


class Sequencer(Component):
    """Fetch a command stream, check it, and give each engine its commands when they may start.

    Timing
    ------
    A word of the stream per cycle, unless the queue it goes to is full; commands of other engines
    behind it then wait. A command that has nothing to wait for starts 11 cycles after its last word
    has come from memory. ``finished`` follows the last ``done`` by 2 cycles if END is there.

    Parameters
    ----------
    config
        ``port`` and ``command_queue``, and what BEGIN must state.
    """

    start: Annotated[Signal, In(1)]
    """Once after each reset, for one cycle."""
    address: Annotated[Signal, In(ADDRESS_BITS)]
    """The address of the command stream."""
    length: Annotated[Signal, In(ADDRESS_BITS)]
    """Its bytes."""
    memory: Annotated[wiring.PureInterface, lambda self: Out(memory_read(self.config))]
    """To the memory reader."""
    mover: Annotated[Any, In(engine_port(MOVE, GATHER))]
    """To the mover."""
    matrix: Annotated[Any, In(engine_port(MATRIX))]
    """To the matrix engine."""
    vector: Annotated[Any, In(engine_port(VECTOR))]
    """To the vector engine."""
    weights: Annotated[stream.Interface, Out(stream.Signature(hdl(WEIGHTS.layout)))]
    """To the fetcher of weights."""
    parameters: Annotated[stream.Interface, Out(stream.Signature(hdl(PARAMETERS.layout)))]
    """To the fetcher of parameters."""
    weights_fault: Annotated[Signal, In(1)]
    """The command that the fetcher of weights took last leaves the model region."""
    parameters_fault: Annotated[Signal, In(1)]
    """The same of the fetcher of parameters."""
    faults: Annotated[data.View, Out(data.ArrayLayout(FAULT_LAYOUT, FAULTS))]
    """Where they come from: see ``_report``."""
    index: Annotated[data.View, Out(data.ArrayLayout(unsigned(16), len(Engine)))]
    """Number of each engine's oldest command that is not done."""
    weights_index: Annotated[Signal, Out(16)]
    """Number of the command that the fetcher of weights took last."""
    parameters_index: Annotated[Signal, Out(16)]
    """The same of the fetcher of parameters."""
    number: Annotated[Signal, Out(16)]
    """The number of the command that came last from the stream."""
    done: Annotated[Signal, Out(len(Engine))]
    """Bit ``e``: a command of engine ``e`` is done."""
    busy: Annotated[Signal, Out(len(Engine))]
    """Bit ``e``: it has a command that has its tokens."""
    waiting: Annotated[Signal, Out(len(Engine))]
    """Bit ``e``: it has none, and its next one waits for tokens."""
    moving: Annotated[Signal, Out(1)]
    """A word or a command has moved on. From a register."""
    finished: Annotated[Signal, Out(1)]
    """END was reached, and all engines' commands are done."""

    def __init__(self, config: AcceleratorConfig) -> None:
        self.config = config
        super().__init__()

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.fetch = fetch = CommandFetch(self.config)
        m.submodules.decoder = decoder = CommandDecoder(self.config)
        connect(m, fetch.memory, flipped(self.memory))
        connect(m, fetch.words, decoder.words)
        m.d.comb += [
            fetch.start.eq(self.start),
            fetch.address.eq(self.address),
            fetch.length.eq(self.length),
            decoder.exhausted.eq(fetch.exhausted),
            self.number.eq(decoder.number),
        ]
        idle = self._engines(m, decoder)
        self._constants(m, decoder)
        self._report(m, decoder)
        m.d.sync += [
            self.finished.eq(decoder.ended & idle.all()),
            self.moving.eq((decoder.words.valid & decoder.words.ready) | self.done.any()),
        ]
        return m

    def _engines(self, m: Module, decoder: CommandDecoder) -> Value:
        """Connect the engines' queues; return which have nothing left to do."""
        m.submodules.tokens = tokens = Tokens()
        idle = []
        for number, engine in enumerate((self.mover, self.matrix, self.vector)):
            queue = CommandQueue(self.config, *(COMMANDS[opcode] for opcode in QUEUES[number]))
            m.submodules[f"{Engine(number).name.lower()}_queue"] = queue
            connect(m, decoder.queues[number], queue.words)
            connect(m, queue.engine, flipped(engine.command))
            m.d.comb += [
                queue.last.eq(decoder.last),
                queue.done.eq(engine.done),
                tokens.wait[number].eq(queue.wait),
                tokens.request[number].eq(queue.request),
                tokens.give[number].eq(queue.give),
                queue.grant.eq(tokens.grant[number]),
                self.index[number].eq(queue.index),
                self.done[number].eq(engine.done),
                self.busy[number].eq(queue.busy),
                self.waiting[number].eq(queue.waiting),
            ]
            idle.append(queue.idle)
        return Cat(idle)

    def _constants(self, m: Module, decoder: CommandDecoder) -> None:
        """Connect the fetchers' queues, which run ahead as far as they can."""
        for name, number, port, index in (
            ("weights", 3, self.weights, self.weights_index),
            ("parameters", 4, self.parameters, self.parameters_index),
        ):
            (opcode,) = QUEUES[number]
            assembler = CommandAssembler(self.config, COMMANDS[opcode])
            m.submodules[f"{name}_queue"] = assembler
            connect(m, decoder.queues[number], assembler.words)
            connect(m, assembler.o, flipped(port))
            m.d.comb += assembler.last.eq(decoder.last)
            with m.If(port.valid & port.ready):
                m.d.sync += index.eq(port.payload.index)

    def _report(self, m: Module, decoder: CommandDecoder) -> None:
        """Put the faults together; the sequencer's own comes first."""
        engines = (self.mover, self.matrix, self.vector)
        sources = [
            (decoder.error.valid, decoder.error.code, SEQUENCER, decoder.error.index),
            *(
                (engine.fault, engine.code, number, self.index[number])
                for number, engine in enumerate(engines)
            ),
            (self.weights_fault, ErrorCode.ADDRESS, WEIGHTS_NUMBER, self.weights_index),
            (self.parameters_fault, ErrorCode.ADDRESS, PARAMETERS_NUMBER, self.parameters_index),
        ]
        for number, (valid, code, engine, index) in enumerate(sources):
            fault = self.faults[number]
            m.d.comb += [
                fault.valid.eq(valid),
                fault.error.code.eq(code),
                fault.error.engine.eq(engine),
                fault.error.index.eq(index),
            ]
