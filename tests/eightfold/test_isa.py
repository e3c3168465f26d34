"""Words are packed as the layouts say, and nothing is truncated silently."""

import numpy as np
import pytest

from eightfold import isa, streams
from eightfold.config import PRESETS, AcceleratorConfig
from eightfold.packing import pack
from golden.rounding import ROUNDINGS


def test_rounding_codes_are_those_of_golden() -> None:
    assert [mode.name.lower() for mode in isa.Rounding] == list(ROUNDINGS)
    assert [mode.value for mode in isa.Rounding] == list(range(len(ROUNDINGS)))


@pytest.mark.parametrize("seed", range(4))
def test_packed_words_read_back_through_the_layout(seed: int) -> None:
    rng = np.random.default_rng(seed)
    config = AcceleratorConfig(lanes=3, width=int(rng.integers(2, 9)))
    layout = streams.activation_layout(config)
    count = 20
    fields = {
        "bytes": rng.integers(-128, 128, (count, config.width)),
        "slot": rng.integers(0, config.psum_depth, count),
        **{
            name: rng.integers(0, 2, count)
            for name in ("depthwise", "fire", "first", "last", "next_weights", "next_parameters")
        },
    }
    for row, word in enumerate(pack(layout, fields)):
        value = layout.from_bits(word)
        assert [value["bytes"][i] for i in range(config.width)] == fields["bytes"][row].tolist()
        for name in set(fields) - {"bytes"}:
            assert value[name] == fields[name][row]


def test_nested_fields_and_negative_numbers_read_back() -> None:
    extremes = {
        "bias": -(2**31), "left": 30, "multiplier": 2**31 - 1, "single": 1, "right": 62,
        "rounding": 6, "zero_point": -128, "low": -128, "high": 127,
    }  # fmt: skip
    fields = {**{f"requantize.{name}": value for name, value in extremes.items()}, "last": 1}
    word = streams.parameter_layout().from_bits(pack(streams.parameter_layout(), fields)[0])
    for name, value in extremes.items():
        got = word["requantize"][name]
        assert (got.value if isinstance(got, isa.Rounding) else got) == value
    assert word["last"] == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"index": 256}, "index must be in 0..255"),
        ({"value": 2**31}, "value must be in -2147483648..2147483647"),
        ({"extra": 1}, "fields differ from the layout's: \\['extra'\\]"),
    ],
)
def test_what_does_not_fit_is_refused(change: dict[str, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        pack(streams.TABLE_LOAD_LAYOUT, {"index": 0, "value": 0, **change})


def test_a_vector_of_the_wrong_length_is_refused() -> None:
    layout = streams.weight_layout(PRESETS["nano"])
    with pytest.raises(ValueError, match=r"taps: shape \(2, 5\) is not \(2, 4\)"):
        pack(layout, {"taps": np.zeros((2, 5)), "last": [0, 1]})
    with pytest.raises(ValueError, match="taps must be in -128..127"):
        pack(layout, {"taps": np.full((1, 4), 128), "last": [0]})
