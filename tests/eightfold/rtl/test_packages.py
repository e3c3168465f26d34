"""The file list, the FuseSoC core and the scripts for Vivado of generated Verilog."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from eightfold.cli.hardware import _descriptions
from eightfold.cli.main import commands
from eightfold.common.program import one_line_errors
from eightfold.rtl import verilog
from eightfold.rtl.packages import tcl, with_interfaces
from eightfold.sim.simulator import lint
from eightfold.sim.simulator.sources import Unit
from eightfold.sim.simulator.toolchain import check_simulator, tool_environment
from eightfold.target.config import PRESETS
from tests.support.command import Call

CONFIGS = ("small", "nano")

KINDS = {
    ".v": {"file_type": "verilogSource"},
    ".vlt": {"file_type": "vlt"},
    ".xdc": {"file_type": "xdc"},
    ".tcl": {"file_type": "tclSource"},
    ".c": {"file_type": "cppSource"},
    ".cpp": {"file_type": "cppSource"},
    ".h": {"file_type": "cppSource", "is_include_file": True},
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return what ``eightfold verilog --all`` writes, with modules that are quickly generated."""

    def module(unit: str, config: object, *, prefix: str, config_name: str) -> str:
        return f"module {prefix}_{unit};\nendmodule\n"

    monkeypatch.setattr(verilog, "unit_verilog", module)
    monkeypatch.setattr(lint, "waivers", lambda source: f"// {source.name}\n`verilator_config\n")
    configs = [word for name in CONFIGS for word in ("--config", name)]
    arguments = ["verilog", "--all", *configs, "--prefix", "npu", "-o", str(tmp_path)]
    with pytest.raises(SystemExit) as ended:
        one_line_errors(commands, arguments)
    assert ended.value.code == 0
    return tmp_path


def test_the_core_names_files_that_are_there(folder: Path) -> None:
    text = (folder / "eightfold.core").read_text("utf-8")
    assert text.startswith("CAPI=2:\n")  # FuseSoC looks at the first line
    core = yaml.safe_load(text)
    assert core["name"].startswith("npu:ip:accelerator:")
    named = [file for files in core["filesets"].values() for file in files["files"]]
    for file in named:
        ((name, attributes),) = file.items()
        assert (folder / name).exists()
        assert attributes == KINDS[Path(name).suffix]
    assert {f"accelerator-{config}.v" for config in CONFIGS} < {*map(str, folder_files(folder))}
    assert not (folder / "accelerator-base.v").exists()


def folder_files(folder: Path) -> list[Path]:
    return [path.relative_to(folder) for path in folder.rglob("*") if path.is_file()]


def test_each_target_of_the_core_is_one_configuration(folder: Path) -> None:
    core = yaml.safe_load((folder / "eightfold.core").read_text("utf-8"))
    flows = {"lint": "lint", "sim": "sim", "vivado": "vivado"}
    named = {f"{flow}-{config}" for flow in flows for config in CONFIGS}
    assert core["targets"].keys() == {"default", *CONFIGS, *named}
    for name, target in core["targets"].items():
        flow, _, config = name.rpartition("-")
        config = "small" if name == "default" else config
        assert target["filesets"][0] == config
        assert {*re.findall(r"\w+_\w+", " ".join(target["filesets"]))} - {"tool_verilator"} <= {
            *core["filesets"]
        }
        assert target["toplevel"] == "npu_accelerator"
        assert target.get("flow") == flows.get(flow)


@pytest.mark.long  # its files are read above and below, its Verilog is linted in test_verilog.py
def test_fusesoc_lints_and_simulates_and_a_wrong_byte_fails(tmp_path: Path) -> None:
    pytest.importorskip("fusesoc")
    check_simulator("verilator")
    folder = tmp_path / "core"
    _descriptions(folder, {"nano": PRESETS["nano"]}, "eightfold")
    source = folder / "accelerator-nano.v"
    text = Unit("accelerator", PRESETS["nano"]).file().read_text("utf-8")
    source.write_text(with_interfaces(text, "eightfold_accelerator"), encoding="utf-8")
    source.with_suffix(".vlt").write_text(lint.waivers(source))

    def target(name: str) -> tuple[int, str]:
        program = [sys.executable, "-m", "fusesoc.main", "--cores-root", "core"]
        done = subprocess.run(
            [*program, "run", "--target", name, "eightfold:ip:accelerator"],
            cwd=tmp_path, capture_output=True, text=True, check=False,
            env=os.environ | tool_environment() | {"HOME": str(tmp_path)},
        )  # fmt: skip
        return done.returncode, done.stdout + done.stderr

    assert target("lint-nano")[0] == 0
    status, said = target("sim-nano")
    assert (status, said.count(" cycles, equal"), "PASSED" in said) == (0, 3, True), said[-3000:]
    expected = folder / "check" / "nano" / "check.h"
    text, last = expected.read_text().rsplit(", ", 1)
    expected.write_text(f"{text}, {1 if last.startswith('0') else 0}}}}};\n")
    for name in ("check.o", "Veightfold_accelerator"):  # FuseSoC's makefile does not follow C
        next(tmp_path.glob(f"build/*/sim-nano/{name}")).unlink()
    status, said = target("sim-nano")
    assert (status != 0, "FAILED: run 2, byte 9" in said) == (True, True), said[-3000:]


def test_ports_say_what_they_are_to_vivado() -> None:
    tkinter = pytest.importorskip("tkinter")
    text = Unit("accelerator", PRESETS["nano"]).file().read_text("utf-8")
    marked = with_interfaces(text, "eightfold_accelerator")
    plain = re.sub(r"^  \(\* X_INTERFACE_\w+ = .* \*\)\n", "", marked, flags=re.MULTILINE)
    assert plain.replace(" --vivado", "") == text
    infos = re.findall(r'X_INTERFACE_INFO = "(\S+) (\w+) (\w+)" \*\)', marked)
    assert {f"{name}_{signal}".lower() for kind, name, signal in infos if "aximm" in kind} == {
        *re.findall(r"^  (?:in|out)put .*?([ms]_axi_\w+),?$", text.split("\n);")[0], re.MULTILINE)
    }
    parameters = re.findall(r'X_INTERFACE_PARAMETER = "(.*)" \*\)', marked)
    assert sorted(parameters) == sorted(
        [
            "ASSOCIATED_BUSIF s_axi:m_axi, ASSOCIATED_RESET rst",
            "POLARITY ACTIVE_HIGH",
            "SENSITIVITY LEVEL_HIGH",
            "PROTOCOL AXI4LITE, DATA_WIDTH 32, ADDR_WIDTH 8",
            "PROTOCOL AXI4, DATA_WIDTH 32, ADDR_WIDTH 32, ID_WIDTH 1, MAX_BURST_LENGTH 16, "
            "SUPPORTS_NARROW_BURST 0, NUM_READ_OUTSTANDING 64, NUM_WRITE_OUTSTANDING 16",
        ]
    )
    shell = tkinter.Tcl()  # with Vivado's commands as names of nothing
    shell.eval("proc unknown args { lappend ::called [lindex $args 0]; return x }")
    shell.eval('set argc 1; set argv "xc7k70tfbg484-1"; proc file args { return /x }')
    shell.eval(tcl("accelerator.v", "eightfold_accelerator", "eightfold"))
    called = shell.eval("set called").split()
    assert {"ipx::package_project", "synth_design", "report_timing_summary"} <= {*called}
    assert shell.eval("set part") == "xc7k70tfbg484-1"


def test_several_configurations_need_all(call: Call) -> None:
    several = ("verilog", "--config", "nano", "--config", "small")
    status, _, err = call(*several)
    assert (status, "--all" in err) == (2, True)
    status, _, err = call("verilog", "--vivado")
    assert (status, "-o FILE" in err) == (2, True)


@pytest.mark.icarus
def test_simulators_read_the_file_list(folder: Path) -> None:
    assert (folder / "eightfold.f").read_text("utf-8") == "accelerator-small.v\n"
    command = ["iverilog", "-t", "null", "-s", "npu_accelerator", "-f", "eightfold.f"]
    subprocess.run(command, cwd=folder, check=True)
