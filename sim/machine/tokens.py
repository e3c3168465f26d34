"""Proof that a stream's tokens order all accesses that conflict, and that no command hangs.

`Queues` are those of sequencer and engines without time: which commands can start.
"""

import sys
from collections import defaultdict, deque
from collections.abc import Collection
from dataclasses import dataclass, field
from itertools import chain, islice

import numpy as np
from numpy.typing import NDArray

from eightfold import isa
from eightfold.isa.decode import Decoded, line, read_stream
from eightfold.sim.machine.accesses import (
    Accesses,
    accesses,
    overwritten,
    result_offsets,
    vector_offsets,
)
from eightfold.target.config import AcceleratorConfig

_Set = tuple[str, isa.Space, NDArray[np.int64]]
"""Reads or writes, where, and which bytes: at least one, sorted."""

_Pair = tuple[isa.Engine, isa.Engine]
"""The giver of a token and its taker."""


def check_tokens(config: AcceleratorConfig, words: NDArray[np.uint32]) -> None:
    """Check that a stream computes the same whatever time its commands take.

    Engines start their commands in order and complete them in order, but may start one before the
    last one is complete. Two commands that touch a common byte of scratchpad, arena or tables, at
    least one of them writing, must be ordered by tokens, directly or through others: the first one
    in the stream is complete before the second one starts. This holds for two commands of one
    engine too, but for two of the matrix engine: its reads are in order, and so are its writes, and
    ``distance`` keeps vectors from results. Model region, weights and parameters are constants.

    Memory and time grow with the bytes touched. Raises CommandError if the words are no stream of
    this configuration; OrderError if two commands are not ordered, a command overwrites what it
    still has to read, a command waits for ever, or tokens, weight buffers or parameter banks are
    left at END.
    """
    commands = read_stream(config, words)
    check_order(config, commands, Queues(config, commands).run())


def check_order(config: AcceleratorConfig, commands: list[Decoded], started: list[Decoded]) -> None:
    """Check that tokens order all accesses that conflict, as `check_tokens`.

    ``commands``: from BEGIN on. ``started``: the engines' commands in an order in which all of them
    can start. Raises OrderError if two commands are not ordered, or a command overwrites what it
    still has to read.
    """
    _Conflicts(config, commands).check(completed(started))


def completed(started: list[Decoded]) -> dict[int, NDArray[np.int64]]:
    """Return, by a command's number, how many commands of each engine are complete when it starts.

    That is: the giver of each token that the command takes, what was complete at the giver's start,
    and what was complete at the start of the engine's last command. The n-th token that is taken
    comes from the n-th command that gives one, because engines complete in order. ``started``: the
    engines' commands in an order in which they can start.
    """
    given: dict[_Pair, deque[tuple[int, NDArray[np.int64]]]] = defaultdict(deque)
    clocks = np.zeros((len(isa.Engine), len(isa.Engine)), np.int64)
    counts = dict.fromkeys(isa.Engine, 0)
    done = {}
    for command in started:
        engine = isa.ENGINES[command.opcode]
        clock = clocks[engine.value]
        for other in command.wait:
            count, before = given[other, engine].popleft()
            np.maximum(clock, before, out=clock)
            clock[other.value] = max(clock[other.value], count)
        done[command.number] = clock.copy()
        counts[engine] += 1
        for other in command.signal:
            given[engine, other].append((counts[engine], clock.copy()))
    return done


class _Conflicts:
    """For every byte and engine, the last command that wrote it and the last one that read it."""

    def __init__(self, config: AcceleratorConfig, commands: list[Decoded]) -> None:
        self.commands = [command for command in commands if command.opcode in isa.ENGINES]
        touched = [accesses(config, command) for command in self.commands]
        self.sets = [_sets(bytes_) for bytes_ in touched]
        self.overwritten = [
            overwritten(command, bytes_)
            for command, bytes_ in zip(self.commands, touched, strict=True)
        ]
        self.queues: dict[isa.Engine, list[Decoded]] = {engine: [] for engine in isa.Engine}
        self.results = _Results(config)
        ends: dict[isa.Space, int] = defaultdict(int)
        for _, space, offsets in chain.from_iterable(self.sets):
            ends[space] = max(ends[space], int(offsets[-1]) + 1)
        # Numbers of commands in their engine's queue, from 1; 0 is none.
        self.last = {
            (verb, space): np.zeros((len(isa.Engine), end), np.int32)
            for space, end in ends.items()
            for verb in ("reads", "writes")
        }

    def check(self, done: dict[int, NDArray[np.int64]]) -> None:
        """Raise at the first command that is not ordered behind one before it."""
        for command, sets, own in zip(self.commands, self.sets, self.overwritten, strict=True):
            if own.size:
                raise OrderError(
                    f"overwrites SCRATCHPAD {_extent(own)} before it is read:\n{line(command)}"
                )
            for verb, space, offsets in sets:
                for before in ("writes",) if verb == "reads" else ("writes", "reads"):
                    self._check_behind(before, verb, space, offsets, command, done)
            if command.opcode == isa.Opcode.MATRIX:
                nothing = np.zeros(0, np.int64)
                reads = next((each for verb, _, each in sets if verb == "reads"), nothing)
                complete = int(done[command.number][isa.Engine.MATRIX.value])
                self.results.check(command, reads, complete)
            engine = isa.ENGINES[command.opcode]
            self.queues[engine].append(command)
            for verb, space, offsets in sets:
                self.last[verb, space][engine.value, offsets] = len(self.queues[engine])

    def _check_behind(
        self,
        before: str,
        verb: str,
        space: isa.Space,
        offsets: NDArray[np.int64],
        command: Decoded,
        done: dict[int, NDArray[np.int64]],
    ) -> None:
        for engine in isa.Engine:
            if engine is isa.ENGINES[command.opcode] is isa.Engine.MATRIX:
                continue
            last = self.last[before, space][engine.value, offsets]
            number = int(last.max())
            if number > done[command.number][engine.value]:
                raise OrderError(
                    f"not ordered by tokens: {space.name} {_extent(offsets[last == number])}\n"
                    f"{before}: {line(self.queues[engine][number - 1])}\n"
                    f"{verb}: {line(command)}"
                )


class _Results:
    """Result vectors of MATRIX commands, numbered from 1, and which of them wrote each byte last.

    A vector that reads a result must not be read while that one is not written. Before it are v
    vectors of its command, and as long as result r is not written, neither are those behind it.
    """

    def __init__(self, config: AcceleratorConfig) -> None:
        self.config = config
        self.writers = np.zeros(config.scratchpad, np.int64)
        self.ends = [0]  # results of the first commands

    def check(self, command: Decoded, reads: NDArray[np.int64], complete: int) -> None:
        """Raise if a vector may be read too early, ``complete`` commands being complete before.

        ``reads`` are the bytes of all vectors. Then take up what the command itself writes.
        """
        distance = command.fields["distance"]
        vectors = vector_offsets(self.config, command.fields)
        if self.writers[reads].max(initial=0) <= self.ends[complete]:
            vectors = iter(())
        for number, offsets in enumerate(islice(vectors, distance or None)):
            writers = self.writers[offsets]
            last = int(writers.max(initial=0))
            far = number + 1 + self.ends[-1] - last
            if last > self.ends[complete] and not 0 < distance <= far:
                raise OrderError(
                    f"not ordered by tokens or distance: vector {number} reads SCRATCHPAD "
                    f"{_extent(offsets[writers == last])}, a result before {far - number - 1} more:"
                    f"\n{line(command)}"
                )
        count = self.ends[-1]
        for starts, lanes in result_offsets(self.config, command.fields):
            numbers = count + 1 + np.arange(len(starts))
            for lane in range(lanes):
                written = self.writers[starts + lane]
                self.writers[starts + lane] = np.maximum(written, numbers)
            count += len(starts)
        self.ends.append(count)


def _sets(touched: Accesses) -> list[_Set]:
    return [
        (verb, space, offsets)
        for verb, sets in (("reads", touched.reads), ("writes", touched.writes))
        for space, offsets in sets.items()
        if space != isa.Space.MODEL and offsets.size
    ]


def _extent(offsets: NDArray[np.int64]) -> str:
    """Return the first and the last of some bytes, and how many they are."""
    return f"bytes {offsets[0]}..{offsets[-1]} ({len(offsets)})"


class OrderError(Exception):
    """Tokens are missing, or a command waits for ever."""


@dataclass
class _Unit:
    """What the sequencer sends commands to: a queue, and what it needs from others."""

    queue: deque[Decoded] = field(default_factory=deque)
    words: int = 0
    left: int = -1
    """Buffers or banks that the first command still has to make or take; -1: not started."""


class Queues:
    """All queues of the machine, without time: whatever can happen does.

    ``commands``: from BEGIN on; those behind END are not there. ``stops``: numbers of commands that
    begin and are never complete. ``roomy``: whether every queue has room for all; by default it has
    what is promised.

    ``started``: the engines' commands in an order in which they can start. ``stopped``: numbers of
    those of ``stops`` that have done all that they can.
    """

    def __init__(
        self,
        config: AcceleratorConfig,
        commands: list[Decoded],
        stops: Collection[int] = (),
        roomy: bool = False,
    ) -> None:
        self.config, self.commands = config, commands
        self.stops = frozenset(stops)
        self.roomy = roomy
        self.stopped: set[int] = set()
        self.units = {_executor(opcode): _Unit() for opcode in isa.COMMANDS}
        self.tokens: dict[tuple[isa.Engine, isa.Engine], int] = {}
        buffer = config.lanes * config.weight_word
        # What waits, and what may.
        self.room = {
            isa.Opcode.WEIGHTS: max(1, config.weight_buffer // buffer),
            isa.Opcode.PARAMETERS: config.matrix_banks - 1,
        }
        if roomy:
            self.room = dict.fromkeys(self.room, sys.maxsize)
        self.stored = dict.fromkeys(self.room, 0)
        self.need = dict.fromkeys(self.room, 0)
        self.started: list[Decoded] = []

    def run(self) -> list[Decoded]:
        """Return the engines' commands in an order in which they can start.

        Raises OrderError if a command waits for ever, or something is left at END.
        """
        following = self.settle()
        if following < len(self.commands):
            raise OrderError(self._stuck(self.commands[following]))
        self._check_empty()
        return self.started

    def settle(self) -> int:
        """Let happen what can; return the number of the first command that cannot leave the stream.

        It is that of all commands if there is none.
        """
        following = 1
        moved = True
        while moved:
            moved = False
            while following < len(self.commands) and self._dispatch(self.commands[following]):
                following = following + 1
                moved = True
            for unit in self.units.values():
                while unit.queue and self._step(unit):
                    moved = True
        return following

    def _dispatch(self, command: Decoded) -> bool:
        if command.opcode == isa.Opcode.END:
            # The fetchers' commands are not waited for by the hardware.
            return not any(
                unit.queue
                for name, unit in self.units.items()
                if isinstance(name, isa.Engine) or not self.roomy
            )
        unit = self.units[_executor(command.opcode)]
        words = isa.COMMANDS[command.opcode].words
        if unit.words + words > self.config.command_queue and not self.roomy:
            return False
        unit.queue.append(command)
        unit.words += words
        return True

    def _step(self, unit: _Unit) -> bool:
        """Let a unit's first command do what it can; return whether it did anything."""
        command = unit.queue[0]
        opcode = command.opcode
        if command.number in self.stopped:
            return False
        if opcode in self.room:
            if command.number in self.stops:
                self.stopped.add(command.number)
                return False
            return self._fetch(opcode, unit, command)
        engine = isa.ENGINES[opcode]
        if unit.left < 0:
            if any(not self.tokens.get((other, engine)) for other in command.wait):
                return False
            for other in command.wait:
                self.tokens[other, engine] -= 1
            unit.left = 0
            unit.words = unit.words - isa.COMMANDS[opcode].words
            self.started.append(command)
            if opcode == isa.Opcode.MATRIX:
                self.need = taken(command)
        took = opcode == isa.Opcode.MATRIX and self._take()
        if opcode == isa.Opcode.MATRIX and any(self.need.values()):
            return took
        if command.number in self.stops:
            self.stopped.add(command.number)
            return took
        for other in command.signal:
            self.tokens[engine, other] = self.tokens.get((engine, other), 0) + 1
        unit.queue.popleft()
        unit.left = -1
        return True

    def _fetch(self, opcode: isa.Opcode, unit: _Unit, command: Decoded) -> bool:
        if unit.left < 0:
            unit.left = made(self.config, command)
            unit.words = unit.words - isa.COMMANDS[opcode].words
        count = min(unit.left, self.room[opcode] - self.stored[opcode])
        unit.left = unit.left - count
        self.stored[opcode] = self.stored[opcode] + count
        if unit.left:
            return count > 0
        unit.queue.popleft()
        unit.left = -1
        return True

    def _take(self) -> bool:
        took = False
        for kind, need in self.need.items():
            count = min(need, self.stored[kind])
            self.need[kind] = need - count
            self.stored[kind] = self.stored[kind] - count
            took |= count > 0
        return took

    def _stuck(self, following: Decoded) -> str:
        reasons = []
        for unit in self.units.values():
            if not unit.queue:
                continue
            command = unit.queue[0]
            if command.opcode in self.room:
                reasons.append(f"{line(command)}\n  waits until MATRIX takes what was fetched")
            elif unit.left < 0:
                engine = isa.ENGINES[command.opcode]
                missing = [e.name for e in command.wait if not self.tokens.get((e, engine))]
                reasons.append(f"{line(command)}\n  waits for a token of {', '.join(missing)}")
            else:
                missing = [f"{count} of {kind.name}" for kind, count in self.need.items() if count]
                reasons.append(f"{line(command)}\n  waits for {', '.join(missing)}")
        queue = "" if following.opcode == isa.Opcode.END else "\n  has no place in its queue"
        return "\n".join(["for ever:", *reasons, f"{line(following)}{queue}"])

    def _check_empty(self) -> None:
        left = [
            f"{count} tokens of {giver.name} for {taker.name}"
            for (giver, taker), count in self.tokens.items()
            if count
        ]
        left += [f"{count} of {kind.name}" for kind, count in self.stored.items() if count]
        if left:
            raise OrderError(f"left at END: {', '.join(left)}")


def _executor(opcode: isa.Opcode) -> isa.Engine | isa.Opcode:
    """Return whose queue a command goes to: its engine's, or the one of its own fetcher."""
    return isa.ENGINES.get(opcode, opcode)


def made(config: AcceleratorConfig, command: Decoded) -> int:
    """Return how many buffers a WEIGHTS, or banks a PARAMETERS, makes."""
    if command.opcode == isa.Opcode.WEIGHTS:
        return isa.Weights(**command.fields).buffers
    return -(-command.fields["channels"] // config.lanes)


def taken(command: Decoded) -> dict[isa.Opcode, int]:
    """Return how many weight buffers and parameter banks a MATRIX takes."""
    matrix = isa.Matrix(**command.fields)
    return {isa.Opcode.WEIGHTS: matrix.passes, isa.Opcode.PARAMETERS: matrix.groups * matrix.last}
