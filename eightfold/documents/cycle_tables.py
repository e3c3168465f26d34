"""Cycles of networks as Markdown: how many, against which limit, and where they went."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from eightfold.documents.peers import PEERS
from eightfold.report import OperatorReport, RunResult, mac_limit


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
    """A network's plain run, with no tensor kept but its outputs."""

    network: Network
    result: RunResult

    @property
    def cycles(self) -> int:
        """From doorbell to done."""
        assert self.result.cycles is not None, "it ran in hardware"
        return self.result.cycles

    @property
    def limit(self) -> int:
        """Cycles that the multipliers need at least."""
        return mac_limit(self.result.hardware_macs, self.result.macs_per_cycle)

    def counted(self, name: str) -> int:
        """Return a counter at the end of the run."""
        return sum(operator.counters.get(name, 0) for operator in self.result.operators)


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
    head = ("Network", "Preset", "MACs", "Limit", "Cycles", "Utilisation", "Beats read")
    rows = [
        (
            item.network.label,
            item.result.config,
            number(item.result.hardware_macs),
            number(item.limit),
            number(item.cycles),
            percent(item.limit, item.cycles),
            number(item.counted("READ_BEATS")),
        )
        for item in measurements
    ]
    return markdown(head, rows, text=2)


def overview_table(measurements: Sequence[Measurement]) -> str:
    """Return the README's table: a column per network; our presets by size, then `PEERS`."""
    labels = list(dict.fromkeys(item.network.label for item in measurements))
    ours: dict[str, dict[str, Measurement]] = {}
    for item in measurements:
        ours.setdefault(item.result.config, {})[item.network.label] = item
    sizes = {name: next(iter(items.values())).result.macs_per_cycle for name, items in ours.items()}
    rows = []
    for config in sorted(ours, key=lambda name: sizes[name]):
        items = ours[config]
        cycles = (f"**{number(items[name].cycles)}**" if name in items else "" for name in labels)
        rows.append((f"**Eightfold `{config}`**", number(sizes[config]), *cycles, "RTL simulation"))
    for peer in PEERS:
        cycles = [peer.cycles.get(name, "") for name in labels]
        if any(cycles):
            rows.append((peer.name, peer.multipliers, *cycles, peer.kind))
    return markdown(("", "MACs per cycle", *labels, "Figure is"), rows, text=1)


def operator_tables(measurements: Iterable[Measurement]) -> str:
    """Return a section per network and preset: where the cycles of each operator went."""
    sections = []
    for item in measurements:
        result = item.result
        sections.append(
            f"### {item.network.label} on `{result.config}`: {number(item.cycles)} cycles\n\n"
            f"{item.network.title}; {result.macs_per_cycle} MACs per cycle.\n\n"
            f"{operator_table(result)}"
        )
    return "\n".join(sections)


def operator_table(result: RunResult) -> str:
    """Return a row per operator, the sums, and their shares of the cycles."""
    head = (
        *("#", "operator", "output", "MACs", "limit", "cycles", "utilisation"),
        *(title for title, _ in MATRIX_REASONS),
        *("none", *(title for title, _ in OTHERS)),
    )
    rows = []
    for operator in result.operators:
        macs = operator.hardware_macs or 0
        limit = mac_limit(macs, result.macs_per_cycle)
        cycles = operator.cycles or 0
        rows.append(
            (
                str(operator.index),
                operator.name,
                "x".join(map(str, operator.shape)),
                *(number(figure) if macs else "-" for figure in (macs, limit)),
                number(cycles),
                percent(limit, cycles) if macs else "-",
                *map(number, _reasons(operator)),
                *(number(operator.counters.get(name, 0)) for _, name in OTHERS),
            )
        )
    total = result.cycles or 0
    limit = mac_limit(result.macs, result.macs_per_cycle)
    sums = [sum(column) for column in zip(*map(_reasons, result.operators), strict=True)]
    others = [
        sum(operator.counters.get(name, 0) for operator in result.operators) for _, name in OTHERS
    ]
    figures = [number(figure) for figure in (result.macs, limit, total)]
    counts = map(number, (*sums, *others))
    rows.append(("", "**total**", "", *figures, percent(limit, total), *counts))
    shares = [percent(count, total) for count in (*sums, *others)]
    rows.append(("", "share of the cycles", "", "", percent(limit, total), "", "", *shares))
    return markdown(head, rows, text=3)


def _reasons(operator: OperatorReport) -> list[int]:
    """Return the cycles of each of `MATRIX_REASONS`, and those without a command."""
    counted = [operator.counters.get(name, 0) for _, name in MATRIX_REASONS]
    # A command's last cycle is told one cycle late, so there may be one too many at a border.
    return [*counted, max(0, (operator.cycles or 0) - sum(counted))]


def problems(compared: RunResult, plain: RunResult) -> list[str]:
    """Return why two runs of one input cannot stand for figures; empty if they can.

    ``compared`` is a run with every tensor compared with LiteRT, ``plain`` the one that was timed.
    """
    found = []
    if not compared.compared:
        found.append("nothing was compared")
    if compared.mismatches:
        found.append(f"{compared.mismatches} elements differ from LiteRT")
    for run in (compared, plain):
        golden = [f"{op.index} {op.name}" for op in run.operators if op.where != "hardware"]
        if golden:
            found.append(f"operators in golden: {', '.join(golden)}")
    if not _same(compared.outputs, plain.outputs):
        found.append("the timed run's outputs are not those of the compared one")
    return found


def _same(some: Mapping, others: Mapping) -> bool:
    return some.keys() == others.keys() and all((some[key] == others[key]).all() for key in some)


def number(value: int) -> str:
    """Return a number with its thousands apart."""
    return f"{value:,}"


def percent(part: int, whole: int) -> str:
    """Return ``part`` of ``whole`` in percent, ``-`` of nothing."""
    return f"{100 * part / whole:.1f} %" if whole else "-"


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]], text: int) -> str:
    """Return a Markdown table, the first ``text`` columns to the left, the others to the right."""
    align = "|" + "---|" * text + "--:|" * (len(head) - text)
    lines = [f"| {' | '.join(cells)} |" for cells in (head, *rows)]
    return "\n".join([lines[0], align, *lines[1:]]) + "\n"
