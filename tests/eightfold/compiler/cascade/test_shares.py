"""Cycles of a run, shared among operators."""

from dataclasses import replace

import numpy as np

from eightfold import isa
from eightfold.isa import Space
from eightfold.isa.issued import Issued
from eightfold.isa.shares import shares

MOVE = isa.Move(
    source_space=Space.FILL, target_space=Space.SCRATCHPAD, source=0, target=0, run=1, fill=0
)


def stream(*places: tuple[int, int]) -> list[Issued]:
    """Return a command for each (step, operator)."""
    return [Issued(instruction=MOVE, operator=operator, step=step) for step, operator in places]


def shared(issued: list[Issued], ends: list[int], total: int) -> dict[int, int]:
    """Return the cycles of four operators whose commands are done in these cycles."""
    order = np.argsort(ends, kind="stable").tolist()
    done = [(index, np.array([ends[index]])) for index in order]
    found = shares(issued, [0, 1, 2, 3], done, np.array([total]))
    return {operator: int(cycles[0]) for operator, cycles in found.items()}


def test_an_operator_ends_with_its_last_command() -> None:
    issued = stream((0, 0), (1, 1), (0, 0), (2, 2), (3, 3))
    assert shared(issued, [10, 15, 30, 45, 60], 70) == {0: 30, 1: 0, 2: 15, 3: 25}


def test_operators_of_a_cascade_share_by_successive_commands() -> None:
    issued = stream((0, 0), (1, 1), (1, 2), (1, 1), (1, 2), (2, 3))
    assert shared(issued, [10, 20, 25, 40, 44, 60], 61) == {0: 10, 1: 25, 2: 9, 3: 17}


def test_the_last_command_of_a_run_in_strips_has_what_is_left() -> None:
    issued = stream((0, 0), (1, 1), (1, 3), (1, 2))
    assert shared(issued, [10, 20, 25, 40], 50) == {0: 10, 1: 10, 2: 25, 3: 5}


def test_what_an_earlier_operator_hides_counts_nothing() -> None:
    issued = stream((0, 0), (1, 1), (1, 2), (2, 3))
    early = [replace(command) for command in issued]
    assert shared(early, [50, 20, 60, 70], 70) == {0: 50, 1: 0, 2: 10, 3: 10}
