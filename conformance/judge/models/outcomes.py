"""What an answer has shown of a case."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from eightfold.conformance.answers import ModelAnswer
from eightfold.conformance.vectors.models import OperatorCase
from eightfold.conformance.verdict import CaseOutcome
from eightfold.run.reference.oracle import differ

_ENDINGS = {
    "refused": CaseOutcome.REFUSED,
    "crashed": CaseOutcome.CRASHED,
    "timeout": CaseOutcome.TIMEOUT,
    "missing": CaseOutcome.MISSING,
}


@dataclass(frozen=True)
class ModelOutcome:
    """What an answer has shown of a case."""

    outcome: CaseOutcome
    message: str = ""
    """In one line, if it is not exact: what is wrong first, or what a runtime said."""
    place: tuple[int, tuple[int, ...]] | None = None
    """The first wrong element, if all shapes are right: tensor index and place."""


def shown(case: OperatorCase, answer: ModelAnswer) -> ModelOutcome:
    """Return what an answer has shown; the model's outputs are demanded, other tensors compared."""
    graph = case.graph
    if graph is None:
        return _illegal(case, answer)
    if answer.ending != "computed":
        return ModelOutcome(_ENDINGS[answer.ending], answer.message)
    for index in graph.outputs:
        if index in case.tensors and index not in answer.tensors:
            return ModelOutcome(CaseOutcome.MISSING, f"output tensor {index} is missing")
    order = [index for op in graph.operators for index in op.outputs if index in answer.tensors]
    for index in order:
        theirs = answer.tensors[index]
        expected = case.tensors[index]
        if theirs.shape != expected.shape or theirs.dtype != expected.dtype:
            text = (
                f"tensor {index} is {theirs.dtype} of shape {list(theirs.shape)}, not "
                f"{expected.dtype} of {list(expected.shape)}"
            )
            return ModelOutcome(CaseOutcome.SHAPE, text)
    return _compared(case.tensors, answer.tensors, order)


def _illegal(case: OperatorCase, answer: ModelAnswer) -> ModelOutcome:
    if answer.ending == "refused":
        return ModelOutcome(CaseOutcome.EXACT)
    if answer.ending == "computed":
        return ModelOutcome(CaseOutcome.ACCEPTED, f"to be refused: {case.refusal}")
    message = f"{answer.message}; to be refused: {case.refusal}"
    return ModelOutcome(_ENDINGS[answer.ending], message)


def _compared(
    expected: Mapping[int, np.ndarray], theirs: Mapping[int, np.ndarray], order: list[int]
) -> ModelOutcome:
    """Return what tensors of the right shapes have shown."""
    outcome = CaseOutcome.EXACT
    first = ModelOutcome(CaseOutcome.EXACT)
    for index in order:
        wrong = differ(theirs[index], expected[index])
        if not wrong.any():
            continue
        codes = expected[index].dtype == np.int8
        near = codes and np.abs(theirs[index].astype(int) - expected[index]).max() == 1
        if outcome != CaseOutcome.WRONG:
            outcome = CaseOutcome.OFF_BY_ONE if near else CaseOutcome.WRONG
        if first.outcome == CaseOutcome.EXACT:
            place = tuple(np.argwhere(wrong)[0].tolist())
            text = (
                f"tensor {index}, {int(wrong.sum())} of {wrong.size} elements, first at "
                f"{list(place)}: {theirs[index][place]}, expected {expected[index][place]}"
            )
            first = ModelOutcome(outcome, text, (index, place))
    return ModelOutcome(outcome, first.message, first.place)
