"""Contracts: what a requantizer keeps in place of the spec, and how far that is from it.

A contract is the spec but for some of the mistakes that have a name, which are meant. So it is
executable as they are, and a unit that keeps it is judged as one that keeps the spec: what it does
otherwise has a name too.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from eightfold.conformance.judge.arithmetic import (
    Arithmetic,
    compute,
    operand,
    reference_arithmetic,
    scaled,
)
from eightfold.conformance.judge.forms import FORMS, Cases, Form, cases_of, take
from eightfold.conformance.judge.requantizer import requantizer, sizes
from eightfold.conformance.judge.subject import Mistake, Subject, made, rows
from eightfold.conformance.judge.variants import MISTAKES, results_with
from eightfold.conformance.profile import JOIN, Profile
from eightfold.conformance.units.registry import unit_cases
from eightfold.conformance.units.unit import Level, UnitCases
from eightfold.golden.fixed_point import Integers, wrap32
from eightfold.golden.rounding import ROUNDINGS
from eightfold.golden.steps import Step


@dataclass(frozen=True)
class Contract:
    """What a requantizer keeps."""

    spec: Form
    """The form that it is held against."""
    rules: tuple[Mistake, ...] = ()
    """The mistakes of this form that are meant; none: the spec is kept. Results are those of
    `eightfold.conformance.judge.variants.results_with` of the form and these."""

    @property
    def name(self) -> str:
        """The names of the rules; the form's without any."""
        return JOIN.join(rule.name for rule in self.rules) or self.spec.name

    @property
    def sentence(self) -> str:
        """What is kept, in words."""
        return " ".join(rule.sentence for rule in self.rules) or f"{self.spec.what}."

    @cached_property
    def arithmetic(self) -> Arithmetic:
        """Its choices at every step."""
        return made(reference_arithmetic(self.spec), self.rules)

    @cached_property
    def form(self) -> Form:
        """The form whose mistakes it can have: of one rounding, if it rounds once."""
        once = self.spec.name == "tflite" and self.arithmetic.scale != "two"
        return FORMS["tflite_single"] if once else self.spec

    def results(self, cases: Cases) -> Integers:
        """Return the results of a unit that keeps it, shape (n,)."""
        return results_with(self.spec, cases, *self.rules)

    def steps(self, case: dict[str, int]) -> list[Step]:
        """Return its arithmetic of one case; the last value is the result."""
        if not self.rules:
            return self.spec.steps(case)
        a, one = self.arithmetic, {name: np.array([value]) for name, value in case.items()}
        x = operand(a, one)
        by = f"multiplier {case['multiplier']} * 2^({case['shift']} - {self.spec.fraction_bits})"
        z, result = int(scaled(a, self.spec, x, one)[0]), int(self.results(one)[0])
        found: list[Step] = []
        if a.scale == "two":
            whole = replace(a, right="missing", second="half_away", zero_point="added")
            y = int(scaled(whole, self.spec, x, one)[0])
            found = [(f"high_product({int(x[0])}, multiplier {case['multiplier']}, {a.first})", y)]
            found += [(f"{y} / 2^{max(-case['shift'], 0)}, {a.second}", z)]
        else:
            found = [(f"{int(x[0])} * {by}, {a.second}", z)]
        last = f"{z}, zero point {case['zero_point']} {a.zero_point}"
        return [*found, (f"{last}, clamp {case['low']}..{case['high']} {a.clamp}", result)]

    @cached_property
    def subject(self) -> Subject:
        """What results are held against: the contract, and the mistakes that one can make in it.

        Where a rule is not kept and the spec is, that is a mistake too: ``without_`` and its name.
        """
        base = requantizer(self.form.name)
        if not self.rules:
            return base
        choices = self.arithmetic
        undone = [(rule, self._without(rule)) for rule in self.rules]
        known = [
            each
            for each in base.mistakes
            if (other := each.of(choices)) != choices
            # A float is rounded in one of golden's ways.
            and (not other.scale.startswith("float") or other.second in ROUNDINGS)
        ]
        there = [each.of(choices) for each in known]
        known += [each for _, each in undone if each.of(choices) not in there]

        return replace(
            base,
            name=self.name,
            mistakes=tuple(known),
            choices=choices,
            arithmetic=lambda choices, cases: compute(choices, self.spec, cases),
            steps=lambda cases, index, place: self.steps(take(cases, index)),
        )

    def _without(self, rule: Mistake) -> Mistake:
        spec = reference_arithmetic(self.spec)
        return Mistake(
            f"without_{rule.name}",
            f"What the contract says of {rule.name} is not kept: the unit does there as the spec.",
            {choice: getattr(spec, choice) for choice in rule.changes},
        )

    def distance(self, cases: Cases, kinds: NDArray[np.str_] | None = None) -> list[str]:
        """Return in lines how far it is from the spec in cases, and the smallest that differs.

        ``kinds``: those of `UnitCases`; the share of ``near`` is nearest to that in networks. Where
        the spec's left shift wraps int32, which C++ leaves open, nothing is counted.
        """
        shifted = cases["acc"] << np.maximum(cases["shift"], 0)
        defined = wrap32(shifted) == shifted
        cases, kinds = rows(cases, defined), None if kinds is None else kinds[defined]
        ours, spec = self.results(cases), self.spec.results(cases)
        differ = ours != spec
        if not differ.any():
            return [f"{self.name} gives the spec's results in all {len(differ)} cases."]
        near = np.ones_like(differ) if kinds is None else kinds == "near"
        share = f"{100 * (differ & near).sum() / max(near.sum(), 1):.2g} %"
        places = np.flatnonzero(differ)
        case = take(cases, int(places[np.argmin(sizes(rows(cases, places)))]))
        found = [
            f"{self.name} differs from the spec in {differ.sum()} of {len(differ)} cases, by up to "
            f"{np.abs(ours - spec).max()}"
            + ("." if kinds is None else f"; in {share} of random cases with results near int8."),
            "The smallest case in which they differ:",
            ", ".join(f"{name} {value}" for name, value in case.items()),
        ]
        for what, steps in (("spec", self.spec.steps(case)), ("contract", self.steps(case))):
            found += [f"  {what}:", *(f"    {formula} = {value}" for formula, value in steps)]
        return found


def contract_of(profile: Profile) -> Contract:
    """Return what a profile's requantizer keeps."""
    rules = tuple(MISTAKES[each.rule] for each in profile.contract)
    return Contract(FORMS[profile.form], rules)


def contract_cases(unit: str, profile: Profile, level: Level = "smoke", seed: int = 0) -> UnitCases:
    """Return the cases of a unit with the results of a profile's contract, or of the spec.

    What rounds once is asked the ties of one rounding. Raises as
    `eightfold.conformance.units.registry.unit_cases`.
    """
    contract = contract_of(profile)
    if not contract.rules:
        return unit_cases(unit, profile, level, seed)
    drawn = profile.replace(contract=())
    if contract.arithmetic.scale != "two" and profile.spec == "tflite":
        drawn = drawn.replace(limits=replace(profile.limits, rounding="single"))
    cases = unit_cases(unit, drawn, level, seed)
    results = contract.results(cases_of(profile.form, cases.inputs))
    return replace(cases, results={"result": results.astype(np.int8)})
