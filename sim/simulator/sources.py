"""Modules whose Verilog is made from Amaranth when it is asked for, kept by content."""

import re
import shutil
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from amaranth.lib import wiring

from eightfold.common.progress import OnProgress, tell
from eightfold.hw.units import UNITS
from eightfold.rtl import verilog
from eightfold.sim.simulator.cache import cached, content_key
from eightfold.target.config import AcceleratorConfig


class Source(ABC):
    """A module whose Verilog is made when it is asked for, or found made."""

    @property
    @abstractmethod
    def top(self) -> str:
        """The module's name."""

    @property
    def plusargs(self) -> tuple[str, ...]:
        """Arguments of each simulation."""
        return ()

    @abstractmethod
    def recipe(self) -> str:
        """Return a hash of what the Verilog depends on, whatever is installed here."""

    @abstractmethod
    def file(self, *, on_progress: OnProgress | None = None) -> Path:
        """Return the file; ``on_progress`` is called when it is made."""


@dataclass(frozen=True)
class Unit(Source):
    """A unit of `eightfold.hw.units` at a configuration: a component whose build is found
    unelaborated.

    Elaborating a large unit takes longer than simulating it. The key of this one's Verilog is a
    hash of the sources in ``hw`` instead of the netlist's.
    """

    name: str
    config: AcceleratorConfig
    module: str = ""
    """The module's name, if it is not ``eightfold_`` and the unit's."""

    def __call__(self) -> wiring.Component:
        """Return the component."""
        return UNITS[self.name](self.config)

    @property
    def top(self) -> str:
        """The module's name."""
        return self.module or f"eightfold_{self.name}"

    def recipe(self) -> str:
        """Return a hash of the sources in ``hw`` and of the configuration."""
        return verilog.unit_recipe(self.name, self.config)

    def file(self, *, on_progress: OnProgress | None = None) -> Path:
        """Return the file; nothing is elaborated if the sources are known."""
        key = content_key(self.recipe())

        def make(folder: Path) -> None:
            tell(on_progress, f"generating Verilog of {self.top}")
            shutil.copy(_Elaborated(self(), self.top).file(), folder)

        return cached("unit", f"{self.top}-{key}", make) / f"{self.top}.v"


@dataclass(frozen=True)
class AcceleratorSource:
    """What is simulated in place of the accelerator's RTL.

    ``name``: what reports call it, such as ``ecp5`` of a netlist. ``of``: returns the module for a
    configuration.
    """

    name: str
    of: Callable[[AcceleratorConfig], Source]


@dataclass(frozen=True)
class _Elaborated(Source):
    """A component, whose key is that of its netlist."""

    component: wiring.Component
    name: str

    @property
    def top(self) -> str:
        return self.name

    def recipe(self) -> str:
        return verilog.to_rtlil(self.component, self.top)

    def file(self, *, on_progress: OnProgress | None = None) -> Path:
        """Return the file; Yosys runs only if the netlist is new."""
        netlist = self.recipe()
        key = content_key(netlist, verilog.recipe())

        def make(folder: Path) -> None:
            text = verilog.from_rtlil(netlist)
            (folder / f"{self.top}.v").write_text(text, encoding="utf-8")

        return cached("verilog", f"{self.top}-{key}", make) / f"{self.top}.v"


def source_of(
    component: wiring.Component | Callable[[], wiring.Component] | Source, name: str | None = None
) -> Source:
    """Return what makes the Verilog of a component, its module called by ``name`` if it has one."""
    if isinstance(component, Unit):
        return replace(component, module=name or component.module)
    if isinstance(component, Source):
        return component
    if not isinstance(component, wiring.Component):
        component = component()
    snake_case = re.sub(r"(?<!^)(?=[A-Z])", "_", type(component).__name__).lower()
    return _Elaborated(component, name or f"eightfold_{snake_case}")
