"""What a host and a board agree on: frames on the line between them, and addresses of the bus.

`eightfold.boards.bridge` says what frames mean. A processor sees the same addresses.
"""

import struct
import zlib

DESCRIPTION = 0x10000000
"""Of what a board says of itself to a host, in words: `MAGIC`, the clock in Hz, bytes of memory, a
number, and so many times an address, a value to write there, and clock cycles to wait: in this
order they make memory ready."""

MAGIC = int.from_bytes(b"8FBD", "big")

MAIN_RAM = 0x40000000
"""Of memory."""

REGISTERS = 0x80000000
"""Of the accelerator's registers: processors of LiteX do not cache from there on."""

READ, WRITE = 0, 1
"""Operations."""

DONE, MALFORMED, BUS_ERROR = 0x80, 0x81, 0x82
"""What an answer has in place of one. Of a malformed frame nothing was done, and nothing in its
answer beside this means anything; behind an error of the bus words may have been written."""

LIMIT = 128
"""Words of data in a frame, at most."""

END, ESCAPE = 0xC0, 0xDB
ESCAPES = {END: 0xDC, ESCAPE: 0xDD}
"""What follows `ESCAPE` in place of a byte."""


def encode(operation: int, words: int, sequence: int, address: int, data: bytes = b"") -> bytes:
    """Return the bytes on the line; an `END` goes before it, which ends what was lost there."""
    message = struct.pack("<BBHI", operation, words, sequence, address) + data
    message += struct.pack("<I", zlib.crc32(message))
    end, escape = bytes([END]), bytes([ESCAPE])
    message = message.replace(escape, bytes([ESCAPE, ESCAPES[ESCAPE]]))
    return end + message.replace(end, bytes([ESCAPE, ESCAPES[END]])) + end


def decode(frame: bytes) -> tuple[int, int, int, int, bytes] | None:
    """Return what `encode` has taken from the bytes between two `END`; None if they are damaged."""
    message = frame.replace(bytes([ESCAPE, ESCAPES[END]]), bytes([END]))
    message = message.replace(bytes([ESCAPE, ESCAPES[ESCAPE]]), bytes([ESCAPE]))
    if len(message) < 12 or zlib.crc32(message[:-4]) != int.from_bytes(message[-4:], "little"):
        return None
    return (*struct.unpack("<BBHI", message[:8]), message[8:-4])
