"""Failing cases asked again: alone, in a row without pauses, among other neighbours.

Arithmetic gives the same answer to the same case wherever it stands; what fails in a row and not
alone is a fault of control.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from eightfold.conformance.adapters.adapter import UnitAdapter
from eightfold.conformance.answers import Columns, Simulation, UnitAnswers
from eightfold.conformance.judge.sequences import ALONE, UNPAUSED
from eightfold.conformance.judge.subject import agree

ALONE_CASES, COPIES = 2, 4
"""How many failing cases are asked alone, a simulation each, and how often one after the other."""

ROW = 4096
"""How many cases are asked again in a row, at most."""

HELD = ("multiplier", "shift", "low", "high", "zero_point", "input_zero_point", "weight_zero_point")
"""Columns that can hold over a run of cases."""

SENSELESS = "sequence"
"""The unit whose cases mean nothing alone or in another order."""


def asked(
    adapter: UnitAdapter, inputs: Columns, expected: Columns, simulator: str, seed: int = 0
) -> UnitAnswers:
    """Return the answers to cases in a row; where some are wrong, these were asked again."""
    answers = adapter.answer(inputs, simulator=simulator, seed=seed)
    wrong = np.flatnonzero(~right(answers, expected))
    count = len(next(iter(inputs.values())))
    if answers.crashed or not 0 < len(wrong) < count:
        return answers
    again = dict(_again(adapter, inputs, expected, simulator, wrong))
    simulation = answers.simulations[0] if answers.simulations else Simulation(len(wrong))
    return replace(answers, simulations=(replace(simulation, cases=count, again=again),))


def _again(
    adapter: UnitAdapter,
    inputs: Columns,
    expected: Columns,
    simulator: str,
    wrong: NDArray[np.int64],
) -> Iterator[tuple[str, tuple[int, int]]]:
    def answered(asker: UnitAdapter, places: NDArray[np.int64]) -> NDArray[np.bool_]:
        some = {name: values[places] for name, values in inputs.items()}
        answers = asker.answer(some, simulator=simulator)
        return right(answers, {name: values[places] for name, values in expected.items()})

    still = adapter.paused(0.0)
    runs = _runs(inputs)
    last = min(int(wrong[min(len(wrong), ROW) - 1]), ROW - 1)
    order = np.flatnonzero(runs[:ROW] <= runs[last])
    among = np.isin(order, wrong)
    if adapter.unit != SENSELESS:
        few = wrong[np.linspace(0, len(wrong) - 1, min(ALONE_CASES, len(wrong))).astype(int)]
        found = [answered(still or adapter, np.full(COPIES, place)) for place in few]
        yield ALONE, (len(few), sum(bool(each[0] or each[-1]) for each in found))
    if not among.any():
        return
    if still is not None:
        yield UNPAUSED, (int(among.sum()), int(answered(still, order)[among].sum()))
    if adapter.unit != SENSELESS:
        places = np.random.default_rng(0).permutation(runs[last] + 1)
        mixed = order[np.argsort(places[runs[order]], kind="stable")]
        count = int(answered(still or adapter, mixed)[np.isin(mixed, wrong)].sum())
        yield "in other neighbours", (int(among.sum()), count)


def _runs(inputs: Columns) -> NDArray[np.int64]:
    """Return the number of each case's run, in which nothing but accumulators or lists differ.

    Where a profile has parameters hold, or lanes share them, other neighbours are other runs.
    """
    change = [np.diff(inputs[name].astype(np.int64)) != 0 for name in HELD if name in inputs]
    count = len(next(iter(inputs.values())))
    if not change:
        return np.arange(count)
    return np.append(0, np.cumsum(np.logical_or.reduce(change)))


def right(answers: UnitAnswers, expected: Columns) -> NDArray[np.bool_]:
    """Return for each case whether all of its results are the expected ones."""
    return np.logical_and.reduce(
        [agree(answers.results[name], values) for name, values in expected.items()]
    )
