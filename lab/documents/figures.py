"""The documents' figures of networks: ``python -m lab.documents.figures FOLDER``, ``make figures``.

Every network runs as ``eightfold run --compare`` runs it: in RTL with every tensor compared with
LiteRT's reference kernels, and once more as an application runs it, which is what the figures are
of. Where the compiler leaves out channels, it runs with all of them too. Cycles over other memories
are estimates, without simulation, of networks that are compiled for the memory.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from io import StringIO
from pathlib import Path
from typing import Any

import click

from eightfold.common.errors import HardwareError, InputError
from eightfold.common.extras import needs_extra, require_module
from eightfold.common.files import IMPORT_ROOT, write_file
from eightfold.common.markers import replace_between
from eightfold.common.program import CONFIG_HELP, one_line_errors
from eightfold.common.terminal import terminal_progress
from eightfold.compiler.passes import prepare
from eightfold.estimate.estimate import Estimate, estimate
from eightfold.model import Graph
from eightfold.operators import load_model
from eightfold.run.report import RunResult, mac_limit
from eightfold.run.session import Session
from eightfold.target.config import AcceleratorConfig
from eightfold.target.memory import PROFILES, MemoryTiming
from lab.documents.cycles import (
    NETWORKS,
    Measurement,
    Network,
    cycles_of,
    limit_of,
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
    """Return `NETWORKS` that the folder has; without any of them every model of the folder."""
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
    """Run every network at every configuration."""
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
    networks: Iterable[tuple[str, Graph]], configs: Sequence[str], estimator: Estimator = estimated
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
    """Rewrite the generated parts of the documents below ``root``; ``memories`` is a table."""
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


COLUMNS = 2
ROW = 0.19
"""Inches of a bar."""

PANEL, HEAD, FOOT = 0.75, 0.55, 0.35
"""Inches between panels, above the first and below the last one."""

WIDTH, LEFT, GAP = 11.0, 1.75, 0.35
"""Inches of the chart, in front of a panel's bars, and behind them."""

LIMIT, BEYOND, INK = "#1f6feb", "#f0b37e", "#1f2328"

# Typed loosely: matplotlib lists every key that it allows, where it is installed.
STYLE: Any = {
    "svg.hashsalt": "eightfold",  # the same names of elements each time
    "svg.fonttype": "none",
    "font.size": 8,
    "text.color": INK,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
}


@needs_extra("docs", "the chart")
def require_matplotlib() -> None:
    """Raise InputError if matplotlib is not there: better before the simulations than after."""
    require_module("matplotlib")


def chart(measurements: Sequence[Measurement]) -> str:
    """Return an SVG, the same bytes for the same figures: a panel per network, a bar per operator.

    A bar is the operator's cycles; its dark part is `mac_limit`.
    """
    from matplotlib import rc_context  # pyright: ignore[reportMissingImports]
    from matplotlib.figure import Figure  # pyright: ignore[reportMissingImports]

    places, height = _places([len(item.result.operators) for item in measurements])
    with rc_context(STYLE):
        figure = Figure(figsize=(WIDTH, height), facecolor="white")
        for item, (column, top, rows) in zip(measurements, places, strict=True):
            step = WIDTH / COLUMNS
            box = (
                (column * step + LEFT) / WIDTH,
                1 - (top + rows * ROW) / height,
                (step - LEFT - GAP) / WIDTH,
                rows * ROW / height,
            )
            _panel(figure.add_axes(box), item)
        handles, labels = figure.axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="lower right", ncols=2, frameon=False)
        text = StringIO()
        figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    return "\n".join(line.rstrip() for line in text.getvalue().splitlines()) + "\n"


def _places(sizes: Sequence[int]) -> tuple[list[tuple[int, float, int]], float]:
    """Return column, top in inches and rows of each panel, and the chart's height.

    Each panel goes to the column that is shortest so far.
    """
    ends = [HEAD] * COLUMNS
    places = []
    for rows in sizes:
        column = ends.index(min(ends))
        places.append((column, ends[column], rows))
        ends[column] += rows * ROW + PANEL
    return places, max(ends) - PANEL + HEAD + FOOT


def _panel(axes: Any, item: Measurement) -> None:
    result = item.result
    names = [f"{operator.index} {operator.name}" for operator in result.operators]
    cycles, limits = _bars(result)
    rows = range(len(names))
    axes.barh(rows, cycles, color=BEYOND, label="cycles")
    axes.barh(rows, limits, color=LIMIT, label="of them, limit of the multipliers")
    axes.set_yticks(rows, names)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.grid(axis="x", color="#d0d7de", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.tick_params(length=0)
    axes.spines[["top", "right"]].set_visible(False)
    used = percent(limit_of(result), cycles_of(result))
    *_, (label, _) = item.labelled()
    axes.set_title(
        f"{label} on {result.config}: {number(cycles_of(result))} cycles, {used}",
        loc="left",
        fontweight="bold",
    )


def _bars(result: RunResult) -> tuple[list[int], list[int]]:
    """Return cycles and limit of each operator; work that ends later has none left of its own."""
    cycles = [operator.cycles or 0 for operator in result.operators]
    macs = [operator.hardware_macs or 0 for operator in result.operators]
    limits = [mac_limit(count, result.macs_per_cycle) for count in macs]
    return cycles, [min(pair) for pair in zip(cycles, limits, strict=True)]


if __name__ == "__main__":
    one_line_errors(figures)
