"""Which mistake gives all results of an operator, and which mistakes runs cannot tell apart."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from eightfold.conformance.judge.models.mistakes import operator_mistakes
from eightfold.conformance.judge.models.outcomes import differ
from eightfold.conformance.judge.models.subject import OperatorMistake, Subject
from eightfold.conformance.judge.power import Power

PROBED = 12
"""Of the runs that are wrong, and of those that are exact: so many are asked of every mistake."""


@dataclass(frozen=True, eq=False)
class Answered:
    """A run of an operator and somebody's results of it, in the operator's order.

    ``theirs`` has None for an output that is not known.
    """

    subject: Subject
    theirs: tuple[np.ndarray | None, ...]

    def given_by(self, results: Sequence[np.ndarray]) -> bool:
        """Return whether ``results`` are theirs, as far as these are known."""
        pairs = zip(results, self.theirs, strict=True)
        return all(alike(result, theirs) for result, theirs in pairs if theirs is not None)

    @property
    def exact(self) -> bool:
        """Whether golden's results are theirs."""
        return self.given_by(self.subject.expected)


def alike(one: np.ndarray, other: np.ndarray) -> bool:
    """Return whether two tensors are the same, type and shape too."""
    if one.shape != other.shape or one.dtype != other.dtype:
        return False
    return not differ(one, other).any()


@dataclass(frozen=True)
class Explained:
    """What explains results.

    Attributes
    ----------
    full
        The mistakes that give all results, each of them.
    closest
        If none does, the one that gives most of them, if that is more than golden does.
    given
        How many runs ``closest`` gives.
    left
        Of each run, whether neither golden (``closest``, where there is one) gives it.
    """

    full: tuple[OperatorMistake, ...]
    closest: OperatorMistake | None
    given: int
    left: tuple[bool, ...]


def explain(operator: str, answered: Sequence[Answered]) -> Explained:
    """Return which mistakes explain the results of all runs of one operator."""
    wrong = [not each.exact for each in answered]
    if not any(wrong):
        return Explained((), None, len(answered), tuple(wrong))
    small = sorted(range(len(answered)), key=lambda number: answered[number].subject.size)
    probes = [n for n in small if wrong[n]][:PROBED] + [n for n in small if not wrong[n]][:PROBED]
    rest = [n for n in small if wrong[n] and n not in probes]
    rest += [n for n in small if not wrong[n] and n not in probes]
    full, scores = [], []
    for place, mistake in enumerate(operator_mistakes(operator)):
        hits = [n for n in probes if _gives(mistake, answered[n])]
        if len(hits) == len(probes) and all(_gives(mistake, answered[n]) for n in rest):
            full.append(mistake)
        scores.append((len(hits), sum(wrong[n] for n in hits), -place, mistake))
    if full:
        return Explained(tuple(full), None, len(answered), (False,) * len(answered))
    right = sum(not each for each in wrong)
    best = max(scores, key=lambda score: score[:3], default=None)
    if best is not None and best[1]:
        given = [_gives(best[3], each) for each in answered]
        if sum(given) > right:
            return Explained((), best[3], sum(given), tuple(not each for each in given))
    return Explained((), None, right, tuple(wrong))


def _gives(mistake: OperatorMistake, answered: Answered) -> bool:
    return answered.given_by(mistake.results(answered.subject))


def operator_power(operator: str, subjects: Sequence[Subject]) -> Power:
    """Return which mistakes of an operator runs could not have told apart.

    Groups of mistakes with the same results so far are divided run by run, the small ones first.
    """
    mistakes = operator_mistakes(operator)
    groups: list[list[OperatorMistake | None]] = [[None, *mistakes]]
    for subject in sorted(subjects, key=lambda each: each.size):
        groups = [part for group in groups for part in _divided(group, subject)]
        if not any(len(group) > 1 for group in groups):
            break
    unseen: tuple[str, ...] = ()
    coinciding = []
    for group in groups:
        names = tuple(each.name for each in group if each is not None)
        if None in group:
            unseen = names
        elif len(names) > 1:
            coinciding.append(names)
    return Power(len(mistakes), unseen, tuple(coinciding))


def _divided(
    group: list[OperatorMistake | None], subject: Subject
) -> list[list[OperatorMistake | None]]:
    if len(group) == 1:
        return [group]
    parts: dict[tuple, list[OperatorMistake | None]] = {}
    for mistake in group:
        results = subject.expected if mistake is None else mistake.results(subject)
        key = tuple((each.shape, each.dtype.str, each.tobytes()) for each in results)
        parts.setdefault(key, []).append(mistake)
    return list(parts.values())
