"""The configuration refuses what the hardware cannot be."""

import re
from pathlib import Path
from typing import get_args

import pytest

from eightfold.common.errors import InputError
from eightfold.common.files import IMPORT_ROOT
from eightfold.target.config import FEATURES, PRESETS, AcceleratorConfig, MultiplierStyle


@pytest.mark.parametrize(
    ("name", "lanes", "width"),
    [("nano", 4, 4), ("small", 8, 8), ("base", 16, 16), ("large", 32, 32)],
)
def test_presets_have_their_sizes(name: str, lanes: int, width: int) -> None:
    config = AcceleratorConfig.load(name)
    assert (config.lanes, config.width) == (lanes, width)
    assert config.macs_per_cycle == lanes * width


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("lanes", 0, "lanes must be an integer in 1..64, not 0"),
        ("lanes", True, "lanes must be an integer"),
        ("width", 65, "width must be an integer in 2..64, not 65"),
        ("width", 4.0, "width must be an integer"),
        ("psum_depth", 100, "psum_depth must be a power of two in 16..4096, not 100"),
        ("parameter_banks", 1, "parameter_banks must be an integer in 4..64"),
        ("output_depth", 16, "output_depth must be an integer in 32..1024"),
        ("multiplier", "dsp", "multiplier must be one of infer, rows, not 'dsp'"),
        ("gather", 1, "gather must be true or false, not 1"),
    ],
)
def test_a_value_out_of_range_is_refused(field: str, value: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        PRESETS["base"].replace(**{field: value})


def test_a_toml_file_gives_the_fields_it_names(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text("lanes = 3\nwidth = 5\n")
    assert AcceleratorConfig.load(path) == AcceleratorConfig(lanes=3, width=5)


def test_a_configuration_survives_as_dict() -> None:
    for config in PRESETS.values():
        assert AcceleratorConfig(**config.as_dict()) == config


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("lanes = ", "not valid TOML"),
        ("lane = 3", "unknown field lane; known: command_queue"),
        ("lanes = 99", "lanes must be an integer in 1..64, not 99"),
        (b"\xff\xfe", "not valid TOML"),
    ],
)
def test_a_bad_toml_file_is_refused(tmp_path: Path, content: str | bytes, message: str) -> None:
    path = tmp_path / "bad.toml"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(InputError, match=message) as caught:
        AcceleratorConfig.load(path)
    assert str(path) in str(caught.value)


def test_an_unknown_preset_lists_the_known_ones() -> None:
    with pytest.raises(
        InputError, match="use one of pico, nano, small, base, large, or a .toml file"
    ):
        AcceleratorConfig.load("huge")
    with pytest.raises(InputError, match="name a readable file"):
        AcceleratorConfig.load("missing.toml")


ARCHITECTURE = IMPORT_ROOT / "docs" / "architecture.md"
"""Has an example and a table of the fields."""

DOCUMENTED = re.findall(
    r"^\| `(\w+)` \| (\w+) \| ([^|]*) \| [^|]* \|$",
    ARCHITECTURE.read_text(encoding="utf-8").partition("## Sizes\n")[2].partition("\n## ")[0],
    re.MULTILINE,
)


def test_the_document_has_every_field_and_its_default() -> None:
    defaults = AcceleratorConfig().as_dict()
    assert {name: default for name, default, _ in DOCUMENTED} == {
        name: str(value) for name, value in defaults.items()
    }


@pytest.mark.parametrize(("name", "allowed"), [(name, text) for name, _, text in DOCUMENTED])
def test_the_document_has_the_range_of_a_field(name: str, allowed: str) -> None:
    # The ends depend on other fields of the same configuration.
    others = {
        "weight_buffer": {"port": 4},
        "vector_lanes": {"lanes": 64},
        "dsp_taps": {"width": 64},
        "requantizers": {"lanes": 64, "vector_lanes": 1},
    }.get(name, {})
    config = AcceleratorConfig().replace(**others)
    if name in FEATURES:
        assert allowed == "true, false"
        return
    if name == "multiplier":
        assert allowed.split(", ") == list(get_args(MultiplierStyle))
        return
    found = re.search(r"(\d+)\.\.(\d+)", allowed)
    assert found
    low, high = int(found[1]), int(found[2])
    for value in (low, high):
        assert getattr(config.replace(**{name: value}), name) == value
    refused = [-1 if name == "requantizers" else low - 1, high + 1]
    if allowed.startswith("power of two"):
        refused += [low // 2, 2 * high, low + high]
    for value in refused:
        with pytest.raises(InputError, match=name):
            config.replace(**{name: value})


def test_the_documents_example_is_a_configuration(tmp_path: Path) -> None:
    text = ARCHITECTURE.read_text(encoding="utf-8").partition("```toml\n")[2].partition("```")[0]
    path = tmp_path / "example.toml"
    path.write_text(text)
    config = AcceleratorConfig.load(path)
    assert (config.lanes, config.width, config.multiplier) == (12, 10, "rows")
