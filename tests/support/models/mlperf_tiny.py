"""The MLPerf Tiny networks, which are not part of the project."""

from pathlib import Path

from lab.documents.figures import NETWORKS as MLPERF_TINY
from tests.support.models.beside import models, required

NETWORKS = [network.stem for network in MLPERF_TINY]


def mlperf_tiny(name: str) -> Path:
    """Return the path of a network's model; skip the test where it is not there."""
    return required(models() / f"{name}.tflite")
