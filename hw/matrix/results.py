"""The matrix engine's last part: where results go."""

from typing import Annotated

from amaranth.hdl import Const, Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out, connect

from eightfold.hw.blocks.component import Component
from eightfold.hw.blocks.credit import CreditQueue
from eightfold.hw.blocks.layouts import hdl, result_layout
from eightfold.hw.blocks.skid import Stage
from eightfold.hw.blocks.sums import retreat, select
from eightfold.hw.matrix.strides import Strides
from eightfold.hw.ports import scratchpad_write, scratchpad_write_layout
from eightfold.isa import LOCAL, MATRIX
from eightfold.target.config import AcceleratorConfig

FIELDS = (
    *("groups", "last_lanes", "last", "depthwise", "y", "x"),
    *("fire_y0", "fire_x0", "fire_y_step", "fire_x_step"),
    *("target", "target_group", "target_y", "target_x"),
)
"""What of a command says where its results go."""

TARGET_LAYOUT = data.StructLayout(
    {name: hdl(field.shape) for name, field in MATRIX.layout if name in FIELDS}
)


class MatrixResults(Component):
    """Write result vectors, one after the other, where their commands say.

    Position (oy, ox) of group g goes to ``target + g * target_group + oy * target_y +
    ox * target_x``: ``lanes`` bytes, ``min(lanes, width)`` with ``depthwise``, and ``last_lanes``
    in the last group.

    Timing
    ------
    One vector per cycle, two cycles after its result; three cycles between two commands' results.
    ``results.ready`` follows ``write.ready`` combinationally, since results go before all other
    writes. Up to `COMMANDS` commands wait.

    Parameters
    ----------
    config
        ``lanes``, ``width`` and ``scratchpad``.
    """

    COMMANDS = 4
    """Commands that wait for their results."""

    available: Annotated[Signal, Out(1)]
    """There is room for a command. From a register."""
    push: Annotated[Signal, In(1)]
    """Adds ``command``; only while ``available``."""
    command: Annotated[data.View, In(TARGET_LAYOUT)]
    """Where the results of a command go."""
    results: Annotated[
        stream.Interface, lambda self: In(stream.Signature(result_layout(self.config)))
    ]
    """From the MAC array."""
    write: Annotated[stream.Interface, lambda self: Out(scratchpad_write(self.config))]
    """To the scratchpad."""
    complete: Annotated[Signal, Out(1)]
    """The last write of a command is transferred, or one without results has come to the
    front."""
    written: Annotated[Signal, Out(1)]
    """A result vector is transferred, or dropped with ``fault``."""
    fault: Annotated[Signal, Out(1)]
    """A vector of the oldest command that is not complete was dropped: it leaves the
    scratchpad."""

    def __init__(self, config: AcceleratorConfig) -> None:
        self.config = config
        super().__init__()

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.commands = commands = CreditQueue(TARGET_LAYOUT, self.COMMANDS)
        m.d.comb += [
            self.available.eq(commands.available),
            commands.take.eq(self.push),
            commands.push.eq(self.push),
            commands.push_data.eq(self.command),
        ]
        item = data.StructLayout(
            {
                "write": scratchpad_write_layout(self.config),
                "skip": unsigned(1),
                "fault": unsigned(1),
                "last": unsigned(1),
            }
        )
        # The results come from a RAM, and where they go is checked: a register of its own.
        m.submodules.stage = stage = Stage(item)
        m.submodules.items = items = Stage(item)
        self._items(m, commands.o, stage.i)
        connect(m, stage.o, items.i)
        done = items.o.payload
        ready = Signal()
        m.d.comb += [
            self.write.valid.eq(items.o.valid & ~done.skip),
            self.write.payload.eq(done.write),
            ready.eq(self.write.ready | done.skip),
            items.o.ready.eq(ready),
            self.written.eq(items.o.valid & ready & (done.fault | ~done.skip)),
            self.fault.eq(items.o.valid & done.fault),
            self.complete.eq(items.o.valid & ready & done.last),
        ]
        return m

    def _items(self, m: Module, commands: stream.Interface, items: stream.Interface) -> None:
        """Take results one by one, and after the last one the next command."""
        command = commands.payload
        group_left, group_last = Signal(16, reset_less=True), Signal(reset_less=True)
        m.submodules.x = x = Strides()
        m.submodules.y = y = Strides()
        for axis, name in ((x, "x"), (y, "y")):
            m.d.comb += [
                axis.count.eq(command[name]),
                axis.first.eq(command[f"fire_{name}0"]),
                axis.period.eq(command[f"fire_{name}_step"]),
            ]
        empty = x.none | y.none | ~command.last
        # A cycle to measure the strides, one to start them.
        measured, start, run, take = Signal(), Signal(), Signal(), Signal()
        row = ~run | x.last
        group = ~run | (x.last & y.last)
        step = Signal()
        m.d.comb += [
            start.eq(commands.valid & measured & ~run),
            items.valid.eq(run & (self.results.valid | empty)),
            self.results.ready.eq(run & ~empty & items.ready),
            take.eq(items.valid & items.ready),
            step.eq(start | take),  # only enables registers: it comes late
            x.restart.eq(row),
            y.restart.eq(group),
            x.step.eq(step),
            y.step.eq(step & row),
            items.payload.last.eq(empty | (x.last & y.last & group_last)),
            commands.ready.eq(take & items.payload.last),
        ]
        m.d.sync += measured.eq(commands.valid & ~run)
        with m.If(start):
            m.d.sync += run.eq(1)
        with m.Elif(commands.ready):
            m.d.sync += run.eq(0)
        with m.If(step & group):
            m.d.sync += [
                group_left.eq(retreat(~run, command.groups, group_left, 1)),
                group_last.eq(Mux(run, group_left == 2, command.groups == 1)),
            ]
        wraps = [Const(1), x.last, x.last & y.last]  # up to which loop
        address = self._address(m, command, start, take, wraps)
        self._item(m, command, address, group_last, empty, items.payload)

    def _address(
        self, m: Module, command: data.View, start: Value, take: Value, wraps: list[Value]
    ) -> Signal:
        """Return the address of the current result; ``wraps[k]``: behind it loop k advances, or one
        outside."""
        positions = [Signal(hdl(LOCAL), name=f"address{k}", reset_less=True) for k in range(3)]
        strides = [command.target_x, command.target_y, command.target_group]
        total = Signal(hdl(LOCAL))
        advances = [wraps[0] & ~wraps[1], wraps[1] & ~wraps[2], wraps[2]]
        m.d.comb += total.eq(select(positions, advances) + select(strides, advances))
        for k, position in enumerate(positions):
            with m.If(start):
                m.d.sync += position.eq(command.target)
            with m.Elif(take & wraps[k]):
                m.d.sync += position.eq(total)
        return positions[0]

    def _item(
        self,
        m: Module,
        command: data.View,
        address: Signal,
        group_last: Value,
        empty: Value,
        item: data.View,
    ) -> None:
        """Describe the write, or why there is none."""
        config = self.config
        full = Mux(command.depthwise, min(config.lanes, config.width), config.lanes)
        bits = (config.scratchpad - 1).bit_length()
        # Of a full group and of the last one: lanes that are written, the last address they fit at.
        masks = []
        rooms = []
        ones = Const((1 << config.lanes) - 1, config.lanes)
        for name, lanes in (("full", full), ("last", command.last_lanes)):
            mask = Signal(config.lanes, name=f"{name}_mask", reset_less=True)
            room = Signal(bits, name=f"{name}_room", reset_less=True)
            m.d.sync += mask.eq(~(ones << lanes))
            m.d.sync += room.eq(config.scratchpad - lanes)
            masks.append(mask)
            rooms.append(room)
        outside = address[bits:].any() | (address[:bits] > Mux(group_last, rooms[1], rooms[0]))
        m.d.comb += [
            item.write.address.eq(address),
            item.write.mask.eq(Mux(group_last, masks[1], masks[0])),
            Value.cast(item.write.data).eq(Value.cast(self.results.payload)),
            item.fault.eq(outside & ~empty),
            item.skip.eq(outside | empty),
        ]
