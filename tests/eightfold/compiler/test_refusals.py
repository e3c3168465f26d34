"""What the compiler refuses, with a reason, and odd models that it must not refuse."""

import numpy as np
import pytest

from eightfold.compiler import HARDWARE, compile_network
from eightfold.config import PRESETS
from eightfold.conformance.models.operators import case_rng, random_case
from eightfold.conformance.models.tensors import SingleOperator
from eightfold.errors import InputError
from eightfold.model import load_model
from eightfold.model.builder import ModelBuilder
from tests.support.models import (
    refusals,
    refusals_movement,
    refusals_values,
    tolerated,
    tolerated_movement,
)
from tests.support.models.gated import load_any_shape
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
    with pytest.raises(InputError, match=f"operator 0 {rule.split()[0]}: "):
        compile_network(load_any_shape(MAKERS[rule]()), NANO)


TOLERATED = {
    rule: maker
    for rule, maker in (tolerated.TOLERATED | tolerated_movement.TOLERATED).items()
    if rule.split()[0] in HARDWARE
}


@pytest.mark.parametrize("rule", TOLERATED)
def test_what_golden_tolerates_equals_golden(rule: str) -> None:
    graph = load_any_shape(TOLERATED[rule]())
    expect_golden(graph, random_values(graph), NANO)
