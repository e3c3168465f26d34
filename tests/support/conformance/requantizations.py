"""Directed requantizations in the terms of the forms that can be claimed."""

import numpy as np

from eightfold.conformance.answers import UnitAnswers
from eightfold.conformance.judge.forms import FORMS, Cases, cases_of
from eightfold.conformance.judge.units import judge_unit
from eightfold.conformance.judge.variants import MISTAKES, mistakes_of, results_with
from eightfold.conformance.profile import Profile
from eightfold.conformance.units.unit import UnitCases
from eightfold.conformance.verdict import ClaimFinding
from eightfold.golden.fixed_point import wrap32
from eightfold.sim.benches import requantizer as stimuli

UNSEEN = {"left_missing", "clamp_int8", "relu_at_0"}
"""Mistakes that TPU-MLIR's profiles leave out: left shifts, and bounds."""


def directed_cases(form: str, seed: int, count: int = 20, biased: bool = False) -> Cases:
    """Return the directed and random cases of our own requantizer's bench that ``form`` has."""
    rng = np.random.default_rng(seed)
    parts = [
        stimuli.corner_cases(rng),
        stimuli.tie_cases(rng, count),
        stimuli.power_cases(rng),
        stimuli.wrap_cases(rng),
        stimuli.random_cases(rng, 500 * count),
    ]
    drawn = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    double = FORMS[form].roundings == 2
    # The rounding takes part in no draw but its own: ties of every mode are cases of each.
    kept = (drawn["single"] == 0) == double
    kept &= (drawn["left"] == 0) | (drawn["right"] == 0)
    if not double:
        kept &= drawn["left"] == 0
    if form == "tpu_mlir_8":
        kept &= drawn["multiplier"] < 128
    cases = {name: values[kept] for name, values in drawn.items()}
    shift = cases["left"] - cases["right"]
    if form == "tflite_single":
        shift = np.clip(31 + shift, -31, 30)
    elif not double:
        # A few of TPU-MLIR's shifts are to the left.
        shift = np.where(rng.random(len(shift)) < 0.1, rng.integers(1, 9, len(shift)), shift)
    fields = {name: cases[name] for name in ("multiplier", "zero_point", "low", "high")}
    if biased:
        return fields | {"acc": cases["acc"], "bias": cases["bias"], "shift": shift}
    return fields | {"acc": wrap32(cases["acc"] + cases["bias"]), "shift": shift}


def some(cases: Cases, count: int) -> Cases:
    """Return at most ``count`` of the cases, spread over all of them."""
    total = len(cases["acc"])
    kept = np.unique(np.linspace(0, total - 1, min(count, total)).astype(np.int64))
    return {name: values[kept] for name, values in cases.items()}


def telling_cases(form: str, seed: int, biased: bool = False) -> Cases:
    """Return few of the directed cases, which still tell apart all mistakes that these do.

    For each mistake two cases of its own, and for each two mistakes a case in which they differ.
    """
    cases = directed_cases(form, seed, biased=biased)
    kind = FORMS[form]
    mistakes = [(), *((mistake,) for mistake in mistakes_of(form, biased))]
    codes = [results_with(kind, cases, *each).astype(np.int8) for each in mistakes]
    kept = set[int]()
    for position, one in enumerate(codes):
        for other in codes[:position]:
            kept.update(np.flatnonzero(one != other)[:1].tolist())
        kept.update(np.flatnonzero(one != codes[0])[:2].tolist())
    chosen = np.array(sorted(kept))
    return {name: values[chosen] for name, values in cases.items()}


def judged(profile: Profile, cases: UnitCases, *made: str) -> ClaimFinding:
    """Return what is found of a requantizer that makes some mistakes of the spec."""
    mistakes = [MISTAKES[name] for name in made]
    results = results_with(FORMS[profile.form], cases_of(profile.form, cases.inputs), *mistakes)
    return judge_unit("requantizer", profile, cases, UnitAnswers(results={"result": results}))


def kept(contract: str) -> Profile:
    """Return the profile of a contract by its name."""
    return Profile.from_dict({"name": "mine", "contract": contract})
