"""Which tensors have their columns in planes (`eightfold.compiler.steps.side_by_side`)."""

from collections.abc import Collection
from dataclasses import replace

from eightfold.compiler.program import Program
from eightfold.compiler.steps.channelwise import DepthwiseConvolution
from eightfold.compiler.steps.convolution import Convolution
from eightfold.compiler.steps.planes import into_planes, pays
from eightfold.compiler.steps.step import Step
from eightfold.target.config import AcceleratorConfig
from eightfold.target.memory import MemoryTiming


def with_planes(
    program: Program,
    config: AcceleratorConfig,
    memory: MemoryTiming,
    resident: Collection[int],
    kept: Collection[int],
) -> list[Step]:
    """Return the program's steps, some of them with planes between them where that pays.

    Only between a convolution and the depthwise step that alone reads its result, which nobody asks
    for. ``resident``: storages in the scratchpad; ``kept``: those that are read from the arena.
    """
    steps = list(program.steps)
    touching = program.touching()
    for number, reader in enumerate(steps):
        if not isinstance(reader, DepthwiseConvolution):
            continue
        first, *others = touching[program.storage(reader.source)]
        producer = steps[first]
        if others != [number] or not isinstance(producer, Convolution):
            continue
        between, source = producer.target, program.storage(producer.source)
        if between != reader.source or between in kept or not {between, source} <= set(resident):
            continue
        into = into_planes(producer, reader, config) if program.computed(producer.source) else None
        if into is not None and pays(producer, reader, into, config, memory):
            steps[first] = into
            steps[number] = replace(reader, planes=len(into.parts))
    return steps
