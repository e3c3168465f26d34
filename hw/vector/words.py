"""What the parts of the vector engine hand each other, each word defined once."""

from amaranth.hdl import signed, unsigned
from amaranth.lib import data, enum

from eightfold.hw.blocks.layouts import hdl
from eightfold.hw.ports import local_address
from eightfold.isa import Combine
from eightfold.target.config import AcceleratorConfig


class Phase(enum.Enum, shape=unsigned(2)):
    """What a pass over a row is for. All but operators on rows have one pass, the output."""

    OUTPUT = 0
    SUM = 1  # sum of table_b's entries
    EXTREME = 2  # largest or smallest byte


def beats(config: AcceleratorConfig) -> int:
    """Return the beats of a whole chunk: its vector, `vector_lanes` elements at a time."""
    return config.vector // config.vector_lanes


def operation_layout(config: AcceleratorConfig) -> data.StructLayout:
    """Return what the lanes do, the same for a whole command."""
    return data.StructLayout(
        {
            "combine": hdl(Combine),
            "two": unsigned(1),  # operand b is read
            "repeat_a": unsigned(1),  # operand a is the first byte that is read
            "repeat_b": unsigned(1),
            "common": unsigned(1),  # operand b is the same number for all lanes
            "word": unsigned(1),  # that number is read; 0: the position in the window
            "sum": unsigned(1),  # reduce: 1: sum, 0: maximum or minimum
            "minimum": unsigned(1),
            "reduces": unsigned(1),  # 0: the last position of a window counts
            "rows": unsigned(1),  # operand b is looked up with a
            "relative": unsigned(1),  # tables are looked up with a - maximum of the row
            "resume": unsigned(1),  # the row goes on from the command before
            "single": unsigned(1),  # one result per row
            "single_sum": unsigned(1),  # it is the sum
            "least": unsigned(1),  # the extreme is the smallest byte
            "lookup_a": unsigned(1),
            "lookup_b": unsigned(1),
            "table_a": range(config.tables),
            "table_b": range(config.tables),
            "fill": signed(8),
        }
    )


def chunk_layout(config: AcceleratorConfig) -> data.StructLayout:
    """Return what is known of a chunk at one position of its window when it is read."""
    return data.StructLayout(
        {
            "outside": unsigned(1),  # operand a is the fill byte
            "last_element": range(config.vector),  # elements - 1
            "first": unsigned(1),  # first position of the window
            "writes": unsigned(1),  # there are results
            "phase": Phase,
            "begin": unsigned(1),  # first chunk of a pass over a row
            "end": unsigned(1),  # last chunk of a pass over a row
            "waits": unsigned(1),  # what comes behind it needs what the pass finds out
            "result": result_layout(config),
        }
    )


def result_layout(config: AcceleratorConfig) -> data.StructLayout:
    """Return where a chunk's results go."""
    return data.StructLayout(
        {
            "address": local_address(config),
            "last_element": range(config.vector),  # elements - 1
            "fault": unsigned(1),  # some of it lies outside of the scratchpad
            "done": unsigned(1),  # the command's last one
        }
    )


def read_layout(config: AcceleratorConfig) -> data.StructLayout:
    """Return a chunk and the addresses of its operands."""
    return data.StructLayout(
        {
            "a": local_address(config),
            "b": local_address(config),
            "chunk": chunk_layout(config),
        }
    )


def beat_layout(config: AcceleratorConfig) -> data.StructLayout:
    """Return what accompanies `vector_lanes` elements into the lanes."""
    return data.StructLayout(
        {
            "valid": unsigned(1),
            "index": range(beats(config)),  # number within the chunk
            "outside": unsigned(1),
            "first": unsigned(1),
            "emit": unsigned(1),  # its results are written
            "close": unsigned(1),  # last beat of the chunk
            "phase": Phase,
            "begin": unsigned(1),  # first beat of a pass over a row
            "end": unsigned(1),  # last beat of a pass over a row
            "last_lane": range(config.vector_lanes),  # elements - 1
        }
    )


def table_load_layout(config: AcceleratorConfig) -> data.StructLayout:
    """Return one entry of the tables: entry ``e`` of table ``t`` at index ``256 * t + e``."""
    return data.StructLayout({"index": range(256 * config.tables), "value": signed(32)})


def table_write_layout(config: AcceleratorConfig) -> data.StructLayout:
    """Return a load on its way to the tables' copies."""
    return data.StructLayout({"valid": unsigned(1), "load": table_load_layout(config)})
