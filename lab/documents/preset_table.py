"""What each preset contains, as the Markdown table of ``docs/architecture.md``."""

from collections.abc import Callable
from pathlib import Path

from eightfold.target.config import PRESETS, AcceleratorConfig
from lab.documents.cycle_tables import markdown, number
from lab.documents.part import table_part

ROWS: tuple[tuple[str, Callable[[AcceleratorConfig], str]], ...] = (
    ("lanes (`lanes`)", lambda config: number(config.lanes)),
    ("products of a lane per cycle (`width`)", lambda config: number(config.width)),
    ("MACs per cycle", lambda config: number(config.macs_per_cycle)),
    ("products in (`multiplier`)", lambda config: STYLES[config.multiplier]),
    ("bytes of a beat (`port`)", lambda config: number(config.port)),
    ("scratchpad (`scratchpad`)", lambda config: size(config.scratchpad)),
    ("bytes of a scratchpad access", lambda config: number(config.vector)),
    ("weights fetched ahead (`weight_buffer`)", lambda config: size(config.weight_buffer)),
    ("partial sums of a lane (`psum_depth`)", lambda config: number(config.psum_depth)),
    ("parameter banks (`parameter_banks`)", lambda config: number(config.parameter_banks)),
    ("result vectors that wait (`output_depth`)", lambda config: number(config.output_depth)),
    (
        "depthwise window, rows x columns",
        lambda config: f"{config.window_rows} x {config.window_columns}",
    ),
    ("vectors of a line (`line_depth`)", lambda config: number(config.line_depth)),
    ("vector lanes (`vector_lanes`)", lambda config: number(config.vector_lanes)),
    ("tables of 256 entries (`tables`)", lambda config: number(config.tables)),
    ("command words per queue (`command_queue`)", lambda config: number(config.command_queue)),
)
"""What a row is called, the configuration's field in brackets, and its cell."""

STYLES = {"infer": "DSP blocks", "rows": "carry chains"}
"""What makes the products of each multiplier style."""


def preset_table() -> str:
    """Return a column per preset, a row per size."""
    rows = [(title, *map(cell, PRESETS.values())) for title, cell in ROWS]
    return markdown(("", *(f"`{name}`" for name in PRESETS)), rows, text=1)


def size(count: int) -> str:
    """Return bytes in KiB."""
    return f"{count / 1024:g} KiB"


TABLE = table_part("presets", Path("docs/architecture.md"), preset_table)
