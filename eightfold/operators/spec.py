"""The spec's sentences as numbered rules, each with an identity that findings cite.

Source: TensorFlow Lite 8-bit quantization specification. Its general sections are said here, in our
words; what its operator table says is derived from the operators' own records. A rule's number
counts the sentences of its row from top to bottom, and never changes:

    TFL8-CONV_2D-1    Input 0                      what the row lists of an operand
    TFL8-CONV_2D-2    Input 1
    TFL8-CONV_2D-3    Input 1 restriction          what it restricts beside that
    ...
    TFL8-PAD-3        restriction                  what it restricts of all operands
    TFL8-PAD-4        results                      what the int8 kernel of the row computes
"""

from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache

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

PREFIX = "TFL8"
GENERAL = "GENERAL"
"""In place of an operator: a sentence of no row."""

RESTRICTION = "restriction"
RESULTS = "results"

ARITHMETIC = (
    "A file holds no results: `eightfold conform` asks them of whoever claims to compute the row."
)
"""Why `eightfold check` does not hold a rule on results."""


@dataclass(frozen=True, kw_only=True)
class SpecRule:
    """One sentence of the spec."""

    identity: str
    operator: str
    """Whose row says it, by the schema's name; `GENERAL` if none."""

    place: str
    """Where in the row: ``"Input 0"``, ``"Input 1 restriction"``, `RESTRICTION`, `RESULTS`. Empty
    of general rules."""

    text: str
    """The sentence in our words."""

    source: str
    """Where the spec says it: row and operand, or section."""

    checks: tuple[str, ...] = ()
    """What `eightfold check` asks because of it, in the words of its findings."""

    unchecked: str = ""
    """Why it asks nothing, if it does not."""

    @property
    def is_of_more(self) -> bool:
        """Whether it is on more than one operand: general, or of a whole row."""
        return not self.place.startswith(("Input", "Output"))


_SUMMARY = "spec, specification summary"
_TABLE = "spec, int8 quantized operator specifications"
_SYMMETRY = "spec, symmetric vs asymmetric"
_PER_AXIS = "spec, per-axis vs per-tensor"


def _general(number: int, source: str, text: str, *checks: str, unchecked: str = "") -> SpecRule:
    return SpecRule(
        identity=f"{PREFIX}-{GENERAL}-{number}",
        operator=GENERAL,
        place="",
        text=text,
        source=source,
        checks=checks,
        unchecked=unchecked,
    )


EXACT = _general(
    1,
    _SUMMARY,
    "How an implementation behaves is guaranteed only where it follows the specification; one that "
    "is not exact to the bit deviates, be it slightly.",
    unchecked=ARITHMETIC,
)
FORMULA = _general(
    2,
    _SUMMARY,
    "A code stands for the real value (code - zero point) * scale.",
    "real_value = (code - zero_point) * scale",
    "scale is finite and above 0",
)
WEIGHTS = _general(
    3,
    _SUMMARY,
    "Weights are int8 in two's complement with codes from -127 to 127, per axis or per tensor.",
    "range [-127, 127]",
)
ACTIVATIONS = _general(
    4,
    _SUMMARY,
    "Activations are int8 in two's complement with codes from -128 to 127, per tensor.",
    "data_type int8",
)
ZERO_POINT = _general(
    5,
    _SUMMARY,
    "The zero point of an activation is one of its codes, from -128 to 127.",
    "zero_point in [-128, 127]",
)
SIGNED = _general(
    6,
    "spec, signed integer vs unsigned integer",
    "Eight bits are signed, int8 and not uint8: so that a zero point of 0 is symmetric.",
    "data_type int8",
)
PER_TENSOR = _general(
    7,
    _PER_AXIS,
    "Per tensor means one scale and one zero point for the whole tensor.",
    "granularity per-tensor",
)
PER_AXIS = _general(
    8,
    _PER_AXIS,
    "Per axis means one scale and one zero point for each slice along the quantized dimension.",
    "granularity per-axis (dim = 0)",
    "granularity per-axis (dim = 3)",
)
DIMENSION = _general(
    9,
    _PER_AXIS,
    "The quantized dimension is a dimension of the tensor's own shape, counted from 0.",
    "quantized_dimension is a dimension of the tensor",
)
TWO_PER_AXIS = _general(
    10,
    _PER_AXIS,
    "Scales per axis are supported by CONV_2D and DEPTHWISE_CONV_2D, for their weights.",
    "granularity per-tensor",
)
SYMMETRIC = _general(
    11,
    _SYMMETRY,
    "Weights are symmetric, their zero point is 0; activations are asymmetric, theirs is any code.",
    "zero_point = 0",
)
PRODUCT = _general(
    12,
    _SYMMETRY,
    "A dot product sums (q_a - z_a) * (q_b - z_b) in integers; as z_b is 0, what remains of it are "
    "the products of codes and z_a times the sum of the weights, which is constant.",
    unchecked=ARITHMETIC,
)
LISTED = _general(
    13,
    _TABLE,
    "The operator table has the requirements of int8 kernels; of an operator without a row nothing "
    "is said.",
    f"the operator table has {len(SPEC_ROWS)} rows",
)


def _row(row: SpecRow) -> Iterator[SpecRule]:
    """Yield a row's rules, in the order of its sentences."""
    found = [*_operands("Input", row, row.inputs), *_operands("Output", row, row.outputs)]
    if row.entry.same:
        text = "All inputs and outputs that hold values have the same scale and zero point."
        found.append((RESTRICTION, text, row.source, (SAME,)))
    kernel = OPERATORS[row.name].golden_name
    text = (
        f"The int8 kernel of {row.name} takes these operands, and its results are those of the "
        f"reference kernel to the bit (`{kernel}`)."
    )
    found.append((RESULTS, text, row.source, ()))
    for number, (place, text, source, checks) in enumerate(found, 1):
        yield SpecRule(
            identity=f"{PREFIX}-{row.name}-{number}",
            operator=row.name,
            place=place,
            text=text,
            source=source,
            checks=checks,
            unchecked="" if checks else ARITHMETIC,
        )


_Sentence = tuple[str, str, str, tuple[str, ...]]
"""Place, text, source and checks."""


def _operands(side: str, row: SpecRow, rules: tuple[TensorRule, ...]) -> Iterator[_Sentence]:
    for position, rule in enumerate(rules):
        if rule.source is not Authority.SPEC:
            continue
        place = f"{side} {position}"
        each = side == "Input" and row.variadic
        name = f"Each {side.lower()}" if each else place
        source = row.operand_source(f"{side} ..." if each else place, rule)
        if rule.role:
            name += f", the {rule.role.lower()},"
        yield place, f"{name} {_entry(rule)}.", source, _entry_checks(place, rule)
        if rule.restriction is not None:
            yield (
                f"{place} {RESTRICTION}",
                f"{name} {_restriction(rule)}.",
                source,
                tuple(dict.fromkeys((str(rule.restriction), *_symmetric(rule)))),
            )


def _entry(rule: TensorRule) -> str:
    """Return what the table lists of an operand, in words."""
    assert rule.range
    low, high = rule.range
    scales = "one scale and one zero point"
    if rule.granularity is Granularity.PER_AXIS:
        along = "output channel" if rule.axis is None else f"slice along dimension {rule.axis}"
        scales += f" for each {along}"
    return f"is {rule.dtypes[0]} with codes from {low} to {high}, and has {scales}"


def _entry_checks(place: str, rule: TensorRule) -> tuple[str, ...]:
    words = [f"has {place}{rule.label}", rule.dtype_words]
    words += [rule.range_words] * (rule.role is Role.WEIGHT)
    words += ["one value per output channel"] * (rule.role is Role.BIAS)
    return (*words, rule.granularity_words)


def _restriction(rule: TensorRule) -> str:
    fixed = rule.restriction
    if isinstance(fixed, FixedQuantization):
        return (
            f"has the scale {fixed.numerator:g}/{fixed.denominator:g} and the zero point "
            f"{fixed.zero_point}"
        )
    if fixed is Restriction.BIAS:
        return "has the scale of Input 0 times that of the weights' channel, and the zero point 0"
    return "has the zero point 0"


def _symmetric(rule: TensorRule) -> tuple[str, ...]:
    return (Restriction.SYMMETRIC.value,) if isinstance(rule.restriction, Restriction) else ()


RULES: dict[str, SpecRule] = {
    each.identity: each
    for each in (
        *(
            EXACT,
            FORMULA,
            WEIGHTS,
            ACTIVATIONS,
            ZERO_POINT,
            SIGNED,
            PER_TENSOR,
            PER_AXIS,
            DIMENSION,
            TWO_PER_AXIS,
            SYMMETRIC,
            PRODUCT,
            LISTED,
        ),
        *(each for row in SPEC_ROWS for each in _row(row)),
    )
}
"""All rules by identity: the general ones, then those of each row in the table's order."""


def rule(identity: str) -> SpecRule:
    """Return a rule by its identity: ``rule("TFL8-CONV_2D-3")``.

    What names a mistake cites rules by identity, or by their place in an operator's row with
    `rule_at`; `eightfold.conformance.citation` has which named mistake breaks which rule, a line in
    a table there for each new one that breaks more than the results of its row.

    Raises
    ------
    InputError
        If there is none; the message names the nearest.
    """
    found = RULES.get(identity.upper())
    if found is None:
        raise InputError(f"no rule {identity!r} in the spec; {_nearest(identity)}")
    return found


@cache
def rules_of(operator: str) -> tuple[SpecRule, ...]:
    """Return the rules of an operator's row in its order, or the general ones of `GENERAL`.

    Raises
    ------
    InputError
        If the table has no such row; the message names the nearest.
    """
    found = tuple(each for each in RULES.values() if each.operator == operator.upper())
    if not found:
        raise InputError(f"no row {operator!r} in the spec; {_nearest(operator)}")
    return found


def rule_at(operator: str, place: str) -> SpecRule | None:
    """Return the rule at a place of an operator's row; None where the spec says nothing there.

    ``place`` as `SpecRule.place` has it; a position that a variadic row does not list is its first.
    """
    row = spec_row(operator)
    if row is None:
        return None
    if row.variadic and place.startswith("Input"):
        place = "Input 0"
    return next((each for each in rules_of(operator) if each.place == place), None)


def _nearest(name: str) -> str:
    names = [GENERAL, *(row.name for row in SPEC_ROWS), *RULES]
    near = get_close_matches(name.upper(), names, n=1, cutoff=0.0)[0]
    return f"the nearest is {near}; eightfold spec lists all"
