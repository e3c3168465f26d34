"""What is named to install a program: a command that this system has, or where the program is."""

import re

import pytest

from eightfold.cli.doctor import TOOLS, findings
from eightfold.common.errors import InputError
from eightfold.common.extras import how_to_install
from eightfold.sim.simulator.toolchain import check_simulator
from eightfold.sim.simulator.waves import LIBRARIES

PACKAGES = [*(package for package, _ in TOOLS.values()), *LIBRARIES.values()]


def system(monkeypatch: pytest.MonkeyPatch, platform: str, *programs: str) -> None:
    """Make this a system that has some programs and no others."""
    monkeypatch.setattr("sys.platform", platform)
    monkeypatch.setattr("shutil.which", lambda name, path=None: name if name in programs else None)


def test_debian_has_its_command(monkeypatch: pytest.MonkeyPatch) -> None:
    system(monkeypatch, "linux", "apt-get", "brew")
    assert how_to_install("perl", "make") == "apt-get install perl make"


def test_macos_has_the_command_of_homebrew(monkeypatch: pytest.MonkeyPatch) -> None:
    system(monkeypatch, "darwin", "brew")
    assert how_to_install("perl", "iverilog") == "brew install perl icarus-verilog"
    several = "install Perl from https://www.perl.org, a C++ compiler from https://gcc.gnu.org"
    assert how_to_install("perl", "g++") == several


@pytest.mark.parametrize("package", PACKAGES)
@pytest.mark.parametrize(
    ("platform", "programs"),
    [("linux", ("brew",)), ("darwin", ("apt-get",)), ("win32", ("apt-get", "brew"))],
)
def test_others_have_no_command_that_cannot_work(
    platform: str, programs: tuple[str, ...], package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    system(monkeypatch, platform, *programs)
    assert re.fullmatch(r"install [\w+ -]+ from https://[\w./-]+", how_to_install(package))


def test_a_system_without_apt_is_told_of_none(monkeypatch: pytest.MonkeyPatch) -> None:
    system(monkeypatch, "linux")
    assert {each.name: each.install for each in findings()}["iverilog"] == (
        "install Icarus Verilog from https://steveicarus.github.io/iverilog/"
    )
    assert not any("apt" in each.install for each in findings())
    with pytest.raises(InputError, match="^iverilog is not installed: install Icarus Verilog from"):
        check_simulator("icarus")
