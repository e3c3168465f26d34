"""The matrix engine's second part: vectors from the scratchpad, filled outside of the tensor."""

from typing import Annotated, Any

from amaranth.hdl import Const, Module, Mux, Signal, Value, signed, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect

from eightfold.hw.blocks.component import Component
from eightfold.hw.blocks.credit import CreditQueue
from eightfold.hw.blocks.layouts import activation_layout
from eightfold.hw.blocks.skid import Skid
from eightfold.hw.matrix.walk import control_layout, walk_layout
from eightfold.hw.ports import local_address, scratchpad_read
from eightfold.isa import LOCAL_BITS
from eightfold.target.config import AcceleratorConfig


def tail_layout(config: AcceleratorConfig) -> data.StructLayout:
    """Return what waits for a vector's bytes: those from ``low`` up to ``high`` are inside."""
    return data.StructLayout(
        {
            "low": range(config.width + 1),
            "high": range(config.width + 1),
            "fill": unsigned(8),
            "control": control_layout(config),
        }
    )


def request_layout(config: AcceleratorConfig) -> data.StructLayout:
    """Return a vector to be read."""
    return data.StructLayout(
        {"address": local_address(config), "tail": tail_layout(config), "final": unsigned(1)}
    )


class MatrixOperands(Component):
    """Read vectors, replace what is outside of the tensor, and hand them to the MAC array.

    Byte ``d`` is inside if ``0 <= column + d < columns`` and ``0 <= number < rows``, and not in the
    lead. A vector that is all fill is read as well, and its bytes are dropped.

    Timing
    ------
    One vector per cycle while reads are granted, as many as `DEPTH` between a request and the MAC
    array. All streams' ``ready`` come from registers, but that of the queue's output.

    Parameters
    ----------
    config
        ``width``, ``scratchpad``, and the sizes of an activation.
    """

    DEPTH = 16
    """Vectors under way; at least the cycles from a request to the queue's output, and two."""

    i: Annotated[stream.Interface, lambda self: In(stream.Signature(walk_layout(self.config)))]
    """Vectors to be read."""
    read: Annotated[Any, lambda self: Out(scratchpad_read(self.config))]
    """The port that reads the scratchpad."""
    activations: Annotated[
        stream.Interface, lambda self: Out(stream.Signature(activation_layout(self.config)))
    ]
    """To the MAC array."""
    finished: Annotated[Signal, Out(1)]
    """The read of a command's last vector is granted."""

    def __init__(self, config: AcceleratorConfig) -> None:
        self.config = config
        super().__init__()

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.requests = requests = Skid(request_layout(self.config))
        m.submodules.tails = tails = CreditQueue(tail_layout(self.config), self.DEPTH)
        queue = CreditQueue(activation_layout(self.config), self.DEPTH)
        m.submodules.queue = queue
        connect(m, queue.o, wiring.flipped(self.activations))
        self._locate(m, requests.i)
        granted = Signal()
        ask = self.read.request
        m.d.comb += [
            # A place in the queue stays there until it is taken, so valid does not drop.
            ask.valid.eq(requests.o.valid & queue.available),
            ask.payload.eq(requests.o.payload.address),
            granted.eq(ask.valid & ask.ready),
            requests.o.ready.eq(ask.ready & queue.available),
            self.finished.eq(granted & requests.o.payload.final),
            queue.take.eq(granted),
            # There are never more tails than places in the queue, and each is there before its
            # bytes are.
            tails.take.eq(granted),
            tails.push.eq(granted),
            tails.push_data.eq(requests.o.payload.tail),
            tails.o.ready.eq(self.read.valid),
        ]
        self._fill(m, tails.o.payload, queue)
        return m

    def _locate(self, m: Module, requests: stream.Interface) -> None:
        """Work out the address, and where the tensor begins and ends within the vector."""
        valid = Signal()
        accept = Signal()
        at = self.i.payload
        address = Signal(local_address(self.config), reset_less=True)
        before = Signal(range(self.config.width + 1), reset_less=True)
        beyond = Signal(signed(LOCAL_BITS + 1), reset_less=True)
        outside = Signal(reset_less=True)
        fill = Signal(8, reset_less=True)
        final = Signal(reset_less=True)
        control = Signal(control_layout(self.config), reset_less=True)
        m.d.comb += [accept.eq(requests.ready | ~valid), self.i.ready.eq(accept)]
        with m.If(accept):
            m.d.sync += [
                valid.eq(self.i.valid),
                address.eq(at.row + at.column),
                before.eq(self._before(at.column)),
                beyond.eq(at.columns - at.column),
                outside.eq(at.lead | (at.number < 0) | (at.number >= at.rows)),
                fill.eq(at.fill),
                final.eq(at.final),
                control.eq(at.control),
            ]
        tail = requests.payload.tail
        m.d.comb += [
            requests.valid.eq(valid),
            requests.payload.address.eq(address),
            requests.payload.final.eq(final),
            tail.low.eq(before),
            tail.high.eq(Mux(outside, 0, self._clamp(beyond))),
            tail.fill.eq(fill),
            tail.control.eq(control),
        ]

    def _before(self, column: Value) -> Value:
        """Return -column limited to 0 and the width, without a carry through all bits."""
        width = self.config.width
        bits = (width - 1).bit_length()
        distance = (-column[:bits])[:bits]
        near = column[bits:].all() & (distance != 0) & (distance < width)
        return Mux(column < 0, Mux(near, distance, width), 0)

    def _clamp(self, value: Signal) -> Value:
        """Return a signed number limited to 0 and the width."""
        width = self.config.width
        return Mux(value < 0, 0, Mux(value >= width, width, value[: width.bit_length()]))

    def _fill(self, m: Module, tail: data.View, queue: CreditQueue) -> None:
        """Register the bytes that came, and push them with those outside replaced."""
        config = self.config
        layout = activation_layout(self.config)
        word, filled = (
            data.View(layout, Signal(layout.size, name=name, reset_less=True))
            for name in ("word", "filled")
        )
        fill = Signal(8, reset_less=True)
        inside = Signal(config.width, reset_less=True)
        ones = Const((1 << config.width) - 1, config.width)
        m.d.sync += [
            queue.push.eq(self.read.valid),
            fill.eq(tail.fill),
            inside.eq((ones << tail.low) & ~(ones << tail.high)),
        ]
        m.d.comb += queue.push_data.eq(filled)
        for name, _ in control_layout(config):
            m.d.sync += word[name].eq(tail.control[name])
            m.d.comb += filled[name].eq(word[name])
        for d in range(config.width):
            m.d.sync += word.bytes[d].eq(self.read.data[d])
            m.d.comb += filled.bytes[d].eq(Mux(inside[d], word.bytes[d], fill))
