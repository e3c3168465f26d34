"""A profile says what is claimed, and refuses what no implementation can claim."""

import re
from pathlib import Path
from typing import Any

import pytest

from eightfold.common.errors import InputError
from eightfold.conformance.profile import (
    NETWORKS,
    OPERATORS,
    PROFILES,
    UNITS,
    Profile,
    ProfileLimits,
)

WHOLE = """
name = "a core"
spec = "tflite"
reference = "tflm"
claims = ["requantizer", "CONV_2D"]

[limits]
shift = [-31, 0]
accumulator_bits = 24
multiplier_bits = 18
zero_points = [-128, 0]
clamp = [[-128, 127], [0, 127]]
rounding = "single"
ranks = [4]

[operators.CONV_2D]
kernel = [1, "3x1"]
output_channels = { from = 8, to = 64, by = 8 }
padding = "SAME"
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "p.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_every_field_is_read(tmp_path: Path) -> None:
    profile = Profile.load(written(tmp_path, WHOLE))
    assert profile == Profile(
        name="a core",
        reference="tflm",
        claims=("requantizer", "CONV_2D"),
        limits=ProfileLimits(
            shift=(-31, 0),
            accumulator_bits=24,
            multiplier_bits=18,
            zero_points=(-128, 0),
            clamp=((-128, 127), (0, 127)),
            rounding="single",
            ranks=(4,),
        ),
        operators={
            "CONV_2D": {
                "kernel": (1, "3x1"),
                "output_channels": {"from": 8, "to": 64, "by": 8},
                "padding": "SAME",
            }
        },
    )
    assert profile.limits_text.endswith(
        "; CONV_2D: kernel [1, 3x1], output_channels 8..64 by 8, padding SAME"
    )
    assert Profile.from_dict(profile.as_dict()) == profile


def test_a_name_alone_claims_the_whole_spec(tmp_path: Path) -> None:
    profile = Profile.load(written(tmp_path, 'name = "tflite"'))
    assert profile == PROFILES["tflite"] == Profile.load("tflite")
    assert profile.claims == (*UNITS, *OPERATORS, NETWORKS)
    assert len(OPERATORS) == 38
    assert profile.rounding == "double"
    assert profile.shifts == (-31, 30)


@pytest.mark.parametrize("name", PROFILES)
def test_profiles_by_name_come_back_from_their_fields(name: str) -> None:
    profile = Profile.load(name)
    assert profile.name == name
    assert Profile.from_dict(profile.as_dict()) == profile


WRONG: list[tuple[str, str]] = [
    ("shift = [0, 1]", "unknown field shift; known: name, spec, reference, claims"),
    ("limits = 3", "limits must be a table, not 3"),
    (
        'spec = "tpu-mlir"\nclaims = ["dot"]',
        "claims: no unit or operator 'dot'; use requantizer, fake_quantize",
    ),
    ('claims = "CONV_2D"', "claims must be a list of names, not 'CONV_2D'"),
    ('claims = ["CONV"]', "claims: no unit or operator 'CONV'; use requantizer"),
    ('claims = [["CONV"]]', "claims: no unit or operator ('CONV',)"),
    ('claims = ["ADD", "ADD"]', "claims: ADD stands there twice; state it once"),
    ("claims = []", "claims is empty; name some, or leave it out to claim all"),
    ("[limits]\nmultipliers = [0, 0]", "multipliers: 0 alone is no range"),
    ('spec = "onnx"', "spec must be one of tflite, tpu-mlir, not 'onnx'"),
    ('reference = ["tflm"]', "reference must be one of litert, tflm, not ('tflm',)"),
    ("[limits]\nshifts = 1", "unknown field shifts; known: shift, accumulator"),
    ("[limits]\nshift = 3", "shift must be a pair [low, high], not 3"),
    ("[limits]\nshift = [1, 0]", "shift: 1 is above 0"),
    ("[limits]\nshift = [0.0, 1]", "shift must be an integer in -62..62, not 0.0"),
    ("[limits]\nshift = [-31, 31]", "shift must be an integer in -31..30, not 31"),
    ("[limits]\naccumulator_bits = true", "accumulator_bits must be an integer"),
    ("[limits]\nmultiplier_bits = 33", "multiplier_bits must be an integer in 2.."),
    ('[limits]\nzero_points = "all"', "zero_points must be a list of integers, or"),
    ("[limits]\nzero_points = [128]", "zero_points must be an integer in -128..127"),
    ("[limits]\nclamp = [0, 127]", "clamp must be a pair [low, high], not 0"),
    ("[limits]\nclamp = [[127, 0]]", "clamp: 127 is above 0"),
    ("[limits]\nranks = [9]", "ranks must be an integer in 0..8, not 9"),
    ('[limits]\nrounding = "up"', "rounding must be one of double, single"),
    (
        '[operators.CONV_2D]\nkernal = 3\nstride = "3 x 1"\npadding = "FULL"',
        "operators.CONV_2D: unknown field kernal; known: kernel, stride, dilation, groups, "
        "padding, batch, input_channels, output_channels, size, activation, weights; "
        'operators.CONV_2D.stride must be integers or pairs such as "3x1" in 1..65535',
    ),
    ("[operators.ADD]\nkernel = 3", "operators.ADD: unknown field kernel; known"),
    ("[operators.CONV]\nkernel = 3", "operators.CONV: is not claimed; add it to"),
    (
        "[operators.ADD]\nsize = { from = 9, to = 3 }",
        "operators.ADD.size must have a value in its range, not 9..3",
    ),
    (
        "[operators.ADD]\nsize = { least = 9 }",
        "operators.ADD.size must be a range such as { from = 8, to = 256, by = 8 }",
    ),
    ('spec = "tpu-mlir"\n[limits]\nrounding = "double"', "rounding: TPU-MLIR rounds once"),
    (
        'spec = "tpu-mlir"\n[limits]\nmultiplier_bits = 16',
        "multiplier_bits must be 8 or 32 of TPU-MLIR, not 16",
    ),
]
"""Lines behind a profile's name, and what is said of them."""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "name is missing"),
        ("name = 3", "name must be a text of one line, not 3"),
        ('name = "a\\nb"', "name must be a text of one line"),
        ("name = ", "not valid TOML"),
        *((f'name = "a"\n{text}', message) for text, message in WRONG),
    ],
)
def test_what_is_wrong_is_one_line(text: str, message: str, tmp_path: Path) -> None:
    path = written(tmp_path, text)
    with pytest.raises(InputError, match=re.escape(message)) as caught:
        Profile.load(path)
    assert str(caught.value).startswith(f"profile {path}: ")
    assert "\n" not in str(caught.value)


def test_what_is_not_there_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no such profile; use one of tflite, tflite-single"):
        Profile.load("mine")
    with pytest.raises(InputError, match="name a readable file"):
        Profile.load(tmp_path / "p.toml")
    (tmp_path / "bytes.toml").write_bytes(b"\xff")
    with pytest.raises(InputError, match="not valid TOML"):
        Profile.load(tmp_path / "bytes.toml")


def test_limits_are_checked_in_python_too() -> None:
    wrong: Any = [0]
    with pytest.raises(InputError, match="zero_points must be a list of integers"):
        ProfileLimits(zero_points=wrong)


@pytest.mark.parametrize(
    ("profile", "text"),
    [
        (PROFILES["tflite"], ""),
        (PROFILES["tflm"], ""),
        (PROFILES["tpu-mlir"], ""),
        (PROFILES["tpu-mlir-8"], "multiplier_bits 8"),
        (PROFILES["tflite-single"], "rounding single"),
        (PROFILES["eightfold"], "operands constant, types int8"),
        (Profile(name="a", limits=ProfileLimits(shift=(-31, 30), rounding="double")), ""),
        (
            Profile(name="a", limits=ProfileLimits(shift=(-31, 0), clamp=((-128, 127), (0, 127)))),
            "shift [-31, 0], clamp [[-128, 127], [0, 127]]",
        ),
    ],
    ids=range(8),
)
def test_limits_in_words_are_those_that_narrow_the_spec(profile: Profile, text: str) -> None:
    assert profile.limits_text == text
