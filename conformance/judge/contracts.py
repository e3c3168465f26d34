"""Requantizers as subjects: a form that can be claimed, or a contract in place of the spec.

A contract is the spec but for some of the mistakes that have a name, which are meant. So it is
executable as they are, and a unit that keeps it is judged as one that keeps the spec: what it does
otherwise has a name too.
"""

from dataclasses import dataclass, replace
from functools import cache, cached_property, partial

import numpy as np
from numpy.typing import NDArray

from eightfold.conformance.judge.arithmetic import (
    Arithmetic,
    compute,
    reference_arithmetic,
    scaled,
)
from eightfold.conformance.judge.forms import (
    FIELDS,
    FORMS,
    Cases,
    Form,
    cases_of,
    form_of,
    operand,
    take,
)
from eightfold.conformance.judge.rules import Features, Mask, bounds, wide
from eightfold.conformance.judge.subject import Mistake, Subject, bits, made, rows
from eightfold.conformance.judge.variants import MISTAKES, mistakes_of, results_with
from eightfold.conformance.profile import JOIN, Profile
from eightfold.conformance.units.registry import unit_cases
from eightfold.conformance.units.unit import Level, UnitCases
from eightfold.golden.fixed_point import INT32_MAX, Integers, srdhm, wrap32
from eightfold.golden.rounding import ROUNDINGS, rounding_shift
from eightfold.golden.steps import Step

NAMES = {
    "acc": "an accumulator",
    "bias": "a bias",
    "multiplier": "a multiplier",
    "shift": "a shift",
    "zero_point": "a zero point",
    "low": "a lower bound",
    "high": "an upper bound",
    "number": "a case number",
}
"""How sentences call the fields of cases, and their place among the cases."""


def features(form: Form, cases: Cases, meant: Mask) -> Features:
    """Return the features of cases, by what they say; some need the cases that are meant."""
    table: Features = {}
    acc, shift, multiplier = cases["acc"], cases["shift"], cases["multiplier"]
    divided, z, lost, products = _values(form, cases)
    for name, parts in divided.items():
        table |= _division(name, *parts)
    low, high, zero_point = cases["low"], cases["high"], cases["zero_point"]
    v = z + zero_point
    table |= {
        "a result at the upper bound by the clamp": v > high,
        "a result at the lower bound by the clamp": v < low,
        "a result that needs no clamp": (v >= low) & (v <= high),
        "a scaled value below 0": z < 0,
        "a scaled value above 0": z > 0,
        "a scaled value of 0": z == 0,
        "a scaled value beyond int8": (z < -128) | (z > 127),
        "a sum with the zero point that wraps": v != wrap32(v),
        "a left shift that loses bits": lost,
        "a lower bound above -128": low > -128,
        "an upper bound below 127": high < 127,
        "a zero point of 0": zero_point == 0,
        "a negative zero point": zero_point < 0,
        "a positive zero point": zero_point > 0,
        "a negative accumulator": acc < 0,
        "a positive accumulator": acc > 0,
        "an accumulator of 0": acc == 0,
        "an accumulator of -2^31": acc == -(2**31),
        "a left shift": shift > 0,
        "a right shift": shift < 0,
        "a shift of 0": shift == 0,
        "a multiplier of 0": multiplier == 0,
        "a multiplier below 2^30": multiplier < 2**30,
        "a multiplier of 2^31 - 1": multiplier == INT32_MAX,
        "a multiplier that is a power of two": (multiplier & (multiplier - 1)) == 0,
        "a multiplier with bits below 2^16": (multiplier & 0xFFFF) != 0,
    }
    if "bias" in cases:
        total = acc + cases["bias"]
        table |= {
            "a bias other than 0": cases["bias"] != 0,
            "a sum with the bias that wraps": total != wrap32(total),
        }
    for way, amount, end in (("right", -shift, 64), ("left", shift, 32)):
        for limit in range(1, end):
            table[f"a {way} shift of at least {limit}"] = amount >= limit
            table[f"a {way} shift of at most {limit}"] = (amount > 0) & (amount <= limit)
    for name, numbers in {"an accumulator": acc, "a scaled value": z, **products}.items():
        table |= wide(name, numbers)
    for field, numbers in {**cases, "number": np.arange(meant.size)}.items():
        table |= bounds(NAMES[field], numbers, meant)
    return table


def _division(name: str, dividend: Integers, e: Integers) -> Features:
    """Return the features of the division of ``dividend`` by ``2^e``."""
    over = np.maximum(e, 1)
    unit = np.int64(1) << over
    twice = 2 * (dividend & (unit - 1))
    tie = (e > 0) & (twice == unit)
    below = dividend < 0
    return {
        f"a tie at {name}": tie,
        f"a tie below 0 at {name}": tie & below,
        f"a tie above 0 at {name}": tie & ~below,
        f"a remainder at {name}": (e > 0) & (twice != 0),
        f"a negative value with a remainder at {name}": (e > 0) & (twice != 0) & below,
        f"a remainder below half at {name}": (e > 0) & (twice != 0) & (twice < unit),
        f"a remainder above half at {name}": (e > 0) & (twice > unit),
        f"a negative value at {name}": below,
    }


def _values(
    form: Form, cases: Cases
) -> tuple[dict[str, tuple[Integers, Integers]], Integers, Mask, dict[str, Integers]]:
    """Return values inside the reference's arithmetic.

    By rounding what is divided, and by which power of two; the scaled value; where a left shift
    loses bits; and products by name.
    """
    x, shift, multiplier = operand(cases), cases["shift"], cases["multiplier"]
    left, right = np.maximum(shift, 0), np.maximum(-shift, 0)
    if form.roundings == 2:
        shifted = wrap32(x << left)
        product, y = shifted * multiplier, srdhm(shifted, multiplier)
        divided = {
            "the first rounding": (product, np.full_like(product, 31)),
            "the second rounding": (y, right),
        }
        z = rounding_shift(y, right, "half_away")
        return divided, z, shifted != x << left, {"a product": product, "a high product": y}
    if form.fraction_bits:
        product, e = x * multiplier, 31 - shift
    else:
        product, e = x * np.minimum(multiplier << left, INT32_MAX), right
    z = rounding_shift(product, e, "half_up")
    z = wrap32(z) if form.fraction_bits else z
    return {"the rounding": (product, e)}, z, np.zeros(x.shape, bool), {"a product": product}


@cache
def requantizer(form: str, biased: bool = False) -> Subject:
    """Return the requantizer of a form; ``biased`` if its cases have a bias. Raises ValueError if
    there is no such form."""
    kind = form_of(form)

    return Subject(
        name=form,
        mistakes=mistakes_of(form, biased),
        choices=reference_arithmetic(kind),
        arithmetic=lambda choices, cases: compute(choices, kind, cases),
        features=partial(features, kind),
        sizes=sizes,
        shown=lambda cases, index, place: take(cases, index),
        steps=lambda cases, index, place: kind.steps(take(cases, index)),
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
        return " ".join(rule.sentence for rule in self.rules) or f"{self.spec.what}."

    @cached_property
    def arithmetic(self) -> Arithmetic:
        return made(reference_arithmetic(self.spec), self.rules)

    @cached_property
    def form(self) -> Form:
        """The form whose mistakes it can have: of one rounding, if it rounds once."""
        once = self.spec.name == "tflite" and self.arithmetic.scale != "two"
        return FORMS["tflite_single"] if once else self.spec

    def results(self, cases: Cases) -> Integers:
        return results_with(self.spec, cases, *self.rules)

    def steps(self, case: dict[str, int]) -> list[Step]:
        """Return its arithmetic of one case; the last value is the result."""
        if not self.rules:
            return self.spec.steps(case)
        a, one = self.arithmetic, {name: np.array([value]) for name, value in case.items()}
        x = operand(one)
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
