"""Rewriting of whole models: mutated ones, unread parts, the one of docs/compiler.md; its time."""

import re
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest

from eightfold.common.errors import InputError
from eightfold.common.files import IMPORT_ROOT
from eightfold.compiler import compile_network
from eightfold.compiler.passes import prepare
from eightfold.compiler.rewrite.rules import RULES, rewrite
from eightfold.estimate.estimate import estimate_network
from eightfold.golden.quantization import Reference
from eightfold.model import Graph
from eightfold.model.builder import ModelBuilder
from eightfold.model.mutate import Mutation
from eightfold.operators import Limits, load_model, run_graph
from eightfold.run.reference.oracle import Oracle, OracleRejected
from eightfold.target.config import PRESETS, AcceleratorConfig
from lab.hostile.subject import run_prepared
from lab.suites.hostile import make_mutant, random_mutant
from tests.support.networks.redundant import RedundantNetwork
from tests.support.networks.sparse import SparseNetwork

FOUND = (
    make_mutant(
        "SQUEEZE",
        "LEAKY_RELU",
        107,
        (Mutation("reorder", 5306379205726225823), Mutation("constant", 988826566207091955)),
    ),
    make_mutant("MAXIMUM", "GATHER", 487, (Mutation("option", 8216288782070140321),)),
    make_mutant("CONV_2D", "EQUAL", 818, (Mutation("quantization", 2500455187234598793),)),
)
"""Mutants that an earlier version stumbled over."""


@pytest.mark.parametrize("seeds", [(), range(100), range(1000, 1100)], ids=str)
@pytest.mark.slow
def test_nothing_stumbles_over_a_mutant(seeds: Sequence[int]) -> None:
    rewritten = 0
    for mutant in map(random_mutant, seeds) if seeds else FOUND:
        try:
            graph = load_model(mutant.content, Limits(1 << 28, 1 << 22))
        except InputError:
            continue
        for reference in get_args(Reference):
            try:
                found = rewrite(graph, reference)
            except InputError:  # a computed shape that contradicts the declared one
                continue
            assert set(found.graph.inputs) == set(graph.inputs)
            assert found.graph.outputs == graph.outputs
        rewritten += 1
    assert rewritten >= 3


_CODES = np.array([[-7, 3, 65, 115]], np.int8)


def _model(**changed: Any) -> bytes:
    """Return a model of a RELU, and of a FULLY_CONNECTED beside it that nothing reads."""
    scales = {"x": 0.5, "w": 0.25, "b": 0.125, "y": 0.5} | changed
    b = ModelBuilder()
    x = b.input((1, 4), scale=scales["x"], zero_point=3)
    w = b.constant(np.ones((2, 4), np.int8), scale=scales["w"])
    bias = b.constant(np.array([1, 2], np.int32), scale=scales["b"])
    unread = b.tensor((1, 2), scale=scales["y"])
    y = b.tensor((1, 4), scale=scales["x"], zero_point=3)
    later = b.tensor((1, 2), scale=scales["y"])
    b.operator("FULLY_CONNECTED", [x, w, bias], [unread])
    b.operator("RELU", [x], [y])
    b.operator("RELU", [unread], [later])
    b.output(y)
    return b.build()


_REFUSED = {
    "bias scale": ({"b": 1.0}, "the bias scale 1.0 is not the product"),
    "no filter scale": ({"w": None}, "tensor 1 .* has no scale"),
    "no result scale": ({"y": None}, "has no scale"),
}
_UNDEFINED = {"x": 1e3, "w": 1e3, "b": np.float32(1e6), "y": 1e-3}
"""Scales with which the scaled sums leave int32."""


def _compiled(graph: Graph) -> np.ndarray:
    prepared = prepare(graph, AcceleratorConfig.load("nano"))
    assert prepared.rewritten.gone() == {0, 2}
    values = run_prepared(prepared, {0: _CODES})
    return values[prepared.rewritten.graph.outputs[0]]


@pytest.mark.parametrize(("changed", "message"), _REFUSED.values(), ids=_REFUSED)
def test_what_is_refused_for_its_scales_is_refused_by_all(
    changed: dict[str, Any], message: str
) -> None:
    graph = load_model(_model(**changed))
    with pytest.raises(InputError, match=message):
        run_graph(graph, {0: _CODES})
    with pytest.raises(InputError, match="operator 0 FULLY_CONNECTED: "):
        prepare(graph, AcceleratorConfig.load("nano"))


@pytest.mark.parametrize(("changed", "computed"), [(_UNDEFINED, 2), ({}, 4)])
def test_what_is_undefined_is_left_out(changed: dict[str, Any], computed: int) -> None:
    graph = load_model(_model(**changed))
    values = run_graph(graph, {0: _CODES})
    (output,) = graph.outputs
    assert {0, output} <= set(values)
    assert len(values) == computed
    np.testing.assert_array_equal(_compiled(graph), values[output])


@pytest.mark.slow
def test_litert_says_the_same(oracle: Oracle) -> None:
    for changed, _ in _REFUSED.values():
        with pytest.raises(OracleRejected):
            oracle.run(_model(**changed), {0: _CODES})
    for changed in ({}, _UNDEFINED):
        model = _model(**changed)
        graph = load_model(model)
        output = graph.outputs[0]
        expected = oracle.run(model, {0: _CODES})[output]
        np.testing.assert_array_equal(run_graph(graph, {0: _CODES})[output], expected)


PAGE = (IMPORT_ROOT / "docs" / "compiler.md").read_text(encoding="utf-8")


def test_the_network_takes_the_cycles_that_the_page_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (program,) = re.findall(r'^```python title="followed.py"\n(.*?)^```$', PAGE, re.DOTALL | re.M)
    exec(program, {"np": np})
    graph = load_model(Path("followed.tflite"))
    totals = [
        sum(estimate_network(compile_network(each, PRESETS["base"]).streams).values())
        for each in (graph, rewrite(graph).graph)
    ]
    assert "{:,} cycles by the estimate {:,}".format(*totals) in " ".join(PAGE.split())


def test_the_page_has_every_rule_in_order() -> None:
    named = re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE)
    assert named == list(RULES)


def seconds(layers: int, network: type[SparseNetwork]) -> tuple[int, float, float]:
    """Return operators, and CPU seconds of rewriting and compiling a network of so many layers."""
    graph = load_model(network(np.random.default_rng(1)).draw(layers))
    begin = time.process_time()
    rewritten = rewrite(graph)
    between = time.process_time()
    compile_network(rewritten.graph, PRESETS["base"])
    return len(graph.operators), between - begin, time.process_time() - between


def test_a_hundred_operators_take_less_than_ten_seconds() -> None:
    operators, rewriting, compiling = seconds(60, RedundantNetwork)
    assert operators > 90
    assert rewriting + compiling < 10


@pytest.mark.long
@pytest.mark.parametrize("network", [SparseNetwork, RedundantNetwork])
def test_time_grows_little_faster_than_operators(network: type[SparseNetwork]) -> None:
    """An operator of a network ten times as long takes less than three times as long."""
    few, *of_few = seconds(40, network)
    many, *of_many = seconds(400, network)
    assert sum(of_many) / many < 3 * sum(of_few) / few
