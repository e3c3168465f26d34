"""Netlists turned back into Verilog, so that the benches of the RTL run on what was synthesized.

`gates` makes such a design of any other. docs/gates.md says what is shown by it. May import `synth`
and the builds of `sim`; the laboratory's suites import it. `lab.netlist_option` is what it adds to
``eightfold run``.
"""

import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

from amaranth.lib import wiring

from eightfold.common.errors import InputError
from eightfold.common.progress import OnProgress, tell
from eightfold.rtl.verilog import PACKAGE, recipe, run_yosys
from eightfold.sim.simulator.cache import cached, content_key
from eightfold.sim.simulator.sources import AcceleratorSource, Source, Unit, source_of
from eightfold.synth.device import Device
from eightfold.target.config import AcceleratorConfig
from lab.gates import ecp5

FAMILIES: Mapping[str, str] = {
    "xilinx": Device.load("xilinx").yosys,
    "ice40": "synth_ice40",  # with -dsp, Yosys 0.70 turns some products into constants
}
"""Yosys' command of each, which is also the name of the folder of its models."""


def flattened(name: str, text: str, top: str) -> str:
    """Return the Verilog of a module's netlist of a family, its cells replaced by their models."""
    steps = [
        "read_verilog unit.v",
        f"hierarchy -check -top {top}",
        FAMILIES[name],
        "write_verilog -noattr mapped.v",
        "design -reset",  # synthesis keeps its cells as black boxes, also those with parameters
        "read_verilog mapped.v",
        f"read_verilog +/{name}/cells_sim.v",
        f"hierarchy -check -top {top}",
        "proc",
        "flatten",
        "setundef -zero",
        "opt_clean -purge",
        "write_verilog -noattr netlist.v",
    ]
    with tempfile.TemporaryDirectory(prefix="eightfold-") as scratch:
        Path(scratch, "unit.v").write_text(text, encoding="utf-8")
        run_yosys("; ".join(steps), Path(scratch))
        return Path(scratch, "netlist.v").read_text(encoding="utf-8")


NETLISTS: Mapping[str, Callable[[str, str], str]] = {
    "ecp5": ecp5.rewritten,
    "ecp5-mapped": ecp5.mapped,
    "ecp5-routed": ecp5.routed,
    **{name: partial(flattened, name) for name in FAMILIES},
}
"""Functions of a module's Verilog, and its name, to the Verilog of the netlist made of it."""


def named(text: str) -> tuple[str, int | None]:
    """Return name and level of a text such as ``ecp5`` or ``ecp5:1``; None if it has no level.

    The level, 0 or 1, is what every constant ``x`` of the netlist is simulated as. The models of
    other families than ECP5 say it themselves: theirs is 0. Raises InputError if there is no such
    netlist.
    """
    name, colon, level = text.partition(":")
    if name not in NETLISTS or (colon and level not in map(str, _levels(name))):
        raise InputError(
            f"netlist {text!r}: use one of {', '.join(NETLISTS)}; with :1 behind it, the constants "
            "x of one of ecp5 are 1"
        )
    return name, int(level) if colon else None


def _levels(name: str) -> tuple[int, ...]:
    return (0,) if name in FAMILIES else (0, 1)


def levels_of(text: str) -> list[str]:
    """Return the netlists that a text asks for: one for either level of ``x``, if it names none.

    An empty text, which is that of the RTL, is returned as it is. Raises InputError as `named`.
    """
    if not text:
        return [text]
    name, level = named(text)
    return [f"{name}:{each}" for each in (_levels(name) if level is None else (level,))]


@dataclass(frozen=True)
class Gates(Source):
    """The Verilog of a netlist, under the name of the module that it was made of.

    Noise in it is drawn with the seed of each simulation. ``netlist``: one of `NETLISTS`;
    ``unknown``: what its constants ``x`` are.
    """

    of: Source
    netlist: str
    unknown: int = 0

    @property
    def top(self) -> str:
        return self.of.top

    @property
    def plusargs(self) -> tuple[str, ...]:
        """What a constant ``x`` is, for each simulation: it is not part of what is built."""
        return (f"+unknown={self.unknown}",)

    def recipe(self) -> str:
        """Return a hash of the module's Verilog, and of what makes the netlist."""
        return content_key(self.of.recipe(), self.netlist, _steps())

    def file(self, *, on_progress: OnProgress | None = None) -> Path:
        """Return the file; Yosys runs only if the module's Verilog is new."""
        text = self.of.file(on_progress=on_progress).read_text("utf-8")
        key = content_key(text, self.netlist, _steps())

        def make(folder: Path) -> None:
            tell(on_progress, f"synthesizing {self.top} for {self.netlist}")
            made = NETLISTS[self.netlist](text, self.top)
            (folder / f"{self.top}.v").write_text(made, encoding="utf-8")

        return cached("gates", f"{self.top}-{key}", make) / f"{self.top}.v"


def gates(
    design: wiring.Component | Callable[[], wiring.Component] | Source, netlist: str
) -> Gates:
    """Return the design that has the netlist of another in its place.

    ``design``: a component, a function that makes one, or a `eightfold.sim.simulator.sources.Unit`.
    ``netlist``: such as ``ecp5``, see `named`. Raises InputError if there is no such netlist.
    """
    name, level = named(netlist)
    return Gates(source_of(design), name, level or 0)


def accelerator_source(config: AcceleratorConfig, netlist: str = "") -> Source:
    """Return the accelerator's RTL, or its netlist of a name, as `gates` takes it."""
    unit = Unit("accelerator", config)
    return gates(unit, netlist) if netlist else unit


def netlist_source(netlist: str) -> AcceleratorSource | None:
    """Return what has `eightfold.Session` simulate a netlist such as ``ecp5``; None of no name.

    Raises InputError if there is no such netlist.
    """
    if not netlist:
        return None
    named(netlist)
    return AcceleratorSource(netlist, lambda config: accelerator_source(config, netlist))


@cache
def _steps() -> str:
    """Return a hash of all that happens to a module's Verilog, tools included."""
    rooms = [Path(__file__).parent, PACKAGE / "synth"]
    texts = [path.read_text("utf-8") for room in rooms for path in sorted(room.rglob("*.py"))]
    return content_key(texts, recipe())
