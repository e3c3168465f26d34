"""Cycles of networks with LiteDRAM, and what the profiles of the same names estimate.

    python -m eightfold.boards.measure MODEL.tflite ... [--config nano]

Each network is compiled for the profile and run once on random inputs, in simulated systems with
LiteDRAM's controller and its model of PHY and chips, and must equal golden.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import click

from eightfold.boards.host import Loaded
from eightfold.boards.simulation import hosted, simulated_board
from eightfold.common.errors import InputError
from eightfold.common.program import config_option, one_line_errors
from eightfold.compiler import Compiled, compile_network
from eightfold.estimate.estimate import estimate
from eightfold.model import Graph
from eightfold.operators import load_int8
from eightfold.sim.simulator.sources import Unit
from eightfold.target.config import AcceleratorConfig
from eightfold.target.memory import MEASURED, MemoryTiming


class Measured(NamedTuple):
    """Cycles of a run with a memory: as the profile of its name estimates, and as counted."""

    memory: str
    network: str
    estimated: int
    counted: int

    def __str__(self) -> str:
        """Return a row of a Markdown table."""
        deviation = self.estimated / self.counted - 1
        numbers = f"{self.counted:,} | {self.estimated:,} | {100 * deviation:+.1f} %"
        return f"| `{self.memory}` | {self.network} | {numbers} |"


def measure(
    networks: Sequence[tuple[str, Graph]], config: AcceleratorConfig, names: Sequence[str]
) -> Iterator[Measured]:
    """Yield what networks take, by their names, with each memory of `simulation.MEMORIES`.

    Raises `InputError` if the accelerator does not compute a network as a whole, or Verilator is
    missing. Raises `HardwareError` if a result differs from golden.
    """
    for name in names:
        timing = MEASURED[name]
        compiled = [(label, graph, _compiled(graph, config, timing)) for label, graph in networks]
        soc = hosted(name, Unit("accelerator", config).file())
        with simulated_board(soc) as board:
            for label, graph, stream in compiled:
                counted = Loaded(board, stream, config).compare(graph).cycles
                yield Measured(name, label, estimate([stream], timing).total, counted)


def _compiled(graph: Graph, config: AcceleratorConfig, timing: MemoryTiming) -> Compiled:
    streams = compile_network(graph, config, memory=timing).streams
    if len(streams) != 1:
        raise InputError("the network must be one stream of the accelerator")
    return streams[0]


@click.command()
@click.argument("models", nargs=-1, required=True, type=click.Path(path_type=Path))
@config_option
def main(models: Sequence[Path], config: str) -> None:
    """Print a table of cycles that networks take with LiteDRAM, and that are estimated."""
    networks = [(path.stem, load_int8(path.read_bytes())) for path in models]
    print("| memory | network | counted | estimated | deviation |\n|---|---|--:|--:|--:|")
    for row in measure(networks, AcceleratorConfig.load(config), tuple(MEASURED)):
        print(row, flush=True)


if __name__ == "__main__":
    one_line_errors(main)
