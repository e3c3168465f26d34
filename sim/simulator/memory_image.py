"""Memory of the simulated system: regions, places, hex files, settings; and its events.

What both the process that asks and the bench in the simulator need, and nothing that loads slowly.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from eightfold.target.memory import MemoryTiming

CHANNELS = ("ar", "r", "aw", "w", "b")
"""AXI's channels, the keys of ``stall``, in the order of sim/verilog/axi_memory.v."""

END, SAMPLE, WORK = -1, -2, -3
"""In place of an engine's number, of the event that ends a run; of one that only has the counters;
of one of an engine that begins to work, whose number is in the place of the command's."""

LINES = {"end": END, "sample": SAMPLE, "work": WORK}
"""What sim/verilog/trace_monitor.v calls them."""

SIZE = 1 << 24
"""Bytes of the simulated memory."""

PAGE = 4096


@dataclass(frozen=True)
class Region:
    """Bytes ``start`` to ``stop``, counted from the memory's begin."""

    start: int
    stop: int

    @property
    def part(self) -> slice:
        """The region as an index."""
        return slice(self.start, self.stop)


class MemoryImage:
    """The memory's contents: regions on pages of their own, random bytes everywhere else.

    ``rng``: of the places and of the bytes that nobody should read or write. ``sizes``: bytes of
    each region, by name; they are placed in a random order.

    ``base``: address of byte 0, a random multiple of ``SIZE`` within 32 bits. ``contents``: uint8,
    whole pages, with one or two pages of random bytes around every region. Raises ValueError if the
    regions are larger than the memory.
    """

    def __init__(self, rng: np.random.Generator, sizes: Mapping[str, int]) -> None:
        self.base = SIZE * int(rng.integers(1, (1 << 32) // SIZE))
        self.regions: dict[str, Region] = {}
        end = 0
        for name in rng.permutation(list(sizes)).tolist():
            start = end + PAGE * int(rng.integers(1, 3))
            self.regions[name] = Region(start, start + sizes[name])
            end = -(-(start + sizes[name]) // PAGE) * PAGE
        end += PAGE
        if end > SIZE:
            raise ValueError(f"regions of {end} bytes with gaps; the memory has {SIZE}")
        self.contents = rng.integers(0, 256, end, dtype=np.uint8)

    def address(self, name: str, offset: int = 0) -> int:
        """Return the address of a byte of a region."""
        return self.base + self.regions[name].start + offset

    def place(self, name: str, contents: bytes, offset: int = 0) -> None:
        """Put bytes into a region. Raises ValueError if they do not fit."""
        region = self.regions[name]
        start = region.start + offset
        if offset < 0 or start + len(contents) > region.stop:
            raise ValueError(f"{len(contents)} bytes at {offset} are not within {name}")
        self.contents[start : start + len(contents)] = np.frombuffer(contents, np.uint8)

    def changed_outside(self, found: NDArray[np.uint8], *names: str) -> NDArray[np.intp]:
        """Return the places, outside of some regions, where the memory is not as it was."""
        differs = found != self.contents
        for name in names:
            differs[self.regions[name].part] = False
        return np.flatnonzero(differs)


def write_hex(path: Path, port: int, parts: Mapping[int, bytes]) -> None:
    """Write bytes for ``$readmemh`` into words of ``port`` bytes.

    ``port``: bytes of a word, the first one lowest. ``parts``: contents by offset, both multiples
    of ``port``.
    """
    with path.open("w", encoding="ascii") as file:
        for offset, contents in parts.items():
            words = np.frombuffer(contents, np.uint8).reshape(-1, port)[:, ::-1]
            file.write(f"@{offset // port:x}\n{words.tobytes().hex(chr(10), port)}\n")


def read_hex(path: Path, port: int) -> NDArray[np.uint8]:
    """Return the bytes of a file that ``$writememh`` has written from word 0 on.

    Raises ValueError if a bit was unknown.
    """
    lines = path.read_text("ascii").splitlines()
    words = "".join(line for line in lines if line and line[0] not in "/@")
    return np.frombuffer(bytes.fromhex(words), np.uint8).reshape(-1, port)[:, ::-1].ravel()


def timing_signals(timing: MemoryTiming, port: int) -> dict[str, int]:
    """Return the values of the inputs of sim/verilog/axi_memory.v that say how long it takes."""
    return {
        "latency": timing.latency,
        "shared": int(timing.shared),
        "pace": timing.pace(port),
        "turnaround": timing.turnaround,
        "row_miss": timing.row_miss,
        "row_bits": timing.row.bit_length() - 1,
        "bank_bits": timing.banks.bit_length() - 1,
        "unit_bits": timing.burst.bit_length() - 1,
        "refresh": timing.refresh,
        "refresh_every": timing.refresh_every,
    }
