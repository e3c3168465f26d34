# amaranth: UnusedElaboratable=no
"""The estimate's constants are the hardware's, and its processes run in the order of time."""

import pytest

from eightfold.estimate import timing
from eightfold.estimate.clock import Change, Clock, Process
from eightfold.estimate.memory import Reader
from eightfold.hw import ports
from eightfold.hw.array.mac_array import latency
from eightfold.hw.array.partial_sums import PartialSums
from eightfold.hw.blocks.credit import CreditQueue
from eightfold.hw.blocks.requantize_pipeline import RequantizePipeline
from eightfold.hw.control.command_fetch import CommandFetch
from eightfold.hw.control.command_queue import CommandQueue
from eightfold.hw.control.control import READ_CLIENTS
from eightfold.hw.matrix.operands import MatrixOperands
from eightfold.hw.matrix.parameter_stream import ParameterStream
from eightfold.hw.memory.linear_fetch import YIELDING
from eightfold.hw.memory.reader import MemoryReader
from eightfold.hw.memory.scratchpad import Scratchpad
from eightfold.hw.memory.writer import MemoryWriter
from eightfold.hw.mover import engine as mover
from eightfold.hw.mover import indices as mover_indices
from eightfold.hw.vector.engine import sum_cycle
from eightfold.hw.vector.lane import VectorLane
from eightfold.hw.vector.reader import VectorReader
from eightfold.hw.vector.row_function import RowFunction
from eightfold.hw.vector.row_unit import RowUnit
from eightfold.target.config import PRESETS


@pytest.mark.parametrize("config", PRESETS)
def test_constants_are_those_of_the_hardware(config: str) -> None:
    sizes = PRESETS[config]
    rows = RowUnit(sizes)
    levels = sizes.vector_lanes.bit_length() - 1
    memory_reader = MemoryReader(sizes)
    pairs = {
        "QUEUE": (timing.QUEUE, CreditQueue.LATENCY),
        "SCRATCHPAD": (timing.SCRATCHPAD, Scratchpad.READ_LATENCY),
        "BURST": (timing.BURST, ports.BURST),
        "YIELDING": (timing.YIELDING, YIELDING),
        "READS": (timing.READS, memory_reader.outstanding),
        "readers": (tuple(reader.name.lower() for reader in Reader), READ_CLIENTS),
        "WRITES": (timing.WRITES, MemoryWriter.OUTSTANDING),
        "WRITE_BEATS": (timing.WRITE_BEATS, MemoryWriter.BEATS),
        "COMMAND_BEATS": (timing.COMMAND_BEATS, CommandFetch.DEPTH),
        "FLIGHT": (timing.FLIGHT, CommandQueue.FLIGHT),
        "PARAMETER_BEATS": (timing.PARAMETER_BEATS, ParameterStream.BEATS),
        "REVISIT": (timing.REVISIT, PartialSums.REVISIT),
        "array_latency": (timing.array_latency(sizes), latency(sizes)),
        "MATRIX_OPERANDS": (timing.MATRIX_OPERANDS, MatrixOperands.DEPTH),
        "MOVE_BEATS": (timing.MOVE_BEATS, mover.BEATS),
        "MOVE_VECTORS": (timing.MOVE_VECTORS, mover.VECTORS),
        "GATHER_OFFSET": (timing.GATHER_OFFSET, mover_indices.Indices.LATENCY),
        "GATHER_WINDOW": (timing.GATHER_WINDOW, mover_indices.INDEX),
        "VECTOR_LANE": (timing.VECTOR_LANE, VectorLane.LATENCY),
        "vector_sum": (timing.vector_sum(sizes), sum_cycle(sizes)),
        "REQUANTIZE": (timing.REQUANTIZE, RequantizePipeline.LATENCY),
        "VECTOR_AHEAD": (timing.VECTOR_AHEAD, VectorReader.DEPTH),
        "ROW_EXTREME": (timing.ROW_EXTREME + levels, rows.extreme_cycle),
        "ROW_SUM": (timing.ROW_SUM + levels, rows.sum_cycle),
        **{
            row.name: (latency, RowFunction.latency(row))
            for row, latency in timing.ROW_FUNCTIONS.items()
        },
    }
    assert {name: pair for name, pair in pairs.items() if pair[0] != pair[1]} == {}


def test_processes_run_in_the_order_of_their_cycles() -> None:
    clock = Clock()
    seen = []
    change = Change(clock)

    def process(name: str, *cycles: int) -> Process[None]:
        for cycle in cycles:
            yield cycle
            seen.append((name, clock.now))
        yield change
        seen.append((name, clock.now))

    def teller() -> Process[None]:
        yield 40
        change.tell()

    clock.start(process("a", 3, 10, 9))
    clock.start(process("b", 3, 20), cycle=5)
    clock.start(teller())
    clock.run()
    expected = [("a", 3), ("b", 5), ("a", 10), ("a", 10), ("b", 20), ("a", 40), ("b", 40)]
    assert seen == expected
