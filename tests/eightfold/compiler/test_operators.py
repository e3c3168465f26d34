"""Random models of each operator, compiled, compute what golden computes, of either reference."""

from collections.abc import Callable

import numpy as np
import pytest

from eightfold.cases import operators as random_models
from eightfold.cases.draws import Case
from eightfold.cases.operators import accelerator_case, case_rng
from eightfold.common.errors import InputError
from eightfold.compiler import HARDWARE, compile_network, network
from eightfold.compiler.emit.memory import Layout
from eightfold.operators import host_operators, load_model, run_graph
from eightfold.target.config import PRESETS, AcceleratorConfig
from tests.support.models.single import one_operator, widened
from tests.support.models.tflite_micro import variants
from tests.support.networks.machine_run import expect_golden

COPIES = (
    "BROADCAST_TO", "CONCATENATION", "DYNAMIC_UPDATE_SLICE", "EXPAND_DIMS", "GATHER_ND", "PACK",
    "RESHAPE", "REVERSE_V2", "SCATTER_ND", "SLICE", "SPLIT", "SPLIT_V", "SQUEEZE", "STRIDED_SLICE",
    "TILE", "TRANSPOSE", "UNPACK",
)  # fmt: skip
"""Operators that copy int32 and int64 too."""

OPERATORS = tuple(sorted(HARDWARE & set(random_models.OPERATORS)))

TINY = PRESETS["nano"].replace(scratchpad=4096)
CONFIGS = {"nano": PRESETS["nano"], "small": PRESETS["small"], "tiny": TINY, "in memory": TINY}
ROOM = 384
MOST_BYTES = 16_000
"""Of a model's tensors in configurations with many small parts."""

CHUNKS = (range(6), range(6, 20), range(20, 40))


def chunks(operators: tuple[str, ...]) -> list:
    """Return (operator, seeds)."""
    return [
        pytest.param(
            operator,
            seeds,
            id=f"{operator}-{seeds[0]}..{seeds[-1]}",
            marks=[pytest.mark.long] if seeds[0] else [],
        )
        for operator in operators
        for seeds in CHUNKS
    ]


@pytest.fixture
def in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave all tensors in the arena; a step that asks for more than `ROOM` gets it all."""

    def plan(tensors, together, steps: int, room: Callable, *rest) -> Layout:
        sizes = {step: room(step, set(tensors)) for step in range(steps)}
        return Layout(
            tensors={},
            room={
                step: (64, ROOM) if size < TINY.scratchpad else (0, size)
                for step, size in sizes.items()
            },
        )

    monkeypatch.setattr(network, "plan", plan)


@pytest.fixture(
    params=[
        pytest.param(name, marks=[] if name == "nano" else [pytest.mark.slow]) for name in CONFIGS
    ]
)
def config(request: pytest.FixtureRequest) -> AcceleratorConfig:
    if request.param == "in memory":
        request.getfixturevalue("in_memory")
    return CONFIGS[request.param]


def expect_all_golden(
    operator: str, config: AcceleratorConfig, seeds: range, dtype: type[np.signedinteger] | None
) -> int:
    """Compare the models of all seeds, float32 not on the accelerator; return how many."""
    compared = 0
    for seed in seeds:
        try:
            compared += expect_one(
                accelerator_case(operator, case_rng(operator, seed)), config, dtype
            )
        except Exception as error:
            error.add_note(f"{operator}, seed {seed}")
            raise
    return compared


def expect_one(case: Case, config: AcceleratorConfig, dtype: type[np.signedinteger] | None) -> bool:
    if dtype is not None:
        case = widened(case, dtype, np.random.default_rng(0))
    graph = load_model(case[0])
    if any(tensor.dtype == np.float32 for tensor in graph.tensors):
        if host_operators(graph):
            assert not compile_network(graph, config).segments[0].compiled
            return True
        with pytest.raises(InputError, match="float32"):
            compile_network(graph, config)
        return True
    sizes = [int(np.prod(tensor.shape)) * tensor.dtype.itemsize for tensor in graph.tensors]
    if config.scratchpad == TINY.scratchpad and sum(sizes) > MOST_BYTES:
        return False
    expect_golden(graph, config, case[1])
    return True


@pytest.mark.slow
@pytest.mark.parametrize(("operator", "seeds"), chunks(OPERATORS))
@pytest.mark.usual("operator")
def test_equals_golden(operator: str, seeds: range, config: AcceleratorConfig) -> None:
    compared = expect_all_golden(operator, config, seeds, None)
    assert compared >= len(seeds) // 4
    if config.scratchpad != TINY.scratchpad:
        assert compared == len(seeds)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@pytest.mark.parametrize(("operator", "seeds"), chunks(COPIES))
@pytest.mark.usual("operator")
def test_wider_integers_equal_golden(
    operator: str, seeds: range, dtype: type[np.signedinteger], config: AcceleratorConfig
) -> None:
    assert expect_all_golden(operator, config, seeds, dtype) >= len(seeds) // 2


VARIANTS = variants()
VARYING = sorted({name.split()[0] for name in VARIANTS})


def test_every_variant_is_of_the_hardware() -> None:
    assert set(VARYING) <= HARDWARE


@pytest.mark.parametrize("name", VARIANTS)
def test_a_variant_is_compiled(name: str) -> None:
    model, inputs = VARIANTS[name]
    graph = load_model(model)
    expect_golden(graph, PRESETS["small"], inputs, reference="tflm")
    (output,) = graph.outputs
    runs = [run_graph(graph, inputs, reference)[output] for reference in ("tflm", "litert")]
    assert np.any(runs[0] != runs[1])


@pytest.mark.slow
@pytest.mark.parametrize("operator", VARYING)
def test_random_models_are_compiled(operator: str) -> None:
    for seed in range(20):
        model, inputs = accelerator_case(operator, case_rng(operator, seed))
        graph = load_model(model)
        if all(len(tensor.shape) <= 5 for tensor in graph.tensors):
            expect_golden(graph, PRESETS["nano"], inputs, reference="tflm")


def test_shapes_that_tflite_micro_does_not_hold_are_refused() -> None:
    graph = load_model(one_operator("RELU6", [(1,) * 6], (1,) * 6))
    compile_network(graph, PRESETS["nano"], "litert")
    with pytest.raises(InputError, match="has rank 6; TFLite Micro's kernels are undefined beyond"):
        compile_network(graph, PRESETS["nano"], "tflm")
