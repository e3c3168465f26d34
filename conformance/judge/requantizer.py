"""A requantizer as a subject, in one of the forms that can be claimed."""

from functools import cache, partial

import numpy as np

from eightfold.conformance.judge.features import features
from eightfold.conformance.judge.forms import FIELDS, Cases, form_of, take
from eightfold.conformance.judge.subject import Steps, Subject
from eightfold.conformance.judge.variants import mistakes_of, results_with
from eightfold.golden.fixed_point import Integers


@cache
def requantizer(form: str, biased: bool = False) -> Subject:
    """Return the requantizer of a form; ``biased`` if its cases have a bias.

    Raises
    ------
    ValueError
        If there is no such form.
    """
    kind = form_of(form)

    def steps(cases: Cases, index: int, place: int) -> Steps:
        return kind.steps(take(cases, index))

    return Subject(
        name=form,
        mistakes=mistakes_of(form, biased),
        compute=lambda cases, mistakes: results_with(kind, cases, *mistakes),
        features=partial(features, kind),
        sizes=sizes,
        shown=lambda cases, index, place: take(cases, index),
        steps=steps,
    )


def check_cases(cases: Cases, results: Integers) -> None:
    """Raise ValueError if a field is missing, or a shape or type is another."""
    if absent := [name for name in FIELDS if name not in cases]:
        raise ValueError(f"cases lack {', '.join(absent)}")
    for name, values in (*cases.items(), ("results", results)):
        if values.dtype != np.int64 or values.shape != (len(cases["acc"]),):
            raise ValueError(
                f"{name} must be int64 of shape ({len(cases['acc'])},), not {values.dtype} of "
                f"{values.shape}"
            )


def bits(values: Integers) -> Integers:
    """Return the bits of magnitudes; 0 has none."""
    return np.frexp(np.abs(values).astype(np.float64))[1].astype(np.int64)


def sizes(cases: Cases) -> Integers:
    """Return how hard a case is to follow by hand: the bits of its numbers, shape (n,).

    The zeros at the end of a multiplier do not count, nor do bounds at the ends of int8.
    """
    multiplier = cases["multiplier"]
    shown = multiplier // np.maximum(multiplier & -multiplier, 1)
    numbers = (cases["acc"], shown, cases["shift"], cases["zero_point"])
    bounds = (cases["low"] + 128, 127 - cases["high"])
    bias = (cases["bias"],) if "bias" in cases else ()
    return np.sum([bits(values) for values in (*numbers, *bounds, *bias)], axis=0)
