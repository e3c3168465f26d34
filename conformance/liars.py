"""The mistakes of `eightfold.conformance.judge.variants` as broken RTL, and how each is named.

One module in Verilog, lying_requantizer.v, has a choice at every place where a requantizer can go
wrong, so that all mistakes of all forms, alone or several at once, are a single build per
simulator. The choices are those of the judge, by number: macros tell the module the numbers' names.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from eightfold.conformance.adapters.formulas import Formula
from eightfold.conformance.adapters.stream import StreamAdapter
from eightfold.conformance.judge.arithmetic import CHOICES, Arithmetic, reference_arithmetic
from eightfold.conformance.judge.diagnosis import UnitVerdict, judge
from eightfold.conformance.judge.forms import FORMS, Cases, cases_of
from eightfold.conformance.judge.subject import Mistake, made
from eightfold.conformance.judge.variants import mistakes_of
from eightfold.conformance.profile import PROFILES, Profile
from eightfold.conformance.units.registry import unit_cases
from eightfold.conformance.units.unit import Level
from eightfold.golden.fixed_point import Integers, wrap32

PROFILE_OF: dict[str, Profile] = {
    "tflite": PROFILES["tflite"],
    "tflite_single": PROFILES["tflite-single"],
    "tpu_mlir_8": PROFILES["tpu-mlir-8"],
    "tpu_mlir_32": PROFILES["tpu-mlir"],
}
"""The profile that claims a form, without limits."""

AT_ONCE = 1 << 18
"""Cases of one simulation: as many liars, one after the other, as have no more of them."""


class LyingRequantizer(StreamAdapter):
    """The RTL; its choices are columns of the cases, ``with_FIELD``, and so are ``bias`` and
    ``plain``."""

    sources = ("lying_requantizer.v",)
    top = "lying_requantizer"
    defines: ClassVar[Mapping[str, str | int]] = {
        f"{name}_{value}".upper(): number
        for name, values in CHOICES.items()
        for number, value in enumerate(values)
    }
    clock = None
    latency = 0
    inputs: ClassVar[Mapping[str, Formula]] = {
        "acc": "accumulator",
        "plain": "plain",
        **{name: name for name in ("bias", "multiplier", "shift", "zero_point", "low", "high")},
        **{f"with_{name}": f"with_{name}" for name in CHOICES},
    }
    outputs: ClassVar[Mapping[str, str]] = {"result": "result"}


def liar_results(
    form: str, cases: Cases, liars: Sequence[Sequence[Mistake]], simulator: str
) -> list[Integers]:
    """Return the results of broken RTL in a simulator.

    Parameters
    ----------
    form
        A name of `FORMS`.
    cases
        See `eightfold.conformance.judge.forms.Cases`.
    liars
        The mistakes that each of them makes; none: a right one.
    simulator
        ``verilator`` or ``icarus``.

    Returns
    -------
    int64 of shape (cases,), for each liar.

    Raises
    ------
    RuntimeError
        If a result is missing: an error of ours.
    """
    adapter = LyingRequantizer()
    results = []
    step = max(1, AT_ONCE // len(cases["acc"]))
    for start in range(0, len(liars), step):
        group = [_arithmetic(form, mistakes) for mistakes in liars[start : start + step]]
        columns = _columns(form, cases, group)
        answers = adapter.answer(columns, simulator=simulator)
        if answers.note or answers.extra:
            raise RuntimeError(f"{form}: {answers.note}")
        results += np.split(answers.results["result"], len(group))
    return results


def _arithmetic(form: str, mistakes: Iterable[Mistake]) -> Arithmetic:
    return made(reference_arithmetic(FORMS[form]), mistakes)


def _columns(form: str, cases: Cases, liars: Sequence[Arithmetic]) -> dict[str, Integers]:
    """Return the cases once for each liar, with its choices."""
    count = len(cases["acc"])
    given = dict(cases) | {"bias": cases.get("bias", np.zeros(count, np.int64))}
    given["accumulator"] = given.pop("acc")
    columns = {name: np.tile(values, len(liars)) for name, values in given.items()}
    columns["plain"] = np.full(count * len(liars), FORMS[form].fraction_bits == 0, np.int64)
    for name, values in CHOICES.items():
        codes = [values.index(getattr(arithmetic, name)) for arithmetic in liars]
        columns[f"with_{name}"] = np.repeat(np.array(codes, np.int64), count)
    return columns


@dataclass(frozen=True)
class Named:
    """A liar, and what the kit says of it.

    Attributes
    ----------
    form
        Whose arithmetic it claims.
    mistakes
        Names of those that it makes.
    simulator
        Where it was simulated.
    verdict
        What was said.
    """

    form: str
    mistakes: tuple[str, ...]
    simulator: str
    verdict: UnitVerdict

    @property
    def named(self) -> tuple[str, ...]:
        """The explanations that it was given, each a mistake's name, or two."""
        return tuple(explanation.name for explanation in self.verdict.explanations)

    @property
    def said(self) -> str:
        """How it is called, in a few words."""
        if self.verdict.conforms:
            # What a profile leaves out, nobody sees: its power says so.
            unseen = self.mistakes and self.mistakes[0] in self.verdict.power.unseen
            return "not to be seen in this profile" if unseen else "conforms"
        return ", ".join(self.named) or "deviates"


def liar_cases(form: str, level: Level, seed: int = 0, *, biased: bool = False) -> Cases:
    """Return the unit's cases for a form; ``biased``: with a bias that leaves the sums as they are
    where it is not saturated, so that all that can be seen of the bias is."""
    drawn = unit_cases("requantizer", PROFILE_OF[form], level, seed)
    cases = cases_of(form, drawn.inputs)
    if not biased:
        return cases
    rng = np.random.default_rng([seed, 1])
    count = len(cases["acc"])
    bias = np.where(
        rng.random(count) < 0.5,
        rng.integers(-(2**31), 2**31, count),
        rng.integers(-1000, 1000, count),
    )
    return cases | {"acc": wrap32(cases["acc"] - bias), "bias": bias}


def name_liars(
    form: str,
    simulator: str,
    level: Level = "standard",
    *,
    seed: int = 0,
    biased: bool = False,
    liars: Sequence[Sequence[Mistake]] | None = None,
) -> Iterator[Named]:
    """Simulate liars of a form and say how each is named.

    Parameters
    ----------
    form
        A name of `FORMS`.
    simulator
        ``verilator`` or ``icarus``.
    level, seed
        Of the cases.
    biased
        Whether cases have a bias.
    liars
        The mistakes of each; by default each mistake of the form alone, after a right one.
    """
    cases = liar_cases(form, level, seed, biased=biased)
    if liars is None:
        liars = [(), *((mistake,) for mistake in mistakes_of(form, biased))]
    for mistakes, results in zip(liars, liar_results(form, cases, liars, simulator), strict=True):
        names = tuple(mistake.name for mistake in mistakes)
        yield Named(form, names, simulator, judge(form, cases, results))


def every_liar(form: str, simulator: str, level: Level = "standard") -> Iterator[Named]:
    """Simulate each mistake of a form alone, after a right unit, and say how each is named.

    Those that concern a bias are judged by cases that have one.
    """
    yield from name_liars(form, simulator, level)
    without = mistakes_of(form, False)
    biased = [(each,) for each in mistakes_of(form, True) if each not in without]
    yield from name_liars(form, simulator, level, biased=True, liars=biased)
