"""Cycles of the constants that stream into the MAC array: weights and parameters."""

from collections import deque

from eightfold.estimate import timing
from eightfold.estimate.clock import Change, Clock, Process
from eightfold.estimate.memory import MODEL, Fetch, ReadPort
from eightfold.isa.issued import Issued
from eightfold.target.config import AcceleratorConfig


class WeightBuffers:
    """eightfold.hw.matrix.weight_stream and eightfold.hw.array.weights: buffers in the order of
    their use."""

    def __init__(self, clock: Clock, config: AcceleratorConfig, port: ReadPort) -> None:
        self.clock, self.config = clock, config
        unit = min(config.weight_word, config.port)
        self._parts = config.weight_word // unit
        self.fetch = Fetch(
            clock,
            port,
            MODEL,
            config.weight_buffer // config.port,
            config.port // unit,
            config.port,
            yields=True,
        )
        self._runs: deque[list[int]] = deque()  # buffers, words of each
        self._more = Change(clock)
        self._free = self._cycle = 0

    def accept(self, index: int, command: Issued, cycle: int) -> Process[int]:
        """Take a WEIGHTS command."""
        taken = max(cycle, self._free)
        while not self.fetch.idle:
            yield self.fetch.changed
        begun = max(taken + timing.WEIGHT_PARSE, self.clock.now)
        yield begun
        self._free = begun + timing.WEIGHT_COMMAND
        fields = command.fields
        runs = [
            [fields["full"], self.config.lanes],
            [fields["partial"], fields["partial_lanes"]],
        ]
        words = sum(buffers * lanes for buffers, lanes in runs)
        self.fetch.begin(begun, fields["address"] // self.config.port, words * self._parts)
        self._runs.extend(run for run in runs if run[0])
        self._more.tell()
        return taken

    def load(self, swap: int) -> Process[int]:
        """Return when the next buffer is full if the one before is in use from ``swap`` on."""
        while not self._runs:
            yield self._more
        run = self._runs[0]
        run[0] -= 1
        if not run[0]:
            self._runs.popleft()
        words = run[1]
        behind = swap - timing.WEIGHT_LOAD - timing.WEIGHT_WORDS * self._parts
        begun = max(self._cycle, behind)
        self._cycle = yield from self.fetch.take(words * self._parts, begun, timing.FETCHED)
        return max(swap + words, self._cycle + timing.WEIGHT_LOAD)


class ParameterBanks:
    """eightfold.hw.matrix.parameter_stream and eightfold.hw.array.parameters: banks in the order of
    their use."""

    def __init__(self, clock: Clock, config: AcceleratorConfig, port: ReadPort) -> None:
        self.clock, self.config = clock, config
        self._unit = min(timing.RECORD, config.port)
        units = config.port // self._unit
        self._fetch = Fetch(
            clock, port, MODEL, timing.PARAMETER_BEATS, units, config.port, yields=True
        )
        self._commands: deque[Issued] = deque()
        self._ready: deque[int] = deque()
        self._retired: deque[int] = deque([0] * (config.parameter_banks - 1))
        self._more, self._loaded, self._freed = Change(clock), Change(clock), Change(clock)
        self._free = 0
        clock.start(self._load())

    def accept(self, index: int, command: Issued, cycle: int) -> Process[int]:
        """Take a PARAMETERS command."""
        taken = max(cycle, self._free)
        while not self._fetch.idle:
            yield self._fetch.changed
        begun = max(taken + timing.PARAMETER_PARSE, self.clock.now)
        yield begun
        self._free = begun + timing.PARAMETER_COMMAND
        fields = command.fields
        size = timing.RECORD * fields["channels"]
        if fields["shared"]:
            size = timing.RECORD + timing.BIAS * fields["channels"]
        beat = fields["address"] // self.config.port
        self._fetch.begin(begun, beat, -(-size // self._unit))
        self._commands.append(command)
        self._more.tell()
        return taken

    def take(self) -> Process[int]:
        """Return when the next bank is ready."""
        while not self._ready:
            yield self._loaded
        return self._ready.popleft()

    def retire(self, cycle: int) -> None:
        """Free a bank in ``cycle``."""
        self._retired.append(cycle)
        self._freed.tell()

    def _load(self) -> Process[None]:
        """Fill bank after bank."""
        cycle = 0
        while True:
            while not self._commands:
                yield self._more
            fields = self._commands.popleft().fields
            left = fields["channels"]
            taken = 0
            if fields["shared"]:
                cycle = yield from self._fetch.take(timing.RECORD // self._unit, cycle)
            while left:
                channels = min(left, self.config.lanes)
                while not self._retired:
                    yield self._freed
                cycle = max(cycle, self._retired.popleft() - timing.PARAMETER_LOAD)
                left = left - channels
                taken = taken + channels
                if fields["shared"]:
                    cycle = yield from self._biases(taken, channels, fields["channels"], cycle)
                else:
                    units = channels * timing.RECORD // self._unit
                    cycle = yield from self._fetch.take(units, cycle, timing.PARAMETER_STAY)
                yield cycle + timing.PARAMETER_LOAD
                self._fetch.release()
                self._ready.append(cycle + timing.PARAMETER_LOAD)
                self._loaded.tell()

    def _biases(self, taken: int, channels: int, total: int, cycle: int) -> Process[int]:
        """Take the units with the biases of channels up to ``taken``, a bias per cycle."""
        places = self._unit // timing.BIAS
        before, after = -(-(taken - channels) // places), -(-taken // places)
        arrived = yield from self._fetch.take(after - before, cycle)
        return max(cycle + channels, arrived)
