"""The interfaces between engines, scratchpad, memory and sequencer, seen from the engine."""

from amaranth.hdl import signed, unsigned
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out, Signature

from eightfold.hw.blocks.layouts import REQUANTIZE_LAYOUT, hdl
from eightfold.isa import ADDRESS_BITS, COUNTERS, Command, Engine, ErrorCode
from eightfold.target.config import AcceleratorConfig

BURST = 16
"""Most beats of a memory request; a request never crosses a multiple of ``BURST`` beats, so no
burst crosses a 4 KiB boundary."""


def local_address(config: AcceleratorConfig) -> range:
    """Return the shape of a byte's place in the scratchpad; sums wrap around its end."""
    return range(config.scratchpad)


def vector_layout(config: AcceleratorConfig) -> data.ArrayLayout:
    """Return the bytes of one scratchpad access."""
    return data.ArrayLayout(unsigned(8), config.vector)


def scratchpad_read(config: AcceleratorConfig) -> Signature:
    """Read ``vector`` bytes at any byte address.

    A request is granted in the cycle of its transfer. Its bytes come a fixed number of cycles later
    (`eightfold.hw.memory.scratchpad.Scratchpad.READ_LATENCY`), with ``valid`` for one cycle, in
    order: who asks has room for the answer.
    """
    return Signature(
        {
            "request": Out(stream.Signature(local_address(config))),
            "valid": In(1),
            "data": In(vector_layout(config)),
        }
    )


def scratchpad_write_layout(config: AcceleratorConfig) -> data.StructLayout:
    """Return a write: byte ``i`` goes to ``address + i``, wrapping, if bit ``i`` of ``mask``."""
    return data.StructLayout(
        {
            "address": local_address(config),
            "mask": unsigned(config.vector),
            "data": vector_layout(config),
        }
    )


def scratchpad_write(config: AcceleratorConfig) -> Signature:
    """Write; done when the transfer is: a read requested in a later cycle sees it."""
    return stream.Signature(scratchpad_write_layout(config))


def burst_layout() -> data.StructLayout:
    """Return a memory request: port-aligned byte address, beats 1..BURST."""
    return data.StructLayout({"address": unsigned(ADDRESS_BITS), "beats": range(BURST + 1)})


def memory_read(config: AcceleratorConfig) -> Signature:
    """Read bursts of port beats. Beats come in order, ``valid`` for one cycle each.

    Who asks has room for the answer.
    """
    return Signature(
        {
            "request": Out(stream.Signature(burst_layout())),
            "valid": In(1),
            "data": In(unsigned(8 * config.port)),
        }
    )


def memory_write(config: AcceleratorConfig) -> Signature:
    """Write bursts: a request, and in any order in time, the beats of all requests in order.

    ``answered`` is 1 for one cycle for each request that memory has answered.
    """
    return Signature(
        {
            "request": Out(stream.Signature(burst_layout())),
            "beats": Out(
                stream.Signature(
                    data.StructLayout(
                        {"data": unsigned(8 * config.port), "strobe": unsigned(config.port)}
                    )
                )
            ),
            "answered": In(1),
        }
    )


def parameter_change() -> Signature:
    """Parameters that hold for the vector engine's sums from now on; ``valid`` for one cycle."""
    return Signature({"valid": Out(1), "requantize": Out(REQUANTIZE_LAYOUT)})


def requantize_port(config: AcceleratorConfig) -> Signature:
    """The requantizers of the MAC array's lanes, seen from the vector engine.

    ``reserve`` is 1 in the cycle `eightfold.hw.array.lane_control.reservation` cycles before that
    of the ``sums``; their ``results`` are there `RequantizePipeline.LATENCY` cycles behind these.
    ``change`` comes at least 8 cycles before the first sums that it holds for, and behind the
    results of all before.
    """
    lanes = config.vector_lanes
    return Signature(
        {
            "reserve": Out(1),
            "sums": Out(data.ArrayLayout(signed(32), lanes)),
            "change": Out(parameter_change()),
            "results": In(data.ArrayLayout(signed(8), lanes)),
        }
    )


def command_layout(*commands: Command) -> data.Layout:
    """Return a command, or one of several by their names; the header's opcode says which."""
    if len(commands) == 1:
        return hdl(commands[0].layout)
    return data.UnionLayout({c.opcode.name.lower(): hdl(c.layout) for c in commands})


def engine_port(*commands: Command) -> Signature:
    """What an engine has towards the sequencer, as seen from the engine.

    ``command``: the next command that has its tokens, a `command_layout`; the engine copies it with
    the transfer, and may take the next one before the work is done. ``done``: 1 for one cycle for
    each command taken, in order, when its last write can be read by others. ``fault``: 1 for one
    cycle: the oldest command that is not done has left the buffers, or what else ``code`` says;
    nothing was written there.
    """
    return Signature(
        {
            "command": In(stream.Signature(command_layout(*commands))),
            "done": Out(1),
            "fault": Out(1),
            "code": Out(hdl(ErrorCode)),
        }
    )


def region_layout() -> data.StructLayout:
    """Return a region of memory: port-aligned address and bytes."""
    return data.StructLayout({"base": unsigned(ADDRESS_BITS), "size": unsigned(ADDRESS_BITS)})


TRACE_LAYOUT = data.StructLayout(
    {
        # Bit i: counter i of `eightfold.isa.COUNTERS` counts what was in the cycle before.
        "count": unsigned(len(COUNTERS)),
        "done": unsigned(len(Engine)),  # bit e: a command of engine e is complete
        "index": data.ArrayLayout(unsigned(16), len(Engine)),  # which one, where done is set
    }
)
"""What a monitor sees of the accelerator in a cycle; may be left open."""
