"""Mistakes that have a name: what requantizers do in place of the reference.

A mistake changes some of the choices of `eightfold.conformance.judge.arithmetic.Arithmetic`, and
is said in a sentence as the engineer would who has found it. The mistakes of `BIASED` need cases
with a bias.
"""

from collections.abc import Iterator
from functools import cache

from eightfold.conformance.judge.arithmetic import compute, reference_arithmetic
from eightfold.conformance.judge.forms import Cases, Form
from eightfold.conformance.judge.subject import Mistake, Table, made, named
from eightfold.golden.fixed_point import Integers

TWO, ONE, TPU = ("tflite",), ("tflite_single",), ("tpu_mlir_8", "tpu_mlir_32")
TFLITE, SINGLE, ALL = TWO + ONE, ONE + TPU, TWO + ONE + TPU
WIDE = (*TFLITE, "tpu_mlir_32")


_DIVISIONS = {
    "down": "is an arithmetic right shift (`>>>`), which floors, in place of a rounding division",
    "toward_zero": "truncates toward zero, as `/` does in C and Verilog",
    "up": "rounds up: every fraction counts as one",
    "half_up": "adds half and shifts, `(y + half) >>> e`: ties go toward plus infinity",
    "half_down": "sends ties toward minus infinity",
    "half_even": "sends ties to the even neighbour, as IEEE floats and many DSP blocks do",
    "half_away": "sends ties away from zero",
    "half_then_divide": (
        "adds half to negative values too and then truncates toward zero, `(y + half) / 2^e`"
    ),
    "half_subtracted": (
        "subtracts half from negative values and then shifts, `(y - half) >>> e`, which floors "
        "once more"
    ),
    "nudge_shifted": (
        "takes the nudge of negative values, `1 - half`, from the C++ source, but shifts (`>>>`) "
        "where that divides"
    ),
    "logical": "is a logical right shift (`>>`): zeros come in from the left, also below zero",
    "half_up_logical": (
        "adds half and then shifts logically (`>>`): negative values lose their sign"
    ),
}


def _roundings() -> Iterator[Mistake]:
    for mode, does in _DIVISIONS.items():
        if mode not in ("half_up", "logical", "half_up_logical"):
            # The logical shift of a 64-bit product has the same lower 32 bits.
            extra = ": the nudge of 2^30 is missing" if mode == "down" else ""
            text = f"The first rounding, of the high multiply, {does}{extra}."
            yield Mistake(f"first_{mode}", text, {"first": mode}, TWO)
    for mode, does in _DIVISIONS.items():
        if mode != "half_away":
            text = f"The second rounding, of the right shift, {does}."
            yield Mistake(f"second_{mode}", text, {"second": mode}, TWO)
        if mode != "half_up":
            text = f"The rounding of the 64-bit product {does}."
            yield Mistake(f"rounding_{mode}", text, {"second": mode}, SINGLE)


_SINGLE_ROUNDINGS = {
    "half_up": "ties up: TFLite's build with single rounding, and CMSIS-NN's option",
    "half_away": "ties away from zero",
    "half_even": "ties to even",
    "toward_zero": "truncated toward zero",
    "down": "by an arithmetic shift (`>>>`), which floors",
}

_FLOATS = {
    ("float32", "half_even"): "converted with ties to even: XNNPACK's form",
    ("float32", "half_away"): "rounded with ties away from zero (`roundf`)",
    ("float64", "half_even"): "converted with ties to even (`rint`)",
    ("float64", "half_away"): "rounded by `round`: LiteRT's FULLY_CONNECTED",
}


_TABLE: Table = {
    ("second_mask_short", "second", "mask_short", TWO): "The mask of the second rounding's "
    "remainder is a bit short, `(1 << (shift - 1)) - 1`, and so is the threshold that is made from "
    "it.",
    ("second_addend_overflows", "second", "addend_overflows", TWO): "The second rounding adds half "
    "in 32 bits, and the sum wraps where the high product is near 2^31.",
    ("second_top_at_0", "second", "top_at_0", TWO): "The second rounding's addend is "
    "`1 << (shift - 1)`, which is 2^31 at a shift of 0, where the amount wraps to 31: the sign is "
    "turned.",
    ("second_one_at_0", "second", "one_at_0", TWO): "The second rounding's addend is "
    "`1 << (shift - 1)`, and 1 at a shift of 0, where nothing is to be rounded: what is not "
    "negative is one too large.",
    ("second_nudge_at_0", "second", "nudge_at_0", TWO): "The second rounding takes one from "
    "negative values at a shift of 0 too, where `1 << (shift - 1)` adds nothing.",
    ("rounding_one_at_0", "second", "one_at_0_up", TPU): "The rounding's addend is "
    "`1 << (shift - 1)`, and 1 at a shift of 0, where nothing is to be rounded: one too large.",
    **{
        (f"one_rounding_{mode}", "scale second", f"one {mode}", TWO): "One rounding of the 64-bit "
        f"product in place of two, {does}."
        for mode, does in _SINGLE_ROUNDINGS.items()
    },
    ("two_roundings", "scale second", "two half_away", SINGLE): "Two roundings, TFLite's high "
    "multiply and right shift, in place of one of the 64-bit product.",
    # A product with 8 bits is exact in float64: no more than another rounding.
    **{
        (
            f"{scale}_{mode}",
            "scale second",
            f"{scale} {mode}",
            WIDE if scale == "float64" else ALL,
        ): f"The scale is a {scale}, and the {scale} product {does}."
        for (scale, mode), does in _FLOATS.items()
    },
    ("int16_kernel", "scale second multiplier", "one half_up rounded_16", TWO): "The multiplier is "
    "rounded to 16 bits and the product rounded once: TFLite's function for 64-bit accumulators "
    "(int16 activations), used for int8.",
    ("first_without_doubling", "first_shift", 32, TWO): "The high multiply takes the upper word of "
    "the product (`>> 32`) without doubling it (`>> 31`): half of the value.",
    ("operand_unsigned", "operand", "unsigned", ALL): "The operand is multiplied as an unsigned "
    "word: one unsigned operand makes a Verilog product unsigned (`$signed` is missing).",
    ("second_logical_repaired", "second", "logical_repaired", TWO): "The second rounding's right "
    "shift is logical (`>>`), and negative results are repaired where bits 15 to 8 are ones, which "
    "they are not if they are far from 0 or the shift is large.",
    ("second_half_away_and_even", "second", "half_away_and_even", TWO): "The second rounding adds "
    "one where the remainder exceeds TFLite's threshold, and where it equals it and the quotient "
    "is odd: a shift of 0 so adds one to odd values.",
    ("multiplier_upper_16", "multiplier", "upper_16", WIDE): "Only the upper 16 bits of the "
    "multiplier are multiplied.",
    ("multiplier_rounded_16", "multiplier", "rounded_16", WIDE): "The multiplier is rounded to 16 "
    "bits.",
    ("multiplier_leading_one", "multiplier", "leading_one", WIDE): "The multiplier's bit 30 is not "
    "read, but taken for 1: a multiplier of 0, or below 2^30, counts as more.",
    ("product_32", "product", "wraps_32", ALL): "The product of two 32-bit words is kept in 32 "
    "bits: its upper half is lost.",
    ("product_48", "product", "wraps_48", WIDE): "The product is kept in 48 bits, the width of a "
    "DSP block's sum: its upper bits are lost.",
    ("high_16", "high", "wraps_16", TWO): "The high multiply's result is kept in 16 bits, and "
    "wraps, in front of the right shift.",
    ("high_16_saturates", "high", "saturates_16", TWO): "The high multiply's result saturates to "
    "16 bits in front of the right shift.",
    ("scaled_16", "scaled", "wraps_16", ALL): "The scaled value is kept in 16 bits, and wraps, in "
    "front of the zero point.",
    ("scaled_8", "scaled", "saturates_8", ALL): "The scaled value is clamped to int8 before the "
    "zero point is added, and again after it.",
    ("scaled_wraps", "scaled zero_point", "wraps_32 added", TPU): "The scaled value, and the sum "
    "with the zero point, wrap to 32 bits where the reference keeps 64.",
    ("left_saturates", "left", "saturates", TWO): "The left shift saturates to 32 bits where the "
    "reference wraps.",
    ("left_wide", "left", "wide", TWO): "The left shift has more than 32 bits, where the reference "
    "wraps.",
    ("left_after", "left", "after", TWO): "The left shift is done after the high multiply, on "
    "rounded bits, and not before it.",
    ("left_missing", "left", "missing", ALL): "There is no left shift: shifts to the left count as "
    "0.",
    ("shift_negated", "shift", "negated", TFLITE): "The sign of the shift is read the other way: "
    "TFLite's positive shift is to the left.",
    ("right_one_more", "right", "one_more", ALL): "The right shift is one too many: half of the "
    "value.",
    ("right_one_less", "right", "one_less", ALL): "The right shift is one too few: twice the "
    "value.",
    ("right_missing", "right", "missing", TWO): "There is no right shift.",
    ("right_4_bits", "right", "narrow", TWO): "The right shift is a field of 4 bits: 16 counts as "
    "0.",
    ("right_5_bits", "right", "narrow", SINGLE): "The whole right shift, up to 62, is a field of 5 "
    "bits: 32 counts as 0.",
    ("zero_point_saturates", "zero_point", "wide", TWO): "The zero point is added with saturation, "
    "or in more than 32 bits, where the reference wraps int32.",
    ("zero_point_subtracted", "zero_point", "subtracted", ALL): "The zero point is subtracted.",
    ("zero_point_unsigned", "zero_point", "unsigned", ALL): "The zero point is not sign-extended: "
    "-128 counts as 128.",
    ("zero_point_missing", "zero_point", "missing", ALL): "There is no zero point.",
    ("zero_point_before_shift", "zero_point", "before_shift", TWO): "The zero point is added "
    "before the right shift, scaled up, so that ties round by the sign of the sum.",
    ("clamp_first", "clamp", "first", ALL): "The clamp comes before the zero point, and the sum "
    "wraps to 8 bits.",
    ("clamp_first_saturates", "clamp", "first_saturates", ALL): "The clamp to the activation's "
    "bounds comes before the zero point, and the sum saturates to int8.",
    ("clamp_wraps", "clamp", "wraps", ALL): "The lower 8 bits are taken (`[7:0]`) in place of a "
    "clamp.",
    ("clamp_wraps_first", "clamp", "wraps_then_bounds", ALL): "The value is cut to its lower 8 "
    "bits before it is clamped to the activation's bounds.",
    ("clamp_int8", "clamp", "int8", ALL): "The clamp is to [-128, 127]: the activation's bounds "
    "are not used.",
    ("clamp_symmetric", "clamp", "symmetric", ALL): "The clamp is to [-127, 127]: -128 is never "
    "given.",
    ("relu_at_0", "clamp", "relu_at_0", ALL): "The activation cuts at the code 0 and not at the "
    "zero point: where low is above -128, 0 takes its place.",
    ("relu_at_0_of_zero_point", "clamp", "relu_at_0_of_zero_point", ALL): "Where low equals the "
    "zero point, as with RELU, the activation cuts at the code 0.",
    ("relu_always", "clamp", "relu_always", ALL): "What is below 0 becomes 0 whatever the "
    "activation: low is at least 0.",
}

_BIASED: Table = {
    ("bias_saturates", "bias", "saturates", ALL): "Accumulator and bias are added with saturation "
    "where the reference wraps int32.",
    ("bias_after", "bias", "after", ALL): "The bias is added after the scaling and not before it.",
    ("bias_missing", "bias", "missing", ALL): "There is no bias.",
}

BIASED = frozenset(name for name, *_ in _BIASED)
"""Names of the mistakes that need cases with a bias."""

MISTAKES = {mistake.name: mistake for mistake in (*_roundings(), *named({**_TABLE, **_BIASED}))}


@cache
def mistakes_of(form: str, biased: bool = False) -> tuple[Mistake, ...]:
    """Return the mistakes of a form, in the order of the table; ``biased`` if cases have a bias."""
    return tuple(
        mistake
        for mistake in MISTAKES.values()
        if form in mistake.forms and (biased or mistake.name not in BIASED)
    )


def results_with(form: Form, cases: Cases, *mistakes: Mistake) -> Integers:
    """Return the results of a requantizer of ``form`` with ``mistakes``; without, golden's."""
    if not mistakes:
        return form.results(cases)
    return compute(made(reference_arithmetic(form), mistakes), form, cases)
