"""The verdict on a requantizer's results: it conforms, or it deviates, and why.

`judge` compares results with golden's, looks for a mistake with a name that explains all of them,
then for two at once, and says of what is left what it has in common.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from eightfold.conformance.answers import MISSING, UNKNOWN
from eightfold.conformance.judge.forms import FIELDS, Cases, Form, take
from eightfold.conformance.judge.power import Power, power
from eightfold.conformance.judge.rules import Clause, Mask, describe
from eightfold.conformance.judge.variants import (
    Mistake,
    every_result,
    form_of,
    mistakes_of,
    pairs,
    results_with,
)
from eightfold.conformance.verdict import Outcome
from eightfold.golden.fixed_point import Integers
from eightfold.golden.steps import Step, step_lines

PROBED = 256
"""Of the results that are exact, and of those that are not: so many are asked first of a pair."""


@dataclass(frozen=True)
class Explanation:
    """Mistakes, one or two at once, and how many of the known results they give."""

    mistakes: tuple[Mistake, ...]
    explained: int

    @property
    def name(self) -> str:
        """The mistakes' names."""
        return " and ".join(mistake.name for mistake in self.mistakes)

    @property
    def sentence(self) -> str:
        """The mistakes' sentences."""
        return " ".join(mistake.sentence for mistake in self.mistakes)


@dataclass(frozen=True)
class Failure:
    """A case that is not exact, with the reference's arithmetic."""

    index: int
    case: Mapping[str, int]
    outcome: Outcome
    steps: tuple[Step, ...]
    """The reference's; the last value is the expected result."""
    result: int | None
    """Theirs; None if it is missing or unknown."""

    def lines(self) -> list[str]:
        """Return the case, the reference's steps, and their result beside the expected one."""
        fields = ", ".join(f"{name} {value}" for name, value in self.case.items())
        expected = self.steps[-1][1]
        if self.result is None:
            theirs = f"theirs: {self.outcome.text}, expected {expected}"
        else:
            difference = self.result - expected
            theirs = f"theirs: {self.result}, expected {expected}, difference {difference:+d}"
        steps = [f"  {line}" for line in step_lines(self.steps)]
        return [f"case {self.index}: {fields}", *steps, f"  {theirs}"]


@dataclass(frozen=True)
class Verdict:
    """What results say of the unit that gave them."""

    form: str
    counts: Mapping[Outcome, int]
    explanations: tuple[Explanation, ...]
    """Those that explain every known result; none if these are exact."""
    closest: Explanation | None
    """The one mistake that explains most results, if none explains all, but more than golden.

    None where a simple rule says exactly which results are wrong.
    """
    remainder: tuple[Clause, ...]
    """What the results have in common that neither golden nor ``closest`` explains."""
    unexplained: int
    """How many results these are."""
    differences: str
    """How far they lie from ``closest``, or from golden."""
    silent: tuple[Clause, ...]
    """What cases without a known result have in common."""
    failure: Failure | None
    """The smallest failing case."""
    power: Power

    @property
    def cases(self) -> int:
        """How many cases were judged."""
        return sum(self.counts.values())

    @property
    def known(self) -> int:
        """How many cases have a result all of whose bits are known."""
        return self.cases - self.counts[Outcome.MISSING] - self.counts[Outcome.UNKNOWN_BITS]

    @property
    def conforms(self) -> bool:
        """Whether there are cases, and every result is exact."""
        return 0 < self.counts[Outcome.EXACT] == self.cases

    def lines(self) -> list[str]:
        """Return the verdict in sentences, without the power of the cases."""
        if not self.cases:
            return [f"{self.form}: nothing was judged, there are no cases."]
        if self.conforms:
            return [f"{self.form}: conforms, all {self.cases} results are exact."]
        failed = [
            f"{count} {outcome.text}"
            for outcome, count in self.counts.items()
            if count and outcome != Outcome.EXACT
        ]
        found = [f"{self.form}: deviates in {', '.join(failed)} of {self.cases} results."]
        found += self._diagnosis()
        if silent := self.cases - self.known:
            found.append(_common(silent, "cases without a known result", self.silent))
        if self.failure:
            found += ["The smallest failing case:", *self.failure.lines()]
        return found

    def _diagnosis(self) -> list[str]:
        if self.counts[Outcome.EXACT] == self.known:
            return ["Every result that is known is exact."] if self.known else []
        if self.explanations:
            first, *others = self.explanations
            both = "Two mistakes at once explain" if len(first.mistakes) > 1 else "It explains"
            found = [f"{first.name}: {first.sentence} {both} all {self.known} known results."]
            if others:
                names = "; ".join(other.name for other in others)
                found.append(f"These explain them as well, in these cases: {names}.")
            return found
        if self.closest is None:
            found = ["No mistake with a name explains all results, nor do two of them."]
            left = "results that are not exact"
        else:
            found = [
                "No mistake with a name explains all results, nor do two of them. The closest is "
                f"{self.closest.name}, with {self.closest.explained} of {self.known}: "
                f"{self.closest.sentence}"
            ]
            left = "results that it does not explain"
        return [*found, f"{_common(self.unexplained, left, self.remainder)} {self.differences}"]


def _common(count: int, what: str, clauses: tuple[Clause, ...]) -> str:
    if not clauses:
        return f"The {count} {what} have nothing simple in common."
    found = [each.sentence(count) for each in clauses]
    if rest := count - sum(each.meant for each in clauses):
        found.append(f"{rest} follow no simple rule")
    return f"Of the {count} {what}, {'; '.join(found)}."


def outcomes(expected: Integers, results: Integers) -> Integers:
    """Return the `Outcome` of each case, shape (n,)."""
    missing, unknown = results == MISSING, results == UNKNOWN
    difference = np.abs(np.where(missing | unknown, 0, results - expected))
    return np.select(
        [missing, unknown, difference == 0, difference == 1],
        [Outcome.MISSING, Outcome.UNKNOWN_BITS, Outcome.EXACT, Outcome.OFF_BY_ONE],
        Outcome.WRONG,
    ).astype(np.int64)


def judge(form: str, cases: Cases, results: Integers) -> Verdict:
    """Return the verdict on a requantizer's results.

    Parameters
    ----------
    form
        A name of `eightfold.conformance.judge.forms.FORMS`.
    cases
        See `eightfold.conformance.judge.forms.Cases`; shape (n,), n may be 0.
    results
        Theirs, int64 of shape (n,): any integer, `MISSING` or `UNKNOWN`.

    Raises
    ------
    ValueError
        If there is no such form, a field is missing, or shapes or types are others.
    """
    kind = form_of(form)
    _check(cases, results)
    expected = kind.results(cases)
    found = outcomes(expected, results)
    known = found < Outcome.MISSING
    computed = every_result(kind, cases)
    explanations, closest = tuple[Explanation, ...](), None
    wrong = known & (found != Outcome.EXACT)
    base, left = expected, wrong
    if wrong.any():
        explanations, closest = _explain(kind, cases, results, known, wrong, computed)
        if closest is not None and _is_rule(describe(kind, cases, wrong), wrong):
            closest = None  # what a simple rule says exactly needs no mistake that is nearly right
        if closest is not None:
            base = computed[closest.mistakes[0].name].astype(np.int64)
            left = known & (results != base)
        if explanations:
            left = np.zeros_like(left)
    return Verdict(
        form=form,
        counts={outcome: int((found == outcome).sum()) for outcome in Outcome},
        explanations=explanations,
        closest=closest,
        remainder=describe(kind, cases, left),
        unexplained=int(left.sum()),
        differences=_differences(results[left] - base[left]),
        silent=describe(kind, cases, ~known),
        failure=_smallest(kind, cases, results, found),
        power=power(form, cases, computed),
    )


def _is_rule(clauses: tuple[Clause, ...], meant: Mask) -> bool:
    """Return whether a single clause says exactly which cases are meant."""
    return len(clauses) == 1 and clauses[0].meant == meant.sum() and not clauses[0].others


def _check(cases: Cases, results: Integers) -> None:
    if absent := [name for name in FIELDS if name not in cases]:
        raise ValueError(f"cases lack {', '.join(absent)}")
    for name, values in (*cases.items(), ("results", results)):
        if values.dtype != np.int64 or values.shape != (len(cases["acc"]),):
            raise ValueError(
                f"{name} must be int64 of shape ({len(cases['acc'])},), not {values.dtype} of "
                f"{values.shape}"
            )


def _explain(
    form: Form,
    cases: Cases,
    results: Integers,
    known: Mask,
    wrong: Mask,
    computed: Mapping[str, NDArray[np.int8]],
) -> tuple[tuple[Explanation, ...], Explanation | None]:
    """Return all mistakes, else pairs, that explain the known results, and the closest mistake."""
    total, theirs = int(known.sum()), results[known]
    mistakes = mistakes_of(form.name, "bias" in cases)
    single = [
        Explanation((mistake,), int((computed[mistake.name][known] == theirs).sum()))
        for mistake in mistakes
    ]
    if full := tuple(each for each in single if each.explained == total):
        return full, None
    judged = {name: values[known] for name, values in cases.items()}
    if full := tuple(_pairs(form, judged, theirs, wrong[known], mistakes)):
        return full, None
    best = max(single, key=lambda each: each.explained)
    return (), best if best.explained > total - int(wrong.sum()) else None


def _pairs(
    form: Form,
    cases: Cases,
    results: Integers,
    wrong: Mask,
    mistakes: tuple[Mistake, ...],
) -> Iterator[Explanation]:
    """Return the pairs that explain all ``results``, asked of some cases before all."""
    some = np.concatenate([_spread(np.flatnonzero(wrong)), _spread(np.flatnonzero(~wrong))])
    probe = {name: values[some] for name, values in cases.items()}
    for pair in pairs(mistakes):
        if np.array_equal(results_with(form, probe, *pair), results[some]) and np.array_equal(
            results_with(form, cases, *pair), results
        ):
            yield Explanation(pair, len(results))


def _spread(indices: Integers) -> Integers:
    """Return at most `PROBED` of ``indices``, from the first to the last."""
    count = min(len(indices), PROBED)
    return indices[np.arange(count) * len(indices) // max(count, 1)]


def _differences(difference: Integers) -> str:
    if not difference.size:
        return ""
    least, most = int(difference.min()), int(difference.max())
    if least == most:
        return f"All of them are off by {least:+d}."
    return f"They are off by {least:+d} to {most:+d}."


def _bits(values: Integers) -> Integers:
    """Return the bits of magnitudes; 0 has none."""
    return np.frexp(np.abs(values).astype(np.float64))[1].astype(np.int64)


def _sizes(cases: Cases) -> Integers:
    """Return how hard a case is to follow by hand: the bits of its numbers, shape (n,).

    The zeros at the end of a multiplier do not count, nor do bounds at the ends of int8.
    """
    multiplier = cases["multiplier"]
    shown = multiplier // np.maximum(multiplier & -multiplier, 1)
    numbers = (cases["acc"], shown, cases["shift"], cases["zero_point"])
    bounds = (cases["low"] + 128, 127 - cases["high"])
    bias = (cases["bias"],) if "bias" in cases else ()
    return np.sum([_bits(values) for values in (*numbers, *bounds, *bias)], axis=0)


def _smallest(form: Form, cases: Cases, results: Integers, found: Integers) -> Failure | None:
    """Return the failing case of fewest bits, the first of several; a known result before none."""
    failing = np.flatnonzero(found != Outcome.EXACT)
    if not failing.size:
        return None
    order = np.lexsort((failing, _sizes(cases)[failing], found[failing] >= Outcome.MISSING))
    index = int(failing[order[0]])
    outcome = Outcome(int(found[index]))
    case = take(cases, index)
    return Failure(
        index=index,
        case=case,
        outcome=outcome,
        steps=tuple(form.steps(case)),
        result=int(results[index]) if outcome < Outcome.MISSING else None,
    )
