"""A judge of models that only compares, and folders of vectors with results, for tests."""

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from eightfold.conformance.answers import ModelAnswer
from eightfold.conformance.profile import Profile
from eightfold.conformance.vectors.operators import OperatorCase
from eightfold.conformance.verdict import CaseOutcome, ClaimFinding, FailedCase

ENDINGS = {
    "refused": CaseOutcome.REFUSED,
    "crashed": CaseOutcome.CRASHED,
    "timeout": CaseOutcome.TIMEOUT,
    "missing": CaseOutcome.MISSING,
}


def outcome_of(case: OperatorCase, answer: ModelAnswer) -> CaseOutcome:
    """Return what a case has shown."""
    if case.refusal and answer.ending in ("refused", "computed"):
        return CaseOutcome.EXACT if answer.ending == "refused" else CaseOutcome.ACCEPTED
    if answer.ending != "computed":
        return ENDINGS[answer.ending]
    same = all(
        i in answer.tensors and np.array_equal(answer.tensors[i], t)
        for i, t in case.tensors.items()
    )
    return CaseOutcome.EXACT if same else CaseOutcome.WRONG


def compare_models(
    claim: str, cases: Sequence[OperatorCase], answers: Sequence[ModelAnswer], profile: Profile
) -> ClaimFinding:
    """Return a finding of counts and names."""
    found = [outcome_of(*each) for each in zip(cases, answers, strict=True)]
    failed = [
        FailedCase(name=str(number), outcome=outcome, message=answers[number].message)
        for number, outcome in enumerate(found)
        if outcome != CaseOutcome.EXACT
    ]
    return ClaimFinding(claim=claim, counts=Counter(found), failed=tuple(failed))


def write_right_models(vectors: Path, results: Path) -> None:
    """Write the results of an implementation that is right."""
    for name, entry in json.loads((vectors / "manifest.json").read_text())["cases"].items():
        (results / name).mkdir(parents=True)
        if entry["expect"] == "refused":
            (results / name / "refused.txt").write_text("not for me\n")
        else:
            expected = (vectors / name / "expected.npz").read_bytes()
            (results / name / "results.npz").write_bytes(expected)
