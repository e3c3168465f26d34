"""The module of LiteX: ports by the Verilog's head, memory of each width, one line for mistakes."""

from pathlib import Path

import pytest

pytest.importorskip("litedram", reason="LiteX is not installed: pip install 'eightfold[board]'")

from amaranth.hdl import Shape
from amaranth.lib.wiring import Flow
from litex.soc.integration.soc_core import SoCMini

from eightfold.boards.module import add_accelerator, read_head
from eightfold.boards.simulation import MEMORIES, SimulationPlatform, hosted, memory
from eightfold.boards.soc import Dram, add_memory
from eightfold.common.errors import InputError
from eightfold.hw.memory.axi import axi4_lite_members, axi4_members
from eightfold.target.config import PRESETS


def head(folder: Path, port: int) -> Path:
    """Write the head of an accelerator with a memory port of so many bytes."""
    lines = ["  input wire clk,", "  input wire rst,", "  output wire interrupt,"]
    config = PRESETS["nano"].replace(port=port, weight_buffer=4096)
    for name, member in {**axi4_members(config), **axi4_lite_members()}.items():
        way = "input" if member.flow is Flow.In else "output"
        bits = Shape.cast(member.shape).width
        lines.append(f"  {way} wire {f'[{bits - 1}:0] ' if bits > 1 else ''}{name},")
    text = "\n".join([*lines, "  output wire [64:0] monitor"])
    path = folder / "accelerator.v"
    path.write_text(f"module mine_accelerator (\n{text}\n);\nendmodule\n")
    return path


SYSTEMS = [(MEMORIES[0], 4), *((name, port) for name in MEMORIES[1:] for port in (4, 64))]
"""LiteX's bus has 32 bits; a port of LiteDRAM's is as wide as the accelerator's."""


@pytest.mark.parametrize(("name", "port"), SYSTEMS)
@pytest.mark.slow
def test_a_system_has_all_ports(name: str, port: int, tmp_path: Path) -> None:
    verilog = head(tmp_path, port)
    soc = hosted(name, verilog)
    soc.finalize()
    text = soc.platform.get_verilog(soc, name="soc").main_source
    instance = text[text.index("mine_accelerator mine_accelerator") :].partition(";")[0]
    ports = read_head(verilog)[1]
    assert len(ports) == 60
    assert [port for port in ports if f".{port} " not in instance] == []
    assert soc.bus.regions["eightfold"].origin == 0x80000000


def test_mistakes_are_one_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"gone\.v: .*No such file"):
        read_head(tmp_path / "gone.v")
    (tmp_path / "other.v").write_text("module other (input a);\nendmodule\n")
    with pytest.raises(InputError, match=r"other\.v: has no accelerator; write it by eightfold"):
        read_head(tmp_path / "other.v")
    platform = SimulationPlatform()
    soc = SoCMini(platform, int(1e8), ident="", ident_version=False)
    soc.crg = platform.crg
    dram = memory("litedram-sdr-16")
    assert isinstance(dram, Dram)
    soc.add_module(name="sdrphy", module=dram.phy)
    soc.add_sdram("sdram", phy=dram.phy, module=dram.chip, origin=0x40000000, l2_cache_size=8192)
    with pytest.raises(InputError, match="l2_cache_size=0"):
        add_accelerator(soc, head(tmp_path, 4), dram=soc.sdram)


@pytest.mark.slow
def test_two_accelerators_are_in_one_system(tmp_path: Path) -> None:
    platform = SimulationPlatform()
    soc = SoCMini(platform, int(1e8), ident="", ident_version=False)
    soc.crg = platform.crg
    add_memory(soc, memory("block-ram"), head(tmp_path, 4))
    add_accelerator(soc, head(tmp_path, 4), name="second", origin=0x80001000)
    soc.finalize()
    text = soc.platform.get_verilog(soc, name="soc").main_source
    assert text.count("mine_accelerator mine_accelerator") == 2
