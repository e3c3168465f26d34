"""Bins that no model can hit, one by one, and why."""

from eightfold.campaign.coverage import Bin

_ADDED = "the multiplier of a sum of two, 2 max(s_a, s_b) / (2^20 s_out), must be below 1"
_PASSED = "codes are int8 already, and only a fused activation leaves some out"
_NO_RELU_END = "RELU's upper bound is 127, and codes are int8 already"
_RECIPROCAL = (
    "the sum of a row is 1 or more, its largest element's, and then the right shift 23 or more"
)
_ROOT = "128 / sqrt(sum) is {} only if the sum of squares is {}"

EXCLUDED: dict[Bin, str] = {
    Bin("ADD", "pair shift", "left 8..30"): _ADDED,
    Bin("ADD", "pair shift", "left 1..7"): _ADDED,
    Bin("SUB", "pair shift", "left 8..30"): _ADDED,
    Bin("SUB", "pair shift", "left 1..7"): _ADDED,
    Bin("AVERAGE_POOL_2D", "activation and saturation", "('NONE', 'below')"): _PASSED,
    Bin("AVERAGE_POOL_2D", "activation and saturation", "('NONE', 'above')"): _PASSED,
    Bin("AVERAGE_POOL_2D", "activation and saturation", "('RELU', 'above')"): _NO_RELU_END,
    Bin("MAX_POOL_2D", "activation and saturation", "('NONE', 'below')"): _PASSED,
    Bin("MAX_POOL_2D", "activation and saturation", "('NONE', 'above')"): _PASSED,
    Bin("MAX_POOL_2D", "activation and saturation", "('RELU', 'above')"): _NO_RELU_END,
    Bin(
        "LOGISTIC", "saturation", "below"
    ): "results are 0 or more, and the zero point at least -128",
    Bin("SOFTMAX", "saturation", "below"): "no probability is below 0, code -128",
    Bin("SOFTMAX", "pair shift", "left 8..30"): _RECIPROCAL,
    Bin("SOFTMAX", "pair shift", "left 1..7"): _RECIPROCAL,
    Bin("SOFTMAX", "pair shift", "none"): _RECIPROCAL,
    Bin("SOFTMAX", "pair shift", "right 1..7"): _RECIPROCAL,
    Bin("SOFTMAX", "pair shift", "right 8..15"): _RECIPROCAL,
    Bin("LOG_SOFTMAX", "saturation", "above"): "a logarithm of at most 1 is 0 or less, code 127",
    Bin("L2_NORMALIZATION", "saturation", "below"): "no element is below -1, code -128",
    Bin("L2_NORMALIZATION", "pair shift", "left 8..30"): _ROOT.format("above 2^7", "below 1"),
    Bin("L2_NORMALIZATION", "pair shift", "right 8..15"): _ROOT.format(
        "below 2^-8", "2^30 or more: rows of 16,512 elements"
    ),
    Bin("L2_NORMALIZATION", "pair shift", "right 16..30"): _ROOT.format(
        "below 2^-16", "2^46 or more, above int32"
    ),
    Bin("L2_NORMALIZATION", "pair shift", "right 31"): _ROOT.format(
        "below 2^-31", "2^76 or more, above int32"
    ),
}
"""The reason by the bin. A bin that is excluded and hit is an error: its reason is wrong."""
