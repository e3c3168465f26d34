"""Where a host, a processor and the accelerator see what is on a board's bus."""

DESCRIPTION = 0x10000000
"""Of what a board says of itself to a host, in words: `MAGIC`, the clock in Hz, bytes of memory, a
number, and so many times an address, a value to write there, and clock cycles to wait: in this
order they make memory ready."""

MAGIC = int.from_bytes(b"8FBD", "big")

MAIN_RAM = 0x40000000
"""Of memory."""

REGISTERS = 0x80000000
"""Of the accelerator's registers: processors of LiteX do not cache from there on."""
