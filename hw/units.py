"""The units that can be generated, simulated and synthesized on their own, by name."""

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING

from eightfold.target.config import AcceleratorConfig

if TYPE_CHECKING:  # the command line lists the units also where Amaranth is not installed
    from eightfold.hw.blocks.component import Component


def _unit(module: str, name: str) -> "Callable[[AcceleratorConfig], Component]":
    # Imported when built: asking for one small unit does not load the whole accelerator.
    def build(config: AcceleratorConfig) -> "Component":
        return getattr(import_module(f"eightfold.hw.{module}"), name)(config)

    return build


UNITS: "dict[str, Callable[[AcceleratorConfig], Component]]" = {
    "requantizer": _unit("requantizer", "Requantizer"),
    "lane": _unit("array.lane", "Lane"),
    "mac_array": _unit("array.mac_array", "MacArray"),
    "scratchpad": _unit("memory.scratchpad", "Scratchpad"),
    "mover": _unit("mover.engine", "Mover"),
    "vector_engine": _unit("vector.engine", "VectorEngine"),
    "matrix_engine": _unit("matrix.engine", "MatrixEngine"),
    "accelerator": _unit("accelerator", "Accelerator"),
}
"""Unit name to a function that builds it for a configuration, smallest unit first."""
