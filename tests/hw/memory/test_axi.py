# amaranth: UnusedElaboratable=no
"""The buses' signals: AMBA's names and widths, on the outermost module as inside."""

import re

from amaranth.hdl import Module, Shape
from amaranth.lib import wiring
from amaranth.lib.wiring import Flow

from eightfold.config import AcceleratorConfig
from eightfold.hw.memory.axi import axi4_lite_members, axi4_members, connect_flat
from eightfold.hw.memory.reader import MemoryReader
from eightfold.hw.memory.writer import MemoryWriter
from eightfold.rtl import verilog

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


def names(members, flow):
    return {name for name, member in members.items() if member.flow is flow}


def test_a_master_drives_what_it_has_to():
    members = axi4_members(CONFIG, "x_")
    assert names(members, Flow.In) == {
        *("x_arready", "x_rdata", "x_rid", "x_rresp", "x_rlast", "x_rvalid"),
        *("x_awready", "x_wready", "x_bid", "x_bresp", "x_bvalid"),
    }
    assert len(members) == 37


def test_a_slave_drives_what_it_has_to():
    members = axi4_lite_members()
    assert names(members, Flow.Out) == {
        *("s_axi_arready", "s_axi_rdata", "s_axi_rresp", "s_axi_rvalid"),
        *("s_axi_awready", "s_axi_wready", "s_axi_bresp", "s_axi_bvalid"),
    }
    assert len(members) == 19


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
