"""Benches of the matrix engine against `eightfold.sim.machine.matrix`.

Parameters: ``config``, the fields of an `AcceleratorConfig`; ``rounds``, of two or three commands
each, in the random runs.
"""

from bisect import bisect_left
from collections import deque
from collections.abc import Sequence
from typing import Any

import cocotb
import numpy as np
from cocotb.triggers import RisingEdge

from eightfold.hw.array.mac_array import latency
from eightfold.hw.matrix.engine import STATUS_LAYOUT
from eightfold.hw.memory.scratchpad import Scratchpad
from eightfold.hw.ports import scratchpad_write_layout
from eightfold.isa import MATRIX
from eightfold.isa.issued import distances
from eightfold.sim.bench import support
from eightfold.sim.bench.scoreboard import assert_equal_bytes
from eightfold.sim.bench.stream import StreamSink, StreamSource, watchdog
from eightfold.sim.stimuli.matrix import MatrixJob, MatrixRandom

INPUTS = ("engine__command", "weights", "parameters")
STATUSES = [name for name, _ in STATUS_LAYOUT]


class EngineBench:
    """A matrix engine with a scratchpad in Python and a source on every stream.

    ``stream``: number of its random numbers. ``stalls``: probability of a pause in commands,
    weights, parameters, reads and writes.

    ``scratchpad``, ``sums``: the model's: what the engine should have left when it is done.
    ``actual``: what it has written. ``reads``, ``writes``: clock cycles of the requests' transfers.
    ``done``, ``faults``: clock cycles of these pulses. ``statuses``: cycles of each status.
    """

    def __init__(self, dut: Any, stream: int, stalls: Sequence[float] = (0.0,) * 5) -> None:
        self.dut = dut
        self.config = config = support.configuration()
        self.generator = support.rng(stream)
        self.random = MatrixRandom(config, self.generator)
        self.sources = {
            name: StreamSource(dut, name, idle=idle)
            for name, idle in zip(INPUTS, stalls, strict=False)
        }
        self.reader = StreamSink(dut, "scratch_read__request", stall=stalls[3])
        self.writer = StreamSink(dut, "scratch_write", stall=stalls[4])
        self.reader.add_callback(self._read)
        self.writer.add_callback(self._write)
        self.actual = np.zeros(config.scratchpad, np.int8)
        self.scratchpad = self.actual.copy()
        self.sums = np.zeros((config.psum_depth, config.lanes), np.int32)
        self.answers: deque[tuple[int, int]] = deque()
        self._valid = False
        self.reads: list[int] = []
        self.writes: list[int] = []
        self.done: list[int] = []
        self.faults: list[int] = []
        self.statuses = dict.fromkeys(STATUSES, 0)
        # By command: what must have been read, written and refused when it is done.
        self.expected: list[tuple[int, int, int]] = []

    async def start(self) -> None:
        """Reset the engine."""
        self.dut.scratch_read__valid.value = 0
        for name in ("reserve", "sums", "change__valid", "change__requantize"):
            getattr(self.dut, f"vector__{name}").value = 0
        await support.start_clock_and_reset(self.dut)
        streams = [*self.sources.values(), self.reader, self.writer]
        cocotb.start_soon(watchdog(streams))
        support.each_cycle(self.dut, self._step)

    def fill(self) -> None:
        """Write random bytes to the whole scratchpad."""
        self.actual[:] = self.generator.integers(-128, 128, self.config.scratchpad)
        self.scratchpad[:] = self.actual

    async def run(self, jobs: Sequence[MatrixJob]) -> None:
        """Carry out commands, and compare what they leave."""
        reads, writes, faults = self.expected[-1] if self.expected else (0, 0, 0)
        models = []
        for job in jobs:
            models.append((job, self.scratchpad.copy(), self.sums.copy()))
            refused = job.run(self.config, self.scratchpad, self.sums)
            m = job.matrix
            results = m.groups * len(m.firing_rows) * len(m.firing_columns)
            reads += m.passes * m.vectors
            writes += m.last * results - refused
            faults += refused
            self.expected.append((reads, writes, faults))
            self.sources["weights"].append(job.weight_words(self.config))
            self.sources["parameters"].append(job.parameter_words())
        self.sources["engine__command"].append([MATRIX.packed(job.fields) for job in jobs])
        edge = RisingEdge(self.dut.clk)
        while len(self.done) < len(self.expected):
            await edge
        for _ in range(16):
            await edge
        status = int(self.dut.status.value)
        assert status == 0, f"status {status:#b} without a command"

        def explain(address: int) -> list[str]:
            for number, (job, scratchpad, sums) in reversed(list(enumerate(models))):
                if lines := job.explain(self.config, scratchpad, sums, address):
                    return [f"written by command {number} of these: {job.fields}", *lines]
            return ["no command writes it"]

        assert_equal_bytes("scratchpad: byte", self.actual, self.scratchpad, explain)
        seen = (len(self.reads), len(self.writes), len(self.faults))
        assert seen == self.expected[-1], f"reads, writes, faults {seen}: {self.expected[-1]}"
        assert len(self.done) == len(self.expected)

    def _read(self, address: int) -> None:
        """Note what a request will be answered."""
        vector = self.config.vector
        data = self.actual[np.arange(address, address + vector) % self.config.scratchpad]
        self.reads.append(support.cycle())
        word = int.from_bytes(data.tobytes(), "little")
        self.answers.append((support.cycle() + Scratchpad.READ_LATENCY, word))

    def _write(self, word: int) -> None:
        """Write the bytes of the mask."""
        write = scratchpad_write_layout(self.config).from_bits(word)
        data = np.array([write["data"][i] for i in range(self.config.vector)]).astype(np.int8)
        for address, byte in enumerate(data, write["address"]):
            if write["mask"] >> address - write["address"] & 1:
                assert address < self.config.scratchpad
                self.actual[address] = byte
        self.writes.append(support.cycle())

    def _step(self) -> None:
        """Drive the scratchpad's answers, and watch what is not a stream."""
        dut = self.dut
        now = support.cycle()
        # What is driven now is sampled at the next edge.
        due = bool(self.answers) and self.answers[0][0] == now + 1
        if due:
            dut.scratch_read__data.value = self.answers.popleft()[1]
        if due != self._valid:
            self._valid = due
            dut.scratch_read__valid.value = int(due)
        if int(dut.engine__done.value):
            self._note_done(now)
        if int(dut.engine__fault.value):
            self.faults.append(now)
            command = self.expected[len(self.done)]
            assert len(self.faults) <= command[2], "fault of a later command"
        status = int(dut.status.value)
        if status:
            name = STATUSES[status.bit_length() - 1]
            assert status & (status - 1) == 0, f"status {status:#b}"
            self.statuses[name] += 1
            if name == "drain":
                # What has been read is computed with, but for what the array has just taken.
                asked = bisect_left(self.reads, now - Scratchpad.READ_LATENCY)
                assert self.statuses["issue"] >= asked - 1, "drain before the last vector"

    def _note_done(self, now: int) -> None:
        reads, writes, faults = self.expected[len(self.done)]
        self.done.append(now)
        # Another command may be further, but nothing of this one may be missing.
        assert len([c for c in self.reads if c < now]) >= reads, "done before all was read"
        assert len([c for c in self.writes if c < now]) >= writes, "done before all was written"
        assert len(self.faults) >= faults


async def started(dut: Any, stream: int, stalls: Sequence[float] = (0.0,) * 5) -> EngineBench:
    """Return a bench behind its reset."""
    bench = EngineBench(dut, stream, stalls)
    await bench.start()
    return bench


@cocotb.test()
@cocotb.parametrize(stall=[0.0, 0.3, None])
async def random_commands(dut: Any, stall: float | None) -> None:
    """Any commands leave what the model does; stall None: each stream at its own pace."""
    generator = support.rng(100 + int(10 * (stall or 0)))
    stalls = [stall] * 5 if stall is not None else generator.choice([0, 0.1, 0.5, 0.8], 5).tolist()
    bench = await started(dut, int(10 * (stall or 0)) + (stall is None), stalls)
    for _ in range(support.parameters()["rounds"]):  # of two or three commands
        bench.fill()
        await bench.run(bench.random.jobs(int(bench.generator.integers(2, 4))))


@cocotb.test()
async def results_that_leave_the_scratchpad_are_faults(dut: Any) -> None:
    """A vector that touches a byte below 0 or above the end is refused, the others are written."""
    bench = await started(dut, 50, [0.1] * 5)
    random, lanes, size = bench.random, bench.config.lanes, bench.config.scratchpad
    random.low = size // 4  # results may go below
    for offset in (-2, -1, 0, size - lanes, size - lanes + 1, size - 1, size, -size):
        bench.fill()
        jobs = random.jobs(1, ["dense", "depthwise"])
        fields = jobs[0].fields | {"target": offset}
        jobs[0] = MatrixJob(fields, jobs[0].weights, jobs[0].parameters)
        await bench.run([*jobs, *random.jobs(1)])
    assert bench.faults


@cocotb.test()
async def commands_without_a_firing_vector_write_nothing(dut: Any) -> None:
    """They read, take their weights and parameters, and are done."""
    bench = await started(dut, 51)
    for axis in ("y", "x"):
        bench.fill()
        job, *others = bench.random.jobs(3, ["dense", "depthwise"])
        fields = job.fields | {f"fire_{axis}0": job.fields[axis]}
        await bench.run([MatrixJob(fields, job.weights, job.parameters), *others])


@cocotb.test()
@cocotb.parametrize(kind=["dense", "depthwise"])
async def one_vector_per_cycle(dut: Any, kind: str) -> None:
    """Passes long enough for their weights take a cycle per vector, and 4 between commands."""
    bench = await started(dut, 52)
    config = bench.config
    bench.fill()
    job = bench.random.job(LAYERS[kind] | {"target": config.scratchpad // 2})
    await bench.run([job, job])
    # A cycle per vector once the first weights are there.
    waited = bench.statuses["weights"]
    vectors = job.matrix.passes * job.matrix.vectors
    assert waited <= 2 * config.lanes
    assert bench.statuses["issue"] == 2 * vectors
    assert bench.reads[-1] - bench.reads[0] <= 2 * vectors - 1 + 4 + waited
    drain = latency(config) + Scratchpad.READ_LATENCY + 8
    assert bench.done[-1] - bench.reads[-1] <= drain
    support.report({kind: bench.done[-1] - bench.reads[0] + 1})


@cocotb.test()
async def vectors_keep_their_distance_from_results(dut: Any) -> None:
    """Commands that read results of those before get them; from too near they do not."""
    bench = await started(dut, 53)
    config, random = bench.config, bench.random
    lanes = config.lanes
    count = min(100, config.scratchpad // (4 * lanes))
    layer = {"x": count, "columns": count * lanes, "rows": 1, "target_x": lanes}
    layer |= {"last_lanes": lanes, "x_step": lanes}
    half = config.scratchpad // 2
    for case in ("forwards", "backwards", "strided"):
        bench.fill()
        fields = [layer | {"target": half}, layer | {"base": half, "target": half // 2}]
        if case == "backwards":
            fields[1] |= {"column0": (count - 1) * lanes, "x_step": -lanes}
        if case == "strided":
            fields[0] |= {"x": 2 * count, "x_step": 0, "fire_x_step": 2}
        jobs = [random.job(each) for each in fields]
        far = distances(config, [job.matrix for job in jobs])[1]
        assert far == {"forwards": count, "backwards": 1, "strided": count}[case]
        jobs[1] = random.job(fields[1] | {"distance": far})
        before = bench.statuses["drain"]
        await bench.run(jobs)
        support.report({f"{case}, from done to done": bench.done[-1] - bench.done[-2]})
        support.report({f"{case}, drain": bench.statuses["drain"] - before})
    bench.fill()
    jobs[1] = random.job(jobs[1].fields | {"column0": (count - 1) * lanes, "distance": 9})
    try:
        await bench.run(jobs)
    except AssertionError:
        return
    raise AssertionError("a vector that is read too early changes nothing")


DENSE = {"groups": 4, "kc": 4, "y": 5, "x": 25, "y_step": 25, "x_step": 1}
DEPTHWISE = {"groups": 4, "depthwise": 1, "lead": 1, "y": 6, "x": 27, "y_step": 26, "x_step": 1}
LAYERS = {
    "dense": DENSE
    | {"columns": 500, "rows": 5, "target_group": 500, "target_y": 100, "target_x": 4},
    "depthwise": DEPTHWISE
    | {"columns": 26, "rows": 4, "row0": -1, "line": 27, "fire_y0": 2, "fire_x0": 1}
    | {"target_group": 500, "target_y": 108, "target_x": 4},
}
"""125 vectors in 4 passes of 4 groups; a 26x4 image with a border, 3x3 windows, 4 groups."""
