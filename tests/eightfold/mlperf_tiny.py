"""The MLPerf Tiny networks, which are not part of the project."""

from pathlib import Path

import pytest

MODELS = Path(__file__).parent.parent.parent.parent / "shared" / "models"

NETWORKS = ["kws_ref_model", "vww_96_int8", "pretrainedResnet_quant", "ad01_int8"]


def mlperf_tiny(name: str) -> Path:
    """Return the path of a network's model; skip the test where it is not there."""
    model = MODELS / f"{name}.tflite"
    if not model.exists():
        pytest.skip("the MLPerf Tiny models are not beside this checkout")
    return model
