"""Which units are looked at for a file: those in which all others have what they have of it."""

import pytest

from eightfold.common.files import IMPORT_ROOT
from lab.mutants.benches import Imports


@pytest.fixture(scope="module")
def hardware() -> Imports:
    return Imports(IMPORT_ROOT)


@pytest.mark.parametrize(
    ("path", "enough"),
    [
        ("hw/array/lane.py", ["lane"]),  # the array and all around it have it in lanes alone
        ("hw/array/multiplier.py", ["mac_array", "vector_engine"]),  # which asks for its latency
        ("hw/blocks/requantize_pipeline.py", ["requantizer", "mac_array", "vector_engine"]),
        ("hw/blocks/skid.py", ["accelerator"]),  # also between its units
        ("hw/requantizer.py", ["requantizer"]),
        ("hw/units.py", []),
    ],
)
def test_units_of_a_file(hardware: Imports, path: str, enough: list[str]):
    assert hardware.units_enough(path) == enough
    assert set(enough) <= set(hardware.units_with(path))


def test_every_file_of_a_unit_is_in_enough_units(hardware: Imports):
    for place in sorted((IMPORT_ROOT / "hw").rglob("*.py")):
        path = place.relative_to(IMPORT_ROOT).as_posix()
        assert bool(hardware.units_enough(path)) == bool(hardware.units_with(path)), path


def test_what_is_imported_through_others_can_be_left_out(hardware: Imports):
    top = "eightfold.hw.accelerator"
    others = hardware.distances(top, {"eightfold.hw.mover.engine"})
    assert "eightfold.hw.mover.runs" in hardware.distances(top)
    assert "eightfold.hw.mover.runs" not in others
    assert "eightfold.hw.memory.scratchpad" in others
