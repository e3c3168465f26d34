"""The table of networks over memories: ``python -m lab.documents.memory_table FOLDER``.

Every figure is an estimate, without simulation, of a network that is compiled for the memory.
"""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import click

from eightfold.common.files import IMPORT_ROOT, write_file
from eightfold.common.markers import replace_between
from eightfold.common.program import one_line_errors
from eightfold.compiler.passes import prepare
from eightfold.estimate.estimate import Estimate, estimate
from eightfold.model import Graph, load_model
from eightfold.target.config import AcceleratorConfig
from eightfold.target.memory import PROFILES, MemoryTiming
from lab.documents.cycle_tables import markdown, number, percent
from lab.documents.figures import networks_of

DOCUMENT, NAME = Path("docs/memories.md"), "networks over memories"

LIMITED = 0.9
"""Where the bus is taken for so much of the time, it is what the network waits for."""

Taken = Callable[[Graph, str, str], Estimate]


def estimated(graph: Graph, config: str, memory: str) -> Estimate:
    """Return what a network takes that is compiled for a preset and a memory."""
    timing = MemoryTiming.load(memory)
    prepared = prepare(graph, AcceleratorConfig.load(config), fallback=True, memory=timing)
    return estimate(prepared.network.streams, timing)


def memory_table(
    networks: Iterable[tuple[str, Graph]], configs: Sequence[str], taken: Taken = estimated
) -> str:
    """Return a row for each network and preset, with cycles and the bus's share of them."""
    memories = list(PROFILES)
    rows = []
    for label, graph in networks:
        for config in configs:
            found = [taken(graph, config, memory) for memory in memories]
            rows.append((label, f"`{config}`", *map(_cell, found)))
    return markdown(("network", "preset", *(f"`{name}`" for name in memories)), rows, text=2)


def _cell(found: Estimate) -> str:
    share = percent(found.bus, found.total)
    if found.bus >= LIMITED * found.total:
        share = f"**{share}**"
    return f"{number(found.total)} ({share})"


@click.command(context_settings={"show_default": True})
@click.argument("models", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option("--config", "configs", multiple=True, default=("small", "base", "large"))
@click.option("--root", type=click.Path(path_type=Path), default=IMPORT_ROOT, help="Of docs/.")
def main(models: Path, configs: tuple[str, ...], root: Path) -> None:
    """Write what the networks in the folder MODELS take into docs/memories.md."""
    named = [(network.label, load_model(path)) for network, path in networks_of(models)]
    page = root / DOCUMENT
    text = page.read_text(encoding="utf-8")
    write_file(page, replace_between(text, NAME, memory_table(named, configs)))


if __name__ == "__main__":
    one_line_errors(main)
