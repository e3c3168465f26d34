"""The documents' figures of networks: ``python -m lab.documents.figures FOLDER``, ``make figures``.

Every network runs as ``eightfold run --compare`` runs it: in RTL with every tensor compared with
LiteRT's reference kernels, and once more as an application runs it, which is what the figures are
of. Where the compiler leaves out channels, it runs with all of them too. Cycles over other memories
are estimates, without simulation, of networks that are compiled for the memory.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from statistics import geometric_mean
from typing import Any, Literal

import click

from eightfold.common.errors import HardwareError, InputError
from eightfold.common.extras import needs_extra, require_module
from eightfold.common.files import IMPORT_ROOT, write_file
from eightfold.common.markers import between, markdown, replace_between
from eightfold.common.program import CONFIG_HELP, one_line_errors
from eightfold.common.terminal import terminal_progress
from eightfold.compiler.passes import prepare
from eightfold.estimate.estimate import Estimate, estimate
from eightfold.model import Graph
from eightfold.operators import load_model
from eightfold.run.report.result import OperatorReport, RunResult, mac_limit
from eightfold.run.session import Session
from eightfold.target.config import AcceleratorConfig
from eightfold.target.memory import PROFILES, MemoryTiming
from lab.documents.part import number, percent, table_part

CHART = Path("docs/images/cycles.svg")

CHANNELS = "channels"
"""The rule of the compiler that leaves out channels."""

LIMITED = 0.9
"""Where the bus is taken for so much of the time, it is what the network waits for."""


@dataclass(frozen=True)
class Network:
    """A network by its model file's ``stem``: a short ``label``, and a ``title``."""

    stem: str
    label: str
    title: str


NETWORKS = (
    Network("kws_ref_model", "KWS", "key words (DS-CNN)"),
    Network("vww_96_int8", "VWW", "visual wake words (MobileNet v1, width 0.25)"),
    Network("pretrainedResnet_quant", "IC", "image classification (ResNet-8)"),
    Network("ad01_int8", "AD", "anomaly detection (autoencoder)"),
)
"""MLPerf Tiny's int8 reference models."""


@dataclass(frozen=True)
class Measurement:
    """A network's run; where the compiler has left out channels, ``whole`` is one with all."""

    network: Network
    result: RunResult
    whole: RunResult | None = None

    def labelled(self) -> Iterator[tuple[str, RunResult]]:
        """Yield the runs with their names: by the label alone that of the whole network."""
        label = self.network.label
        if self.whole is not None:
            yield label, self.whole
            label = f"{label} {LIVE}"
        yield label, self.result


LIVE = "live"
"""Behind the label of a network that is computed without channels that nothing depends on."""


def cycles_of(result: RunResult) -> int:
    """Return a run's cycles from doorbell to done."""
    assert result.cycles is not None, "it ran in hardware"
    return result.cycles


def limit_of(result: RunResult) -> int:
    """Return the cycles that the multipliers need at least."""
    return mac_limit(result.hardware_macs, result.macs_per_cycle)


def _counted(result: RunResult, name: str) -> int:
    """Return a counter at the end of a run."""
    return sum(operator.counters.get(name, 0) for operator in result.operators)


MATRIX_REASONS = (
    ("issue", "MATRIX_ISSUE"),
    ("weights", "MATRIX_WEIGHTS"),
    ("parameters", "MATRIX_PARAMETERS"),
    ("operands", "MATRIX_OPERANDS"),
    ("held", "MATRIX_HELD"),
    ("drain", "MATRIX_DRAIN"),
    ("tokens", "MATRIX_WAIT"),
)
"""What the matrix engine does in a cycle, column and counter; one of them, or it has nothing."""

OTHERS = (
    ("vector", "VECTOR_BUSY"),
    ("mover", "MOVER_BUSY"),
    ("beats read", "READ_BEATS"),
    ("written", "WRITE_BEATS"),
)
"""What goes on beside it."""


def summary_table(measurements: Iterable[Measurement]) -> str:
    """Return a row per network and preset: cycles, limit, utilisation, beats read."""
    head = ("Network", "Preset", "MACs done", "Limit", "Cycles", "Utilisation", "Beats read")
    rows = [
        (
            label,
            result.config,
            number(result.hardware_macs),
            number(limit_of(result)),
            number(cycles_of(result)),
            percent(limit_of(result), cycles_of(result)),
            number(_counted(result, "READ_BEATS")),
        )
        for item in measurements
        for label, result in item.labelled()
    ]
    return markdown(head, rows, text=2)


def overview_table(measurements: Sequence[Measurement]) -> str:
    """Return the README's table: a column per network; our presets by size, then `PEERS`."""
    runs = [pair for item in measurements for pair in item.labelled()]
    labels = list(dict.fromkeys(label for label, _ in runs))
    ours: dict[str, dict[str, RunResult]] = {}
    for label, result in runs:
        ours.setdefault(result.config, {})[label] = result
    sizes = {name: next(iter(results.values())).macs_per_cycle for name, results in ours.items()}
    rows = []
    for config in sorted(ours, key=lambda name: sizes[name]):
        items = ours[config]
        cycles = (f"**{number(cycles_of(items[n]))}**" if n in items else "" for n in labels)
        rows.append((f"**Eightfold `{config}`**", number(sizes[config]), *cycles, "RTL simulation"))
    for peer in PEERS:
        cycles = [peer.cycles.get(name, "") for name in labels]
        if any(cycles):
            rows.append((peer.name, peer.multipliers, *cycles, peer.kind))
    return markdown(("", "MACs per cycle", *labels, "Figure is"), rows, text=1)


def task_table() -> str:
    """Return a row per task that was estimated only, a column per accelerator."""
    names = list(TASKS[0].estimates)
    rows = [
        (task.name, number(task.macs), *(number(task.estimates[name]) for name in names))
        for task in TASKS
    ]
    return markdown(("", "MACs", *names), rows, text=1)


def operator_tables(measurements: Iterable[Measurement]) -> str:
    """Return a section per network and preset: where the cycles of each operator went."""
    sections = []
    for item in measurements:
        result = item.result
        *_, (label, _) = item.labelled()
        sections.append(
            f"### {label} on `{result.config}`: {number(cycles_of(result))} cycles\n\n"
            f"{item.network.title}; {result.macs_per_cycle} MACs per cycle.\n\n"
            f"{operator_table(result)}"
        )
    return "\n".join(sections)


def operator_table(result: RunResult) -> str:
    """Return a row per operator, the sums, and their shares of the cycles."""
    head = (
        *("#", "operator", "output", "MACs", "done", "limit"),
        *("cycles", "engines worked", "matrix engine worked", "utilisation"),
        *(title for title, _ in MATRIX_REASONS),
        *("none", *(title for title, _ in OTHERS)),
    )
    rows = []
    for operator in result.operators:
        done = operator.hardware_macs or 0
        limit = mac_limit(done, result.macs_per_cycle)
        used = operator.utilisation
        rows.append(
            (
                str(operator.index),
                operator.name,
                "x".join(map(str, operator.shape)),
                *(number(figure) if done else "-" for figure in (operator.macs, done, limit)),
                number(operator.cycles or 0),
                number(operator.engine_cycles or 0),
                number(operator.multiplier_cycles or 0),
                "-" if used is None else f"{100 * used:.1f} %",
                *map(number, _reasons(operator)),
                *(number(operator.counters.get(name, 0)) for _, name in OTHERS),
            )
        )
    total = result.cycles or 0
    limit = limit_of(result)
    sums = [sum(column) for column in zip(*map(_reasons, result.operators), strict=True)]
    others = [_counted(result, name) for _, name in OTHERS]
    figures = [number(figure) for figure in (result.macs, result.hardware_macs, limit, total)]
    used = "-" if result.utilisation is None else f"{100 * result.utilisation:.1f} %"
    counts = map(number, (*sums, *others))
    rows.append(("", "**total**", "", *figures, "", "", used, *counts))
    shares = [percent(count, total) for count in (*sums, *others)]
    none = [""] * 4
    rows.append(("", "share of the cycles", "", "", "", percent(limit, total), *none, *shares))
    return markdown(head, rows, text=3)


def _reasons(operator: OperatorReport) -> list[int]:
    """Return the cycles of each of `MATRIX_REASONS`, and those without a command."""
    counted = [operator.counters.get(name, 0) for _, name in MATRIX_REASONS]
    # A command's last cycle is told one cycle late, so there may be one too many at a border.
    return [*counted, max(0, (operator.cycles or 0) - sum(counted))]


def problems(run: RunResult) -> list[str]:
    """Return why a run cannot stand for figures; empty if it can."""
    reasons = []
    if not run.compared:
        reasons.append("nothing was compared")
    if run.mismatches:
        reasons.append(f"{run.mismatches} elements differ from LiteRT")
    if run.untimed:
        reasons.append("the pass that is timed was left out")
    golden = [f"{op.index} {op.name}" for op in run.operators if op.where != "hardware"]
    if golden:
        reasons.append(f"operators in golden: {', '.join(golden)}")
    return reasons


@dataclass(frozen=True)
class Peer:
    """Another accelerator, and the cycles that one inference takes on it.

    ``multipliers``: int8 multiply-accumulates per cycle, or what is known instead; may be empty.
    ``kind``: estimate of a vendor's tool; measured on the device; derived from a published time.
    ``figures``: cycles in the order of `NETWORKS`, None without a published figure.
    """

    name: str
    multipliers: str
    kind: Literal["estimate", "measured", "derived"]
    figures: tuple[int | None, ...]

    @property
    def cycles(self) -> dict[str, str]:
        """The figures that there are, by a network's label."""
        pairs = zip(NETWORKS, self.figures, strict=True)
        return {network.label: f"{figure:,}" for network, figure in pairs if figure is not None}


PEERS = (
    Peer("Arm Ethos-U55-64", "64", "estimate", (137_709, 355_816, 356_303, 41_090)),
    Peer("Arm Ethos-U55-256", "256", "estimate", (56_222, 146_940, 107_151, 40_929)),
    Peer("Arm Ethos-U85-256", "256", "estimate", (40_347, 117_653, 85_092, 22_200)),
    Peer("Renesas RA8P1, Ethos-U55-256", "256", "derived", (54_000, 181_000, 170_000, 66_000)),
    Peer("SIENNA 16x16, fp32", "256", "derived", (29_830, 97_565, 51_395, 17_670)),
    Peer("GAP9 with NE16", "", "measured", (175_922, 416_176, 228_001, 65_008)),
    Peer("best FPGA per network", "188 to 994 DSPs", "measured", (46_310, 69_191, 27_542, None)),
)
"""Vela 5.2 estimates the Ethos with all tensors and weights in SRAM.

The RA8P1's times in MLPerf Tiny v1.4, 108, 362, 340 and 132 microseconds of the whole board, are
cycles at 500 MHz. SIENNA is an open mesh in SystemVerilog (2026): its microseconds times the 950
MHz that it assumes; im2col and SOFTMAX are left to the host. The FPGAs are those of MLPerf Tiny's
closed division: 188 DSP blocks for KWS, 994 for VWW, 525 for IC (58,813 cycles with 211).
"""


@dataclass(frozen=True)
class Task:
    """A newer task of MLPerf Tiny whose network was estimated only, ours and others'.

    ``folder`` of mlcommons/tiny has the model; ``estimates`` are cycles of one inference by the
    accelerator's name.
    """

    name: str
    folder: str
    macs: int
    estimates: Mapping[str, int]


OURS = "**Eightfold `base`**"

TASKS = (
    Task(
        "IC02, a larger ResNet for images",
        "benchmark/training/image_classification",
        76_484_180,
        {OURS: 337_588, "Arm Ethos-U85-256": 472_967, "Arm Ethos-U55-256": 524_208},
    ),
    Task(
        "streaming wake word",
        "benchmark/training/streaming_wakeword",
        826_374,
        {OURS: 7_384, "Arm Ethos-U85-256": 16_899, "Arm Ethos-U55-256": 18_896},
    ),
)
"""Ours by ``eightfold estimate MODEL.tflite``, Arm's by Vela 5.2 with everything in SRAM."""


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


def estimated(graph: Graph, config: str, memory: str) -> Estimate:
    """Return what a network takes that is compiled for a preset and a memory."""
    timing = MemoryTiming.load(memory)
    prepared = prepare(graph, AcceleratorConfig.load(config), fallback=True, memory=timing)
    return estimate(prepared.network.streams, timing)


def memory_table(networks: Iterable[tuple[str, Graph]], configs: Sequence[str]) -> str:
    """Return a row for each network and preset: cycles over each memory, the bus's share of them.

    A share from `LIMITED` on is bold.
    """

    def cell(cycles: Estimate) -> str:
        share = percent(cycles.bus, cycles.total)
        limited = cycles.bus >= LIMITED * cycles.total
        return f"{number(cycles.total)} ({f'**{share}**' if limited else share})"

    rows = [
        (label, f"`{config}`", *(cell(estimated(graph, config, memory)) for memory in PROFILES))
        for label, graph in networks
        for config in configs
    ]
    return markdown(("network", "preset", *(f"`{name}`" for name in PROFILES)), rows, text=2)


SYNTHESIS = Path("docs/synthesis.md")

MULTIPLIER_LUTS = 66
"""LUTs that a multiplier block counts as in the last column: what its product takes in LUTs."""

ROUTED = re.compile(
    r"accelerator \| (\w+) \([^|]*\| LFE5U-85F, [^|]*"
    r"\| (?P<luts>\d+) \| \d+ \| (?P<dsps>\d+) \| \d+ \| (?P<mhz>\d+) / "
)


@dataclass(frozen=True)
class Machine:
    """A size of the accelerator: the worst clock in MHz, rounded down, and its area."""

    mhz: int
    luts: int
    dsps: int

    def per_second(self, cycles: Mapping[str, int]) -> float:
        """Return the inferences per second: the geometric mean over networks, by their cycles."""
        return geometric_mean(1e6 * self.mhz / count for count in cycles.values())


def efficiency_table() -> str:
    """Return a row for each preset whose cycles are in README's table."""
    readme = (IMPORT_ROOT / "README.md").read_text("utf-8")
    routed = machines((IMPORT_ROOT / SYNTHESIS).read_text("utf-8"))
    head = ("preset", "MHz", "inferences per second", "per 1,000 LUTs", "multipliers weighted")
    rows = []
    for preset, cycles in cycles_by_preset(readme).items():
        if (machine := routed.get(preset)) is None:
            rows.append((f"`{preset}`", "not routed", "", "", ""))
            continue
        rate = machine.per_second(cycles)
        weighted = machine.luts + MULTIPLIER_LUTS * machine.dsps
        each = (f"{1000 * rate / luts:.1f}" for luts in (machine.luts, weighted))
        rows.append((f"`{preset}`", str(machine.mhz), number(int(rate)), *each))
    return markdown(head, rows, text=1)


def cycles_by_preset(readme: str) -> dict[str, dict[str, int]]:
    """Return the cycles of each network of MLPerf Tiny as `eightfold run` computes it.

    Raises ValueError if a preset has no figure of one of them.
    """
    head, _, *rows = between(readme, "cycles table").splitlines()
    # A network's column of what is live follows its own, whose place it takes.
    labels = [label.removesuffix(f" {LIVE}") for label in _cells(head)[2:-1]]
    found: dict[str, dict[str, int]] = {}
    for row in rows:
        name, _, *cells, _ = _cells(row)
        if preset := re.fullmatch(r"\*\*Eightfold `(\w+)`\*\*", name):
            columns = dict(zip(labels, cells, strict=True))
            found[preset[1]] = {
                network.label: int(re.sub(r"\D", "", columns[network.label]))
                for network in NETWORKS
            }
    return found


def machines(page: str) -> dict[str, Machine]:
    """Return what is routed on ECP5, by preset."""
    found = ROUTED.finditer(between(page, "synthesis table"))
    return {row[1]: Machine(int(row["mhz"]), int(row["luts"]), int(row["dsps"])) for row in found}


def _cells(row: str) -> list[str]:
    return [cell.strip() for cell in row.strip("|").split("|")]


EFFICIENCY = table_part("efficiency", SYNTHESIS, efficiency_table)
"""Made of two tables that commands have written: README's of cycles (``make figures``), and that of
clock and area (``eightfold synth --docs``)."""


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
