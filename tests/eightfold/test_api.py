"""What `import eightfold` offers."""

import eightfold
from eightfold.errors import HardwareError


def test_dir_shows_the_api_and_every_name_of_it_is_there() -> None:
    assert dir(eightfold) == sorted(eightfold.__all__)
    assert all(getattr(eightfold, name).__doc__ for name in eightfold.__all__)
    assert eightfold.HardwareError is HardwareError


def test_unknown_names_are_no_attributes() -> None:
    assert not hasattr(eightfold, "Sessions")
