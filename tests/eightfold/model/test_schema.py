"""The schema's package against the schema of LiteRT, which is younger."""

import inspect
from typing import Any

import numpy as np
import pytest
import tflite
from ai_edge_litert import schema_py_generated as litert
from numpy.typing import ArrayLike

from eightfold.model.builder import ModelBuilder
from eightfold.model.schema import option_fields, options_name, vector_type

YOUNGER = {
    "BuiltinOperator": {"STABLEHLO_CASE"},
    "BuiltinOptions2": {"StablehloCaseOptions"},
    "QuantizationDetails": {"BlockwiseQuantization", "MultiAxisQuantization"},
    "TensorType": {"FLOAT8_E4M3FN", "FLOAT8_E5M2", "INT2", "UINT4"},
}
"""Members of enums that LiteRT's schema has and the package's has not."""

YOUNGER_FIELDS = {
    "FullyConnectedOptions": {"QuantSpec"},
    "Model": {"ExternalBufferGroups", "ExternalBuffers"},
    "Tensor": {"ExternalBuffer"},
}
"""Fields of tables, likewise."""


def members(enum: Any) -> dict[str, int]:
    return {name: code for name, code in vars(enum).items() if isinstance(code, int)}


def fields(generated: Any, name: str) -> list[str]:
    """Return a table's fields in the schema's order."""
    return [
        accessor
        for accessor in vars(getattr(generated, name))
        if hasattr(generated, f"{name}Add{accessor}")
    ]


def classes() -> list[str]:
    return [name for name, held in vars(tflite).items() if inspect.isclass(held)]


def test_every_enum_has_the_codes_of_litert() -> None:
    enums = [name for name in classes() if members(getattr(tflite, name))]
    assert set(YOUNGER) < set(enums)
    for name in enums:
        theirs = members(getattr(litert, name))
        younger = YOUNGER.get(name, set())
        assert members(getattr(tflite, name)) == {
            member: code for member, code in theirs.items() if member not in younger
        }, name
        assert younger <= theirs.keys(), name


def test_every_table_has_the_fields_of_litert() -> None:
    tables = [name for name in classes() if hasattr(tflite, f"{name}Start")]
    assert len(tables) > 150
    for name in tables:
        younger = YOUNGER_FIELDS.get(name, set())
        theirs = fields(litert, name)
        assert fields(tflite, name) == [field for field in theirs if field not in younger], name
        assert younger <= set(theirs), name


def test_vectors_have_the_element_type_of_the_schema() -> None:
    found = {
        (table, field): vector_type(table, accessor)
        for table in (
            "BucketizeOptions",
            "ReshapeOptions",
            "StablehloPadOptions",
            "ConcatenationOptions",
        )
        for field, accessor in option_fields(table).items()
    }
    assert found == {
        ("BucketizeOptions", "boundaries"): np.float32,
        ("ReshapeOptions", "new_shape"): np.int32,
        ("StablehloPadOptions", "edge_padding_low"): np.int64,
        ("StablehloPadOptions", "edge_padding_high"): np.int64,
        ("StablehloPadOptions", "interior_padding"): np.int64,
        ("ConcatenationOptions", "axis"): None,
        ("ConcatenationOptions", "fused_activation_function"): None,
    }
    assert options_name("CONCATENATION") == "ConcatenationOptions"


@pytest.mark.parametrize("shape", [[1.5, 2], [1 << 40], np.array([1 << 40])])
def test_a_vector_that_the_schema_does_not_hold_is_no_model(shape: ArrayLike) -> None:
    b = ModelBuilder()
    x = b.input((3,))
    with pytest.raises((ValueError, OverflowError)):
        b.operator("RESHAPE", [x], [b.tensor((3,))], {"new_shape": shape})
