"""Which contract a requantizer keeps, found out by asking it.

Contracts are the spec but for one or two of the mistakes that have a name, within limits. Cases are
asked that tell apart what still explains every answer, until no case does. A unit that nothing
explains is unexplained: it is never called by what is near.
"""

import inspect
import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain, product
from typing import Any

import numpy as np

from eightfold.common.errors import InputError
from eightfold.conformance.adapters.adapter import Adapter, UnitAdapter, somebodys_code
from eightfold.conformance.judge.contracts import Contract
from eightfold.conformance.judge.diagnosis import examine
from eightfold.conformance.judge.forms import FORMS, Cases, cases_of
from eightfold.conformance.judge.rules import Mask, spread
from eightfold.conformance.judge.subject import bits, pairs, rows
from eightfold.conformance.judge.variants import mistakes_of
from eightfold.conformance.profile import SHIFTS, Profile, ProfileLimits, Waiver
from eightfold.conformance.units.registry import unit_cases
from eightfold.conformance.units.requantize import beside_tie_cases, concatenate, random_cases
from eightfold.conformance.units.requantizer import PER_SHIFT, domain_of
from eightfold.conformance.units.unit import Level
from eightfold.golden.fixed_point import Integers

ROUNDS = 16
"""How often more is asked, at most."""

TOLD, FRESH = 64, 512
"""Cases of a round: that tell a contract from the first, and that are drawn anew."""

SHOWN = 64
"""So many answers within limits must depend on the accumulator, and not be at the clamp."""

WORTH = 1.25
"""By how much a further rule must multiply the answers that are explained."""

TRIED = 8
"""Contracts of one rule, and of two, for which limits are sought: those that give most answers."""

LIMITS_SAY = ("left_missing", "right_missing", "zero_point_missing", "clamp_int8", "relu_always")
"""Rules that are no contract of their own: limits say as much."""

INT8 = ((-128, 127),)

RELUS = 1 / 8
"""How many of the cases have the clamp of RELU, where any clamp is asked."""


@dataclass(frozen=True)
class Identification:
    """What a unit keeps."""

    profile: Profile | None
    """The contract and its limits; None if nothing explains the unit."""
    contract: Contract
    """The one that is kept; where none is, the one that gives most answers."""
    same: tuple[str, ...]
    """Names of contracts that no case that was drawn within the limits tells from it."""
    lines: tuple[str, ...]


def identify(
    adapter: Adapter, profile: Profile, simulator: str, level: Level = "standard", seed: int = 0
) -> Identification:
    """Return which contract a requantizer keeps.

    ``profile``: limits of what is asked. ``level``: of the cases among which those are chosen that
    tell contracts apart.

    Raises InputError if the adapter or the profile is none of TFLite's requantizer with two
    roundings, or nothing can be asked.
    """
    if not isinstance(adapter, UnitAdapter) or adapter.unit != "requantizer":
        raise InputError("conform identify: the adapter is of no requantizer; only that is asked")
    if profile.form != "tflite" or profile.contract or "requantizer" not in profile.claims:
        raise InputError(
            f"conform identify: profile {profile.name} must claim a requantizer of two roundings, "
            "without a contract, which is sought; leave it out, or state limits alone"
        )
    return _Dialogue(adapter, profile, simulator, level, seed).run()


@cache
def _contracts(rules: int) -> tuple[Contract, ...]:
    """Return the contracts of so many rules at once."""
    known = [each for each in mistakes_of("tflite") if each.name not in LIMITS_SAY]
    chosen = [((),), ((each,) for each in known), pairs(known)][rules]
    return tuple(Contract(FORMS["tflite"], each) for each in chosen)


class _Dialogue:
    """What was asked of a unit and what it answered; limits are those within which it is asked."""

    def __init__(
        self, adapter: UnitAdapter, profile: Profile, simulator: str, level: Level, seed: int
    ) -> None:
        self.adapter, self.simulator, self.seed = adapter, simulator, seed
        self.level: Level = level
        limits = profile.limits
        if limits.multipliers == "converter":  # what no converter makes tells contracts apart, too
            limits = replace(limits, multipliers="any")
        name = type(adapter).__name__
        self.profile = profile.replace(name=name, claims=("requantizer",), limits=limits)
        self.rng = np.random.default_rng([seed, 35])
        self.cases: dict[str, Integers] = {}
        self.answers = np.zeros(0, np.int64)
        self.compared = 0

    def run(self) -> Identification:
        drawn = self._with_relu(random_cases(self.rng, domain_of(self.profile), 4096))
        drawn["shift"] = -drawn.pop("exponent")
        taken = self.adapter.takes(_columns(drawn))
        if not taken.any():
            raise InputError("conform identify: the ports take no case; see the adapter's formulas")
        if not taken.all():
            self.profile = self.profile.replace(limits=self._widest(drawn, taken))
        self._ask(self._drawn("smoke", self.seed, self.profile.limits))
        self._hold_still()
        for number in range(1, ROUNDS + 1):
            limits, found = self._explanations()
            if not found or not self._goes_on(limits, found, number):
                return self._kept(limits, found) if found else self._unexplained()
        return self._unexplained()

    def _with_relu(self, cases: dict[str, Integers]) -> dict[str, Integers]:
        """Return cases, some of them with the clamp of RELU, if any clamp is asked."""
        count = len(cases["low"])
        relu = (self.rng.random(count) < RELUS) & (self.profile.limits.clamp == "any")
        low = np.where(relu, cases["zero_point"], cases["low"])
        return cases | {"low": low, "high": np.where(relu, 127, cases["high"])}

    def _drawn(self, level: Level, seed: int, limits: ProfileLimits) -> Cases:
        """Return cases that the ports take, with ties of two roundings and of one, and the products
        beside them, where roundings differ that ties do not tell apart."""
        domain = domain_of(self.profile.replace(limits=limits))
        beside = beside_tie_cases(self.rng, domain, PER_SHIFT[level])
        beside |= {"accumulator": beside["acc"], "shift": -beside["exponent"]}
        parts = [
            # Where int32 wraps, C++ leaves open what is right, and a contract too.
            drawn.take(np.flatnonzero(drawn.kinds != "wrap")).inputs
            for rounding in ("double", "single")
            for profile in [self.profile.replace(limits=replace(limits, rounding=rounding))]
            for drawn in [unit_cases("requantizer", profile, level, seed)]
        ]
        columns = self._with_relu(concatenate([*parts, beside]))
        return rows(cases_of("tflite", columns), self.adapter.takes(columns))

    def _answers_to(self, cases: Cases) -> Integers:
        kind = type(self.adapter)
        with somebodys_code(f"adapter {kind.__name__}: has not answered", inspect.getfile(kind)):
            given = self.adapter.answer(_columns(cases), simulator=self.simulator, seed=self.seed)
        if given.crashed or given.extra:
            raise InputError(f"conform identify: {given.note or 'answers came unasked'}")
        return given.results["result"].astype(np.int64)

    def _ask(self, cases: Cases) -> Integers:
        answers = self._answers_to(cases)
        self.cases = concatenate([self.cases, cases] if self.cases else [cases])
        self.answers = np.concatenate([self.answers, answers])
        return answers

    def _hold_still(self) -> None:
        """Limit what the unit does not read to the value that it computes with."""
        base = rows(self.cases, spread(np.flatnonzero(self._informative()), 128))
        before = self._answers_to(base) if len(base["acc"]) else self.answers
        for names in (("zero_point",), ("low", "high"), ("shift",)):
            changed = base | {name: self.rng.permutation(base[name]) for name in names}
            if not len(before) or not self.adapter.takes(_columns(changed)).all():
                continue
            if np.array_equal(self._answers_to(changed), before):
                held = self._held(names[0])
                for name, value in zip(names, held, strict=True):
                    self.cases[name] = np.full_like(self.answers, value)
                field = {"zero_point": "zero_points", "low": "clamp", "shift": "shift"}[names[0]]
                value = (held,) if field == "clamp" else held * 2 if field == "shift" else held
                limits = replace(self.profile.limits, **{field: value})
                self.profile = self.profile.replace(limits=limits)

    def _held(self, name: str) -> tuple[int, ...]:
        """Return the zero point, the clamp or the shift with which a unit computes that reads
        none: its answer to 0, its least and largest, the shift of the spec that is most right."""
        if name == "zero_point":
            zeros = self.answers[self.cases["acc"] == 0]
            return (int(np.median(zeros)) if zeros.size else 0,)
        if name == "low":
            return int(self.answers.min()), int(self.answers.max())
        part = spread(np.arange(len(self.answers)), 1000)
        cases, spec = rows(self.cases, part), FORMS["tflite"]

        def right(shift: int) -> int:
            given = spec.results(cases | {"shift": np.full_like(part, shift)})
            return int((given == self.answers[part]).sum())

        low, high = self.profile.shifts
        return (max(range(low, high + 1), key=right),)

    def _informative(self) -> Mask:
        """Return which answers depend on the accumulator, and are not at the clamp."""
        inside = (self.answers > self.cases["low"]) & (self.answers < self.cases["high"])
        return inside & (self.answers != self.cases["zero_point"])

    def _right(self, contract: Contract, part: Integers | slice = slice(None)) -> Mask:
        return contract.results(rows(self.cases, part)) == self.answers[part]

    def _explanations(self) -> tuple[ProfileLimits, list[Contract]]:
        """Return contracts of as few rules as can be that give every answer; else one within the
        limits that leave most answers, and what else gives all of these."""
        probe = spread(np.arange(len(self.answers)), 256)
        for rules in range(3):
            likely = [each for each in _contracts(rules) if self._right(each, probe).all()]
            if full := [each for each in likely if self._right(each).all()]:
                return self.profile.limits, full
        best, found = (0.0, self.profile.limits), list[Contract]()
        informative = self._informative()
        for contract in self._likely():
            right, worth = self._right(contract), WORTH ** len(contract.rules)
            if int(right.sum()) / worth < best[0]:
                continue
            limits = self._widest(self.cases, right)
            inside = self._within(limits)
            score = int(inside.sum()) / worth
            shown = right[inside].all() and int((inside & informative).sum()) >= SHOWN
            if shown and score >= best[0]:
                found = [*found, contract] if (score, limits) == best else [contract]
                best = score, limits
        if found:
            found += self._rivals(found, len(found[0].rules), best[1])
        return best[1], found

    def _rivals(self, found: list[Contract], rules: int, limits: ProfileLimits) -> list[Contract]:
        """Return other contracts of so many rules that give every answer within limits too.

        Of more rules than the first has, those of which its own are a part.
        """
        inside = np.flatnonzero(self._within(limits))
        own = found[0].rules if rules > len(found[0].rules) else ()
        return [
            each
            for each in _contracts(rules)
            if each not in found
            and all(rule in each.rules for rule in own)
            and all(self._right(each, some).all() for some in (spread(inside, 256), inside))
        ]

    def _likely(self) -> list[Contract]:
        """Return contracts that give many of the answers that depend on the accumulator."""
        places = spread(np.flatnonzero(self._informative()), 512)

        def given(contract: Contract) -> int:
            return int(self._right(contract, places).sum())

        one = sorted(chain(_contracts(0), _contracts(1)), key=given, reverse=True)[:TRIED]
        good = {rule.name for each in one for rule in each.rules}
        two = [each for each in _contracts(2) if good & {rule.name for rule in each.rules}]
        return one + sorted(two, key=given, reverse=True)[:TRIED]

    def _within(self, limits: ProfileLimits) -> Mask:
        domain = domain_of(self.profile.replace(limits=limits))
        return domain.within(self.cases | {"exponent": -self.cases["shift"]})

    def _widest(self, cases: Cases, right: Mask) -> ProfileLimits:
        """Return limits within which all cases are right, as many as can be."""
        limits = self.profile.limits
        best, found = -1, limits
        least, most = 1 << (limits.multiplier_bits - 2), (1 << (limits.multiplier_bits - 1)) - 1
        whole = (cases["low"] == -128) & (cases["high"] == 127)
        relu = whole | ((cases["low"] == cases["zero_point"]) & (cases["high"] == 127))
        normal = cases["multiplier"] >= least
        clamps: dict[Any, Mask] = {limits.clamp: np.ones_like(whole)}
        clamps |= {"relu": relu} if limits.clamp == "any" else {}
        multipliers: dict[Any, Mask] = {limits.multipliers: np.ones_like(whole)}
        if limits.multipliers == "any":
            zero = cases["multiplier"] == 0
            multipliers |= {"converter": normal | zero, (least, most): normal}
        for (clamp, some), (range_, others) in product(
            (clamps | {INT8: whole}).items(), multipliers.items()
        ):
            among = some & others
            if int((among & right).sum()) <= best:
                continue
            count, shift, accumulator, multiplier = _box(rows(cases, among), right[among])
            whole_range = range_ == limits.multipliers or multiplier >= limits.multiplier_bits
            if count > best and whole_range:
                best = count
                found = replace(
                    limits,
                    shift="any" if shift == SHIFTS["tflite"] else shift,
                    clamp=clamp,
                    accumulator_bits=min(limits.accumulator_bits, max(accumulator, 8)),
                    multiplier_bits=min(limits.multiplier_bits, max(multiplier, 2)),
                    multipliers=range_,
                )
        return found

    def _goes_on(self, limits: ProfileLimits, found: list[Contract], number: int) -> bool:
        """Ask what could tell explanations apart, and fresh cases; return whether some did.

        What explains as much with a rule more is asked about too: the simplest is named, and it may
        be by chance alone that a rule did not show.
        """
        more = len(found[0].rules) + 1
        others = [*found[1:], *(self._rivals(found, more, limits) if more < 3 else ())]

        def compared(level: Level) -> tuple[Cases, Integers, list[Integers]]:
            pool = self._drawn(level, self.seed + number, limits)
            first = found[0].results(pool)
            return pool, first, [np.flatnonzero(each.results(pool) != first) for each in others]

        pool, first, differ = compared(self.level)
        if not all(each.size for each in differ[: len(found) - 1]):
            pool, first, differ = compared("standard")
        self.compared = len(first)
        fresh = self.rng.permutation(len(first))[:FRESH]
        places = np.unique(np.concatenate([fresh, *(spread(each, TOLD) for each in differ)]))
        answers = self._ask(rows(pool, places))
        return any(each.size for each in differ) or not np.array_equal(answers, first[places])

    def _kept(self, limits: ProfileLimits, found: list[Contract]) -> Identification:
        contract, *others = found
        rules = tuple(Waiver(rule=rule.name) for rule in contract.rules)
        profile = self.profile.replace(contract=rules, limits=limits)
        inside = self._within(limits)
        a = contract.arithmetic
        roundings = f"two roundings, {a.first} and {a.second}" * (a.scale == "two")
        said = [
            f"{contract.name}: {contract.sentence}",
            f"It explains all {int(inside.sum())} answers within limits: "
            f"{profile.limits_text or 'none'}.",
            f"Its steps: {roundings or f'{a.scale} rounding, {a.second}'}; scaled value "
            f"{a.scaled}; zero point {a.zero_point}; clamp {a.clamp}.",
        ]
        same = tuple(each.name for each in others)
        if same:
            said.insert(
                0,
                f"Not told apart by any of {self.compared} cases drawn within the limits: "
                f"{', '.join((contract.name, *same))}. Where they differ is rarer, which --level "
                "full may meet, or beyond the limits: of multipliers and shifts, above all. The "
                "profile states the first.",
            )
        said += contract.distance(rows(self.cases, inside)) if rules else []
        if not inside.all():
            said += ["Beyond these limits it was asked too, and differs:", *self._but_for(contract)]
        return Identification(profile, contract, same, tuple(said))

    def _unexplained(self) -> Identification:
        near = chain(_contracts(0), _contracts(1))
        contract = max(near, key=lambda each: int(self._right(each).sum()))
        said = (
            f"Unexplained: no contract gives all {len(self.answers)} answers, whatever the limits.",
            f"{contract.name} gives {int(self._right(contract).sum())} of them, but not these:",
            *self._but_for(contract),
        )
        return Identification(None, contract, (), said)

    def _but_for(self, contract: Contract) -> Iterator[str]:
        """Yield what answers have in common that a contract does not give, and the smallest."""
        subject = replace(contract.subject, mistakes=())
        verdict = examine(subject, self.cases, contract.results(self.cases), self.answers)
        yield from verdict.diagnosis()[-1:]
        yield from verdict.failure.lines() if verdict.failure else ()


def _columns(cases: Cases) -> dict[str, Integers]:
    return {"accumulator" if name == "acc" else name: values for name, values in cases.items()}


def _box(cases: Cases, right: Mask) -> tuple[int, tuple[int, int], int, int]:
    """Return how many cases are in the box that has most, and none that is not right.

    Also its least and largest shift, and its bits of accumulator and multiplier. Of boxes with as
    many, it is the widest.
    """
    first, last = int(cases["shift"].min()), int(cases["shift"].max())
    shape = (last - first + 1, 33, 33)
    operand = np.maximum(bits(cases["acc"] ^ (cases["acc"] >> 63)) + 1, 8)  # a profile's least
    factor = np.maximum(bits(cases["multiplier"]) + 1, 2)
    flat = np.ravel_multi_index((cases["shift"] - first, operand, factor), shape)

    def counted(mask: Mask) -> Integers:
        table = np.bincount(flat[mask], minlength=shape[0] * 33 * 33).reshape(shape)
        summed = table.cumsum(0).cumsum(1).cumsum(2)
        return np.concatenate([np.zeros_like(summed[:1]), summed])

    wrong, good = counted(~right), counted(right)
    best, found = (-1, -1), (first, first, 32, 32)
    for low in range(shape[0]):
        counts = np.where(wrong[low + 1 :] == wrong[low], good[low + 1 :] - good[low], -1)
        places = np.argwhere(counts == counts.max())
        place = places[int(places.sum(axis=1).argmax())]
        if (rank := (int(counts.max()), int(place.sum()))) > best:
            best = rank
            found = (first + low, first + low + int(place[0]), int(place[1]), int(place[2]))
    return best[0], found[:2], found[2], found[3]


def profile_text(profile: Profile, same: tuple[str, ...] = ()) -> str:
    """Return a profile of a contract as the text of a ``.toml`` file, and what may be kept too."""
    table = profile.as_dict()
    whole = Profile(name="whole").as_dict()["limits"]
    limits = {name: value for name, value in table["limits"].items() if value != whole.get(name)}
    head = {name: table[name] for name in ("name", "claims", "contract") if name in table}
    lines = [f"{name} = {json.dumps(value)}" for name, value in head.items()]
    lines += ["", "[limits]", *(f"{name} = {json.dumps(value)}" for name, value in limits.items())]
    if same:
        lines.insert(0, f"# Not told apart from {', '.join(same)}.")
    return "\n".join([*lines, ""])
