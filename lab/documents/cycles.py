"""Cycles of networks as Markdown: how many, against which limit and peers, where they went."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from eightfold.run.report import OperatorReport, RunResult, mac_limit
from lab.documents.part import markdown, number, percent


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
    others = [
        sum(operator.counters.get(name, 0) for operator in result.operators) for _, name in OTHERS
    ]
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


LABELS = ("KWS", "VWW", "IC", "AD")
"""Of MLPerf Tiny's networks."""


@dataclass(frozen=True)
class Peer:
    """Another accelerator, and the cycles that one inference takes on it.

    ``multipliers``: int8 multiply-accumulates per cycle, or what is known instead; may be empty.
    ``kind``: estimate of a vendor's tool; measured on the device; derived from a published time.
    ``figures``: cycles in the order of `LABELS`, None without a published figure.
    """

    name: str
    multipliers: str
    kind: Literal["estimate", "measured", "derived"]
    figures: tuple[int | None, ...]

    @property
    def cycles(self) -> dict[str, str]:
        """The figures that there are, by a network's label."""
        pairs = zip(LABELS, self.figures, strict=True)
        return {label: f"{figure:,}" for label, figure in pairs if figure is not None}


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
