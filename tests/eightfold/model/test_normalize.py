"""Tensors of rank 1 that state another quantized dimension than 0, their only one."""

import numpy as np
import pytest

from eightfold.model import normalize_dimensions, read_model, writer
from eightfold.model.builder import ModelBuilder
from eightfold.run.reference.oracle import Oracle, OracleRejected
from tests.support.models.person_detect import BIASES, INPUT, person_detect

IMAGE = np.arange(-18, 18, dtype=np.int8).reshape(1, 6, 6, 1)


@pytest.mark.parametrize("dimension", [3, 1, -1])
def test_the_reader_takes_the_only_dimension_and_notes_what_the_file_says(dimension: int) -> None:
    graph = read_model(person_detect(dimension))
    axes = [graph.tensors[index].quantization for index in BIASES]
    assert [(q.axis, q.stated_axis) for q in axes if q] == [(0, dimension)] * len(BIASES)
    assert graph.notes() == [
        f"quantized dimension {dimension} of a tensor of rank 1 is taken as 0: tensor 2, 5, 9"
    ]


def test_nothing_is_noted_of_a_file_that_states_dimension_0() -> None:
    model = person_detect(0)
    assert read_model(model).notes() == []
    assert normalize_dimensions(model) == model


def test_litert_refuses_the_file_and_takes_the_normalized_one() -> None:
    with Oracle() as oracle:
        with pytest.raises(OracleRejected, match="quantized_dimension must be in range"):
            oracle.run(person_detect(3), {INPUT: IMAGE})
        normalized = oracle.run(normalize_dimensions(person_detect(3)), {INPUT: IMAGE})
        expected = oracle.run(person_detect(0), {INPUT: IMAGE})
    assert normalized.keys() == expected.keys()
    for index, tensor in expected.items():
        np.testing.assert_array_equal(normalized[index], tensor)


def test_only_the_dimensions_of_rank_1_change() -> None:
    given = person_detect(3)
    changed = normalize_dimensions(person_detect(3))
    assert len(given) == len(changed)
    assert sum(a != b for a, b in zip(given, changed, strict=True)) == len(BIASES)
    for before, after in zip(read_model(given).tensors, read_model(changed).tensors, strict=True):
        assert (before.quantization is None) == (after.quantization is None)
        if before.quantization and after.quantization:
            assert before.quantization.axis == after.quantization.axis


def test_a_quantization_shared_with_a_tensor_of_more_dimensions_stays(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    builder = ModelBuilder()
    builder.constant(np.ones((1, 2), np.int8), scale=[0.5, 0.25], axis=1)
    builder.constant(np.ones(2, np.int32), scale=[0.5, 0.25], axis=1)
    shared: list[int] = []

    def once(output, value):
        if getattr(value, "name", "") != "QuantizationParameters":
            return write(output, value)
        if not shared:
            shared.append(write(output, value))
        return shared[0]

    write = writer.write
    monkeypatch.setattr(writer, "write", once)
    model = builder.build()
    assert normalize_dimensions(model) == model
