"""A host's way in over a line that may lose, double or change bytes: frames with a checksum.

A frame stands between bytes `END`, which RFC 1055 (SLIP) keeps out of it by `ESCAPE`. It has words
of 32 bits, the lowest byte first: the head (operation, words of data, 16 bits of sequence number),
a byte address, data, and the CRC-32 of `zlib.crc32` over all of these. Each frame gets an answer of
the same form, whose operation says what came of it, and which has the data of a read.

Nothing of a frame reaches the bus before its checksum is right. The host waits for an answer before
it asks for something else, and may repeat a request: a write of the same head as the one that was
performed last is answered, and not performed again. Any read ends that, so a host begins with one.
"""

# Migen makes attributes that are assigned to by what is added to them.
# pyright: reportOperatorIssue=false

import zlib
from functools import reduce
from operator import xor
from typing import Any

from litex.gen import (
    FSM,
    Case,
    Cat,
    If,
    LiteXModule,
    Memory,
    Mux,
    NextState,
    NextValue,
    Replicate,
    Signal,
)
from litex.soc.interconnect import stream, wishbone

from eightfold.boards import protocol

PATIENCE = 1 << 16
"""Clock cycles that a slave may take."""

_ONES = 0xFFFFFFFF
_RESIDUE = zlib.crc32(bytes(4)) ^ _ONES
"""The register behind any message and its CRC."""


def crc_step(crc: Any, byte: Any) -> Any:
    """Return the register of CRC-32 a byte later; it begins with all ones, and ends inverted."""
    index = crc[:8] ^ byte
    lines = [zlib.crc32(bytes([1 << bit]), _ONES) ^ _ONES for bit in range(8)]
    return reduce(xor, (Replicate(index[bit], 32) & lines[bit] for bit in range(8)), crc[8:])


class Bridge(LiteXModule):
    """Frames of a stream of bytes to a bus.

    ``sink``, ``source``: bytes of the host, and for it. Those that come while an answer is on its
    way are lost. ``bus``: Wishbone, a master of whole words.
    """

    def __init__(self) -> None:
        self.sink = sink = stream.Endpoint([("data", 8)])
        self.source = source = stream.Endpoint([("data", 8)])
        bus: Any = wishbone.Interface(data_width=32, address_width=32, addressing="word")
        self.bus = bus
        memory = Memory(32, 2 * protocol.LIMIT)
        port: Any = memory.get_port(write_capable=True)
        self.specials += memory, port

        head, address, word, crc = Signal(32), Signal(32), Signal(32), Signal(32, reset=_ONES)
        operation, words = head[:8], head[8:16]
        performed, known = Signal(32), Signal()  # the head of a write, if it was the last access
        status = Signal(8)
        count, escaped = Signal(12), Signal()  # bytes of a frame
        index, last = Signal(9), Signal(9)  # of a word
        wait = Signal(max=PATIENCE)
        written = Mux(operation == protocol.WRITE, words, 0)
        right = Signal()
        self.comb += right.eq(
            (crc == _RESIDUE)
            & (count == ((written + 3) << 2))
            & ((operation == protocol.READ) | (operation == protocol.WRITE))
            & (words != 0)
            & (words <= protocol.LIMIT)
        )
        answered = Mux((status == protocol.DONE) & (operation == protocol.READ), words, 0)

        self.fsm = fsm = FSM(reset_state="RECEIVE")
        byte = Signal(8)
        self.comb += [
            byte.eq(sink.data),
            If(escaped, Case(sink.data, {to: byte.eq(of) for of, to in protocol.ESCAPES.items()})),
        ]
        fsm.act(
            "RECEIVE",
            sink.ready.eq(1),
            port.adr.eq(count[2:] - 2),
            port.dat_w.eq(Cat(word[8:], byte)),
            NextValue(index, 0),
            NextValue(wait, 0),
            If(
                sink.valid & (sink.data == protocol.END),
                NextValue(count, 0),
                NextValue(escaped, 0),
                NextValue(crc, _ONES),
                If(
                    right & ~(known & (performed == head)),
                    NextState("FETCH"),
                ).Elif(
                    count != 0,
                    NextValue(status, Mux(right, protocol.DONE, protocol.MALFORMED)),
                    NextState("LOAD"),
                ),
            )
            .Elif(sink.valid & (sink.data == protocol.ESCAPE) & ~escaped, NextValue(escaped, 1))
            .Elif(
                sink.valid,
                NextValue(escaped, 0),
                NextValue(word, Cat(word[8:], byte)),
                NextValue(crc, crc_step(crc, byte)),
                If(count[2:] < 2 * protocol.LIMIT, NextValue(count, count + 1)),
                If(
                    count[:2] == 3,
                    Case(
                        count[2:],
                        {
                            0: NextValue(head, Cat(word[8:], byte)),
                            1: NextValue(address, Cat(word[8:], byte)),
                            "default": port.we.eq(count[2:] < 2 * protocol.LIMIT),
                        },
                    ),
                ),
            ),
        )
        fsm.act("FETCH", port.adr.eq(index), NextState("ACCESS"))
        expired = wait == PATIENCE - 1
        fsm.act(
            "ACCESS",
            port.adr.eq(index),
            port.dat_w.eq(bus.dat_r),
            port.we.eq(bus.ack & (operation == protocol.READ)),
            bus.cyc.eq(1),
            bus.stb.eq(1),
            bus.we.eq(operation == protocol.WRITE),
            bus.sel.eq(15),
            bus.adr.eq(address[2:] + index),
            bus.dat_w.eq(port.dat_r),
            NextValue(wait, wait + 1),
            NextValue(known, 0),
            If(
                bus.err | expired,
                NextValue(status, protocol.BUS_ERROR),
                NextValue(index, 0),
                NextState("LOAD"),
            ).Elif(
                bus.ack,
                NextValue(wait, 0),
                NextValue(index, index + 1),
                NextState("FETCH"),
                If(
                    index == words - 1,
                    NextValue(status, protocol.DONE),
                    NextValue(performed, head),
                    NextValue(known, operation == protocol.WRITE),
                    NextValue(index, 0),
                    NextState("LOAD"),
                ),
            ),
        )
        self.comb += last.eq(answered + 2)
        fsm.act("LOAD", port.adr.eq(index - 2), NextState("PICK"))
        fsm.act(
            "PICK",
            Case(
                index,
                {
                    0: NextValue(word, Cat(status, head[8:])),
                    1: NextValue(word, address),
                    "default": NextValue(word, Mux(index == last, ~crc, port.dat_r)),
                },
            ),
            NextState("SEND"),
        )
        special = (word[:8] == protocol.END) | (word[:8] == protocol.ESCAPE)
        fsm.act(
            "SEND",
            source.valid.eq(1),
            source.data.eq(word[:8]),
            If(special & ~escaped, source.data.eq(protocol.ESCAPE)),
            If(
                escaped,
                Case(word[:8], {of: source.data.eq(to) for of, to in protocol.ESCAPES.items()}),
            ),
            If(
                source.ready & special & ~escaped,
                NextValue(escaped, 1),
            ).Elif(
                source.ready,
                NextValue(escaped, 0),
                NextValue(crc, crc_step(crc, word[:8])),
                NextValue(word, word[8:]),
                NextValue(count, count + 1),
                If(
                    count[:2] == 3,
                    NextValue(index, index + 1),
                    NextState("LOAD"),
                    If(index == last, NextState("END")),
                ),
            ),
        )
        fsm.act(
            "END",
            source.valid.eq(1),
            source.data.eq(protocol.END),
            NextValue(count, 0),
            NextValue(crc, _ONES),
            If(source.ready, NextState("RECEIVE")),
        )
