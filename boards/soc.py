"""Systems around the accelerator in LiteX; a board gives them its platform, clock and memory."""
# Migen makes attributes that are assigned to by what is added to them.
# pyright: reportOperatorIssue=false

import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from litedram.init import get_sdram_phy_init_sequence
from litedram.modules import SDRAMModule
from litex.soc.cores.uart import RS232PHY
from litex.soc.integration.soc_core import SoCCore, SoCMini

from eightfold.boards.bridge import Bridge
from eightfold.boards.module import Eightfold, add_accelerator
from eightfold.boards.protocol import DESCRIPTION, MAGIC, MAIN_RAM, REGISTERS

_DESCRIPTION_BYTES = 1024

_BITS = {"SEL": 1, "CKE": 2, "ODT": 4, "RESET_N": 8, "CS": 1, "WE": 2, "CAS": 4, "RAS": 8}
"""Of LiteDRAM's registers dfii_control, then dfii_pi0_command."""


_COMMENT = re.compile(r"^ *//[^\n]*\n|/\*.*?\*/", re.M | re.S)


T = TypeVar("T")


def elaborate(make: Callable[[], T]) -> T:
    """Return what ``make`` returns, whose signals are called the same whoever calls this.

    Migen calls signals after the variables of everybody up the stack. A thread has a stack of its
    own: so the same SoC is the same Verilog, and what was made of it is found again.
    """
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(make).result()


def without_comments(verilog: str) -> str:
    """Return Verilog of LiteX without its comments: when it was written, and of which commit."""
    return _COMMENT.sub("", verilog)


class BlockRam(NamedTuple):
    """Memory in the FPGA's own RAM, on the bus."""

    size: int


class Dram(NamedTuple):
    """Memory behind LiteDRAM's controller: its PHY, and the chip with its timing."""

    phy: Any
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
    """Memory, the accelerator, and a `Bridge` for a host at the pins ``serial``; no processor.

    ``platform``, ``crg``: the board's, and what makes the clock domain ``sys`` of ``clk_freq`` Hz
    on it; ``memory``: what becomes ``main_ram``; ``verilog``: of the accelerator; ``baud``: bits
    per second of the host's line.
    """

    def __init__(
        self, platform, crg, clk_freq: int, memory: Memory, verilog: Path | str, baud: int
    ) -> None:
        super().__init__(platform, clk_freq, ident="", ident_version=False)
        self.crg = crg
        self.serial = RS232PHY(platform.request("serial"), clk_freq, baud)
        self.bridge = Bridge()
        self.comb += [
            self.serial.source.connect(self.bridge.sink),
            self.bridge.source.connect(self.serial.sink),
        ]
        self.bus.add_master(name="host", master=self.bridge.bus)
        self.add_rom("description", DESCRIPTION, _DESCRIPTION_BYTES)
        add_memory(self, memory, verilog)
        self._memory = memory

    def finalize(self) -> None:
        """Finish the SoC, and let it say what it is."""
        if not self.finalized:
            super().finalize()
            steps = self._steps(self._memory) if isinstance(self._memory, Dram) else []
            size = self.bus.regions["main_ram"].size
            words = [MAGIC, int(self.sys_clk_freq), size, len(steps)]
            words += [word for step in steps for word in step]
            self.init_rom("description", words, auto_size=False)

    def _steps(self, dram: Dram) -> list[tuple[int, int, int]]:
        """Return what makes the chips ready, from LiteDRAM's sequence: addresses, values, waits."""
        region = self.csr.regions["sdram"]
        places = {csr.name: region.origin + 4 * n for n, csr in enumerate(region.obj)}
        control = places["dfii_control"]
        sequence, _ = get_sdram_phy_init_sequence(dram.phy.settings, dram.chip.timing_settings)
        steps = []
        for _, address, bank, command, wait in sequence:
            value = sum(
                _BITS[name] for name in re.findall(r"DFII_(?:COMMAND|CONTROL)_(\w+)", command)
            )
            if "CONTROL" in command:
                steps.append((control, value, wait))
                continue
            phase = {"address": address, "baddress": bank, "command": value, "command_issue": 1}
            steps += [(places[f"dfii_pi0_{name}"], each, 0) for name, each in phase.items()]
            steps[-1] = (*steps[-1][:2], wait)
        return [*steps, (control, _BITS["SEL"], 0)]
