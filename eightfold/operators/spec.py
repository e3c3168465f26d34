"""The spec's sentences as numbered rules, each with an identity that findings cite.

Source: TensorFlow Lite 8-bit quantization specification. Its general sections are said here, in our
words; what its operator table says is derived from the operators' own records. A rule's number
counts the sentences of its row from top to bottom, and never changes.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches

from eightfold.common.errors import InputError
from eightfold.operators.registry import OPERATORS, SPEC_ROWS, spec_row
from eightfold.operators.rules import (
    SAME,
    Authority,
    FixedQuantization,
    Granularity,
    Restriction,
    Role,
    SpecRow,
    TensorRule,
)

GENERAL = "GENERAL"
"""In place of an operator: a sentence of no row."""

RESTRICTION, RESULTS = "restriction", "results"

ARITHMETIC = "A file holds no results: `eightfold conform` asks for them."
"""Why `eightfold check` does not hold a rule on results."""


@dataclass(frozen=True)
class SpecRule:
    """One sentence of the spec.

    ``operator``: whose row says it, by the schema's name; `GENERAL` if none.
    ``place``: where in the row: ``"Input 0"``, ``"Input 1 restriction"``, `RESTRICTION`, `RESULTS`;
        empty of general rules.
    ``text``: the sentence in our words.
    ``source``: where the spec says it: row and operand, or section.
    ``checks``: what `eightfold check` asks because of it, in the words of its findings; nothing of
        results, see `ARITHMETIC`.
    """

    identity: str
    operator: str
    place: str
    text: str
    source: str
    checks: tuple[str, ...]


_GENERAL: dict[str, dict[str, tuple[str, ...]]] = {
    "spec, specification summary": {
        "How an implementation behaves is guaranteed only where it follows the specification; one "
        "that is not exact to the bit deviates, be it slightly.": (),
        "A code stands for the real value (code - zero point) * scale.": (
            "real_value = (code - zero_point) * scale",
            "scale is finite and above 0",
        ),
        "Weights are int8 in two's complement, from -127 to 127.": ("range [-127, 127]",),
        "Activations are int8 in two's complement, from -128 to 127.": ("data_type int8",),
        "The zero point of an activation is a code, from -128 to 127.": (
            "zero_point in [-128, 127]",
        ),
    },
    "spec, signed integer vs unsigned integer": {
        "Eight bits are signed, int8: a zero point of 0 is symmetric.": ("data_type int8",)
    },
    "spec, per-axis vs per-tensor": {
        "Per tensor is one scale and zero point for all of it.": ("granularity per-tensor",),
        "Per axis is one scale and zero point for each slice along the quantized dimension.": (
            "granularity per-axis (dim = 0)",
            "granularity per-axis (dim = 3)",
        ),
        "The quantized dimension is a dimension of the tensor's own shape, counted from 0.": (
            "quantized_dimension is a dimension of the tensor",
        ),
        "Weights of CONV_2D and DEPTHWISE_CONV_2D alone are per axis.": ("granularity per-tensor",),
    },
    "spec, symmetric vs asymmetric": {
        "The zero point of weights is 0, of activations any code.": ("zero_point = 0",),
        "A dot product sums (q_a - z_a) * (q_b - z_b) in integers; as z_b is 0, what remains are "
        "the products of codes, and z_a times the sum of the weights, which is constant.": (),
    },
    "spec, int8 quantized operator specifications": {
        "Of an operator without a row nothing is said.": (
            f"the operator table has {len(SPEC_ROWS)} rows",
        )
    },
}
"""The general sentences by section, each with what is checked."""

_Sentence = tuple[str, str, str, tuple[str, ...]]
"""Place, text, source and checks."""


def _row(row: SpecRow) -> Iterator[_Sentence]:
    """Yield a row's sentences in their order."""
    unlisted: list[str] = []
    for side, rules in (("Input", row.inputs), ("Output", row.outputs)):
        for position, rule in enumerate(rules):
            if rule.source is Authority.SPEC:
                yield from _operand(row, side, position, rule)
            else:
                unlisted.append(f"{side} {position} ({' or '.join(rule.dtypes)})")
    if row.entry.same:
        text = "All inputs and outputs that hold values have the same scale and zero point."
        yield RESTRICTION, text, row.source, (SAME,)
    beside = f" and, unlisted, {', '.join(unlisted)}" if unlisted else ""
    text = f"The int8 kernel takes these operands{beside}; its results are to the bit those of"
    yield RESULTS, f"{text} `{OPERATORS[row.name].golden_name}`.", row.source, ()


def _operand(row: SpecRow, side: str, position: int, rule: TensorRule) -> Iterator[_Sentence]:
    each = side == "Input" and row.variadic
    place = f"{side} {position}"
    source = row.operand_source(f"{side} ..." if each else place, rule)
    name = "Each input" if each else place
    if rule.role:
        name += f", the {rule.role.lower()},"
    yield place, f"{name} {_entry(rule)}.", source, _entry_checks(place, rule)
    if rule.restriction is not None:
        text, *checks = _restriction(rule)
        yield f"{place} {RESTRICTION}", f"{name} {text}.", source, tuple(checks)


def _entry(rule: TensorRule) -> str:
    """Return what the table lists of an operand, in words."""
    low, high = rule.range or ("", "")
    found = f"is {rule.dtypes[0]} with codes from {low} to {high}, and has one scale and zero point"
    if rule.granularity is not Granularity.PER_AXIS:
        return found
    along = "output channel" if rule.axis is None else f"slice along dimension {rule.axis}"
    return f"{found} for each {along}"


def _entry_checks(place: str, rule: TensorRule) -> tuple[str, ...]:
    own = {Role.WEIGHT: (rule.range_words,), Role.BIAS: ("one value per output channel",)}
    words = (f"has {place}{rule.label}", rule.dtype_words, *own.get(rule.role, ()))
    return (*words, rule.granularity_words)


def _restriction(rule: TensorRule) -> tuple[str, ...]:
    """Return what the table restricts of an operand: in words, and what is checked."""
    fixed = rule.restriction
    if isinstance(fixed, FixedQuantization):
        scale = f"{fixed.numerator:g}/{fixed.denominator:g}"
        return f"has the scale {scale} and the zero point {fixed.zero_point}", str(fixed)
    symmetric = Restriction.SYMMETRIC.value
    if fixed is Restriction.BIAS:
        text = "has the scale of Input 0 times that of the weights' channel, and the zero point 0"
        return text, fixed.value, symmetric
    return "has the zero point 0", symmetric


_SENTENCES: dict[str, Iterable[_Sentence]] = {
    GENERAL: (
        ("", text, section, checks)
        for section, sentences in _GENERAL.items()
        for text, checks in sentences.items()
    ),
    **{row.name: _row(row) for row in SPEC_ROWS},
}

RULES: dict[str, SpecRule] = {
    f"TFL8-{operator}-{number}": SpecRule(f"TFL8-{operator}-{number}", operator, *sentence)
    for operator, sentences in _SENTENCES.items()
    for number, sentence in enumerate(sentences, 1)
}
"""All rules by identity: the general ones, then those of each row in the table's order."""

EXACT, FORMULA, ZERO_POINT, DIMENSION, LISTED = (
    RULES[f"TFL8-{GENERAL}-{number}"] for number in (1, 2, 5, 9, 13)
)


def rule(identity: str) -> SpecRule:
    """Return a rule by its identity: ``rule("TFL8-CONV_2D-3")``; `InputError` names the nearest.

    Mistakes cite rules by place or identity: see `eightfold.conformance.citation.BROKEN`.
    """
    if identity.upper() not in RULES:
        raise InputError(f"no rule {identity!r} in the spec; {_nearest(identity)}")
    return RULES[identity.upper()]


def rules_of(name: str) -> list[SpecRule]:
    """Return the rules of a row in its order, or of one identity; an error names the nearest."""
    found = [each for each in RULES.values() if name.upper() in (each.operator, each.identity)]
    if not found:
        raise InputError(f"no rule or row {name!r} in the spec; {_nearest(name)}")
    return found


_PLACES = {(each.operator, each.place): each for each in RULES.values()}


def rule_at(operator: str, place: str) -> SpecRule | None:
    """Return the rule at a place of an operator's row; None where the spec says nothing there.

    ``place`` as `SpecRule.place` has it. A variadic row lists one input, which stands for all.
    """
    row = spec_row(operator)
    variadic = row is not None and row.variadic and place.startswith("Input")
    return _PLACES.get((operator, "Input 0" if variadic else place))


def _nearest(name: str) -> str:
    near = get_close_matches(name.upper(), [*_SENTENCES, *RULES], n=1, cutoff=0.0)[0]
    return f"the nearest is {near}; eightfold spec lists all"
