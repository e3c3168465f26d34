"""Files of boards: projects, bitstreams and what loads them."""

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

pytest.importorskip("litedram", reason="LiteX is not installed: pip install 'eightfold[board]'")

from eightfold.boards import bitstream
from eightfold.boards.targets import TARGETS
from eightfold.cli.main import commands
from eightfold.common.errors import HardwareError, InputError
from eightfold.sim.simulator.sources import Unit
from eightfold.synth.tools import Tool, find_tool

NO_STAGE = {"stage": lambda words: None}

PROJECTS = [(name, memory) for name, target in TARGETS.items() for memory in target.memories]


def run(*words: str) -> Result:
    return CliRunner().invoke(commands, ["board", *words])


def test_the_list_has_every_board() -> None:
    found = run("list").output
    assert all(name in found and target.device in found for name, target in TARGETS.items())


@pytest.mark.slow
@pytest.mark.usual(count=2)
@pytest.mark.parametrize(("name", "memory"), PROJECTS)
def test_a_project_places_every_port_and_can_be_moved(
    name: str, memory: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bitstream, "unit_verilog", lambda *unit: Unit(*unit).file().read_text())
    done = run("build", name, "--memory", memory, "-o", str(tmp_path / "project"))
    assert done.exit_code == 0, done.output
    texts = {path.name: path.read_text() for path in (tmp_path / "project").iterdir()}
    assert not any(str(tmp_path) in text for text in texts.values())
    head = texts["board.v"].split(");")[0]
    ports = re.findall(r"(?:input|output)\s+(?:wire|reg)\s+(?:\[(\d+):0\] )?(\w+)", head)
    bits = {
        f"{port}[{bit}]" if high else port
        for high, port in ports
        for bit in range(int(high or 0) + 1)
    }
    if "board.lpf" in texts:
        placed = set(re.findall(r'LOCATE COMP "([^"]+)"', texts["board.lpf"]))
    else:
        placed = set(
            re.findall(r"set_property LOC \w+ \[get_ports \{([^}]+)\}\]", texts["board.xdc"])
        )
    assert bits == placed
    assert (
        f"{TARGETS[name].clock // bitstream.BAUD}" and "eightfold_accelerator" in texts["board.v"]
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("ulx3s", "-o", "x.bit"), "board must be one of ulx3s-25f"),
        (("arty-a7", "-o", "x.bit"), "no free tool makes the bitstream"),
        (("arty-a7", "--memory", "sdram", "-o", "x"), "must be one of block-ram"),
        (("ulx3s-45f", "--config", "tiny", "-o", "x"), "tiny"),
    ],
)
def test_what_cannot_be_built_is_refused(
    words: tuple[str, ...], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    error = run("build", *words).exception
    assert isinstance(error, InputError)
    assert message in str(error)


@pytest.fixture
def tools(monkeypatch: pytest.MonkeyPatch) -> dict[str, float]:
    """Stand-ins of the tools: the clock in MHz that they reach."""
    reached = {"mhz": 61.5}

    def write(name: str, config: object, memory: object, folder: Path, baud: int) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "board.v").write_text("module board; endmodule")
        (folder / "board.lpf").write_text("")

    def mapped(folder: Path, stage: object) -> dict[str, object]:
        (folder / "netlist.json").write_text("{}")
        return {"cells": {"LUT4": 7}, "seconds": 1.0, "warnings": [], "clock": "clk"}

    def route(folder: Path, *_: object) -> dict[str, object]:
        (folder / "board.config").write_text("")
        return {**reached, "path": "a to b", "seconds": 2.0, "warnings": ["w"]}

    def pack(folder: Path, stage: object) -> None:
        (folder / "board.bit").write_bytes(b"bits")

    monkeypatch.setattr(bitstream, "write_project", write)
    monkeypatch.setattr(bitstream, "map_board", mapped)
    monkeypatch.setattr(bitstream, "_route", route)
    monkeypatch.setattr(bitstream, "_pack", pack)
    monkeypatch.setattr(
        bitstream, "find_tool", lambda name: Tool((), f"{name} 1 (native)", name == "nextpnr_ecp5")
    )
    return reached


def test_a_build_tells_its_figures_and_loads(
    tools: dict[str, float], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bit = tmp_path / "x.bit"
    done = run("build", "ulx3s-45f", "-o", str(bit))
    assert done.exit_code == 0, done.output
    assert "clock      61.5 MHz, needs 50: slack +3.74 ns of 20 (seed 1)" in done.output
    assert "nextpnr_ecp5 1 (native)" in done.output
    figures = json.loads((tmp_path / "x.json").read_text())
    assert (figures["board"], figures["area"]["luts"], bit.read_bytes()) == (
        "ulx3s-45f",
        7,
        b"bits",
    )
    loader = tmp_path / "openFPGALoader"
    loader.write_text('#!/bin/sh\necho "$@" > "$(dirname "$0")/asked"\n')
    loader.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert run("load", str(bit)).exit_code == 0
    assert (tmp_path / "asked").read_text() == f"-b ulx3s {bit}\n"
    bit.write_bytes(b"others")
    assert "is not what" in str(run("load", str(bit)).exception)
    (tmp_path / "x.json").unlink()
    assert "which board" in str(run("load", str(bit)).exception)


def test_a_clock_that_is_missed_leaves_no_bitstream(
    tools: dict[str, float], tmp_path: Path
) -> None:
    bit = tmp_path / "x.bit"
    bit.write_bytes(b"of before")
    tools["mhz"] = 49.9
    error = run("build", "ulx3s-45f", "-o", str(bit)).exception
    assert isinstance(error, HardwareError)
    assert not bit.exists()
    assert json.loads((tmp_path / "x.json").read_text())["mhz"] == 49.9


BLINK = """
module board(input clk25, output reg [1:0] led);
reg [23:0] count = 0;
always @(posedge clk25) begin count <= count + 1; led <= count[23:22]; end
endmodule
"""
PLACES = """
LOCATE COMP "clk25" SITE "G2"; IOBUF PORT "clk25" IO_TYPE=LVCMOS33;
LOCATE COMP "led[0]" SITE "B2"; IOBUF PORT "led[0]" IO_TYPE=LVCMOS33;
LOCATE COMP "led[1]" SITE "C2"; IOBUF PORT "led[1]" IO_TYPE=LVCMOS33;
FREQUENCY PORT "clk25" 25 MHZ;
"""


@pytest.mark.nextpnr
@pytest.mark.slow
def test_a_bitstream_is_what_was_routed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in {"board.v": BLINK, "accelerator.v": "", "board.lpf": PLACES}.items():
        (tmp_path / name).write_text(text)
    clock = bitstream.map_board(tmp_path)["clock"]
    assert clock == "clk25"
    options = TARGETS["ulx3s-45f"].nextpnr
    found = bitstream._route(tmp_path, clock, find_tool("nextpnr_ecp5"), options, **NO_STAGE)
    assert found["mhz"] > 25
    bitstream._pack(tmp_path, **NO_STAGE)
    convert = bitstream._convert

    def lose(tool: str, folder: Path, source: str, target: str, stage: object) -> None:
        convert(tool, folder, source, target, **NO_STAGE)
        if tool == "ecpunpack":
            found = folder / target
            found.write_text(re.sub(r"^arc: .*\n", "", found.read_text(), count=1, flags=re.M))

    monkeypatch.setattr(bitstream, "_convert", lose)
    with pytest.raises(HardwareError, match="is not what was routed"):
        bitstream._pack(tmp_path, **NO_STAGE)
