"""The mistakes that have a name as broken RTL, and how each is named.

Faults of control (`ControlLiar`) are modules behind valid and ready. Of the arithmetic one module
in Verilog, lying_requantizer.v, has a choice at every place where a requantizer can go wrong, so
that all mistakes of all forms, alone or several at once, are a single build per simulator. The
choices are those of the judge, by number: macros tell the module the numbers' names.
"""

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from eightfold.conformance.adapters.formulas import Formula
from eightfold.conformance.adapters.stream import StreamAdapter
from eightfold.conformance.judge import tpu_mlir
from eightfold.conformance.judge.arithmetic import CHOICES, reference_arithmetic
from eightfold.conformance.judge.diagnosis import UnitVerdict, judge
from eightfold.conformance.judge.forms import FORMS, Cases, cases_of
from eightfold.conformance.judge.subject import Mistake, made, scales
from eightfold.conformance.judge.tables import ORDERED, table_results
from eightfold.conformance.judge.units import judge_unit
from eightfold.conformance.judge.variants import mistakes_of
from eightfold.conformance.profile import PROFILES, Profile
from eightfold.conformance.suite import ask
from eightfold.conformance.units.registry import unit_cases
from eightfold.conformance.units.requantize import concatenate
from eightfold.conformance.units.tpu_mlir import TAPS
from eightfold.conformance.units.unit import Level
from eightfold.conformance.verdict import ClaimFinding
from eightfold.golden.fixed_point import Integers, wrap32
from eightfold.golden.rounding import ROUNDINGS

PROFILE_OF: dict[str, Profile] = {
    "tflite": PROFILES["tflite"],
    "tflite_single": PROFILES["tflite-single"],
    "tpu_mlir_8": PROFILES["tpu-mlir-8"],
    "tpu_mlir_32": PROFILES["tpu-mlir"],
}
"""The profile that claims a form, without limits."""

FILL_BITS = 40
"""Of a fraction of lying_form.v's ``fill``: of a float32 from 2^-16 on all bits."""

AT_ONCE = 1 << 18
"""Cases of one simulation: as many liars, one after the other, as have no more of them."""


def numbered(choices: Mapping[str, Sequence[str | int]]) -> dict[str, str | int]:
    """Return macros ``PLACE_CHOICE``: the number of what can be at each place."""
    return {
        f"{name}_{value}".upper(): number
        for name, values in choices.items()
        for number, value in enumerate(values)
    }


class LyingRequantizer(StreamAdapter):
    """The RTL; its choices are columns of the cases, ``with_FIELD``, and so are ``bias`` and
    ``plain``."""

    sources = ("lying_requantizer.v",)
    top = "lying_requantizer"
    defines: ClassVar[Mapping[str, str | int]] = numbered(CHOICES)
    clock = None
    latency = 0
    inputs: ClassVar[Mapping[str, Formula]] = {
        "acc": "accumulator",
        "plain": "plain",
        "first_nudges": 0,
        "second_nudges": 0,
        **{name: name for name in ("bias", "multiplier", "shift", "zero_point", "low", "high")},
        **{f"with_{name}": f"with_{name}" for name in CHOICES},
    }
    outputs: ClassVar[Mapping[str, str]] = {"result": "result"}


def liar_results(
    form: str, cases: Cases, liars: Sequence[Sequence[Mistake]], simulator: str
) -> list[Integers]:
    """Return the results of broken RTL in a simulator: int64 of shape (cases,), for each liar.

    ``liars``: the mistakes that each of them makes; none: a right one. Raises RuntimeError if
    a result is missing: an error of ours.
    """
    reference = reference_arithmetic(FORMS[form])
    count = len(cases["acc"])
    given = dict(cases) | {"bias": cases.get("bias", np.zeros(count, np.int64))}
    given["accumulator"] = given.pop("acc")
    given["plain"] = np.full(count, FORMS[form].fraction_bits == 0, np.int64)
    arithmetics = [made(reference, mistakes) for mistakes in liars]
    return _simulated(LyingRequantizer(), given, CHOICES, arithmetics, simulator)


def _simulated(
    adapter: StreamAdapter,
    cases: Cases,
    choices: Mapping[str, Sequence[str | int]],
    liars: Sequence[Any],
    simulator: str,
) -> list[Integers]:
    """Return results of each liar: the cases once for each, with its choices as columns."""
    count = len(next(iter(cases.values())))
    step = max(1, AT_ONCE // count)
    results: list[Integers] = []
    for start in range(0, len(liars), step):
        group = liars[start : start + step]
        columns = {name: np.concatenate([values] * len(group)) for name, values in cases.items()}
        for name, values in choices.items():
            codes = [values.index(getattr(arithmetic, name)) for arithmetic in group]
            columns[f"with_{name}"] = np.repeat(np.array(codes, np.int64), count)
        answers = adapter.answer(columns, simulator=simulator)
        if answers.note or answers.extra:
            raise RuntimeError(f"{adapter.top}: {answers.note}")
        results += np.split(answers.results["result"], len(group))
    return results


FORM_UNITS = ("convolution", "inner_product", "add_symmetric", "leaky_relu", "prelu", "pad")
"""TPU-MLIR's forms that lying_form.v has, by number. AvgPool and the asymmetric Add are float32."""


def _form_choices() -> dict[str, tuple[str, ...]]:
    """Return what can be at each place of these: the reference's, and what mistakes make of it."""
    found: dict[str, tuple[str, ...]] = {"rounding": ROUNDINGS}
    for mistake in (each for unit in FORM_UNITS for each in tpu_mlir.mistakes(unit)):
        for name, value in mistake.changes.items():
            values = found.get(name, (getattr(tpu_mlir.FormArithmetic(), name),))
            found[name] = tuple(dict.fromkeys((*values, str(value))))
    return found


FORM_CHOICES = _form_choices()
"""Places of a form's arithmetic, and what can be there, by number."""


class LyingForm(StreamAdapter):
    """TPU-MLIR's forms in integers; ``form`` and choices are columns of the cases.

    Cases have the columns of all forms, 0 where theirs has none.
    """

    unit = "convolution"
    sources = ("lying_form.v",)
    top = "lying_form"
    defines: ClassVar[Mapping[str, str | int]] = numbered({**FORM_CHOICES, "form": FORM_UNITS})
    clock = None
    latency = 0
    inputs: ClassVar[Mapping[str, Formula]] = {
        name: name
        for name in (
            *("form", "fill", *(f"with_{name}" for name in FORM_CHOICES)),
            *("uint8", "x", "y", "inputs", "input_zero_point", "zero_point", "weights", "alpha"),
            *("bias", "factor", "multiplier", "other_multiplier", "rshift"),
        )
    } | {"in_image": "inside"}
    outputs: ClassVar[Mapping[str, str]] = {"result": "result"}


def form_results(
    unit: str, cases: Cases, liars: Sequence[Sequence[Mistake]], simulator: str
) -> list[Integers]:
    """Return the results of broken RTL of a form of `FORM_UNITS`; see `liar_results`."""
    count = len(cases["uint8"])
    lists = {"inputs", "weights"}
    given: dict[str, Integers] = {
        name: np.zeros((count, TAPS) if name in lists else count, np.int64)
        for name in LyingForm.inputs
        if not name.startswith("with_")
    }
    given |= {"inside": np.full(count, (1 << TAPS) - 1), **cases}
    given["form"] += FORM_UNITS.index(unit)
    if unit == "pad":
        fill = scales(cases["value"]) / scales(cases["scale"])
        units = np.ldexp(fill.astype(np.float64), FILL_BITS)
        whole = np.trunc(units).astype(np.int64)
        given["fill"] = whole | (units != whole)  # what is below the last bit is no tie
    reference = tpu_mlir.FormArithmetic(rounding="half_away" if unit == "pad" else "half_up")
    arithmetics = [made(reference, mistakes) for mistakes in liars]
    return _simulated(LyingForm(), given, FORM_CHOICES, arithmetics, simulator)


@dataclass(frozen=True)
class Named:
    """A liar, and what the kit says of it."""

    form: str
    """Whose arithmetic it claims."""
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
    """Return the unit's cases for a form, also beyond the spec, where int32 wraps.

    ``biased``: with a bias that leaves the sums as they are where it is not saturated, so that all
    that can be seen of the bias is.
    """
    profile = PROFILE_OF[form]
    units = ["requantizer", *["requantizer.beyond-spec"] * (profile.spec == "tflite")]
    drawn = [cases_of(form, unit_cases(unit, profile, level, seed).inputs) for unit in units]
    cases = concatenate(drawn)
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
    biased: bool = False,
    liars: Sequence[Sequence[Mistake]] | None = None,
) -> Iterator[Named]:
    """Simulate liars of a form and say how each is named.

    ``biased``: whether cases have a bias. ``liars``: the mistakes of each; by default each mistake
    of the form alone, after a right one.
    """
    cases = liar_cases(form, level, biased=biased)
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


STREAM_FAULTS = (
    *("right", "answer_repeated", "answer_lost", "answer_doubled", "valid_dropped"),
    *("parameters_before", "channel_before", "nudge_per_stall", "addend_per_stall", "sticky_flag"),
)
"""What lying_stream.v does, by number; ``addend_per_stall`` is the second rounding's nudge."""

SEQUENCE_FAULTS = (
    *("right", "accumulator_not_cleared", "bias_per_tile", "tiles_one_less", "tiles_one_more"),
    *("clear_late", "first_tile_missing", "bias_per_stall"),
)
"""What lying_sequence.v does, by number."""

TABLE_FAULTS = ("right", *(name for name, _ in ORDERED))
"""What lying_table.v does, by number."""


class ControlLiar(StreamAdapter):
    """What liars behind valid and ready have in common; the fault's number is in a file."""

    reset = "rst"
    in_valid, in_ready, out_valid, out_ready = "in_valid", "in_ready", "out_valid", "out_ready"
    patience = 1000
    faults: ClassVar[tuple[str, ...]] = ()

    def __init__(self, folder: Path, fault: str) -> None:
        file = folder / "fault.hex"
        file.write_text(f"{self.faults.index(fault):x}\n")
        self.files = [file]


class LyingStream(ControlLiar):
    """A requantizer that computes right, with a fault of `STREAM_FAULTS`."""

    faults = STREAM_FAULTS
    sources = ("lying_stream.v", "lying_requantizer.v")
    top = "lying_stream"
    defines: ClassVar[Mapping[str, str | int]] = numbered({**CHOICES, "fault": STREAM_FAULTS})
    inputs: ClassVar[Mapping[str, Formula]] = {
        "in_data[31:0]": "accumulator",
        "in_data[63:32]": "multiplier",
        "in_data[71:64]": "shift",
        "in_data[79:72]": "zero_point",
        "in_data[87:80]": "low",
        "in_data[95:88]": "high",
    }
    outputs: ClassVar[Mapping[str, str]] = {"result": "result"}


class LyingSequence(ControlLiar):
    """A processing element with a fault of `SEQUENCE_FAULTS`."""

    unit = "sequence"
    faults = SEQUENCE_FAULTS
    sources = ("lying_sequence.v",)
    top = "lying_sequence"
    defines: ClassVar[Mapping[str, str | int]] = numbered({"fault": SEQUENCE_FAULTS})
    inputs: ClassVar[Mapping[str, Formula]] = {
        **{name: name for name in ("clear", "last", "tiles", "bias", "inputs", "weights")},
        "zero_point": "input_zero_point",
    }
    outputs: ClassVar[Mapping[str, str]] = {"result": "result"}


class LyingTable(ControlLiar):
    """A table that a driver fills with the reference's results; with a fault of `TABLE_FAULTS`."""

    unit = "tables"
    faults = TABLE_FAULTS
    sources = ("lying_table.v",)
    top = "lying_table"
    defines: ClassVar[Mapping[str, str | int]] = numbered({"fault": TABLE_FAULTS})
    inputs: ClassVar[Mapping[str, Formula]] = {"entries": table_results}
    outputs: ClassVar[Mapping[str, str]] = {"result": "results"}


CONTROL_LIARS: dict[str, type[ControlLiar]] = {
    **dict.fromkeys(TABLE_FAULTS[1:], LyingTable),
    **dict.fromkeys(SEQUENCE_FAULTS[1:], LyingSequence),
    **dict.fromkeys(STREAM_FAULTS[1:], LyingStream),
}
"""Every fault of control, and of a table's addresses, and the module that makes it."""


def control_finding(
    kind: type[ControlLiar], fault: str, simulator: str, seed: int = 0
) -> ClaimFinding:
    """Return what the kit says of a module with a fault of control, or ``right``."""
    profile = PROFILES["tflite"]
    cases = unit_cases(kind.unit, profile, "smoke", seed)
    # Four channels at once leave no rest.
    cases = cases.take(np.arange(len(cases) // 4 * 4))
    with tempfile.TemporaryDirectory(prefix="eightfold-liar-") as folder:
        liar = kind(Path(folder), fault)
        answers = ask(liar, cases.inputs, cases.results, simulator, seed)
    return judge_unit(kind.unit, profile, cases, answers)
