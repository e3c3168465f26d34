"""The commands that an operator becomes, and which of them are its work."""

from math import prod

from eightfold.compiler import Compiled, compile_network
from eightfold.isa import Engine, Space
from eightfold.isa.issued import Interval, Issued
from eightfold.ops.subject import Case
from eightfold.target.config import PRESETS, AcceleratorConfig

PRESET = "base"
"""The configuration that the figures are of."""


def compiled(case: Case, config: AcceleratorConfig = PRESETS[PRESET]) -> Compiled:
    """Return a model's command stream."""
    (segment,) = compile_network(case.graph, config).segments
    assert segment.compiled is not None
    return segment.compiled


def work(case: Case, stream: Compiled) -> dict[int, Issued]:
    """Return the engines' commands of the subject by their index in the stream.

    Without loads of tables, and without copies of the model's outputs to the arena.
    """
    outputs = [
        Interval(Space.ARENA, offset, offset + prod(tensor.shape) * tensor.dtype.itemsize)
        for tensor, offset in ((case.graph.tensors[t], o) for t, o in stream.outputs.items())
    ]
    return {
        index: issued
        for index, issued in enumerate(stream.issued)
        if issued.operator == case.operator.index
        and issued.engine is not None
        and not loads_table(issued)
        and not any(write.overlaps(place) for write in issued.writes for place in outputs)
    }


def loads_table(issued: Issued) -> bool:
    """Return whether a command fills a table of the vector engine."""
    return any(write.space == Space.TABLES for write in issued.writes)


def engines(case: Case, stream: Compiled) -> tuple[Engine, ...]:
    """Return the engines that work on the subject, in the order of `Engine`."""
    used = {issued.engine for issued in work(case, stream).values()}
    return tuple(engine for engine in Engine if engine in used)
