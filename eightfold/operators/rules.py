"""What the operator table of the TFLite 8-bit quantization spec says of one operator.

Source: TensorFlow Lite 8-bit quantization specification, "int8 quantized operator specifications".
"""

from dataclasses import dataclass
from enum import StrEnum

INT8_RANGE = (-128, 127)
WEIGHT_RANGE = (-127, 127)
INT32_RANGE = (-(2**31), 2**31 - 1)
SAME = "Input and outputs must all have same scale/zero_point"


class Granularity(StrEnum):
    """How many scales a tensor has."""

    PER_TENSOR = "per-tensor"
    PER_AXIS = "per-axis"
    UNQUANTIZED = "not quantized"


class Authority(StrEnum):
    """Who defines an operand."""

    SPEC = "spec"
    """The TFLite 8-bit quantization spec, operator table."""

    KERNELS = "reference kernels"
    """The table has no such entry; the TFLite reference kernels read or write it all the same."""


class Role(StrEnum):
    """What the table calls an operand, behind its number."""

    DATA = ""
    WEIGHT = "Weight"
    BIAS = "Bias"


class Restriction(StrEnum):
    """A restriction on one tensor, in the table's words."""

    SYMMETRIC = "zero_point = 0"
    BIAS = "(scale, zero_point) = (input0_scale * input1_scale[...], 0)"


@dataclass(frozen=True)
class FixedQuantization:
    """Scale and zero point that the operator dictates: ``(numerator / denominator, zero_point)``.

    All such scales are powers of two, so that the float32 of a model file holds them exactly.
    """

    numerator: float
    denominator: float
    zero_point: int

    @property
    def scale(self) -> float:
        """The scale."""
        return self.numerator / self.denominator

    def __str__(self) -> str:
        """Return the table's words."""
        quotient = f"{self.numerator} / {self.denominator}"
        return f"(scale, zero_point) = ({quotient}, {self.zero_point})"


@dataclass(frozen=True, kw_only=True)
class TensorRule:
    """What one input or output of an operator must be."""

    dtypes: tuple[str, ...] = ("int8",)
    """numpy names, of which one must hold."""

    range: tuple[int, int] | None = INT8_RANGE
    """Smallest and largest code; None where the spec gives none."""

    granularity: Granularity = Granularity.PER_TENSOR
    axis: int | None = None
    """The dimension of the output channels, of weights only: `Granularity.PER_AXIS` must be along
    it, and where the table wants one scale the kernels accept one per slice of it."""

    restriction: Restriction | FixedQuantization | None = None
    role: Role = Role.DATA
    source: Authority = Authority.SPEC
    optional: bool = False
    """Whether a model may leave it out."""

    @property
    def quantized(self) -> bool:
        """Whether the tensor has a scale and a zero point."""
        return self.granularity is not Granularity.UNQUANTIZED

    @property
    def label(self) -> str:
        """The role in parentheses, as the table writes it behind the operand's number."""
        return f" ({self.role})" if self.role else ""

    @property
    def dtype_words(self) -> str:
        """The column of the table that says the element type."""
        return f"data_type {' or '.join(self.dtypes)}"

    @property
    def range_words(self) -> str:
        """The column of the codes' range; empty where the table gives none."""
        return f"range [{self.range[0]}, {self.range[1]}]" if self.range else ""

    @property
    def granularity_words(self) -> str:
        """The column of the scales' number, with the dimension where it gives one."""
        along = f" (dim = {self.axis})" if self.granularity is Granularity.PER_AXIS else ""
        return f"granularity {self.granularity}{along if self.axis is not None else ''}"


def unquantized(*dtypes: str, optional: bool = False) -> TensorRule:
    """Return the rule of integers or truth values that only the kernels define."""
    return TensorRule(
        dtypes=dtypes,
        range=None,
        granularity=Granularity.UNQUANTIZED,
        source=Authority.KERNELS,
        optional=optional,
    )


OTHER_INT8 = TensorRule(source=Authority.KERNELS)
"""An int8 operand that the table does not list."""


@dataclass(frozen=True)
class SpecEntry:
    """What an operator's row of the table has besides the rules of its operands."""

    number: int
    """The number of the row in the table, from 1."""

    same: bool = False
    """Whether `SAME` holds: for every operand whose codes are values, not for indices."""

    output: FixedQuantization | None = None
    """Scale and zero point that the table dictates."""

    remark: str = ""
    """What the table has in parentheses behind the name."""


@dataclass(frozen=True, kw_only=True)
class SpecRow:
    """One operator of the table, with a rule per operand."""

    name: str
    """The schema's name, such as ``"CONV_2D"``."""

    entry: SpecEntry
    inputs: tuple[TensorRule, ...]
    outputs: tuple[TensorRule, ...]
    variadic: bool
    """Whether the only input stands for any number of them: "Input ..."."""

    @property
    def source(self) -> str:
        """How findings name the row."""
        return f"spec, row {self.entry.number} {self.name}"

    def operand_source(self, place: str, rule: TensorRule) -> str:
        """How findings name an operand, such as ``"Input 1"``, and who defines it."""
        if rule.source is Authority.SPEC:
            return f"{self.source}, {place}{rule.label}"
        return f"{Authority.KERNELS}, {self.name}, {place}{rule.label}"

    @property
    def title(self) -> str:
        """The table's heading of the row."""
        return f"{self.name} ({self.entry.remark})" if self.entry.remark else self.name

    def input_rule(self, position: int) -> TensorRule | None:
        """Return the rule of an input; None if the operator has none there."""
        if self.variadic:
            return self.inputs[0]
        return self.inputs[position] if position < len(self.inputs) else None
