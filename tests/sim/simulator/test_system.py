# amaranth: UnusedElaboratable=no
"""The simulated system around the accelerator: what it reports, and that its checks can fail."""

from enum import Enum
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest
from amaranth.hdl import Array, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import Out

import eightfold.sim.simulator.system
from eightfold.hw.control.registers import Registers
from eightfold.hw.memory.axi import (
    axi4_lite_members,
    axi4_members,
    connect_flat,
    drive_address_constants,
)
from eightfold.hw.ports import TRACE_LAYOUT
from eightfold.isa import COUNTERS, Engine, ErrorCode
from eightfold.rtl.verilog import generate
from eightfold.sim.simulator.build import Verilog
from eightfold.sim.simulator.memory_image import CHANNELS, END, SAMPLE, SIZE
from eightfold.sim.simulator.runner import BenchFailed
from eightfold.sim.simulator.system import FOLDER, SOURCES, Run, run_system
from eightfold.target.config import AcceleratorConfig
from eightfold.target.memory import MemoryTiming

WRONG = {"id": 1, "size": 1, "burst": 0, "lock": 1, "cache": 0b0111, "prot": 0b010, "qos": 0b1000}
"""A wrong value of each attribute of an AXI address."""

INDEX = 0x1234
"""Of the command that it says it has completed."""


class Fault(Enum):
    """What goes wrong: the value of COMMAND_LENGTH."""

    NONE = 0
    HANGS = 1  # never done
    WRITES_BEFORE = 2  # the arena, not at its second beat
    MOVES_ADDRESS = 3  # of a write that waits
    MISCOUNTS = 4  # no READ_BEATS
    KEEPS_INTERRUPT = 5  # after its clear
    KEEPS_ERROR = 6  # after a soft reset
    READS_BEFORE = 7  # the arena, not at its first beat
    HIDES_ERROR = 8  # of memory
    LEAVES_READ = 9  # asks for the beat again, and does not wait for it


WRONG_ATTRIBUTES = {
    f"{channel}{name}": 16 + number
    for number, (channel, name) in enumerate(product(("ar", "aw"), WRONG))
}
"""Further values of COMMAND_LENGTH: that attribute has its value in `WRONG`."""


class InvertingAccelerator(wiring.Component):
    """Reads the arena's first beat and writes its complement to the second.

    Its members are those of the accelerator.
    """

    interrupt: Signal
    monitor: data.View

    def __init__(self, config: AcceleratorConfig) -> None:
        self.config = config
        ports = {"interrupt": Out(1), "monitor": Out(TRACE_LAYOUT)}
        super().__init__(axi4_lite_members() | axi4_members(config) | ports)
        self.bus: Any = _Prefixed(self)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.registers = self.registers = Registers(self.config)
        connect_flat(m, self, "", self.registers)
        for channel in ("ar", "aw"):
            drive_address_constants(m, self.bus, channel, self.config.port)
        self._spoil_attributes(m)
        self.status = self.registers.values.STATUS
        self._machine(m)
        self._count(m)
        return m

    def _spoil_attributes(self, m: Module) -> None:
        for name, number in WRONG_ATTRIBUTES.items():
            with m.If(Value.cast(self.registers.settings.COMMAND_LENGTH) == number):
                m.d.comb += getattr(self.bus, name).eq(WRONG[name[2:]])

    def _machine(self, m: Module) -> None:
        settings = self.registers.settings
        status = self.status
        beat = Signal(8 * self.config.port)
        base = Value.cast(settings.ARENA_BASE)
        with m.FSM(name="state"):
            with m.State("IDLE"), m.If(self.registers.acts.CONTROL.start):
                m.d.sync += [status.busy.eq(1), status.done.eq(0)]
                start = Mux(self._is(Fault.READS_BEFORE), base - self.config.port, base)
                m.d.sync += [self.bus.araddr.eq(start), self.bus.arvalid.eq(1)]
                m.next = "READ"
            with m.State("READ"):
                m.d.comb += self.bus.rready.eq(1)
                with m.If(self.bus.arready):
                    m.d.sync += self.bus.arvalid.eq(0)
                with m.If(self.bus.rvalid):
                    m.d.sync += beat.eq(~self.bus.rdata)
                    self._proceed(m, self.bus.rresp, ErrorCode.AXI_READ, "OFFER")
            with m.State("OFFER"):
                port = self.config.port
                offset = Mux(self._is(Fault.WRITES_BEFORE), -port, port)
                m.d.sync += [self.bus.awaddr.eq(base + offset), self.bus.wdata.eq(beat)]
                m.d.sync += [self.bus.awvalid.eq(1), self.bus.wvalid.eq(1)]
                m.next = "WRITE"
            with m.State("WRITE"):
                m.d.comb += [self.bus.bready.eq(1), self.bus.wlast.eq(1)]
                m.d.comb += self.bus.wstrb.eq(-1)
                with m.If(self.bus.awready):
                    m.d.sync += self.bus.awvalid.eq(0)
                with m.Elif(self._is(Fault.MOVES_ADDRESS)):
                    m.d.sync += self.bus.awaddr.eq(base)
                with m.If(self.bus.wready):
                    m.d.sync += self.bus.wvalid.eq(0)
                with m.If(self.bus.bvalid):
                    m.d.comb += [self.monitor.done[0].eq(1), self.monitor.index[0].eq(INDEX)]
                    self._proceed(m, self.bus.bresp, ErrorCode.AXI_WRITE, "FINISH")
                    m.d.sync += self.bus.arvalid.eq(self._is(Fault.LEAVES_READ))
            with m.State("FINISH"), m.If(~self._is(Fault.HANGS) | self._resets()):
                with m.If(self.bus.arready):
                    m.d.sync += self.bus.arvalid.eq(0)
                m.d.sync += [status.busy.eq(0), status.done.eq(1), status.interrupt.eq(1)]
                m.next = "IDLE"
            with m.State("ERROR"):
                m.d.sync += [status.busy.eq(0), status.error.eq(1), status.interrupt.eq(1)]
                m.next = "IDLE"
        self._interrupt(m)

    def _proceed(self, m: Module, response: Value, code: ErrorCode, following: str) -> None:
        """Go on, or stop with an error."""
        error = self.registers.values.ERROR
        with m.If((response == 0) | self._is(Fault.HIDES_ERROR)):
            m.next = following
        with m.Else():
            m.d.sync += [error.code.eq(code), error.engine.eq(Engine.MOVER)]
            m.d.sync += error.index.eq(INDEX)
            m.next = "ERROR"

    def _interrupt(self, m: Module) -> None:
        acts = self.registers.acts
        status = self.status
        m.d.comb += self.interrupt.eq(status.interrupt)
        with m.If(Value.cast(acts.INTERRUPT_CLEAR)[0] & ~self._is(Fault.KEEPS_INTERRUPT)):
            m.d.sync += status.interrupt.eq(0)
        with m.If(self._resets()):
            m.d.sync += [status.error.eq(0), status.done.eq(0), status.interrupt.eq(0)]
            with m.If(~self._is(Fault.KEEPS_ERROR)):
                m.d.sync += Value.cast(self.registers.values.ERROR).eq(0)

    def _count(self, m: Module) -> None:
        counts = {
            "CYCLES": self.status.busy,
            "READ_BEATS": self.bus.rvalid & self.bus.rready,
            "WRITE_BEATS": self.bus.wvalid & self.bus.wready,
        }
        values = [Signal(32, name=f"counter_{name}") for name, _ in COUNTERS]
        m.d.sync += self.registers.counter_value.eq(Array(values)[self.registers.counter])
        for number, (name, _) in enumerate(COUNTERS):
            value = values[number]
            counted = Signal(name=f"counted_{name}")
            m.d.comb += counted.eq(counts.get(name, 0))
            m.d.sync += self.monitor.count[number].eq(counted)
            with m.If(self.registers.acts.CONTROL.start):
                m.d.sync += value.eq(0)
            with m.Elif(counted):
                wrong = self._is(Fault.MISCOUNTS) & (name == "READ_BEATS")
                m.d.sync += value.eq(value + (~wrong)[0])

    def _resets(self) -> Value:
        return Value.cast(self.registers.acts.CONTROL.soft_reset)

    def _is(self, fault: Fault) -> Value:
        return Value.cast(self.registers.settings.COMMAND_LENGTH) == fault.value


class _Prefixed:
    """A component's members without their prefix."""

    def __init__(self, component: wiring.Component) -> None:
        self._component = component

    def __getattr__(self, name: str) -> Signal:
        return getattr(self._component, f"m_axi_{name}")


pytestmark = pytest.mark.slow

CONFIG = AcceleratorConfig(lanes=4, width=4, port=8, scratchpad=4096, weight_buffer=512)
PORT = CONFIG.port


@cache
def accelerator():
    return generate(InvertingAccelerator(CONFIG), "eightfold_accelerator")


@pytest.fixture
def invert(simulator, monkeypatch, tmp_path):
    """Run the accelerator that inverts a beat."""
    source = tmp_path / "accelerator.v"
    source.write_text(accelerator())
    sources = (*(FOLDER / f"{name}.v" for name in SOURCES), source)
    design = Verilog("eightfold_system", sources, (("PORT", PORT), ("BYTES", SIZE)))
    monkeypatch.setattr(eightfold.sim.simulator.system, "system_design", lambda *_: design)
    settings = {"words": np.zeros(0), "model": b"model", "arena_bytes": 99, "limit": 500}

    def run(runs=None, **options):
        return run_system(CONFIG, simulator, **settings, runs=runs or [Run()], **options)

    return run


@pytest.mark.parametrize(("seed", "stall"), [(0, 0.0), (1, 0.5), (2, {"w": 0.9, "r": 0.5})])
@pytest.mark.usual("seed")
def test_returns_what_each_run_left(invert, seed, stall):
    values = np.random.default_rng(seed).integers(0, 256, (3, PORT), dtype=np.uint8)
    runs = [Run(inputs={0: value, 60: b"input"}) for value in values]
    results = invert(runs=runs, seed=seed, stall=stall)
    for run, value in zip(results, values, strict=True):
        assert (run.done, run.error, len(run.arena)) == (True, ErrorCode.NONE, 99)
        np.testing.assert_array_equal(run.tensor(PORT, (PORT,), np.uint8), ~value)
        assert run.tensor(60, (5,), np.uint8).tobytes() == b"input"
        names = ["CYCLES", "READ_BEATS", "WRITE_BEATS"]
        assert [run.counters[name] for name in names[1:]] == [1, 1]
        events = run.events[run.events[:, 0] != SAMPLE]
        assert events[:, :2].tolist() == [[Engine.MOVER.value, INDEX], [END, 0]]
        columns = [2 + [name for name, _ in COUNTERS].index(name) for name in names]
        assert events[:, columns].tolist() == [[run.cycles - 1, 1, 1], [run.cycles, 1, 1]]
        if not stall:
            assert run.cycles == 45


def test_runs_may_have_models_of_their_own(invert):
    """Memory that is not what a run should find is found changed behind it."""
    runs = [Run(), Run(model=b"another, and longer"), Run(model=b""), Run()]
    assert all(run.done for run in invert(runs=runs))


@pytest.mark.parametrize(
    ("error", "code"),
    [
        ({"read_error": ("arena", 0, 1)}, ErrorCode.AXI_READ),
        ({"write_error": ("arena", PORT, 2 * PORT)}, ErrorCode.AXI_WRITE),
    ],
)
@pytest.mark.usual("code")
def test_answers_errors_and_goes_on_after_a_soft_reset(invert, error, code):
    first, second = invert(runs=[Run(**error), Run()])
    assert (first.done, first.error, first.engine, first.index) == (False, code, 0, INDEX)
    assert second.done


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (Fault.HANGS, "no interrupt in 500 cycles: .*'busy': 1"),
        (Fault.WRITES_BEFORE, "run 0: 8 bytes changed outside of the arena, the first at"),
        (Fault.MOVES_ADDRESS, "violations of AXI"),
        (Fault.MISCOUNTS, "traced .*'READ_BEATS': 1, .* counted .*'READ_BEATS': 0"),
        (Fault.KEEPS_INTERRUPT, "interrupt pending after its clear"),
        (Fault.KEEPS_ERROR, "after a soft reset: {'code': 4"),
    ],
)
@pytest.mark.usual("fault")
def test_reports_a_fault(invert, fault, message):
    error = ("arena", 0, 1) if fault is Fault.KEEPS_ERROR else None
    run = Run(registers={"COMMAND_LENGTH": fault.value}, read_error=error)
    with pytest.raises(BenchFailed, match=message):
        invert([run] * 5, stall={"aw": 0.9})  # so that one of five addresses has to wait


@pytest.mark.parametrize(
    ("fault", "found"),
    [
        (Fault.NONE, (0, 0, 0)),
        (Fault.READS_BEFORE, (1, 0, 0)),
        (Fault.LEAVES_READ, (0, 1, 0)),
        (Fault.HIDES_ERROR, (0, 0, 1)),
    ],
)
@pytest.mark.usual("fault")
def test_tells_what_memory_answered_without_a_word(invert, fault, found):
    error = ("arena", 0, 1) if fault is Fault.HIDES_ERROR else None
    run = Run(
        registers={"COMMAND_LENGTH": fault.value},
        read_error=error,
        timing=MemoryTiming(latency=100),
    )
    (result,) = invert([run])
    assert result.done
    assert (result.reads_outside, result.unanswered, result.bus_errors) == found


@pytest.mark.usual(names=["verilator"])
def test_resets_a_run_whose_patience_is_over(invert):
    hangs = Run(registers={"COMMAND_LENGTH": Fault.HANGS.value}, patience=200)
    first, second = invert([hangs, Run(patience=200)])
    assert (first.ended, first.done, second.ended, second.done) == (False, False, True, True)


@pytest.mark.usual(names=["icarus"])
def test_a_run_has_stalls_of_its_own(invert):
    """They depend on nothing but the run, so that it can be repeated alone."""
    stalled = {"stall": 0.7, "timing": MemoryTiming(latency=30)}
    runs = [Run(**stalled, seed=1), Run(**stalled, seed=2), Run(), Run(**stalled, seed=1), Run()]
    cycles = [result.cycles for result in invert(runs)]
    (alone,) = invert([Run(**stalled, seed=1)], seed=5)
    assert cycles == [alone.cycles, cycles[1], 45, alone.cycles, 45]
    assert len(set(cycles)) == 3


def test_writes_registers_while_it_runs(invert):
    """The accelerator of this test takes them at once."""
    (changed, _) = invert([Run(writes=[(0, "COMMAND_LENGTH", 1)], patience=200), Run()])
    assert not changed.ended


@pytest.mark.icarus
@pytest.mark.parametrize("simulator", ["icarus"])
@pytest.mark.parametrize("name", WRONG_ATTRIBUTES)
@pytest.mark.usual(count=4)
def test_reports_an_attribute_that_is_not_the_promised_one(invert, name):
    with pytest.raises(BenchFailed, match="1 violations of AXI"):
        invert([Run(registers={"COMMAND_LENGTH": WRONG_ATTRIBUTES[name]})])


def test_counts_writes_outside_of_a_smaller_arena(invert):
    with pytest.raises(BenchFailed, match="1 beats written outside of the arena"):
        invert([Run(registers={"ARENA_SIZE": 2 * PORT - 1})])


def test_rejects_an_unknown_channel(invert):
    with pytest.raises(ValueError, match=f"no channel x; use {', '.join(CHANNELS)}"):
        invert(stall={"x": 0.5})
