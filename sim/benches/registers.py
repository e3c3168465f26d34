"""Benches of the registers against a dictionary, with cocotbext-axi as the master.

Parameters: ``config``, fields of the configuration; ``accesses``, length of the random runs.
"""

import random
from typing import Any

import cocotb
from amaranth.lib import data
from cocotbext.axi import AxiLiteBus, AxiLiteMaster

from eightfold import isa
from eightfold.hw.control.registers import FIRST_COUNTER, constants, register_layout
from eightfold.isa import Access
from eightfold.sim.bench import support
from eightfold.sim.bench.registers import AxiLite
from eightfold.sim.simulator.memory_image import CHANNELS

SPACE = 0x100
"""Bytes of addresses."""


class RegistersBench:
    """Registers with a master, and what they should hold.

    ``expected``: value of each register that can be read as other than 0, by offset. ``acts``:
    every cycle's acts that were not all 0, by the register's name.
    """

    def __init__(self, dut: Any) -> None:
        self.dut = dut
        self.config = support.configuration()
        self.rng: random.Random = support.stall_rng("accesses")
        AxiLite(dut)  # drives all inputs, some of which the other master does not know
        self.axi: Any = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axi"), dut.clk, dut.rst)
        self.offsets = {register.offset: register for register in isa.REGISTERS}
        self.constants = constants(self.config)
        self.expected = {
            register.offset: self.constants.get(register.name, 0) for register in isa.REGISTERS
        }
        self.acts: list[tuple[str, int]] = []
        dut.values.value = 0
        dut.counter_value.value = 0

    async def start(self, stall: float = 0.0) -> None:
        """Reset, count and record acts; pause each channel at random, with this probability."""
        await support.start_clock_and_reset(self.dut)
        support.each_cycle(self.dut, self._count)
        support.each_cycle(self.dut, self._watch)
        support.pause_channels(self.axi, dict.fromkeys(CHANNELS, stall))

    async def write(self, offset: int, contents: bytes) -> None:
        """Write bytes inside of one word, and note what they change."""
        response = await self.axi.write(offset, contents)
        assert response.resp == 0, f"write to {offset:#x}: {response.resp}"
        word = offset & ~3
        register = self.offsets.get(word)
        if register is not None and register.access is Access.READ_WRITE:
            value = bytearray(self.expected[word].to_bytes(4, "little"))
            value[offset - word : offset - word + len(contents)] = contents
            self.expected[word] = int.from_bytes(value, "little")

    async def check(self, word: int) -> None:
        """Read a word and compare."""
        response = await self.axi.read(word, 4)
        assert response.resp == 0, f"read of {word:#x}: {response.resp}"
        value = int.from_bytes(response.data, "little")
        assert value == self.expected.get(word, 0), f"{word:#x}: {value:#x}"

    def report_values(self) -> None:
        """Put random values on what the accelerator reports."""
        layout = register_layout(Access.READ_ONLY, self.config)
        bits = 0
        for register in isa.REGISTERS:
            if register.access is Access.READ_ONLY and register.name not in self.constants:
                value = self.rng.getrandbits(32)
                self.expected[register.offset] = value
                if register.name in layout.members:
                    bits |= value << layout[register.name].offset
        self.dut.values.value = bits

    def settings(self) -> dict[int, int]:
        """Return what the accelerator sees, by offset."""
        return fields(register_layout(Access.READ_WRITE, self.config), self.dut.settings)

    def _count(self) -> None:
        """Give the counter that is read in the cycle after, and only then."""
        value = 0
        if int(self.dut.counter_read.value):
            number = FIRST_COUNTER + int(self.dut.counter.value)
            value = self.expected.get(4 * number, 0)
        self.dut.counter_value.value = value

    def _watch(self) -> None:
        found = fields(register_layout(Access.WRITE_ONE, self.config), self.dut.acts)
        self.acts += [(self.offsets[offset].name, acts) for offset, acts in found.items() if acts]


def fields(layout: data.StructLayout, handle: Any) -> dict[int, int]:
    """Return the words of a port by the offset of their register."""
    bits = int(handle.value)
    return {
        register.offset: bits >> layout[register.name].offset & 0xFFFF_FFFF
        for register in isa.REGISTERS
        if register.name in layout.members
    }


@cocotb.test()
@cocotb.parametrize(stall=[0.0, 0.3, 0.8])
async def words_and_bytes_are_where_they_were_written(dut: Any, stall: float) -> None:
    """Random writes of 1 to 4 bytes and reads, mapped or not."""
    bench = RegistersBench(dut)
    await bench.start(stall)
    for word in range(0, SPACE, 4):
        await bench.check(word)
    bench.report_values()
    for _ in range(support.parameters()["accesses"]):
        word = bench.rng.randrange(0, SPACE, 4)
        if bench.rng.random() < 0.5:
            first = bench.rng.randrange(4)
            length = bench.rng.randint(1, 4 - first)
            await bench.write(word + first, bench.rng.randbytes(length))
        else:
            await bench.check(word)
    for word in range(0, SPACE, 4):
        await bench.check(word)
    for offset, value in bench.settings().items():
        assert value == bench.expected[offset]


@cocotb.test()
@cocotb.parametrize(stall=[0.0, 0.5])
async def accesses_at_the_same_time_do_not_disturb_each_other(dut: Any, stall: float) -> None:
    """Many writes under way, in order, with reads of other registers between them."""
    bench = RegistersBench(dut)
    await bench.start(stall)
    writable = [r.offset for r in isa.REGISTERS if r.access is Access.READ_WRITE]
    half = len(writable) // 2
    for offset in writable[half:]:
        await bench.write(offset, bench.rng.randbytes(4))
    tasks = []
    for _ in range(support.parameters()["accesses"]):
        if bench.rng.random() < 0.5:
            offset = bench.rng.choice(writable[:half])
            value = bench.rng.randbytes(4)
            bench.expected[offset] = int.from_bytes(value, "little")
            tasks.append(cocotb.start_soon(bench.axi.write(offset, value)))
        else:
            tasks.append(cocotb.start_soon(bench.check(bench.rng.choice(writable[half:]))))
    for task in tasks:
        await task
    for offset in writable:
        await bench.check(offset)


@cocotb.test()
async def ones_act_for_one_cycle(dut: Any) -> None:
    """Each write of a write-one register acts once, with the bits of the bytes written."""
    bench = RegistersBench(dut)
    await bench.start(0.3)
    expected = []
    for _ in range(60):
        register = bench.rng.choice(isa.REGISTERS)
        first = bench.rng.randrange(4)
        contents = bench.rng.randbytes(bench.rng.randint(1, 4 - first))
        await bench.write(register.offset + first, contents)
        value = int.from_bytes(contents, "little") << 8 * first
        if register.access is Access.WRITE_ONE and value:
            expected.append((register.name, value))
    await support.clock_cycles(dut, 4)
    assert bench.acts == expected


@cocotb.test()
@cocotb.parametrize(first=["aw", "w"])
async def address_and_data_come_in_any_order(dut: Any, first: str) -> None:
    """A write waits for whichever comes later, and nothing happens before."""
    bench = RegistersBench(dut)
    await bench.start()
    later = {"aw": bench.axi.write_if.w_channel, "w": bench.axi.write_if.aw_channel}[first]
    offset = next(r.offset for r in isa.REGISTERS if r.name == "TIMEOUT")
    for value in (0x12345678, 0x9ABCDEF0):
        before = bench.settings()[offset]
        later.pause = True
        task = cocotb.start_soon(bench.axi.write(offset, value.to_bytes(4, "little")))
        for _ in range(10):
            await support.clock_cycles(dut, 1)
            assert bench.settings()[offset] == before
        later.pause = False
        await task
        assert bench.settings()[offset] == value
