"""Cycles of the vector engine: chunks of runs, `vector_lanes` elements per cycle."""

from collections.abc import Callable

from eightfold import isa
from eightfold.estimate import timing
from eightfold.estimate.clock import Change, Clock, Process
from eightfold.estimate.memory import Traffic
from eightfold.isa import ROW_RESULTS, Row
from eightfold.isa.issued import Issued
from eightfold.isa.vector_fields import has_one_result, reads_b
from eightfold.target.config import AcceleratorConfig

SLICE = 16
"""Cycles of a step in which reads give way to others."""


class Vector:
    """eightfold.hw.vector.engine: one command after the other."""

    def __init__(
        self,
        clock: Clock,
        config: AcceleratorConfig,
        traffic: Traffic,
        finish: Callable[[int], None],
    ) -> None:
        self.clock, self.config, self.traffic, self.finish = clock, config, traffic, finish
        self._job: tuple[int, Issued, int] | None = None
        self._changed = Change(clock)
        self._free = 0
        self._others = 0, 0  # reads and writes of others so far
        levels = config.vector_lanes.bit_length() - 1
        self._extreme = timing.ROW_EXTREME + levels
        self._function = timing.ROW_SUM + levels + timing.LEADING_ZEROS
        self._turn = timing.vector_turn(config)
        self._done = timing.vector_done(config)
        clock.start(self._run())

    def accept(self, index: int, command: Issued, cycle: int) -> Process[int]:
        while self._job:
            yield self._changed
        taken = max(cycle, self._free) + 1
        self._job = (index, command, taken)
        self._changed.tell()
        return taken

    def _run(self) -> Process[None]:
        while True:
            while not self._job:
                yield self._changed
            index, command, taken = self._job
            instruction = command.instruction
            assert isinstance(instruction, isa.Vector)
            rows = instruction.runs
            beats, reads, writes = self._row(instruction)
            yield taken + timing.VECTOR_WALK
            self._others = self._of_others(self.clock.now)
            cycle = taken + timing.VECTOR_WALK + timing.VECTOR_READ - 1  # of the last beat
            if pauses := self._between(instruction):
                for _ in range(rows):
                    for pause in pauses:
                        cycle = yield from self._beats(cycle, beats, reads, 0)
                        cycle += pause + 1
                    cycle = yield from self._beats(cycle, beats, reads, writes)
            else:
                cycle = yield from self._beats(cycle, rows * beats, rows * reads, rows * writes)
            yield cycle + self._done
            self.finish(index)
            self._job = None
            self._free = self.clock.now + 1
            self._changed.tell()

    def _row(self, command: isa.Vector) -> tuple[int, int, int]:
        """Return the cycles, reads and writes of a run's elements at all window positions."""
        f = command.values()
        config = self.config
        operands = 1 + reads_b(f)
        whole, rest = divmod(command.run, config.vector)
        sizes = [(whole, config.vector), (int(rest > 0), rest)]
        beats = sum(count * max(operands, -(-size // config.vector_lanes)) for count, size in sizes)
        chunks = whole + (rest > 0)
        writes = 1 if has_one_result(f) else chunks
        return command.positions * beats, command.positions * chunks * operands, writes

    def _between(self, command: isa.Vector) -> tuple[int, ...]:
        """Return the pauses behind all passes over a row but the last."""
        if command.row is Row.NONE or command.row in ROW_RESULTS:
            return ()
        function = self._function + timing.ROW_FUNCTIONS[command.row]
        return (self._extreme, function) if command.relative else (function,)

    def _beats(self, cycle: int, beats: int, reads: int, writes: int) -> Process[int]:
        """Send beats into the lanes behind ``cycle``; return the last one's cycle.

        Reads go ahead of the beats. They wait where one port writes and the other one reads.
        """
        traffic = self.traffic
        done = 0
        read = 0
        while done < beats:
            part = min(SLICE, beats - done)
            begun = cycle - timing.VECTOR_READ
            yield begun
            asked = min(part, reads - read, done * reads // beats + timing.VECTOR_AHEAD - read)
            yield begun + part
            others = self._of_others(begun + part)
            taken, written = (new - old for new, old in zip(others, self._others, strict=True))
            self._others = others
            busy = min(taken / part, 1)  # of the port that does not write
            read += min(asked, round((part - busy * written) / (1 + busy * writes / reads)))
            before = done
            done = min(done + part, read * beats // reads)
            results = range(before * writes // beats + 1, done * writes // beats + 1)
            traffic.vector_writes.add(begun + part, part, len(results))
            for result in results:
                behind = (result * beats // writes - before) * part // (done - before)
                traffic.turns.append(cycle + behind - self._turn + 1)
            cycle += part
        return cycle

    def _of_others(self, cycle: int) -> tuple[int, int]:
        """Return the reads and the writes of others, which go before, up to a cycle."""
        traffic = self.traffic
        reads = traffic.reads(cycle) + traffic.matrix_reads.until(cycle)
        return reads, traffic.results.until(cycle) + traffic.mover_writes.until(cycle)
