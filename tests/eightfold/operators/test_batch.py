"""Networks whose file leaves the batch open, at other batches."""

import numpy as np
import pytest

from eightfold.common.errors import InputError
from eightfold.model import read_model
from eightfold.model.builder import ModelBuilder
from eightfold.operators import load_model
from eightfold.run.session import Session


def _flattening(*, constant: bool = False, open_batch: bool = True) -> bytes:
    """Return a network that pools and flattens, to a shape that is computed from SHAPE."""
    b = ModelBuilder()
    x = b.input((1, 4, 4, 2), scale=0.5, zero_point=-3, open_batch=open_batch)
    y = b.tensor((1, 2, 2, 2), scale=0.5, zero_point=-3)
    window = {"filter_height": 2, "filter_width": 2, "stride_h": 2, "stride_w": 2}
    b.operator("MAX_POOL_2D", [x], [y], window)
    if constant:
        shape = b.constant(np.array([1, 8], np.int32))
    else:
        sizes = b.tensor((4,), dtype=np.int32)
        b.operator("SHAPE", [y], [sizes], {"out_type": "INT32"})
        batch = b.tensor((), dtype=np.int32)
        ends = [b.constant(np.array([value], np.int32)) for value in (0, 1, 1)]
        b.operator("STRIDED_SLICE", [sizes, *ends], [batch], {"shrink_axis_mask": 1})
        shape = b.tensor((2,), dtype=np.int32)
        eight = b.constant(np.array(8, np.int32))
        b.operator("PACK", [batch, eight], [shape], {"values_count": 2, "axis": 0})
    flat = b.tensor((1, 8), scale=0.5, zero_point=-3)
    b.operator("RESHAPE", [y, shape], [flat])
    b.output(flat)
    return b.build()


@pytest.mark.slow
@pytest.mark.parametrize("reference", ["litert", "tflm"])
@pytest.mark.parametrize("batch", [1, 2, 7])
@pytest.mark.usual("reference")
def test_a_batch_changes_all_shapes_behind_it(batch: int, reference: str) -> None:
    with Session(reference=reference, batch=batch) as session:
        result = session.run(_flattening(), compare=True)
    assert result.mismatches == 0
    assert {tensor.shape for tensor in result.outputs.values()} == {(batch, 8)}


def test_a_report_says_what_an_open_batch_is_taken_as() -> None:
    note = "the file leaves the batch open, taken as 1 without --batch: tensor 0"
    assert load_model(_flattening()).notes() == [note]
    assert load_model(_flattening(), batch=1).notes() == []
    assert load_model(_flattening(open_batch=False)).notes() == []


def test_what_has_no_other_batch_says_so() -> None:
    with pytest.raises(InputError, match=r"model: no input leaves its batch open.*None"):
        load_model(_flattening(open_batch=False), batch=2)
    with pytest.raises(InputError, match=r"model: batch 2: operator 1 RESHAPE.*batch of the file"):
        load_model(_flattening(constant=True), batch=2)


def test_shapes_of_the_file_do_not_change() -> None:
    graph = load_model(_flattening(), batch=3)
    assert read_model(_flattening()).tensors[0].shape == (1, 4, 4, 2)
    assert graph.tensors[graph.inputs[0]].shape == (3, 4, 4, 2)
