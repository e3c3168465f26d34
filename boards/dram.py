"""The accelerator's memory port straight at LiteDRAM's controller."""
# Migen makes attributes that are assigned to by what is added to them.
# pyright: reportOperatorIssue=false

from typing import Any

from litedram.common import LiteDRAMNativePort
from litedram.frontend.axi import LiteDRAMAXI2Native
from litex.gen import Case, Cat, If, LiteXModule, Replicate, Signal
from litex.soc.interconnect import stream
from litex.soc.interconnect.axi import AXIInterface

READS = 32
"""Beats that are asked of the controller and have not been taken, at most."""


def add_frontend(dram: Any, axi: AXIInterface, base_address: int) -> LiteXModule:
    """Return LiteDRAM's AXI frontend at a port of a controller, of whatever width.

    Its addresses count from ``base_address`` on. It keeps bursts whole, and answers every access
    with OKAY: addresses behind the memory begin with its first byte again.
    """
    native = dram.crossbar.get_port()
    narrow = (native.data_width // axi.data_width).bit_length() - 1
    wide = (axi.data_width // native.data_width).bit_length() - 1
    port = LiteDRAMNativePort(
        "both", native.address_width + max(narrow, 0) - max(wide, 0), axi.data_width
    )
    module = LiteXModule()
    module.width = (Splitter if axi.data_width > native.data_width else Selector)(port, native)
    module.axi = LiteDRAMAXI2Native(
        axi, port, w_buffer_depth=READS, r_buffer_depth=READS, base_address=base_address
    )
    return module


class Splitter(LiteXModule):
    """A native port of several words of the controller's, one after the other without a pause.

    LiteDRAM's own converter pauses for a cycle in front of each.
    """

    def __init__(self, port: Any, native: Any) -> None:
        words = port.data_width // native.data_width
        number = Signal(max=words)
        last = number == words - 1
        self.comb += [
            port.cmd.connect(native.cmd, omit={"ready", "addr", "last"}),
            native.cmd.addr.eq(Cat(number, port.cmd.addr)),
            native.cmd.last.eq(port.cmd.last & last),
            port.cmd.ready.eq(native.cmd.ready & last),
        ]
        self.sync += If(native.cmd.valid & native.cmd.ready, number.eq(number + 1))
        self.down = stream.StrideConverter(port.wdata.description, native.wdata.description)
        self.up = stream.StrideConverter(native.rdata.description, port.rdata.description)
        self.comb += [
            port.wdata.connect(self.down.sink),
            self.down.source.connect(native.wdata),
            native.rdata.connect(self.up.sink),
            self.up.source.connect(port.rdata),
        ]


class Selector(LiteXModule):
    """A native port of a part of the controller's words: each access is one to the whole word.

    So it moves a part in each cycle, as many as the port can. LiteDRAM's own converter gathers
    parts, and waits for the word of one access before it begins the next.
    """

    def __init__(self, port: Any, native: Any) -> None:
        parts = native.data_width // port.data_width
        bits = parts.bit_length() - 1
        part = port.cmd.addr[:bits] if bits else 0
        accepted = native.cmd.valid & native.cmd.ready
        layout = [("part", max(bits, 1))]
        self.reads = reads = stream.SyncFIFO(layout, 2 * READS)
        self.writes = writes = stream.SyncFIFO(layout, 2 * READS)
        self.comb += [
            native.cmd.valid.eq(port.cmd.valid & reads.sink.ready & writes.sink.ready),
            port.cmd.ready.eq(native.cmd.ready & reads.sink.ready & writes.sink.ready),
            native.cmd.we.eq(port.cmd.we),
            native.cmd.last.eq(port.cmd.last),
            native.cmd.addr.eq(port.cmd.addr[bits:]),
            reads.sink.part.eq(part),
            writes.sink.part.eq(part),
            reads.sink.valid.eq(accepted & ~port.cmd.we),
            writes.sink.valid.eq(accepted & port.cmd.we),
        ]
        size = port.data_width
        enabled = size // 8
        self.comb += [
            native.wdata.valid.eq(port.wdata.valid),
            native.wdata.data.eq(Replicate(port.wdata.data, parts)),
            port.wdata.ready.eq(native.wdata.ready),
            writes.source.ready.eq(native.wdata.ready & native.wdata.valid),
            port.rdata.valid.eq(native.rdata.valid),
            native.rdata.ready.eq(port.rdata.ready),
            reads.source.ready.eq(native.rdata.valid & native.rdata.ready),
            Case(
                reads.source.part,
                {n: port.rdata.data.eq(native.rdata.data[size * n :][:size]) for n in range(parts)},
            ),
            Case(
                writes.source.part,
                {
                    n: native.wdata.we[enabled * n :][:enabled].eq(port.wdata.we)
                    for n in range(parts)
                },
            ),
        ]
