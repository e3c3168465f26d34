# amaranth: UnusedElaboratable=no
"""The buses' signals: AMBA's names and widths, on the outermost module as inside."""

import re
from collections.abc import Mapping

import pytest
from amaranth.hdl import Module, Shape
from amaranth.lib import wiring
from amaranth.lib.wiring import Flow, Member

from eightfold.hw.memory.axi import axi4_lite_members, axi4_members, connect_flat
from eightfold.hw.memory.reader import MemoryReader
from eightfold.hw.memory.writer import MemoryWriter
from eightfold.rtl import verilog
from eightfold.target.config import AcceleratorConfig

CONFIG = AcceleratorConfig(lanes=4, width=4, port=8, vector_lanes=1)


class Top(wiring.Component):
    def __init__(self):
        super().__init__(axi4_members(CONFIG))

    def elaborate(self, platform):
        m = Module()
        m.submodules.reader = reader = MemoryReader(CONFIG)
        m.submodules.writer = writer = MemoryWriter(CONFIG)
        connect_flat(m, self, "m_axi_", reader.axi)
        connect_flat(m, self, "m_axi_", writer.axi)
        return m


@pytest.mark.parametrize(
    ("members", "names", "by", "count"),
    [
        (
            axi4_members(CONFIG, ""),
            "arready rdata rid rresp rlast rvalid awready wready bid bresp bvalid",
            Flow.In,
            37,
        ),
        (
            axi4_lite_members(""),
            "arready rdata rresp rvalid awready wready bresp bvalid",
            Flow.Out,
            19,
        ),
    ],
    ids=["master", "slave"],
)
def test_a_slave_drives_what_it_has_to(members, names, by, count):
    found = {name for name, member in members.items() if member.flow is by}
    assert (found, len(members)) == (set(names.split()), count)


ADDRESS = {"len": 8, "size": 3, "burst": 2, "lock": 1, "cache": 4, "prot": 3, "qos": 4, "id": 1}
HANDSHAKE = {"valid": 1, "ready": 1}


def channel(name: str, **signals: int) -> dict[str, int]:
    return {f"{name}{signal}": width for signal, width in {**signals, **HANDSHAKE}.items()}


def widths(members: Mapping[str, Member]) -> dict[str, int]:
    return {name: Shape.cast(member.shape).width for name, member in members.items()}


def test_widths_are_those_of_axi4():
    assert widths(axi4_members(CONFIG, "")) == {
        **channel("ar", addr=32, **ADDRESS),
        **channel("r", data=64, id=1, resp=2, last=1),
        **channel("aw", addr=32, **ADDRESS),
        **channel("w", data=64, strb=8, last=1),
        **channel("b", id=1, resp=2),
    }


def test_widths_are_those_of_axi4_lite():
    assert widths(axi4_lite_members("")) == {
        **channel("ar", addr=8, prot=3),
        **channel("r", data=32, resp=2),
        **channel("aw", addr=8, prot=3),
        **channel("w", data=32, strb=4),
        **channel("b", resp=2),
    }


def test_flat_names_reach_the_verilog():
    text = verilog.from_rtlil(verilog.to_rtlil(Top(), "top"))
    module = text[text.index("module top") :]
    for name, member in axi4_members(CONFIG).items():
        direction = "input" if member.flow is Flow.In else "output"
        width = Shape.cast(member.shape).width
        bits = "" if width == 1 else rf"\[{width - 1}:0\] "
        assert re.search(rf"{direction} (wire )?{bits}{name}\b", module), name
    for name, value in (("arsize", "3'h3"), ("awburst", "2'h1"), ("arid", "1'h0")):
        assert re.search(rf"assign m_axi_{name} = {value}", module), name
