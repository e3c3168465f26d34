"""The file list and the FuseSoC core of generated Verilog."""

import subprocess
from pathlib import Path

import pytest
import yaml

from eightfold.cli.main import commands
from eightfold.common.program import one_line_errors
from eightfold.rtl import verilog
from eightfold.rtl.packages import fusesoc_core
from eightfold.sim.simulator import lint
from eightfold.target.config import PRESETS


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return what ``eightfold verilog --all`` writes, with modules that are quickly generated."""

    def module(unit: str, config: object, *, prefix: str, config_name: str) -> str:
        return f"module {prefix}_{unit};\nendmodule\n"

    monkeypatch.setattr(verilog, "unit_verilog", module)
    monkeypatch.setattr(lint, "waivers", lambda source: f"// {source.name}\n`verilator_config\n")
    arguments = ["verilog", "--all", "--config", "small", "--prefix", "npu", "-o", str(tmp_path)]
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
        kind = {".v": "verilogSource", ".vlt": "vlt"}[Path(name).suffix]
        assert attributes == {"file_type": kind}
    assert len(named) == 2 * len(PRESETS)


def test_each_target_of_the_core_is_one_configuration(folder: Path) -> None:
    core = yaml.safe_load((folder / "eightfold.core").read_text("utf-8"))
    lints = {f"lint-{preset}" for preset in PRESETS}
    assert core["targets"].keys() == {"default", *PRESETS, *lints}
    for name, target in core["targets"].items():
        config = "small" if name == "default" else name.removeprefix("lint-")
        linted = name.startswith("lint-")
        waived = f"{config}_waivers" if linted else f"tool_verilator ? ({config}_waivers)"
        assert target["filesets"] == [config, waived]
        assert {config, f"{config}_waivers"} <= core["filesets"].keys()
        assert target["toplevel"] == "npu_accelerator"
        assert (target.get("flow") == "lint") == linted


def test_a_configuration_of_ones_own_is_a_target_too() -> None:
    core = yaml.safe_load(fusesoc_core([*PRESETS, "mine"], "mine", "eightfold"))
    assert core["filesets"]["mine"]["files"] == [
        {"accelerator-mine.v": {"file_type": "verilogSource"}}
    ]
    assert core["targets"]["default"]["filesets"][0] == "mine"


@pytest.mark.icarus
def test_simulators_read_the_file_list(folder: Path) -> None:
    assert (folder / "eightfold.f").read_text("utf-8") == "accelerator-small.v\n"
    command = ["iverilog", "-t", "null", "-s", "npu_accelerator", "-f", "eightfold.f"]
    subprocess.run(command, cwd=folder, check=True)
