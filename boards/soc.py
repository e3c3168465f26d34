"""Systems around the accelerator in LiteX; a board gives them its platform, clock and memory."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from litedram.modules import SDRAMModule
from litex.soc.integration.soc_core import SoCCore, SoCMini

from eightfold.boards.module import Eightfold, add_accelerator

MAIN_RAM = 0x40000000
"""Where a host, a processor and the accelerator see memory."""

REGISTERS = 0x80000000
"""Where they see the accelerator's registers: processors of LiteX do not cache from there on."""


class BlockRam(NamedTuple):
    """Memory in the FPGA's own RAM, on the bus."""

    size: int


class Dram(NamedTuple):
    """Memory behind LiteDRAM's controller: its PHY, and the chip with its timing."""

    phy: object
    chip: SDRAMModule


Memory = BlockRam | Dram


def add_memory(soc: SoCCore, memory: Memory, verilog: Path | str) -> Eightfold:
    """Put memory as ``main_ram``, and an accelerator that uses it, into a SoC."""
    if isinstance(memory, BlockRam):
        soc.add_ram("main_ram", origin=MAIN_RAM, size=memory.size)
        return add_accelerator(soc, verilog, origin=REGISTERS)
    soc.add_module(name="sdrphy", module=memory.phy)
    soc.add_sdram(
        "sdram", phy=memory.phy, module=memory.chip, origin=MAIN_RAM, l2_cache_size=0
    )  # the accelerator would not see what is in a cache of the bus
    return add_accelerator(soc, verilog, origin=REGISTERS, dram=soc.sdram)


class HostedSoC(SoCMini):
    """Memory, the accelerator and a way in for a host, without a processor.

    Parameters
    ----------
    platform, crg
        The board's, and what makes the clock domain ``sys`` of ``clk_freq`` Hz on it.
    memory
        What becomes ``main_ram``.
    verilog
        Of the accelerator.
    add_link
        Puts a master on the SoC's bus that a host moves, at pins of the platform.
    """

    def __init__(
        self,
        platform,
        crg,
        clk_freq: int,
        memory: Memory,
        verilog: Path | str,
        add_link: Callable[[SoCCore], None],
    ) -> None:
        super().__init__(platform, clk_freq, ident="", ident_version=False)
        self.crg = crg
        add_link(self)
        add_memory(self, memory, verilog)
