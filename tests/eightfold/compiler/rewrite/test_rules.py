"""The rules on operators: where they apply, where they must not, and that mistakes are noticed."""

from collections.abc import Callable
from dataclasses import replace
from itertools import count
from typing import Any

import numpy as np
import pytest

from eightfold.common.errors import InputError
from eightfold.compiler.rewrite import NAMES, Rewritten, elements, fusion, moves, rewrite, rules
from eightfold.compiler.rewrite.draft import Draft
from eightfold.model import Graph
from eightfold.model.builder import ModelBuilder
from eightfold.operators import load_model
from eightfold.target.config import PRESETS
from tests.eightfold.compiler.test_compiler import TIGHT
from tests.support.networks.machine_run import expect_rewritten, random_values
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
    expect_rewritten(graph, random_values(graph, seed), config, seed % 3 != 0, reference)


@pytest.mark.long
@pytest.mark.parametrize("part", range(10))
@pytest.mark.parametrize("network", [redundant_network, sparse_network])
def test_many_networks_equal_golden(network: Callable[[int], Graph], part: int) -> None:
    for seed in range(100 * (1 + part), 100 * (2 + part)):
        graph = network(seed)
        config = TIGHT["8x8"] if seed % 2 else PRESETS["base"]
        expect_rewritten(graph, random_values(graph, seed), config)


@pytest.mark.slow
@pytest.mark.parametrize("rule", NAMES)
def test_a_rule_alone_equals_golden(rule: str) -> None:
    applied = 0
    for seed in count():
        graph = redundant_network(seed)
        rewritten = rewrite(graph, without=set(NAMES) - {rule})
        if rewritten.applied:
            expect_rewritten(graph, random_values(graph, seed), PRESETS["nano"], rules=[rule])
            applied += 1
        if applied == 4:
            return


class Chain:
    """Operators one after the other on images of one quantization."""

    def __init__(self, shape: tuple[int, ...] = (1, 5, 6, 3)) -> None:
        self.builder = ModelBuilder()
        self.shape = shape
        self.top = self.builder.input(shape, scale=0.05, zero_point=3)

    def then(
        self,
        name: str,
        *constants: Any,
        shape: tuple[int, ...] | None = None,
        scale: float = 0.05,
        zero_point: int = 3,
        **options: Any,
    ) -> "Chain":
        self.shape = shape or self.shape
        inputs = [self.top]
        for data in constants:
            array = np.asarray(data)
            codes = {"scale": 0.05, "zero_point": 3} if array.dtype == np.int8 else {}
            inputs.append(self.builder.constant(array, **codes))
        self.top = self.builder.tensor(self.shape, scale=scale, zero_point=zero_point)
        self.builder.operator(name, inputs, [self.top], options)
        return self

    def out(self) -> "Chain":
        self.builder.output(self.top)
        return self

    def pad(self, around: list[list[int]], value: int | None = None) -> "Chain":
        sizes = tuple(s + sum(a) for s, a in zip(self.shape, around, strict=True))
        extra = [] if value is None else [np.array([value], np.int8)]
        name = "PAD" if value is None else "PADV2"
        return self.then(name, np.array(around, np.int32), *extra, shape=sizes)

    def window(self, name: str, padding: str = "VALID", kernel: int = 3) -> "Chain":
        n, height, width, depth = self.shape
        less = kernel - 1 if padding == "VALID" else 0
        shape = (n, height - less, width - less, depth)
        options: dict[str, Any] = {"padding": padding, "stride_h": 1, "stride_w": 1} | NONE
        if "POOL" in name:
            options |= {"filter_height": kernel, "filter_width": kernel}
            return self.then(name, shape=shape, **options)
        options |= {"dilation_h_factor": 1, "dilation_w_factor": 1}
        rng = np.random.default_rng(5)
        first = depth if name == "CONV_2D" else 1
        weights = rng.integers(-127, 128, (first, kernel, kernel, depth), dtype=np.int8)
        builder = self.builder
        w = builder.constant(weights, scale=[0.01] * depth, axis=0 if name == "CONV_2D" else 3)
        b = builder.constant(np.arange(depth, dtype=np.int32), scale=[0.0005] * depth, axis=0)
        options |= {} if name == "CONV_2D" else {"depth_multiplier": 1}
        top = builder.tensor(shape, scale=0.05, zero_point=3)
        builder.operator(name, [self.top, w, b], [top], options)
        self.top, self.shape = top, shape
        return self

    def graph(self) -> Graph:
        self.builder.output(self.top)
        return load_model(self.builder.build())


AROUND = [[0, 0], [1, 2], [0, 3], [0, 0]]


def left(chain: Chain, rule: str) -> list[str]:
    """Return the operators that are left by a rule; they are checked."""
    graph = chain.graph()
    rewritten = expect_rewritten(graph, random_values(graph), PRESETS["nano"], rules=[rule])
    return [operator.name for operator in rewritten.graph.operators]


CONV, DEPTHWISE = "CONV_2D", "DEPTHWISE_CONV_2D"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("chain", "names"),
    [
        (Chain().pad(AROUND).window(CONV), [CONV]),
        (Chain().pad(AROUND).window(DEPTHWISE), [DEPTHWISE]),
        (Chain().pad(AROUND).window(CONV, "SAME"), [CONV]),
        (Chain().pad([[0, 0], [4, 4], [5, 4], [0, 0]]).window(CONV, kernel=2), [CONV]),
        (Chain().pad(AROUND, 3).window(CONV, "SAME"), [CONV]),
        (Chain().pad(AROUND, -77).window(CONV), [CONV]),
        (Chain().pad(AROUND, -77).window(DEPTHWISE), [DEPTHWISE]),
        (Chain().pad(AROUND).pad(AROUND).window(CONV), [CONV]),
        (Chain().pad(AROUND, -77).window(CONV, "SAME"), ["PADV2", CONV]),
        (Chain().pad([[0, 0], [1, 1], [1, 1], [1, 0]]).window(CONV), ["PAD", CONV]),
        (Chain().pad(AROUND).window("MAX_POOL_2D"), ["PAD", "MAX_POOL_2D"]),
        (Chain().pad(AROUND).window("AVERAGE_POOL_2D"), ["PAD", "AVERAGE_POOL_2D"]),
        (Chain().pad(AROUND).out().window(CONV), ["PAD", CONV]),
        # PAD copies codes of one scale under another one.
        (Chain().then("QUANTIZE", scale=0.06).pad(AROUND).window(CONV), ["QUANTIZE", "PAD", CONV]),
    ],
)
def test_padding(chain: Chain, names: list[str]) -> None:
    assert left(chain, "padding") == names


CODE = np.array([7], np.int8)
TABLE = ["TABLE"]


@pytest.mark.parametrize(
    ("chain", "names"),
    [
        (Chain().then("MUL", CODE, **NONE).then("SUB", CODE, **NONE), TABLE),
        (Chain().then("RELU").then("LEAKY_RELU", alpha=0.1).then("RELU6"), TABLE),
        (Chain().then("ADD", np.full((1, 1, 1, 1), 9, np.int8), **NONE), TABLE),
        (Chain().then("MUL", np.arange(3, dtype=np.int8), **NONE), ["MUL"]),
        (Chain().then("RELU").out().then("LEAKY_RELU", alpha=0.1), ["RELU", "LEAKY_RELU"]),
        (Chain().then("ADD", np.ones((2, 1, 1, 1), np.int8), shape=(2, 5, 6, 3), **NONE), ["ADD"]),
        (Chain((3,)).then("ADD", np.ones((1, 1), np.int8), shape=(1, 3), **NONE), ["ADD"]),
    ],
)
def test_tables(chain: Chain, names: list[str]) -> None:
    assert left(chain, "tables") == names


@pytest.mark.slow
@pytest.mark.parametrize(
    ("chain", "names"),
    [
        (Chain().window(CONV).then("RELU"), [CONV]),
        (Chain().window(CONV).then("RELU6"), [CONV]),
        (Chain().window(DEPTHWISE).then("RELU").then("MINIMUM", CODE), [DEPTHWISE]),
        (Chain().then("ADD", np.arange(3, dtype=np.int8), **NONE).then("RELU"), ["ADD"]),
        (Chain().window("AVERAGE_POOL_2D").then("RELU"), ["AVERAGE_POOL_2D"]),
        (Chain().window("MAX_POOL_2D", "SAME").then("RELU6"), ["MAX_POOL_2D"]),
        (Chain().window(CONV).then("QUANTIZE").then("RELU"), [CONV]),
        (Chain().then("RELU").then("RELU").then("LEAKY_RELU", alpha=2.0), ["RELU", "LEAKY_RELU"]),
        (Chain().window(CONV).then("QUANTIZE", zero_point=4), [CONV, "QUANTIZE"]),
        (Chain().window(CONV).then("RELU", scale=0.1), [CONV, "RELU"]),
        (Chain().window(CONV).then("LEAKY_RELU", alpha=0.5), [CONV, "LEAKY_RELU"]),
        (Chain().window(CONV).out().then("RELU"), [CONV, "RELU"]),
        (Chain().then("RELU"), ["RELU"]),
    ],
)
def test_clamps(chain: Chain, names: list[str]) -> None:
    assert left(chain, "clamps") == names


def transposed(*permutations: tuple[int, ...]) -> Chain:
    chain = Chain((1, 2, 3, 4))
    for axes in permutations:
        shape = tuple(chain.shape[axis] for axis in axes)
        chain.then("TRANSPOSE", np.array(axes, np.int32), shape=shape)
    return chain.then("LEAKY_RELU", alpha=0.1)


def reshaped(*shapes: tuple[int, ...], name: str = "LEAKY_RELU") -> Chain:
    chain = Chain((1, 2, 3, 4))
    for shape in shapes:
        chain.then("RESHAPE", np.array(shape, np.int32), shape=shape, new_shape=shape)
    return chain.then(name, alpha=0.1)


@pytest.mark.parametrize(
    ("chain", "names"),
    [
        (transposed((0, 2, 3, 1), (0, 2, 1, 3)), ["TRANSPOSE", "LEAKY_RELU"]),
        (transposed((0, 2, 3, 1), (0, 3, 1, 2)), ["LEAKY_RELU"]),
        (transposed((0, 1, 2, 3)), ["LEAKY_RELU"]),
        (transposed((3, 2, 1, 0), (1, 3, 0, 2), (2, 1, 3, 0)), ["TRANSPOSE", "LEAKY_RELU"]),
        (reshaped((6, 4), (2, 12)), ["RESHAPE", "LEAKY_RELU"]),
        (reshaped((6, 4), (1, 2, 3, 4)), ["LEAKY_RELU"]),
        (Chain().pad([[0, 0]] * 4).then("RELU"), ["RELU"]),
        (Chain().then("QUANTIZE").then("RELU"), ["RELU"]),
        (Chain().then("QUANTIZE", zero_point=4).then("RELU"), ["QUANTIZE", "RELU"]),
        (Chain().then("QUANTIZE"), ["QUANTIZE"]),
    ],
)
def test_moves(chain: Chain, names: list[str]) -> None:
    assert left(chain, "moves") == names


def test_a_function_moves_before_what_reorders_and_joins_what_is_there() -> None:
    chain = Chain().window(CONV)
    shape = (chain.shape[1] * chain.shape[2], chain.shape[3])
    chain.then("RESHAPE", np.array(shape, np.int32), shape=shape, new_shape=shape).then("RELU")
    graph = chain.graph()
    rewritten = expect_rewritten(
        graph, random_values(graph), PRESETS["nano"], rules=["moves", "clamps"]
    )
    assert [operator.name for operator in rewritten.graph.operators] == [CONV, "RESHAPE"]
    assert [operator.index for operator in rewritten.graph.operators] == [1, 2]
    assert rewritten.gone() == {0}


def changed(graph: Graph, rule: str) -> Rewritten:
    return expect_rewritten(graph, random_values(graph), PRESETS["nano"], rules=[rule])


def test_constants_equal_and_unused() -> None:
    builder = ModelBuilder()
    codes = {"scale": 0.05, "zero_point": 3}
    x = builder.input((2, 3), **codes)
    a, b, c, d, e, f = (builder.tensor((2, 3), **codes) for _ in range(6))
    fixed = builder.constant(np.arange(6, dtype=np.int8).reshape(2, 3), **codes)
    builder.operator("LEAKY_RELU", [x], [a], {"alpha": 0.1})
    builder.operator("LEAKY_RELU", [x], [b], {"alpha": 0.1})
    builder.operator("LEAKY_RELU", [x], [c], {"alpha": 0.2})
    builder.operator("RELU", [fixed], [d])
    builder.operator("ADD", [a, b], [e], NONE)
    builder.operator("ADD", [e, d], [f], NONE)
    builder.output(f)
    graph = load_model(builder.build())
    assert changed(graph, "unused").gone() == {2}
    assert changed(graph, "equal").gone() == {1}
    assert changed(graph, "constants").gone() == {3}
    assert changed(replace(graph, outputs=(f, b)), "equal").gone() == set()
    assert changed(replace(graph, outputs=(f, c, d)), "unused").gone() == set()
    assert changed(replace(graph, outputs=(f, d)), "constants").gone() == set()


def expect_caught(network: Callable[[int], Graph]) -> None:
    """Expect that one of 200 networks, when rewritten, is refused or differs from golden."""
    for seed in range(200):
        graph = network(seed)
        try:
            expect_rewritten(graph, random_values(graph, seed), PRESETS["base"])
        except (AssertionError, InputError, KeyError):
            return
    pytest.fail("no network has noticed")


def around_from_behind(patch: pytest.MonkeyPatch) -> None:
    """Padding before and behind are exchanged."""
    right = fusion._padded

    def padded(*arguments):
        found = right(*arguments)
        if found is None:
            return None
        around = tuple(pair[::-1] for pair in found.options["around"])
        return replace(found, options={**found.options, "around": around})

    patch.setattr(fusion, "_padded", padded)


def zero_around(patch: pytest.MonkeyPatch) -> None:
    """The code around the image is the zero point, whatever PADV2 says."""
    right = fusion._code

    def code(draft: Draft, operator):
        found = right(draft, operator)
        quantization = draft.tensors[operator.outputs[0]].quantization
        return None if found is None or quantization is None else int(quantization.zero_point[0])

    patch.setattr(fusion, "_code", code)


def outer_first(patch: pytest.MonkeyPatch) -> None:
    """Two tables are composed in the wrong order."""
    right = elements._function_before

    def before(draft: Draft, function):
        found = right(draft, function)
        if found is None:
            return None
        first, inner = found
        swapped = inner.table.copy()
        inner.table[:] = function.table
        function.table[:] = swapped
        return first, inner

    patch.setattr(elements, "_function_before", before)


def one_too_low(patch: pytest.MonkeyPatch) -> None:
    """A clamp's upper bound is one too low."""
    right = fusion.inner

    def inner(bounds, before):
        low, high = right(bounds, before)
        return low, max(low, high - 1)

    patch.setattr(fusion, "inner", inner)


def nearly_a_clamp(patch: pytest.MonkeyPatch) -> None:
    """A function that is no clamp passes for one."""

    def clamping(table, interval):
        low, high = fusion.reach(interval)
        floor, ceiling = int(table[low + 128]), int(table[high + 128])
        return (floor, ceiling) if floor <= ceiling else None

    patch.setattr(fusion, "clamping", clamping)


def everything_stays(patch: pytest.MonkeyPatch) -> None:
    """What keeps the shape passes for moving nothing."""
    patch.setattr(moves, "_stays", lambda draft, operator: True)


def options_do_not_matter(patch: pytest.MonkeyPatch) -> None:
    """Operators of other options pass for equal."""
    right = rules._key
    patch.setattr(
        rules, "_key", lambda draft, operator: right(draft, replace(operator, options={}))
    )


def read_by_one_at_least(patch: pytest.MonkeyPatch) -> None:
    """A tensor that several operators read passes for one that goes with its reader."""
    patch.setattr(
        Draft,
        "between",
        lambda self, tensor: (
            any(tensor in operator.outputs for operator in self.operators)
            and tensor not in self.outputs()
        ),
    )


def test_a_shape_that_is_an_output_is_a_constant_for_what_reads_it() -> None:
    builder = ModelBuilder()
    x, sizes = builder.input((2, 3), scale=0.5), builder.tensor((2,), dtype=np.int32)
    y = builder.tensor((2, 3), scale=0.5)
    builder.operator("SHAPE", [x], [sizes], {"out_type": "INT32"})
    builder.operator("RESHAPE", [x, sizes], [y])
    for output in (sizes, y):
        builder.output(output)
    graph = load_model(builder.build())
    rewritten = expect_rewritten(graph, random_values(graph, 0), PRESETS["nano"])
    shape, reshape = rewritten.graph.operators
    assert rewritten.graph.outputs == graph.outputs == (*shape.outputs, *reshape.outputs)
    known = rewritten.graph.tensors[reshape.inputs[1]].data
    assert known is not None
    np.testing.assert_array_equal(known, [2, 3])


def folded_otherwise(patch: pytest.MonkeyPatch) -> None:
    """A folded constant is not what golden computes."""
    right = rules.constant_results

    def results(*args: Any) -> list[np.ndarray] | None:
        found = right(*args)
        return None if found is None else [np.flip(each).copy() for each in found]

    patch.setattr(rules, "constant_results", results)


def one_output_is_enough(patch: pytest.MonkeyPatch) -> None:
    """What leads to the model's first output alone is needed."""
    right = Draft.outputs
    patch.setattr(Draft, "outputs", lambda self: set(sorted(right(self))[:1]))


@pytest.mark.slow
@pytest.mark.parametrize(
    "mutant",
    [
        folded_otherwise,
        one_output_is_enough,
        around_from_behind,
        zero_around,
        outer_first,
        one_too_low,
        nearly_a_clamp,
        everything_stays,
        options_do_not_matter,
        read_by_one_at_least,
    ],
)
@pytest.mark.usual(count=5)
def test_a_wrong_rule_is_caught(
    mutant: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    mutant(monkeypatch)
    square = Chain((1, 3, 3, 3)).then("TRANSPOSE", np.array([0, 2, 3, 1], np.int32)).then("RELU")
    expect_caught(lambda seed: redundant_network(seed) if seed else square.graph())
