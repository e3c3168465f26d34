"""The rules on operators: where they apply, where they must not, and that mistakes are noticed."""

from collections.abc import Callable
from dataclasses import replace
from itertools import count
from typing import Any

import numpy as np
import pytest

from eightfold.common.errors import InputError
from eightfold.compiler.rewrite import elements, fusion, moves, rules
from eightfold.compiler.rewrite.draft import Draft
from eightfold.compiler.rewrite.rules import RULES, rewrite
from eightfold.model import Graph, Operator
from eightfold.model.builder import ModelBuilder
from eightfold.operators import load_model
from eightfold.target.config import PRESETS
from tests.eightfold.compiler.test_compiler import TIGHT
from tests.support.networks.layers import CONV, DEPTHWISE, Layers, Written
from tests.support.networks.machine_run import expect_rewritten
from tests.support.networks.redundant import redundant_network
from tests.support.networks.sparse import sparse_network

NONE: dict[str, Any] = {"fused_activation_function": "NONE"}


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(24))
@pytest.mark.parametrize("network", [redundant_network, sparse_network])
def test_a_network_equals_golden(network: Callable[[int], Graph], seed: int) -> None:
    graph = network(seed)
    config = TIGHT["8x8"] if seed % 2 else PRESETS["base"]
    reference = "litert" if seed % 5 else "tflm"
    expect_rewritten(graph, config, seed, seed % 3 != 0, reference)


@pytest.mark.long
@pytest.mark.parametrize("part", range(10))
@pytest.mark.parametrize("network", [redundant_network, sparse_network])
def test_many_networks_equal_golden(network: Callable[[int], Graph], part: int) -> None:
    for seed in range(100 * (1 + part), 100 * (2 + part)):
        graph = network(seed)
        config = TIGHT["8x8"] if seed % 2 else PRESETS["base"]
        expect_rewritten(graph, config, seed)


@pytest.mark.slow
@pytest.mark.parametrize("rule", RULES)
def test_a_rule_alone_equals_golden(rule: str) -> None:
    applied = 0
    for seed in count():
        graph = redundant_network(seed)
        rewritten = rewrite(graph, without=set(RULES) - {rule})
        if rewritten.applied:
            expect_rewritten(graph, PRESETS["nano"], seed, rules=[rule])
            applied += 1
        if applied == 4:
            return


def images(shape: tuple[int, ...] = (1, 5, 6, 3)) -> Layers:
    """Return a network without operators yet, all of whose tensors have one quantization."""
    return Layers(shape, scale=0.05, zero_point=3)


def padded(around: list[list[int]], value: int | None = None) -> Layers:
    """Return a network that begins with a PAD, or a PADV2 of ``value``."""
    return then_padded(images(), around, value)


def then_padded(layers: Layers, around: list[list[int]], value: int | None = None) -> Layers:
    if value is None:
        return layers.then("PAD", np.array(around, np.int32))
    return layers.then("PADV2", np.array(around, np.int32), np.array([value], np.int8))


AROUND = [[0, 0], [1, 2], [0, 3], [0, 0]]


CODE = np.array([7], np.int8)
TABLE = ["TABLE"]


def transposed(*permutations: tuple[int, ...]) -> Layers:
    chain = images((1, 2, 3, 4))
    for axes in permutations:
        chain.then("TRANSPOSE", np.array(axes, np.int32))
    return chain.then("LEAKY_RELU", alpha=0.1)


def reshaped(*shapes: tuple[int, ...]) -> Layers:
    chain = images((1, 2, 3, 4))
    for shape in shapes:
        chain.then("RESHAPE", np.array(shape, np.int32), new_shape=shape)
    return chain.then("LEAKY_RELU", alpha=0.1)


LEFT: dict[str, list[tuple[Layers, list[str]]]] = {
    "padding": [
        (padded(AROUND).window(CONV), [CONV]),
        (padded(AROUND).window(DEPTHWISE), [DEPTHWISE]),
        (padded(AROUND).window(CONV, padding="SAME"), [CONV]),
        (padded([[0, 0], [4, 4], [5, 4], [0, 0]]).window(CONV, (2, 2)), [CONV]),
        (padded(AROUND, 3).window(CONV, padding="SAME"), [CONV]),
        (padded(AROUND, -77).window(CONV), [CONV]),
        (padded(AROUND, -77).window(DEPTHWISE), [DEPTHWISE]),
        (then_padded(padded(AROUND), AROUND).window(CONV), [CONV]),
        (padded(AROUND, -77).window(CONV, padding="SAME"), ["PADV2", CONV]),
        (padded([[0, 0], [1, 1], [1, 1], [1, 0]]).window(CONV), ["PAD", CONV]),
        (padded(AROUND).window("MAX_POOL_2D"), ["PAD", "MAX_POOL_2D"]),
        (padded(AROUND).window("AVERAGE_POOL_2D"), ["PAD", "AVERAGE_POOL_2D"]),
        (padded(AROUND).out().window(CONV), ["PAD", CONV]),
        # PAD copies codes of one scale under another one.
        (
            then_padded(images().then("QUANTIZE", scale=0.06), AROUND).window(CONV),
            ["QUANTIZE", "PAD", CONV],
        ),
    ],
    "tables": [
        (images().then("MUL", CODE, **NONE).then("SUB", CODE, **NONE), TABLE),
        (images().then("RELU").then("LEAKY_RELU", alpha=0.1).then("RELU6"), TABLE),
        (images().then("ADD", np.full((1, 1, 1, 1), 9, np.int8), **NONE), TABLE),
        (images().then("MUL", np.arange(3, dtype=np.int8), **NONE), ["MUL"]),
        (images().then("RELU").out().then("LEAKY_RELU", alpha=0.1), ["RELU", "LEAKY_RELU"]),
        (images().then("ADD", np.ones((2, 1, 1, 1), np.int8), **NONE), ["ADD"]),
        (images((3,)).then("ADD", np.ones((1, 1), np.int8), **NONE), ["ADD"]),
    ],
    "clamps": [
        (images().window(CONV).then("RELU"), [CONV]),
        (images().window(CONV).then("RELU6"), [CONV]),
        (images().window(DEPTHWISE).then("RELU").then("MINIMUM", CODE), [DEPTHWISE]),
        (images().then("ADD", np.arange(3, dtype=np.int8), **NONE).then("RELU"), ["ADD"]),
        (images().window("AVERAGE_POOL_2D").then("RELU"), ["AVERAGE_POOL_2D"]),
        (images().window("MAX_POOL_2D", padding="SAME").then("RELU6"), ["MAX_POOL_2D"]),
        (images().window(CONV).then("QUANTIZE").then("RELU"), [CONV]),
        (images().then("RELU").then("RELU").then("LEAKY_RELU", alpha=2.0), ["RELU", "LEAKY_RELU"]),
        (images().window(CONV).then("QUANTIZE", zero_point=4), [CONV, "QUANTIZE"]),
        (images().window(CONV).then("RELU", scale=0.1), [CONV, "RELU"]),
        (images().window(CONV).then("LEAKY_RELU", alpha=0.5), [CONV, "LEAKY_RELU"]),
        (images().window(CONV).out().then("RELU"), [CONV, "RELU"]),
        (images().then("RELU"), ["RELU"]),
    ],
    "moves": [
        (transposed((0, 2, 3, 1), (0, 2, 1, 3)), ["TRANSPOSE", "LEAKY_RELU"]),
        (transposed((0, 2, 3, 1), (0, 3, 1, 2)), ["LEAKY_RELU"]),
        (transposed((0, 1, 2, 3)), ["LEAKY_RELU"]),
        (transposed((3, 2, 1, 0), (1, 3, 0, 2), (2, 1, 3, 0)), ["TRANSPOSE", "LEAKY_RELU"]),
        (reshaped((6, 4), (2, 12)), ["RESHAPE", "LEAKY_RELU"]),
        (reshaped((6, 4), (1, 2, 3, 4)), ["LEAKY_RELU"]),
        (padded([[0, 0]] * 4).then("RELU"), ["RELU"]),
        (images().then("QUANTIZE").then("RELU"), ["RELU"]),
        (images().then("QUANTIZE", zero_point=4).then("RELU"), ["QUANTIZE", "RELU"]),
        (images().then("QUANTIZE"), ["QUANTIZE"]),
    ],
}
"""By rule: a network, and the operators that it leaves of it."""


@pytest.mark.parametrize(
    ("rule", "chain", "names"),
    [
        pytest.param(rule, *row, marks=[pytest.mark.slow] * (rule in ("clamps", "padding")))
        for rule, rows in LEFT.items()
        for row in rows
    ],
)
def test_a_rule_leaves_these_operators(rule: str, chain: Layers, names: list[str]) -> None:
    rewritten = expect_rewritten(chain.graph(), PRESETS["nano"], rules=[rule])
    assert [operator.name for operator in rewritten.graph.operators] == names


def test_a_function_moves_before_what_reorders_and_joins_what_is_there() -> None:
    chain = images().window(CONV)
    _, height, width, channels = chain.top.shape
    shape = (height * width, channels)
    chain.then("RESHAPE", np.array(shape, np.int32), new_shape=shape).then("RELU")
    graph = chain.graph()
    rewritten = expect_rewritten(graph, PRESETS["nano"], rules=["moves", "clamps"])
    assert [operator.name for operator in rewritten.graph.operators] == [CONV, "RESHAPE"]
    assert [operator.index for operator in rewritten.graph.operators] == [1, 2]
    assert rewritten.gone() == {0}


def test_constants_equal_and_unused() -> None:
    net = Written(0.05, 3)
    x = net.given(2, 3)
    a, b, c = (net.add("LEAKY_RELU", [x], options={"alpha": alpha}) for alpha in (0.1, 0.1, 0.2))
    d = net.add("RELU", [net.codes(np.arange(6).reshape(2, 3))])
    graph = net.graph(net.add("ADD", [net.add("ADD", [a, b]), d]))
    for rule, gone, kept in (("unused", 2, [c, d]), ("equal", 1, [b]), ("constants", 3, [d])):
        assert expect_rewritten(graph, PRESETS["nano"], rules=[rule]).gone() == {gone}
        more = replace(graph, outputs=(*graph.outputs, *(value.index for value in kept)))
        assert expect_rewritten(more, PRESETS["nano"], rules=[rule]).gone() == set()


def test_a_shape_that_is_an_output_is_a_constant_for_what_reads_it() -> None:
    builder = ModelBuilder()
    x, sizes = builder.input((2, 3), scale=0.5), builder.tensor((2,), dtype=np.int32)
    y = builder.tensor((2, 3), scale=0.5)
    builder.operator("SHAPE", [x], [sizes], {"out_type": "INT32"})
    builder.operator("RESHAPE", [x, sizes], [y])
    for output in (sizes, y):
        builder.output(output)
    graph = load_model(builder.build())
    rewritten = expect_rewritten(graph, PRESETS["nano"])
    shape, reshape = rewritten.graph.operators
    assert rewritten.graph.outputs == graph.outputs == (*shape.outputs, *reshape.outputs)
    known = rewritten.graph.tensors[reshape.inputs[1]].data
    assert known is not None
    np.testing.assert_array_equal(known, [2, 3])


def expect_caught(network: Callable[[int], Graph]) -> None:
    """Expect that one of 200 networks, when rewritten, is refused or differs from golden."""
    for seed in range(200):
        graph = network(seed)
        try:
            expect_rewritten(graph, PRESETS["base"], seed)
        except (AssertionError, InputError, KeyError):
            return
    pytest.fail("no network has noticed")


def replace_by(wrong: Callable, place: Any, name: str, patch: pytest.MonkeyPatch) -> None:
    """Put ``wrong``, which is given the right function first, in its place."""
    right = getattr(place, name)
    patch.setattr(place, name, lambda *arguments: wrong(right, *arguments))


def folded_otherwise(right: Callable, *arguments: Any) -> list[np.ndarray] | None:
    """A folded constant is not what golden computes."""
    found = right(*arguments)
    return None if found is None else [np.flip(each).copy() for each in found]


def one_output_is_enough(right: Callable, draft: Draft) -> set[int]:
    """What leads to the model's first output alone is needed."""
    return set(sorted(right(draft))[:1])


def around_from_behind(right: Callable, *arguments: Any) -> Any:
    """Padding before and behind are exchanged."""
    found = right(*arguments)
    if found is None:
        return None
    around = tuple(pair[::-1] for pair in found.options["around"])
    return replace(found, options={**found.options, "around": around})


def zero_around(right: Callable, draft: Draft, operator: Operator) -> int | None:
    """The code around the image is the zero point, whatever PADV2 says."""
    found = right(draft, operator)
    quantization = draft.tensors[operator.outputs[0]].quantization
    return None if found is None or quantization is None else int(quantization.zero_point[0])


def outer_first(right: Callable, draft: Draft, function: Any) -> Any:
    """Two tables are composed in the wrong order."""
    found = right(draft, function)
    if found is None:
        return None
    first, inner = found
    swapped = inner.table.copy()
    inner.table[:] = function.table
    function.table[:] = swapped
    return first, inner


def one_too_low(right: Callable, *arguments: Any) -> tuple[int, int]:
    """A clamp's upper bound is one too low."""
    low, high = right(*arguments)
    return low, max(low, high - 1)


def nearly_a_clamp(_: Callable, table: np.ndarray, interval: Any) -> tuple[int, int] | None:
    """A function that is no clamp passes for one."""
    floor, ceiling = (int(table[end + 128]) for end in fusion.reach(interval))
    return (floor, ceiling) if floor <= ceiling else None


def everything_stays(*_: Any) -> bool:
    """What keeps the shape passes for moving nothing."""
    return True


def options_do_not_matter(right: Callable, draft: Draft, operator: Operator) -> Any:
    """Operators of other options pass for equal."""
    return right(draft, replace(operator, options={}))


def read_by_one_at_least(_: Callable, draft: Draft, tensor: int) -> Operator | None:
    """A tensor that several operators read passes for one that goes with its reader."""
    computes = (operator for operator in draft.operators if tensor in operator.outputs)
    return None if tensor in draft.outputs() else next(computes, None)


MUTANTS: dict[Callable, tuple[Any, str]] = {
    folded_otherwise: (rules, "constant_results"),
    one_output_is_enough: (Draft, "outputs"),
    around_from_behind: (fusion, "_padded"),
    zero_around: (fusion, "_code"),
    outer_first: (elements, "_function_before"),
    one_too_low: (fusion, "inner"),
    nearly_a_clamp: (fusion, "clamping"),
    everything_stays: (moves, "_stays"),
    options_do_not_matter: (rules, "_key"),
    read_by_one_at_least: (Draft, "producer"),
}
"""Wrong functions, which are given the right one first, and what they are put in place of."""


@pytest.mark.slow
@pytest.mark.parametrize("wrong", MUTANTS)
@pytest.mark.usual(count=5)
def test_a_wrong_rule_is_caught(wrong: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    square = images((1, 3, 3, 3)).then("TRANSPOSE", np.array([0, 2, 3, 1], np.int32)).then("RELU")
    replace_by(wrong, *MUTANTS[wrong], monkeypatch)
    expect_caught(lambda seed: redundant_network(seed) if seed else square.graph())
