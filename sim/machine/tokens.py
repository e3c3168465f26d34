"""Proof that a stream's tokens order all accesses that conflict, and that no command hangs."""

from collections import defaultdict, deque
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from eightfold import isa
from eightfold.isa.decode import Decoded, read_stream
from eightfold.isa.listing import line
from eightfold.sim.machine.accesses import Accesses, accesses, overwritten
from eightfold.sim.machine.queues import OrderError, Queues
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
    engine too. Model region, weights and parameters are constants.

    Memory and time grow with the bytes touched.

    Raises
    ------
    CommandError
        If the words are no stream of this configuration.
    OrderError
        If two commands are not ordered, a command overwrites what it still has to read, a command
        waits for ever, or tokens, weight buffers or parameter banks are left at END.
    """
    commands = read_stream(config, words)
    check_order(config, commands, Queues(config, commands).run())


def check_order(config: AcceleratorConfig, commands: list[Decoded], started: list[Decoded]) -> None:
    """Check that tokens order all accesses that conflict, as `check_tokens`.

    Parameters
    ----------
    commands
        From BEGIN on.
    started
        The engines' commands in an order in which all of them can start.

    Raises
    ------
    OrderError
        If two commands are not ordered, or a command overwrites what it still has to read.
    """
    _Conflicts(config, commands).check(completed(started))


def completed(started: list[Decoded]) -> dict[int, NDArray[np.int64]]:
    """Return, by a command's number, how many commands of each engine are complete when it starts.

    That is: the giver of each token that the command takes, what was complete at the giver's
    start, and what was complete at the start of the engine's last command. The n-th token that is
    taken comes from the n-th command that gives one, because engines complete in order.

    Parameters
    ----------
    started
        The engines' commands in an order in which they can start.
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
            last = self.last[before, space][engine.value, offsets]
            number = int(last.max())
            if number > done[command.number][engine.value]:
                raise OrderError(
                    f"not ordered by tokens: {space.name} {_extent(offsets[last == number])}\n"
                    f"{before}: {line(self.queues[engine][number - 1])}\n"
                    f"{verb}: {line(command)}"
                )


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
