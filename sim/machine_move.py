"""MOVE in numpy."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from eightfold import isa
from sim.machine_accesses import move_starts


def run_move(fields: Mapping[str, int], spaces: Mapping[isa.Space, NDArray[np.uint8]]) -> None:
    """Do a MOVE whose fields are legal and whose bytes lie within their spaces.

    All is read before anything is written; of two runs that write the same byte the later one in
    loop order counts.

    Parameters
    ----------
    fields
        Of the command.
    spaces
        uint8, the contents of MODEL, ARENA, SCRATCHPAD and TABLES; changed in place.
    """
    element = np.arange(fields["run"])
    target = spaces[isa.Space(fields["target_space"])]
    places = move_starts(fields, "target")[:, None] + element
    source = isa.Space(fields["source_space"])
    if source == isa.Space.FILL:
        target[places] = fields["fill"]
    else:
        target[places] = spaces[source][move_starts(fields, "source")[:, None] + element]
