"""GATHER: its batches, and what it picks from."""

from math import prod

from eightfold.compiler.lower.call import Call
from eightfold.compiler.steps.gather import Gather
from eightfold.golden.indexing import checked_gather


def gather(call: Call) -> Gather:
    """Lower GATHER; indices that are computed are checked when the command runs."""
    source, indices, target = call.input(0), call.input(1), call.output
    options = call.options
    axis, batch = checked_gather(
        source.shape, indices.shape, options["axis"], options["batch_dims"]
    )
    inner = source.shape[batch:axis]
    behind = source.shape[axis + 1 :]
    return Gather(
        source=source.index,
        indices=indices.index,
        target=target.index,
        batches=prod(source.shape[:batch]),
        outer=prod(inner),
        length=source.shape[axis],
        chosen=prod(indices.shape[batch:]),
        run=prod(behind) * source.dtype.itemsize,
        index_bytes=indices.dtype.itemsize,
    )
