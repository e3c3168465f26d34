"""The mover's reader of indices: where in their source the runs of a GATHER lie."""

from typing import Annotated, Any, cast

from amaranth.hdl import Cat, Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from eightfold.hw.blocks.component import Component
from eightfold.hw.blocks.credit import CreditQueue
from eightfold.hw.blocks.delay import delay
from eightfold.hw.blocks.layouts import hdl
from eightfold.hw.blocks.loops import Address, Loops
from eightfold.hw.memory.scratchpad import Scratchpad
from eightfold.hw.ports import local_address, scratchpad_read
from eightfold.isa import ADDRESS_BITS, GATHER, LOCAL_BITS
from eightfold.target.config import AcceleratorConfig

LEVELS = 3
"""Loops of a GATHER."""

INDEX = 8
"""Most bytes of an index."""

DIGIT = 16
"""Bits of a factor that are multiplied at a time; they fit a DSP block."""

_PLACE = exact_log2(INDEX)
"""Bits of a byte's place in the longest index."""


def offset_layout() -> data.StructLayout:
    """Return where a run lies, from where it would lie with an index of 0."""
    return data.StructLayout(
        {
            "offset": unsigned(ADDRESS_BITS),
            "wrong": unsigned(1),  # the index is not in [0, limit)
            "outside": unsigned(1),  # it leaves the scratchpad; the rest has no meaning
        }
    )


def _window(config: AcceleratorConfig) -> int:
    """Return the bytes of a window."""
    return max(INDEX, config.vector)


def _place_layout(config: AcceleratorConfig) -> data.StructLayout:
    return data.StructLayout(
        {
            "address": local_address(config),  # of a window
            "select": range(_window(config)),  # byte at which the index begins
            "outside": unsigned(1),
        }
    )


class Indices(Component):
    """Read the indices of GATHER commands, check them, and multiply them by the step.

    For each run, in loop order, ``offset = n * step`` modulo 2^32. The scratchpad is read in
    windows, which begin at multiples of their size from the address ``indices`` on, and an index
    that lies in the window of the one before needs no read. An index whose distance from
    ``indices`` is no multiple of its own size begins a window of its own.

    Timing
    ------
    One offset per cycle, as far as each does not need another window: these take a read for each
    ``vector`` of their ``max(8, vector)`` bytes. The first one comes `LATENCY` cycles after the
    command's transfer, 1 later where a window takes two reads. Indices are read ahead as far as
    ``offsets`` has room, none before the command's transfer. ``command.ready`` follows
    ``read.request.ready`` combinationally.

    Parameters
    ----------
    config
        ``vector`` and ``scratchpad``.
    """

    PIPELINE = Scratchpad.READ_LATENCY + 7
    """Cycles from a window's last request to the queue: its bytes, the 8 with the index, the 4, the
    index, products, a second register behind these, and two additions."""

    LATENCY = 4 + PIPELINE + CreditQueue.LATENCY
    """Cycles from a command to its first offset."""

    command: Annotated[stream.Interface, In(stream.Signature(hdl(GATHER.layout)))]
    """Comes when all offsets of the one before have left."""
    read: Annotated[Any, lambda self: Out(scratchpad_read(self.config))]
    """Must answer after `eightfold.hw.memory.scratchpad.Scratchpad.READ_LATENCY` cycles."""
    offsets: Annotated[stream.Interface, Out(stream.Signature(offset_layout()))]
    """One for each run, in their order."""

    def __init__(self, config: AcceleratorConfig) -> None:
        self.config = config
        super().__init__()

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.loops = loops = Loops(LEVELS, {"index": Address(LOCAL_BITS, range(LEVELS))})
        depth = self.PIPELINE + CreditQueue.LATENCY + 1  # for one offset per cycle
        m.submodules.queue = queue = CreditQueue(offset_layout(), depth)
        wiring.connect(m, queue.o, wiring.flipped(self.offsets))
        command = self.command.payload
        nest = loops.i.payload
        m.d.comb += [
            loops.i.valid.eq(self.command.valid),
            self.command.ready.eq(loops.i.ready),
            nest["index"].start.eq(command.indices),
            *(nest.counts[k].eq(command[f"count{k}"]) for k in range(LEVELS)),
            *(nest["index"].strides[k].eq(command[f"index_stride{k}"]) for k in range(LEVELS)),
        ]
        kept = self._keep(m)
        goes = Signal()
        m.d.comb += loops.o.ready.eq(goes)
        place, valid = self._locate(m, goes, loops.o, kept)
        arrived, select, outside = self._ask(m, goes, place, valid, queue)
        n, beyond = self._choose(m, select, kept)
        result = cast(data.View, queue.push_data)
        m.d.comb += [
            queue.push.eq(delay(m, arrived, "pushed{}", 7, reset=True)),
            result.offset.eq(self._multiply(m, n, kept.step)),
            result.wrong.eq(delay(m, beyond | (n >= kept.limit), "wrong", 4)),
            result.outside.eq(delay(m, outside, "outside", 7)),
        ]
        return m

    def _keep(self, m: Module) -> data.View:
        """Return what of a command its indices need."""
        layout = data.StructLayout(
            {
                "base": range(_window(self.config)),
                "inner": unsigned(_PLACE),  # bits of a byte's place in an index are 1
                "step": unsigned(ADDRESS_BITS),
                "limit": unsigned(ADDRESS_BITS),
            }
        )
        kept = Signal(layout, reset_less=True)
        command = self.command.payload
        # No offset is left of the command before, so the loops are ready.
        with m.If(self.command.valid):
            m.d.sync += [
                kept.base.eq(command.indices),
                kept.inner.eq(Cat(command.index_size > bit for bit in range(_PLACE))),
                kept.step.eq(command.step),
                kept.limit.eq(command.limit),
            ]
        return kept

    def _locate(
        self, m: Module, goes: Value, index: stream.Interface, kept: data.View
    ) -> tuple[data.View, Value]:
        """Return, in the second cycle, the place of an index, and whether there is one."""
        layout = _place_layout(self.config)
        valid = Signal(2)
        first, second = (Signal(layout, name=n, reset_less=True) for n in ("first", "second"))
        address = index.payload["index"]
        bits = len(first.address)
        distance = (address - kept.base)[: len(first.select)]
        alone = (distance[:_PLACE] & kept.inner).any()
        crosses = (address[:_PLACE] + kept.inner)[_PLACE]  # a multiple of 8
        with m.If(goes):
            m.d.sync += [
                valid.eq(Cat(index.valid, valid)),
                first.address.eq(address),
                first.select.eq(Mux(alone, 0, distance)),
                first.outside.eq(address[bits:].any() | (crosses & address[_PLACE:bits].all())),
                second.eq(first),
                second.address.eq(first.address - first.select),
            ]
        return second, valid[1]

    def _ask(
        self, m: Module, goes: Signal, place: data.View, valid: Value, queue: CreditQueue
    ) -> tuple[Value, Value, Value]:
        """Read windows; return whether an index has arrived, its place and ``outside``.

        The indices of a command come without a pause, and between two commands is one.
        """
        asked = Signal(_place_layout(self.config), reset_less=True)
        waits, again, asks, arrives = Signal(), Signal(), Signal(), Signal()
        parts = _window(self.config) // self.config.vector
        request = self.read.request
        part = Signal(range(parts))
        latency = Scratchpad.READ_LATENCY
        m.d.comb += [
            request.valid.eq(asks & queue.available),
            request.payload.eq(asked.address + (part << exact_log2(self.config.vector))),
            arrives.eq(waits & queue.available & (again | (request.ready & (part == parts - 1)))),
            goes.eq(~waits | arrives),
            queue.take.eq(arrives),
        ]
        same = waits & (place.address == asked.address)
        with m.If(request.valid & request.ready):
            m.d.sync += part.eq(part + 1)
        with m.If(goes):
            m.d.sync += [
                asked.eq(place),
                waits.eq(valid),
                again.eq(same),
                # The scratchpad chooses among its readers: what asks begins in a register.
                asks.eq(valid & ~same),
            ]
        return (
            delay(m, arrives, "arrived{}", latency, reset=True),
            delay(m, asked.select, "select", latency),
            delay(m, asked.outside, "outside", latency),
        )

    def _choose(self, m: Module, select: Value, kept: data.View) -> tuple[Value, Value]:
        """Return, three cycles later, an index' low 32 bits, and if it is not these as unsigned."""
        window = Signal(8 * _window(self.config), reset_less=True)
        newest = Cat(window, Value.cast(self.read.data))[-len(window) :]
        current = Mux(self.read.valid, newest, window)
        m.d.sync += window.eq(current)
        whole = delay(m, current.word_select(select[_PLACE:], 8 * INDEX), "whole")
        select = delay(m, select[:_PLACE], "select")
        word = delay(m, whole.word_select(select[2], 32), "word")
        upper = delay(m, whole[32:].any(), "upper")
        select = delay(m, select[:2], "select")
        half = word.word_select(select[1], 16)
        byte = half.word_select(select[0], 8)
        inner = kept.inner
        low = Cat(byte, Mux(inner[0], half[8:], byte[-1].replicate(8)))
        n = Cat(low, Mux(inner[1], word[16:], low[-1].replicate(16)))
        beyond = Mux(inner[2], upper, n[-1])
        return delay(m, n, "n"), delay(m, beyond, "beyond")

    def _multiply(self, m: Module, n: Value, step: Value) -> Value:
        """Return, four cycles later, the product modulo 2^32."""
        low = n[:DIGIT]
        step_low = step[:DIGIT]
        # A second register: the way from a DSP block to the adders takes a cycle of its own.
        product = delay(m, low * step_low, "product", 2)
        upper, lower = (
            delay(m, part[:DIGIT], "product", 2)
            for part in (n[DIGIT:] * step_low, low * step[DIGIT:])
        )
        cross = delay(m, (upper + lower)[:DIGIT], "cross")
        product = delay(m, product, "low")
        return delay(m, Cat(product[:DIGIT], (product[DIGIT:] + cross)[:DIGIT]), "offset")
