"""Element types that are computed with, and what is said of others; the reader tests the order."""

import numpy as np
import pytest

from eightfold.common.errors import InputError
from eightfold.model.builder import ModelBuilder
from eightfold.operators import load_int8
from eightfold.run.session import Session


def test_int8_and_its_companions_are_computed_with() -> None:
    b = ModelBuilder()
    x = b.input((1, 4), scale=0.5)
    y = b.tensor((1, 4), dtype=bool)
    index = b.tensor((1,), dtype=np.int64)
    b.operator("LESS", [x, x], [y])
    b.operator(
        "ARG_MAX", [x, b.constant(np.array([1], np.int32))], [index], {"output_type": "INT64"}
    )
    b.tensor((1,), dtype=np.float32, name="unused")
    load_int8(b.build())


def test_float32_may_stand_at_the_edges() -> None:
    b = ModelBuilder()
    x = b.input((1, 4), dtype=np.float32)
    y = b.tensor((1, 4), scale=0.5)
    z = b.tensor((1, 4), dtype=np.float32)
    b.operator("QUANTIZE", [x], [y])
    b.operator("DEQUANTIZE", [y], [z])
    b.output(z)
    load_int8(b.build())


def network(dtype: str, *, edges: bool) -> bytes:
    """Return a network that computes with an element type, or only takes and gives it."""
    b = ModelBuilder()
    x = b.input((1, 4), dtype=dtype, scale=0.5, name="image")
    y = b.tensor((1, 4), dtype="int8" if edges else dtype, scale=0.5)
    z = b.tensor((1, 4), dtype=dtype, scale=0.5)
    b.operator("QUANTIZE" if edges else "RELU", [x], [y])
    b.operator("QUANTIZE" if edges else "LOGISTIC", [y], [z])
    b.output(z)
    return b.build()


@pytest.mark.parametrize(
    ("dtype", "edges", "advice"),
    [
        (
            "float32",
            False,
            "representative_dataset and TFLITE_BUILTINS_INT8, or by litert-quantizer",
        ),
        ("uint8", False, "scheme of TensorFlow 1, .* convert the float network again"),
        ("int16", False, "activations of 8 bits in place of 16"),
        ("int16", True, "inference_input_type and inference_output_type tf.int8"),
    ],
)
def test_another_type_is_told_how_to_convert_it(dtype: str, edges: bool, advice: str) -> None:
    model = network(dtype, edges=edges)
    name = "QUANTIZE" if edges else "RELU"
    where = rf"^model: operator 0 {name} works on {dtype}, in tensor 0 'image' \(and 1 more\); "
    for run in (lambda: load_int8(model), lambda: Session().run(model)):
        with pytest.raises(InputError, match=f"{where}.*{advice}"):
            run()
