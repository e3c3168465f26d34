"""Which rules of the spec a mistake breaks, and which cases and mistakes show a rule.

The rules are those of `eightfold.operators.spec`. A new mistake breaks the results of its row
without being named here, and of a unit `DEFAULTS`; if it breaks something more special, its name is
one more pattern in `BROKEN`.
"""

from collections.abc import Iterable
from dataclasses import asdict
from fnmatch import fnmatchcase
from functools import cache
from typing import Any

from eightfold.conformance.judge.contracts import requantizer
from eightfold.conformance.judge.dot import DOT
from eightfold.conformance.judge.models.mistakes import operator_mistakes
from eightfold.conformance.profile import NETWORKS, OPERATORS, PROFILES
from eightfold.conformance.units.tables import OPERATORS as TABLES
from eightfold.conformance.vectors.models import MODELS, model_cases
from eightfold.model import Graph
from eightfold.operators import load_model, spec

_BOTH = ("zero_points_ignored", "operand_zero_points_swapped", "codes_compared*", "scales_ignored")

BROKEN: dict[str, tuple[str, ...]] = {
    "Input 0": (
        *(*_BOTH, "operands_rounded", "input_zero_point_*", "first_zero_point_ignored"),
        *("zero_points_swapped", "padding_0", "unsigned", "read_as_uint8", "table_index_offset"),
        *("codes_symmetric", "operand_unsigned"),
    ),
    "Input 1": (
        *(*_BOTH, "operands_rounded", "second_zero_point_ignored", "weights_unsigned"),
        *("first_scale_for_all", "largest_scale_for_all", "scales_one_channel_late"),
    ),
    "Input 1 restriction": ("weight_zero_point_*",),
    "Input 2": ("bias_missing", "bias_saturates", "accumulator_*"),
    "Input 2 restriction": ("bias_after",),
    "Output 0": (
        *("clamp_*", "relu_*", "zero_point_*", "zero_points_swapped", "output_zero_point_*"),
        *("scaled_8", "codes_symmetric", "symmetric", "wraps"),
    ),
    "Output 0 restriction": ("output_zero_point_*", "one_step_less", "output_scale_*"),
    "restriction": ("rescaled", "output_scale_other"),
    "TFL8-GENERAL-2": (
        "input_zero_point_*",
        "zero_points_*",
        "zero_point_missing",
        "zero_point_subtracted",
    ),
    "TFL8-GENERAL-3": ("weight_offset", "weight_magnitude", "weight_symmetric"),
    "TFL8-GENERAL-4": ("clamp_*", "relu_*", "scaled_8", "input_[oms]*"),
    "TFL8-GENERAL-5": ("zero_point_before_shift", "zero_point_saturates", "input_difference_*"),
    "TFL8-GENERAL-6": ("*unsigned",),
    "TFL8-GENERAL-11": ("weight_zero_point_*", "weight_difference_*"),
}
"""By the place in an operator's row, or for units by the identity of a general rule: patterns of
the mistakes that break it."""

DEFAULTS = {
    **dict.fromkeys(("dot", "sequence"), "TFL8-GENERAL-12"),
    **dict.fromkeys(("requantizer", "tables", NETWORKS), spec.EXACT.identity),
}
"""What mistakes that are in no pattern break, where there is no row."""

UNSHOWN = {
    **dict.fromkeys(
        (f"TFL8-GENERAL-{number}" for number in (7, 9, 10, 13)),
        "It is about files: whoever computes only models that keep it cannot show it.",
    ),
    "TFL8-GENERAL-8": "No unit has scales per axis; TFL8-CONV_2D-2 has the mistakes.",
    "TFL8-SHAPE-1": "SHAPE gives sizes: no result depends on a code.",
}
"""Why no mistake breaks a rule."""


def broken(claim: str, mistakes: Iterable[str] = ()) -> tuple[str, ...]:
    """Return the identities of the rules that a claim which deviates breaks.

    ``mistakes`` as `eightfold.conformance.verdict.ClaimFinding` names them; without any it breaks
    the results, or `DEFAULTS`. FakeQuantize has no rule in this spec.
    """
    names = [each for name in mistakes for each in name.split(" and ")] or [""]
    return tuple(dict.fromkeys(each for name in names for each in _broken_by(claim, name)))


def _broken_by(claim: str, name: str) -> list[str]:
    if claim == NETWORKS and name:
        claim, _, name = name.partition(" ")
    elif claim == "tables" and name:  # of QUANTIZE mistakes of requantizers are without its name
        prefix = name.partition("_")[0].upper()
        claim = prefix if prefix in TABLES else "QUANTIZE"
        name = name.removeprefix(f"{prefix.lower()}_" * (prefix in TABLES))
    keys = [key for key, patterns in BROKEN.items() if any(fnmatchcase(name, p) for p in patterns)]
    if claim in OPERATORS:
        found = [rule for key in keys if (rule := spec.rule_at(claim, key))]
        return [rule.identity for rule in found or [spec.rule_at(claim, spec.RESULTS)] if rule]
    general = [key for key in keys if key in spec.RULES]
    return general or [DEFAULTS[claim]] if claim in DEFAULTS else []


def mistakes_of_rule(rule: spec.SpecRule) -> list[str]:
    """Return the mistakes that break a rule; all of an operator break its results."""
    if rule.operator in OPERATORS:
        claims = {rule.operator: operator_mistakes(rule.operator)}
    else:
        claims = {"requantizer": requantizer("tflite").mistakes, "dot": DOT.mistakes}
    return [
        f"{claim} {each.name}"
        for claim, mistakes in claims.items()
        for each in mistakes
        if rule.place == spec.RESULTS or rule.identity in _broken_by(claim, each.name)
    ]


@cache
def _drawn(operator: str) -> list[Graph]:
    cases = model_cases(operator, PROFILES["tflite"], count=MODELS["smoke"])
    return [load_model(case.model) for case in cases]


def cases_of_rule(rule: spec.SpecRule) -> list[str]:
    """Return the cases that show a rule: of an operator its models of level smoke, by folder.

    Of a general rule ``units``, or ``operators`` if all models keep it and none can show it.
    """
    if rule.operator not in OPERATORS:
        return ["operators" if rule.identity in UNSHOWN else "units"]
    return [
        f"{rule.operator}/{number:04}"
        for number, graph in enumerate(_drawn(rule.operator))
        if _has(graph, rule.place)
    ]


def _has(graph: Graph, place: str) -> bool:
    (operator,) = graph.operators
    side, _, position = place.removesuffix(f" {spec.RESTRICTION}").partition(" ")
    if not position:
        return True
    indices = operator.inputs if side == "Input" else operator.outputs
    index = ([*indices, -1, -1])[int(position)]
    return index >= 0 and graph.tensors[index].quantization is not None


def record_of(rule: spec.SpecRule) -> dict[str, Any]:
    """Return all that is known of a rule as what `json.dumps` takes."""
    return {
        **asdict(rule),
        "checks": list(rule.checks),
        "unchecked": None if rule.checks else spec.ARITHMETIC,
        "cases": cases_of_rule(rule),
        "mistakes": mistakes_of_rule(rule),
        "unshown": UNSHOWN.get(rule.identity),
    }
