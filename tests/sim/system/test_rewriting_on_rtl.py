"""Rewritten networks in RTL: every tensor equals LiteRT's, and the report says how it came."""

import json

import numpy as np
import pytest

from eightfold import Session
from eightfold.compiler.rewrite import rewrite
from eightfold.model.builder import ModelBuilder
from eightfold.operators import load_model
from eightfold.run.report import REWRITTEN
from tests.support.networks.redundant import redundant_model
from tests.support.networks.sparse import sparse_model

pytestmark = pytest.mark.slow

MODELS = {
    **{f"sparse {seed}": sparse_model(seed) for seed in (2, 7, 8)},
    **{f"redundant {seed}": redundant_model(seed) for seed in (1, 4, 10)},
}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.usual(names=["redundant 1"])
def test_a_rewritten_network_equals_litert(name: str) -> None:
    model = MODELS[name]
    graph = load_model(model)
    rewritten = rewrite(graph)
    assert rewritten.applied
    with Session("verilator", "nano", stall=0.1) as session:
        result = session.run(model, compare=True, all_tensors=True)
    assert result.mismatches == 0 and not result.unread
    assert set(result.tensors) >= {t for operator in graph.operators for t in operator.outputs}
    assert result.rewrites == rewritten.summary()
    for operator in result.operators:
        gone = operator.index in rewritten.gone()
        assert operator.where == (REWRITTEN if gone else "hardware")
        assert (operator.cycles is None) == gone
    report = json.loads(json.dumps(result.as_json()))
    assert any(operator["rewritten"] for operator in report["operators"])


def test_cycles_are_fewer_and_outputs_the_same() -> None:
    model = MODELS["sparse 7"]
    results = []
    for without in ([], ["all"]):
        with Session("verilator", "nano", no_rewrite=without) as session:
            results.append(session.run(model))
    first, second = results
    assert (first.cycles or 0) < (second.cycles or 0)
    assert not second.rewrites
    for tensor, values in second.outputs.items():
        np.testing.assert_array_equal(first.outputs[tensor], values)


def test_what_is_left_to_golden_reads_what_was_rewritten() -> None:
    builder = ModelBuilder()
    codes = {"scale": 0.05, "zero_point": 3}
    x = builder.input((1, 4, 4, 3), **codes)
    a, b, c = (builder.tensor((1, 4, 4, 3), **codes) for _ in range(3))
    real = builder.tensor((1, 4, 4, 3), dtype=np.float32)
    seven = builder.constant(np.array([7], np.int8), **codes)
    none = {"fused_activation_function": "NONE"}
    builder.operator("MUL", [x, seven], [a], none)
    builder.operator("SUB", [a, seven], [b], none)
    builder.operator("DEQUANTIZE", [b], [real])
    builder.operator("QUANTIZE", [real], [c])
    builder.output(c)
    with Session("verilator", "nano", fallback="golden", fast=True) as session:
        result = session.run(builder.build(), compare=True)
    assert result.mismatches == 0
    assert [o.where for o in result.operators] == [REWRITTEN, "hardware", "golden", "golden"]
