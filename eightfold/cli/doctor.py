"""``eightfold doctor``: what is installed, what is missing, and how to install it."""

import json
import platform
import re
import shutil
import subprocess
from dataclasses import asdict, dataclass
from importlib.metadata import version

import click
from rich.table import Table

from eightfold.common.child import run_to_end
from eightfold.common.extras import how_to_install, installed_versions, packages_of
from eightfold.common.terminal import output_console

EXTRAS = {
    "rtl": "run --backend verilator or icarus, verilog",
    "compare": "run --compare",
    "report": "run --html, and the pages of campaign and conform",
    "campaign": "campaign, conform run",
    "synth": "synth",
    "prove": "campaign run proofs",
    "openvino": "import of OpenVINO IR, conform run --adapter openvino",
    "onnx": "import of ONNX",
    "tosa": "conform run --adapter tosa",
}
"""What the extras of a user are for; ``pyproject.toml`` has also those of a contributor."""

SIMULATION = "run --backend verilator, campaign and conform run on RTL"

TOOLS = {
    "c++": ("g++", SIMULATION),
    "make": ("make", SIMULATION),
    "perl": ("perl", SIMULATION),
    "iverilog": ("iverilog", "run --backend icarus"),
    "ghdl": ("ghdl", "conform run and init on VHDL"),
    "nvc": ("nvc", "conform run --backend nvc, on VHDL"),
    "berkeley-abc": ("berkeley-abc", "those of the proofs that model memories"),
}
"""Programs that no Python package brings: the package of Debian and Ubuntu, and what needs it."""


@dataclass(frozen=True)
class Finding:
    """One thing that commands need; ``version`` is None if it is missing."""

    name: str
    version: str | None
    needed_by: str
    install: str


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print the same as JSON.")
def doctor(as_json: bool) -> None:
    """Say what is installed, what is missing, for which command, and what installs it.

    Nothing that may be missing is an error: the exit status is 0.
    """
    found = findings()
    if as_json:
        click.echo(json.dumps([asdict(each) for each in found], indent=1))
        return
    console = output_console(120)
    system = f"{platform.system()} {platform.machine()}"
    console.print(
        f"Eightfold {version('eightfold')}, Python {platform.python_version()}, {system}",
        markup=False,
    )
    table = Table()
    table.add_column("what", no_wrap=True)
    table.add_column("version")
    table.add_column("needed by")
    for each in found:
        shown = each.version or "[bold red]missing[/]"
        table.add_row(each.name, shown, each.needed_by)
    console.print(table)
    missing = [each for each in found if each.version is None]
    for install in dict.fromkeys(each.install for each in missing):
        names = ", ".join(each.name for each in missing if each.install == install)
        console.print(f"{names}: {install}", markup=False, soft_wrap=True)
    if not missing:
        console.print("Nothing is missing.")


def findings() -> list[Finding]:
    """Return packages of the base and of each extra, then programs and libraries."""
    always = "everything", "pip install eightfold"
    packages: dict[str, tuple[str, str]] = dict.fromkeys(packages_of(""), always)
    for extra, what in EXTRAS.items():
        for package, where in packages_of(extra).items():
            only = "" if where is None or where.evaluate() else f", where {where}"
            packages.setdefault(package, (what, f"pip install 'eightfold[{extra}]'{only}"))
    versions = installed_versions(packages)
    found = [
        Finding(package, versions.get(package), what, install)
        for package, (what, install) in packages.items()
    ]
    for program, (package, what) in TOOLS.items():
        found.append(Finding(program, _program_version(program), what, how_to_install(package)))
    found += _libraries()
    return found


def _program_version(program: str) -> str | None:
    """Return what a program says its version is, ``installed`` if that is not understood."""
    if shutil.which(program) is None:
        return None
    option = {"iverilog": "-V", "berkeley-abc": "-h"}.get(program, "--version")
    try:
        done = run_to_end([program, option], timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return "installed"
    number = re.search(r"\d+\.\d+(\.\d+)?", done.stdout + done.stderr)
    return number[0] if number else "installed"


def _libraries() -> list[Finding]:
    from eightfold.sim.simulator.waves import LIBRARIES, links

    return [
        Finding(
            package,
            "installed" if links(library) else None,
            "run --backend verilator --trace FILE.fst",
            how_to_install(package),
        )
        for library, package in LIBRARIES.items()
    ]
