"""What the compiler refuses, with a reason, and odd models that it must not refuse."""

import re
from typing import Any

import numpy as np
import pytest

from eightfold.cases.draws import SingleOperator
from eightfold.cases.operators import case_rng, random_case
from eightfold.common.errors import InputError
from eightfold.compiler import HARDWARE, compile_network
from eightfold.compiler.passes import prepare
from eightfold.model.builder import ModelBuilder
from eightfold.operators import Limits, check_prepared, folding, load_model, run_graph
from eightfold.target.config import PRESETS
from tests.support.models.networks import computed_shape
from tests.support.models.refusals import REFUSALS, UNDEFINED, load_any_shape
from tests.support.models.tolerated import TOLERATED
from tests.support.networks.machine_run import expect_golden, expect_rewritten, random_values

NANO = PRESETS["nano"]

RUN_TIME = (
    "BATCH_TO_SPACE_ND", "BROADCAST_TO", "DYNAMIC_UPDATE_SLICE", "EXPAND_DIMS", "MIRROR_PAD", "PAD",
    "PADV2", "RESHAPE", "RESIZE_NEAREST_NEIGHBOR", "REVERSE_V2", "SCATTER_ND", "SLICE",
    "SPACE_TO_BATCH_ND", "SPLIT", "SPLIT_V", "STRIDED_SLICE", "SUM", "TILE", "TRANSPOSE",
    "TRANSPOSE_CONV",
)  # fmt: skip


@pytest.mark.parametrize("operator", RUN_TIME)
def test_an_operand_that_must_be_constant_is_named(
    operator: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SingleOperator, "given", SingleOperator.unquantized)
    model, _ = random_case(operator, case_rng(operator, 1))
    with pytest.raises(InputError, match=rf"{operator}: tensor \d+ '.*' is not constant"):
        compile_network(load_model(model), NANO)


def flattened(declared: tuple[int, ...], results: int = 1) -> bytes:
    """Return RESHAPEs to (4, 6), a shape that is computed from their input's and a constant."""
    b = ModelBuilder()
    x = b.input((2, 3, 4), scale=0.5)
    shape = computed_shape(b, x, 3, 2, 6)
    for _ in range(results):
        y = b.tensor(declared, scale=0.5)
        b.operator("RESHAPE", [x, shape], [y])
        b.output(y)
    return b.build()


@pytest.mark.parametrize("declared", [(4, 6), (2, 12), (4, 5)])
def test_a_shape_that_no_input_changes_may_be_computed(declared: tuple[int, int]) -> None:
    """Also where no rule has folded it; a declared shape that it contradicts is refused."""
    graph = load_model(flattened(declared))
    inputs = random_values(graph, 0)
    if declared == (4, 6):
        expect_golden(graph, NANO, inputs)
        rewritten = expect_rewritten(graph, NANO, inputs)
        assert rewritten.gone() == {0, 1, 2}
        assert not check_prepared(graph)[1]
        return
    words = f"declared shape {[*declared]}, computed [4, 6]"
    wrong = rf"operator 3 RESHAPE: .*{re.escape(words)}"
    for compiled in (
        lambda: compile_network(graph, NANO, fallback=True),
        lambda: prepare(graph, NANO, fallback=True),
        lambda: prepare(graph, NANO, no_rewrite=["all"]),
    ):
        with pytest.raises(InputError, match=wrong):
            compiled()
    with pytest.raises(InputError, match=wrong):
        run_graph(graph, inputs)
    (finding,) = check_prepared(graph)[1]
    assert (finding.severity, finding.operator, finding.found) == ("violation", 3, words)
    assert not check_prepared(graph, Limits(max_elements=1))[1], "no model that is ever run"


def test_a_shape_is_computed_once_for_all_that_read_it(monkeypatch: pytest.MonkeyPatch) -> None:
    computed = []

    def counted(*args: Any) -> list[np.ndarray] | None:
        computed.append(args[1].name)
        return right(*args)

    right = folding.constant_results
    monkeypatch.setattr(folding, "constant_results", counted)
    compile_network(load_model(flattened((4, 6), results=5)), NANO)
    assert computed == ["SHAPE", "STRIDED_SLICE", "PACK"]


def test_axes_may_come_from_codes_and_an_open_shape_is_not_filled_in() -> None:
    b = ModelBuilder()
    codes, last = b.constant(np.array([[1, 5, 3]], np.int8)), b.constant(np.array(1, np.int32))
    axes = b.tensor((1,), dtype=np.int32)
    b.operator("ARG_MAX", [codes, last], [axes], {"output_type": "INT32"})
    x, y = b.input((2, 3), scale=0.5), b.tensor(None, scale=0.5)
    b.operator("MEAN", [x, axes], [y], {"keep_dims": False})
    b.output(y)
    graph = load_model(b.build())
    words = r"operator 1 MEAN: .*declared shape \[\], computed \[2\]"
    with pytest.raises(InputError, match=words):
        run_graph(graph, random_values(graph, 0))
    with pytest.raises(InputError, match=words):
        prepare(graph, NANO)


OF_VALUES = (
    "L2_NORMALIZATION row that overflows",
    "LOG_SOFTMAX of 4096 equal logits",
    "QUANTIZE of a float outside int32",
    "QUANTIZE of not a number",
    "RSQRT of a negative number",
    "SOFTMAX of 512 equal logits",
    "SQRT of a negative number",
)
"""What golden refuses for the values of an input, which the compiler does not know."""

MAKERS = {
    rule: refusal.make
    for rule, refusal in (REFUSALS | UNDEFINED).items()
    if rule.split()[0] in HARDWARE and rule not in OF_VALUES
}


@pytest.mark.slow
@pytest.mark.parametrize("rule", MAKERS)
def test_what_golden_refuses_is_refused(rule: str) -> None:
    with pytest.raises(InputError, match=f"operator 0 {rule.split()[0]}: "):
        compile_network(load_any_shape(MAKERS[rule]()), NANO)


TOLERATED = {rule: maker for rule, maker in TOLERATED.items() if rule.split()[0] in HARDWARE}


@pytest.mark.slow
@pytest.mark.parametrize("rule", TOLERATED)
@pytest.mark.usual(count=12)
def test_what_golden_tolerates_equals_golden(rule: str) -> None:
    graph = load_any_shape(TOLERATED[rule]())
    expect_golden(graph, NANO)
