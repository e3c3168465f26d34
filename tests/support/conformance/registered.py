"""Modules behind registers, with and without memory, behind adapters."""

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from eightfold.conformance.adapters.formulas import Formula
from eightfold.conformance.adapters.memory_mapped import MemoryMappedAdapter
from eightfold.conformance.adapters.registers import Array, Memory

KINDS = ("right", "never_answers", "never_done", "error_at_20", "error_at_14", "x_sum")
"""What is odd about the modules of `BUSES`, by number."""


class OnAxi(MemoryMappedAdapter):
    """Adds accumulator and shift."""

    sources = ("registers.v",)
    top = "on_axi"
    clock = "ACLK"
    reset, reset_active = "ARESETN", 0
    bus = "axi4-lite"
    writes: ClassVar[Mapping[int | Array, Formula]] = {0x10: "accumulator", 0x14: "shift"}
    start = (0x00, 1)
    done = (0x04, 1)
    acknowledge = (0x04, 1)
    results: ClassVar[Mapping[str, int | str | Array]] = {"result": "0x20[7:0]"}
    patience = 300

    def __init__(self, folder: Path, kind: str = "right") -> None:
        file = folder / "kind.hex"
        file.write_text(f"{KINDS.index(kind):x}\n")
        self.files = [file]


class OnApb(OnAxi):
    """The same behind APB."""

    top = "on_apb"
    clock = "pclk"
    reset = "presetn"
    bus = "apb"


class OnWishbone(OnAxi):
    """The same behind Wishbone, whose addresses count words."""

    top = "on_wishbone"
    clock = "clk_i"
    reset, reset_active = "rst_i", 1
    bus = "wishbone"
    writes: ClassVar[Mapping[int | Array, Formula]] = {0x4: "accumulator", 0x5: "shift"}
    done = acknowledge = (0x01, 1)
    results: ClassVar[Mapping[str, int | str | Array]] = {"result": "0x8[7:0]"}


BUSES: dict[str, type[OnAxi]] = {"axi4-lite": OnAxi, "apb": OnApb, "wishbone": OnWishbone}
"""By bus."""


class Windowed(OnApb):
    """Adds a list of 16 bytes too: a number for each register, or four in one."""

    unit = "dot"
    setup: ClassVar[Mapping[int, int]] = {0x00: 2}
    writes: ClassVar[Mapping[int | Array, Formula]] = {
        0x10: "bias",
        0x14: "length",
        Array(0x40, bits=8): lambda columns: columns["inputs"][:, :16],
    }
    results: ClassVar[Mapping[str, int | str | Array]] = {"result": 0x20}


BASE = 0x4000_0000


def fetching(port: str, *, batch: int, size: int = 4096) -> MemoryMappedAdapter:
    """Return a module that adds accumulator and shift in a memory behind a port."""
    memory = Memory(
        port=port,  # pyright: ignore[reportArgumentType]
        prefix={"axi4": "m_axi_", "wishbone": "m_", "sram": "mem_"}[port],
        base=BASE,
        size=size,
        writes={
            Array(BASE + 16, bits=32, stride=8): "accumulator",
            Array(BASE + 20, bits=32, stride=8): "shift",
        },
        results={"result": Array(BASE + size // 2 + 3, bits=8)},
        latency=1 if port == "sram" else 5,
        word_addresses=port == "wishbone",
    )

    class Fetching(MemoryMappedAdapter):
        """Reads and writes by itself."""

        sources = (Path(__file__).with_name("fetching.v"),)
        top = {"axi4": "fetching_axi", "wishbone": "fetching_wishbone", "sram": "fetching_sram"}[
            port
        ]
        reset = "rst"
        bus = "apb"
        writes: ClassVar[Mapping[int | Array, Formula]] = {
            0x0: BASE + 16,
            0x4: BASE + size // 2 + 3,
            0x8: "count",
        }
        start = (0xC, 1)
        done = (0xC, 1)
        patience = 20_000

    adapter = Fetching()
    adapter.memory, adapter.batch = memory, batch
    return adapter
