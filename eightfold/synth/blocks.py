"""RAM blocks and multipliers where another placement put them: a floorplan of what has few places.

The electrostatic placer of nextpnr moves them into their columns before all else, which makes the
wires of some seeds a sixth longer than those of others: docs/synthesis.md has the figures.
"""

import json
from pathlib import Path

from eightfold.common.errors import InputError
from eightfold.synth.area import area_of
from eightfold.synth.netlist import top_module


def fix_blocks(netlist: Path, placed: Path, fixed: Path) -> None:
    """Write `netlist` as `fixed`, its blocks tied to the places that they have in `placed`.

    Parameters
    ----------
    netlist
        Yosys' JSON, as nextpnr reads it.
    placed
        What nextpnr wrote after it had placed that netlist: ``NEXTPNR_BEL`` names a place.
    fixed
        The netlist with an attribute ``BEL`` at every RAM block and multiplier.

    Raises
    ------
    InputError
        If a block of the netlist has no place in `placed`.
    """
    found = json.loads(placed.read_text(encoding="utf-8"))
    places = {name: cell["attributes"] for name, cell in top_module(found)["cells"].items()}
    design = json.loads(netlist.read_text(encoding="utf-8"))
    for name, cell in top_module(design)["cells"].items():
        if _is_block(cell["type"]):
            place = places.get(name, {}).get("NEXTPNR_BEL")
            if place is None:
                raise InputError(f"{placed}: no place of {name}; remove the file, place it again")
            cell.setdefault("attributes", {})["BEL"] = place
    fixed.write_text(json.dumps(design), encoding="utf-8")


def _is_block(cell_type: str) -> bool:
    area = area_of({cell_type: 1}, "ecp5")
    return area.dsps + area.rams > 0
