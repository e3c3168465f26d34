"""The documents' figures of networks: ``python -m lab.documents.figures FOLDER``, ``make figures``.

Every network runs as ``eightfold run --compare`` runs it: in RTL with every tensor compared with
LiteRT's reference kernels, and once more as an application runs it, which is what the figures are
of. Where the compiler leaves out channels, it runs with all of them too. Cycles over other memories
are estimates, without simulation, of networks that are compiled for the memory.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import click

from eightfold.common.errors import HardwareError, InputError
from eightfold.common.files import IMPORT_ROOT, write_file
from eightfold.common.markers import replace_between
from eightfold.common.program import CONFIG_HELP, one_line_errors
from eightfold.common.terminal import terminal_progress
from eightfold.compiler.passes import prepare
from eightfold.estimate.estimate import Estimate, estimate
from eightfold.model import Graph
from eightfold.operators import load_model
from eightfold.run.session import Session
from eightfold.target.config import AcceleratorConfig
from eightfold.target.memory import PROFILES, MemoryTiming
from lab.documents.cycle_chart import chart, require_matplotlib
from lab.documents.cycles import (
    NETWORKS,
    Measurement,
    Network,
    cycles_of,
    operator_tables,
    overview_table,
    problems,
    summary_table,
    task_table,
)
from lab.documents.part import markdown, number, percent

CHART = Path("docs/images/cycles.svg")

CHANNELS = "channels"
"""The rule of the compiler that leaves out channels."""

LIMITED = 0.9
"""Where the bus is taken for so much of the time, it is what the network waits for."""


def networks_of(folder: Path) -> list[tuple[Network, Path]]:
    """Return `NETWORKS` that the folder has; without any of them every model of the folder.

    Raises
    ------
    InputError
        If it has no model.
    """
    known = [(network, folder / f"{network.stem}.tflite") for network in NETWORKS]
    if present := [(network, path) for network, path in known if path.is_file()]:
        return present
    models = sorted(folder.glob("*.tflite"))
    if not models:
        raise InputError(f"{folder}: no .tflite files there; name the folder of the models")
    return [(Network(path.stem, path.stem, path.name), path) for path in models]


def measure(
    models: Sequence[tuple[Network, Path]], configs: Sequence[str], backend: str, seed: int
) -> Iterator[Measurement]:
    """Run every network at every configuration.

    Raises
    ------
    HardwareError
        If a tensor differs from LiteRT's, or an operator did not run in hardware.
    """
    for config in configs:
        for network, path in models:
            with (
                terminal_progress(f"running {path.name}, config {config}") as progress,
                Session(backend, config, progress=progress) as session,
                Session(backend, config, no_rewrite=[CHANNELS], progress=progress) as whole,
            ):
                runs = [session.run(path, seed=seed, compare=True)]
                if any(CHANNELS in line for line in runs[0].rewrites):
                    runs.append(whole.run(path, seed=seed, compare=True))
            for run in runs:
                if reasons := problems(run):
                    raise HardwareError(f"{path.name}, config {config}: {'; '.join(reasons)}")
                run.config = Path(config).stem
            yield Measurement(network, *runs)


Estimator = Callable[[Graph, str, str], Estimate]


def estimated(graph: Graph, config: str, memory: str) -> Estimate:
    """Return what a network takes that is compiled for a preset and a memory."""
    timing = MemoryTiming.load(memory)
    prepared = prepare(graph, AcceleratorConfig.load(config), fallback=True, memory=timing)
    return estimate(prepared.network.streams, timing)


def memory_table(
    networks: Iterable[tuple[str, Graph]],
    configs: Sequence[str],
    estimator: Estimator = estimated,
) -> str:
    """Return a row for each network and preset: cycles over each memory, the bus's share of them.

    A share from `LIMITED` on is bold.
    """

    def cell(cycles: Estimate) -> str:
        share = percent(cycles.bus, cycles.total)
        limited = cycles.bus >= LIMITED * cycles.total
        return f"{number(cycles.total)} ({f'**{share}**' if limited else share})"

    rows = [
        (label, f"`{config}`", *(cell(estimator(graph, config, memory)) for memory in PROFILES))
        for label, graph in networks
        for config in configs
    ]
    return markdown(("network", "preset", *(f"`{name}`" for name in PROFILES)), rows, text=2)


def write_documents(measurements: Sequence[Measurement], memories: str, root: Path) -> None:
    """Rewrite the generated parts of the documents below ``root``; ``memories``: a `memory_table`.

    Raises
    ------
    InputError
        If a document is missing or lacks the markers.
    """
    parts: Mapping[str, Mapping[str, str]] = {
        "docs/cycles.md": {"cycles": summary_table(measurements)},
        "docs/figures/cycles.md": {"cycles per operator": operator_tables(measurements)},
        "docs/memories.md": {"networks over memories": memories},
        "README.md": {"cycles table": overview_table(measurements), "tasks table": task_table()},
    }
    for name, tables in parts.items():
        path = root / name
        try:
            text = path.read_text(encoding="utf-8")
            for marker, table in tables.items():
                text = replace_between(text, marker, table)
        except (OSError, ValueError) as error:
            raise InputError(f"{path}: {error}; the figures need a place to go to") from None
        write_file(path, text)


@click.command(context_settings={"show_default": True})
@click.argument("models", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option(
    "--config", "configs", multiple=True, default=("base", "small", "large"), help=CONFIG_HELP
)
@click.option("--backend", type=click.Choice(["verilator", "icarus"]), default="verilator")
@click.option("--seed", default=0, help="Of the random inputs.")
@click.option("--root", type=click.Path(path_type=Path), default=IMPORT_ROOT, help="Of docs/.")
@click.option("--no-chart", is_flag=True, help="Leave the chart as it is.")
def figures(
    models: Path, configs: tuple[str, ...], backend: str, seed: int, root: Path, no_chart: bool
) -> None:
    """Run the networks in the folder MODELS, and write their cycles into the documents.

    The chart is of the first configuration.
    """
    if not no_chart:
        require_matplotlib()
    networks = networks_of(models)
    done = []
    for item in measure(networks, configs, backend, seed):
        done.append(item)
        for label, run in item.labelled():
            click.echo(f"{label} on {run.config}: {number(cycles_of(run))} cycles")
    graphs = [(network.label, load_model(path)) for network, path in networks]
    by_size = sorted(configs, key=lambda name: AcceleratorConfig.load(name).macs_per_cycle)
    write_documents(done, memory_table(graphs, by_size), root)
    if not no_chart:
        first = Path(configs[0]).stem
        write_file(root / CHART, chart([item for item in done if item.result.config == first]))


if __name__ == "__main__":
    one_line_errors(figures)
