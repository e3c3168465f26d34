"""The scratchpad: a vector of bytes at any byte address, read and written once per cycle.

In a cycle without a write it is read twice.
"""

from collections.abc import Sequence
from typing import Annotated, Any

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, Value
from amaranth.lib.wiring import In

from eightfold.hw.blocks.component import Component
from eightfold.hw.blocks.delay import delay
from eightfold.hw.blocks.ram import ram
from eightfold.hw.ports import (
    local_address,
    scratchpad_read,
    scratchpad_write,
    scratchpad_write_layout,
)
from eightfold.target.config import AcceleratorConfig


class Scratchpad(Component):
    """Hold ``scratchpad`` bytes in ``vector`` byte-wide RAMs, the columns.

    Column ``j`` has the bytes with ``address % vector == j``. The ``vector`` bytes from address
    ``a`` on lie in row ``a // vector`` of the columns ``j >= a % vector``, and in the next row,
    wrapping, of the others; a rotation by ``a % vector`` puts them in order.

    Timing
    ------
    One read and one write per cycle; of several requests the one with the lowest index is granted,
    ``ready`` is the grant. In cycles without a write the last reader is granted as well: it reads
    through the RAMs' other port. A read's bytes come `READ_LATENCY` cycles after its request's
    transfer. It sees every write that was transferred in an earlier cycle and none of a later one;
    what it gives for bytes that are written in its own cycle is undefined.

    Parameters
    ----------
    config
        ``scratchpad`` and the sizes that make ``vector``.
    readers, writers
        Number of ports, at least 1.

    Raises
    ------
    ValueError
        If there is no reader or no writer.
    """

    READ_LATENCY = 7
    """Cycles from a request's transfer to its bytes.

    The grant, the two rows, and the columns' addresses have a register each, as have the RAM's
    read, its output, and the two steps of the rotation. A write's bytes are rotated while a
    read's address is worked out, so both meet the RAM equally long after their transfers.
    """

    readers: Annotated[
        Sequence[Any], lambda self: In(scratchpad_read(self.config)).array(self.reader_count)
    ]
    """Who reads, first come those that go first."""
    writers: Annotated[
        Sequence[Any], lambda self: In(scratchpad_write(self.config)).array(self.writer_count)
    ]
    """Who writes, likewise."""

    def __init__(self, config: AcceleratorConfig, readers: int = 4, writers: int = 3) -> None:
        if readers < 1 or writers < 1:
            raise ValueError(f"readers and writers must be at least 1, not {readers}, {writers}")
        self.config, self.reader_count, self.writer_count = config, readers, writers
        super().__init__()

    def elaborate(self, platform: object) -> Module:
        m = Module()
        beside = Signal()  # no write: the other port reads
        m.d.comb += beside.eq(~Cat(writer.valid for writer in self.writers).any())
        write_rows, mask, word, others_offset = self._write(m)
        read_rows, offset = self._read(m, beside)
        columns, others = [], []
        for j in range(self.config.vector):
            byte = word.word_select(j, 8)
            one, other = self._column(m, j, read_rows[j], write_rows[j], mask[j], byte)
            columns.append(one)
            others.append(other)
        rotated = self._rotate(m, Cat(columns), offset, 8, "bytes")
        other = self._rotate(m, Cat(others), others_offset, 8, "others")
        aside = delay(m, beside, "beside{}", self.READ_LATENCY, reset=True)
        for reader in self.readers[:-1]:
            m.d.comb += Value.cast(reader.data).eq(rotated)
        m.d.comb += Value.cast(self.readers[-1].data).eq(Mux(aside, other, rotated))
        return m

    def _grant(self, m: Module, requests: Sequence[Any]) -> list[Value]:
        """Return who transfers, and make the first that asks ready."""
        free: Value = Value.cast(1)
        transfers = []
        for request in requests:
            m.d.comb += request.ready.eq(free)
            transfers.append(request.valid & free)
            free = free & ~request.valid
        return transfers

    def _write(self, m: Module) -> tuple[Sequence[Value], Value, Value, Value]:
        """Return each column's row, the columns' write enables and their bytes.

        Without a write the rows are those that the last reader asks for; then the rotation of what
        is read there, when its bytes are out.
        """
        granted = Signal(scratchpad_write_layout(self.config), reset_less=True)
        mask = Signal(self.config.vector)
        transfers = self._grant(m, self.writers)
        m.d.sync += [mask.eq(0), granted.address.eq(self.readers[-1].request.payload)]
        for writer, transfer in zip(reversed(self.writers), reversed(transfers), strict=True):
            with m.If(writer.valid):  # the last assignment is the one with the lowest index
                m.d.sync += granted.eq(writer.payload)
            with m.If(transfer):
                m.d.sync += mask.eq(writer.payload.mask)
        # From byte i to column i + offset: a rotation the other way.
        rows, offset = self._rows(m, granted.address, "write")
        back = (-offset)[: len(offset)]
        word = self._rotate(m, Value.cast(granted.data), back, 8, "word")
        out = delay(m, offset, "others_offset{}", self.READ_LATENCY - 3, reset=True)
        return rows, self._rotate(m, mask, back, 1, "mask"), word, out

    def _read(self, m: Module, beside: Value) -> tuple[Sequence[Value], Value]:
        """Return each column's row, and the rotation in the cycle in which their bytes are out."""
        address = Signal(local_address(self.config), name="read_address", reset_less=True)
        *transfers, last = self._grant(m, [reader.request for reader in self.readers])
        request = self.readers[-1].request
        m.d.comb += request.ready.eq(last | beside)
        transfers.append(request.valid & request.ready)
        for reader in reversed(self.readers):
            with m.If(reader.request.valid):
                m.d.sync += address.eq(reader.request.payload)
        answers = delay(m, Cat(transfers), "answers{}", self.READ_LATENCY, reset=True)
        for number, reader in enumerate(self.readers):
            m.d.comb += reader.valid.eq(answers[number])
        rows, offset = self._rows(m, address, "read")
        return rows, delay(m, offset, "read_offset{}", self.READ_LATENCY - 3, reset=True)

    def _rows(self, m: Module, address: Signal, name: str) -> tuple[Sequence[Value], Value]:
        """Return, two cycles after the address, each column's row; and the offset at once."""
        bits = (self.config.vector - 1).bit_length()
        row = address[bits:]
        offset = address[:bits]
        rows = [Signal(len(row), name=f"{name}_row{i}", reset_less=True) for i in range(2)]
        m.d.sync += [rows[0].eq(row), rows[1].eq(row + 1)]
        before = delay(m, offset, f"{name}_from1", reset=True)
        columns = []
        for j in range(self.config.vector):
            column = Signal(len(row), name=f"{name}_column{j}", reset_less=True)
            m.d.sync += column.eq(Mux(j < before, rows[1], rows[0]))
            columns.append(column)
        return columns, offset

    def _rotate(self, m: Module, word: Value, amount: Value, size: int, name: str) -> Value:
        """Return, two cycles later, the word whose element i is element ``i + amount``."""
        split = len(amount) // 2
        for step, bits in enumerate(
            (amount[:split], delay(m, amount[split:], f"{name}_by1", reset=True))
        ):
            unit = size << (split if step else 0)
            turned = Signal(len(word), name=f"{name}{step}")
            m.d.sync += turned.eq(
                Array(word.rotate_right(unit * i) for i in range(1 << len(bits)))[bits]
            )
            word = turned
        return word

    def _column(
        self, m: Module, j: int, read_row: Value, write_row: Value, enable: Value, byte: Value
    ) -> list[Value]:
        """Add one RAM; return what both ports have read, in the second cycle after their rows."""
        depth = self.config.scratchpad // self.config.vector
        m.submodules[f"column{j}"] = column = ram(8, depth)
        write = column.write_port()
        m.d.comb += [write.addr.eq(write_row), write.data.eq(byte), write.en.eq(enable)]
        # Synthesis merges these registers into the RAM's two ports; the condition shows that the
        # port that writes does not read.
        found: list[Value] = []
        for name, row, reads in (("", read_row, Const(1)), ("other_", write_row, ~enable)):
            read = column.read_port(domain="comb")
            output, stored = (
                Signal(8, name=f"{name}{n}{j}", reset_less=True) for n in ("output", "stored")
            )
            m.d.comb += read.addr.eq(row)
            with m.If(reads):
                m.d.sync += output.eq(read.data)
            m.d.sync += stored.eq(output)
            found.append(stored)
        return found
