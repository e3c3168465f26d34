"""Writes to the AXI4 memory port."""

from typing import Annotated, Any

from amaranth.hdl import Module, Mux, Signal, Value, unsigned
from amaranth.lib import data
from amaranth.lib.wiring import In, Out, connect

from eightfold.hw.blocks.component import Component
from eightfold.hw.blocks.credit import CreditQueue
from eightfold.hw.blocks.fifo import Fifo
from eightfold.hw.blocks.skid import Skid, Stage
from eightfold.hw.memory.axi import OKAY, address_layout, axi_write, drive_address_constants
from eightfold.hw.ports import BURST, memory_write
from eightfold.target.config import AcceleratorConfig


def beat_layout(config: AcceleratorConfig) -> data.StructLayout:
    """Return a beat to write, as in `eightfold.hw.ports.memory_write`."""
    return data.StructLayout({"data": unsigned(8 * config.port), "strobe": unsigned(config.port)})


class MemoryWriter(Component):
    """Write the bursts of a client through AXI4's write channels, in order, all with ID 0.

    A burst is offered to memory only when all its beats are in the queue of `BEATS` beats: what
    has begun can be completed whatever the client does.

    Timing
    ------
    A beat per cycle. A burst's address is offered 2 cycles after its last beat and its request are
    there; its beats leave from then on, behind those of earlier bursts, and do not wait for
    ``awready``. Bursts wait while `OUTSTANDING` of them are unanswered, or while ``stop``. All
    outputs on ``axi`` come from registers; ``beats.ready`` does too, and ``request.ready`` depends
    on the request's length.

    Parameters
    ----------
    config
        ``port``.
    """

    BEATS = 4 * BURST
    """Beats that wait for the rest of their burst, or for memory."""

    OUTSTANDING = 16
    """Bursts begun and not yet answered, at most."""

    client: Annotated[Any, lambda self: In(memory_write(self.config))]
    """Who writes."""
    axi: Annotated[Any, lambda self: Out(axi_write(self.config))]
    """The write channels."""
    stop: Annotated[Signal, In(1)]
    """No burst is begun. Those begun, two of which may still wait for ``awready``, are
    completed, because AXI4 knows no way back."""
    idle: Annotated[Signal, Out(1)]
    """All bursts begun are answered, and the client knows: with ``stop``, the writer may be
    reset together with its client. Beats of bursts not begun then vanish."""
    error: Annotated[Signal, Out(1)]
    """For one cycle, together with ``client.answered``: memory has answered with an error."""

    def __init__(self, config: AcceleratorConfig) -> None:
        self.config = config
        super().__init__()

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.addresses = addresses = Skid(address_layout())
        begun = self._begin(m, addresses)
        request = self.client.request.payload
        drive_address_constants(m, self.axi, "aw", self.config.port)
        m.d.comb += [
            addresses.i.payload.address.eq(request.address),
            addresses.i.payload.length.eq(request.beats - 1),
            self.axi.awvalid.eq(addresses.o.valid),
            addresses.o.ready.eq(self.axi.awready),
            self.axi.awaddr.eq(addresses.o.payload.address),
            self.axi.awlen.eq(addresses.o.payload.length),
        ]
        self._send(m, begun, addresses.i.payload.length)
        return m

    def _begin(self, m: Module, addresses: Skid) -> Signal:
        """Take a request when all its beats are there; return whether one is taken."""
        axi = self.axi
        request = self.client.request
        beats = self.client.beats
        stored = Signal(range(self.BEATS + 1))  # beats that belong to no burst begun
        unanswered = Signal(range(self.OUTSTANDING + 1))
        begun, may_begin = Signal(), Signal()
        m.d.comb += [
            may_begin.eq(
                (stored >= request.payload.beats) & (unanswered != self.OUTSTANDING) & ~self.stop
            ),
            request.ready.eq(addresses.i.ready & may_begin),
            addresses.i.valid.eq(request.valid & may_begin),
            begun.eq(request.valid & request.ready),
            axi.bready.eq(1),
            self.idle.eq((unanswered == 0) & ~self.client.answered),
        ]
        stores = beats.valid & beats.ready
        m.d.sync += [
            stored.eq(stored + stores - Mux(begun, request.payload.beats, 0)),
            unanswered.eq(unanswered + begun - axi.bvalid),
            self.client.answered.eq(axi.bvalid),
            self.error.eq(axi.bvalid & (axi.bresp != OKAY)),
        ]
        return begun

    def _send(self, m: Module, begun: Signal, length: Value) -> None:
        """Queue the beats, and send those of the bursts begun."""
        axi = self.axi
        beats = self.client.beats
        bits = len(length)
        m.submodules.lengths = lengths = Fifo(unsigned(bits), self.OUTSTANDING)
        m.submodules.queue = queue = CreditQueue(beat_layout(self.config), self.BEATS)
        m.submodules.stage = stage = Stage(beat_layout(self.config))
        m.submodules.output = output = Skid(
            data.StructLayout({"beat": beat_layout(self.config), "last": unsigned(1)})
        )
        connect(m, queue.o, stage.i)
        position = Signal(bits)
        last = Signal()
        leaves = Signal()
        m.d.comb += [
            lengths.w_en.eq(begun),
            lengths.w_data.eq(length),
            beats.ready.eq(queue.available),
            queue.take.eq(beats.valid & beats.ready),
            queue.push.eq(queue.take),
            queue.push_data.eq(beats.payload),
            last.eq(position == lengths.r_data),
            leaves.eq(stage.o.valid & lengths.r_rdy & output.i.ready),
            stage.o.ready.eq(lengths.r_rdy & output.i.ready),
            output.i.valid.eq(stage.o.valid & lengths.r_rdy),
            output.i.payload.beat.eq(stage.o.payload),
            output.i.payload.last.eq(last),
            lengths.r_en.eq(leaves & last),
            axi.wvalid.eq(output.o.valid),
            output.o.ready.eq(axi.wready),
            axi.wdata.eq(output.o.payload.beat.data),
            axi.wstrb.eq(output.o.payload.beat.strobe),
            axi.wlast.eq(output.o.payload.last),
        ]
        with m.If(leaves):
            m.d.sync += position.eq(Mux(last, 0, position + 1))
