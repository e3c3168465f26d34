"""Results as a Markdown table, and its place between the markers of a document."""

import statistics
from collections.abc import Iterable
from pathlib import Path

from eightfold.common.errors import InputError
from eightfold.common.files import write_file
from eightfold.common.markers import replace_between
from eightfold.synth.parts import parts_table
from eightfold.synth.report import SynthesisResult

PART = "synthesis table"


def markdown_table(results: Iterable[SynthesisResult]) -> str:
    """Return the figures as a Markdown table, one row per result."""
    rows = list(results)
    lines = [
        "| Unit | Configuration | Device | LUTs | FFs | DSPs | RAMs "
        "| MHz worst / median | Seeds | Seconds |",
        "|---|---|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for row in rows:
        config = f"{row.config_name} ({row.config.lanes}x{row.config.width}, "
        device = row.device if row.speed is None else f"{row.device}, speed {row.speed}"
        blocks = "" if row.blocks is None else f", blocks of {row.blocks}"
        routing = [timing.seconds for timing in row.timing.values()]
        columns = [
            row.unit,
            f"{config}{row.config.multiplier})",
            device,
            f"{row.area.lut4_equivalents}",
            f"{row.area.ffs}",
            f"{row.area.dsps}",
            f"{row.area.rams}",
            f"{row.worst_mhz:.0f} / {row.median_mhz:.0f}" if routing else "not routed",
            f"{len(routing)}{blocks}" if routing else "",
            f"{row.seconds:.0f} + {statistics.mean(routing):.0f}"
            if routing
            else f"{row.seconds:.0f}",
        ]
        lines.append(f"| {' | '.join(columns)} |")
    tools = sorted({tool for row in rows for tool in row.tools})
    return "\n".join([*lines, "", f"Measured with {', '.join(tools)}."]) + "\n"


def document_part(results: Iterable[SynthesisResult]) -> str:
    """Return what a document shows: the table, and the components of routed accelerators."""
    rows = list(results)
    parts = [
        f"\nComponents of the accelerator, {row.config_name}, on {row.device}:\n\n"
        f"{parts_table(row.parts)}"
        for row in rows
        if row.unit == "accelerator" and row.timing
    ]
    return "".join([markdown_table(rows), *parts])


def write_between_markers(path: Path, table: str) -> list[str]:
    """Replace what stands between the synthesis table's markers of a Markdown file.

    Returns
    -------
    list of str
        Unit, configuration and device of each measurement that the file showed and ``table``
        does not.

    Raises
    ------
    InputError
        If the file is missing or lacks the markers.
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
