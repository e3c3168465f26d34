"""A SoC of LiteX in Verilator, its UART's pins at a pseudo-terminal."""

import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

from litedram import modules
from litedram.phy.model import SDRAMPHYModel
from litex.build.generic_platform import GenericPlatform, Pins, Subsignal
from litex.build.io import CRG
from litex.soc.integration.soc_core import SoCCore

from eightfold.boards.host import Board, open_board
from eightfold.boards.soc import BlockRam, Dram, HostedSoC, Memory, elaborate, without_comments
from eightfold.common.child import run_to_end
from eightfold.common.errors import InputError
from eightfold.sim.simulator.cache import cached, content_key
from eightfold.sim.simulator.toolchain import (
    check_simulator,
    optimisation,
    simulator_version,
    tool_environment,
)

BENCH = Path(__file__).with_name("serial_bench.cpp")

BIT = 8
"""Clock cycles of a bit at the UART's pins, unless it is said."""

CLOCK = 100_000_000
"""Of simulated systems, in Hz: what times of memories are counted in."""

_PINS = [
    ("clk", 0, Pins("clk")),
    ("rst", 0, Pins("rst")),
    ("serial", 0, Subsignal("tx", Pins("tx")), Subsignal("rx", Pins("rx"))),
]


class _Rows:
    """A chip's geometry with fewer rows: each costs the simulator memory, and networks need few."""

    nrows = 2048


class _SdrChip(_Rows, modules.MT48LC16M16):
    pass


class _Ddr3Chip(_Rows, modules.MT41K128M16):
    pass


_CHIPS = {"litedram-sdr-16": (_SdrChip, "1:1"), "litedram-ddr3-16": (_Ddr3Chip, "1:4")}

MEMORIES = ("block-ram", *_CHIPS)
"""Memories that `memory` makes."""


def memory(name: str, clk_freq: int = CLOCK) -> Memory:
    """Return a memory to simulate: one of `MEMORIES`.

    Those of LiteDRAM have 16 data lines, its controller and its model of PHY and chips:
    ``litedram-sdr-16`` an MT48LC16M16 at the clock of the SoC, ``litedram-ddr3-16`` an MT41K128M16
    at four times of it. Block RAM has 128 KiB.
    """
    if name == "block-ram":
        return BlockRam(1 << 17)
    kind, rate = _CHIPS[name]
    chip = kind(clk_freq, rate)
    return Dram(SDRAMPHYModel(chip, data_width=16, clk_freq=clk_freq), chip)


class SimulationPlatform(GenericPlatform):
    """Pins ``clk``, ``rst``, ``serial.tx`` and ``serial.rx``; no vendor."""

    def __init__(self) -> None:
        super().__init__("simulation", _PINS, name="soc")
        self.toolchain = None

    @property
    def crg(self) -> CRG:
        """The clock domain ``sys``, with a reset in its first cycle, and by ``rst``."""
        rst: Any = self.request("rst")
        return CRG(self.request("clk"), rst)


def hosted(name: str, verilog: Path, clk_freq: int = CLOCK, baud: int = CLOCK // BIT) -> HostedSoC:
    """Return a finalized simulated SoC without a processor, with one of `MEMORIES`."""

    def make() -> HostedSoC:
        platform = SimulationPlatform()
        place = memory(name, clk_freq)
        soc = HostedSoC(platform, platform.crg, clk_freq, place, verilog, baud)
        soc.finalize()
        return soc

    return elaborate(make)


def simulate(
    soc: SoCCore, bit: float = BIT, on_start: Callable[[int], None] = lambda pid: None
) -> AbstractContextManager[str]:
    """Run a SoC on a `SimulationPlatform` as long as the context is open.

    Yields the pseudo-terminal at its UART's pins. ``on_start`` gets the process, which a signal
    SIGUSR1 has reset the SoC. Raises `InputError` if Verilator is missing, or fails.
    """
    return run_bench(sources(soc), bit, on_start)


@contextmanager
def run_bench(
    texts: Mapping[str, str], bit: float = BIT, on_start: Callable[[int], None] = lambda pid: None
) -> Iterator[str]:
    """As `simulate`, of files by name: Verilog with a top module ``soc``, contents of memories."""
    folder = build(texts)
    with subprocess.Popen(
        [folder / "Vsoc", str(bit)],
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        on_start(process.pid)
        yield process.stdout.readline().strip()


def sources(soc: SoCCore) -> dict[str, str]:
    """Return the files of a SoC: its Verilog, that of its modules, and its memories' contents."""
    soc.finalize()
    output = soc.platform.get_verilog(soc, name="soc")
    texts = {"soc.v": without_comments(output.main_source), **output.data_files}
    for path, *_ in soc.platform.sources:
        texts[Path(path).name] = Path(path).read_text("utf-8")
    return texts


def build(files: Mapping[str, str]) -> Path:
    """Return a folder with the program ``Vsoc`` of what `run_bench` gets."""
    check_simulator("verilator")
    texts = {**files, BENCH.name: BENCH.read_text("utf-8")}

    def make(folder: Path) -> None:
        for name, text in texts.items():
            (folder / name).write_text(text, encoding="utf-8")
        variables = tool_environment()
        program = f"{variables['VERILATOR_ROOT']}/bin/verilator"
        options = ["--cc", "--exe", "-O3", "-Wno-fatal", "-Wno-lint", "--x-assign", "fast"]
        options += ["--prefix", "Vsoc", "--top-module", "soc", "--Mdir", "."]
        sources = [name for name in texts if name.endswith((".v", ".cpp"))]
        compiled = ["make", "-f", "Vsoc.mk", *optimisation().split(), "Vsoc"]
        for command in ([program, *options, *sources], compiled):
            done = run_to_end(command, cwd=folder, env=variables)
            if done.returncode:
                raise InputError(f"{command[0]} fails:\n{done.stdout[-2000:]}{done.stderr[-4000:]}")
        for path in folder.iterdir():
            if path.name != "Vsoc" and path.suffix != ".init":
                path.unlink()

    return cached("litex", content_key(texts, simulator_version("verilator")), make)


@contextmanager
def simulated_board(soc: HostedSoC) -> Iterator[Board]:
    """Run a `hosted` SoC, and open it as `open_board` does."""
    with simulate(soc) as port, open_board(port, CLOCK // BIT, patience=60) as board:
        yield board
