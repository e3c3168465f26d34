"""Files that tests can use but the project does not contain: networks, and texts of the spec.

``pytest --models-folder`` names a folder with the ``.tflite`` files, and the texts in its folder
``spec``. Without it they are looked for beside the checkout.
"""

from pathlib import Path

import pytest

from eightfold.common.files import IMPORT_ROOT

_SHARED = IMPORT_ROOT.parent / "shared"
_chosen: list[Path] = []


def choose(folder: Path) -> None:
    """Look into ``folder`` from now on; `tests/conftest.py` does, for the option."""
    _chosen[:] = [folder]


def models() -> Path:
    """Return the folder of networks, ``.tflite``."""
    return _chosen[0] if _chosen else _SHARED / "models"


def required(path: Path) -> Path:
    """Return a file of such a folder; skip the test where it is not there."""
    if not path.exists():
        pytest.skip(f"no {path}: see pytest --models-folder")
    return path


def texts() -> Path:
    """Return the folder of the spec's texts, ``.txt``."""
    return _chosen[0] / "spec" if _chosen else _SHARED / "spec" / "seeds"
