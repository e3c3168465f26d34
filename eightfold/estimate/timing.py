"""Constants of the hardware that the estimate of cycles needs, all in cycles unless it says so.

The compiler does not import the hardware. tests/eightfold/estimate/test_timing.py compares what has
a name there; the rest is from its components' "Timing" paragraphs, and held by
tests/sim/system/test_estimate_against_rtl.py. ``hw`` is `eightfold.hw`.
"""

from eightfold.isa import Row
from eightfold.target.config import AcceleratorConfig

QUEUE = 2  # hw.blocks.credit.CreditQueue.LATENCY: from a push to the output
SCRATCHPAD = 7  # hw.memory.scratchpad.Scratchpad.READ_LATENCY
BURST = 16  # hw.ports.BURST: beats; no request crosses a multiple

# Memory ports.
READ = 2  # hw.memory.reader: a register before the address's transfer, one behind the beat's
# eightfold.sim.simulator: from reset, behind which memory's first refresh is due, to the doorbell
DOORBELL = 65
READS = 64  # hw.memory.reader: bursts that are requested and not answered
WRITES = 16  # hw.memory.writer.MemoryWriter.OUTSTANDING: the same of written bursts
WRITE_BEATS = 64  # hw.memory.writer.MemoryWriter.BEATS: beats that wait for the rest of their burst
WRITE_BEGIN = 2  # hw.memory.writer: from a burst's last beat to its address's transfer
WRITE_ANSWER = 2  # from memory's write of a burst's last beat to the client's answer

# Fetchers, eightfold.hw.memory.linear_fetch.
REQUEST = 3  # from a run, or a request, to the next request
FETCHED = 3  # from memory's beat to the fetcher's output
# from a beat that memory sends, and that is taken at once, to the request for another in its place
FETCH_AGAIN = QUEUE + 3
# hw.memory.linear_fetch.YIELDING: beats beyond which constants are not asked for while the mover
# reads
YIELDING = 2 * BURST

# Sequencer.
# hw.control.run_control, hw.control.command_fetch: from the doorbell to the run of the command
# stream
BEGIN = 1
COMMAND_BEATS = 32  # hw.control.command_fetch.CommandFetch.DEPTH: beats that are fetched ahead
# hw.control.command_fetch, hw.control.command_decoder: from a beat to its first word in a queue
DECODE = FETCHED + 1 + 3
# hw.control.command_queue: from a command's last word in the queue to the command
ASSEMBLE = QUEUE + 1
# hw.control.command_queue.CommandQueue.FLIGHT: commands of an engine that have their tokens
FLIGHT = 4
# hw.control.sequencer, hw.control.run_control: from the last command's done, and END, to the end
# of the run
END = 8

# Constants of the matrix engine.
# hw.matrix.weight_stream: from a command to its run; sums up its bytes in 4 cycles, checks in 3
WEIGHT_PARSE = 8
WEIGHT_COMMAND = 3  # hw.matrix.weight_stream: from a run to the next command
# hw.array.weights: from a beat to a full buffer: the stream's register, the loader's
WEIGHT_LOAD = FETCHED + 2
WEIGHT_WORDS = 3  # words that the registers between fetcher and buffer hold
# hw.array.weights: from memory's beat of a word, whose way the swap of a buffer frees, to the swap
WEIGHT_SWAP = FETCHED - 1
# hw.matrix.parameter_stream.ParameterStream.BEATS: beats that are fetched ahead
PARAMETER_BEATS = 128
PARAMETER_PARSE = 3  # hw.matrix.parameter_stream: from a command to its run
PARAMETER_COMMAND = 2  # hw.matrix.parameter_stream: from a run to the next command
PARAMETER_LOAD = FETCHED + 2  # hw.array.parameters: from a beat to a ready bank

# Matrix engine.
MATRIX_WALK = 4  # hw.matrix.walk: from a command to its first vector
MATRIX_LOCATE = 2  # hw.matrix.operands: from a vector of the walk to its read
# hw.matrix.operands, hw.array.issue: from a vector's read to its issue: filled, queued,
# registered
MATRIX_READ = SCRATCHPAD + 1 + QUEUE + 2
# hw.matrix.operands.MatrixOperands.DEPTH: vectors from their reads to the array
MATRIX_OPERANDS = 16
MATRIX_AHEAD = MATRIX_OPERANDS + 1 - MATRIX_READ  # those beyond the ones on the way
# hw.matrix.operands, hw.array.issue: vectors between the walk and an issue: with these, those that
# registers hold in front of the reads and in the array
MATRIX_WALKED = MATRIX_OPERANDS + 3 + 2
# hw.array.partial_sums.PartialSums.REVISIT: least cycles between two sums of a position
REVISIT = 4

REQUANTIZE = 15  # hw.blocks.requantize_pipeline.RequantizePipeline.LATENCY


def array_latency(config: AcceleratorConfig) -> int:
    """Return `eightfold.hw.array.mac_array.latency`: front end, broadcast, dot product,
    requantizer, queue."""
    return 3 + 2 + (1 + _dot_product(config) + config.turns + REQUANTIZE) + QUEUE


def _dot_product(config: AcceleratorConfig) -> int:
    """Return `eightfold.hw.array.dot_product.latency`."""
    return ((config.width - 1).bit_length() + 1) // 2 + 2


# Mover.
# hw.mover.runs: from a command to its first run's step; the next ones follow in a cycle each
MOVE_RUN = 2
# hw.mover.runs, hw.mover.units: from a run's step to its first unit: checked, placed, queued
MOVE_CUT = 3 + QUEUE
MOVE_COMMAND = 3  # hw.mover.runs: from a command's last step to the next command
MOVE_RUNS = 16  # hw.mover.runs: runs that wait for the units of those before
MOVE_REQUEST = 1 + QUEUE  # hw.mover.units: from a burst's first unit to its request
# hw.mover.units, hw.memory.linear_fetch: from the first unit of a run, or the last request, to a
# request of another client that holds back because of it, or does so no longer
MOVE_READS = 3
MOVE_REQUESTS = 16  # hw.mover.units: requests that wait
MOVE_VECTOR = 1 + SCRATCHPAD + QUEUE  # hw.mover.units: from a unit to its bytes from the scratchpad
# hw.mover.engine: from memory's beat to the writer: queued, and a register behind the queue
MOVE_BEAT = QUEUE + 1
MOVE_BEATS = 64  # hw.mover.engine.BEATS: beats on their way
MOVE_VECTORS = 16  # hw.mover.engine.VECTORS: vectors that were asked for and not taken
MOVE_UNITS = 64  # hw.mover.units: units on their way
# hw.mover.indices.Indices.LATENCY: from a command to its first offset
GATHER_OFFSET = 4 + SCRATCHPAD + 7 + QUEUE
GATHER_WINDOW = 8  # hw.mover.indices.INDEX: bytes that are read for an index, at least
# hw.mover.indices, hw.mover.runs: how many runs later the index is that is read while a run is
# cut: the runs and the offsets that wait
GATHER_AHEAD = MOVE_RUNS + SCRATCHPAD + 6 + QUEUE + 1
TABLE_ENTRY = 4  # bytes of a table's entry; one is written per cycle

# Vector engine.
VECTOR_WALK = 4  # hw.vector.walk: from a command to its first read
# hw.vector.reader, hw.vector.beats: from a read to its first beat in the lanes
VECTOR_READ = SCRATCHPAD + QUEUE + 1
VECTOR_AHEAD = 16  # hw.vector.reader.VectorReader.DEPTH: vectors that are on their way or wait
VECTOR_LANE = 9  # hw.vector.lane.VectorLane.LATENCY


def vector_turn(config: AcceleratorConfig) -> int:
    """Return hw.vector.beats' cycles in which a vector of results has the array's requantizers."""
    return config.vector // config.vector_lanes


def vector_sum(config: AcceleratorConfig) -> int:
    """Return `eightfold.hw.vector.engine.sum_cycle`: from a beat to the array's requantizers."""
    return max(VECTOR_LANE + 1, 2 + 2 + (1 + _dot_product(config)) + config.turns)


def vector_done(config: AcceleratorConfig) -> int:
    """Return eightfold.hw.vector.writer's cycles from the last beat to done: requantized,
    collected, queued, written."""
    return vector_sum(config) + REQUANTIZE + 1 + QUEUE + 2


# hw.vector.row_unit.RowUnit.extreme_cycle without the tree: from a pass's last beat
ROW_EXTREME = 3
ROW_SUM = 7  # hw.vector.row_unit.RowUnit.sum_cycle without the tree
# hw.vector.row_function.RowFunction.latency, without a cycle per leading zero of the sum
ROW_FUNCTIONS = {Row.RECIPROCAL: 58, Row.LOGARITHM: 218, Row.INVERSE_ROOT: 186}
# the leading zeros of a sum of exponentials in [1, 2): 31 bits, 19 of them behind the point
LEADING_ZEROS = 12
