"""The accelerator's Verilog as a module of LiteX."""

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from litex.gen import ClockSignal, Instance, LiteXModule, ResetSignal, Signal
from litex.soc.integration.soc import SoC, SoCRegion
from litex.soc.interconnect.axi import AXIInterface, AXILiteInterface

from eightfold.boards.dram import add_frontend
from eightfold.common.errors import InputError

REGISTER_BYTES = 4096
"""The slave region of the registers: 256 bytes, in the least that LiteX's decoders cut well."""

_HEAD = re.compile(r"^module (\w+_accelerator) \((.*?)\);", re.M | re.S)
_PORT = re.compile(r"^\s*(input|output) wire (?:\[(\d+):0\] )?(\w+),?$", re.M)
_BUS = re.compile(r"([ms])_axi_(aw|w|b|ar|r)([a-z]+)")


class Eightfold(LiteXModule):
    """The accelerator of any configuration, in the clock domain ``sys``.

    Raises `InputError` if the file cannot be read, or is no accelerator.

    ``platform``: of LiteX, which gets the file among its sources; ``verilog``: what ``eightfold
    verilog --unit accelerator`` has written.

    ``registers``: AXI4-Lite, a slave: byte addresses from the first register on; ``memory``: AXI4,
    a master, as wide as the configuration's ``port``; ``ev.irq``: the interrupt, high while it is
    pending in the accelerator's own registers.
    """

    def __init__(self, platform, verilog: Path | str) -> None:
        name, ports = read_head(Path(verilog))
        self.memory = AXIInterface(data_width=ports["m_axi_rdata"][1], address_width=32, id_width=1)
        self.registers = AXILiteInterface(data_width=32, address_width=32)
        self.ev = SimpleNamespace(irq=Signal())
        wires = {
            "clk": ClockSignal("sys"),
            "rst": ResetSignal("sys"),
            "interrupt": self.ev.irq,
            "monitor": Signal(ports["monitor"][1]),
        }
        for port, (_, width) in ports.items():
            if bus := _BUS.fullmatch(port):
                side = self.memory if bus[1] == "m" else self.registers
                wires[port] = getattr(getattr(side, bus[2]), bus[3])[:width]
        signs = {port: f"{way[0]}_{port}" for port, (way, _) in ports.items()}
        self.instance = Instance(name, **{signs[port]: wires[port] for port in ports})
        platform.add_source(str(verilog))


def read_head(verilog: Path) -> tuple[str, dict[str, tuple[str, int]]]:
    """Return the top module's name, and by port ``input`` or ``output`` and its bits.

    Raises `InputError` if the file cannot be read, or its module has not the accelerator's ports.
    """
    try:
        head = _HEAD.search(verilog.read_text("utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{verilog}: {error}") from None
    if head is None:
        raise InputError(
            f"{verilog}: has no accelerator; write it by eightfold verilog --unit accelerator"
        )
    found = _PORT.findall(head[2])
    return head[1], {name: (way, int(high or 0) + 1) for way, high, name in found}


def add_accelerator(
    soc: SoC,
    verilog: Path | str,
    *,
    name: str = "eightfold",
    origin: int | None = None,
    dram: Any = None,
) -> Eightfold:
    """Put an accelerator into a SoC, as LiteX's own ``add_...`` do: call it before finalization.

    Its registers become the slave region ``name``. Its memory port masters the SoC's bus, or with
    ``dram`` a port of that controller of its own, which keeps its bursts whole; addresses are the
    bus's in both cases. A processor gets its interrupt. Raises `InputError` as `Eightfold`; or if
    there is such a cache.

    ``verilog``: what ``eightfold verilog --unit accelerator`` has written; ``origin``: of the
    registers; LiteX chooses it otherwise. ``dram``: ``soc.sdram`` behind ``soc.add_sdram(...,
    l2_cache_size=0)``. There must be no cache of the bus before it, which the accelerator would not
    see.
    """
    if dram is not None and hasattr(soc, "l2_cache"):
        raise InputError(
            "the L2 cache hides memory from the accelerator: soc.add_sdram(..., l2_cache_size=0)"
        )
    accelerator = Eightfold(soc.platform, verilog)
    soc.add_module(name=name, module=accelerator)
    region = SoCRegion(origin=origin, size=REGISTER_BYTES, cached=False)
    soc.bus.add_slave(name=name, slave=accelerator.registers, region=region)
    if dram is None:
        soc.bus.add_master(name=name, master=accelerator.memory)
    else:
        base = soc.bus.regions["main_ram"].origin
        accelerator.frontend = add_frontend(dram, accelerator.memory, base)
    if soc.irq.enabled:
        soc.irq.add(name, use_loc_if_exists=True)
    return accelerator
