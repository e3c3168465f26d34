"""Constants of the hardware that the estimate of cycles needs, all in cycles unless it says so.

The compiler does not import the hardware. tests/eightfold/test_estimate_timing.py compares what has
a name there; the rest is from its components' "Timing" paragraphs, and held by
tests/sim/test_estimate_against_rtl.py.
"""

from eightfold.config import AcceleratorConfig
from eightfold.isa import Row

MEMORY = 20
"""Of the memory model: from an address's transfer to the first beat's, or to the first write."""

QUEUE = 2
"""hw.credit.CreditQueue.LATENCY: from a push to the output."""

SCRATCHPAD = 7
"""hw.scratchpad.Scratchpad.READ_LATENCY."""

BURST = 16
"""hw.ports.BURST: beats; no request crosses a multiple."""

# Memory ports.
READ = MEMORY + 2
"""hw.memory_reader: a register before the address's transfer, one behind the beat's."""

READS = 64
"""hw.memory_reader: bursts that are requested and not answered."""

WRITES = 16
"""hw.memory_writer.MemoryWriter.OUTSTANDING: the same of written bursts."""

WRITE_BEATS = 64
"""hw.memory_writer.MemoryWriter.BEATS: beats that wait for the rest of their burst."""

WRITE_BEGIN = 2
"""hw.memory_writer: from a burst's last beat to its address's transfer."""

WRITE_ANSWER = 2
"""From memory's write of a burst's last beat to the client's answer."""

# Fetchers, hw.linear_fetch.
REQUEST = 3
"""From a run, or a request, to the next request."""

FETCHED = 3
"""From memory's beat to the fetcher's output."""

# Sequencer.
BEGIN = 1
"""hw.run_control, hw.command_fetch: from the doorbell to the run of the command stream."""

COMMAND_BEATS = 32
"""hw.command_fetch.CommandFetch.DEPTH: beats that are fetched ahead."""

DECODE = FETCHED + 1 + 3
"""hw.command_fetch, hw.command_decoder: from a beat to its first word in a queue."""

DECODE_AHEAD = 1
"""hw.linear_fetch, hw.command_decoder: from the request that a beat's place is used for to the
word in a queue that comes from the beat before."""

ASSEMBLE = QUEUE + 1
"""hw.command_queue: from a command's last word in the queue to the command."""

FLIGHT = 4
"""hw.command_queue.CommandQueue.FLIGHT: commands of an engine that have their tokens."""

END = 8
"""hw.sequencer, hw.run_control: from the last command's done, and END, to the end of the run."""

# Constants of the matrix engine.
WEIGHT_PARSE = 8
"""hw.weight_stream: from a command to its run; sums up its bytes in 4 cycles, checks in 3."""

WEIGHT_COMMAND = 3
"""hw.weight_stream: from a run to the next command."""

WEIGHT_LOAD = FETCHED + 2
"""hw.weights: from a beat to a full buffer: the stream's register, the loader's."""

WEIGHT_WORDS = 4
"""Words that the registers between fetcher and buffer hold."""

PARAMETER_BEATS = 128
"""hw.parameter_stream.ParameterStream.BEATS: beats that are fetched ahead."""

PARAMETER_PARSE = 3
"""hw.parameter_stream: from a command to its run."""

PARAMETER_COMMAND = 2
"""hw.parameter_stream: from a run to the next command."""

PARAMETER_LOAD = FETCHED + 2
"""hw.parameters: from a beat to a ready bank."""

RECORD = 16
"""hw.parameter_records.RECORD: bytes."""

BIAS = 4
"""hw.parameter_records.BIAS: bytes."""

# Matrix engine.
MATRIX_WALK = 4
"""hw.matrix_walk: from a command to its first vector."""

MATRIX_LOCATE = 2
"""hw.matrix_operands: from a vector of the walk to its read."""

MATRIX_READ = SCRATCHPAD + 1 + QUEUE + 2
"""hw.matrix_operands, hw.issue: from a vector's read to its issue: filled, queued, registered."""

MATRIX_AHEAD = 5
"""hw.matrix_operands: vectors that are read ahead beyond those on the way."""

REVISIT = 4
"""hw.partial_sums.PartialSums.REVISIT: least cycles between two sums of a position."""


def array_latency(config: AcceleratorConfig) -> int:
    """Return `hw.mac_array.latency`: front end, broadcast, dot product, requantizer, queue."""
    dot_product = (config.width - 1).bit_length() + 2
    return 3 + 2 + (1 + dot_product + 1 + 15) + QUEUE


# Mover.
MOVE_RUN = 2
"""hw.mover_runs: from a command to its first run's step; the next ones follow in a cycle each."""

MOVE_CUT = 3 + QUEUE
"""hw.mover_runs, hw.mover_units: from a run's step to its first unit: checked, placed, queued."""

MOVE_COMMAND = 3
"""hw.mover_runs: from a command's last step to the next command."""

MOVE_RUNS = 16
"""hw.mover_runs: runs that wait for the units of those before."""

MOVE_REQUEST = 1 + QUEUE
"""hw.mover_units: from a burst's first unit to its request."""

MOVE_REQUESTS = 16
"""hw.mover_units: requests that wait."""

MOVE_VECTOR = 1 + SCRATCHPAD + QUEUE
"""hw.mover_units: from a unit to its bytes from the scratchpad."""

MOVE_BEAT = QUEUE + 1
"""hw.mover: from memory's beat to the writer: queued, and a register behind the queue."""

MOVE_BEATS = 64
"""hw.mover.BEATS: beats on their way."""

MOVE_UNITS = 64
"""hw.mover_units: units on their way."""

GATHER_OFFSET = 4 + SCRATCHPAD + 6 + QUEUE
"""hw.mover_indices.Indices.LATENCY: from a command to its first offset."""

GATHER_WINDOW = 8
"""hw.mover_indices.INDEX: bytes that are read for an index, at least."""

GATHER_AHEAD = MOVE_RUNS + SCRATCHPAD + 6 + QUEUE + 1
"""hw.mover_indices, hw.mover_runs: how many runs later the index is that is read while a run is
cut: the runs and the offsets that wait."""

TABLE_ENTRY = 4
"""Bytes of a table's entry; one is written per cycle."""

# Vector engine.
VECTOR_WALK = 4
"""hw.vector_walk: from a command to its first read."""

VECTOR_READ = SCRATCHPAD + QUEUE + 1
"""hw.vector_reader, hw.vector_beats: from a read to its first beat in the lanes."""

VECTOR_AHEAD = 16
"""hw.vector_reader.VectorReader.DEPTH: vectors that are on their way or wait."""

VECTOR_LANE = 24
"""hw.vector_lane.VectorLane.LATENCY."""

VECTOR_DONE = VECTOR_LANE + 1 + QUEUE + 2
"""hw.vector_writer: from the last beat to done: collected, queued, written."""

ROW_EXTREME = 3
"""hw.row_unit.RowUnit.extreme_cycle without the tree: from a pass's last beat."""

ROW_SUM = 7
"""hw.row_unit.RowUnit.sum_cycle without the tree."""

ROW_FUNCTIONS = {Row.RECIPROCAL: 58, Row.LOGARITHM: 218, Row.INVERSE_ROOT: 186}
"""hw.row_function.RowFunction.latency, without a cycle per leading zero of the sum."""

LEADING_ZEROS = 12
"""Of a sum of exponentials between 1 and 2, of 31 bits, 19 of them behind the point."""
