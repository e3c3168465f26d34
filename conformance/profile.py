"""A profile: what somebody claims of an implementation, and within which limits.

What lies outside of a profile is *not claimed*: no case of it is made, and none is judged.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal, Self, get_args

from eightfold.common.errors import InputError
from eightfold.common.files import named_or_file
from eightfold.conformance.constraints import (
    Constraints,
    check_constraints,
    constraints_of,
    constraints_text,
)
from eightfold.conformance.judge.variants import mistakes_of
from eightfold.golden.quantization import Reference
from eightfold.operators import SPEC_ROWS

Spec = Literal["tflite", "tpu-mlir"]
Roundings = Literal["double", "single"]
Operands = Literal["any", "constant"]
Types = Literal["any", "int8"]
Unit = Literal["requantizer", "dot", "tables", "fake_quantize", "sequence"]

UNITS: tuple[Unit, ...] = get_args(Unit)
"""Parts of an implementation that are judged alone."""

FORMS = (
    *("convolution", "inner_product", "add_symmetric", "add_asymmetric"),
    *("avg_pool", "leaky_relu", "prelu", "pad"),
)
"""TPU-MLIR's forms, which are judged alone too; the requantizer, with 8 and 32 bits, is another."""

EVERY_UNIT = (*UNITS, *FORMS)
"""What is judged alone, of all specs."""

OPERATORS: tuple[str, ...] = tuple(row.name for row in SPEC_ROWS)
"""Operators that are judged: rows of the TFLite spec, in its order."""

Unlimited = Literal["any"]

NETWORKS = "networks"
"""The claim that operators work together, beside the names of units and operators."""

CLAIMS: dict[Spec, tuple[str, ...]] = {
    "tflite": (*UNITS, *OPERATORS, NETWORKS),
    "tpu-mlir": ("requantizer", "fake_quantize", *FORMS),
}
"""What can be claimed of each spec."""

Aspect = Literal["beyond-spec", "strictness"]
"""What is no part of conformance, and asked by name: ``CONV_2D.strictness``. What kernels do with
models and arguments beyond the spec, also where C++ leaves it undefined; and whether they refuse
models that LiteRT refuses."""

ASPECTS: tuple[Aspect, ...] = get_args(Aspect)


def parted(claim: str) -> tuple[str, str]:
    """Return a claim's name and its aspect, ``""`` without one."""
    name, _, aspect = claim.partition(".")
    return name, aspect


SHIFTS: dict[Spec, tuple[int, int]] = {"tflite": (-31, 30), "tpu-mlir": (0, 62)}
"""All shifts of each spec, in its own sense: TFLite's positive ones are left shifts, TPU-MLIR's
``rshift`` is a right shift."""

ROUNDINGS: dict[Spec, Roundings] = {"tflite": "double", "tpu-mlir": "single"}
"""How often each spec rounds a requantization."""

MULTIPLIER_BITS: dict[Spec, tuple[int, ...]] = {"tflite": tuple(range(2, 33)), "tpu-mlir": (8, 32)}
"""Sizes that a multiplier can have: signed, so one bit is the sign."""


@dataclass(frozen=True, kw_only=True)
class ProfileLimits:
    """What an implementation is limited to; the whole spec without any.

    Raises InputError if a value has the wrong type or is out of range; the message names the field.
    """

    shift: Unlimited | tuple[int, int] = "any"
    """Least and largest shift, in the spec's own sense: see `SHIFTS`."""

    accumulator_bits: int = 32
    """Bits of a signed accumulator, 8 to 32: -2^(bits - 1) to 2^(bits - 1) - 1."""

    multiplier_bits: int = 32
    """Bits of a signed multiplier, 2 to 32, TPU-MLIR 8 or 32; it is never negative."""

    multipliers: Literal["converter", "any"] | tuple[int, int] = "converter"
    """``converter``: 0, and those whose highest bit is 1, as TFLite's converter makes them; of
    TPU-MLIR all. ``any``: all that are not negative. A pair: the least and the largest."""

    zero_points: Unlimited | tuple[int, ...] = "any"
    """Zero points of activations, each in -128..127."""

    clamp: Unlimited | Literal["relu"] | tuple[tuple[int, int], ...] = "any"
    """Pairs (low, high) of int8 between which results are clamped. ``relu``: (-128, 127), and from
    the output's zero point, whatever it is, to 127."""

    hold: int = 1
    """Cases in a row, 1 to 4096, over which the parameters of a requantizer or a dot product hold:
    of what several lanes share, or registers that are set before a run of accumulators."""

    rounding: Roundings | None = None
    """``double``: TFLite's two roundings. ``single``: one. None: the spec's own, which is double
    for TFLite, single for TPU-MLIR."""

    ranks: Unlimited | tuple[int, ...] = "any"
    """Ranks of activations in models, each in 0..8."""

    operands: Operands = "any"
    """``constant``: what says how to move or reduce - axes, shapes, sizes, paddings - is a constant
    of a model, and never one of its inputs."""

    types: Types = "any"
    """``int8``: no activation is float32, as those before a QUANTIZE at the edge of a network."""

    def __post_init__(self) -> None:
        if self.shift != "any":
            _check_pair("shift", self.shift, -62, 62)
        _check_integer("accumulator_bits", self.accumulator_bits, 8, 32)
        _check_integer("multiplier_bits", self.multiplier_bits, 2, 32)
        if self.multipliers not in ("converter", "any"):
            _check_pair("multipliers", self.multipliers, 0, (1 << (self.multiplier_bits - 1)) - 1)
            if self.multipliers == (0, 0):
                raise InputError("multipliers: 0 alone is no range; the largest is 1 at least")
        _check_integer("hold", self.hold, 1, 4096)
        _check_integers("zero_points", self.zero_points, -128, 127)
        _check_integers("ranks", self.ranks, 0, 8)
        _check_choice("operands", self.operands, get_args(Operands))
        _check_choice("types", self.types, get_args(Types))
        if self.clamp not in ("any", "relu"):
            _check_list("clamp", self.clamp, "pairs [low, high]")
            for pair in self.clamp:
                _check_pair("clamp", pair, -128, 127)
        if self.rounding is not None:
            _check_choice("rounding", self.rounding, get_args(Roundings))


@dataclass(frozen=True, kw_only=True)
class Waiver:
    """A place where something is meant to differ from the spec."""

    rule: str
    """What is done there: a name of `eightfold.conformance.judge.variants.MISTAKES`."""

    reason: str = ""
    """Why it is meant; nothing where a contract is stated by its name alone."""


@dataclass(frozen=True, kw_only=True)
class Profile:
    """What is claimed: which spec, which parts of it, within which limits.

    Raises InputError if a value is out of range or contradicts another; the message names the
    field.
    """

    name: str
    """The implementation's name, as its owner calls it."""

    spec: Spec = "tflite"
    """Whose quantization."""

    reference: Reference = "litert"
    """Whose kernels, where those of TFLite differ; it means nothing for TPU-MLIR."""

    claims: tuple[str, ...] = ()
    """Units and operators of `CLAIMS`; all of the spec's, if none is given."""

    limits: ProfileLimits = field(default_factory=ProfileLimits)

    contract: tuple[Waiver, ...] = ()
    """What a requantizer keeps in place of the spec: the spec but for these, all at once."""

    operators: Mapping[str, Constraints] = field(default_factory=dict)
    """By operator, or ``all``, its features and what they are limited to: see
    `eightfold.conformance.constraints.FEATURES`."""

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name.strip() or not self.name.isprintable():
            raise InputError(f"name must be a text of one line, not {self.name!r}")
        _check_choice("spec", self.spec, get_args(Spec))
        _check_choice("reference", self.reference, get_args(Reference))
        known = ("requantizer",) if self.contract else CLAIMS[self.spec]
        if self.claims == ():
            object.__setattr__(self, "claims", known)
        _check_list("claims", self.claims, "names")
        if twice := [each for each in known if self.claims.count(each) > 1]:
            raise InputError(f"claims: {', '.join(twice)} stands there twice; state it once")
        for claim in self.claims:
            if claim not in known:
                what = " with a contract" * bool(self.contract)
                raise InputError(
                    f"claims: no unit or operator {claim!r}{what}; use {', '.join(known)}"
                )
        if self.spec == "tpu-mlir" and self.limits.rounding == "double":
            raise InputError('rounding: TPU-MLIR rounds once; two roundings are spec = "tflite"')
        if self.limits.multiplier_bits not in MULTIPLIER_BITS[self.spec]:
            raise InputError(
                f"multiplier_bits must be 8 or 32 of TPU-MLIR, not {self.limits.multiplier_bits}"
            )
        check_constraints(self.operators, self.claims)
        low, high = SHIFTS[self.spec]
        if self.limits.shift != "any":
            _check_pair("shift", self.limits.shift, low, high)
        _check_contract(self.form, self.contract)

    @property
    def form(self) -> str:
        """The form of requantization, a name of `eightfold.conformance.judge.forms.FORMS`."""
        if self.spec == "tpu-mlir":
            return f"tpu_mlir_{self.limits.multiplier_bits}"
        return "tflite" if self.rounding == "double" else "tflite_single"

    @property
    def contract_text(self) -> str:
        """The contract's name: those of its rules; nothing where the spec itself is kept."""
        return JOIN.join(each.rule for each in self.contract)

    @property
    def rounding(self) -> Roundings:
        """How often a requantization rounds."""
        return self.limits.rounding or ROUNDINGS[self.spec]

    @property
    def multipliers(self) -> tuple[int, int]:
        """Least and largest multiplier that is claimed; of a converter's 0 comes beside."""
        limits, bits = self.limits, self.limits.multiplier_bits
        if isinstance(limits.multipliers, tuple):
            return limits.multipliers
        normal = limits.multipliers == "converter" and self.spec == "tflite"
        return 1 << (bits - 2) if normal else 0, (1 << (bits - 1)) - 1

    @property
    def shifts(self) -> tuple[int, int]:
        """Least and largest shift that is claimed, in the spec's own sense."""
        return SHIFTS[self.spec] if self.limits.shift == "any" else self.limits.shift

    @property
    def limits_text(self) -> str:
        """The limits in words; nothing where the whole spec is claimed."""
        whole = {"shift": SHIFTS[self.spec], "rounding": ROUNDINGS[self.spec]}
        stated = [(each, getattr(self.limits, each.name)) for each in fields(ProfileLimits)]
        limits = ", ".join(
            f"{each.name} {_plain(value)}"
            for each, value in stated
            if value not in (each.default, whole.get(each.name))
        )
        return "; ".join(filter(None, (limits, constraints_text(self.operators))))

    def constraints(self, operator: str) -> Constraints:
        """Return what an operator's features are limited to."""
        return constraints_of(operator, self.operators)

    def with_aspects(self, claims: Sequence[str], aspects: Sequence[str]) -> list[str]:
        """Return claims, then each aspect of `ASPECTS` that is asked, of those that have it. Raises
        InputError if none of the claims has an aspect."""
        found = list(claims)
        for aspect in (each for each in ASPECTS if each in aspects):
            own = [f"{claim}.{aspect}" for claim in claims if self._has(claim, aspect)]
            if not own:
                raise InputError(f"--{aspect}: {', '.join(claims)} has no such cases; leave it out")
            found += own
        return found

    def _has(self, claim: str, aspect: str) -> bool:
        """Return whether an aspect can have cases: nobody asks Micro to refuse what LiteRT does."""
        if claim in UNITS:
            known = self.spec == "tflite" and claim in ("requantizer", "dot")
            return known and aspect == "beyond-spec"
        return claim in OPERATORS and (aspect == "beyond-spec" or self.reference == "litert")

    def as_dict(self) -> dict[str, Any]:
        """Return the fields by name, as a ``.toml`` file would state them; no None."""
        table = asdict(self)
        waivers = table.pop("contract")
        if waivers:
            reasons = any(each.reason for each in self.contract)
            table["contract"] = waivers if reasons else self.contract_text
        return table | {"limits": {k: v for k, v in table["limits"].items() if v is not None}}

    def replace(self, **changes: Any) -> Self:
        """Return a copy with some fields changed, validated like a new one."""
        return replace(self, **changes)

    @classmethod
    def from_dict(cls, table: Mapping[str, Any]) -> "Profile":
        """Return the profile of `as_dict`, or of a parsed ``.toml`` or ``.json`` file. Raises
        InputError if a field is unknown, missing, or wrong."""
        _check_fields(cls, table)
        if "name" not in table:
            raise InputError("name is missing")
        if table.get("claims", ...) in ([], ()):
            raise InputError("claims is empty; name some, or leave it out to claim all")
        limits = table.get("limits", {})
        if not isinstance(limits, Mapping):
            raise InputError(f"limits must be a table, not {limits!r}")
        _check_fields(ProfileLimits, limits)
        values: dict[str, Any] = {name: _tuples(value) for name, value in table.items()}
        values["contract"] = _waivers(table.get("contract", ()))
        inner = {name: _tuples(value) for name, value in limits.items()}
        values["limits"] = ProfileLimits(**inner)
        return cls(**values)

    @classmethod
    def load(cls, source: "str | Path | Profile") -> "Profile":
        """Return a profile of `PROFILES` by its name, or the one in a ``.toml`` file. Raises
        InputError if there is no such profile or file, or the file is not valid."""
        if isinstance(source, Profile):
            return source
        return named_or_file("profile", "profile", source, PROFILES, cls.from_dict)


JOIN = " and "
"""Between the rules of a contract in its name."""


def _waivers(stated: object) -> tuple[Waiver, ...]:
    """Return a contract as a file states it: by its name, or as a list of tables."""
    if isinstance(stated, str):
        return tuple(Waiver(rule=rule) for rule in stated.split(JOIN))
    if not isinstance(stated, list | tuple) or not all(isinstance(e, Mapping) for e in stated):
        raise InputError(f"contract must be a name, or tables of rule and reason, not {stated!r}")
    for each in stated:
        _check_fields(Waiver, each)
        for name in ("rule", "reason"):
            if not isinstance(each.get(name), str) or not each[name].strip():
                raise InputError(f"contract: each table needs a {name}, a text of its own: {each}")
    return tuple(Waiver(**each) for each in stated)


def _check_contract(form: str, contract: tuple[Waiver, ...]) -> None:
    """Raise `InputError` unless the rules are the form's, and can be kept at once."""
    rules = {each.name: each for each in mistakes_of(form)}
    changed: dict[str, str] = {}
    for waiver in contract:
        if waiver.rule not in rules:
            near = get_close_matches(waiver.rule, rules, 3) or ["docs/contracts.md has all"]
            raise InputError(f"contract: {form} has no rule {waiver.rule!r}; {', '.join(near)}")
        for choice in rules[waiver.rule].changes:
            if choice in changed:
                raise InputError(
                    f"contract: {changed[choice]} and {waiver.rule} say two things of one place, "
                    f"{choice}; state one of them"
                )
            changed[choice] = waiver.rule


def _plain(value: object) -> str:
    """Return a limit as a text; tuples as lists, as a file has them."""
    return f"[{', '.join(map(_plain, value))}]" if isinstance(value, tuple) else str(value)


def _tuples(value: Any) -> Any:
    """Return lists as tuples, also within."""
    if isinstance(value, Mapping):
        return {name: _tuples(item) for name, item in value.items()}
    return tuple(_tuples(item) for item in value) if isinstance(value, list | tuple) else value


def _check_fields(kind: type, table: Mapping[str, Any]) -> None:
    known = [each.name for each in fields(kind)]
    if unknown := sorted(set(table) - set(known)):
        raise InputError(f"unknown field {', '.join(unknown)}; known: {', '.join(known)}")


def _check_choice(name: str, value: object, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise InputError(f"{name} must be one of {', '.join(choices)}, not {value!r}")


def _check_integer(name: str, value: object, low: int, high: int) -> None:
    if type(value) is not int or not low <= value <= high:
        raise InputError(f"{name} must be an integer in {low}..{high}, not {value!r}")


def _check_list(name: str, value: object, of: str) -> None:
    if not isinstance(value, tuple) or not value:
        raise InputError(f"{name} must be a list of {of}, not {value!r}")


def _check_integers(name: str, value: object, low: int, high: int) -> None:
    if value == "any":
        return
    _check_list(name, value, 'integers, or "any"')
    assert isinstance(value, tuple)
    for item in value:
        _check_integer(name, item, low, high)


def _check_pair(name: str, value: object, low: int, high: int) -> None:
    if not isinstance(value, tuple) or len(value) != 2:
        raise InputError(f"{name} must be a pair [low, high], not {value!r}")
    for item in value:
        _check_integer(name, item, low, high)
    if value[0] > value[1]:
        raise InputError(f"{name}: {value[0]} is above {value[1]}")


NPU_3X3 = (
    *("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "AVERAGE_POOL_2D", "MAX_POOL_2D"),
    *("ADD", "RESHAPE", "SOFTMAX"),
)
"""What the layers of small image classifiers need, for a core with windows up to 3x3."""

ETHOS_U_LIKE = (
    *("ADD", "AVERAGE_POOL_2D", "CONCATENATION", "CONV_2D", "DEPTHWISE_CONV_2D"),
    *("FULLY_CONNECTED", "LOGISTIC", "MAX_POOL_2D", "MAXIMUM", "MEAN", "MINIMUM", "MUL", "PAD"),
    *("QUANTIZE", "RESHAPE", "SLICE", "SOFTMAX", "SQUEEZE", "SUB", "TANH", "TRANSPOSE"),
)
"""What a small NPU of the kind of Arm's Ethos-U computes by itself, batch 1, no groups."""

PROFILES: dict[str, Profile] = {
    profile.name: profile
    for profile in (
        Profile(name="tflite"),
        Profile(name="tflite-single", limits=ProfileLimits(rounding="single")),
        Profile(name="tflm", reference="tflm"),
        Profile(
            name="eightfold",
            claims=(*OPERATORS, NETWORKS),
            limits=ProfileLimits(operands="constant", types="int8"),
        ),
        Profile(
            name="npu-3x3",
            claims=NPU_3X3,
            limits=ProfileLimits(operands="constant", types="int8", ranks=(2, 4)),
            operators={
                "all": {"batch": 1},
                "CONV_2D": {"kernel": (1, 2, 3), "stride": (1, 2), "dilation": 1, "groups": 1},
                "DEPTHWISE_CONV_2D": {"kernel": 3, "stride": (1, 2), "dilation": 1},
                "AVERAGE_POOL_2D": {"kernel": (1, 2, 3), "stride": (1, 2)},
                "MAX_POOL_2D": {"kernel": (1, 2, 3), "stride": (1, 2)},
            },
        ),
        Profile(
            name="ethos-u-like",
            claims=ETHOS_U_LIKE,
            limits=ProfileLimits(operands="constant", types="int8", ranks=(1, 2, 3, 4)),
            operators={
                "all": {"batch": 1, "stride": {"from": 1, "to": 3}},
                "CONV_2D": {"kernel": {"from": 1, "to": 64}, "dilation": (1, 2), "groups": 1},
                "DEPTHWISE_CONV_2D": {"kernel": {"from": 1, "to": 64}, "dilation": (1, 2)},
                "AVERAGE_POOL_2D": {"kernel": {"from": 1, "to": 8}},
                "MAX_POOL_2D": {"kernel": {"from": 1, "to": 256}},
            },
        ),
        Profile(
            name="requantizer-right-shift",
            claims=("requantizer",),
            limits=ProfileLimits(shift=(-31, 0)),
        ),
        Profile(name="tpu-mlir", spec="tpu-mlir"),
        Profile(name="tpu-mlir-8", spec="tpu-mlir", limits=ProfileLimits(multiplier_bits=8)),
    )
}
"""Whole specs, by name."""
