"""A file's tables as plain data: nothing is lost on the way there and back."""

import numpy as np
import pytest
from flatbuffers import number_types

from eightfold.cases.operators import OPERATORS, case_rng, random_case
from eightfold.model.builder import ModelBuilder
from eightfold.model.writer import field_types, pack, unpack


@pytest.mark.parametrize("operator", OPERATORS)
def test_packed_again_a_file_is_the_same(operator: str) -> None:
    for seed in range(3):
        model, _ = random_case(operator, case_rng(operator, seed))
        assert pack(unpack(model)) == model


def test_tables_have_the_schemas_names() -> None:
    b = ModelBuilder("what it is")
    x = b.input((1, 4), scale=0.5, zero_point=-1)
    y = b.tensor((1, 4), scale=0.25)
    b.operator("SOFTMAX", [x], [y], {"beta": 2.0})
    b.output(y)
    model = unpack(b.build())
    assert model.name == "Model"
    assert model.fields["Description"] == "what it is"
    (subgraph,) = model.fields["Subgraphs"]
    (operator,) = subgraph.fields["Operators"]
    assert operator.fields["BuiltinOptions"].name == "SoftmaxOptions"
    assert operator.fields["BuiltinOptions"].fields == {"Beta": 2.0}
    tensor = subgraph.fields["Tensors"][x].fields
    np.testing.assert_array_equal(tensor["Shape"], [1, 4])
    np.testing.assert_array_equal(tensor["Quantization"].fields["ZeroPoint"], [-1])


def test_fields_have_types() -> None:
    types = field_types("Pool2DOptions")
    assert list(types)[:2] == ["Padding", "StrideW"]
    assert types["Padding"] is number_types.Int8Flags
    assert types["StrideW"] is number_types.Int32Flags
    assert field_types("Tensor")["Shape"] is number_types.UOffsetTFlags
