"""What the compiler refuses, with a reason, and odd models that it must not refuse."""

import numpy as np
import pytest

from eightfold.compiler import HARDWARE, compile_network
from eightfold.config import PRESETS
from eightfold.errors import InputError
from eightfold.execute import run_operator
from eightfold.model import load_model
from eightfold.model.builder import ModelBuilder
from tests.support.models import (
    refusals,
    refusals_movement,
    refusals_values,
    tolerated,
    tolerated_movement,
)
from tests.support.models.operators import case_rng, random_case
from tests.support.models.single import moved, one_operator
from tests.support.models.tensors import SingleOperator
from tests.support.networks.machine_run import expect_golden, random_values

NANO = PRESETS["nano"]

RUN_TIME = (
    "BATCH_TO_SPACE_ND",
    "PAD",
    "PADV2",
    "RESIZE_NEAREST_NEIGHBOR",
    "SLICE",
    "SPACE_TO_BATCH_ND",
    "SPLIT",
    "STRIDED_SLICE",
    "SUM",
    "TRANSPOSE",
    "TRANSPOSE_CONV",
)


@pytest.mark.parametrize("operator", RUN_TIME)
def test_an_operand_that_must_be_constant_is_named(
    operator: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def given(model: SingleOperator, array: np.ndarray) -> int:
        return model.builder.input(array.shape, dtype=array.dtype)

    monkeypatch.setattr(SingleOperator, "given", given)
    model, _ = random_case(operator, case_rng(operator, 3))
    with pytest.raises(InputError, match=rf"{operator}: tensor \d+ '.*' is not constant"):
        compile_network(load_model(model), NANO)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (moved("SLICE", (4, 4), (3, 2), [0, 0], [2, 2]), r"has the shape \(3, 2\), not \(2, 2\)"),
        (moved("SLICE", (4, 4), (2, 2), [0, 0], [2, 2], dtype=np.int32), "is int8, not int32"),
        (moved("PAD", (4,), (6,), [[1, 1]], dtype=np.int32), "is int32, not int8"),
        (one_operator("LESS", [(2, 3)] * 2, (2, 3)), "is int8, not bool"),
        (one_operator("MAXIMUM", [(2, 3)] * 2, (3, 3)), r"has the shape \(3, 3\), not \(2, 3\)"),
        (one_operator("PRELU", [(1, 3), (2, 3)], (2, 3)), "does not have the shape"),
        (moved("SHAPE", (2, 3), (3,), options={"out_type": "INT32"}, dtype=np.int32),
         r"has the shape \(3,\), not \(2,\)"),
        (one_operator("RESHAPE", [(2, 3)], (2, 3), options={"new_shape": [6]}), "has the shape"),
    ],
)  # fmt: skip
def test_a_model_that_contradicts_itself_is_refused(model: bytes, message: str) -> None:
    with pytest.raises(InputError, match=message):
        compile_network(load_model(model), NANO)


def test_a_shape_that_is_computed_must_have_the_elements() -> None:
    builder = ModelBuilder()
    x = builder.input((2, 3), scale=0.5)
    shape = builder.input((1,), dtype=np.int32)
    y = builder.tensor((7,), scale=0.5)
    builder.operator("RESHAPE", [x, shape], [y])
    builder.output(y)
    with pytest.raises(InputError, match="does not have the bytes"):
        compile_network(load_model(builder.build()), NANO)


OF_VALUES = (
    "L2_NORMALIZATION row that overflows",
    "LOG_SOFTMAX of 4096 equal logits",
    "SOFTMAX of 512 equal logits",
)
"""What golden refuses for the values of an input, which the compiler does not know."""

REFUSALS = refusals.REFUSALS | refusals_movement.REFUSALS | refusals_values.REFUSALS
UNDEFINED = refusals.UNDEFINED | refusals_movement.UNDEFINED | refusals_values.UNDEFINED
MAKERS = {
    rule: maker
    for rule, maker in (
        *((rule, refusal.make) for rule, refusal in REFUSALS.items()),
        *((rule, maker) for rule, (maker, *_) in UNDEFINED.items()),
    )
    if rule.split()[0] in HARDWARE and rule not in OF_VALUES
}


@pytest.mark.parametrize("rule", MAKERS)
def test_what_golden_refuses_is_refused(rule: str) -> None:
    graph = load_model(MAKERS[rule]())
    with pytest.raises(InputError, match=f"{graph.operators[0]}: "):
        compile_network(graph, NANO)


TOLERATED = {
    rule: maker
    for rule, maker in (tolerated.TOLERATED | tolerated_movement.TOLERATED).items()
    if rule.split()[0] in HARDWARE
}


@pytest.mark.parametrize("rule", TOLERATED)
def test_what_golden_tolerates_equals_golden(rule: str) -> None:
    graph = load_model(TOLERATED[rule]())
    values = random_values(graph)
    operator = graph.operators[0]
    (result,) = run_operator(graph, operator, values)
    declared = graph.tensors[operator.outputs[0]].shape
    if result.size != np.prod(declared) or (result.ndim and result.shape != declared):
        with pytest.raises(InputError, match="has the shape"):
            compile_network(graph, NANO)
        return
    expect_golden(graph, values, NANO)
