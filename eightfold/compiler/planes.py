"""Which tensors have their columns in planes, and the convolutions that write such tensors.

`eightfold.compiler.steps.depthwise` says what planes are: they are for a depthwise step with a
stride. Each plane is computed by a convolution of its own, whose outputs are every n-th column of
the result; as ever, few channels share a pass with those of the next columns of their plane.
"""

from collections.abc import Collection
from dataclasses import dataclass, replace

from eightfold.compiler.emit.emitter import Emitter
from eightfold.compiler.emit.regions import Tile
from eightfold.compiler.emit.staging import Staging
from eightfold.compiler.step_program import StepProgram
from eightfold.compiler.steps.channelwise import DepthwiseConvolution
from eightfold.compiler.steps.convolution import Convolution, vectors, widened
from eightfold.compiler.steps.depthwise import best_side_by_side, planes
from eightfold.compiler.steps.step import Step, UnaryStep
from eightfold.compiler.steps.windowed import LONGEST
from eightfold.estimate.cost import MATRIX_APART
from eightfold.target.config import AcceleratorConfig
from eightfold.target.memory import MemoryTiming


@dataclass(frozen=True, kw_only=True)
class PlanesConvolution(UnaryStep):
    """A convolution into planes; source and target are in the scratchpad.

    ``parts`` compute one plane each of the target, which has ``shape`` (N, H, W, C).
    """

    shape: tuple[int, int, int, int]
    parts: tuple[Convolution, ...]

    def emit(self, emitter: Emitter, staging: Staging) -> None:
        """Emit one plane after the other, image by image."""
        places = staging.resident(self.source), staging.resident(self.target)
        assert places[0] is not None
        assert places[1] is not None
        for image in range(self.shape[0]):
            whole = Tile.resident(places[1], self.shape, image)
            for part, plane in zip(self.parts, planes(whole, len(self.parts)), strict=True):
                source = Tile.resident(places[0], part.source_shape, image)
                target = Tile.resident(plane.address, part.target_shape, 0)
                height, width, depth = (range(size) for size in part.target_shape[1:])
                part.emit_tiles(emitter, source, target, (height, width, depth))


def into_planes(
    producer: Convolution, reader: DepthwiseConvolution, config: AcceleratorConfig
) -> PlanesConvolution | None:
    """Return what computes a convolution's result in the planes that its reader may have; or None.

    The tensor between them is in the scratchpad, and so is the producer's source.
    """
    count = reader.columns.stride
    shape = reader.source_shape
    narrow = producer.narrow or producer
    if not 1 < count <= shape[2] or max(shape[1:3]) > LONGEST or narrow.target_shape != shape:
        return None
    if narrow.groups > 1 or 2 * shape[3] > min(config.lanes, config.width):
        return None
    parts = []
    for first in range(count):
        columns = narrow.columns.every(count, first)
        plane = (*shape[:2], columns.outputs, shape[3])
        parts.append(widened(replace(narrow, columns=columns, target_shape=plane), config))
    return PlanesConvolution(
        source=producer.source, target=producer.target, shape=shape, parts=tuple(parts)
    )


def pays(
    producer: Convolution,
    reader: DepthwiseConvolution,
    into: PlanesConvolution,
    config: AcceleratorConfig,
    memory: MemoryTiming,
) -> bool:
    """Return whether ``into`` and a reader of planes save a twentieth of the cycles."""
    if producer.room(config):  # on strips of patches, in fewer vectors
        return False
    kernel = reader.kernel((0, 0), range(reader.target_shape[3]))
    outputs = range(reader.rows.outputs), range(reader.columns.outputs)
    plain, sorted_ = (
        sum(_cycles(part, config, memory) for part in parts)
        + best_side_by_side(config, memory, kernel, outputs, count).cycles(config, memory)
        for parts, count in (((producer,), 1), (into.parts, len(into.parts)))
    )
    return 20 * sorted_ < 19 * plain


def _cycles(convolution: Convolution, config: AcceleratorConfig, memory: MemoryTiming) -> int:
    """Return the cycles for one image, about: vectors, weights, what is between commands."""
    count = vectors(convolution, config)
    positions = convolution.rows.outputs * convolution.columns.outputs
    words = count // positions * config.lanes
    commands = 1 if words == config.lanes else -(-positions // config.psum_depth)
    fetch = memory.cycles(words * config.weight_word // config.port, config.port)
    return count + commands * (fetch + MATRIX_APART)


def with_planes(
    program: StepProgram,
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
        between = producer.target
        source = program.storage(producer.source)
        if between != reader.source or between in kept or not {between, source} <= set(resident):
            continue
        into = into_planes(producer, reader, config) if program.computed(producer.source) else None
        if into is not None and pays(producer, reader, into, config, memory):
            steps[first] = into
            steps[number] = replace(reader, planes=len(into.parts))
    return steps
