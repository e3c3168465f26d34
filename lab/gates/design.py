"""What is simulated in place of a design: the netlist that was made of it, turned back."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from amaranth.lib import wiring

from eightfold.common.progress import OnProgress, tell
from eightfold.rtl import verilog
from eightfold.sim.simulator.cache import cached, content_key
from eightfold.sim.simulator.sources import Source, source_of
from lab.gates.netlists import NETLISTS, Netlist


@dataclass(frozen=True)
class Gates(Source):
    """The Verilog of a netlist, under the name of the module that it was made of.

    Noise in it is drawn with the seed of each simulation.
    """

    of: Source
    netlist: Netlist

    @property
    def top(self) -> str:
        """The module's name."""
        return self.of.top

    @property
    def plusargs(self) -> tuple[str, ...]:
        """What a constant ``x`` is, for each simulation: it is not part of what is built."""
        return (f"+unknown={self.netlist.unknown}",)

    def recipe(self) -> str:
        """Return a hash of the module's Verilog, and of what makes the netlist."""
        return content_key(self.of.recipe(), self.netlist.name, _steps())

    def file(self, *, on_progress: OnProgress | None = None) -> Path:
        """Return the file; Yosys runs only if the module's Verilog is new."""
        text = self.of.file(on_progress=on_progress).read_text("utf-8")
        key = content_key(text, self.netlist.name, _steps())

        def make(folder: Path) -> None:
            tell(on_progress, f"synthesizing {self.top} for {self.netlist.name}")
            made = NETLISTS[self.netlist.name](text, self.top)
            (folder / f"{self.top}.v").write_text(made, encoding="utf-8")

        return cached("gates", f"{self.top}-{key}", make) / f"{self.top}.v"


def gates(
    design: wiring.Component | Callable[[], wiring.Component] | Source,
    netlist: str | Netlist,
    name: str | None = None,
) -> Gates:
    """Return the design that has the netlist of another in its place.

    Parameters
    ----------
    design
        A component, a function that makes one, or a `eightfold.sim.simulator.sources.Unit`.
    netlist
        Such as ``ecp5``, see `Netlist.of`.
    name
        Of its module, as `eightfold.sim.simulator.build.build_model` takes it.

    Raises
    ------
    InputError
        If there is no such netlist.
    """
    chosen = netlist if isinstance(netlist, Netlist) else Netlist.of(netlist)
    return Gates(source_of(design, name), chosen)


@cache
def _steps() -> str:
    """Return a hash of all that happens to a module's Verilog, tools included."""
    rooms = [Path(__file__).parent, verilog.PACKAGE / "synth"]
    texts = [path.read_text("utf-8") for room in rooms for path in sorted(room.rglob("*.py"))]
    return content_key(texts, verilog.recipe())
