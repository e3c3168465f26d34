"""Networks run in golden and in simulated hardware, tensor for tensor equal to LiteRT."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eightfold import InputError, Session
from eightfold.config import AcceleratorConfig
from eightfold.model import load_model
from eightfold.model.builder import ModelBuilder
from examples.digits.images import load

ROOT = Path(__file__).parent.parent.parent
DIGITS = ROOT / "examples" / "digits" / "digits.tflite"
MODELS = ROOT.parent / "shared" / "models"
MAC_OPERATORS = {"CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED"}


def test_golden_equals_litert_on_the_digits() -> None:
    with Session() as session:
        result = session.run(DIGITS, seed=3, compare=True, all_tensors=True)
    assert result.mismatches == 0
    assert result.cycles is None
    assert {operator.where for operator in result.operators} == {"golden"}
    graph = load_model(DIGITS)
    computed = {index for operator in graph.operators for index in operator.outputs}
    assert computed <= set(result.tensors)


@pytest.mark.slow
@pytest.mark.parametrize("config", ["nano", "small"])
def test_the_hardware_equals_litert_on_the_digits(simulator: str, config: str) -> None:
    images, _ = load(DIGITS.parent / "test_images.npz")
    with Session(backend=simulator, config=config) as session:
        batch = [{0: image[None]} for image in images[:2]]
        for result in session.run_batch(DIGITS, batch, compare=True):
            assert result.mismatches == 0
            for operator in result.operators:
                in_hardware = operator.name in MAC_OPERATORS | {"LOGISTIC", "QUANTIZE"}
                assert operator.where == ("hardware" if in_hardware else "golden")
                assert (operator.cycles is not None) == in_hardware
                assert (operator.reason is None) == in_hardware


@pytest.mark.slow
def test_the_key_word_network_runs_all_its_mac_layers_in_hardware() -> None:
    model = MODELS / "kws_ref_model.tflite"
    if not model.exists():
        pytest.skip("the MLPerf Tiny models are not beside this checkout")
    with Session(backend="verilator", config="base") as session:
        result = session.run(model, compare=True)
    assert result.mismatches == 0
    for operator in result.operators:
        if operator.name in MAC_OPERATORS:
            assert operator.where == "hardware"


@pytest.mark.parametrize(
    "name", ["kws_ref_model", "vww_96_int8", "pretrainedResnet_quant", "ad01_int8"]
)
def test_golden_equals_litert_on_mlperf_tiny(name: str) -> None:
    model = MODELS / f"{name}.tflite"
    if not model.exists():
        pytest.skip("the MLPerf Tiny models are not beside this checkout")
    with Session() as session:
        assert session.run(model, compare=True).mismatches == 0


def small_model(**bias: int) -> bytes:
    """Return one FULLY_CONNECTED; its bias can be changed."""
    builder = ModelBuilder()
    x = builder.input((1, 3), scale=0.5)
    w = builder.constant(np.ones((2, 3), dtype=np.int8), scale=0.25)
    b = builder.constant(np.array([bias.get("bias", 0), 0], dtype=np.int32), scale=0.125)
    y = builder.tensor((1, 2), scale=1.0)
    builder.operator("FULLY_CONNECTED", [x, w, b], [y], {"fused_activation_function": "NONE"})
    builder.output(y)
    return builder.build()


def test_a_difference_is_counted_and_located(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("eightfold.session._model_bytes", lambda model: small_model(bias=80))
    with Session() as session:
        result = session.run(small_model(), {0: np.zeros((1, 3), dtype=np.int8)}, compare=True)
    assert result.mismatches == 1
    assert result.first_mismatch == (
        "first at operator 0 FULLY_CONNECTED, tensor 3 [0, 0]: 0, LiteRT 10"
    )


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({}, r"inputs are tensors \[0\]; given are \[\]"),
        ({1: np.zeros((1, 3), dtype=np.int8)}, "check tensor 0"),
        ({0: np.zeros((3,), dtype=np.int8)}, r"must be int8 of shape \(1, 3\), not int8 of shape"),
        ({0: np.zeros((1, 3), dtype=np.float32)}, "not float32"),
    ],
)
def test_wrong_inputs_are_refused(inputs: dict[int, np.ndarray], message: str) -> None:
    with Session() as session, pytest.raises(InputError, match=message):
        session.run(small_model(), inputs)


def test_comparing_with_another_reference_is_refused() -> None:
    with Session(reference="tflm") as session, pytest.raises(InputError, match="reference litert"):
        session.run(small_model(), compare=True)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"backend": "fpga"}, "backend must be golden, verilator or icarus, not 'fpga'"),
        ({"reference": "onnx"}, "reference must be litert or tflm, not 'onnx'"),
        ({"config": "huge"}, "no such preset"),
    ],
)
def test_unknown_names_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Session(**options)


def test_a_session_takes_a_configuration_object() -> None:
    with Session(config=AcceleratorConfig(lanes=2, width=3)) as session:
        assert session.run(small_model()).config == "custom"
