"""Commands of the command line for boards: what one says of itself, and whether it computes."""

import hashlib
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from eightfold.common.errors import HardwareError
from eightfold.common.extras import needs_extra
from eightfold.common.files import NETWORKS
from eightfold.common.line import BAUD, PATIENCE

if TYPE_CHECKING:  # an extra brings what it needs
    from eightfold.boards.host import Board

TESTED = 1 << 12
"""Bytes of memory that a self-test writes at the begin and at the end of it."""


def port_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options ``port``, ``baud`` and ``patience`` of a board."""
    port = click.option("--port", metavar="P", help="Of a board, such as /dev/ttyUSB0.")
    baud = click.option(
        "--baud",
        type=click.IntRange(min=1),
        default=BAUD,
        show_default=True,
        help="Bits per second of that port.",
    )
    patience = click.option(
        "--patience",
        type=click.FloatRange(min=0, min_open=True),
        default=PATIENCE,
        show_default=True,
        metavar="SECONDS",
        help="That an answer may take; more where a simulation is the board.",
    )
    return port(baud(patience(command)))


@click.group()
def board() -> None:
    """Ask a board, an FPGA at a serial port. Networks run on it by `run --backend board`."""


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
    from eightfold.boards.places import MAIN_RAM

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
    (stream,) = compile_network(graph, config).streams
    loaded = Loaded(board, stream, config)
    for seed in range(3):
        result = loaded.compare(graph, seed)
        digest = hashlib.sha256(b"".join(result.outputs.values())).hexdigest()[:16]
        yield f"digits {seed}       equal to golden, {result.cycles:,} cycles, {digest}"
