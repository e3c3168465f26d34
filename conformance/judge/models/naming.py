"""How a runtime with each named mistake is called: the test of the judge, and of the cases."""

from dataclasses import dataclass

from eightfold.conformance.judge.models.explanation import operator_power
from eightfold.conformance.judge.models.mistakes import operator_mistakes
from eightfold.conformance.judge.models.subject import Subject
from eightfold.conformance.profile import Profile
from eightfold.conformance.units.unit import Level
from eightfold.conformance.vectors.operators import MODELS, operator_cases
from eightfold.model import load_model


@dataclass(frozen=True)
class Named:
    """A mistake in an operator, and what a runtime that makes it is told.

    ``names`` are the mistakes that explain all of its results, its own among them; none if the
    cases cannot tell it from the reference.
    """

    operator: str
    mistake: str
    names: tuple[str, ...]


def naming(
    operator: str, profile: Profile, level: Level = "standard", seed: int = 0
) -> list[Named]:
    """Return what runtimes are told that make one mistake each in an operator.

    Raises
    ------
    InputError
        As `eightfold.conformance.vectors.operators.operator_cases`.
    """
    subjects = []
    for case in operator_cases(operator, profile, level, seed, count=MODELS[level]):
        graph = load_model(case.model)
        (only,) = graph.operators
        expected = tuple(case.tensors[index] for index in only.outputs)
        subjects.append(Subject(graph, only, case.inputs, expected, profile.reference))
    power = operator_power(operator, subjects)
    alike = {name: group for group in power.groups for name in group}
    return [
        Named(
            operator,
            mistake.name,
            () if mistake.name in power.unseen else alike.get(mistake.name, (mistake.name,)),
        )
        for mistake in operator_mistakes(operator)
    ]
