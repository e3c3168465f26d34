"""What `import eightfold` offers."""

from importlib.metadata import version
from pathlib import Path

import eightfold
from eightfold.common.errors import HardwareError


def test_dir_shows_the_api_and_every_name_of_it_is_there() -> None:
    assert dir(eightfold) == sorted(eightfold.__all__)
    assert all(getattr(eightfold, name).__doc__ for name in eightfold.__all__)
    assert eightfold.HardwareError is HardwareError


def test_unknown_names_are_no_attributes() -> None:
    assert not hasattr(eightfold, "Sessions")


def test_the_version_is_that_of_the_package() -> None:
    assert eightfold.__version__ == version("eightfold")


def test_types_are_for_those_who_import_it_too() -> None:
    assert (Path(eightfold.__file__).parent / "py.typed").exists()
