"""The mistakes of operators that have a name, and which of them runs can tell apart."""

from collections.abc import Sequence
from functools import cache

import numpy as np

from eightfold.conformance.judge.models.movement import MOVEMENT
from eightfold.conformance.judge.models.runtimes import RUNTIMES
from eightfold.conformance.judge.models.scaling import SCALINGS, mistakes_inside
from eightfold.conformance.judge.models.subject import (
    OperatorMistake,
    OperatorRun,
    Results,
    Table,
    named,
    run,
    runs_of,
)
from eightfold.conformance.judge.models.values import ELEMENTWISE, ROWS
from eightfold.conformance.judge.models.windows import POOLS, WEIGHTED
from eightfold.conformance.judge.power import Power, power_of
from eightfold.conformance.profile import Profile
from eightfold.conformance.units.unit import Level
from eightfold.conformance.vectors.models import model_cases
from eightfold.golden.quantization import clamp
from eightfold.golden.tpu_mlir.numbers import round_float
from eightfold.operators.spec import RESTRICTION, rule_at


def _codes_symmetric(subject: OperatorRun) -> Results:
    symmetric = np.maximum(subject.codes(0), -127)
    return [np.maximum(each, -127) for each in run(subject.changed(arrays={0: symmetric}))]


def _output_scale_other(subject: OperatorRun) -> Results:
    zero_point = subject.output_quantization().per_tensor()[1]
    real = (subject.expected[0].astype(np.int64) - zero_point) * (127 / 128)
    return [clamp(round_float(real, "half_away").astype(np.int64) + zero_point)]


_RANGED: Table = {
    ("codes_symmetric", _codes_symmetric): "Codes are from -127 to 127: -128 is read and written "
    "as -127."
}
_SCALED: Table = {
    ("output_scale_other", _output_scale_other): "The output has a scale of its own, 128/127 of "
    "what the spec says, to which the results are rescaled."
}
"""What breaks the spec's row, whatever the operator computes."""


@cache
def operator_mistakes(operator: str) -> tuple[OperatorMistake, ...]:
    """Return the mistakes of an operator: its own, those of requantizers inside it, of its row."""
    tables = (RUNTIMES, WEIGHTED, POOLS, ELEMENTWISE, ROWS, MOVEMENT)
    own = [mistake for table in tables for mistake in named(table.get(operator, {}))]
    ranged = operator not in SCALINGS and rule_at(operator, "Output 0")
    scaled = rule_at(operator, RESTRICTION) or rule_at(operator, f"Output 0 {RESTRICTION}")
    of_row = {**(_RANGED if ranged else {}), **(_SCALED if scaled else {})}
    return (*own, *mistakes_inside(operator), *named(of_row))


def operator_power(operator: str, subjects: Sequence[OperatorRun]) -> Power:
    """Return which mistakes of an operator its runs could not have told apart."""

    def digest(mistake: OperatorMistake | None, subject: OperatorRun) -> tuple:
        results = subject.expected if mistake is None else mistake.results(subject)
        return tuple((each.shape, each.dtype.str, each.tobytes()) for each in results)

    small_first = sorted(subjects, key=lambda each: each.size)
    return power_of(operator_mistakes(operator), small_first, digest)


def names_told(
    operator: str, profile: Profile, level: Level = "standard"
) -> dict[str, tuple[str, ...]]:
    """Return what a runtime is told that makes a mistake in an operator, by the mistake's name.

    These are the mistakes that explain all of its results, its own among them; none if the cases
    cannot tell it from the reference. Raises InputError as
    `eightfold.conformance.vectors.models.model_cases`.
    """
    cases = model_cases(operator, profile, level)
    runs = [each for case in cases for each in runs_of(case, profile.reference)]
    power = operator_power(operator, runs)
    alike = {name: group for group in power.groups for name in group}
    return {
        name: () if name in power.unseen else alike.get(name, (name,))
        for name in (each.name for each in operator_mistakes(operator))
    }
