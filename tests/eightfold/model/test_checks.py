"""Which element types the hardware can be given; the order checks are tested with the reader."""

import numpy as np
import pytest

from eightfold.errors import InputError
from eightfold.model import read_model, require_int8
from eightfold.model.builder import ModelBuilder


def test_require_int8_accepts_int8_and_its_companions() -> None:
    b = ModelBuilder()
    x = b.input((1, 4), scale=0.5)
    y = b.tensor((1, 4), dtype=bool)
    index = b.tensor((1,))
    b.operator("LESS", [x, x], [y])
    b.operator(
        "ARG_MAX", [x, b.constant(np.array([1], np.int32))], [index], {"output_type": "INT64"}
    )
    b.tensor((1,), dtype=np.float32, name="unused")
    require_int8(read_model(b.build()))


@pytest.mark.parametrize("dtype", ["float32", "int16", "uint8"])
def test_require_int8_names_the_first_tensors(dtype: str) -> None:
    b = ModelBuilder()
    x = b.input((1, 4), dtype=dtype, name="image")
    for _ in range(4):
        x, y = b.tensor((1, 4), dtype=dtype), x
        b.operator("RELU", [y], [x])
    b.output(x)
    message = f"tensor 0 'image' is {dtype}, .*tensor 2 .* and 2 more; convert it .* int8"
    with pytest.raises(InputError, match=message):
        require_int8(read_model(b.build()))
