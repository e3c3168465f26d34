"""What one measurement found, with the timing that nextpnr reports read into figures."""

import statistics
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from eightfold.common.errors import InputError
from eightfold.synth.area import Area
from eightfold.target.config import AcceleratorConfig


@dataclass(frozen=True, kw_only=True)
class Timing:
    """Place and route with one seed."""

    mhz: float
    """Highest clock, register to register."""

    path: str
    """The path that limits it."""

    seconds: float
    """Time that place and route took when it ran."""

    warnings: tuple[str, ...] = ()

    @classmethod
    def from_dict(cls, figures: Mapping[str, Any]) -> "Timing":
        """Return the timing that was written as a JSON object."""
        return cls(**{**figures, "warnings": tuple(figures["warnings"])})


def timing_of(report: Mapping[str, Any], clock: str) -> tuple[float, str]:
    """Return the highest clock in MHz and its path from nextpnr's ``--report`` JSON.

    Raises
    ------
    InputError
        If the report has no path from register to register.
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


@dataclass(frozen=True, kw_only=True)
class SynthesisResult:
    """Figures of one unit on one device."""

    unit: str
    config_name: str
    config: AcceleratorConfig
    family: str
    device: str
    speed: int | None
    """Speed grade; None if the device was not placed and routed."""

    cells: dict[str, int]
    """Cells by type."""

    area: Area
    parts: dict[str, Area]
    """Area of the components; `eightfold.synth.parts` says which."""

    timing: dict[int, Timing]
    """By seed."""

    blocks: int | None = None
    """Seed whose placement decided where RAM blocks and multipliers are; None: each its own."""

    target_mhz: float | None
    """Clock that place and route was asked for."""

    seconds: float
    """Time of synthesis when it ran, place and route not included."""

    warnings: tuple[str, ...]
    """Of both tools, without repeats."""

    tools: tuple[str, ...]
    """Names and versions."""

    digest: str
    """SHA-256 of the Verilog: tells whether the figures are current."""

    @property
    def mhz(self) -> dict[int, float]:
        """Highest clock by seed, in MHz."""
        return {seed: timing.mhz for seed, timing in self.timing.items()}

    @property
    def worst_mhz(self) -> float | None:
        """Lowest of the seeds, in MHz."""
        return min(self.mhz.values(), default=None)

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
