"""The MLPerf Tiny networks, which are not part of the project."""

from pathlib import Path

import pytest

from lab.documents import cycles
from tests.support.models.beside import models

NETWORKS = [network.stem for network in cycles.NETWORKS]


def mlperf_tiny(name: str) -> Path:
    """Return the path of a network's model; skip the test where it is not there."""
    model = models() / f"{name}.tflite"
    if not model.exists():
        pytest.skip(f"no {model}: see pytest --models-folder")
    return model
