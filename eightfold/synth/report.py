"""What a measurement found, with the timing that nextpnr reports, and many as a Markdown table."""

import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from eightfold.common.errors import InputError
from eightfold.common.files import write_file
from eightfold.common.markers import markdown, replace_between
from eightfold.synth.area import Area, component_of, parts_table
from eightfold.target.config import AcceleratorConfig


@dataclass(frozen=True, kw_only=True)
class Timing:
    """Place and route with one seed, which took ``seconds`` when it ran.

    ``mhz``: highest clock, register to register; ``path``: what limits it; ``slow``: as
    `slow_end_points`; ``moved``: cells that were moved after the routing.
    """

    mhz: float
    path: str
    seconds: float
    warnings: tuple[str, ...] = ()
    slow: Mapping[str, list[float]] = field(default_factory=dict)
    moved: int = 0

    @classmethod
    def from_dict(cls, figures: Mapping[str, Any]) -> "Timing":
        """Return the timing that was written as a JSON object."""
        return cls(**{**figures, "warnings": tuple(figures["warnings"])})


def timing_of(report: Mapping[str, Any], clock: str) -> tuple[float, str]:
    """Return the highest clock in MHz and its path from nextpnr's ``--report`` JSON.

    Raises InputError if the report has no path from register to register.
    """
    fmax = report["fmax"]
    edge = f"posedge {clock}"
    paths = [p["path"] for p in report["critical_paths"] if p["from"] == p["to"] == edge]
    if clock not in fmax or not paths:
        raise InputError(f"place and route found no path between registers on clock {clock}")
    first, last = paths[0][0]["from"], paths[0][-1]["to"]
    total = sum(step["delay"] for step in paths[0])
    routing = sum(step["delay"] for step in paths[0] if step["type"] == "routing")
    levels = sum(step["type"] == "logic" for step in paths[0])
    text = (
        f"{first['cell']}.{first['port']} to {last['cell']}.{last['port']}: "
        f"{total:.2f} ns, of it {routing:.2f} ns routing; logic cells: {levels}"
    )
    return float(fmax[clock]["achieved"]), text


SLOW = 5.0
"""Nanoseconds from which on the delay of an end point is kept: 200 MHz."""


def slow_end_points(report: Mapping[str, Any], clock: str) -> dict[str, list[float]]:
    """Return the delays in ns of registers of a clock that take longer than `SLOW` to be reached.

    By component, as `eightfold.synth.area.component_of` tells it, the longest first; of each pin
    the longest path counts, whatever begins it. ``report``: nextpnr's ``--report`` JSON with
    ``--detailed-timing-report``.
    """
    longest: defaultdict[tuple[str, str], float] = defaultdict(float)
    for net in report.get("detailed_net_timings", ()):
        for end in net["endpoints"]:
            pin = (end["cell"], end["port"])
            if end["event"] == f"posedge {clock}":
                delay = end["delay"]  # the corners' bounds, of nextpnr-himbaechel
                longest[pin] = max(longest[pin], max(delay) if isinstance(delay, list) else delay)
    found: defaultdict[str, list[float]] = defaultdict(list)
    for (cell, _), delay in longest.items():
        if delay > SLOW:
            found[".".join(component_of(cell))].append(round(delay, 2))
    return {name: sorted(delays, reverse=True) for name, delays in found.items()}


def slow_table(timing: Timing, clocks: Iterable[float]) -> str:
    """Return how many end points of each component miss a clock in MHz, as a Markdown table."""
    clocks = list(clocks)
    rows = []
    for name, delays in timing.slow.items():
        counts = [sum(delay > 1000 / mhz for delay in delays) for mhz in clocks]
        if any(counts):
            rows.append((counts, name or "whole"))
    rows.sort(key=lambda row: (row[0][::-1], row[1]), reverse=True)
    head = ("End points", *(f"below {mhz:g} MHz" for mhz in clocks))
    return markdown(head, [(name, *map(str, counts)) for counts, name in rows], text=1)


@dataclass(frozen=True, kw_only=True)
class SynthesisResult:
    """Figures of one unit on one device.

    ``speed``: speed grade, None if the device was not placed and routed; ``cells``: how many by
    type; ``parts``: area of the components, `eightfold.synth.area` says which; ``timing``: by seed.
    ``blocks``: the seed whose placement decided where RAM blocks and multipliers are, None: each
    its own; ``target_mhz``: the clock that place and route was asked for. ``seconds``: time of
    synthesis when it ran, place and route not included; ``warnings`` of both tools, without
    repeats; ``tools``: names and versions; ``digest``: SHA-256 of the Verilog, which tells whether
    the figures are current.
    """

    unit: str
    config_name: str
    config: AcceleratorConfig
    family: str
    device: str
    speed: int | None
    cells: dict[str, int]
    area: Area
    parts: dict[str, Area]
    timing: dict[int, Timing]
    blocks: int | None = None
    target_mhz: float | None
    seconds: float
    warnings: tuple[str, ...]
    tools: tuple[str, ...]
    digest: str

    @property
    def mhz(self) -> dict[int, float]:
        """Highest clock by seed, in MHz."""
        return {seed: timing.mhz for seed, timing in self.timing.items()}

    @property
    def worst_mhz(self) -> float | None:
        """Lowest of the seeds, in MHz."""
        return min(self.mhz.values(), default=None)

    @property
    def slowest(self) -> Timing:
        """The timing of the slowest seed."""
        return min(self.timing.values(), key=lambda timing: timing.mhz)

    @property
    def median_mhz(self) -> float | None:
        """Median of the seeds, in MHz."""
        return statistics.median(self.mhz.values()) if self.timing else None

    @property
    def key(self) -> tuple[str, str, str, int]:
        """What one measurement replaces: unit, configuration, family and speed grade."""
        return self.unit, self.config_name, self.family, self.speed or 0

    def as_dict(self) -> dict[str, Any]:
        """Return the figures as JSON types, the worst and median clock included."""
        figures = asdict(self)
        figures["timing"] = {str(seed): asdict(timing) for seed, timing in self.timing.items()}
        return figures | {"worst_mhz": self.worst_mhz, "median_mhz": self.median_mhz}

    @classmethod
    def from_dict(cls, figures: Mapping[str, Any]) -> "SynthesisResult":
        """Return the result that `as_dict` wrote."""
        fields = {k: v for k, v in figures.items() if k not in ("worst_mhz", "median_mhz")}
        fields["config"] = AcceleratorConfig(**figures["config"])
        fields["area"] = Area(**figures["area"])
        fields["parts"] = {name: Area(**area) for name, area in figures.get("parts", {}).items()}
        fields["timing"] = {
            int(seed): Timing.from_dict(timing) for seed, timing in figures["timing"].items()
        }
        fields["warnings"], fields["tools"] = tuple(figures["warnings"]), tuple(figures["tools"])
        return cls(**fields)


PART = "synthesis table"


def markdown_table(results: Iterable[SynthesisResult]) -> str:
    """Return the figures as a Markdown table, one row per result."""
    results = list(results)
    head = ("Unit", "Configuration", "Device", "LUTs", "FFs", "DSPs", "RAMs")
    head += ("MHz worst / median", "Seeds", "Seconds")
    rows = []
    for row in results:
        config = row.config
        device = row.device if row.speed is None else f"{row.device}, speed {row.speed}"
        blocks = "" if row.blocks is None else f", blocks of {row.blocks}"
        routing = [timing.seconds for timing in row.timing.values()]
        clocks = [mhz for mhz in (row.worst_mhz, row.median_mhz) if mhz is not None]
        columns = [
            row.unit,
            f"{row.config_name} ({config.lanes}x{config.width}, {config.multiplier})",
            device,
            *row.area.figures,
            " / ".join(str(int(mhz)) for mhz in clocks) or "not routed",
            f"{len(routing)}{blocks}" if routing else "",
            f"{row.seconds:.0f}" + (f" + {statistics.mean(routing):.0f}" if routing else ""),
        ]
        rows.append(columns)
    tools = sorted({tool for row in results for tool in row.tools})
    return f"{markdown(head, rows, text=3)}\nMeasured with {', '.join(tools)}.\n"


CLOCKS = (90, 100, 110)
"""In MHz, of the documents' tables of end points."""


def document_part(results: Iterable[SynthesisResult]) -> str:
    """Return what a document shows: the table, and the components of routed accelerators."""
    rows = list(results)
    parts = []
    for row in rows:
        if row.unit == "accelerator" and row.timing:
            name = f"the accelerator, {row.config_name}, on {row.device}"
            parts.append(f"\nComponents of {name}:\n\n{parts_table(row.parts)}")
            if any(max(delays) > 1000 / max(CLOCKS) for delays in row.slowest.slow.values()):
                parts.append(
                    f"\nRegisters of {name} that a clock is too fast for, with the slowest seed:"
                    f"\n\n{slow_table(row.slowest, CLOCKS)}"
                )
    return "".join([markdown_table(rows), *parts])


def write_between_markers(path: Path, table: str) -> list[str]:
    """Replace what stands between the synthesis table's markers of a Markdown file.

    Return unit, configuration and device of each measurement that the file showed and ``table``
    does not. Raises InputError if the file is missing or lacks the markers.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}; the table needs a file to go to") from None
    try:
        replaced = replace_between(text, PART, table)
    except ValueError as error:
        raise InputError(f"{path}: {error}") from None
    write_file(path, replaced)
    left = _measurements(replaced)
    return [row for row in _measurements(text) if row not in left]


def _measurements(text: str) -> list[str]:
    """Return the first three columns of a document's rows of ten, which `markdown_table` wrote."""
    rows = [line.strip("| ").split(" | ") for line in text.splitlines() if line.count("|") == 11]
    return [", ".join(row[:3]) for row in rows]
