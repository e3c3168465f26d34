"""A class of each unit in RTL: `StreamAdapter` with the attributes that the recipe states.

The variable EIGHTFOLD_SOURCES is the folder with the sources of others: a file ``PATH`` of the
repository ``OWNER/NAME`` is ``OWNER/NAME/PATH`` there.
"""

import os
from pathlib import Path

from eightfold.conformance.adapters import StreamAdapter
from eightfold.rtl.verilog import unit_verilog
from eightfold.sim.simulator.cache import cached, content_key
from eightfold.target.config import PRESETS
from lab.others import units


class Unit(StreamAdapter):
    """A unit of the recipe; without a repository it is one of ours, of preset base."""

    repository = ""
    files_of: tuple[str, ...] = ()

    @property
    def sources(self) -> list[Path]:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Its files, behind the modules that were written around it."""
        if not self.repository:
            return [_ours(self.top.removeprefix("eightfold_"))]
        folder = Path(os.environ.get("EIGHTFOLD_SOURCES", ".")) / self.repository
        sources = [folder / name for name in self.files_of if not name.endswith("h")]
        return [Path(__file__).with_name("wrappers.sv"), *sources]


def _ours(unit: str) -> Path:
    text = unit_verilog(unit, PRESETS["base"])

    def make(folder: Path) -> None:
        (folder / f"{unit}.v").write_text(text, encoding="utf-8")

    return cached("units", content_key(text), make) / f"{unit}.v"


for _unit in units():
    if _unit["rtl"]:
        _own = {"repository": _unit["repository"], "files_of": tuple(_unit["files"])}
        _own |= {"clock": None} if _unit["rtl"].get("latency") == 0 else {}
        globals()[_unit["adapter"]] = type(_unit["adapter"], (Unit,), {**_unit["rtl"], **_own})
