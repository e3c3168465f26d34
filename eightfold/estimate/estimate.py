"""Cycles per operator without simulation.

A simulation of events at the level of commands, bursts and passes instead of cycles. Each unit of
the hardware is a process (`eightfold.estimate.clock`) that takes the commands in their
order when their tokens are there, and says when each is done:

- `sequencer`: the command stream, the queues in front of the engines, the tokens;
- `eightfold.target.memory`: when the memory has which burst on its bus;
- `memory`: bursts on the port that commands, weights, parameters and mover share;
- `matrix`: weight buffers and parameter banks, fetched ahead of their use; passes, of
  ``max(vectors, words of the next buffer)`` cycles at least;
- `moves`: runs cut into beats; `vector`: chunks of elements.

The hardware's latencies are in `timing`. Nothing depends on the values of tensors: of a
GATHER, each index is taken for one more than the one before.
"""

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from eightfold.estimate import timing
from eightfold.estimate.clock import Clock
from eightfold.estimate.matrix import Matrix, ParameterBanks, WeightBuffers
from eightfold.estimate.memory import Memory
from eightfold.estimate.moves import Mover
from eightfold.estimate.sequencer import Sequencer
from eightfold.estimate.vector import Vector
from eightfold.isa import Engine, Opcode
from eightfold.isa.issued import Issued, Stream, distances
from eightfold.isa.shares import Work, shares, work
from eightfold.target.config import AcceleratorConfig
from eightfold.target.memory import IDEAL, MemoryTiming


@dataclass(frozen=True)
class Estimate:
    """What a network takes.

    ``cycles`` of every operator that the accelerator computes, by index. Shared among operators as
    `eightfold.isa.shares` does it: an operator's cycles are those from the end of the
    operator before to the end of its own last command, but in a cascade those between successive
    commands. Operators without commands have 0. The sum is the time from doorbell to done, over all
    streams. ``work``: for how long engines worked for each operator that has commands of them.
    ``bus``: cycles of these in which the memory's data bus was taken, or of its two the busier one:
    the network takes no fewer with this memory, whatever else becomes faster.
    """

    cycles: dict[int, int]
    work: dict[int, Work]
    bus: int

    @property
    def total(self) -> int:
        """Cycles from doorbell to done, over all streams."""
        return sum(self.cycles.values())


def estimate(streams: Iterable[Stream], memory: MemoryTiming = IDEAL) -> Estimate:
    """Return what streams take, one after the other, with a memory such as ``memory`` says."""
    cycles: dict[int, int] = {}
    worked: dict[int, Work] = {}
    bus = 0
    for stream in streams:
        simulated = _simulate_once(stream.config, stream.issued, memory)
        cycles |= _of_operators(stream, simulated)
        worked |= work(stream.issued, _spans(stream, simulated))
        bus += simulated.bus
    return Estimate(cycles, worked, bus)


def estimate_network(streams: Iterable[Stream], memory: MemoryTiming = IDEAL) -> dict[int, int]:
    """Return the ``cycles`` of an `Estimate`."""
    return estimate(streams, memory).cycles


def estimate_stream(
    config: AcceleratorConfig, issued: Sequence[Issued], memory: MemoryTiming = IDEAL
) -> tuple[dict[int, int], int]:
    """Return when each command of an engine is done, by index, and when the run ends.

    In cycles from the doorbell on; the commands need be no whole network's.
    """
    simulated = _simulate_once(config, issued, memory)
    return simulated.done, simulated.end


def estimate_last(
    config: AcceleratorConfig,
    issued: Sequence[Issued],
    memory: MemoryTiming,
    wanted: Collection[int],
) -> int:
    """Return when all of some commands, by index, are done: `estimate_stream` until then alone."""
    left = set(wanted)

    def finish(sequencer: Sequencer, index: int) -> None:
        sequencer.finish(index)
        left.discard(index)
        if not left:
            raise _Enough(sequencer.clock.now)

    try:
        _simulate(config, issued, memory, finish)
    except _Enough as enough:
        return enough.cycle
    raise AssertionError("a command was never done")


class _Enough(Exception):  # noqa: N818 - a signal within this module, not an error
    def __init__(self, cycle: int) -> None:
        self.cycle = cycle


class _Simulated(NamedTuple):
    """Commands: when each begins and is done; when the run ends, cycles of the memory's bus."""

    begun: dict[int, int]
    done: dict[int, int]
    end: int
    bus: int


def _of_operators(stream: Stream, simulated: _Simulated) -> dict[int, int]:
    events = [(index, np.array([simulated.done[index]])) for index in _order(simulated)]
    found = shares(stream.issued, stream.operators, events, np.array([simulated.end]))
    return {operator: int(cycles[0]) for operator, cycles in found.items()}


def _spans(stream: Stream, simulated: _Simulated) -> Iterator[tuple[int, int, int]]:
    """Yield index, begin and end of each command of an engine, one after the other."""
    ends = dict.fromkeys(Engine, 0)
    for index in _order(simulated):
        engine = stream.issued[index].engine
        assert engine is not None
        end = simulated.done[index]
        yield index, min(end, max(ends[engine], simulated.begun[index])), end
        ends[engine] = end


def _order(simulated: _Simulated) -> list[int]:
    """Return the commands in the order in which they are done."""
    return sorted(simulated.done, key=lambda index: (simulated.done[index], index))


REMEMBERED = 8
"""Simulations whose result is kept: those that compare a few plans of one network."""

_remembered: dict[Hashable, tuple[Sequence[Issued], _Simulated]] = {}


def _simulate_once(
    config: AcceleratorConfig, issued: Sequence[Issued], memory: MemoryTiming
) -> _Simulated:
    """Return what `_simulate` does: a search, a choice of plans and a report ask for the same.

    Commands are told by their identity, for which they are kept.
    """
    key = (config, memory, tuple(map(id, issued)))
    if key not in _remembered:
        while len(_remembered) >= REMEMBERED:
            del _remembered[next(iter(_remembered))]
        _remembered[key] = (tuple(issued), _simulate(config, issued, memory))
    return _remembered[key][1]


def _simulate(
    config: AcceleratorConfig,
    issued: Sequence[Issued],
    memory_timing: MemoryTiming,
    note: Callable[[Sequencer, int], None] = Sequencer.finish,
) -> _Simulated:
    """Run a stream; ``note`` is told of every command that is done."""
    clock = Clock()
    memory = Memory(clock, memory_timing, config.port)
    sequencer = Sequencer(clock, config, issued)
    weights = WeightBuffers(clock, config, memory.read)
    parameters = ParameterBanks(clock, config, memory.read)
    finish = partial(note, sequencer)
    own = distances(config, [command.instruction for command in issued])
    matrix = Matrix(clock, config, (weights, parameters), memory.scratchpad, finish, own)
    units = {
        (Opcode.MOVE, Opcode.GATHER): Mover(clock, config, memory, finish).accept,
        (Opcode.MATRIX,): matrix.accept,
        (Opcode.VECTOR,): Vector(clock, config, memory.scratchpad, finish).accept,
        (Opcode.WEIGHTS,): weights.accept,
        (Opcode.PARAMETERS,): parameters.accept,
    }
    sequencer.begin(memory.read, units)
    clock.run()
    engines = sum(command.engine is not None for command in issued)
    assert len(sequencer.done) == engines, "a command was never done"
    end = max([sequencer.end, *sequencer.done.values()]) + timing.END
    return _Simulated(sequencer.begun, sequencer.done, end, memory.bus_cycles())
