"""MOVE and GATHER in numpy."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from eightfold import isa
from eightfold.isa.decode import CommandError, Decoded
from eightfold.sim.machine.accesses import index_starts, move_starts

Spaces = Mapping[isa.Space, NDArray[np.uint8]]


def run_move(fields: Mapping[str, int], spaces: Spaces) -> None:
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


def run_gather(command: Decoded, spaces: Spaces) -> None:
    """Do a GATHER whose fields are legal; as `run_move`.

    Raises
    ------
    CommandError
        ADDRESS or INDEX, from the first run in loop order that leaves its spaces, or whose index
        leaves the scratchpad or [0, limit); nothing is written then.
    """
    f = command.fields
    source, target = (spaces[isa.Space(f[f"{side}_space"])] for side in ("source", "target"))
    scratchpad = spaces[isa.Space.SCRATCHPAD]
    size = 1 << f["index_size"]
    run = f["run"]
    at = index_starts(f)
    into = move_starts(f, "target")
    outside = (at < 0) | (at > len(scratchpad) - size)
    places = np.where(outside, 0, at)[:, None] + np.arange(size)
    n = scratchpad[places].view(f"<i{size}").ravel().astype(np.int64)
    wrong = (n < 0) | (n >= f["limit"])
    # Products of 64 bits; what is far outside is outside.
    offsets = [min(k * f["step"], 1 << 62) for k in np.where(wrong, 0, n).tolist()]
    start = move_starts(f, "source") + np.array(offsets, np.int64)
    leaves = outside | ~wrong & (_leaves(start, run, source) | _leaves(into, run, target))
    if (wrong | leaves).any():
        first = int(np.argmax(wrong | leaves))
        code = isa.ErrorCode.ADDRESS if leaves[first] else isa.ErrorCode.INDEX
        text = f"run {first}, index {n[first]} at {at[first]}, limit {f['limit']}"
        raise CommandError(code, command.number, text)
    element = np.arange(run)
    target[into[:, None] + element] = source[start[:, None] + element]


def _leaves(starts: NDArray[np.int64], run: int, space: NDArray[np.uint8]) -> NDArray[np.bool_]:
    return (starts < 0) | (starts > len(space) - run)
